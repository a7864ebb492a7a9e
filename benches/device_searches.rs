//! Searches, clusters and trees on a device: times, and hashes of the results to compare two builds by.
//!
//!     cargo bench -p ropewalk-benches --features cuda --bench device_searches -- SNAPSHOT:COPIES RADIUS [OPERATION ..]
//!     cargo bench -p ropewalk-benches --features cuda --bench device_searches -- uniform:N RADIUS [OPERATION ..]
//!
//! The points are copies of a snapshot (Gadget-2, format 1, `f32`) side by side, `COPIES` along each axis, or `N`
//! uniform points in the unit cube. They are shuffled. Operations: build, count, pairs, lists, nearestK, fof,
//! dbscan (10 samples), tree (spanning tree), hop; brute_count, brute_lists and brute_nearestK without a tree. With
//! `periodic`, searches that follow it are in a periodic box.
//! Results of up to five million points are read and hashed; `ropewalk bench` compares such results with the CPU.

use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use ropewalk::gpu::cubecl::prelude::CubeElement;
use ropewalk::gpu::{BruteForce, Bvh, Csr, Dbscan, Device, Fof, Hop, MinimumSpanningTree, Neighbors, Points};

type Result<T> = std::result::Result<T, Box<dyn Error>>;
/// Reads the result of an operation.
type Reader = Box<dyn FnOnce() -> Result<Vec<u8>>>;

/// The number of repetitions of each measurement after the first.
const TURNS: usize = 5;
/// Results of more points are not hashed.
const MAX_HASHED: usize = 5_000_000;
const USAGE: &str = "use: SNAPSHOT:COPIES RADIUS [OPERATION ..] or uniform:N RADIUS [OPERATION ..]";

fn main() -> Result<()> {
    // Cargo passes `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let source = arguments.next().ok_or(USAGE)?;
    let radius: f64 = arguments.next().ok_or(USAGE)?.parse()?;
    let (points, side) = match source.rsplit_once(':').ok_or(USAGE)? {
        ("uniform", n) => (uniform(n.parse()?), 1.0),
        (path, count) => copies(path, count.parse()?)?,
    };
    let device = Device::first()?;
    println!("{device:?}, {} points, radius {radius}", points.len());
    // The points are uploaded once.
    let mut uploaded = Points::new(&points, device)?;
    let mut bvh = Bvh::from_points(&uploaded)?;
    for operation in arguments {
        if operation == "periodic" {
            println!("in a periodic box of side {side}");
            uploaded = Points::new_periodic(&points, side, device)?;
            bvh = Bvh::from_points(&uploaded)?;
        } else {
            measure(&operation, &bvh, &uploaded, radius)?;
        }
    }
    Ok(())
}

/// Times an operation, and prints a hash of its result.
fn measure(operation: &str, bvh: &Bvh<f32, 3>, points: &Points<f32, 3>, radius: f64) -> Result<()> {
    // Each waits for the device, and returns a function that reads the result as bytes.
    let brute_force = BruteForce::from_points(points)?;
    let run = || -> Result<Reader> {
        if let Some(k) = operation.strip_prefix("nearest") {
            return neighbors_reader(bvh.nearest_neighbors(k.parse::<usize>()?)?);
        }
        if let Some(k) = operation.strip_prefix("brute_nearest") {
            return neighbors_reader(brute_force.nearest_neighbors(k.parse::<usize>()?)?);
        }
        Ok(match operation {
            "build" => {
                let built = Bvh::from_points(points)?;
                built.wait()?;
                Box::new(|| Ok(Vec::new()))
            }
            "count" => {
                let counts = bvh.count_neighbors(radius)?;
                counts.wait()?;
                Box::new(move || Ok(bytes(&counts.read()?)))
            }
            "brute_count" => {
                let counts = brute_force.count_neighbors(radius)?;
                counts.wait()?;
                Box::new(move || Ok(bytes(&counts.read()?)))
            }
            "pairs" => {
                let pairs = bvh.count_pairs(radius)?;
                Box::new(move || Ok(bytes(&[pairs])))
            }
            "lists" => lists_reader(bvh.neighbors(radius)?)?,
            "brute_lists" => lists_reader(brute_force.neighbors(radius)?)?,
            "fof" => {
                let halos = Fof::new(radius).run_on(bvh)?;
                halos.all_members().wait()?;
                Box::new(move || Ok([bytes(&halos.offsets().read()?), bytes(&halos.all_members().read()?)].concat()))
            }
            "dbscan" => {
                let labels = Dbscan::new(radius, 10).run_on(bvh)?;
                labels.wait()?;
                Box::new(move || Ok(bytes(&labels.column()?.read()?)))
            }
            "tree" => {
                let tree = MinimumSpanningTree::new().run_on(bvh)?;
                tree.wait()?;
                Box::new(move || Ok([bytes(&tree.ends()?.read()?), bytes(&tree.weights2().read()?)].concat()))
            }
            "hop" => {
                let halos = Hop::new(80.0).run_on(bvh)?;
                halos.all_members().wait()?;
                Box::new(move || Ok([bytes(&halos.offsets().read()?), bytes(&halos.all_members().read()?)].concat()))
            }
            _ => return Err(format!("{operation}: unknown; {USAGE}").into()),
        })
    };
    let began = Instant::now();
    let read = run()?;
    let first = began.elapsed().as_secs_f64();
    let mut seconds = Vec::new();
    for _ in 0..TURNS {
        let began = Instant::now();
        drop(run()?);
        seconds.push(began.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let hash = if bvh.len() <= MAX_HASHED { format!("  {:016x}", hash(&read()?)) } else { String::new() };
    println!(
        "{operation:<15}  first {:8.1} ms  least {:8.3}  median {:8.3}{hash}",
        1e3 * first,
        1e3 * seconds[0],
        1e3 * seconds[TURNS / 2]
    );
    Ok(())
}

/// Waits for neighbours, and returns a function that reads them.
fn neighbors_reader(found: Neighbors) -> Result<Reader> {
    found.wait()?;
    Ok(Box::new(move || Ok([bytes(&found.indices().read()?), bytes(&found.distances2().read()?)].concat())))
}

/// Waits for lists, and returns a function that reads them.
fn lists_reader(lists: Csr) -> Result<Reader> {
    lists.wait()?;
    Ok(Box::new(move || Ok([bytes(&lists.offsets().read()?), bytes(&lists.values().read()?)].concat())))
}

fn bytes<T: CubeElement>(values: &[T]) -> Vec<u8> {
    T::as_bytes(values).to_vec()
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn uniform(n: usize) -> Vec<[f32; 3]> {
    let mut random = random();
    (0..n).map(|_| std::array::from_fn(|_| (random() >> 40) as f32 / (1 << 24) as f32)).collect()
}

/// Returns copies of a snapshot's positions side by side along each axis, shuffled, and the side of the box around them.
fn copies(path: &str, count: usize) -> Result<(Vec<[f32; 3]>, f64)> {
    let file = std::fs::read(path)?;
    // Records have their length before and after them. The header is the first, the positions are the second.
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| file[at + i]));
    let begin = 4 + number(0) as usize + 8;
    let positions: Vec<f32> = file[begin..begin + number(begin - 4) as usize]
        .chunks_exact(4)
        .map(|x| f32::from_le_bytes(std::array::from_fn(|i| x[i])))
        .collect();
    let box_side = f64::from_le_bytes(std::array::from_fn(|i| file[4 + 128 + i]));
    let side = box_side * count as f64;
    let mut points = Vec::with_capacity(positions.len() / 3 * count.pow(3));
    for copy in 0..count.pow(3) {
        let shift = [copy / count / count, copy / count % count, copy % count].map(|i| i as f64 * box_side);
        points.extend(
            positions
                .chunks_exact(3)
                .map(|x| std::array::from_fn(|k| ((f64::from(x[k]) + shift[k]) as f32).min((side as f32).next_down()))),
        );
    }
    let mut random = random();
    for i in (1..points.len()).rev() {
        points.swap(i, random() as usize % (i + 1));
    }
    Ok((points, side))
}

/// Returns a generator of 64 bits (xorshift).
fn random() -> impl FnMut() -> u64 {
    let mut state = 88_172_645_463_325_252u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}
