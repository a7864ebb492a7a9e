//! Friends-of-friends groups of stored points, and the groups that ghost points are linked to.
//!
//! In: a tree, a linking length, and points that are not stored (ghosts). Out: a number for each stored point and each
//! ghost. Two ghosts have the same number if they are linked to one group. Groups are numbered by their smallest
//! stored member. Cost: that of the groups of the stored points, and a traversal for each ghost.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, end_phase};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::cluster::connect::{Participants, connect, connect_others};
use crate::gpu::cluster::labels::{Labels, Membership, label, number_clusters};
use crate::gpu::device::{Device, on};
use crate::gpu::errors;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::query_points::QueryPoints;

/// Groups on a device.
pub(crate) struct Groups {
    device: Device,
    /// The groups of the stored points in the order of the points as they were given, then those of the ghosts; -1 for
    /// none.
    labels: Buffer<i32>,
    n: usize,
    /// The smallest stored member of each group, ascending.
    pub smallest: Vec<u32>,
}

impl Groups {
    /// Finds the groups. The ghosts are `others`, which must be finite.
    pub fn find<S: Coordinate, const D: usize>(bvh: &Bvh<S, D>, others: &[[S; D]], length: f64) -> Result<Self> {
        let (device, n) = (bvh.device, bvh.len());
        on!(device, client => {
            let Some(nodes) = &bvh.nodes else {
                let labels = Buffer::from_slice(client, &vec![-1; others.len()]);
                return Ok(Self { device, labels, n, smallest: vec![] });
            };
            let mut forest = connect(client, bvh, nodes, length, Participants::All, true)?;
            end_phase(client, "walk, union")?;
            let mut order = bvh.order.clone();
            if let Some(queries) = QueryPoints::of_finite(client, others, &bvh.space)? {
                forest = connect_others(client, bvh, nodes, length, &forest, &queries.axes)?;
                order = behind(client, &order, &queries.order);
            }
            end_phase(client, "ghost groups")?;
            let (numbers, representatives) = number_clusters(client, &forest, &order, Membership::Multiple)?;
            drop(forest);
            let smallest = representatives.items(client).read(client)?;
            drop(representatives);
            let labels = label(client, &numbers, &order, None);
            end_phase(client, "labels")?;
            Ok(Self { device, labels, n, smallest })
        })
    }

    /// Returns the group of each ghost.
    pub fn ghost_groups(&self) -> Result<Vec<i32>> {
        let rows: Vec<u32> = (self.n..self.labels.len()).map(|row| row as u32).collect();
        self.of_rows(&rows)
    }

    /// Returns the groups of the stored points in `rows`.
    pub fn of_rows(&self, rows: &[u32]) -> Result<Vec<i32>> {
        let labels = on!(self.device, client => {
            gather(client, &self.labels, &Buffer::from_slice(client, rows), 1, Layout::Rows).read(client)
        })?;
        self.checked(labels)
    }

    /// Adds a group for each of `rows`, which are stored points without a group. Its number follows those of the
    /// existing groups.
    pub fn add(&mut self, rows: &[u32]) -> Result<()> {
        on!(self.device, client => {
            let (n, first) = (rows.len() as u32, self.smallest.len() as i32);
            let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
            let at = Buffer::from_slice(client, rows);
            number_rows::launch::<_>(client, blocks_for(rows.len()), dim, at.arg(), self.labels.arg(), first, n);
            Ok::<_, crate::Error>(())
        })?;
        self.smallest.extend_from_slice(rows);
        Ok(())
    }

    /// Copies the groups of the stored points from the device.
    pub fn read(&self) -> Result<Vec<i32>> {
        let mut labels = on!(self.device, client => self.labels.read(client))?;
        labels.truncate(self.n);
        self.checked(labels)
    }

    /// Checks that labels are those of groups. A device whose memory is full, for example because several processes
    /// share it, may return other values without an error.
    fn checked(&self, labels: Vec<i32>) -> Result<Vec<i32>> {
        let count = self.smallest.len();
        match labels.iter().all(|&label| label < count as i32) {
            true => Ok(labels),
            false => Err(errors::failed(format!("it returned group numbers beyond {count}; its memory may be full"))),
        }
    }

    /// Returns the labels of the stored points. `numbers` maps each group to a number below `n_clusters`.
    pub fn labels(self, numbers: &[i32], n_clusters: usize) -> Result<Labels> {
        on!(self.device, client => {
            let (n, dim) = (self.n, CubeDim::new_1d(THREADS_PER_BLOCK));
            let (numbers, labels) = (Buffer::from_slice(client, numbers), Buffer::<i32>::new(client, n));
            renumber::launch::<_>(client, blocks_for(n), dim, self.labels.arg(), numbers.arg(), labels.arg(), n as u32);
            Ok(Labels { device: self.device, labels, n_clusters: n_clusters as u32, has_border_labels: false })
        })
    }
}

/// Appends the order of the ghosts to the order of the stored points.
fn behind<R: Runtime>(client: &ComputeClient<R>, order: &Buffer<u32>, others: &Buffer<u32>) -> Buffer<u32> {
    let (n, all) = (order.len(), order.len() + others.len());
    let both = Buffer::<u32>::new(client, all);
    let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
    append_order::launch::<R>(
        client,
        blocks_for(all),
        dim,
        order.arg(),
        others.arg(),
        both.arg(),
        n as u32,
        all as u32,
    );
    both
}

#[cube(launch)]
fn append_order(order: &Array<u32>, others: &Array<u32>, both: &mut Array<u32>, n: u32, all: u32) {
    let at = ABSOLUTE_POS as u32;
    if at < all {
        if at < n {
            both[at as usize] = order[at as usize];
        } else {
            both[at as usize] = n + others[(at - n) as usize];
        }
    }
}

#[cube(launch)]
fn number_rows(rows: &Array<u32>, labels: &mut Array<i32>, first: i32, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let row = rows[at] as usize;
        labels[row] = first + i32::cast_from(at as u32);
    }
}

#[cube(launch)]
fn renumber(groups: &Array<i32>, numbers: &Array<i32>, labels: &mut Array<i32>, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let group = groups[at];
        let mut label = group + 0;
        if group >= 0 {
            label = numbers[group as usize];
        }
        labels[at] = label;
    }
}
