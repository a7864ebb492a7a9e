//! Each stored point with its neighbours: the twin of `neighbors`.
//!
//! In: a radius. Out: counts in the caller's order.
//! Each unit walks the tree for one point, neighbours in memory being neighbours in space.

use cubecl::prelude::*;

use super::buffer::{Buffer, UNITS, cubes};
use super::bvh::{Bvh, Coordinate};
use super::column::Column;
use super::device::on;
use super::metric::{Metric, distance2, exact_distance2, gap2};
use crate::error::Result;

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
    pub fn count_neighbors(&self, radius: impl Into<f64>) -> Result<Column<u32>> {
        let Some(nodes) = &self.nodes else { return Ok(Column { device: self.device, values: self.order.clone() }) };
        let (n, metric) = (self.len(), Metric::<S>::new(radius.into(), &self.space));
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
                Buffer::from_slice(client, &metric.numbers).arg(),
                Buffer::from_slice(client, &metric.exact).arg(),
                counts.arg(),
                n as u32,
                (nodes.ropes.len() - 1) as u32,
                D,
                metric.periodic,
            );
            Ok(Column { device: self.device, values: counts })
        })
    }
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
