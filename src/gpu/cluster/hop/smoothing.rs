//! The kernel sums of densities: the GPU version of `cluster::hop::smoothing`.
//!
//! In: the radius of each point's kernel. Out: a sum for each point, in tree order. The threads of a warp traverse
//! together. They enter a node if the kernel of any of their points reaches it, or if a kernel of a point below it
//! reaches any of their points. Terms are rounded to multiples of two powers of two, as on the CPU, so that sums are
//! exact in any order. Source of these sums: Demmel and Nguyen 2013.

#![allow(unsafe_code)] // A kernel without bounds checks; the launch contract is that of `hop`.

use cubecl::prelude::*;

use crate::cluster::hop::smoothing::above as power_above;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::reduce::largest_below;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::packet::{LeafRequest, Packet, new_packet};
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::{MIXED, Tree};
use crate::gpu::bvh::traverse::windows::windows;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::metric::{corners, distance2, exact_distance2, min_distance2};
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, Warp, warp_any, warp_max};
use crate::gpu::search::nearest::{Limits, LimitsLaunch, exact_limits, point_of, widened};

/// Threads per block.
const BLOCK_THREADS: u32 = 128;

/// The input of the sums.
pub(super) struct Smoothing<'a> {
    /// The squared radius of each kernel, as `kth_distances2` returns it.
    pub radius2: &'a Buffer<f64>,
    /// The masses of the points in tree order, and the largest of them. Without masses, all are 1.
    pub masses: Option<&'a Buffer<f64>>,
    pub largest: f64,
    pub n_density: usize,
    pub is_symmetric: bool,
    /// The factor that multiplies sums.
    pub normalization: f64,
}

/// Compile-time parameters of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SumSpec {
    d: usize,
    periodic: bool,
    warp: Warp,
    symmetric: bool,
    masses: bool,
}

/// The kernels of the points, in tree order.
#[derive(CubeType, CubeLaunch)]
struct Kernels<F: Float> {
    /// 1/h, or 0 if the density is infinite.
    inverse_h: Array<f64>,
    /// The limits of rounded squared distances up to which kernels reach, for points and for nodes; negative if the
    /// density is infinite.
    reach2: Array<F>,
    node_reach2: Array<F>,
    masses: Array<f64>,
    numbers: Numbers,
}

/// Numbers that all sums share.
#[derive(CubeType, CubeLaunch)]
struct Numbers {
    values: Array<f64>,
}

#[cube]
impl Numbers {
    /// All sums are less than this number times 1/h^D.
    fn most(&self) -> f64 {
        self.values[0]
    }

    /// The ratio of the smaller power of two to the larger one, for rounding.
    fn rest(&self) -> f64 {
        self.values[1]
    }

    fn normalization(&self) -> f64 {
        self.values[2]
    }

    fn infinity(&self) -> f64 {
        self.values[3]
    }

    /// 1, passed at run time so that the compiler cannot fold it.
    fn one(&self) -> f64 {
        self.values[4]
    }

    /// A kernel is finite if 8 times this number times 1/h^D is finite.
    fn most_or_one(&self) -> f64 {
        self.values[5]
    }
}

/// Computes the sum over all j of m(j) (w(r, h(i)) + w(r, h(j))) times `normalization`. If not `is_symmetric`, the
/// second term is absent. `w` is the spline over h^D without its normalization.
pub(super) fn smooth<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    smoothing: &Smoothing<'_>,
) -> Buffer<f64> {
    let &Smoothing { radius2, masses, largest, n_density, is_symmetric, normalization } = smoothing;
    let (n, dim) = (bvh.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    // The same limits as on the CPU, which explains them.
    let most = largest * 512.0 * (n_density as f64 + 1.0);
    let rest = 0.5f64.powi(52) * power_above(33.0 * (n_density as f64 + 1.0));
    let numbers = Buffer::from_slice(client, &[most, rest, normalization, f64::INFINITY, 1.0, most.max(1.0)]);
    let (inverse_h, reach2) = (Buffer::<f64>::new(client, n), Buffer::<S>::new(client, n));
    let limits = exact_limits::<_, S, D>(client, &bvh.space, f64::INFINITY);
    find_widths::launch::<S, R>(
        client,
        blocks_for(n),
        dim,
        radius2.arg(),
        NumbersLaunch::new(numbers.arg()),
        LimitsLaunch::new(limits.arg()),
        inverse_h.arg(),
        reach2.arg(),
        n as u32,
        D,
    );
    let node_reach2 = if is_symmetric { largest_below(client, nodes, &reach2) } else { reach2.clone() };
    let density = Buffer::<f64>::new(client, n);
    let warp = Warp::new(client).apart();
    let kernels = KernelsLaunch::new(
        inverse_h.arg(),
        reach2.arg(),
        node_reach2.arg(),
        masses.unwrap_or(&inverse_h).arg(),
        NumbersLaunch::new(numbers.arg()),
    );
    let spec = SumSpec {
        d: D,
        periodic: bvh.space.period().is_some(),
        warp,
        symmetric: is_symmetric,
        masses: masses.is_some(),
    };
    let (blocks, dim) = warp.blocks(n, BLOCK_THREADS);
    // SAFETY: the launch contract of `hop`. `inverse_h`, `reach2` and `density` have an entry for each point, and
    // `node_reach2`, which is read only if symmetric, has one for each node and the sentinel.
    unsafe {
        let (tree, end) = (bvh.tree(client, nodes), nodes.end() as u32);
        add_kernels::launch_unchecked::<S, R>(client, blocks, dim, tree, kernels, density.arg(), end, spec);
    }
    density
}

/// 1/h^D.
#[cube]
fn power(inverse_h: f64, #[comptime] d: usize) -> f64 {
    let mut power = inverse_h * inverse_h;
    if comptime!(d == 3) {
        power *= inverse_h;
    }
    power
}

#[cube(launch)]
fn find_widths<F: Float>(
    radius2: &Array<f64>,
    numbers: &Numbers,
    limits: &Limits,
    inverse_h: &mut Array<f64>,
    reach2: &mut Array<F>,
    n: u32,
    #[comptime] d: usize,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let own2 = radius2[at].abs();
        let inverse = f64::new(2.0) / own2.sqrt();
        // If the density is infinite, the kernel reaches no other points.
        let is_finite = power(inverse, d) * numbers.most_or_one() * f64::new(8.0) < numbers.infinity();
        inverse_h[at] = select(is_finite, inverse, f64::new(0.0));
        reach2[at] = select(is_finite, widened::<F>(own2, limits), F::new(-1.0));
    }
}

/// The spline M4 for q = r/h. Products that a compiler could fuse with a sum are computed as an `fma` with 0.
#[cube]
pub(in crate::gpu) fn spline(q: f64) -> f64 {
    let zero = f64::new(0.0);
    let outer = (f64::new(2.0) - q).max(zero);
    let inner = (f64::new(1.0) - q).max(zero);
    f64::new(0.25) * (outer * outer * outer) - fma(inner * inner, inner, zero)
}

/// The power of two above a number that is not negative.
#[cube]
fn above(number: f64) -> f64 {
    let exponent = u32::cast_from(u64::reinterpret(number) >> 52u64) + 1;
    f64::reinterpret(u64::cast_from(min(exponent, 2046u32)) << 52u64)
}

/// The sum of a point's terms.
#[derive(CubeType)]
struct Sum<F: Float> {
    inverse_h: f64,
    /// 1/h^D.
    own: f64,
    /// Numbers to which terms are added to round them, and copies of them to subtract again. Vulkan compilers may
    /// remove the addition and subtraction of a single number.
    high: f64,
    low: f64,
    minus_high: f64,
    minus_low: f64,
    sums: Array<f64>,
    /// The limit of rounded squared distances up to which the point's own kernel reaches.
    limit: F,
}

#[cube]
impl<F: Float> Sum<F> {
    fn new(kernels: &Kernels<F>, at: u32, #[comptime] spec: SumSpec) -> Sum<F> {
        let inverse_h = kernels.inverse_h[at as usize];
        let own = power(inverse_h, comptime!(spec.d));
        let power = above(own * kernels.numbers.most());
        let rest = power * kernels.numbers.rest();
        let (high, low) = (f64::new(3.0) * power, f64::new(3.0) * rest);
        let (minus_high, minus_low) = (high * kernels.numbers.one(), low * kernels.numbers.one());
        let mut sums = Array::<f64>::new(2usize);
        sums[0] = f64::new(0.0);
        sums[1] = f64::new(0.0);
        let limit = kernels.reach2[at as usize];
        Sum::<F> { inverse_h, own, high, low, minus_high, minus_low, sums, limit }
    }

    /// Adds the term of another point, with its squared distance and 1/h.
    fn add(&mut self, kernels: &Kernels<F>, other: u32, distance2: f64, inverse_h: f64, #[comptime] spec: SumSpec) {
        let zero = f64::new(0.0);
        let distance = distance2.sqrt();
        let mut term = fma(self.own, spline(fma(distance, self.inverse_h, zero)), zero);
        if comptime!(spec.symmetric) {
            let power = power(inverse_h, comptime!(spec.d));
            term += fma(power, spline(fma(distance, inverse_h, zero)), zero);
        }
        if comptime!(spec.masses) {
            term = fma(kernels.masses[other as usize], term, zero);
        }
        let rounded = (term + self.high) - self.minus_high;
        self.sums[0] = self.sums[0] + rounded;
        self.sums[1] = self.sums[1] + (((term - rounded) + self.low) - self.minus_low);
    }

    fn total(&self, kernels: &Kernels<F>) -> f64 {
        let sum = self.sums[0] + self.sums[1];
        select(self.inverse_h == f64::new(0.0), kernels.numbers.infinity(), sum) * kernels.numbers.normalization()
    }

    /// The limit of rounded squared distances from another point up to which that point contributes.
    fn limit_to(&self, kernels: &Kernels<F>, other: u32, #[comptime] spec: SumSpec) -> F {
        larger_reach::<F>(self.limit, &kernels.reach2, other, spec)
    }

    /// The same for the points below a node.
    fn limit_to_node(&self, kernels: &Kernels<F>, node: u32, #[comptime] spec: SumSpec) -> F {
        larger_reach::<F>(self.limit, &kernels.node_reach2, node, spec)
    }
}

/// The limit, or if the kernels of other points contribute, the larger of `limit` and `reach2[at]`.
#[cube]
fn larger_reach<F: Float>(limit: F, reach2: &Array<F>, at: u32, #[comptime] spec: SumSpec) -> F {
    let mut larger = limit + F::new(0.0);
    if comptime!(spec.symmetric) {
        larger = larger.max(reach2[at as usize]);
    }
    larger
}

/// Adds up the terms of each point.
#[cube(launch_unchecked)]
fn add_kernels<F: Float>(
    tree: &Tree<F>,
    kernels: &Kernels<F>,
    density: &mut Array<f64>,
    end: u32,
    #[comptime] spec: SumSpec,
) {
    let n = tree.stored;
    let unit = ABSOLUTE_POS as u32;
    // All threads of a warp must take part in votes.
    let query = min(unit, n - 1);
    let point = point_of::<F>(tree, query, comptime!(spec.d));
    let mut sum = Sum::<F>::new(kernels, query, spec);
    if comptime!(spec.warp.is_some()) {
        walk_warp::<F>(&mut sum, kernels, tree, &point, query, end, spec);
    } else if unit < n {
        walk_thread::<F>(&mut sum, kernels, tree, &point, end, spec);
    }
    if unit < n {
        density[query as usize] = sum.total(kernels);
    }
}

/// Traverses for the points of a warp together.
#[cube]
fn walk_warp<F: Float>(
    sum: &mut Sum<F>,
    kernels: &Kernels<F>,
    tree: &Tree<F>,
    point: &Array<F>,
    query: u32,
    end: u32,
    #[comptime] spec: SumSpec,
) {
    let (d, periodic, warp) = comptime!((spec.d, spec.periodic, spec.warp));
    let unit = UNIT_POS % WIDTH;
    let mut packet = new_packet::<F>(point, d, periodic, comptime!(warp.units(BLOCK_THREADS)), warp);
    let widest = warp_max::<F>(sum.limit, warp);
    // A point whose density is infinite needs no terms.
    let wants = sum.limit >= F::new(0.0);
    let mut staged = Staged::<F>::new(comptime!(warp.units(BLOCK_THREADS)));
    let mut at = 0u32.runtime();
    let windows = windows::<F>(end, F::new(-1.0), false, warp);
    while at < end {
        if windows.are_ineffective() {
            let corners = corners::<F>(&tree.bounds, at, d);
            let limit = sum.limit_to_node(kernels, at, spec);
            let near = wants && min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= limit;
            windows.test_node(tree, at, near, false);
        } else {
            let limit = larger_reach::<F>(widest, &kernels.node_reach2, min(at + unit, end), spec);
            windows.test_window(tree, &packet, at, limit, MIXED.runtime());
        }
        let mut leaves = Bits::new(windows.stops());
        while leaves.any() {
            let node = at + leaves.pop();
            let limit = sum.limit_to_node(kernels, node, spec);
            let any = windows.takes(tree, &packet, node, point, limit, wants);
            if warp_any(any, warp) {
                let want = LeafRequest { any, is_uniform: false.runtime(), own: query, half: false, uniform: false };
                let (first, behind) = (tree.links[node as usize][1], tree.links[(node + 1) as usize][1]);
                let limit = larger_reach::<F>(widest, &kernels.reach2, min(first + unit, behind - 1), spec);
                packet.enqueue_near(tree, first, behind, limit, want);
                if packet.is_full() {
                    add_packet::<F>(sum, kernels, &mut staged, tree, point, &packet, spec);
                    packet.advance();
                }
            }
        }
        at = windows.next();
    }
    add_packet::<F>(sum, kernels, &mut staged, tree, point, &packet, spec);
}

/// The kernels of a packet's points, by thread.
#[derive(CubeType)]
struct Staged<F: Float> {
    reach2: SharedMemory<F>,
    inverse_h: SharedMemory<f64>,
}

#[cube]
impl<F: Float> Staged<F> {
    fn new(#[comptime] units: u32) -> Staged<F> {
        let units = comptime!(units as usize);
        Staged::<F> { reach2: SharedMemory::<F>::new(units), inverse_h: SharedMemory::<f64>::new(units) }
    }
}

/// Adds the terms of the packet's points.
#[cube]
fn add_packet<F: Float>(
    sum: &mut Sum<F>,
    kernels: &Kernels<F>,
    staged: &mut Staged<F>,
    tree: &Tree<F>,
    point: &Array<F>,
    packet: &Packet<F>,
    #[comptime] spec: SumSpec,
) {
    let (unit, first) = (UNIT_POS % WIDTH, UNIT_POS / WIDTH * WIDTH);
    let mut left = Bits::new(0u32.runtime());
    let mut exact = Array::<f64>::new(comptime!(spec.d));
    #[unroll]
    for k in 0..comptime!(spec.d) {
        exact[k] = f64::cast_from(point[k]);
    }
    if comptime!(spec.symmetric) {
        packet.share();
        if unit < packet.queued() {
            let at = packet.position(unit) as usize;
            staged.reach2[UNIT_POS as usize] = kernels.reach2[at];
            staged.inverse_h[UNIT_POS as usize] = kernels.inverse_h[at];
        }
        left.set(packet.compare_reaching(point, sum.limit, &staged.reach2, &tree.sides));
    } else {
        let (near, _) = packet.compare(point, sum.limit, sum.limit, &tree.sides);
        left.set(near);
    }
    while left.any() {
        let bit = left.pop();
        let mut inverse_h = f64::new(0.0);
        if comptime!(spec.symmetric) {
            inverse_h = staged.inverse_h[(first + bit) as usize];
        }
        let distance2 = packet.exact_distance2(bit, &exact, &tree.exact_sides);
        sum.add(kernels, packet.position(bit), distance2, inverse_h, spec);
    }
}

/// Traverses for one point.
#[cube]
fn walk_thread<F: Float>(
    sum: &mut Sum<F>,
    kernels: &Kernels<F>,
    tree: &Tree<F>,
    point: &Array<F>,
    end: u32,
    #[comptime] spec: SumSpec,
) {
    let (d, periodic) = comptime!((spec.d, spec.periodic));
    let n = tree.stored;
    let wants = sum.limit >= F::new(0.0);
    let mut walk = RopeWalk::new(0u32.runtime(), end);
    while walk.goes_on() {
        let node = walk.node(&tree.links);
        let corners = corners::<F>(&tree.bounds, node.at, d);
        let limit = sum.limit_to_node(kernels, node.at, spec);
        let near = wants && min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= limit;
        if near && node.is_leaf {
            for other in node.first..tree.links[node.rope as usize][1] {
                let d2 = distance2::<F>(&tree.axes, other, n, point, &tree.sides, d, periodic);
                if d2 <= sum.limit_to(kernels, other, spec) {
                    let exact = exact_distance2::<F>(&tree.axes, other, n, point, &tree.exact_sides, d, periodic);
                    sum.add(kernels, other, exact, kernels.inverse_h[other as usize], spec);
                }
            }
        }
        walk.step(&node, near);
    }
}
