//! Self-gravitating clumps with given velocities.

use common::random::Random;

/// Particles of mass 1 with their velocities.
#[derive(Clone, Default)]
pub struct MovingClumps {
    pub points: Vec<[f64; 3]>,
    pub velocities: Vec<[f64; 3]>,
}

/// A clump of `n` particles within a radius, with a number within r proportional to r. For a gravitational constant
/// of 1, the circular velocity is sqrt(n / radius) at each r.
pub struct Clump {
    pub n: usize,
    pub radius: f64,
    pub center: [f64; 3],
    pub velocity: [f64; 3],
    /// The velocity dispersion along each axis in units of the circular velocity; 0.7 is equilibrium.
    pub heat: f64,
}

impl MovingClumps {
    pub fn add(&mut self, random: &mut Random, clump: &Clump) {
        let circular = (clump.n as f64 / clump.radius).sqrt();
        for _ in 0..clump.n {
            let direction: [f64; 3] = std::array::from_fn(|_| random.normal());
            let r = clump.radius * random.unit() / direction.iter().map(|x| x * x).sum::<f64>().sqrt();
            self.points.push(std::array::from_fn(|k| clump.center[k] + r * direction[k]));
            let mut heat = || clump.heat * circular * random.normal().clamp(-1.5, 1.5);
            self.velocities.push(std::array::from_fn(|k| clump.velocity[k] + heat()));
        }
    }
}
