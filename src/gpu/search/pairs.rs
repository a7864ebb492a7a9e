//! Pairs within a radius, each once: the GPU counterpart of `search::pairs`.
//!
//! In: a radius. Out: half lists, or pairs, in ascending order.
//! A first walk counts the lower and the higher neighbours of each point, and a second one writes the lower ones. A
//! sort puts them into the lists of the lower points (`csr::half`).
//! Cost: that of listing neighbours, and a radix sort of a word per pair.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation, wait};
use crate::gpu::bvh::traverse::spec::TraversalMode;
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::csr::half::{HalfLengths, half_lists};
use crate::gpu::csr::{Csr, list_of};
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;

/// Pairs of indices on a device, in ascending order; the lower index of a pair comes first. Kernels may still be
/// computing them.
#[derive(Clone, Debug)]
pub struct Pairs {
    device: Device,
    /// The indices of each pair, one after the other.
    values: Buffer<u32>,
}

impl Pairs {
    /// Lists the entries of half lists as pairs.
    ///
    /// Errors: more indices than kernels can address, or than a buffer of the device can hold.
    pub(super) fn of_half_lists<R: Runtime>(client: &ComputeClient<R>, lists: &Csr) -> Result<Self> {
        let pairs = lists.n_values();
        if 2 * pairs as u128 > u128::from(u32::MAX) {
            return Err(errors::too_many_values(2 * pairs as u128, "indices of pairs"));
        }
        check_allocation(client, 8 * pairs as u128)?;
        let values = Buffer::<u32>::new(client, 2 * pairs);
        write_pairs::launch::<R>(
            client,
            blocks_for(pairs),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            lists.offsets.arg(),
            lists.values.arg(),
            values.arg(),
            lists.len() as u32,
            pairs as u32,
        );
        Ok(Self { device: lists.device, values })
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.values.len() / 2
    }

    /// Returns `true` if there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the indices of all pairs: pair `p` has the indices `2 * p` and `2 * p + 1`.
    pub fn values(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.values.clone() }
    }

    /// Waits until the pairs are computed.
    ///
    /// # Errors
    /// If the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the pairs to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<Vec<[u32; 2]>> {
        on!(self.device, client => Ok(self.values.read(client)?.as_chunks::<2>().0.to_vec()))
    }
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Lists all pairs of stored points within `radius` of each other, each once, as [`crate::Bvh::half_neighbors`]:
    /// list `i` holds the neighbours of point `i` with a higher index, in ascending order.
    ///
    /// [`Csr::symmetric`] expands the lists to full lists.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[3.0f32], [5.0], [1.0], [1.5]], Device::first()?)?;
    /// let lists = bvh.half_neighbors(2.0)?.read()?;
    /// assert_eq!((lists.of(0), lists.of(2)), (&[1, 2, 3][..], &[3][..]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 pairs, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// Two walks, and a radix sort. Memory: 4 bytes per pair and 4 per point; while it runs, 16 bytes more per pair and
    /// 4 per point.
    pub fn half_neighbors(&self, radius: impl Into<f64>) -> Result<Csr> {
        let (n, radius) = (self.len(), radius.into());
        on!(self.device, client => {
            let Some(nodes) = &self.nodes else { return Ok(Csr::without_lists(client, self.device)) };
            let mode = TraversalMode::Each;
            let asked = self.balls_about_stored(client, radius);
            let listed = self.list_runs(client, nodes, &asked, mode);
            let count = |lengths: &HalfLengths| {
                let output = || SidesLaunch::new(lengths.below.arg(), lengths.above.arg());
                let input = || self.order.arg();
                self.walk_listed::<_, CountSides>(client, nodes, &asked, mode, listed.as_ref(), input, output);
            };
            let write = |begins: &Buffer<u32>, words: &Buffer<u64>| {
                let input = || WordPlacesLaunch::new(self.order.arg(), begins.arg());
                let output = || words.arg();
                self.walk_listed::<_, WriteLower>(client, nodes, &asked, mode, listed.as_ref(), input, output);
            };
            half_lists(client, self.device, n, count, write)
        })
    }

    /// Finds all pairs of stored points within `radius` of each other, each once, in ascending order, as
    /// [`crate::Bvh::pairs`]. The lower index of a pair comes first.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[3.0f32], [5.0], [1.0], [1.5]], Device::first()?)?;
    /// assert_eq!(bvh.pairs(2.0)?.read()?, [[0, 1], [0, 2], [0, 3], [2, 3]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^31 - 1 pairs, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// That of [`Bvh::half_neighbors`]. Memory: 8 bytes per pair.
    pub fn pairs(&self, radius: impl Into<f64>) -> Result<Pairs> {
        let lists = self.half_neighbors(radius)?;
        on!(self.device, client => Pairs::of_half_lists(client, &lists))
    }
}

/// Writes each of `entries` entries of `n` half lists after the number of its list.
#[cube(launch)]
fn write_pairs(offsets: &Array<u32>, values: &Array<u32>, pairs: &mut Array<u32>, n: u32, entries: u32) {
    let at = ABSOLUTE_POS as u32;
    if at < entries {
        pairs[2 * at as usize] = list_of(offsets, n, at);
        pairs[2 * at as usize + 1] = values[at as usize];
    }
}

/// The numbers of lower and of higher neighbours.
#[derive(CubeType, CubeLaunch)]
struct Sides {
    below: Array<u32>,
    above: Array<u32>,
}

/// The index of a point, and the numbers of its neighbours with a lower and with a higher index.
#[derive(CubeType)]
struct SidesOfPoint {
    own: u32,
    below: RuntimeCell<u32>,
    above: RuntimeCell<u32>,
}

/// Counts the points within the radius with a lower and with a higher index than the query's point.
struct CountSides;

#[cube]
impl LeafVisitor for CountSides {
    type Input = Array<u32>;
    type Output = Sides;
    type State = SidesOfPoint;

    fn start(order: &Self::Input, _counts: &mut Self::Output, query: u32) -> Self::State {
        SidesOfPoint {
            own: order[query as usize],
            below: RuntimeCell::<u32>::new(0),
            above: RuntimeCell::<u32>::new(0),
        }
    }

    fn on_hit(state: &Self::State, order: &Self::Input, _counts: &mut Self::Output, position: u32) -> bool {
        let index = order[position as usize];
        state.below.store(state.below.read() + u32::cast_from(index < state.own));
        state.above.store(state.above.read() + u32::cast_from(index > state.own));
        false.runtime()
    }

    fn finish(state: &Self::State, _order: &Self::Input, counts: &mut Self::Output, _query: u32) {
        counts.below[state.own as usize] = state.below.read();
        counts.above[state.own as usize] = state.above.read();
    }
}

/// The indices of points in tree order, and the begin of the words of each point.
#[derive(CubeType, CubeLaunch)]
struct WordPlaces {
    order: Array<u32>,
    begins: Array<u32>,
}

/// The index of a point, and the position of its next word.
#[derive(CubeType)]
struct NextWord {
    own: u32,
    at: RuntimeCell<u32>,
}

/// Writes a word for each point within the radius with a lower index than the query's point.
struct WriteLower;

#[cube]
impl LeafVisitor for WriteLower {
    type Input = WordPlaces;
    type Output = Array<u64>;
    type State = NextWord;

    fn start(places: &Self::Input, _words: &mut Self::Output, query: u32) -> Self::State {
        let own = places.order[query as usize];
        NextWord { own, at: RuntimeCell::<u32>::new(places.begins[own as usize]) }
    }

    fn on_hit(state: &Self::State, places: &Self::Input, words: &mut Self::Output, position: u32) -> bool {
        let index = places.order[position as usize];
        if index < state.own {
            let at = state.at.read();
            words[at as usize] = (u64::cast_from(index) << 32u64) | u64::cast_from(state.own);
            state.at.store(at + 1);
        }
        false.runtime()
    }
}
