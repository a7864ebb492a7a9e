//! Each stored point with its neighbours: the twin of `neighbors`.
//!
//! In: a radius. Out: counts in the caller's order.
//! Each unit walks the tree for one point, neighbours in memory being neighbours in space.
//! Distances in the points' own precision settle nearly all pairs; those within the bound of their error are decided in `f64`, as
//! on the CPU, where a square is rounded before it is added.

use cubecl::prelude::*;

use super::buffer::{Buffer, UNITS, cubes};
use super::bvh::{Bvh, Coordinate};
use super::column::Column;
use super::device::on;
use crate::error::Result;
use crate::geometry::Reach;

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// How many stored points are within `radius` of each, itself included, in the caller's order: as
    /// [`crate::Bvh::count_neighbors`].
    ///
    /// Errors: if the device fails.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
    /// assert_eq!(bvh.count_neighbors(1.0)?.read()?, [2, 1, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn count_neighbors(&self, radius: impl Into<f64>) -> Result<Column> {
        let Some(nodes) = &self.nodes else { return Ok(Column { device: self.device, values: self.order.clone() }) };
        let (n, periodic) = (self.len(), self.space.period().is_some());
        let reach = Reach::<S, D>::new(radius.into(), &self.space);
        let sides = self.space.period().copied().unwrap_or([0.0; D]);
        let numbers: Vec<S> =
            [reach.sure, reach.maybe].into_iter().chain(sides.map(Into::<f64>::into).map(S::from_f64)).collect();
        let exact: Vec<f64> = [reach.radius2].into_iter().chain(sides).collect();
        on!(self.device, client => {
            let counts = Buffer::<u32>::new(client, n);
            count_each::launch::<S, _>(
                client,
                cubes(n),
                CubeDim::new_1d(UNITS),
                nodes.bounds.arg(),
                nodes.ropes.arg(),
                nodes.first.arg(),
                self.axes.arg(),
                self.order.arg(),
                Buffer::from_slice(client, &numbers).arg(),
                Buffer::from_slice(client, &exact).arg(),
                counts.arg(),
                n as u32,
                (nodes.ropes.len() - 1) as u32,
                D,
                periodic,
            );
            Ok(Column { device: self.device, values: counts })
        })
    }
}

/// A point's distance from a box along an axis, squared and summed up.
#[cube]
fn gap2<F: Float>(
    bounds: &Array<F>,
    node: u32,
    point: &Array<F>,
    numbers: &Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> F {
    let mut sum = F::new(0.0);
    #[unroll]
    for k in 0..d {
        let lo = bounds[node as usize * 2 * d + k];
        let hi = bounds[node as usize * 2 * d + d + k];
        let mut gap = (lo - point[k]).max(point[k] - hi).max(F::new(0.0));
        if comptime!(periodic) {
            let around = numbers[2 + k] - (point[k] - lo).max(hi - point[k]);
            gap = gap.min(around.max(F::new(0.0)));
        }
        sum += gap * gap;
    }
    sum
}

/// The squared distance of a point from the one at a position.
#[cube]
fn distance2<F: Float>(
    axes: &Array<F>,
    at: u32,
    n: u32,
    point: &Array<F>,
    numbers: &Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> F {
    let mut sum = F::new(0.0);
    #[unroll]
    for k in 0..d {
        let mut gap = (point[k] - axes[k * n as usize + at as usize]).abs();
        if comptime!(periodic) {
            gap = gap.min((numbers[2 + k] - gap).max(F::new(0.0)));
        }
        sum += gap * gap;
    }
    sum
}

/// The same in `f64`, rounded as [`Space::distance2`](crate::Space::distance2) rounds.
#[cube]
fn exact_distance2<F: Float>(
    axes: &Array<F>,
    at: u32,
    n: u32,
    point: &Array<F>,
    exact: &Array<f64>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> f64 {
    let zero = f64::new(0.0);
    let mut sum = zero;
    #[unroll]
    for k in 0..d {
        let mut gap = (f64::cast_from(point[k]) - f64::cast_from(axes[k * n as usize + at as usize])).abs();
        if comptime!(periodic) {
            gap = gap.min((exact[1 + k] - gap).max(zero));
        }
        // A product of its own: compilers may fuse one with a sum, but nothing with what is fused already.
        sum += fma(gap, gap, zero);
    }
    sum
}

#[cube(launch)]
fn count_each<F: Float>(
    bounds: &Array<F>,
    ropes: &Array<u32>,
    firsts: &Array<u32>,
    axes: &Array<F>,
    order: &Array<u32>,
    numbers: &Array<F>,
    exact: &Array<f64>,
    counts: &mut Array<u32>,
    n: u32,
    end: u32,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let (sure, maybe) = (numbers[0], numbers[1]);
        let mut point = Array::<F>::new(d);
        #[unroll]
        for k in 0..d {
            point[k] = axes[k * n as usize + i as usize];
        }
        let mut count = 0u32.runtime();
        let mut at = 0u32.runtime();
        while at < end {
            let rope = ropes[at as usize];
            if gap2::<F>(bounds, at, &point, numbers, d, periodic) > maybe {
                at = rope;
            } else if rope == at + 1 {
                for other in firsts[at as usize]..firsts[rope as usize] {
                    let d2 = distance2::<F>(axes, other, n, &point, numbers, d, periodic);
                    if d2 <= sure {
                        count += 1;
                    } else if d2 <= maybe {
                        if exact_distance2::<F>(axes, other, n, &point, exact, d, periodic) <= exact[0] {
                            count += 1;
                        }
                    }
                }
                at = rope;
            } else {
                at += 1;
            }
        }
        let own = order[i as usize] as usize;
        counts[own] = count;
    }
}
