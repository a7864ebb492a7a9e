//! The members of one halo, scaled for sums over pairs.
//!
//! In: the unwrapped positions of the members. Out: coordinates relative to the first member, and masses, one array
//! each. They are scaled by powers of two, so that lengths and masses are at most 1 and no square leaves the range of
//! `f64`. The scaling rounds nothing.
//! Cost: O(members); 32 bytes per member.

use crate::geometry::Space;
use crate::halo::centers::result::NoCenter;
use crate::simd::LANES;

/// The coordinate of padding, outside of all members, whose coordinates are less than 1.
pub(crate) const PADDING: f64 = 4.0;
/// The minimum magnitude of coordinates, in units of the halo's extent or of the softening. Smaller ones are flushed
/// to zero, so that the square of a nonzero difference does not underflow.
const MIN_COORDINATE: f64 = f64::from_bits((1023 - 480) << 52);

/// The coordinates and masses of one halo, in ascending order of the members.
pub(crate) struct ScaledMembers {
    /// One array per axis, padded to whole lanes.
    pub axes: [Vec<f64>; 3],
    /// One mass per member, padded with zeros.
    pub masses: Vec<f64>,
    /// The softening length. Scaling never rounds a positive length to 0.
    pub softening: f64,
    /// The square of the softening length, which may be 0 for a positive length.
    pub softening2: f64,
    /// The largest absolute coordinate.
    pub extent: f64,
    len: usize,
    /// The binary logarithms of the units of length and mass.
    units: (i32, i32),
}

/// Replaces positions with their offsets from the first member, each at its nearest image.
///
/// Returns an error if the halo is at least half as wide as the box. Then some pairs are nearer across the boundary,
/// and offsets from another member would give another shape.
pub(crate) fn unwrap(positions: &mut [[f64; 3]], space: &Space<3>) -> Result<(), NoCenter> {
    let Some(&first) = positions.first() else { return Err(NoCenter::NoMembers) };
    let (mut lo, mut hi) = ([0.0f64; 3], [0.0f64; 3]);
    for at in positions {
        *at = space.offset(&first, at);
        for k in 0..3 {
            (lo[k], hi[k]) = (lo[k].min(at[k]), hi[k].max(at[k]));
        }
    }
    for (axis, &size) in space.period().into_iter().flatten().enumerate() {
        let width = hi[axis] - lo[axis];
        if width >= 0.5 * size {
            return Err(NoCenter::TooWide { axis, width, size });
        }
    }
    Ok(())
}

impl ScaledMembers {
    /// Scales the members. `offsets` are finite, `mass` gives the positive mass of each member, `softening` is not
    /// negative.
    pub fn new(offsets: &[[f64; 3]], mass: impl Fn(usize) -> f64, softening: f64) -> Self {
        let len = offsets.len();
        let extent = offsets.iter().flatten().map(|x| x.abs()).fold(0.0, f64::max);
        let length = exponent(extent.max(softening));
        let weight = exponent((0..len).map(&mass).fold(0.0, f64::max));
        let scale = power(-length);
        let padded = len.next_multiple_of(LANES);
        let axes = std::array::from_fn(|k| {
            let mut axis = Vec::with_capacity(padded);
            axis.extend(offsets.iter().map(|offset| {
                let x = offset[k] * scale;
                if x.abs() < MIN_COORDINATE { 0.0 } else { x }
            }));
            axis.resize(padded, PADDING);
            axis
        });
        let mut masses = Vec::with_capacity(padded);
        // The terms of a smaller mass would underflow.
        masses.extend((0..len).map(|i| (mass(i) * power(-weight)).max(power(-500))));
        masses.resize(padded, 0.0);
        // Scaling must not round a positive softening to 0. With this minimum, quotients by the softening stay finite.
        let softening = if softening > 0.0 { (softening * scale).max(power(-970)) } else { 0.0 };
        let extent = axes.iter().flat_map(|axis: &Vec<f64>| &axis[..len]).fold(0.0, |max, x| x.abs().max(max));
        Self { axes, masses, softening, softening2: softening * softening, extent, len, units: (length, weight) }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn position(&self, member: usize) -> [f64; 3] {
        std::array::from_fn(|k| self.axes[k][member])
    }

    /// Converts a sum -phi over scaled members to the potential phi in the units of the points and masses.
    pub fn potential(&self, sum: f64) -> f64 {
        -(sum * power(self.units.1)) * power(-self.units.0)
    }

    /// Converts a value of -phi in the units of the points and masses to the sum -phi over scaled members.
    pub fn scaled(&self, sum: f64) -> f64 {
        sum * power(self.units.0) * power(-self.units.1)
    }
}

/// The exponent of the smallest power of two above `x`, clamped to -1000 to 1000.
pub(crate) fn exponent(x: f64) -> i32 {
    let biased = (x.to_bits() >> 52) as i32;
    (biased - 1022).clamp(-1000, 1000)
}

/// 2^`exponent`, for exponents of normal numbers.
pub(crate) fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}
