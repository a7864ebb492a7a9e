//! The clusters of new points: the GPU version of `cluster::hdbscan::predict`.
//!
//! In: a tree over the old points, their clusters, and new points. Out: a label and a probability for each new point.
//!
//! The steps:
//! - the candidates of each new point: its nearest old points;
//! - the core distances of all candidates, by a second search;
//! - the candidate of least weight;
//! - labels and probabilities, on the host with the functions of the CPU version.
//!
//! Cost: two searches for each new point. Memory: 24 bytes per candidate of each new point, and a copy of the clusters on
//! the host.

use cubecl::prelude::*;

use crate::cluster::HdbscanPrediction;
use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::hdbscan::{Hdbscan, HdbscanClusters};
use crate::gpu::device::{MAX_ITERATIONS, check_same, is_cuda, on};
use crate::gpu::errors;
use crate::gpu::primitives::compact::Compact;
use crate::gpu::primitives::scaling::{Scaling, scale};
use crate::gpu::primitives::scatter::invert;
use crate::gpu::search::Neighbors;
use crate::gpu::search::nearest::take_place;
use crate::search::Nearest;

impl Hdbscan {
    /// Finds the cluster that each new point would join if it were added alone, as [`crate::Hdbscan::predict`], with
    /// equal results. `points` and `clusters` are those of an earlier [`Hdbscan::run`] with the same options.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, Hdbscan, Points};
    ///
    /// let points = Points::new(&[[0.0f32], [1.0], [2.0], [30.0], [31.0], [32.0]], Device::first()?)?;
    /// let hdbscan = Hdbscan::new(3).min_samples(2);
    /// let clusters = hdbscan.run(&points)?;
    /// let new = hdbscan.predict(&points, &clusters, &[[1.5f32], [34.0], [70.0]])?;
    /// assert_eq!(new.labels, [0, 1, -1]);
    /// assert_eq!(new.probabilities, [1.0, 0.5, 0.0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Cost
    /// A tree over the points, and two nearest-neighbour queries for each new point. The tree of clusters is copied to
    /// the host.
    ///
    /// # Errors
    /// Returns an error as [`crate::Hdbscan::predict`], and if:
    /// - `clusters` are on another device;
    /// - there are more than 2^32 - 1 candidates, 2 `min_samples` of each new point, or more than a buffer of the device
    ///   can hold;
    /// - the device fails.
    pub fn predict<S: Coordinate, const D: usize>(
        &self,
        points: &Points<S, D>,
        clusters: &HdbscanClusters,
        new: &[[S; D]],
    ) -> Result<HdbscanPrediction> {
        self.options.check()?;
        self.predict_on(&Bvh::from_points(points)?, clusters, new)
    }

    /// Finds the clusters of new points with a tree of the old points that is already built.
    ///
    /// # Errors
    /// Those of [`Hdbscan::predict`].
    pub fn predict_on<S: Coordinate, const D: usize>(
        &self,
        bvh: &Bvh<S, D>,
        clusters: &HdbscanClusters,
        new: &[[S; D]],
    ) -> Result<HdbscanPrediction> {
        self.options.check()?;
        let device = bvh.device;
        let old = clusters.probabilities();
        check_same(["the clusters", "the points"], [old.device, device])?;
        let placed = Points::new_in(new, bvh.space, device)?;
        let samples = self.options.prediction_samples(old.len(), bvh.len())?;
        if bvh.is_empty() || new.is_empty() {
            return Ok(HdbscanPrediction { labels: vec![-1; new.len()], probabilities: vec![0.0; new.len()] });
        }
        let found = on!(device, client => {
            let wanted = Nearest::new(2 * samples);
            let near = bvh.nearest_of_placed(client, &placed.values, &placed.bounds, wanted)?;
            if !is_cuda(client) && near.k > MAX_ITERATIONS {
                return Err(errors::long_loops(format!("a choice among {} candidates", near.k)));
            }
            least_weights(client, bvh, near, samples, self.options.alpha)
        })?;
        let clusters = clusters.read()?;
        let (labels, probabilities) =
            found.into_iter().map(|(neighbor, weight2)| clusters.joined(neighbor as usize, weight2)).unzip();
        Ok(HdbscanPrediction { labels, probabilities })
    }
}

/// Returns the candidate of least weight of each new point, and its squared weight.
fn least_weights<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    near: Neighbors,
    samples: usize,
    alpha: f64,
) -> Result<Vec<(u32, f64)>> {
    let (n, k, dim) = (near.len(), near.k as u32, CubeDim::new_1d(THREADS_PER_BLOCK));
    let candidates = Candidates::new(client, bvh, &near.indices, samples)?;
    let mut own2 = Buffer::filled(client, n, 0.0);
    if samples > 1 {
        own2 = Buffer::new(client, n);
        let (rows, place) = (near.distances2.arg(), samples as u32 - 2);
        take_place::launch::<R>(client, blocks_for(n), dim, rows, own2.arg(), k, place, n as u32);
    }
    let distances2 = scale(client, bvh.device, near.distances2, alpha * alpha, Scaling::Divide)?;
    let (neighbor, weight2) = (Buffer::<u32>::new(client, n), Buffer::<f64>::new(client, n));
    let input = ChoiceLaunch::new(
        near.indices.arg(),
        distances2.arg(),
        own2.arg(),
        candidates.ranks.arg(),
        candidates.core2.arg(),
        k,
        n as u32,
    );
    choose::launch::<R>(client, blocks_for(n), dim, input, neighbor.arg(), weight2.arg());
    Ok(neighbor.read(client)?.into_iter().zip(weight2.read(client)?).collect())
}

/// The old points that are candidates.
struct Candidates {
    /// For each old point the number of candidates before it.
    ranks: Buffer<u32>,
    /// The squared core distance of each candidate.
    core2: Buffer<f64>,
}

impl Candidates {
    fn new<R: Runtime, S: Coordinate, const D: usize>(
        client: &ComputeClient<R>,
        bvh: &Bvh<S, D>,
        indices: &Buffer<u32>,
        samples: usize,
    ) -> Result<Self> {
        let (n, dim) = (bvh.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let flags = Buffer::<u32>::filled(client, n + 1, 0);
        let entries = indices.len();
        flag::launch::<R>(client, blocks_for(entries), dim, indices.arg(), flags.arg(), entries as u32);
        let present = Compact::new(client, flags)?;
        let (items, len) = (present.items(client), present.len);
        let places = Buffer::<S>::new(client, len * D);
        place::launch::<S, R>(
            client,
            blocks_for(len),
            dim,
            bvh.axes.arg(),
            invert(client, &bvh.order).arg(),
            items.arg(),
            places.arg(),
            n as u32,
            len as u32,
            D,
        );
        let near = bvh.nearest_of_placed(client, &places, &bvh.bounds, Nearest::new(samples))?;
        let (core2, place) = (Buffer::<f64>::new(client, len), samples as u32 - 1);
        let rows = near.distances2.arg();
        take_place::launch::<R>(client, blocks_for(len), dim, rows, core2.arg(), near.k as u32, place, len as u32);
        Ok(Self { ranks: present.ranks, core2 })
    }
}

/// Flags the points that are listed. All threads write the same number.
#[cube(launch)]
fn flag(indices: &Array<u32>, flags: &mut Array<u32>, n: u32) {
    let entry = ABSOLUTE_POS;
    if (entry as u32) < n {
        let index = indices[entry] as usize;
        flags[index] = 1;
    }
}

/// Writes the coordinates of points, point by point.
#[cube(launch)]
fn place<F: Float>(
    axes: &Array<F>,
    positions: &Array<u32>,
    items: &Array<u32>,
    places: &mut Array<F>,
    n_stored: u32,
    n: u32,
    #[comptime] d: usize,
) {
    let item = ABSOLUTE_POS;
    if (item as u32) < n {
        let position = positions[items[item] as usize] as usize;
        #[unroll]
        for axis in 0..d {
            places[item * d + axis] = axes[axis * n_stored as usize + position];
        }
    }
}

/// The candidates of each new point.
#[derive(CubeType, CubeLaunch)]
struct Choice {
    indices: Array<u32>,
    /// Squared distances over the square of alpha.
    distances2: Array<f64>,
    /// The squared core distance of each new point.
    own2: Array<f64>,
    ranks: Array<u32>,
    core2: Array<f64>,
    k: u32,
    n: u32,
}

/// Finds the first of the candidates with the least weight.
#[cube(launch)]
fn choose(choice: &Choice, neighbor: &mut Array<u32>, weight2: &mut Array<f64>) {
    let point = ABSOLUTE_POS;
    if (point as u32) < choice.n {
        let row = point as u32 * choice.k;
        let own2 = choice.own2[point];
        let mut least2 = f64::new(0.0);
        let mut least = 0u32.runtime();
        for at in 0..choice.k {
            let index = choice.indices[(row + at) as usize];
            let core2 = choice.core2[choice.ranks[index as usize] as usize];
            let own = choice.distances2[(row + at) as usize].max(own2).max(core2);
            let is_less = at == 0 || own < least2;
            least2 = select(is_less, own, least2);
            least = select(is_less, index, least);
        }
        neighbor[point] = least;
        weight2[point] = least2;
    }
}
