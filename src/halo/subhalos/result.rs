//! The result of AdaptaHOP: halos and nested subhalos.
//!
//! In: structures and the particles above the threshold. Out: [`Subhalos`], with the parent of each structure.

use super::significance::FieldParticle;
use super::tree::{NONE, Structure, Structures};
use crate::cancel::check_at;
use crate::cluster::Halos;
use crate::cluster::Labels;
use crate::cluster::labels::check_clusters;
use crate::error::Result;
use crate::geometry::Boundary;
use crate::memory::{filled, zeroed};

/// A halo or a subhalo.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Subhalo {
    /// The structure that directly contains this one; `None` for a halo.
    pub parent: Option<u32>,
    /// The halo that contains this structure; the structure's own number if it is a halo.
    pub host: u32,
    /// The nesting level: 1 for a halo, 2 for a subhalo directly in a halo, and so on.
    pub level: u32,
    /// The number of structures directly in this one.
    pub n_children: u32,
    /// The index of the densest particle.
    pub peak: u32,
    /// The density of the densest particle.
    pub peak_density: f64,
    /// The lower bound of the densities of its particles, exclusive: the saddle to its parent, or the threshold for a
    /// halo.
    pub saddle: f64,
    /// The mass of its particles, including those of all nested subhalos.
    pub mass: f64,
}

/// Halos and nested subhalos, found by [`AdaptaHop`](super::AdaptaHop). A *structure* is a halo or a subhalo.
/// Structures are numbered by the number of their own particles, largest first, ties by the smallest member.
#[derive(Clone, PartialEq)]
pub struct Subhalos {
    structures: Halos,
    rows: Vec<Subhalo>,
    density: Vec<f64>,
}

crate::brief::brief_debug!(Subhalos, lists: [rows, density], others: [structures]);

/// Numbers for `n` groups of `labels`: largest first, ties by the smallest member.
pub(super) fn numbers(labels: &[i32], n: usize) -> Vec<u32> {
    let (mut sizes, mut smallest) = (zeroed::<usize>(n), filled(n, NONE));
    for (&label, index) in labels.iter().zip(0..) {
        if let Ok(group) = usize::try_from(label) {
            sizes[group] += 1;
            smallest[group] = smallest[group].min(index);
        }
    }
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_unstable_by_key(|&at| (std::cmp::Reverse(sizes[at as usize]), smallest[at as usize]));
    let mut numbers = zeroed(n);
    (0..).zip(&order).for_each(|(to, &from)| numbers[from as usize] = to);
    numbers
}

/// The groups of `labels`, with other numbers.
pub(super) fn renumbered(labels: Vec<i32>, numbers: &[u32], boundary: Boundary) -> Halos {
    let number = |label: i32| usize::try_from(label).map_or(-1, |label| numbers[label] as i32);
    let labels = Labels::from_parts(labels.into_iter().map(number).collect(), numbers.len() as u32, None);
    Halos::new_in(boundary, labels, 1)
}

impl Subhalos {
    /// Builds the result from structures. `peaks` holds the index and the density of each chain's peak.
    pub(super) fn new(
        found: &Structures,
        particles: &[FieldParticle],
        peaks: &[(u32, f64)],
        density: Vec<f64>,
        boundary: Boundary,
    ) -> Result<Self> {
        check_clusters(found.all.len())?;
        let mut labels = filled(density.len(), -1);
        for (at, particle) in particles.iter().enumerate() {
            check_at(at);
            if let Some(structure) = found.of(particle.chain, particle.density) {
                labels[particle.index as usize] = structure as i32;
            }
        }
        let row = |structure: &Structure| {
            let (peak, peak_density) = peaks[structure.peak as usize];
            let parent = Some(structure.parent).filter(|&parent| parent != NONE);
            let &Structure { saddle, mass, .. } = structure;
            Subhalo { parent, host: 0, level: 1, n_children: 0, peak, peak_density, saddle, mass }
        };
        let numbers = numbers(&labels, found.all.len());
        Ok(Self::numbered(labels, found.all.iter().map(row).collect(), &numbers, density, boundary))
    }

    /// Builds the result from structures with new numbers. `labels` and the parents in `found` have the old numbers;
    /// in `found` parents come before children. Hosts, levels and numbers of children are computed here.
    pub(super) fn numbered(
        labels: Vec<i32>,
        found: Vec<Subhalo>,
        numbers: &[u32],
        density: Vec<f64>,
        boundary: Boundary,
    ) -> Self {
        let mut rows = found.clone();
        for (row, &own) in found.into_iter().zip(numbers) {
            let parent = row.parent.map(|parent| numbers[parent as usize]);
            let (host, level) = parent.map_or((own, 1), |parent| {
                let row = &mut rows[parent as usize];
                row.n_children += 1;
                (row.host, row.level + 1)
            });
            rows[own as usize] = Subhalo { parent, host, level, n_children: 0, ..row };
        }
        Self { structures: renumbered(labels, numbers, boundary), rows, density }
    }

    /// Returns the number of structures, halos and subhalos together.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns `true` if there are no structures.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the properties of each structure, with its position in the tree.
    pub fn rows(&self) -> &[Subhalo] {
        &self.rows
    }

    /// Returns the structures with only their own particles: those that are in no nested structure. A particle's label
    /// is the number of its structure.
    pub fn structures(&self) -> &Halos {
        &self.structures
    }

    /// Collects the halos (level 1) with all nested particles.
    pub fn halos(&self) -> Halos {
        self.at_level(1)
    }

    /// Collects the structures of one level with all nested particles, largest first. [`Halos::clusters`] has their
    /// numbers. Particles without a structure at this level have no label.
    pub fn at_level(&self, level: u32) -> Halos {
        let ancestor = |mut at: usize| {
            while self.rows[at].level > level {
                at = self.rows[at].parent? as usize;
            }
            (self.rows[at].level == level).then_some(at as i32)
        };
        let ancestors: Vec<i32> = (0..self.len()).map(|at| ancestor(at).unwrap_or(-1)).collect();
        let own = self.structures.labels().as_slice().iter();
        let labels = own.map(|&label| usize::try_from(label).map_or(-1, |label| ancestors[label])).collect();
        let labels = Labels::from_parts(labels, self.len() as u32, None);
        Halos::new_in(self.structures.boundary().clone(), labels, 1)
    }

    /// Collects all members of a structure, including those of nested structures, in ascending order; empty if there is
    /// no such structure.
    pub fn members(&self, structure: usize) -> Vec<u32> {
        let is_in = |mut at: usize| {
            while at != structure {
                match self.rows[at].parent {
                    Some(parent) => at = parent as usize,
                    None => return false,
                }
            }
            true
        };
        let lists = (0..self.len()).filter(|&at| is_in(at)).map(|at| self.structures.members(at));
        let mut members: Vec<u32> = lists.flatten().copied().collect();
        members.sort_unstable();
        members
    }

    /// Returns the density of each particle, in the unit of the density estimator.
    pub fn density(&self) -> &[f64] {
        &self.density
    }

    /// Returns the structures, their rows and the densities without copying them.
    pub fn into_parts(self) -> (Halos, Vec<Subhalo>, Vec<f64>) {
        (self.structures, self.rows, self.density)
    }
}
