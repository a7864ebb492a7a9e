//! Whether a component of the field of densities stands out of the noise of its particles.
//!
//! In: sums over the particles above a density. Out: yes or no.
//! Source: Aubert, Pichon and Colombi 2004, appendix B; Tweed et al. 2009, section 2.1, for the tests of shape.

/// A particle above the threshold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub density: f64,
    pub mass: f64,
    /// From the peak of its chain; zero along axes that there are not.
    pub offset: [f64; 3],
    pub chain: u32,
    pub index: u32,
}

/// Sums over particles. Offsets are from a reference that the user of the sums knows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// How many there are.
    pub n: f64,
    pub density: f64,
    pub mass: f64,
    /// Of mass times offset.
    first: [f64; 3],
    /// Of mass times squared offset.
    second: f64,
}

impl Sums {
    pub fn add(&mut self, particle: &Kept) {
        let offset = particle.offset;
        self.n += 1.0;
        self.density += particle.density;
        self.mass += particle.mass;
        for (first, x) in self.first.iter_mut().zip(offset) {
            *first += particle.mass * x;
        }
        self.second += particle.mass * dot(offset, offset);
    }

    /// Adds other sums, whose reference is at `shift` from that of these.
    pub fn merge(&mut self, other: &Self, shift: [f64; 3]) {
        self.n += other.n;
        self.density += other.density;
        self.mass += other.mass;
        for ((first, of_other), x) in self.first.iter_mut().zip(other.first).zip(shift) {
            *first += of_other + other.mass * x;
        }
        self.second += other.second + 2.0 * dot(shift, other.first) + other.mass * dot(shift, shift);
    }

    /// The mean density of the particles.
    pub fn mean(&self) -> f64 {
        self.density / self.n
    }

    /// The root of the mean squared distance from the centre of mass; 0 without mass.
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

/// What a component must be to count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tests {
    pub fudge: f64,
    pub alpha: f64,
    pub min_members: f64,
    /// The least root mean square radius.
    pub min_radius: f64,
}

impl Tests {
    /// Whether `n` particles of this mean density stand out above a density.
    fn stand_out(&self, sums: &Sums, above: f64) -> bool {
        sums.n > 0.0 && sums.mean() > above * (1.0 + self.fudge / sums.n.sqrt())
    }

    /// Whether the particles of a component above a density count. `chains` has the sums of its chains, `highest` is its largest density.
    pub fn hold<'a>(&self, total: &Sums, mut chains: impl Iterator<Item = &'a Sums>, highest: f64, above: f64) -> bool {
        total.n >= self.min_members.max(1.0)
            && (self.alpha == 0.0 || highest >= self.alpha * total.mean())
            && total.radius() >= self.min_radius
            && (self.stand_out(total, above) || chains.any(|sums| self.stand_out(sums, above)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(x: f64, mass: f64) -> Kept {
        Kept { density: 3.0, mass, offset: [x, 0.0, 0.0], chain: 0, index: 0 }
    }

    /// Merged sums are those over all particles, whatever they are seen from.
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
