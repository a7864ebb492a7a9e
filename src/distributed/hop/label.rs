//! Converts the group of each point, given by its densest peak, to labels and halos.
//!
//! In: groups and densities of a domain's points. Out: halos; labels and densities return to the ranks that passed in
//! the points.
//! Cost: 24 bytes for each group that a rank has members of; 16 bytes for each point on its way back.

use crate::cluster::labels::check_clusters;
use crate::distributed::boundary::{NONE, number_roots};
use crate::distributed::communicator::agree;
use crate::distributed::components::rank_of;
use crate::distributed::domain::Domain;
use crate::distributed::halos::Halos;
use crate::distributed::labels::Labels;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::memory::{filled, zeroed};
use crate::parallel::{map, sort};

/// Points per parallel task.
const TASK: usize = 1 << 14;

/// Creates halos from groups. `groups` names the group of each point by a peak, as a vertex, [`NONE`] for points
/// without a group; `n_peaks` is the number of peaks of this rank. Collective.
pub(super) fn label<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    density: &[f64],
    groups: &[u64],
    n_peaks: usize,
    min_members: usize,
) -> Result<Halos> {
    let (ranks, rank) = (domain.ranks, domain.ranks.rank());
    // Components are first the peaks of this rank, some of which are groups, then the groups of other ranks with
    // members here.
    let is_other = |group: &u64| *group != NONE && rank_of(*group) != rank;
    let mut others: Vec<u64> = groups.iter().copied().filter(is_other).collect();
    sort(&mut others);
    others.dedup();
    let component = |group: u64| match rank_of(group) == rank {
        true => group as u32 as usize,
        false => n_peaks + others.partition_point(|&other| other < group),
    };
    let n = n_peaks + others.len();
    agree(ranks, check_clusters(n))?;
    let (mut smallest, mut sizes) = (filled(n, NONE), zeroed(n));
    for (&group, &id) in groups.iter().zip(&domain.ids).filter(|(group, _)| **group != NONE) {
        let at = component(group);
        smallest[at] = smallest[at].min(id);
        sizes[at] += 1;
    }
    let moved = (n_peaks as u32..).zip(others.iter().copied()).collect();
    let numbered = number_roots(domain, smallest, sizes, moved)?;
    let own = map(groups.len(), TASK, &|row| if groups[row] == NONE { -1 } else { component(groups[row]) as i32 });
    let labels = Labels::send_back(domain, &own, &numbered)?;
    let density = domain.home.send_back(ranks, density)?;
    Ok(Halos::gather(domain, labels, &own, &numbered, min_members)?.with_density(density))
}
