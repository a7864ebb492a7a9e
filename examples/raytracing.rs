//! Rays that lose energy on their way through a mesh of cubes, on a GPU. The order along a ray matters, because a cube
//! gets nothing from a ray that has lost its energy before.
//!
//!     cargo run --release --features vulkan --example raytracing
//!
//! `--features cuda` is for NVIDIA's GPUs.

use cubecl::prelude::*;
use ropewalk::gpu::{self, CrossingMapper, Device, Emitter, cubecl};
use ropewalk::{Aabb, Ray, Result, ValueBvh};

const SIDE: usize = 12;
const RAYS: u32 = 3000;

/// The energy that a ray deposits in each cube: a constant energy per length, until none is left.
struct Deposit;

#[cube]
impl CrossingMapper for Deposit {
    type Value = f64;
    type Output = f64;
    type State = RuntimeCell<f64>;

    fn start(_ray: u32, energy: f64) -> RuntimeCell<f64> {
        RuntimeCell::<f64>::new(energy)
    }

    fn map(left: &RuntimeCell<f64>, _cube: u32, enter: f64, leave: f64, per_length: f64, out: &Emitter<f64>) -> bool {
        let deposit = min(left.read(), per_length * (leave - enter));
        out.emit(deposit);
        left.store(left.read() - deposit);
        left.read() > f64::new(0.0)
    }

    fn finish(_left: &RuntimeCell<f64>, _out: &Emitter<f64>) {}
}

/// The same on the CPU, for one ray.
fn deposits(mesh: &ValueBvh<Aabb<f64, 3>, f64, 3>, ray: &Ray<f64, 3>, energy: f64, per_length: &[f64]) -> Vec<f64> {
    let (mut left, mut deposits) = (energy, vec![]);
    for crossing in mesh.crossings(ray) {
        let deposit = (per_length[crossing.index as usize] * (crossing.leave - crossing.enter)).min(left);
        deposits.push(deposit);
        left -= deposit;
        if left <= 0.0 {
            break;
        }
    }
    deposits
}

fn main() -> Result<()> {
    let cubes: Vec<Aabb<f64, 3>> = (0..SIDE.pow(3))
        .map(|i| [i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE].map(|x| x as f64))
        .map(|corner| Aabb::new(corner, corner.map(|x| x + 1.0)))
        .collect();
    // Multiples of irrational numbers, modulo 1, are spread evenly.
    let spread = |i: u32, step: f64| (f64::from(i) * step).fract();
    let rays: Vec<Ray<f64, 3>> = (1..=RAYS)
        .map(|i| {
            let from = [0.819_172_513, 0.671_043_607, 0.549_700_478].map(|step| SIDE as f64 * spread(i, step));
            let (z, angle) = (2.0 * spread(i, 0.414_213_562) - 1.0, std::f64::consts::TAU * spread(i, 0.732_050_808));
            let ring = (1.0 - z * z).sqrt();
            Ray::new(from, [ring * angle.cos(), ring * angle.sin(), z])
        })
        .collect();
    let energies: Vec<f64> = (1..=RAYS).map(|i| 4.0 * spread(i, 0.236_067_977)).collect();

    let mesh = gpu::ValueBvh::build(cubes.clone(), Device::first()?)?;
    let crossings = mesh.crossings_all(&rays)?;
    let crossed = crossings.indices().read()?;
    println!("{RAYS} rays cross {} cubes", crossed.values().len());

    let on_cpu = ValueBvh::build(cubes)?;
    let uniform = vec![0.5; mesh.len()];
    let random: Vec<f64> = (0..mesh.len() as u32).map(|i| spread(i, 0.618_033_989)).collect();
    for (medium, per_length) in [("uniform", &uniform), ("random", &random)] {
        let lists = crossings.map::<Deposit>(&energies, per_length)?.read()?;
        let mut cells = vec![0.0; mesh.len()];
        for ray in 0..rays.len() {
            assert_eq!(lists.of(ray), deposits(&on_cpu, &rays[ray], energies[ray], per_length));
            crossed.of(ray).iter().zip(lists.of(ray)).for_each(|(&cube, deposit)| cells[cube as usize] += deposit);
        }
        let (deposited, emitted) = (cells.iter().sum::<f64>(), energies.iter().sum::<f64>());
        println!("{medium} medium: {deposited:.6} of {emitted:.6} deposited");
    }

    // In the uniform medium a ray loses energy up to the surface of the mesh.
    let lists = crossings.map::<Deposit>(&energies, &uniform)?.read()?;
    for (i, ray) in rays.iter().enumerate() {
        let way = |k: usize| {
            let wall = if ray.direction[k] > 0.0 { SIDE as f64 } else { 0.0 };
            (wall - ray.origin[k]) / ray.direction[k]
        };
        let exact = energies[i].min(0.5 * way(0).min(way(1)).min(way(2)));
        assert!((lists.of(i).iter().sum::<f64>() - exact).abs() < 1e-12);
    }
    println!("each ray deposits the exact energy in the uniform medium");
    Ok(())
}
