//! User code on a GPU: a visitor that runs inside the traversal, has its own state for each point, and may stop
//! early.
//!
//! `cargo run --release --features vulkan --example heaviest_neighbor`. It needs any GPU, or a Vulkan driver for the
//! CPU. `--features cuda` is for NVIDIA's GPUs.

use ropewalk::gpu::{Bvh, Device, Visitor, cubecl};

// The language of kernels. Its macros expect the crate under this name, so `cubecl` is imported above.
use cubecl::prelude::*;

/// The index of the heaviest point within the radius, the point itself included; the lowest index in case of ties.
struct Heaviest;

/// Mutable parts of a state are cells.
#[derive(CubeType)]
struct Best {
    mass: RuntimeCell<f32>,
    index: RuntimeCell<u32>,
}

#[cube]
impl Visitor for Heaviest {
    type Value = f32;
    type Output = u32;
    type State = Best;

    fn start(query: u32, own: f32) -> Best {
        Best { mass: RuntimeCell::<f32>::new(own), index: RuntimeCell::<u32>::new(query) }
    }

    fn visit<F: Float>(best: &Best, index: u32, _distance2: F, mass: f32) -> bool {
        // Neighbours are visited in tree order, so ties must be resolved explicitly.
        if mass > best.mass.read() || (mass == best.mass.read() && index < best.index.read()) {
            best.mass.store(mass);
            best.index.store(index);
        }
        true.runtime()
    }

    fn finish(best: &Best) -> u32 {
        best.index.read()
    }
}

/// Finds points with at least three other points near. The fourth visit, including that of the point itself, is the
/// last.
struct IsCrowded;

#[cube]
impl Visitor for IsCrowded {
    type Value = f32;
    type Output = u32;
    type State = RuntimeCell<u32>;

    fn start(_query: u32, _own: f32) -> RuntimeCell<u32> {
        RuntimeCell::<u32>::new(0)
    }

    fn visit<F: Float>(visits: &RuntimeCell<u32>, _index: u32, _distance2: F, _mass: f32) -> bool {
        visits.store(visits.read() + 1);
        visits.read() < 4
    }

    fn finish(visits: &RuntimeCell<u32>) -> u32 {
        visits.read() / 4
    }
}

fn main() -> ropewalk::Result<()> {
    // A spiral of 1000 points, dense at the centre and sparse outside, with masses from 1 to 97.
    let points: Vec<[f32; 2]> = (0..1000)
        .map(|i| {
            let (radius, angle) = ((i as f32 / 1000.0).powi(2), i as f32 * 0.1);
            [radius * angle.cos(), radius * angle.sin()]
        })
        .collect();
    let masses: Vec<f32> = (0..1000).map(|i| (1 + i * 31 % 97) as f32).collect();

    let bvh = Bvh::build(&points, Device::first()?)?;
    // Both queries are started before the first result is awaited.
    let heaviest = bvh.for_each_neighbor::<Heaviest>(0.05, &masses)?;
    let is_crowded = bvh.for_each_neighbor::<IsCrowded>(0.05, &masses)?;
    let (heaviest, is_crowded) = (heaviest.read()?, is_crowded.read()?);
    for i in [0, 250, 500, 750, 999] {
        let (j, place) = (heaviest[i] as usize, if is_crowded[i] == 1 { "crowded" } else { "lonely" });
        println!("point {i:3} of mass {:2}, {place}: the heaviest neighbour is {j:3} of mass {}", masses[i], masses[j]);
    }
    let own = (0..points.len()).filter(|&i| heaviest[i] as usize == i).count();
    println!("{own} points have no heavier neighbour");
    Ok(())
}
