//! Pairs of stored boxes or spheres that touch or overlap, on a device.
//!
//! In: a tree of boxes; for spheres, their centres and radii. Out: pairs in ascending order.
//! A thread walks the tree for each box, node by node, and tests the primitives of leaves in `f64`, as on the CPU. A
//! first walk counts, and a second one writes a word per pair, which are then sorted (`csr::half`).
//! Cost: two walks, and a radix sort of a word per pair.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Sphere;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::bvh::{BoxBvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::csr::half::{HalfLengths, half_lists};
use crate::gpu::device::on;
use crate::gpu::metric::{corners, exact_boxes_distance2, exact_distance2, point_at};
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::pairs::Pairs;
use crate::parallel::map;
use crate::search::own_radii::{box_tolerance, check_one_each};

/// Spheres per parallel task.
const TASK: usize = 1 << 14;

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PairSpec {
    d: usize,
    periodic: bool,
    /// `true` if spheres are tested, not only their boxes.
    spheres: bool,
    /// `true` if pairs are written, not only counted.
    lists: bool,
}

/// The spheres in tree order. Kernels do not read them if they test boxes.
struct SortedSpheres<S> {
    /// The centres, axis by axis.
    axes: Buffer<S>,
    /// The radii; -1 if a radius is invalid.
    radii: Buffer<f64>,
    /// The squared distance within which boxes are entered.
    reach2: f64,
}

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Finds all pairs of stored boxes that touch or overlap, each once, in ascending order, as
    /// [`crate::Bvh::overlapping_pairs`]. The lower index of a pair comes first.
    ///
    /// ```no_run
    /// use ropewalk::Aabb;
    /// use ropewalk::gpu::{BoxBvh, Device};
    ///
    /// let boxes = [Aabb::new([0.0f32, 0.0], [1.0, 1.0]), Aabb::new([2.0, 0.0], [3.0, 1.0]), Aabb::new([1.0, 1.0], [2.5, 2.0])];
    /// let bvh = BoxBvh::build(&boxes, Device::first()?)?;
    /// assert_eq!(bvh.overlapping_pairs()?.read()?, [[0, 2], [1, 2]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^31 - 1 pairs, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// Two walks, and a radix sort. Memory: 8 bytes per pair; while it runs, 20 bytes more per pair and 8 per box.
    pub fn overlapping_pairs(&self) -> Result<Pairs> {
        on!(self.device, client => {
            let unused = SortedSpheres { axes: self.corners.clone(), radii: Buffer::new(client, 0), reach2: 0.0 };
            self.find_pairs(client, &unused, false)
        })
    }

    /// Finds all pairs of stored spheres that touch or overlap, each once, in ascending order, as
    /// [`crate::Bvh::overlapping_spheres`]: those whose centres are at most the sum of their radii apart.
    ///
    /// `spheres` is the slice from which the tree was built. If it holds other spheres, only pairs whose stored boxes
    /// touch are found. In a periodic box, the nearest images of the centres are compared.
    ///
    /// ```no_run
    /// use ropewalk::Sphere;
    /// use ropewalk::gpu::{BoxBvh, Device};
    ///
    /// let spheres = [([0.5f32, 0.0], 1.0), ([9.0, 0.0], 0.5), ([3.0, 0.0], 1.5)];
    /// let spheres = spheres.map(|(center, radius)| Sphere::new(center, radius));
    /// let bvh = BoxBvh::build_periodic(&spheres, 10.0, Device::first()?)?;
    /// assert_eq!(bvh.overlapping_spheres(&spheres)?.read()?, [[0, 1], [0, 2]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The number of spheres differs from the number of boxes.
    /// - The errors of [`BoxBvh::overlapping_pairs`].
    ///
    /// # Cost
    /// That of [`BoxBvh::overlapping_pairs`]. Memory: while it runs, 40 bytes more per sphere of three `f32`.
    pub fn overlapping_spheres(&self, spheres: &[Sphere<S, D>]) -> Result<Pairs> {
        check_one_each("spheres", spheres.len(), self.len())?;
        on!(self.device, client => {
            check_allocation(client, spheres.len() as u128 * (D * size_of::<S>()).max(8) as u128)?;
            let centers = map(spheres.len(), TASK, &|i| self.space.wrap(spheres[i].center));
            let radii = map(spheres.len(), TASK, &|i| {
                let radius = spheres[i].radius;
                if radius >= 0.0 { radius } else { -1.0 }
            });
            let centers = Buffer::from_slice(client, centers.as_flattened());
            let radii = Buffer::from_slice(client, &radii);
            let sorted = SortedSpheres {
                axes: gather(client, &centers, &self.order, D, Layout::Columns),
                radii: gather(client, &radii, &self.order, 1, Layout::Rows),
                reach2: box_tolerance(&self.bounds(), &self.space).powi(2),
            };
            self.find_pairs(client, &sorted, true)
        })
    }

    fn find_pairs<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        sorted: &SortedSpheres<S>,
        spheres: bool,
    ) -> Result<Pairs> {
        let Some(nodes) = &self.nodes else {
            return Pairs::of_half_lists(client, &Csr::without_lists(client, self.device));
        };
        let no_words = Buffer::<u64>::new(client, 0);
        let count = |lengths: &HalfLengths| {
            let found = PairOutputLaunch::new(lengths.below.arg(), lengths.above.arg(), no_words.arg());
            self.walk_pairs(client, nodes, sorted, found, (spheres, false));
        };
        let write = |begins: &Buffer<u32>, words: &Buffer<u64>| {
            // A walk that writes pairs does not write the second buffer.
            let found = PairOutputLaunch::new(begins.arg(), begins.arg(), words.arg());
            self.walk_pairs(client, nodes, sorted, found, (spheres, true));
        };
        Pairs::of_half_lists(client, &half_lists(client, self.device, self.len(), count, write)?)
    }

    fn walk_pairs<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        sorted: &SortedSpheres<S>,
        found: PairOutputLaunch<R>,
        (spheres, lists): (bool, bool),
    ) {
        let spheres_arg = SpheresLaunch::new(
            sorted.axes.arg(),
            sorted.radii.arg(),
            Buffer::from_slice(client, &[sorted.reach2]).arg(),
        );
        walk_pairs::launch::<S, R>(
            client,
            blocks_for(self.len()),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            self.searched_by(nodes).arg(client),
            self.order.arg(),
            spheres_arg,
            found,
            self.len() as u32,
            nodes.end() as u32,
            PairSpec { d: D, periodic: self.space.period().is_some(), spheres, lists },
        );
    }
}

/// Centres and radii in tree order, and the squared distance within which boxes are entered.
#[derive(CubeType, CubeLaunch)]
struct Spheres<F: Float> {
    axes: Array<F>,
    radii: Array<f64>,
    reach2: Array<f64>,
}

/// The numbers of lower and of higher indices that form a pair with each box; or the begin of the words of each box, and
/// the words.
#[derive(CubeType, CubeLaunch)]
struct PairOutput {
    below: Array<u32>,
    above: Array<u32>,
    words: Array<u64>,
}

/// Counts or writes the pairs of each of `n` boxes with lower ones, and counts those with higher ones. `end` is the
/// number of nodes.
#[cube(launch)]
fn walk_pairs<F: Float>(
    tree: &Tree<F>,
    order: &Array<u32>,
    spheres: &Spheres<F>,
    found: &mut PairOutput,
    n: u32,
    end: u32,
    #[comptime] spec: PairSpec,
) {
    let position = ABSOLUTE_POS as u32;
    if position < n {
        let (d, periodic) = comptime!((spec.d, spec.periodic));
        let mut own = Array::<f64>::new(comptime!(2 * spec.d));
        #[unroll]
        for k in 0..2 * d {
            own[k] = f64::cast_from(tree.axes[k * n as usize + position as usize]);
        }
        let center = point_at::<F>(&spheres.axes, position, n, d);
        let index = order[position as usize];
        let reach2 = spheres.reach2[0];
        // The number of lower indices or the position of the next word, and the number of higher indices.
        let mut counts = Array::<u32>::new(2usize);
        counts[0] = 0;
        counts[1] = 0;
        if comptime!(spec.lists) {
            counts[0] = found.below[index as usize];
        }
        let mut walk = RopeWalk::new(0u32.runtime(), end);
        while walk.goes_on() {
            let node = walk.node(&tree.links);
            let bounds = corners::<F>(&tree.bounds, node.at, d);
            let is_near = exact_boxes_distance2::<F>(&own, &bounds, &tree.exact_sides, d, periodic) <= reach2;
            if is_near && node.is_leaf {
                for at in node.first..tree.links[node.rope as usize][1] {
                    if overlap::<F>(tree, spheres, &own, &center, position, at, spec) {
                        let other = order[at as usize];
                        if comptime!(spec.lists) {
                            if other < index {
                                let to = counts[0] as usize;
                                found.words[to] = (u64::cast_from(other) << 32u64) | u64::cast_from(index);
                            }
                        }
                        counts[0] = counts[0] + u32::cast_from(other < index);
                        counts[1] = counts[1] + u32::cast_from(other > index);
                    }
                }
            }
            walk.step(&node, is_near);
        }
        if comptime!(!spec.lists) {
            found.below[index as usize] = counts[0];
            found.above[index as usize] = counts[1];
        }
    }
}

/// Returns `true` if the primitive at position `at` overlaps the one at `position`, whose box and centre are given.
#[cube]
fn overlap<F: Float>(
    tree: &Tree<F>,
    spheres: &Spheres<F>,
    own: &Array<f64>,
    center: &Array<F>,
    position: u32,
    at: u32,
    #[comptime] spec: PairSpec,
) -> bool {
    let (d, periodic) = comptime!((spec.d, spec.periodic));
    let zero = f64::new(0.0);
    let mut primitive = Array::<F>::new(comptime!(2 * spec.d));
    #[unroll]
    for k in 0..2 * d {
        primitive[k] = tree.axes[k * tree.stored as usize + at as usize];
    }
    let between = exact_boxes_distance2::<F>(own, &primitive, &tree.exact_sides, d, periodic);
    if comptime!(spec.spheres) {
        let (radius, other) = (spheres.radii[position as usize], spheres.radii[at as usize]);
        let exact = exact_distance2::<F>(&spheres.axes, at, tree.stored, center, &tree.exact_sides, d, periodic);
        let sum = radius + other;
        // An `fma` with 0 computes the product alone, so that it is not fused with the comparison.
        // The test of boxes keeps the relation symmetric if the spheres are not those of the boxes.
        between <= spheres.reach2[0] && radius >= zero && other >= zero && exact <= fma(sum, sum, zero)
    } else {
        between <= zero
    }
}
