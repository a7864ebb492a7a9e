//! Unbinding: removes the unbound particles of structures.
//!
//! In: [`Subhalos`] or [`Halos`], and [`Particles`] with velocities. Out: structures of bound particles, and the
//! properties of each.
//! Steps: the structures of one level are processed in parallel, deepest level first. `binding` finds the bound
//! particles of each; removed particles join its parent.

use super::binding::{UnboundResult, unbind_one};
use super::result::{Subhalo, Subhalos, numbers, renumbered};
use super::unbinding::Unbinding;
use crate::cancel::guarded;
use crate::cluster::halos::Halos;
use crate::error::Result;
use crate::geometry::{Boundary, Scalar, Space};
use crate::halo::centers::{Center, CenterFinder, NoCenter};
use crate::halo::overdensity::SphericalOverdensity;
use crate::halo::particles::Particles;
use crate::halo::structure::measure;
use crate::memory::{filled, zeroed};
use crate::parallel::map;

/// Structures of bound particles.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bound<T> {
    /// [`Subhalos`] or [`Halos`] with new numbers, largest first.
    pub structures: T,
    /// The properties of each structure.
    pub rows: Vec<BoundStructure>,
}

/// The properties of a structure after unbinding.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct BoundStructure {
    /// The number of the structure before unbinding.
    pub from: u32,
    /// The mass of the bound particles, including those of nested structures.
    pub mass: f64,
    /// The mass-weighted mean velocity of the structure's own bound particles.
    pub velocity: [f64; 3],
    /// The own particle with the lowest potential of the own particles, as found by [`Center::MostBound`].
    pub most_bound: Option<u32>,
    /// The maximum circular velocity of the bound particles, including those of nested structures, around the most
    /// bound particle. Defined as [`Structure::v_max`](crate::halo::Structure::v_max).
    pub v_max: f64,
    /// The distance of the maximum circular velocity.
    pub v_max_radius: f64,
    /// The number of rounds in which energies were computed.
    pub rounds: u32,
    /// The reason why no energies were computed: the structure is at least half as wide as the periodic box. Then all
    /// particles stay, `most_bound` is `None`, and `v_max` and its radius are NaN.
    pub missing: Option<NoCenter>,
}

impl Subhalos {
    /// Removes the particles that are not bound to their structure: see [`Unbinding`].
    ///
    /// The result is again a tree. Masses are those of the bound particles. A structure's peak is its densest own
    /// particle, ties by index. Saddles are unchanged, so particles removed from a subhalo are denser than the other
    /// particles of its parent.
    ///
    /// # Cost
    /// Memory: about 150 bytes per particle of the structures that are processed concurrently, and that of
    /// [`Center::MostBound`].
    ///
    /// Time for each structure of n particles, including nested ones:
    /// - Each of the first rounds: O(n log n) if few energies are almost 0, otherwise O(n²).
    /// - The last rounds: O(n) for each removed particle.
    ///
    /// # Errors
    /// - Particles without velocities, or with a velocity that is not finite.
    /// - Positions and masses that [`CenterFinder::run`] rejects.
    /// - A gravity that is not positive and finite; a softening or Hubble flow that is negative or not finite.
    /// - A `max_removed` that is not more than 0 and at most 1.
    /// - A number or a space of particles that differs from that of the structures.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::halo::{Particles, Unbinding};
    /// use ropewalk::AdaptaHop;
    ///
    /// // A wide clump with a narrow one in it; every fifth particle is too fast.
    /// let clump = |i: u32, width: f64, x: f64| {
    ///     let (r, turn, z) = (width * f64::from(i).powf(0.5), 2.4 * f64::from(i), (0.7 * f64::from(i)).sin());
    ///     [x + r * turn.cos(), r * turn.sin(), r * z]
    /// };
    /// let points: Vec<[f64; 3]> = (0..2000).map(|i| clump(i, 0.1, 0.0)).chain((0..200).map(|i| clump(i, 0.01, 3.0))).collect();
    /// let velocities: Vec<[f64; 3]> = (0..2200).map(|i| [if i % 5 == 0 { 99.0 } else { 0.0 }, 0.0, 0.0]).collect();
    /// let found = AdaptaHop::new().density_threshold(0.1).run(&points)?;
    /// assert_eq!((found.len(), found.halos().len()), (2, 1));
    /// let bound = found.unbind(&Particles::new(&points).velocities(&velocities), &Unbinding::new(1.0).softening(0.01))?;
    /// assert_eq!((bound.structures.len(), bound.structures.rows()[1].parent), (2, Some(0)));
    /// assert!((0..2200).all(|i| (bound.structures.structures().labels().get(i).is_none()) == (i % 5 == 0)));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn unbind<S: Scalar>(&self, particles: &Particles<S>, options: &Unbinding) -> Result<Bound<Self>> {
        guarded(|| {
            let parents: Vec<Option<u32>> = self.rows().iter().map(|row| row.parent).collect();
            let levels: Vec<u32> = self.rows().iter().map(|row| row.level).collect();
            let mut found = UnbindingRun::new(self.structures(), &parents, &levels, particles, options)?;
            let density = self.density();
            let row = |&(from, parent): &(u32, Option<u32>)| {
                let settled = &found.settled[from as usize];
                let denser = |a: u32, b: u32| if density[b as usize] > density[a as usize] { b } else { a };
                let peak = settled.bound.iter().copied().reduce(denser).unwrap_or_default();
                let (peak_density, old) = (density[peak as usize], self.rows()[from as usize]);
                Subhalo { parent, peak, peak_density, mass: settled.mass, ..old }
            };
            let rows = found.kept.iter().map(row).collect();
            let (labels, boundary) = (std::mem::take(&mut found.labels), found.boundary.clone());
            let structures = Self::numbered(labels, rows, &found.numbers, density.to_vec(), boundary);
            let members = |at: usize| structures.members(at);
            let rows = found.rows(structures.structures(), &members, particles, options)?;
            Ok(Bound { structures, rows })
        })
    }
}

impl Halos {
    /// Removes the particles that are not bound to their halo: see [`Unbinding`], which has an example. Cost and
    /// errors are those of [`Subhalos::unbind`].
    pub fn unbind<S: Scalar>(&self, particles: &Particles<S>, options: &Unbinding) -> Result<Bound<Self>> {
        guarded(|| {
            let mut found =
                UnbindingRun::new(self, &filled(self.len(), None), &filled(self.len(), 1), particles, options)?;
            let structures = renumbered(std::mem::take(&mut found.labels), &found.numbers, found.boundary.clone());
            let rows = found.rows(&structures, &|at| structures.members(at).to_vec(), particles, options)?;
            Ok(Bound { structures, rows })
        })
    }
}

/// The results for all structures.
struct UnbindingRun {
    boundary: Boundary,
    space: Space<3>,
    settled: Vec<UnboundResult>,
    /// The structures that are not dissolved, parents first: the old number of each, and the index of its parent in
    /// this list.
    kept: Vec<(u32, Option<u32>)>,
    /// The label of each particle, as an index into `kept`.
    labels: Vec<i32>,
    /// The new number of each structure in `kept`, largest first.
    numbers: Vec<u32>,
}

impl UnbindingRun {
    fn new<S: Scalar>(
        halos: &Halos,
        parents: &[Option<u32>],
        levels: &[u32],
        particles: &Particles<S>,
        options: &Unbinding,
    ) -> Result<Self> {
        options.check()?;
        particles.check_for_energies(halos.labels().as_slice().len())?;
        let said = particles.boundary()?;
        let boundary =
            Boundary::common(&[("the structures were found in", halos.boundary()), ("the particles are in", &said)])?;
        let space = boundary.space()?;
        let n = halos.len();
        let mut own: Vec<Vec<u32>> = halos.iter().map(<[u32]>::to_vec).collect();
        let mut within: Vec<Vec<u32>> = filled(n, vec![]);
        let mut settled = filled(n, UnboundResult::default());
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by_key(|&at| levels[at as usize]);
        for level in order.chunk_by(|&a, &b| levels[a as usize] == levels[b as usize]).rev() {
            let one = |at: usize| {
                let at = level[at] as usize;
                unbind_one(&own[at], &within[at], particles, &space, options)
            };
            for (&at, one) in level.iter().zip(map(level.len(), 1, &one)) {
                let (at, one) = (at as usize, one?);
                own[at] = vec![];
                let below = std::mem::take(&mut within[at]);
                if let Some(parent) = parents[at] {
                    own[parent as usize].extend(&one.removed);
                    within[parent as usize].extend(one.bound.iter().copied().chain(below));
                }
                settled[at] = one;
            }
        }
        let mut found = Self {
            boundary,
            space,
            settled,
            kept: vec![],
            labels: filled(particles.positions().len(), -1),
            numbers: vec![],
        };
        found.keep(&order, parents);
        Ok(found)
    }

    /// Fills the list of structures that are not dissolved, given all structures in the order of their levels.
    fn keep(&mut self, order: &[u32], parents: &[Option<u32>]) {
        // For each structure, itself or the innermost kept structure that contains it.
        let mut place = filled(order.len(), None);
        for &at in order {
            let parent = parents[at as usize].and_then(|parent| place[parent as usize]);
            let bound = &self.settled[at as usize].bound;
            if bound.is_empty() {
                place[at as usize] = parent;
                continue;
            }
            let own = self.kept.len();
            bound.iter().for_each(|&member| self.labels[member as usize] = own as i32);
            place[at as usize] = Some(own as u32);
            self.kept.push((at, parent));
        }
        self.numbers = numbers(&self.labels, self.kept.len());
    }

    /// A row for each of `halos`. `members` lists the particles of a structure, including nested ones.
    fn rows<S: Scalar>(
        &self,
        halos: &Halos,
        members: &(dyn Fn(usize) -> Vec<u32> + Sync),
        particles: &Particles<S>,
        options: &Unbinding,
    ) -> Result<Vec<BoundStructure>> {
        let mut from = zeroed(self.kept.len());
        self.numbers.iter().zip(&self.kept).for_each(|(&number, &(old, _))| from[number as usize] = old);
        let finder = CenterFinder::new(Center::MostBound { softening: options.softening });
        let row = |at: usize| {
            let UnboundResult { mass, velocity, rounds, missing, .. } = self.settled[from[at] as usize];
            let mut row = BoundStructure {
                from: from[at],
                mass,
                velocity,
                most_bound: None,
                v_max: f64::NAN,
                v_max_radius: f64::NAN,
                rounds,
                missing,
            };
            if missing.is_none() {
                let own = halos.members(at);
                let position = |member: usize| particles.position(own[member] as usize);
                let mass = |member: usize| particles.mass_of(own[member] as usize);
                let center = finder.find(own, &position, &mass, &self.space, finder.find_most_bound())?;
                let sphere = SphericalOverdensity::default();
                let about = measure(&members(at), particles, &self.space, center.position, &sphere, options.gravity);
                (row.most_bound, row.v_max, row.v_max_radius) = (center.member, about.v_max, about.v_max_radius);
            }
            Ok(row)
        };
        map(from.len(), 1, &row).into_iter().collect()
    }
}
