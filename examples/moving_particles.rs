//! Soft spheres in a periodic box over a thousand steps, in which the tree is updated without allocations.
//!
//! Each pair closer than 1 repels with a force of 1 - r, integrated by velocity Verlet with a little friction. The
//! tree is refitted to the particles until the boxes of its nodes have grown by half, and then rebuilt in its own
//! memory.
//!
//!     cargo run --release --example moving_particles

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ropewalk::search::NeighborAt;
use ropewalk::{Bvh, Result};

const SIDE: f64 = 16.0;
const STEP: f64 = 0.02;
const STEPS: usize = 1000;
/// The number of steps until buffers have reached, up to their spare capacity, their final size.
const WARM_UP: usize = 100;

/// An allocator that counts allocations.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: each method passes its arguments unchanged to the same method of `System`, and only counts.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`, which is that of `System.alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`, and `at` was allocated by `System`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

struct Particles {
    at: Vec<[f64; 3]>,
    velocity: Vec<[f64; 3]>,
    force: Vec<[f64; 3]>,
}

impl Particles {
    /// Advances velocities by half a step.
    fn kick(&mut self) {
        for (velocity, force) in self.velocity.iter_mut().zip(&self.force) {
            for k in 0..3 {
                velocity[k] += 0.5 * STEP * (force[k] - 0.1 * velocity[k]);
            }
        }
    }

    fn drift(&mut self) {
        for (at, velocity) in self.at.iter_mut().zip(&self.velocity) {
            for k in 0..3 {
                at[k] = (at[k] + STEP * velocity[k]).rem_euclid(SIDE);
            }
        }
    }

    fn kinetic_energy(&self) -> f64 {
        self.velocity.iter().flatten().map(|v| 0.5 * v * v).sum()
    }
}

/// Returns the force on a particle: away from each neighbour, in proportion to their overlap.
fn repulsion(own: u32, near: &[NeighborAt<3>]) -> [f64; 3] {
    let mut force = [0.0; 3];
    for other in near.iter().filter(|other| other.index != own && other.distance2 > 0.0) {
        let distance = other.distance2.sqrt();
        for (force, offset) in force.iter_mut().zip(other.offset) {
            *force -= (1.0 - distance) * offset / distance;
        }
    }
    force
}

fn main() -> Result<()> {
    // Runs on rayon's threads: for calls from other threads, rayon keeps a growing list.
    rayon::scope(|_| simulate())
}

fn simulate() -> Result<()> {
    // A slightly distorted lattice of 4,096 particles, which all start to move.
    let coordinate = |i: usize, k: u32| (i / 16usize.pow(k) % 16) as f64 + 0.3 * (i as f64 * 1.7 + f64::from(k)).sin();
    let at: Vec<[f64; 3]> = (0..4096).map(|i| [0, 1, 2].map(|k| coordinate(i, k).rem_euclid(SIDE))).collect();
    let velocity = (0..at.len()).map(|i| [0.0, 1.0, 2.0].map(|k| (i as f64 * 2.3 + k).cos())).collect();
    let force = vec![[0.0; 3]; at.len()];
    let mut particles = Particles { at, velocity, force };

    println!("{} particles in a periodic box of {SIDE}", particles.at.len());
    let mut bvh = Bvh::build_periodic(&particles.at, SIDE)?;
    let (mut rebuilds, mut warm) = (0, 0);
    for step in 0..STEPS {
        if step == WARM_UP {
            warm = ALLOCATIONS.load(Relaxed);
        }
        particles.kick();
        particles.drift();
        bvh.refit(&particles.at)?;
        if bvh.degradation() > 1.5 {
            bvh.rebuild(&particles.at)?;
            rebuilds += 1;
        }
        bvh.map_neighbors_into(1.0, repulsion, &mut particles.force);
        particles.kick();
        if step % 200 == 199 {
            println!("after {} steps: kinetic energy {:.3}", step + 1, particles.kinetic_energy());
        }
    }
    println!("rebuilds: {rebuilds}, refits: {STEPS}");
    println!("allocations after {WARM_UP} steps: {}", ALLOCATIONS.load(Relaxed) - warm);
    Ok(())
}
