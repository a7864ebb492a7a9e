//! Ranks keys in a global order (sample sort).
//!
//! In: keys of each rank. Out: the position of each key among the keys of all ranks. Each rank receives one segment
//! of the key range and sorts it; the positions are sent back.
//! Cost: 24 bytes are sent for each key, and 16 bytes from each rank to each for each of at most 32 samples.

use crate::distributed::communicator::{Communicator, all_gather_v, starts};
use crate::distributed::route::Route;
use crate::error::Result;
use crate::memory::zeroed;

/// The maximum number of samples per rank.
const SAMPLES: usize = 32;

/// Returns the position of each key among those of all ranks, from 0; all keys differ. Collective.
pub(super) fn global_positions(ranks: &dyn Communicator, keys: &[[u64; 2]]) -> Result<Vec<u64>> {
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    let every = sorted.len().div_ceil(SAMPLES).max(1);
    let samples: Vec<[u64; 2]> = sorted.into_iter().skip(every / 2).step_by(every).collect();
    let mut samples = all_gather_v(ranks, &samples)?.into_parts().1;
    samples.sort_unstable();
    // The segment of each rank, except the first, begins at a sample. Without samples there are no keys.
    let begins: Vec<[u64; 2]> =
        (1..ranks.size()).filter_map(|rank| samples.get(rank * samples.len() / ranks.size()).copied()).collect();
    let to: Vec<u32> = keys.iter().map(|key| begins.partition_point(|begin| begin <= key) as u32).collect();
    let route = Route::to_one(ranks, &to)?;
    let arrived = route.send(ranks, keys)?;
    let first = starts(ranks, arrived.len())?[ranks.rank()];
    let mut order: Vec<usize> = (0..arrived.len()).collect();
    order.sort_unstable_by_key(|&at| arrived[at]);
    let mut answers = zeroed(arrived.len());
    (first..).zip(order).for_each(|(place, at)| answers[at] = place);
    route.send_back(ranks, &answers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::on_threads;

    #[test]
    fn places_of_keys() {
        let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let many = |rank: u64| (0..500).map(|i| [spread(i) % 3, spread(i * 16 + rank)]).collect::<Vec<_>>();
        let uneven = |rank: u64| (0..rank * rank * 30).map(|i| [rank % 2, i * 16 + rank]).collect::<Vec<_>>();
        let few = |rank: u64| if rank == 1 { vec![[7, 7], [0, 9]] } else { vec![] };
        let cases: [&(dyn Fn(u64) -> Vec<[u64; 2]> + Sync); 4] = [&many, &uneven, &few, &|_| vec![]];
        for keys in cases {
            for size in [1, 2, 5, 16] {
                let mut all: Vec<[u64; 2]> = (0..size as u64).flat_map(keys).collect();
                all.sort_unstable();
                let found = on_threads(size, |ranks| global_positions(ranks, &keys(ranks.rank() as u64))).unwrap();
                for (rank, found) in (0..).zip(found) {
                    let expected: Vec<u64> =
                        keys(rank).iter().map(|key| all.binary_search(key).unwrap() as u64).collect();
                    assert_eq!(found, expected);
                }
            }
        }
    }
}
