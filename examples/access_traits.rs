//! Searches in data of the user's own layout: an array of structures on the host, and numbers that a kernel of the user
//! has left on a GPU. Neither is converted or copied to the other memory.
//!
//!     cargo run --release --features vulkan --example access_traits
//!
//! `--features cuda` is for NVIDIA's GPUs; `DeviceVec::from_cuda` then takes arrays of other libraries. See
//! `own_geometry` for other shapes than points.

use ropewalk::gpu::{self, Device, DeviceVec, Points};
use ropewalk::{Aabb, Bounded, Bvh, Result, Sphere};

/// A particle of a simulation.
struct Particle {
    position: [f32; 3],
    charge: f32,
}

impl Bounded<f32, 3> for Particle {
    fn bounds(&self) -> Aabb<f32, 3> {
        Aabb::point(self.position)
    }
}

fn main() -> Result<()> {
    // Charges of alternating sign on a cubic lattice.
    let particles: Vec<Particle> = (0..1000)
        .map(|i| {
            let cell = [i % 10, i / 10 % 10, i / 100];
            let charge = if cell.iter().sum::<i32>() % 2 == 0 { 1.0 } else { -1.0 };
            Particle { position: cell.map(|x| x as f32), charge }
        })
        .collect();
    let spheres = [[4.0, 4.0, 4.0], [0.0, 0.0, 0.0], [3.5, 3.5, 3.5]].map(|center| Sphere::new(center, 1.0));

    // On the host: the tree takes the structures, and hits are indices into their array.
    let lists = Bvh::build(&particles)?.query_all(&spheres);
    for (sphere, hits) in spheres.iter().zip(&lists) {
        let charge: f32 = hits.iter().map(|&hit| particles[hit as usize].charge).sum();
        println!("{} particles of total charge {charge} around {:?}", hits.len(), sphere.center);
    }

    // On the device: coordinates one after the other, as a simulation there has them.
    let coordinates: Vec<f32> = particles.iter().flat_map(|particle| particle.position).collect();
    let coordinates = DeviceVec::new(&coordinates, Device::first()?)?;
    let bvh = gpu::Bvh::from_points(&Points::<_, 3>::from_device(&coordinates, None::<f64>)?)?;
    assert_eq!(bvh.query_all(&spheres)?.read()?, lists);
    println!("the device finds the same");
    Ok(())
}
