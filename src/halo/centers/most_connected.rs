//! The most connected particle.
//!
//! In: points, the members of a halo, a linking length. Out: the member with most other members within that length,
//! and the number of members with the same count.
//! Cost: a tree over the members, and a count of neighbours for each. Distances are those of [`Space::distance2`], so
//! friends are exactly those of a friends-of-friends finder. Source: Sewell et al. 2015.

use crate::bvh::Bvh;
use crate::error::Result;
use crate::geometry::{Aabb, Bounded, Scalar, Space};
use crate::halo::centers::result::{HaloCenter, NoCenter};

/// The maximum number of members for which all pairs are compared.
const ALL_PAIRS: usize = 48;

pub(super) fn most_connected<T: Bounded<S, 3>, S: Scalar>(
    points: &[T],
    members: &[u32],
    linking_length: f64,
    space: &Space<3>,
) -> Result<HaloCenter> {
    space.check_length("linking_length", linking_length)?;
    let own: Vec<[S; 3]> = members.iter().map(|&i| space.wrap(points[i as usize].bounds().center())).collect();
    let counts = if own.len() <= ALL_PAIRS {
        count_all(&own, linking_length, space)
    } else {
        Bvh::build_in(&own, *space)?.count_neighbors(linking_length)
    };
    let most = counts.iter().copied().max().unwrap_or(0);
    let first = counts.iter().position(|&count| count == most).unwrap_or(0);
    let ties = counts.iter().filter(|&&count| count == most).count();
    let Some(&member) = members.get(first) else { return Ok(HaloCenter::none(NoCenter::NoMembers)) };
    Ok(HaloCenter {
        member: Some(member),
        friends: Some(most.saturating_sub(1)),
        ties: Some(ties as u32),
        ..HaloCenter::at(Aabb::point(own[first]).lo.map(Into::into))
    })
}

/// The number of points within `radius` of each point, by comparing all pairs.
fn count_all<S: Scalar>(points: &[[S; 3]], radius: f64, space: &Space<3>) -> Vec<u32> {
    let is_near = |a, b| space.distance2(a, b) <= radius * radius;
    points.iter().map(|a| points.iter().filter(|b| is_near(a, b)).count() as u32).collect()
}
