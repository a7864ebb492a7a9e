//! Attaches points of all ranks to halos of all ranks.
//!
//! In: halos, the points among which they were found, and other points. Out: the label of each other point, and a
//! route that sends columns of the attached points to the ranks that own their halos.
//! Cost: a tree over the first points, one nearest-neighbour search per other point, and 16 bytes on each rank for
//! each halo of all ranks. An attached point is sent once for each column.

use bytemuck::Pod;

use crate::distributed::communicator::{Communicator, agree, all_gather_v};
use crate::distributed::route::Route;
use crate::distributed::search::Bvh;
use crate::distributed::{DomainOptions, Halos};
use crate::error::{Error, Result};
use crate::geometry::Scalar;
use crate::search::Nearest;

/// Points attached to halos: their labels on the ranks that hold the points, and a route to the owners of the halos.
#[derive(Debug)]
pub struct AttachedPoints {
    /// The label of each point that this rank passed in, -1 if the point joined no halo.
    pub labels: Vec<i64>,
    route: Route,
    /// The owned halo of each point that arrived. The points of each halo are in ascending order of their global
    /// index.
    pub halos: Vec<u32>,
}

impl AttachedPoints {
    /// Sends a column of the points that this rank passed in to the ranks that own their halos. Returns one value for
    /// each entry of `halos`. Collective.
    pub fn send_column<T: Pod + Send + Sync>(&self, ranks: &dyn Communicator, column: &[T]) -> Result<Vec<T>> {
        self.route.send(ranks, column)
    }
}

impl Halos {
    /// Attaches `others` to the halos, as [`crate::Halos::attach`] does in one process. Each joins the group of its
    /// nearest neighbour in `points`, the points among which the halos were found, if that neighbour is within
    /// `length`. Collective.
    ///
    /// # Errors
    /// Fails on all ranks if a rank has a point in `others` that is not finite. Fails as [`Domain::new`] does.
    #[doc(hidden)]
    pub fn attach<S: Scalar>(
        &self,
        ranks: &dyn Communicator,
        points: &[[S; 3]],
        others: &[[S; 3]],
        length: f64,
        period: Option<f64>,
    ) -> Result<AttachedPoints> {
        agree(ranks, check(others))?;
        let domain = DomainOptions::new().periodic(period).distribute(ranks, points)?;
        let space = domain.space;
        let bvh = Bvh::from_domain(domain)?;
        let wrapped: Vec<[S; 3]> = others.iter().map(|&point| space.wrap(point)).collect();
        let near = bvh.nearest_all(&wrapped, Nearest::new(1).within(length))?;
        drop((bvh, wrapped));
        let nearest: Vec<Option<u64>> =
            (0..others.len()).map(|at| near.of(at).first().map(|near| near.index)).collect();
        drop(near);
        let labels = self.labels_of(ranks, &nearest)?;

        // Find the owner of each halo.
        let numbers = self.numbers();
        let mut owners: Vec<(u64, u32)> = (0..)
            .zip(all_gather_v(ranks, &numbers)?.iter())
            .flat_map(|(rank, labels)| labels.iter().map(move |&label| (label, rank)))
            .collect();
        owners.sort_unstable();
        let mut lists = vec![vec![]; ranks.size()];
        for (row, &label) in (0..).zip(&labels) {
            let found =
                u64::try_from(label).ok().and_then(|label| owners.binary_search_by_key(&label, |owner| owner.0).ok());
            if let Some(at) = found {
                lists[owners[at].1 as usize].push(row);
            }
        }
        let route = Route::from_lists(ranks, &lists)?;
        let mut own: Vec<(u64, u32)> = numbers.into_iter().zip(0..).collect();
        own.sort_unstable();
        let halo =
            |label: i64| own.binary_search_by_key(&(label as u64), |halo| halo.0).map_or(u32::MAX, |at| own[at].1);
        let halos = route.send(ranks, &labels)?.into_iter().map(halo).collect();
        Ok(AttachedPoints { labels, route, halos })
    }

    /// Returns the labels of points of all ranks, given by global index; -1 for `None`. Collective.
    fn labels_of(&self, ranks: &dyn Communicator, indices: &[Option<u64>]) -> Result<Vec<i64>> {
        let starts = self.starts();
        let home = |index: u64| starts.partition_point(|&start| start <= index) - 1;
        let mut asked: Vec<(usize, usize, u64)> =
            indices.iter().enumerate().filter_map(|(at, index)| Some((home((*index)?), at, (*index)?))).collect();
        asked.sort_unstable();
        let mut counts = vec![0; ranks.size()];
        asked.iter().for_each(|(rank, ..)| counts[*rank] += 1);
        let rows: Vec<u32> = asked.iter().map(|(rank, _, index)| (index - starts[*rank]) as u32).collect();
        let answers = Route::requested(ranks, &rows, &counts)?.send(ranks, self.labels().as_slice())?;
        let mut labels = vec![-1; indices.len()];
        asked.iter().zip(answers).for_each(|((_, at, _), label)| labels[*at] = label);
        Ok(labels)
    }
}

/// Fails if a coordinate is not finite.
fn check<S: Scalar>(points: &[[S; 3]]) -> Result<()> {
    for (index, point) in points.iter().enumerate() {
        if let Some((axis, value)) = (0..).zip(point.map(Into::into)).find(|(_, x): &(usize, f64)| !x.is_finite()) {
            return Err(Error::not_finite(index, axis, value));
        }
    }
    Ok(())
}
