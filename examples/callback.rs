//! A callback for each hit of a search, on the CPU and on a GPU: places list the heavy points near them, followed by
//! the mass of the others.
//!
//!     cargo run --release --features vulkan --example callback
//!
//! `--features cuda` is for NVIDIA's GPUs. See `early_exit` for callbacks that end a search, and `heaviest_neighbor`
//! for one value per point.

use std::ops::ControlFlow;

use cubecl::prelude::*;
use ropewalk::gpu::{self, Device, Emitter, HitMapper, cubecl};
use ropewalk::{Bvh, Result, Sphere};

/// The masses of at least the limit of the query, and the sum of the others.
struct Heavy;

#[derive(CubeType)]
struct Light {
    limit: f64,
    sum: RuntimeCell<f64>,
}

#[cube]
impl HitMapper for Heavy {
    type Value = f64;
    type Output = f64;
    type State = Light;

    fn start(_query: u32, limit: f64) -> Light {
        Light { limit, sum: RuntimeCell::<f64>::new(f64::new(0.0)) }
    }

    fn map(light: &Light, _index: u32, mass: f64, out: &Emitter<f64>) -> bool {
        if mass >= light.limit {
            out.emit(mass);
        } else {
            light.sum.store(light.sum.read() + mass);
        }
        true.runtime()
    }

    fn finish(light: &Light, out: &Emitter<f64>) {
        out.emit(light.sum.read());
    }
}

fn main() -> Result<()> {
    // A square lattice of spacing 1 with masses from 1 to 97.
    let points: Vec<[f32; 2]> = (0..2500).map(|i| [(i % 50) as f32, (i / 50) as f32]).collect();
    let masses: Vec<f64> = (0..2500).map(|i| f64::from(1 + i * 31 % 97)).collect();
    let places = [[10.0f32, 10.0], [30.5, 20.5], [49.0, 49.0]].map(|place| Sphere::new(place, 1.5));
    let limits = [40.0, 80.0, 10.0];

    let bvh = gpu::Bvh::build(&points, Device::first()?)?;
    let lists = bvh.map_hits::<Heavy, _>(&places, &limits, &masses)?.read()?;

    // On the CPU a callback is a closure, here without a value at the end.
    let heavy = Bvh::build(&points)?.map_hits(&places, |query, hit, out| {
        out.extend(Some(masses[hit as usize]).filter(|&mass| mass >= limits[query]));
        ControlFlow::Continue(())
    });
    for (query, place) in places.iter().enumerate() {
        if let [found @ .., light] = lists.of(query) {
            println!("near {:?}: {found:?}, and others of mass {light}", place.center);
            assert_eq!(found, heavy.of(query));
        }
    }
    Ok(())
}
