//! The bound particles of one structure.
//!
//! In: the structure's own particles, and the bound particles of nested structures. Out: its bound particles. Each
//! round computes the mean velocity of the remaining particles and finds the unbound ones
//! (`centers::potential_threshold` compares potentials with kinetic energies). It removes all or some of them.
//! Sums are in the order of positions, then velocities, then masses, so not even their rounding depends on the order of
//! the particles.
//! Cost: O(n log n) per round. If the preceding round removed few particles, O(n) for each of these. Source: Springel
//! et al. 2001 (SUBFIND), whose program also limits the number of particles that one round removes.

use std::cmp::Ordering;

use super::unbinding::Unbinding;
use crate::error::Result;
use crate::geometry::{Scalar, Space, length2};
use crate::halo::centers::NoCenter;
use crate::halo::centers::members::{ScaledMembers, unwrap};
use crate::halo::centers::potential_threshold::{SumBounds, reaches_threshold};
use crate::halo::particles::Particles;

/// The result of unbinding one structure.
#[derive(Clone, Debug, Default)]
pub(super) struct UnboundResult {
    /// The structure's own bound particles; empty if the structure is dissolved.
    pub bound: Vec<u32>,
    /// The particles removed from the structure.
    pub removed: Vec<u32>,
    /// The mass of the bound particles, including those of nested structures.
    pub mass: f64,
    /// The mean velocity of the structure's own bound particles.
    pub velocity: [f64; 3],
    pub rounds: u32,
    /// The reason why no energies were computed.
    pub missing: Option<NoCenter>,
}

/// A remaining particle.
#[derive(Clone, Copy)]
struct Body {
    index: u32,
    /// True if the particle can be removed; particles of nested structures cannot.
    is_own: bool,
    /// The offset from the first particle in order.
    offset: [f64; 3],
}

/// Removes particles until no remaining particle is unbound.
pub(super) fn unbind_one<S: Scalar>(
    own: &[u32],
    within: &[u32],
    particles: &Particles<S>,
    space: &Space<3>,
    options: &Unbinding,
) -> Result<UnboundResult> {
    let mut bodies: Vec<Body> = [(own, true), (within, false)]
        .into_iter()
        .flat_map(|(list, is_own)| list.iter().map(move |&index| Body { index, is_own, offset: [0.0; 3] }))
        .collect();
    bodies.sort_unstable_by(|a, b| order(a.index as usize, b.index as usize, particles));
    let mut offsets: Vec<[f64; 3]> = bodies.iter().map(|body| particles.position(body.index as usize)).collect();
    let mut settled = UnboundResult { missing: unwrap(&mut offsets, space).err(), ..UnboundResult::default() };
    bodies.iter_mut().zip(offsets).for_each(|(body, offset)| body.offset = offset);
    let mut known = SumBounds::default();
    let (mut n_own, least) = (own.len(), options.min_members.max(1));
    while n_own >= least {
        settled.velocity = mean(&bodies, particles, |body| particles.velocity(body.index as usize));
        if settled.missing.is_some() {
            break;
        }
        settled.rounds += 1;
        let leaving = leaving(&bodies, settled.velocity, particles, options, &mut known)?;
        if leaving.is_empty() {
            break;
        }
        n_own -= leaving.len();
        settled.removed.extend(leaving.iter().map(|&at| bodies[at as usize].index));
        let (mut at, mut leaving) = (0..bodies.len() as u32, leaving.into_iter().peekable());
        bodies.retain(|_| {
            let at = at.next();
            leaving.next_if(|&leaving| Some(leaving) == at).is_none()
        });
    }
    let remaining_own = bodies.iter().filter(|body| body.is_own).map(|body| body.index);
    if n_own >= least {
        settled.bound = remaining_own.collect();
        settled.bound.sort_unstable();
        settled.mass = bodies.iter().map(|body| particles.mass_of(body.index as usize)).sum();
    } else {
        settled.removed.extend(remaining_own);
    }
    Ok(settled)
}

/// Compares particles by position, velocity and mass. Particles that are equal in all three contribute equally to
/// every sum.
fn order<S: Scalar>(a: usize, b: usize, particles: &Particles<S>) -> Ordering {
    let key = |i: usize| {
        let ([x, y, z], [u, v, w]) = (particles.position(i), particles.velocity(i));
        [x, y, z, u, v, w, particles.mass_of(i)]
    };
    let pairs = key(a).into_iter().zip(key(b));
    pairs.fold(Ordering::Equal, |order, (a, b)| order.then(a.total_cmp(&b)))
}

/// The mass-weighted mean of a vector over the structure's own particles.
fn mean<S: Scalar>(bodies: &[Body], particles: &Particles<S>, of: impl Fn(&Body) -> [f64; 3]) -> [f64; 3] {
    let own = || bodies.iter().filter(|body| body.is_own);
    let mass_of = |body: &Body| particles.mass_of(body.index as usize);
    let mass: f64 = own().map(mass_of).sum();
    own().fold([0.0; 3], |mut mean, body| {
        let weight = mass_of(body) / mass;
        mean.iter_mut().zip(of(body)).for_each(|(mean, x)| *mean += weight * x);
        mean
    })
}

/// The particles to remove in one round, in ascending order: all unbound ones, or the fastest if there are too many.
/// `known` holds bounds of the potentials of all own particles, and afterwards of the remaining ones.
fn leaving<S: Scalar>(
    bodies: &[Body],
    velocity: [f64; 3],
    particles: &Particles<S>,
    options: &Unbinding,
    known: &mut SumBounds,
) -> Result<Vec<u32>> {
    let offsets: Vec<[f64; 3]> = bodies.iter().map(|body| body.offset).collect();
    let mass = |at: usize| particles.mass_of(bodies[at].index as usize);
    let members = ScaledMembers::new(&offsets, mass, options.softening);
    let own: Vec<u32> = (0..bodies.len() as u32).filter(|&at| bodies[at as usize].is_own).collect();
    let (center, flow) = (mean(bodies, particles, |body| body.offset), options.hubble_flow);
    let kinetic = |&at: &u32| {
        let Body { index, offset, .. } = bodies[at as usize];
        let v = particles.velocity(index as usize);
        0.5 * length2(std::array::from_fn(|k| v[k] - velocity[k] + flow * (offset[k] - center[k])))
    };
    let kinetic: Vec<f64> = own.iter().map(kinetic).collect();
    let least: Vec<f64> = kinetic.iter().map(|kinetic| members.scaled(kinetic / options.gravity)).collect();
    let is_bound = reaches_threshold(&members, &own, &least, known)?;
    let mut unbound: Vec<(f64, u32)> =
        (0..own.len()).filter(|&at| !is_bound[at]).map(|at| (kinetic[at], at as u32)).collect();
    let most = ((options.max_removed * own.len() as f64) as usize).max(1);
    if unbound.len() > most {
        unbound.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        // Equally fast particles are removed together. If there are too many of them, only faster ones are removed.
        let (fastest, slowest, next) = (unbound[0].0, unbound[most - 1].0, unbound[most].0);
        let least = if next == slowest && slowest < fastest { slowest.next_up() } else { slowest };
        unbound.retain(|&(kinetic, _)| kinetic >= least);
    }
    let mut leaving: Vec<u32> = unbound.into_iter().map(|(_, at)| at).collect();
    leaving.sort_unstable();
    *known = std::mem::take(known).without(&members, &own, &leaving);
    Ok(leaving.into_iter().map(|at| own[at as usize]).collect())
}
