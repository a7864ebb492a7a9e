//! Edges of all ranks in one order (sample sort).
//!
//! In: edges of each rank, some of them on several ranks. Out: each edge once, in ascending order, consecutive edges on
//! each rank.
//! Cost: 24 bytes are sent for each edge.

use crate::distributed::communicator::{Communicator, all_gather_v};
use crate::distributed::mst::tree::Edge;
use crate::distributed::route::Route;
use crate::error::Result;
use crate::parallel::sort;

/// The maximum number of samples per rank.
const SAMPLES: usize = 256;

/// Sorts the edges of all ranks. Collective.
pub(super) fn sort_across(ranks: &dyn Communicator, edges: Vec<Edge>) -> Result<Vec<Edge>> {
    // Bits of squared weights, which are not negative, are ordered like the numbers.
    let mut keys: Vec<[u64; 3]> = edges.iter().map(|edge| [edge.weight2.to_bits(), edge.low, edge.high]).collect();
    drop(edges);
    sort(&mut keys);
    let every = keys.len().div_ceil(SAMPLES).max(1);
    let samples: Vec<[u64; 3]> = keys.iter().copied().skip(every / 2).step_by(every).collect();
    // A sample stands for up to `every` edges of its rank.
    let weights: Vec<u64> = samples.iter().map(|_| every as u64).collect();
    let samples = all_gather_v(ranks, &samples)?.into_parts().1.into_iter();
    let weights = all_gather_v(ranks, &weights)?.into_parts().1;
    let mut samples: Vec<([u64; 3], u64)> = samples.zip(weights).collect();
    samples.sort_unstable();
    let all: u128 = samples.iter().map(|sample| u128::from(sample.1)).sum();
    let (mut sum, mut begins) = (0u128, Vec::with_capacity(ranks.size()));
    for (key, weight) in samples {
        while begins.len() + 1 < ranks.size() && sum * ranks.size() as u128 >= all * (begins.len() as u128 + 1) {
            begins.push(key);
        }
        sum += u128::from(weight);
    }
    let to: Vec<u32> = keys.iter().map(|key| begins.partition_point(|begin| begin <= key) as u32).collect();
    // The keys are in the order of their ranks, which a route keeps.
    let route = Route::to_one(ranks, &to)?;
    drop(to);
    let mut keys = route.send_packed(ranks, &keys)?;
    sort(&mut keys);
    keys.dedup();
    Ok(keys.into_iter().map(|[bits, low, high]| Edge { low, high, weight2: f64::from_bits(bits) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::on_threads;
    use crate::random::mixed;

    #[test]
    fn edges_are_sorted_once() {
        for size in [1, 2, 5] {
            let edges = |rank: usize| -> Vec<Edge> {
                let edge = |i: u64| Edge { low: i % 50, high: 50 + i, weight2: (mixed(i) % 9) as f64 };
                (0..1000 * rank as u64 + 7).map(edge).collect()
            };
            let found = on_threads(size, |ranks| sort_across(ranks, edges(ranks.rank()))).unwrap();
            let mut expected = edges(size - 1);
            expected.sort_by(|a, b| a.weight2.total_cmp(&b.weight2).then((a.low, a.high).cmp(&(b.low, b.high))));
            assert_eq!(found.concat(), expected);
            let most = found.iter().map(Vec::len).max().unwrap();
            assert!(most * size < 2 * expected.len(), "{most} of {} on {size} ranks", expected.len());
        }
        assert_eq!(on_threads(3, |ranks| sort_across(ranks, vec![])).unwrap(), [[], [], []]);
    }
}
