//! The most bound particle of a small halo.
//!
//! In: members. Out: the member that [`sums`] over all pairs would find. All pairs in single precision say who it may be,
//! and direct sums of these decide.
//! Cost: O(n²), a third of that of direct sums.

use crate::halo::centers::direct::{self, Deepest, Found, NO_SHARES, Sum, rounding, sums};
use crate::halo::centers::members::Members;
use crate::halo::centers::pairwise_f32::{self, MOST, ROUGH, Source, Targets};
use crate::simd::{LANES, dispatch};

pub(super) fn most_bound(members: &Members) -> Option<Found> {
    let n = members.len();
    let softening2 = members.softening2;
    let sources: Vec<Source> = (0..n).map(|i| Source::new(members.position(i), members.masses[i])).collect();
    let all: Vec<u32> = (0..n as u32).collect();
    let new = |some: &[u32]| Targets::new(some.iter().map(|&i| members.position(i as usize)));
    let mut targets: Vec<Targets> = all.chunks(LANES).map(new).collect();
    dispatch!(_level => for sources in sources.chunks(MOST) {
        pairwise_f32::add(&mut targets, sources, softening2 as f32);
    });

    let mut coincident = 0;
    let mut sum = |i: u32| {
        let (found, l) = (&targets[i as usize / LANES], i as usize % LANES);
        // Only the member itself is at no distance.
        if found.close[l] == 1.0 {
            return found.sums[l];
        }
        let (mut sum, mut shares) = (Sum::default(), NO_SHARES);
        let [x, y, z] = &members.axes;
        dispatch!(_level => {
            let sources = [&x[..], &y[..], &z[..], &members.masses[..]];
            direct::add(&mut sum, sources, members.position(i as usize), softening2, &mut shares);
        });
        coincident += u64::from(sum.count.saturating_sub(1));
        sum.felt(members.masses[i as usize], members.softening)
    };
    let rough: Vec<f64> = all.iter().map(|&i| sum(i)).collect();
    let certain = rough.iter().copied().fold(0.0, f64::max) * (1.0 - 2.0 * ROUGH - 4.0 * rounding(n));
    let left: Vec<u32> = all.iter().copied().filter(|&i| rough[i as usize] >= certain).collect();
    let deepest = Deepest::of(members, &left, &sums(members, &left))?;
    Some(Found { deepest, pairs: (n * (n - 1)) as u64, coincident: coincident / 2 })
}
