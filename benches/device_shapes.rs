//! Trees of boxes and triangles on a device: times with their phases, and sums of the results to compare with other
//! programs.
//!
//!     cargo bench -p ropewalk-benches --features cuda --bench device_shapes -- FOLDER
//!
//! FOLDER has raw arrays of `f32`: `boxes.f32` (lower and upper corner), `tris.f32` (three corners), `spheres.f32`
//! (centre and radius), `points.f32`, and `rays.f32` (origin and direction). The operations are the boxes that each box
//! meets, the triangles that each sphere meets, the nearest triangle and the nearest five triangles of each point, the
//! boxes along each ray in order, and what a ray loses in them. Queries are copied from the host in each call.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use ropewalk::geometry::Triangle;
use ropewalk::gpu::cubecl::{self, prelude::*};
use ropewalk::gpu::{BoxBvh, CrossingMapper, Device, Emitter, ValueBvh};
use ropewalk::phases::timed;
use ropewalk::{Aabb, Ray, Sphere};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The number of repetitions of each measurement after the first.
const TURNS: usize = 5;

fn main() -> Result<()> {
    // Cargo passes `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let folder = arguments.next().ok_or("use: FOLDER")?;
    let read = |name: &str| read(&Path::new(&folder).join(name));
    let device = Device::first()?;
    let boxes: Vec<Aabb<f32, 3>> =
        read("boxes.f32")?.as_chunks().0.iter().map(|&[a, b, c, d, e, f]| Aabb::new([a, b, c], [d, e, f])).collect();
    let triangles: Vec<Triangle<f32, 3>> = read("tris.f32")?
        .as_chunks::<9>()
        .0
        .iter()
        .map(|corners| Triangle { vertices: [0, 3, 6].map(|from| [0, 1, 2].map(|k| corners[from + k])) })
        .collect();
    let spheres: Vec<Sphere<f32, 3>> =
        read("spheres.f32")?.as_chunks().0.iter().map(|&[x, y, z, r]| Sphere::new([x, y, z], r)).collect();
    let points: Vec<[f32; 3]> = read("points.f32")?.as_chunks().0.to_vec();
    let rays: Vec<Ray<f32, 3>> =
        read("rays.f32")?.as_chunks().0.iter().map(|&[a, b, c, d, e, f]| Ray::new([a, b, c], [d, e, f])).collect();
    println!(
        "{device:?}: {} boxes, {} triangles, {} spheres, {} points, {} rays",
        boxes.len(),
        triangles.len(),
        spheres.len(),
        points.len(),
        rays.len()
    );

    measure("box_build", || {
        BoxBvh::build(&boxes, device)?.wait()?;
        Ok(String::new())
    })?;
    let of_boxes = BoxBvh::build(&boxes, device)?;
    let sums = |lists: ropewalk::Csr<u32>| {
        let sum: u64 = lists.values().iter().map(|&index| u64::from(index)).sum();
        format!("{} hits, sum of indices {sum}", lists.values().len())
    };
    measure("box_box", || {
        let lists = of_boxes.query_all(&boxes)?;
        lists.wait()?;
        Ok(sums(lists.read()?))
    })?;
    measure("triangle_build", || {
        ValueBvh::build(triangles.clone(), device)?.boxes().wait()?;
        Ok(String::new())
    })?;
    let of_triangles = ValueBvh::build(triangles.clone(), device)?;
    measure("sphere_triangle", || {
        let lists = of_triangles.query_all(&spheres)?;
        lists.wait()?;
        Ok(sums(lists.read()?))
    })?;
    for k in [1, 5] {
        measure(&format!("nearest_triangle {k}"), || {
            let lists = of_triangles.nearest_all(&points, k)?;
            lists.wait()?;
            let lists = lists.read()?;
            let distances: f64 = lists.values().iter().map(|near| near.distance()).sum();
            let indices: u64 = lists.values().iter().map(|near| u64::from(near.index)).sum();
            Ok(format!("sum of indices {indices}, of distances {distances}"))
        })?;
    }
    let crossed = ValueBvh::build(boxes.clone(), device)?;
    measure("crossings", || {
        let crossings = crossed.crossings_all(&rays)?;
        crossings.indices().wait()?;
        Ok(sums(crossings.indices().read()?))
    })?;
    let (energies, losses) = (vec![0.0; rays.len()], vec![1.0; boxes.len()]);
    measure("crossings and losses", || {
        let lengths = crossed.crossings_all(&rays)?.map::<Losses>(&energies, &losses)?;
        lengths.wait()?;
        Ok(format!("sum of losses {}", lengths.values().read()?.iter().sum::<f64>()))
    })
}

/// The sum of the lengths inside boxes, each times the value of the box.
struct Losses;

#[cube]
impl CrossingMapper for Losses {
    type Value = f64;
    type Output = f64;
    type State = RuntimeCell<f64>;

    fn start(_ray: u32, own: f64) -> RuntimeCell<f64> {
        RuntimeCell::<f64>::new(own)
    }

    fn map(sum: &RuntimeCell<f64>, _index: u32, enter: f64, leave: f64, value: f64, _out: &Emitter<f64>) -> bool {
        sum.store(sum.read() + value * (leave - enter));
        true.runtime()
    }

    fn finish(sum: &RuntimeCell<f64>, out: &Emitter<f64>) {
        out.emit(sum.read());
    }
}

/// Times an operation, which includes reading its result, and prints the phases before.
fn measure(name: &str, run: impl Fn() -> Result<String>) -> Result<()> {
    let began = Instant::now();
    let sums = run()?;
    let first = 1e3 * began.elapsed().as_secs_f64();
    let mut whole = Vec::new();
    for _ in 0..TURNS {
        let (result, phases) = timed(&run);
        result?;
        whole.push(phases);
    }
    println!("{name:<22} first {first:9.1} ms  {sums}");
    let steps = whole.first().map_or(0, Vec::len);
    for step in 0..steps {
        let mut times: Vec<f64> =
            whole.iter().filter_map(|turn| turn.get(step)).map(|(_, t)| 1e3 * t.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let label = whole.first().and_then(|turn| turn.get(step)).map_or("", |&(label, _)| label);
        println!("    {label:<18} median {:9.3} ms", times[times.len() / 2]);
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<f32>> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(bytes.as_chunks().0.iter().map(|&word| f32::from_le_bytes(word)).collect())
}
