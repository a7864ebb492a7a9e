//! A single halo.

use crate::error::Result;
use crate::sample::checks::{check_side, check_within};
use crate::sample::nfw::{Radii, enclosed};
use crate::sample::random::fill;
use crate::sample::uniform::check_count;

/// A spherical halo with the profile of Navarro, Frenk and White in the centre of a box; its radius is half the side.
///
/// ```
/// use ropewalk::sample::Nfw;
///
/// let points = Nfw::new(1000).concentration(7.0).side(2.0).points()?;
/// let inner = points.iter().filter(|p| p.iter().map(|x| (x - 1.0) * (x - 1.0)).sum::<f32>() < 0.25).count();
/// assert!((550..750).contains(&inner)); // half the radius holds 0.63 of the mass
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Nfw {
    pub(super) n: usize,
    pub(super) concentration: f64,
    pub(super) seed: u64,
    pub(super) side: f64,
}

impl Nfw {
    /// Creates options for `n` points, at most 2^32 - 2. Default: concentration 10, seed 0, the unit box.
    pub fn new(n: usize) -> Self {
        Self { n, concentration: 10.0, seed: 0, side: 1.0 }
    }

    /// Sets the ratio of the outermost radius to the scale radius, from 0.1 to 100. Default: 10.
    #[must_use]
    pub fn concentration(mut self, concentration: f64) -> Self {
        self.concentration = concentration;
        self
    }

    /// Sets the seed, any number. Default: 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the side of the box, which is the diameter of the halo, in any unit of length, from 1e-15 to 1e15.
    /// Default: 1.
    #[must_use]
    pub fn side(mut self, side: f64) -> Self {
        self.side = side;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        check_count(self.n)?;
        check_within("the concentration", self.concentration, 0.1, 100.0, "from 0.1 to 100")?;
        check_side(self.side)
    }

    /// Generates the points, in `[0, side)`.
    ///
    /// # Errors
    /// A parameter out of its range; more points than fit into memory.
    pub fn points(&self) -> Result<Vec<[f32; 3]>> {
        self.check()?;
        let (radii, mass) = (Radii::up_to(self.concentration), enclosed(self.concentration));
        let scale = 0.5 * self.side / self.concentration;
        fill(self.n, self.side, self.seed, |_, stream| {
            let radius = scale * radii.enclosing(stream.unit() * mass);
            let way = stream.direction();
            way.map(|way| 0.5 * self.side + radius * way)
        })
    }
}
