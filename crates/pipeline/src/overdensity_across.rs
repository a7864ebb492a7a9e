//! Spheres and profiles about centres, among the particles of all ranks.
//!
//! In: particles in the regions of ranks, and on each rank its own centres. Out: for each centre the result of one
//! process.
//! All open spheres grow in steps. The rank of a centre requests the particles of the next shell, adds them in the
//! order of distance, ties by global index, and keeps only the sums. The end of a sphere does not depend on the
//! steps. Most spheres end after one or two steps.
//! Cost: 24 bytes for each particle in a sphere, sent once. Memory: the tree of a rank's region, and 72 bytes per
//! particle in transit. These are about four million per rank, or those of one shell.

use std::ops::Range;

use ropewalk::distributed::{Bvh, Communicator, Domain, Reduction, ShellAbout, agree};
use ropewalk::halo::{CenterPositions, NoSphere, Profile, Profiles, SphericalOverdensity};
use ropewalk::internals::distributed::reduce;
use ropewalk::internals::halo::sphere_search::{ParticleInSphere, ball_about, sort};
use ropewalk::internals::halo::{Crossing, GROWTH, MIN_RADIUS, max_radii, radius_of};
use ropewalk::internals::parallel::map;
use ropewalk::{Error, Result, Scalar};
use ropewalk_io::Masses;

/// For each centre, a sphere for each threshold.
pub(super) type Spheres = Vec<Vec<std::result::Result<SphericalOverdensity, NoSphere>>>;

/// The maximum number of particles that a rank requests at once, unless one shell has more.
const LOAD: u64 = 1 << 22;

/// The particles of all ranks, in the precision in which one process has them.
#[derive(Debug)]
pub(super) enum AllParticles<'a> {
    F32(RegionParticles<'a, f32>),
    F64(RegionParticles<'a, f64>),
}

/// Particles in the regions of ranks.
#[derive(Debug)]
pub(super) struct RegionParticles<'a, S> {
    bvh: Bvh<'a, S, 3>,
    masses: Masses,
    /// The order of particles at equal distances, if it is not that of their global indices.
    order: Option<SingleProcessOrder>,
}

/// The order in which one process has the particles: all linked ones, then the others. Across ranks each rank has its
/// linked particles before its others.
#[derive(Clone, Debug)]
pub(super) struct SingleProcessOrder {
    /// The global index of the first particle of each rank, and the number of all particles.
    pub all: Vec<u64>,
    /// The same for the linked particles only.
    pub linked: Vec<u64>,
}

impl SingleProcessOrder {
    /// Converts a global index to the index in one process.
    fn index(&self, global: u64) -> u64 {
        let rank = self.all.partition_point(|&start| start <= global) - 1;
        let (here, first) = (global - self.all[rank], self.linked[rank]);
        let n_linked = self.linked[rank + 1] - first;
        // The number of other particles on lower ranks.
        let others = self.all[rank] - first;
        let all_linked = self.linked.last().copied().unwrap_or(0);
        if here < n_linked { first + here } else { all_linked + others + here - n_linked }
    }
}

/// A sphere that is growing.
struct GrowingSphere {
    /// The index of the centre.
    at: usize,
    center: [f64; 3],
    /// The radius within which all particles are added, negative at first, and the number of these particles.
    inner: f64,
    count: u64,
    /// The outer radius of the next shell.
    radius: f64,
    /// The state for each threshold.
    crossings: Vec<Crossing>,
    is_closed: bool,
}

/// Returns the particles of a shell, given its index, in the order of distance.
type ShellReader<'l> = &'l (dyn Fn(usize) -> Vec<ParticleInSphere> + Sync);

/// The spheres to measure.
pub(super) struct SphereRequest<'q> {
    pub centers: CenterPositions<'q>,
    /// The mass of each halo, from which the first radius of its spheres is estimated.
    pub masses: &'q [f64],
    pub thresholds: &'q [f64],
    /// The minimum of the first radius.
    pub least: f64,
}

impl AllParticles<'_> {
    /// Measures the spheres about this rank's centres. Collective.
    pub fn spheres(&self, ranks: &dyn Communicator, asked: &SphereRequest<'_>) -> Result<Spheres> {
        match self {
            Self::F32(all) => all.spheres(ranks, asked),
            Self::F64(all) => all.spheres(ranks, asked),
        }
    }

    /// Measures the profiles about this rank's centres. Collective.
    pub fn profiles(
        &self,
        ranks: &dyn Communicator,
        centers: &CenterPositions<'_>,
        radii: &[f64],
        how: &Profiles,
    ) -> Result<Vec<Profile>> {
        match self {
            Self::F32(all) => all.profiles(ranks, centers, radii, how),
            Self::F64(all) => all.profiles(ranks, centers, radii, how),
        }
    }
}

impl<'a, S: Scalar> RegionParticles<'a, S> {
    /// Collects the particles of a domain. `own` has the masses of the particles that this rank put in, `whole` the
    /// kind of masses of all particles. Collective.
    pub fn new(
        ranks: &dyn Communicator,
        domain: Domain<'a, S, 3>,
        own: &[f64],
        whole: &Masses,
        order: Option<SingleProcessOrder>,
    ) -> Result<Self> {
        let masses = match whole {
            Masses::Each(_) => Masses::Each(domain.send_column(own)?),
            same => same.clone(),
        };
        let bvh = Bvh::from_domain(domain)?;
        let all = Self { bvh, masses, order };
        let total = (0..all.bvh.domain().points().len()).map(|at| mass_of(&all.masses, at)).sum::<f64>();
        // A rank with an infinite sum of masses shares it, so that all ranks return the error.
        let sums = ropewalk::internals::distributed::all_gather(ranks, total)?;
        let value = sums.into_iter().sum::<f64>();
        if value == f64::INFINITY {
            return agree(ranks, Err(Error::parameter_must("the sum of all masses", value, "finite")));
        }
        Ok(all)
    }

    fn spheres(&self, ranks: &dyn Communicator, asked: &SphereRequest<'_>) -> Result<Spheres> {
        let SphereRequest { centers, masses, thresholds, least } = asked;
        let space = self.bvh.domain().space();
        agree(ranks, centers.check())?;
        let (reach, most) = max_radii(space);
        let lowest = thresholds.iter().copied().fold(f64::INFINITY, f64::min);
        let first = |at: usize| radius_of(masses[at], lowest).max(*least).max(MIN_RADIUS).min(most);
        let sphere = |at: usize| {
            let center = space.wrap(centers.at(at)?);
            let crossings = thresholds.iter().map(|&threshold| Crossing::new(threshold)).collect();
            Some(GrowingSphere { at, center, inner: -1.0, count: 0, radius: first(at), crossings, is_closed: false })
        };
        let mut found = vec![vec![Err(NoSphere::NoCenter); thresholds.len()]; centers.len()];
        let mut open: Vec<GrowingSphere> = (0..centers.len()).filter_map(sphere).collect();
        let n = self.bvh.len();
        while reduce(ranks, open.len() as u64, Reduction::Max)? > 0 {
            let shells: Vec<ShellAbout<S, 3>> =
                open.iter().map(|sphere| shell(&sphere.center, sphere.inner, sphere.radius)).collect();
            let within = self.bvh.count_all(&shells.iter().map(|shell| shell.ball).collect::<Vec<_>>())?;
            let counts: Vec<u64> = within.iter().zip(&open).map(|(all, sphere)| all - sphere.count.min(*all)).collect();
            self.in_loads(ranks, &shells, &counts, &mut |range, near| {
                let grown = map(range.len(), 1, &|at| open[range.start + at].grown(near(at), n, reach, most));
                open[range].iter_mut().zip(grown).for_each(|(sphere, grown)| *sphere = grown);
            })?;
            for sphere in open.iter().filter(|sphere| sphere.is_closed) {
                let outcome = |crossing: &Crossing| crossing.found.unwrap_or(Err(NoSphere::BeyondHalfBox));
                found[sphere.at] = sphere.crossings.iter().map(outcome).collect();
            }
            open.retain(|sphere| !sphere.is_closed);
        }
        Ok(found)
    }

    fn profiles(
        &self,
        ranks: &dyn Communicator,
        centers: &CenterPositions<'_>,
        radii: &[f64],
        how: &Profiles,
    ) -> Result<Vec<Profile>> {
        let space = self.bvh.domain().space();
        let check = || radii.iter().try_for_each(|&radius| space.check_length("a radius", radius));
        agree(ranks, centers.check().and_then(|()| check()).and_then(|()| how.check()))?;
        let asked: Vec<(usize, [f64; 3])> = (0..centers.len())
            .filter(|&at| radii[at] > 0.0)
            .filter_map(|at| Some((at, space.wrap(centers.at(at)?))))
            .collect();
        let shells: Vec<ShellAbout<S, 3>> = asked.iter().map(|(at, center)| shell(center, -1.0, radii[*at])).collect();
        let counts = self.bvh.count_all(&shells.iter().map(|shell| shell.ball).collect::<Vec<_>>())?;
        let mut profiles = vec![Profile::default(); centers.len()];
        self.in_loads(ranks, &shells, &counts, &mut |range, near| {
            let of = map(range.len(), 1, &|at| how.of(&near(at), radii[asked[range.start + at].0]));
            asked[range].iter().zip(of).for_each(|((at, _), profile)| profiles[*at] = profile);
        })?;
        Ok(profiles)
    }

    /// Calls `work` with consecutive ranges of shells until all are done, and with a function that returns the
    /// particles of a shell, given its index in the range. A range has at most [`LOAD`] particles, or a single shell.
    /// Collective.
    fn in_loads(
        &self,
        ranks: &dyn Communicator,
        shells: &[ShellAbout<S, 3>],
        counts: &[u64],
        work: &mut dyn FnMut(Range<usize>, ShellReader<'_>),
    ) -> Result<()> {
        let (masses, order) = (&self.masses, &self.order);
        let mut start = 0;
        loop {
            let (mut end, mut load) = (start, 0);
            while end < shells.len() && (end == start || load + counts[end] <= LOAD) {
                load += counts[end];
                end += 1;
            }
            let lists = self.bvh.shells(&shells[start..end], &|row| mass_of(masses, row as usize))?;
            work(start..end, &|at| {
                let particle = |&[distance2, index, mass]: &[u64; 3]| ParticleInSphere {
                    distance2: f64::from_bits(distance2),
                    index: order.as_ref().map_or(index, |order| order.index(index)),
                    mass: f64::from_bits(mass),
                };
                let mut near: Vec<ParticleInSphere> = lists.of(at).iter().map(particle).collect();
                sort(&mut near);
                near
            });
            start = end;
            if reduce(ranks, (shells.len() - start) as u64, Reduction::Max)? == 0 {
                return Ok(());
            }
        }
    }
}

impl GrowingSphere {
    /// Returns the sphere with the particles of its next shell added. `near` has these particles in the order of
    /// distance; `n` is the number of all particles.
    fn grown(&self, near: Vec<ParticleInSphere>, n: u64, reach: f64, most: f64) -> Self {
        let count = self.count + near.len() as u64;
        let all_known = count == n || self.radius >= most;
        // In open space no particle is beyond the largest radius.
        let known = if all_known { reach } else { self.radius };
        let mut crossings = self.crossings.clone();
        crossings.iter_mut().for_each(|crossing| crossing.extend(&near, known, all_known));
        let is_closed = all_known || crossings.iter().all(|crossing| crossing.found.is_some());
        let radius = (GROWTH * self.radius).min(most);
        Self { inner: self.radius, count, radius, crossings, is_closed, ..*self }
    }
}

/// Returns the shell between `inner`, excluded, and `outer`, included. A negative `inner` includes the centre.
fn shell<S: Scalar>(center: &[f64; 3], inner: f64, outer: f64) -> ShellAbout<S, 3> {
    let inner2 = if inner < 0.0 { -1.0 } else { inner * inner };
    ShellAbout { center: *center, ball: ball_about(center, outer), limits: [inner2, outer * outer] }
}

fn mass_of(masses: &Masses, at: usize) -> f64 {
    match masses {
        Masses::Equal(mass) => *mass,
        Masses::Each(masses) => masses[at],
        Masses::Unknown => 1.0,
    }
}
