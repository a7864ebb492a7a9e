//! Molecular dynamics on a GPU: atoms with a Lennard-Jones potential in a periodic box, by velocity Verlet. Each step
//! refits the tree, and one user-defined kernel computes forces and potential energies. Positions and forces stay on
//! the device. An atom that leaves the box through a face returns through the opposite face, and the box of its leaf
//! then spans the domain. `degradation` shows this, and the tree is rebuilt.
//!
//!     cargo run --release --features vulkan --example molecular_dynamics -- [ATOMS [STEPS]] [--no-cpu]
//!
//! `--features cuda` is for NVIDIA's GPUs. ATOMS is rounded up to the next cube. Without `--no-cpu`, energies are
//! compared with those of the CPU. Times and memory are printed to standard error. Units are those of the potential,
//! and the mass of an atom is 1.

use std::time::Instant;

use cubecl::prelude::*;
use ropewalk::gpu::{self, Device, DeviceVec, KernelCall, Points, TreeArg, TreeView, cubecl};
use ropewalk::search::NeighborAt;
use ropewalk::{Bvh, Result};

const DENSITY: f64 = 0.8442;
const CUTOFF: f64 = 2.5;
const STEP: f64 = 0.002;
const THREADS: u32 = 256;
/// The degradation above which the tree is rebuilt.
const WORST: f64 = 1.5;

/// Returns the potential at the cutoff, which is subtracted so that the energy is continuous.
fn shift() -> f64 {
    4.0 * (CUTOFF.powi(-12) - CUTOFF.powi(-6))
}

/// Changes velocities by half a step and positions by a step. Positions are rounded to `f32` for the tree.
#[cube(launch)]
fn drift(
    positions: &mut Array<f64>,
    rounded: &mut Array<f32>,
    velocities: &mut Array<f64>,
    forces: &Array<f64>,
    n: u32,
    step: f64,
) {
    if (ABSOLUTE_POS as u32) < n {
        #[unroll]
        for k in 0..3usize {
            let at = 3 * ABSOLUTE_POS + k;
            velocities[at] += f64::new(0.5) * step * forces[at];
            positions[at] += step * velocities[at];
            rounded[at] = f32::cast_from(positions[at]);
        }
    }
}

/// Computes the force on each atom and its share of the potential energy, and changes velocities by half a step.
#[cube(launch)]
fn interact(
    tree: &TreeView<f32>,
    forces: &mut Array<f64>,
    potentials: &mut Array<f64>,
    velocities: &mut Array<f64>,
    cutoff: f64,
    shift: f64,
    step: f64,
) {
    if (ABSOLUTE_POS as u32) < tree.n_points() {
        let own = tree.point(ABSOLUTE_POS as u32, 3usize);
        let cutoff2 = cutoff * cutoff;
        // Distances to boxes are rounded, so boxes a little beyond the cutoff are entered.
        let entered2 = f32::cast_from(cutoff2) * 1.0001f32;
        let mut force = Array::<f64>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            force[k] = f64::new(0.0);
        }
        let mut potential = f64::new(0.0);
        let mut walk = tree.walk();
        while walk.goes_on() {
            let node = tree.node(&walk);
            let is_near = tree.min_distance2(&node, &own, 3usize, true) <= entered2;
            if is_near && node.is_leaf {
                for other in node.first..tree.end_of(&node) {
                    let mut offset = Array::<f64>::new(3usize);
                    let mut distance2 = f64::new(0.0);
                    #[unroll]
                    for k in 0..3usize {
                        offset[k] = tree.offset(own[k], tree.coordinate(other, k), k, true);
                        distance2 += offset[k] * offset[k];
                    }
                    if distance2 > f64::new(0.0) && distance2 <= cutoff2 {
                        let inverse2 = f64::new(1.0) / distance2;
                        let inverse6 = inverse2 * inverse2 * inverse2;
                        let repulsion = inverse6 * inverse6;
                        let pull = f64::new(24.0) * (f64::new(2.0) * repulsion - inverse6) * inverse2;
                        #[unroll]
                        for k in 0..3usize {
                            force[k] -= pull * offset[k];
                        }
                        potential += f64::new(0.5) * (f64::new(4.0) * (repulsion - inverse6) - shift);
                    }
                }
            }
            walk.step(&node, is_near);
        }
        let index = tree.index(ABSOLUTE_POS as u32) as usize;
        potentials[index] = potential;
        #[unroll]
        for k in 0..3usize {
            forces[3 * index + k] = force[k];
            velocities[3 * index + k] += f64::new(0.5) * step * force[k];
        }
    }
}

/// The state of the atoms on a device, three numbers each, except for the potential energies.
struct DeviceAtoms {
    positions: DeviceVec<f64>,
    rounded: DeviceVec<f32>,
    velocities: DeviceVec<f64>,
    forces: DeviceVec<f64>,
    potentials: DeviceVec<f64>,
}

struct Drift<'a>(&'a DeviceAtoms);

impl KernelCall<f32> for Drift<'_> {
    type Output = ();

    fn call<R: Runtime>(self, client: &ComputeClient<R>, tree: &TreeArg<f32>) {
        let (Self(atoms), n) = (self, tree.n_points() as u32);
        let (count, dim) = (CubeCount::new_1d(n.div_ceil(THREADS)), CubeDim::new_1d(THREADS));
        let (positions, rounded) = (atoms.positions.arg(), atoms.rounded.arg());
        drift::launch::<R>(client, count, dim, positions, rounded, atoms.velocities.arg(), atoms.forces.arg(), n, STEP);
    }
}

/// Forces, and velocities changed by half of the step.
struct Interact<'a> {
    atoms: &'a DeviceAtoms,
    step: f64,
}

impl KernelCall<f32> for Interact<'_> {
    type Output = ();

    fn call<R: Runtime>(self, client: &ComputeClient<R>, tree: &TreeArg<f32>) {
        let DeviceAtoms { velocities, forces, potentials, .. } = self.atoms;
        let (count, dim) = (CubeCount::new_1d((tree.n_points() as u32).div_ceil(THREADS)), CubeDim::new_1d(THREADS));
        let (forces, potentials, velocities) = (forces.arg(), potentials.arg(), velocities.arg());
        let arg = tree.arg();
        interact::launch::<R>(client, count, dim, arg, forces, potentials, velocities, CUTOFF, shift(), self.step);
    }
}

/// The potential and the kinetic energy per atom.
fn energies(potentials: impl Iterator<Item = f64>, velocities: &[f64]) -> [f64; 2] {
    let n = (velocities.len() / 3) as f64;
    [potentials.sum::<f64>() / n, velocities.iter().map(|v| 0.5 * v * v).sum::<f64>() / n]
}

fn print(name: &str, [potential, kinetic]: [f64; 2]) {
    println!("{name:<16}{potential:>16.9}{kinetic:>16.9}{:>16.9}", potential + kinetic);
}

/// Moves the atoms on the device. Returns their energies after the last step.
fn run_on_device(start: &[[f64; 3]], side: f64, steps: usize) -> Result<[f64; 2]> {
    let device = Device::first()?;
    let n = start.len();
    let rounded: Vec<f32> = start.as_flattened().iter().map(|&x| x as f32).collect();
    let atoms = DeviceAtoms {
        positions: DeviceVec::new(start.as_flattened(), device)?,
        rounded: DeviceVec::new(&rounded, device)?,
        velocities: DeviceVec::zeros(3 * n, device)?,
        forces: DeviceVec::zeros(3 * n, device)?,
        potentials: DeviceVec::zeros(n, device)?,
    };
    let mut tree = gpu::Bvh::from_points(&Points::<f32, 3>::from_device(&atoms.rounded, side)?)?;
    tree.call(Interact { atoms: &atoms, step: 0.0 })?;
    let measure =
        || Ok::<_, ropewalk::Error>(energies(atoms.potentials.read()?.into_iter(), &atoms.velocities.read()?));
    print("device, start", measure()?);

    let (mut clock, mut n_rebuilds) = (Instant::now(), 0);
    for step in 1..=steps {
        tree.call(Drift(&atoms))?;
        let points = Points::from_device(&atoms.rounded, side)?;
        tree.refit(&points)?;
        if tree.degradation()? > WORST {
            tree.rebuild(&points)?;
            n_rebuilds += 1;
        }
        tree.call(Interact { atoms: &atoms, step: STEP })?;
        if step == 1 || step == steps {
            atoms.forces.wait()?;
            let timed = if step == 1 { 1 } else { steps - 1 };
            let milliseconds = clock.elapsed().as_secs_f64() * 1e3 / timed as f64;
            let memory = device.memory()?;
            let [used, held] = [memory.used, memory.held].map(|bytes| bytes as f64 / 1e6);
            eprintln!("step {step}: {milliseconds:.3} ms per step, memory used {used:.3} MB, held {held:.3} MB");
            clock = Instant::now();
        }
    }
    eprintln!("{n_rebuilds} rebuilds");
    let end = measure()?;
    print("device, end", end);
    Ok(end)
}

/// Returns the force on an atom and its share of the potential energy.
fn interaction(near: &[NeighborAt<3>]) -> [f64; 4] {
    let ([mut x, mut y, mut z, mut potential], shift) = ([0.0; 4], shift());
    for other in near.iter().filter(|other| other.distance2 > 0.0) {
        let inverse2 = 1.0 / other.distance2;
        let inverse6 = inverse2.powi(3);
        let pull = 24.0 * (2.0 * inverse6 * inverse6 - inverse6) * inverse2;
        x -= pull * other.offset[0];
        y -= pull * other.offset[1];
        z -= pull * other.offset[2];
        potential += 0.5 * (4.0 * (inverse6 * inverse6 - inverse6) - shift);
    }
    [x, y, z, potential]
}

/// The same on the CPU.
fn run_on_cpu(start: &[[f64; 3]], side: f64, steps: usize) -> Result<[f64; 2]> {
    let rounded = |positions: &[[f64; 3]]| Vec::from_iter(positions.iter().map(|at| at.map(|x| x as f32)));
    let (mut positions, mut velocities) = (start.to_vec(), vec![[0.0; 3]; start.len()]);
    let mut tree = Bvh::build_periodic(&rounded(&positions), side)?;
    let mut sums = tree.map_neighbors(CUTOFF, |_, near| interaction(near));
    let kick = |velocities: &mut [[f64; 3]], sums: &[[f64; 4]]| {
        for (velocity, sums) in velocities.iter_mut().zip(sums) {
            (0..3).for_each(|k| velocity[k] += 0.5 * STEP * sums[k]);
        }
    };
    for _ in 0..steps {
        kick(&mut velocities, &sums);
        for (at, velocity) in positions.iter_mut().zip(&velocities) {
            (0..3).for_each(|k| at[k] += STEP * velocity[k]);
        }
        let points = rounded(&positions);
        tree.refit(&points)?;
        if tree.degradation() > WORST {
            tree.rebuild(&points)?;
        }
        tree.map_neighbors_into(CUTOFF, |_, near| interaction(near), &mut sums);
        kick(&mut velocities, &sums);
    }
    let end = energies(sums.iter().map(|sums| sums[3]), velocities.as_flattened());
    print("CPU, end", end);
    Ok(end)
}

fn main() -> Result<()> {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let (wanted, steps) = (*numbers.first().unwrap_or(&512), *numbers.get(1).unwrap_or(&10));

    // A cubic lattice with at least that many atoms, each of them moved by up to 0.05.
    let per_side = (1..).find(|side: &usize| side.pow(3) >= wanted.max(216)).unwrap_or(6);
    let spacing = DENSITY.powf(-1.0 / 3.0);
    let side = spacing * per_side as f64;
    let start: Vec<[f64; 3]> = (0..per_side.pow(3))
        .map(|i| {
            let cell = [i % per_side, i / per_side % per_side, i / per_side / per_side];
            let steps = [0.819_172_513_396_164, 0.671_043_606_703_789, 0.549_700_477_901_970];
            std::array::from_fn(|k| spacing * cell[k] as f64 + 0.1 * ((steps[k] * i as f64).fract() - 0.5))
        })
        .collect();
    println!("{} atoms in a periodic box of {side:.3}, {steps} steps of {STEP}", start.len());
    println!("{:<16}{:>16}{:>16}{:>16}", "energy per atom", "potential", "kinetic", "total");
    let device = run_on_device(&start, side, steps)?;
    if !std::env::args().any(|argument| argument == "--no-cpu") {
        let cpu = run_on_cpu(&start, side, steps)?;
        // Sums are in the order of the tree on the device, and by index on the CPU.
        assert!((0..2).all(|k| (device[k] - cpu[k]).abs() < 1e-10), "{device:?} and {cpu:?}");
    }
    Ok(())
}
