//! The part of space that a projection shows.

use ropewalk::geometry::Space;

use crate::chart::Rect;
use crate::slab::Slab;

/// Units along a side of the density, and pixels at the default resolution.
pub const SIDE: usize = 960;
/// The font size of all text but the title: 6 points where the page is 85 mm wide.
pub const LETTERS: f64 = 34.0;
/// The edges of the density on the page.
pub const PLOT: Rect = [[206.0, 204.0], [206.0 + SIDE as f64, 204.0 + SIDE as f64]];

/// The visible region: a square of the plane perpendicular to an axis, and the cube around all particles.
pub struct Window {
    /// The axes that point to the right and upwards.
    pub axes: [usize; 2],
    pub lo: [f64; 3],
    /// The side of the square, which begins at the corner of the cube.
    pub side: f64,
    /// The side of the cube.
    cube: f64,
    pub period: Option<[f64; 3]>,
}

impl Window {
    /// Shows the periodic box, or the smallest square and cube with a margin around particles of the given extent,
    /// seen along an axis.
    pub fn new([lo, hi]: [[f64; 3]; 2], space: &Space<3>, along: usize) -> Self {
        // Right-handed, with the axis pointing to the viewer.
        let axes = [(along + 1) % 3, (along + 2) % 3];
        if let Some(&period) = space.period() {
            let [across, up] = axes.map(|k| period[k]);
            return Self {
                axes,
                lo: [0.0; 3],
                side: across.max(up),
                cube: across.max(up).max(period[along]),
                period: Some(period),
            };
        }
        // Coincident particles still need a window of positive width, relative to their coordinates.
        let least = 1e-3 * lo.iter().chain(&hi).fold(1e-300, |most: f64, x| most.max(x.abs()));
        let extent = |k: usize| if hi[k] > lo[k] { 1.02 * (hi[k] - lo[k]) } else { least };
        let side = extent(axes[0]).max(extent(axes[1]));
        let mut corner = lo;
        for k in axes {
            corner[k] = 0.5 * lo[k] + 0.5 * hi[k] - 0.5 * side;
        }
        Self { axes, lo: corner, side, cube: side.max(extent(along)), period: None }
    }

    /// Returns `true` if a position is in a slab.
    pub fn is_in(&self, slab: &Slab, at: [f64; 3]) -> bool {
        slab.contains(at, self.period.map(|period| period[slab.axis()]))
    }

    /// Returns `true` if opposite edges of the picture are adjacent, along each axis.
    pub fn wraps(&self) -> bool {
        self.period == Some([self.side; 3])
    }

    fn inside(&self, x: f64, k: usize) -> f64 {
        self.period.map_or(x, |period| x.rem_euclid(period[k])) - self.lo[k]
    }

    /// Maps a position to units from the upper left corner of the picture.
    pub fn pixel(&self, at: [f64; 3]) -> [f64; 2] {
        let scale = SIDE as f64 / self.side;
        let [across, up] = self.axes.map(|k| self.inside(at[k], k));
        [across * scale, SIDE as f64 - up * scale]
    }

    /// Maps a position to cells of the cube, which has `cells` cells along each side.
    pub fn cell(&self, at: [f64; 3], cells: usize) -> [f64; 3] {
        std::array::from_fn(|k| self.inside(at[k], k) / self.cube * cells as f64)
    }

    /// Returns the width of a cell, in units of the picture's side.
    pub fn cell_width(&self, cells: usize) -> f64 {
        self.cube / (self.side * cells as f64)
    }
}
