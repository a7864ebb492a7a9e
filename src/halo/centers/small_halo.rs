//! The most bound particle of a small halo.
//!
//! In: members. Out: the member that [`sums`] over all pairs would find. Sums over all pairs in single precision
//! select candidates; direct sums decide between them.
//! Cost: O(n²), a third of that of direct sums.

use crate::halo::centers::direct::{self, MostBound, MostBoundMember, NO_TERMS, Sum, rounding, sums};
use crate::halo::centers::members::ScaledMembers;
use crate::halo::centers::pairwise_f32::{self, MAX_SOURCES, RELATIVE_ERROR, Source, Targets};
use crate::simd::{LANES, dispatch};

pub(super) fn most_bound(members: &ScaledMembers) -> Option<MostBound> {
    let n = members.len();
    let (approximate, coincident) = approximate_sums(members);
    let margin = 1.0 - 2.0 * RELATIVE_ERROR - 4.0 * rounding(n);
    let lower_bound = approximate.iter().copied().fold(0.0, f64::max) * margin;
    let candidates: Vec<u32> = (0..n as u32).filter(|&i| approximate[i as usize] >= lower_bound).collect();
    let best = MostBoundMember::new(members, &candidates, &sums(members, &candidates))?;
    Some(MostBound { best, pairs: (n * (n - 1)) as u64, coincident: coincident / 2 })
}

/// The sums at all members, with a relative error of at most [`RELATIVE_ERROR`] plus rounding, and the number of
/// ordered pairs without a distance.
pub(super) fn approximate_sums(members: &ScaledMembers) -> (Vec<f64>, u64) {
    let n = members.len();
    let softening2 = members.softening2;
    let sources: Vec<Source> = (0..n).map(|i| Source::new(members.position(i), members.masses[i])).collect();
    let all: Vec<u32> = (0..n as u32).collect();
    let lanes = |chunk: &[u32]| Targets::new(chunk.iter().map(|&i| members.position(i as usize)));
    let mut targets: Vec<Targets> = all.chunks(LANES).map(lanes).collect();
    dispatch!(_level => for sources in sources.chunks(MAX_SOURCES) {
        pairwise_f32::add(&mut targets, sources, softening2 as f32);
    });

    let mut coincident = 0;
    let mut approximate = |i: u32| {
        let (lanes, l) = (&targets[i as usize / LANES], i as usize % LANES);
        // The only close source is the member itself.
        if lanes.n_close[l] == 1.0 {
            return lanes.sums[l];
        }
        let (mut sum, mut terms) = (Sum::default(), NO_TERMS);
        let [x, y, z] = &members.axes;
        dispatch!(_level => {
            let sources = [&x[..], &y[..], &z[..], &members.masses[..]];
            direct::add(&mut sum, sources, members.position(i as usize), softening2, &mut terms);
        });
        coincident += u64::from(sum.n_coincident.saturating_sub(1));
        sum.potential(members.masses[i as usize], members.softening)
    };
    let approximate = all.iter().map(|&i| approximate(i)).collect();
    (approximate, coincident)
}
