//! Clumps that are held together by their gravity, moving as they are told.

use common::random::Random;

/// Particles of mass 1 with their velocities.
#[derive(Clone, Default)]
pub struct Sky {
    pub points: Vec<[f64; 3]>,
    pub velocities: Vec<[f64; 3]>,
}

/// A clump of `n` within a radius, as many within r as r / radius: the circular velocity is sqrt(n / radius) at each r, for a gravity of 1.
pub struct Clump {
    pub n: usize,
    pub radius: f64,
    pub center: [f64; 3],
    pub velocity: [f64; 3],
    /// The dispersion along each axis, in circular velocities: 0.7 is at rest.
    pub heat: f64,
}

impl Sky {
    pub fn add(&mut self, random: &mut Random, clump: &Clump) {
        let circular = (clump.n as f64 / clump.radius).sqrt();
        for _ in 0..clump.n {
            let way: [f64; 3] = std::array::from_fn(|_| random.normal());
            let r = clump.radius * random.unit() / way.iter().map(|x| x * x).sum::<f64>().sqrt();
            self.points.push(std::array::from_fn(|k| clump.center[k] + r * way[k]));
            let mut heat = || clump.heat * circular * random.normal().clamp(-1.5, 1.5);
            self.velocities.push(std::array::from_fn(|k| clump.velocity[k] + heat()));
        }
    }
}
