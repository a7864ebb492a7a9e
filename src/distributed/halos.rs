//! Halos of all ranks, each with all of its members on one.
//!
//! In: labels, and for each point the rank that owns its halo. Out: on each rank the halos that it owns, with their members by ascending
//! global index, so that what is computed of them there is what one process computes.
//! Cost: each member is sent once for each column; the owner of a halo holds all of it.

use bytemuck::Pod;

use crate::cluster::labels::Labels as OwnLabels;
use crate::distributed::boundary::NONE;
use crate::distributed::communicator::{Communicator, Reduction, agree, reduce};
use crate::distributed::domain::Domain;
use crate::distributed::labels::Labels;
use crate::distributed::route::Route;
use crate::error::Result;
use crate::geometry::{Boundary, Scalar};
use crate::phases::mark;

/// The halos of all ranks. Each is owned by one rank, which knows all of its members.
///
/// ```
/// use ropewalk::{Fof, distributed::{Communicator, on_threads}};
///
/// let sizes = on_threads(3, |ranks| {
///     let points = [[ranks.rank() as f32], [10.0 + ranks.rank() as f32]];
///     let halos = Fof::new(1.0).run_across(ranks, &points)?;
///     // Global indices: 0, 2, 4 are the lower halo's, 1, 3, 5 the upper one's.
///     let members = halos.owned().members(0).iter().map(|&at| halos.indices()[at as usize]).collect::<Vec<_>>();
///     Ok((halos.len(), members))
/// })?;
/// assert!(sizes.iter().any(|owned| *owned == (2, vec![0, 2, 4])) && sizes.contains(&(2, vec![1, 3, 5])));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Debug)]
pub struct Halos {
    labels: Labels,
    /// From this rank's points to the owners of their halos.
    route: Route,
    indices: Vec<u64>,
    owned: crate::Halos,
    /// The label of each owned halo's cluster.
    numbers: Vec<u64>,
    len: u64,
}

impl Halos {
    /// `owners` has the rank that each point of this rank goes to, [`NONE`] for none. Collective.
    pub(super) fn gather<S: Scalar, const D: usize>(
        domain: &Domain<'_, S, D>,
        labels: Labels,
        owners: &[u64],
        min_members: usize,
    ) -> Result<Self> {
        let ranks = domain.ranks;
        let mut lists = vec![vec![]; ranks.size()];
        for (row, &owner) in (0..).zip(owners) {
            if owner != NONE {
                lists[owner as usize].push(row);
            }
        }
        let route = Route::of_lists(ranks, &lists)?;
        drop(lists);
        // Ranks hold stretches of indices, and send them in their order: so they ascend.
        let indices = route.global_indices(ranks, &domain.starts)?;
        let arrived = route.send(ranks, labels.as_slice())?;
        let mut numbers: Vec<u64> = arrived.iter().map(|&label| label as u64).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let place = |label: i64| numbers.partition_point(|&number| number < label as u64) as i32;
        let owned = OwnLabels::from_slice(&arrived.iter().map(|&label| place(label)).collect::<Vec<_>>());
        let owned = agree(ranks, owned)?;
        let owned = crate::Halos::found_in(Boundary::of(&domain.space), owned, min_members);
        let len = reduce(ranks, owned.len() as u64, Reduction::Sum)?;
        mark("members");
        Ok(Self { labels, route, indices, owned, numbers, len })
    }

    /// The group of each point of this rank: all groups of two or more, also those with fewer members than a halo has at least.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// How many halos all ranks own.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The halos that this rank owns, largest first, ties by the smallest member. Their members are places in [`Halos::indices`].
    pub fn owned(&self) -> &crate::Halos {
        &self.owned
    }

    /// The global indices of the members of owned halos, ascending.
    pub fn indices(&self) -> &[u64] {
        &self.indices
    }

    /// The label of each owned halo in [`Halos::labels`].
    pub fn numbers(&self) -> Vec<u64> {
        self.owned.clusters().iter().map(|&cluster| self.numbers[cluster as usize]).collect()
    }

    /// A column of this rank's points, as positions or masses, on the ranks that own their halos: a value for each of
    /// [`Halos::indices`]. Collective.
    ///
    /// # Errors
    /// If a rank has ended.
    pub fn bring<T: Pod + Send + Sync>(&self, ranks: &dyn Communicator, column: &[T]) -> Result<Vec<T>> {
        self.route.send(ranks, column)
    }
}
