//! A tree over the points of all ranks: each rank asks for the nearest neighbours of its own places.
//!
//!     cargo run --release --example distributed_tree
//!
//! Ranks are threads here. With the feature `mpi` they are processes of MPI.

use ropewalk::distributed::{self, Communicator, on_threads};
use ropewalk::{Bvh, Result};

const RANKS: usize = 4;
const PER_RANK: usize = 500;

/// Returns a point, which is the same on every machine.
fn point(i: usize) -> [f64; 2] {
    [0.754_877_666, 0.569_840_291].map(|step| (i as f64 * step).fract())
}

fn main() -> Result<()> {
    let found = on_threads(RANKS, |ranks| {
        // Global indices number the points of rank 0 first, then those of rank 1, and so on.
        let own: Vec<_> = (0..PER_RANK).map(|i| point(ranks.rank() * PER_RANK + i)).collect();
        let bvh = distributed::Bvh::build(ranks, &own)?;
        let place = [0.125 + 0.25 * ranks.rank() as f64, 0.5];
        let near = bvh.nearest_all(&[place], 3)?;
        Ok((place, near.of(0).iter().map(|near| near.index).collect::<Vec<u64>>()))
    })?;

    let all: Vec<_> = (0..RANKS * PER_RANK).map(point).collect();
    let bvh = Bvh::build(&all)?;
    for (rank, (place, near)) in found.into_iter().enumerate() {
        let owners: Vec<u64> = near.iter().map(|index| index / PER_RANK as u64).collect();
        println!("rank {rank}: nearest to {place:?} are points {near:?} of ranks {owners:?}");
        let expected: Vec<u64> = bvh.nearest(place, 3).iter().map(|near| u64::from(near.index)).collect();
        assert_eq!(near, expected);
    }
    Ok(())
}
