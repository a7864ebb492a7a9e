//! Scattering of numbers to their places, and inversion of an order.
//!
//! In: words with a place in the upper half and a number in the lower half; places are a permutation. Out: the numbers
//! at their places. A single write to a random address costs a read and a write of 32 bytes if the output exceeds the
//! caches. Therefore words are partitioned by place first: threads that run at the same time then write near each
//! other, and caches merge their writes.
//! Cost: a pass of the radix sort, and 12 bytes of traffic per number. Memory: 20 bytes per number while it runs.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::primitives::radix_sort::partition_words;

/// Outputs of up to this many numbers stay in caches, so that words are not partitioned.
const CACHED: usize = 1 << 22;

/// Writes the lower half of each word to the place in its upper half.
pub(in crate::gpu) fn scatter<R: Runtime, T: CubeElement + Int>(
    client: &ComputeClient<R>,
    words: Buffer<u64>,
) -> Buffer<T> {
    scatter_beyond(client, words, CACHED)
}

/// [`scatter`] with another limit for outputs that stay in caches.
fn scatter_beyond<R: Runtime, T: CubeElement + Int>(
    client: &ComputeClient<R>,
    words: Buffer<u64>,
    cached: usize,
) -> Buffer<T> {
    let n = words.len();
    let words = if n > cached { partition_words(client, words, n as u64) } else { words };
    let numbers = Buffer::<T>::new(client, n);
    put_numbers::launch::<T, R>(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        words.arg(),
        numbers.arg(),
        n as u32,
    );
    numbers
}

/// Returns the position of each index in `order`, a permutation.
pub(in crate::gpu) fn invert<R: Runtime>(client: &ComputeClient<R>, order: &Buffer<u32>) -> Buffer<u32> {
    let n = order.len();
    let words = Buffer::<u64>::new(client, n);
    write_positions::launch::<R>(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        order.arg(),
        words.arg(),
        n as u32,
    );
    scatter(client, words)
}

/// A word for [`scatter`].
#[cube]
pub(in crate::gpu) fn word(place: u32, number: u32) -> u64 {
    (u64::cast_from(place) << 32u64) | u64::cast_from(number)
}

#[cube(launch)]
fn write_positions(order: &Array<u32>, words: &mut Array<u64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        words[i] = word(order[i], i as u32);
    }
}

#[cube(launch)]
fn put_numbers<T: Int>(words: &Array<u64>, numbers: &mut Array<T>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let own = words[i];
        let place = u32::cast_from(own >> 32u64) as usize;
        numbers[place] = T::reinterpret(u32::cast_from(own & 0xffff_ffffu64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::gpu::Device;
    use crate::gpu::device::on;

    #[test]
    fn numbers_at_their_places() -> Result<()> {
        on!(Device::first()?, client => {
            for n in [0, 1, 2, 511, 512, 513, 20_000] {
                // The multiplier is prime and divides no length.
                let order: Vec<u32> = (0..n as u64).map(|i| (i * 7919 % n as u64) as u32).collect();
                let mut expected = vec![0i32; n];
                for (i, &place) in order.iter().enumerate() {
                    expected[place as usize] = 5 - i as i32;
                }
                let word = |(i, &place): (u32, &u32)| u64::from(place) << 32 | u64::from(5u32.wrapping_sub(i));
                let words: Vec<u64> = (0..).zip(&order).map(word).collect();
                for cached in [0, 1000, CACHED] {
                    let found: Buffer<i32> = scatter_beyond(client, Buffer::from_slice(client, &words), cached);
                    assert_eq!(found.read(client)?, expected, "{n} numbers");
                }
                let inverse = invert(client, &Buffer::from_slice(client, &order)).read(client)?;
                assert!(inverse.iter().enumerate().all(|(place, &i)| order[i as usize] as usize == place));
            }
            Ok(())
        })
    }
}
