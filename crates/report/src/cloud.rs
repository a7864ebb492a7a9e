//! The points of a view: 16 bits per axis, group by group.

use ropewalk::Result;
use ropewalk_table::{Points, Table};
use serde_json::{Value, json};

use crate::errors::too_wide;
use crate::groups::{Groups, MAX_POINTS, Order};

/// The number of steps of a quantized coordinate.
const STEPS: f64 = 65536.0;

/// The box, axes and unit of a view, and its maximum number of points.
#[derive(Clone, Debug)]
pub struct CloudOptions {
    /// The side of the periodic box. `None`: the view shows the smallest box around the points.
    pub period: Option<f64>,
    /// The maximum number of points; beyond it a reproducible part is shown. Default: 2 million.
    pub max_points: usize,
    /// The names of the coordinates. Default: x, y and z.
    pub axes: Vec<String>,
    /// The unit of lengths in the view; empty if it is unknown.
    pub unit: String,
    /// The factor from coordinates to that unit. Default: 1.
    pub length_factor: f64,
}

impl Default for CloudOptions {
    fn default() -> Self {
        let axes = ["x", "y", "z"].map(String::from).into();
        Self { period: None, max_points: MAX_POINTS, axes, unit: String::new(), length_factor: 1.0 }
    }
}

/// Points of a view: their coordinates in 65,536 steps along up to three axes, sorted by group.
///
/// ```
/// use ropewalk_report::{Cloud, CloudOptions, Groups};
/// use ropewalk_table::{Points, Table};
///
/// let points = Points::F32(Table::new(2, vec![0.0, 0.0, 0.5, 0.25, 1.0, 1.0])?);
/// let groups = Groups { labels: &[0, -1, 0], rows: &[0], parents: &[] };
/// let cloud = Cloud::new(&points, &groups, &CloudOptions::default())?;
/// assert_eq!((cloud.n_points(), cloud.n_shown()), (3, 3));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Debug)]
pub struct Cloud {
    n_points: usize,
    /// The number of dimensions of the view: 2 or 3.
    dim: usize,
    /// The number of dimensions of the points.
    of_dim: usize,
    lo: Vec<f64>,
    sides: Vec<f64>,
    is_periodic: bool,
    axes: Vec<String>,
    unit: String,
    length_factor: f64,
    /// Quantized coordinates, a plane per axis.
    planes: Vec<Vec<u16>>,
    ranges: Vec<[usize; 2]>,
    starts: Vec<usize>,
    rows: Vec<u32>,
}

impl Cloud {
    /// Quantizes the first three coordinates of points. Points with coordinates that are not finite are left out.
    ///
    /// # Errors
    /// Fails if there is not one label per point, if parents have cycles, or if the range of coordinates overflows.
    ///
    /// # Cost
    /// 12 bytes per point and 24 bytes per shown point, and the time to sort the shown points.
    pub fn new(points: &Points, groups: &Groups<'_>, options: &CloudOptions) -> Result<Self> {
        match points {
            Points::F32(table) => Self::from_table(table, groups, options),
            Points::F64(table) => Self::from_table(table, groups, options),
        }
    }

    fn from_table<S: Copy + Into<f64>>(table: &Table<S>, groups: &Groups<'_>, options: &CloudOptions) -> Result<Self> {
        let (n, of_dim) = (table.len(), table.dim());
        let dim = of_dim.clamp(2, 3);
        let values = table.as_slice();
        // A line of points is shown in the plane.
        let position = |i: usize| -> [f64; 3] {
            let row = &values[i * of_dim..(i + 1) * of_dim];
            std::array::from_fn(|k| row.get(k).map_or(0.0, |&x| x.into()))
        };
        let is_finite = |i: usize| position(i).iter().all(|x| x.is_finite());
        let scale = Scale::new((0..n).filter(|&i| is_finite(i)).map(position), dim, options.period)?;
        let mut order = groups.order(n, options.max_points, is_finite)?;
        let planes = scale.planes(&mut order, position);
        let mut axes = options.axes.clone();
        (axes.len()..dim).for_each(|k| axes.push(["x", "y", "z"][k].into()));
        axes.truncate(dim);
        Ok(Self {
            n_points: n,
            dim,
            of_dim,
            lo: scale.lo,
            sides: scale.sides,
            is_periodic: options.period.is_some(),
            axes,
            unit: options.unit.clone(),
            length_factor: options.length_factor,
            planes,
            ranges: order.ranges,
            starts: order.starts,
            rows: order.rows,
        })
    }

    /// Returns the number of points.
    pub fn n_points(&self) -> usize {
        self.n_points
    }

    /// Returns the number of points in the view.
    pub fn n_shown(&self) -> usize {
        self.planes.first().map_or(0, Vec::len)
    }

    /// Returns the number of dimensions of the points, of which the view shows at most three.
    pub(crate) fn of_dim(&self) -> usize {
        self.of_dim
    }

    /// Returns the names of the coordinates in the view.
    pub(crate) fn axes(&self) -> &[String] {
        &self.axes
    }

    /// Returns the numbers that the page needs to place the points.
    pub(crate) fn describe(&self) -> Value {
        json!({
            "points": self.n_points,
            "shown": self.n_shown(),
            "dim": self.dim,
            "lo": self.lo,
            "sides": self.sides,
            "periodic": self.is_periodic,
            "axes": self.axes,
            "unit": self.unit,
            "factor": self.length_factor,
            "ranges": self.ranges,
            "starts": self.starts,
            "rows": self.rows,
        })
    }

    /// Returns the coordinates as bytes. For each axis: the high bytes of the differences between successive
    /// coordinates, then their low bytes. Neighbouring points are close, so high bytes compress well.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 * self.dim * self.n_shown());
        for plane in &self.planes {
            let before = [0].iter().chain(plane);
            let steps = || plane.iter().zip(before.clone()).map(|(&x, &before)| x.wrapping_sub(before));
            bytes.extend(steps().map(|step| (step >> 8) as u8));
            bytes.extend(steps().map(|step| step as u8));
        }
        bytes
    }
}

/// The box of a view.
struct Scale {
    lo: Vec<f64>,
    sides: Vec<f64>,
    is_periodic: bool,
}

impl Scale {
    fn new(positions: impl Iterator<Item = [f64; 3]>, dim: usize, period: Option<f64>) -> Result<Self> {
        if let Some(side) = period {
            return Ok(Self { lo: vec![0.0; dim], sides: vec![side; dim], is_periodic: true });
        }
        let (mut lo, mut hi) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for at in positions {
            for k in 0..dim {
                (lo[k], hi[k]) = (lo[k].min(at[k]), hi[k].max(at[k]));
            }
        }
        if lo[0] > hi[0] {
            (lo, hi) = ([0.0; 3], [1.0; 3]);
        }
        if let Some(k) = (0..dim).find(|&k| !(hi[k] - lo[k]).is_finite()) {
            return Err(too_wide(k, lo[k], hi[k]));
        }
        let widest = (0..dim).map(|k| hi[k] - lo[k]).fold(0.0, f64::max);
        // Points in a plane or at one position still need a box of positive volume.
        let least = if widest > 0.0 { 1e-3 * widest } else { lo.iter().fold(1e-300, |most: f64, x| most.max(x.abs())) };
        let sides: Vec<f64> = (0..dim).map(|k| (hi[k] - lo[k]).max(least)).collect();
        let lo = (0..dim).map(|k| lo[k] - 0.5 * (sides[k] - (hi[k] - lo[k]))).collect();
        Ok(Self { lo, sides, is_periodic: false })
    }

    fn quantized(&self, at: [f64; 3], k: usize) -> u16 {
        let share = (at[k] - self.lo[k]) / self.sides[k];
        let share = if self.is_periodic { share.rem_euclid(1.0) } else { share };
        // The conversion saturates; the largest step also holds the upper end.
        (share * STEPS).min(STEPS - 1.0) as u16
    }

    /// Returns the quantized coordinates of the ordered points, and sorts the points of each group along a Z-order
    /// curve.
    fn planes(&self, order: &mut Order, position: impl Fn(usize) -> [f64; 3]) -> Vec<Vec<u16>> {
        let dim = self.lo.len();
        let mut planes = vec![Vec::with_capacity(order.points.len()); dim];
        let ends = order.starts.iter().skip(1).copied().chain([order.points.len()]);
        for (&from, to) in order.starts.iter().zip(ends) {
            let keyed = order.points[from..to].iter().map(|&i| {
                let at = position(i as usize);
                let steps: [u16; 3] = std::array::from_fn(|k| if k < dim { self.quantized(at, k) } else { 0 });
                (interleaved(steps), steps)
            });
            let mut keyed: Vec<(u64, [u16; 3])> = keyed.collect();
            keyed.sort_unstable();
            for (_, steps) in &keyed {
                planes.iter_mut().zip(steps).for_each(|(plane, &step)| plane.push(step));
            }
        }
        planes
    }
}

/// Returns the position on a Z-order curve: the bits of three numbers in turn.
fn interleaved(steps: [u16; 3]) -> u64 {
    let spread = |step: u16| {
        let mut bits = u64::from(step);
        for (shift, mask) in [(16, 0xff00_00ff), (8, 0x00f0_0f00_f00f), (4, 0x0c30_c30c_30c3), (2, 0x2492_4924_9249)] {
            bits = (bits | bits << shift) & mask;
        }
        bits
    };
    spread(steps[0]) << 2 | spread(steps[1]) << 1 | spread(steps[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloud(dim: usize, values: &[f64], labels: &[i32], period: Option<f64>) -> Cloud {
        let points = Points::F64(Table::new(dim, values.to_vec()).unwrap());
        let options = CloudOptions { period, ..CloudOptions::default() };
        Cloud::new(&points, &Groups { labels, rows: &[0], parents: &[] }, &options).unwrap()
    }

    #[test]
    fn bits_are_interleaved() {
        assert_eq!(interleaved([1, 0, 0]), 4);
        assert_eq!(interleaved([0xffff; 3]), (1 << 48) - 1);
        let naive =
            |steps: [u16; 3]| (0..48).fold(0u64, |key, bit| key << 1 | u64::from(steps[bit % 3] >> (15 - bit / 3) & 1));
        for steps in [[0x1234, 0xabcd, 0x0f0f], [0x8001, 0x7ffe, 0x5555], [3, 5, 6]] {
            assert_eq!(interleaved(steps), naive(steps));
        }
    }

    #[test]
    fn positions_survive() {
        let values: Vec<f64> = (0..3000).map(|i| f64::from(i * 7919 % 3001) / 30.0 - 20.0).collect();
        let cloud = cloud(3, &values, &vec![-1; 1000], None);
        let mut found: Vec<[i64; 3]> = vec![];
        for i in 0..1000 {
            let at = |k: usize| cloud.lo[k] + (f64::from(cloud.planes[k][i]) + 0.5) / STEPS * cloud.sides[k];
            found.push([at(0), at(1), at(2)].map(|x| (x * 100.0).round() as i64));
        }
        let mut given: Vec<[i64; 3]> =
            values.as_chunks::<3>().0.iter().map(|at| at.map(|x| (x * 100.0).round() as i64)).collect();
        found.sort_unstable();
        given.sort_unstable();
        assert!(found.iter().zip(&given).all(|(a, b)| (0..3).all(|k| (a[k] - b[k]).abs() <= 1)));
    }

    #[test]
    fn bytes_decode() {
        let cloud = cloud(2, &[0.0, 0.0, 1.0, 0.5, 0.25, 1.0, 0.75, 0.125], &[0, 0, -1, 0], Some(1.0));
        let bytes = cloud.bytes();
        let n = cloud.n_shown();
        for (k, plane) in cloud.planes.iter().enumerate() {
            let (high, low) = (&bytes[2 * k * n..], &bytes[(2 * k + 1) * n..]);
            let mut x = 0u16;
            let decoded: Vec<u16> = (0..n)
                .map(|i| {
                    x = x.wrapping_add(u16::from(high[i]) << 8 | u16::from(low[i]));
                    x
                })
                .collect();
            assert_eq!(decoded, *plane);
        }
        // 1 is 0 in the periodic box.
        assert_eq!(cloud.planes, [vec![0, 0, 49152, 16384], vec![0, 32768, 8192, 0]]);
        assert_eq!(cloud.ranges, [[0, 3]]);
    }

    #[test]
    fn any_points_have_a_box() {
        for (dim, values) in
            [(1, vec![]), (1, vec![3.0; 2]), (3, vec![0.0; 3]), (2, vec![1e200, -1e200, 0.0, 0.0]), (5, vec![1.0; 10])]
        {
            let n = values.len() / dim;
            let cloud = cloud(dim, &values, &vec![-1; n], None);
            assert_eq!((cloud.n_shown(), cloud.of_dim()), (n, dim));
            assert!(cloud.sides.iter().all(|side| *side > 0.0) && cloud.axes.len() == cloud.sides.len());
        }
        let cloud = cloud(2, &[0.0, f64::NAN, 1.0, 2.0], &[0, 0], None);
        assert_eq!((cloud.n_points(), cloud.n_shown(), cloud.ranges[0]), (2, 1, [0, 1]));
        let wide = Points::F64(Table::new(1, vec![-1.7e308, 1.7e308]).unwrap());
        let groups = Groups { labels: &[0, 0], rows: &[0], parents: &[] };
        assert!(Cloud::new(&wide, &groups, &CloudOptions::default()).unwrap_err().to_string().contains("too wide"));
    }
}
