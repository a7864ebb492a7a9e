//! Insertion into a row of nearest neighbours.
//!
//! In: a row sorted by squared distance, ties by index, and a neighbour. Out: the row without its last neighbour.
//! Cost: a comparison for each place, without branches.

use cubecl::prelude::*;

/// Inserts a neighbour. Farther neighbours move by one place, and the last of them is dropped.
#[cube]
pub(in crate::gpu) fn insert(
    distances2: &mut Array<f64>,
    indices: &mut Array<u32>,
    distance2: f64,
    index: u32,
    #[comptime] k: usize,
) {
    let mut value = distance2 + f64::new(0.0);
    let mut value_of = index + 0;
    #[unroll]
    for place in 0..k {
        let (held, held_of) = (distances2[place], indices[place]);
        let goes_here = value < held || (value == held && value_of < held_of);
        distances2[place] = select(goes_here, value, held);
        indices[place] = select(goes_here, value_of, held_of);
        value = select(goes_here, held, value);
        value_of = select(goes_here, held_of, value_of);
    }
}
