//! Halos of all ranks, each with all of its members on one.
//!
//! In: labels, and for each point the rank that owns its halo. Out: on each rank the halos that it owns, with their members by ascending
//! global index, so that what is computed of them there is what one process computes.
//! Cost: each member is sent once for each column; the owner of a halo holds all of it.

use bytemuck::Pod;

use crate::cluster::labels::Labels as OwnLabels;
use crate::distributed::boundary::NONE;
use crate::distributed::communicator::{Communicator, Reduction, reduce};
use crate::distributed::components::rank_of;
use crate::distributed::domain::Domain;
use crate::distributed::labels::Labels;
use crate::distributed::route::Route;
use crate::error::Result;
use crate::geometry::{Boundary, Scalar};
use crate::parallel::map;
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 14;

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
    /// `roots` has the component that stands for the halo of each point of this rank, [`NONE`] for none; the rank that it is of owns the halo.
    /// `numbers` has the label of each component of this rank. Collective.
    pub(super) fn gather<S: Scalar, const D: usize>(
        domain: &Domain<'_, S, D>,
        labels: Labels,
        roots: &[u64],
        numbers: &[u64],
        min_members: usize,
    ) -> Result<Self> {
        let ranks = domain.ranks;
        let mut lists = vec![vec![]; ranks.size()];
        for (row, &root) in (0..).zip(roots) {
            if root != NONE {
                lists[rank_of(root)].push(row);
            }
        }
        let route = Route::of_lists(ranks, &lists)?;
        drop(lists);
        // Ranks hold stretches of indices, and send them in their order: so they ascend.
        let indices = route.global_indices(ranks, &domain.starts)?;
        let arrived = route.send(ranks, &map(roots.len(), TASK, &|row| roots[row] as u32))?;
        // Halos are numbered by their smallest member, which comes first.
        let (mut place, mut met) = (vec![-1; numbers.len()], vec![]);
        let mut clusters = Vec::with_capacity(arrived.len());
        for component in arrived {
            let place = &mut place[component as usize];
            if *place < 0 {
                *place = met.len() as i32;
                met.push(numbers[component as usize]);
            }
            clusters.push(*place);
        }
        let owned = OwnLabels::from_parts(clusters, met.len() as u32, None);
        let owned = crate::Halos::found_in(Boundary::of(&domain.space), owned, min_members);
        let len = reduce(ranks, owned.len() as u64, Reduction::Sum)?;
        mark("members");
        Ok(Self { labels, route, indices, owned, numbers: met, len })
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
