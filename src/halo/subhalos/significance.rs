//! Significance of components of the density field relative to the noise of their particles.
//!
//! In: sums over the particles above a density. Out: whether the component counts.
//! Source: Aubert, Pichon and Colombi 2004, appendix B. Tweed et al. 2009, section 2.1, for the tests of shape.

/// A particle above the threshold.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldParticle {
    pub density: f64,
    pub mass: f64,
    /// The offset from the peak of its chain; zero in missing dimensions.
    pub offset: [f64; 3],
    pub chain: u32,
    pub index: u32,
}

/// Sums over particles. The caller defines the reference point of offsets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// The number of particles.
    pub n: f64,
    pub density: f64,
    pub mass: f64,
    /// The sum of mass times offset.
    first: [f64; 3],
    /// The sum of mass times squared offset.
    second: f64,
}

impl Sums {
    pub fn add(&mut self, particle: &FieldParticle) {
        let offset = particle.offset;
        self.n += 1.0;
        self.density += particle.density;
        self.mass += particle.mass;
        for (first, x) in self.first.iter_mut().zip(offset) {
            *first += particle.mass * x;
        }
        self.second += particle.mass * dot(offset, offset);
    }

    /// Adds other sums, whose reference point is at `shift` from that of these sums.
    pub fn merge(&mut self, other: &Self, shift: [f64; 3]) {
        self.n += other.n;
        self.density += other.density;
        self.mass += other.mass;
        for ((first, of_other), x) in self.first.iter_mut().zip(other.first).zip(shift) {
            *first += of_other + other.mass * x;
        }
        self.second += other.second + 2.0 * dot(shift, other.first) + other.mass * dot(shift, shift);
    }

    /// Returns the mean density of the particles.
    pub fn mean(&self) -> f64 {
        self.density / self.n
    }

    /// The root mean square distance from the centre of mass; 0 without mass.
    fn radius(&self) -> f64 {
        if self.mass == 0.0 {
            return 0.0;
        }
        let center = self.first.map(|first| first / self.mass);
        (self.second / self.mass - dot(center, center)).max(0.0).sqrt()
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The conditions under which a component counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Criteria {
    pub fudge: f64,
    pub alpha: f64,
    pub min_members: f64,
    /// The minimum root mean square radius.
    pub min_radius: f64,
}

impl Criteria {
    /// Returns `true` if the mean density of the particles in `sums` is significantly above the density `above`.
    fn is_significant(&self, sums: &Sums, above: f64) -> bool {
        sums.n > 0.0 && sums.mean() > above * (1.0 + self.fudge / sums.n.sqrt())
    }

    /// Returns `true` if a component above the density `above` counts. `chains` holds the sums of its chains,
    /// `highest` is its maximum density.
    pub fn counts<'a>(
        &self,
        total: &Sums,
        mut chains: impl Iterator<Item = &'a Sums>,
        highest: f64,
        above: f64,
    ) -> bool {
        total.n >= self.min_members.max(1.0)
            && (self.alpha == 0.0 || highest >= self.alpha * total.mean())
            && total.radius() >= self.min_radius
            && (self.is_significant(total, above) || chains.any(|sums| self.is_significant(sums, above)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(x: f64, mass: f64) -> FieldParticle {
        FieldParticle { density: 3.0, mass, offset: [x, 0.0, 0.0], chain: 0, index: 0 }
    }

    /// Merged sums equal the sums over all particles, whatever the reference points.
    #[test]
    fn references_do_not_matter() {
        let (mut all, mut left, mut right) = (Sums::default(), Sums::default(), Sums::default());
        for (x, mass) in [(1.0, 2.0), (4.0, 1.0)] {
            all.add(&kept(x, mass));
            left.add(&kept(x, mass));
        }
        for (x, mass) in [(7.0, 3.0), (9.0, 0.5)] {
            all.add(&kept(x, mass));
            right.add(&kept(x - 6.0, mass));
        }
        left.merge(&right, [6.0, 0.0, 0.0]);
        assert_eq!((left.n, left.mass, left.mean()), (4.0, 6.5, 3.0));
        assert!((left.radius() - all.radius()).abs() < 1e-14 && all.radius() > 2.0);
    }
}
