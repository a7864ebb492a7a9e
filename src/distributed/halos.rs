//! Halos of all ranks, each with all of its members on one rank.
//!
//! In: the components of a domain's points. Out: on each rank the halos that it owns, with their members in ascending
//! order of global index. Values computed from these members equal those of one process.
//! Cost: 16 bytes are sent for each member that is not on the rank that owns its halo, and one value per member for
//! each column. The owner holds all members of a halo.

use std::sync::OnceLock;

use bytemuck::Pod;

use crate::bvh::check_count;
use crate::cluster::labels::Labels as OwnLabels;
use crate::distributed::boundary::Numbered;
use crate::distributed::communicator::{Communicator, Reduction, agree, reduce};
use crate::distributed::components::rank_of;
use crate::distributed::domain::Domain;
use crate::distributed::global_order::global_positions;
use crate::distributed::labels::Labels;
use crate::distributed::route::Route;
use crate::error::Result;
use crate::geometry::{Boundary, Scalar};
use crate::memory::filled;
use crate::phases::mark;

/// The halos of all ranks. Each halo is owned by one rank, which knows all of its members.
///
/// ```
/// use ropewalk::{Fof, distributed::{Communicator, on_threads}};
///
/// let sizes = on_threads(3, |ranks| {
///     let points = [[ranks.rank() as f32], [10.0 + ranks.rank() as f32]];
///     let halos = Fof::new(1.0).run_across(ranks, &points)?;
///     // Global indices: 0, 2, 4 in the lower halo, 1, 3, 5 in the upper one.
///     let members = halos.owned().members(0).iter().map(|&at| halos.indices()[at as usize]).collect::<Vec<_>>();
///     Ok((halos.len(), members))
/// })?;
/// assert!(sizes.iter().any(|owned| *owned == (2, vec![0, 2, 4])) && sizes.contains(&(2, vec![1, 3, 5])));
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub struct Halos {
    labels: Labels,
    /// The global index of each rank's first point, followed by the number of all points.
    starts: Vec<u64>,
    /// The route from points, as ranks passed them in, to the owners of their halos; built on first use.
    route: OnceLock<Route>,
    /// The position of each owned halo among those of all ranks; computed on first use.
    places: OnceLock<Vec<u64>>,
    indices: Vec<u64>,
    owned: crate::Halos,
    /// The label of each owned halo's cluster.
    numbers: Vec<u64>,
    density: Option<Vec<f64>>,
    len: u64,
}

impl std::fmt::Debug for Halos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Halos").field("labels", &self.labels).finish_non_exhaustive()
    }
}

impl Halos {
    /// Gathers the members of each halo on one rank. `own` holds the component of each point of the domain, negative
    /// for points without one. The rank of a component's root owns the halo. Collective.
    pub(crate) fn gather<S: Scalar, const D: usize>(
        domain: &Domain<'_, S, D>,
        labels: Labels,
        own: &[i32],
        numbered: &Numbered,
        min_members: usize,
    ) -> Result<Self> {
        let ranks = domain.ranks;
        let Numbered { numbers, sizes, .. } = numbered;
        let roots = numbered.roots(ranks.rank());
        let (mut here, mut others) = (vec![], vec![]);
        for (&label, &id) in own.iter().zip(&domain.ids) {
            if let Some(label) = usize::try_from(label).ok().filter(|&label| sizes[label] >= min_members as u64) {
                let root = roots[label];
                let list = if rank_of(root) == ranks.rank() { &mut here } else { &mut others };
                list.push([id, root]);
            }
        }
        let to: Vec<u32> = others.iter().map(|other| rank_of(other[1]) as u32).collect();
        let mut arrived = Route::to_one(ranks, &to)?.send(ranks, &others)?;
        drop((to, others));
        agree(ranks, check_count::<D>(here.len() + arrived.len()))?;
        arrived.sort_unstable();
        let (indices, components) = merged(here, arrived);

        // Halos are numbered by their smallest member, which comes first.
        let (mut place, mut met) = (filled(numbers.len(), -1), vec![]);
        let number = |component: u32| {
            let place = &mut place[component as usize];
            if *place < 0 {
                *place = met.len() as i32;
                met.push(numbers[component as usize]);
            }
            *place
        };
        let clusters = components.into_iter().map(number).collect();
        let owned = OwnLabels::from_parts(clusters, met.len() as u32, None);
        let owned = crate::Halos::new_in(Boundary::new(&domain.space), owned, min_members);
        let len = reduce(ranks, owned.len() as u64, Reduction::Sum)?;
        mark("members");
        Ok(Self {
            labels,
            starts: domain.starts.clone(),
            route: OnceLock::new(),
            places: OnceLock::new(),
            indices,
            owned,
            numbers: met,
            density: None,
            len,
        })
    }

    /// Returns the group of each point of this rank, including groups with fewer members than a halo needs.
    /// Friends-of-friends groups have at least two members.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    pub(crate) fn with_density(self, density: Vec<f64>) -> Self {
        Self { density: Some(density), ..self }
    }

    /// Returns the density of each point of this rank, or its value of the field passed to
    /// [`Hop::run_on_domain_with_density`](crate::Hop::run_on_domain_with_density), if [`Hop`](crate::Hop) found the
    /// halos.
    pub fn density(&self) -> Option<&[f64]> {
        self.density.as_deref()
    }

    /// Returns the number of halos that all ranks own.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns `true` if there are no halos.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the halos that this rank owns, largest first, ties by the smallest member. Their members are positions
    /// in [`Halos::indices`].
    pub fn owned(&self) -> &crate::Halos {
        &self.owned
    }

    /// Returns the global indices of the members of owned halos, ascending.
    pub fn indices(&self) -> &[u64] {
        &self.indices
    }

    /// Returns the global index of each rank's first point, followed by the number of all points.
    #[doc(hidden)]
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Returns the label of each owned halo, as in [`Halos::labels`].
    pub fn numbers(&self) -> Vec<u64> {
        self.owned.clusters().iter().map(|&cluster| self.numbers[cluster as usize]).collect()
    }

    /// Sends a column of this rank's points, such as positions or masses, to the ranks that own their halos. Returns
    /// one value for each of [`Halos::indices`]. Collective.
    ///
    /// # Errors
    /// Fails if a rank has ended.
    pub fn send_column<T: Pod + Send + Sync>(&self, ranks: &dyn Communicator, column: &[T]) -> Result<Vec<T>> {
        self.route(ranks)?.send(ranks, column)
    }

    /// Returns the number of each owned halo among those of all ranks. Halos are numbered as in one process: largest
    /// first, ties by the smallest member. Collective.
    ///
    /// # Errors
    /// Fails if a rank has ended.
    pub fn catalog_rows(&self, ranks: &dyn Communicator) -> Result<&[u64]> {
        if let Some(places) = self.places.get() {
            return Ok(places);
        }
        // Complements of sizes, so that ascending keys mean descending sizes.
        let key = |members: &[u32]| [!(members.len() as u64), self.indices[members[0] as usize]];
        let places = global_positions(ranks, &self.owned.iter().map(key).collect::<Vec<_>>())?;
        Ok(self.places.get_or_init(|| places))
    }

    /// Returns the halo of each point of this rank, numbered as in [`Halos::catalog_rows`] and as
    /// [`Halos::halo_of_points`](crate::Halos::halo_of_points) does in one process; -1 for points in no halo.
    /// Collective.
    ///
    /// ```
    /// use ropewalk::{Fof, distributed::{Communicator, on_threads}};
    ///
    /// // A pair, and a row of three.
    /// let halos = on_threads(3, |ranks| {
    ///     let x = [0.0, 1.0, 50.0][ranks.rank()];
    ///     let points = [[x], [9.0 + ranks.rank() as f64]];
    ///     Fof::new(1.0).run_across(ranks, &points)?.halo_of_points(ranks)
    /// })?;
    /// assert_eq!(halos, [[1, 0], [1, 0], [-1, 0]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a rank has ended.
    pub fn halo_of_points(&self, ranks: &dyn Communicator) -> Result<Vec<i64>> {
        let places = self.catalog_rows(ranks)?;
        let route = self.route(ranks)?;
        let mut of_members = filled(self.indices.len(), -1);
        for (members, &place) in self.owned.iter().zip(places) {
            members.iter().for_each(|&at| of_members[at as usize] = place as i64);
        }
        let answers = route.answer(ranks, &of_members)?;
        let mut of_points = filled(self.labels.as_slice().len(), -1);
        route.rows().iter().zip(answers).for_each(|(&row, place)| of_points[row as usize] = place);
        Ok(of_points)
    }

    /// Returns the same halos with another boundary (open or periodic).
    #[doc(hidden)]
    pub fn with_boundary(self, boundary: Boundary) -> Self {
        Self { owned: self.owned.with_boundary(boundary), ..self }
    }

    /// Returns the route of columns to members. Collective on first use.
    fn route(&self, ranks: &dyn Communicator) -> Result<&Route> {
        if let Some(route) = self.route.get() {
            return Ok(route);
        }
        let firsts: Vec<usize> =
            self.starts.iter().map(|&start| self.indices.partition_point(|&index| index < start)).collect();
        let counts: Vec<usize> = firsts.windows(2).map(|ends| ends[1] - ends[0]).collect();
        let start_of = self.starts.iter().zip(&counts).flat_map(|(&start, &count)| std::iter::repeat_n(start, count));
        let rows: Vec<u32> = self.indices.iter().zip(start_of).map(|(index, start)| (index - start) as u32).collect();
        let route = Route::requested(ranks, &rows, &counts)?;
        Ok(self.route.get_or_init(|| route))
    }
}

/// Merges the members on this rank and those that arrived in ascending order of index; returns their indices and
/// components.
fn merged(here: Vec<[u64; 2]>, arrived: Vec<[u64; 2]>) -> (Vec<u64>, Vec<u32>) {
    let n = here.len() + arrived.len();
    let (mut indices, mut components) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let mut arrived = arrived.into_iter().peekable();
    let mut push = |[index, root]: [u64; 2]| {
        indices.push(index);
        components.push(root as u32);
    };
    for member in here {
        while let Some(other) = arrived.next_if(|other| other[0] < member[0]) {
            push(other);
        }
        push(member);
    }
    arrived.for_each(push);
    (indices, components)
}
