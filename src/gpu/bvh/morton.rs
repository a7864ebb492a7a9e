//! Morton codes of points, and the points in their order: the GPU counterpart of `bvh::morton`.
//!
//! In: points, and the grid over them. Out: codes; then indices, codes and coordinates in tree order, one array per
//! axis.
//! The sort uses only the leading bits of the codes. Points whose leading bits tie are few and adjacent, so each
//! point finds its rank among them by counting.
//! Cost: one pass for codes, one for the arrays in tree order.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract of `bvh`.

use cubecl::prelude::*;

use crate::bvh::morton::Grid;
use crate::geometry::Scalar;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, grid};
use crate::gpu::primitives::radix_sort::Pairs;
use crate::gpu::primitives::radix_sort::pass::CODE;

/// Points per thread and per block.
const ITEMS: u32 = 4;
const TILE: u32 = ITEMS * THREADS_PER_BLOCK;
/// The maximum distance in positions between points whose leading bits tie.
const REACH: u32 = 32;

/// The computation of Morton codes for points on a grid.
pub(in crate::gpu) struct MortonKernel<'a, R: Runtime, S> {
    client: &'a ComputeClient<R>,
    points: &'a Buffer<S>,
    /// Origin, scale and shrink factor of the grid, as [`Grid::numbers`] returns them.
    grid_params: Buffer<S>,
    /// See [`Flag`]. [`MortonKernel::codes`] clears the flags.
    pub flags: Buffer<u32>,
    n: usize,
    spec: GridSpec,
}

/// The parameters for which kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct GridSpec {
    d: usize,
    /// The last cell of an axis, to which larger coordinates are clamped, as on the CPU. With one axis the last cell
    /// is 2^63 - 1, which kernels have as a literal.
    last: u32,
}

/// Flags that kernels set for points that need another method.
pub(in crate::gpu) struct Flag;

impl Flag {
    /// More points tie in their leading bits than counting can sort.
    pub const PREFIX_TIES: usize = 0;
    /// More points than fit in a leaf have the same code.
    pub const DUPLICATE_CODES: usize = 1;
    pub const ALL: usize = 2;
}

/// Points in tree order.
pub(in crate::gpu) struct SortedPoints<S> {
    pub codes: Buffer<u64>,
    pub order: Buffer<u32>,
    /// The coordinates, axis by axis.
    pub axes: Buffer<S>,
}

impl<'a, R: Runtime, S: Scalar + Float + CubeElement> MortonKernel<'a, R, S> {
    pub fn new<const D: usize>(
        client: &'a ComputeClient<R>,
        points: &'a Buffer<S>,
        n: usize,
        grid: &Grid<S, D>,
    ) -> Self {
        let (shrink, origin, scale) = grid.numbers();
        let grid_params: Vec<S> = origin.into_iter().chain([scale, shrink]).collect();
        let flags = Buffer::new(client, Flag::ALL);
        let spec = GridSpec { d: D, last: Grid::<S, D>::last_cell().min(u64::from(u32::MAX)) as u32 };
        Self { client, points, grid_params: Buffer::from_slice(client, &grid_params), flags, n, spec }
    }

    /// Computes the code of each point.
    pub fn codes(&self) -> Buffer<u64> {
        let codes = Buffer::new(self.client, self.n);
        // SAFETY: the launch contract of `bvh`, with the number of points.
        unsafe {
            code_points::launch_unchecked::<S, R>(
                self.client,
                blocks_for(self.n),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                self.points.arg(),
                self.grid_params.arg(),
                codes.arg(),
                self.flags.arg(),
                self.n as u32,
                self.spec,
            );
        }
        codes
    }

    /// Computes the code of each point, paired with its index.
    pub fn pairs(&self) -> Pairs {
        Pairs { keys: self.codes(), values: Buffer::iota(self.client, self.n) }
    }

    /// Arranges the points in tree order, given their order by the `leading_bits` highest bits of the codes.
    pub fn layout(&self, order: &Buffer<u32>, leading_bits: u32) -> SortedPoints<S> {
        let (client, n, is_sorted) = (self.client, self.n, leading_bits == CODE);
        let sorted = SortedPoints {
            codes: Buffer::new(client, n),
            order: if is_sorted { order.clone() } else { Buffer::new(client, n) },
            axes: Buffer::new(client, n * self.spec.d),
        };
        // SAFETY: the launch contract of `bvh`, with the number of points. `order` is a permutation, and a tie moves
        // a point by at most the number of points on that side.
        unsafe {
            arrange_points::launch_unchecked::<S, R>(
                client,
                grid(n.div_ceil(TILE as usize)),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                self.points.arg(),
                self.grid_params.arg(),
                order.arg(),
                sorted.codes.arg(),
                sorted.order.arg(),
                sorted.axes.arg(),
                self.flags.arg(),
                n as u32,
                self.spec,
                CODE - leading_bits,
            );
        }
        sorted
    }
}

/// Moves bit `i` to bit `i * d`, for a cell number of `63 / d` bits.
#[cube]
pub(in crate::gpu) fn spread(cell: u64, #[comptime] d: usize) -> u64 {
    let mut x = cell;
    if comptime!(d == 2) {
        x = (x | (x << 16u64)) & 0x0000_ffff_0000_ffffu64;
        x = (x | (x << 8u64)) & 0x00ff_00ff_00ff_00ffu64;
        x = (x | (x << 4u64)) & 0x0f0f_0f0f_0f0f_0f0fu64;
        x = (x | (x << 2u64)) & 0x3333_3333_3333_3333u64;
        x = (x | (x << 1u64)) & 0x5555_5555_5555_5555u64;
    } else if comptime!(d == 3) {
        x = (x | (x << 32u64)) & 0x001f_0000_0000_ffffu64;
        x = (x | (x << 16u64)) & 0x001f_0000_ff00_00ffu64;
        x = (x | (x << 8u64)) & 0x100f_00f0_0f00_f00fu64;
        x = (x | (x << 4u64)) & 0x10c3_0c30_c30c_30c3u64;
        x = (x | (x << 2u64)) & 0x1249_2492_4924_9249u64;
    } else if comptime!(d > 3) {
        // Groups of up to 8 bits, since a cell number has at most 15; then groups of 4, of 2, and single bits.
        x = (x | (x << comptime!(group_shift(8, d)))) & comptime!(group_mask(8, d));
        x = (x | (x << comptime!(group_shift(4, d)))) & comptime!(group_mask(4, d));
        x = (x | (x << comptime!(group_shift(2, d)))) & comptime!(group_mask(2, d));
        x = (x | (x << comptime!(group_shift(1, d)))) & comptime!(group_mask(1, d));
    }
    x
}

/// The shift of the upper half of `2 * bits` bits, after which it begins `bits * d` above the lower half. In more
/// than seven dimensions cell numbers have fewer than eight bits, and the shift by groups of 8 is 0.
const fn group_shift(bits: u64, d: usize) -> u64 {
    if bits < 63 / d as u64 { bits * (d as u64 - 1) } else { 0 }
}

/// The positions of a cell's bits in groups of `bits`, each of which begins `bits * d` above the previous one.
const fn group_mask(bits: u64, d: usize) -> u64 {
    let (mut mask, mut bit) = (0, 0);
    while bit < 63 / d as u64 {
        mask |= 1 << (bit / bits * bits * d as u64 + bit % bits);
        bit += 1;
    }
    mask
}

/// Returns the code of a point, equal to the CPU's. In more than three dimensions the CPU's code has fewer bits than
/// [`CODE`]. It is then shifted up, with zeros below, so that its leading bits are where the sort expects them.
#[cube]
fn code<F: Float>(point: &Array<F>, grid_params: &Array<F>, #[comptime] spec: GridSpec) -> u64 {
    let d = comptime!(spec.d);
    let (scale, shrink) = (grid_params[d], grid_params[d + 1]);
    let below = comptime!(if d > 3 { 63 % d } else { 0 });
    let mut code = 0u64.runtime();
    #[unroll]
    for k in 0..d {
        // Multiplication by 1 or 0.5 is exact, so a fused multiplication gives the same result.
        let cell = (point[k] * shrink - grid_params[k]) * scale;
        if comptime!(d == 1) {
            // 2^63.
            code = 0x7fff_ffff_ffff_ffffu64.runtime();
            if cell < F::new(9_223_372_036_854_775_808.0) {
                code = u64::cast_from(cell);
            }
        } else {
            let last = comptime!(spec.last);
            let mut whole = last.runtime();
            if cell < F::cast_from(last) {
                whole = u32::cast_from(cell);
            }
            code |= spread(u64::cast_from(whole), d) << comptime!((d - 1 - k + below) as u64);
        }
    }
    code
}

#[cube(launch_unchecked)]
fn code_points<F: Float>(
    points: &Array<F>,
    grid_params: &Array<F>,
    codes: &mut Array<u64>,
    flags: &mut Array<u32>,
    n: u32,
    #[comptime] spec: GridSpec,
) {
    let d = comptime!(spec.d);
    let i = ABSOLUTE_POS;
    if i < Flag::ALL {
        flags[i] = 0;
    }
    if (i as u32) < n {
        let mut point = Array::<F>::new(d);
        #[unroll]
        for k in 0..d {
            point[k] = points[i * d + k];
        }
        codes[i] = code::<F>(&point, grid_params, spec);
    }
}

#[cube(launch_unchecked)]
fn arrange_points<F: Float>(
    points: &Array<F>,
    grid_params: &Array<F>,
    order: &Array<u32>,
    codes: &mut Array<u64>,
    indices: &mut Array<u32>,
    axes: &mut Array<F>,
    flags: &mut Array<u32>,
    n: u32,
    #[comptime] spec: GridSpec,
    #[comptime] trailing_bits: u32,
) {
    let d = comptime!(spec.d);
    let tile = CUBE_POS as u32;
    if tile <= (n - 1) / TILE {
        // The codes of the tile, and `REACH` codes on each side.
        let mut tile_codes = SharedMemory::<u64>::new(comptime!((TILE + 2 * REACH) as usize));
        let first = tile * TILE;
        let len = n - first;
        let mut own_indices = Array::<u32>::new(comptime!(ITEMS as usize));
        let mut own_points = Array::<F>::new(comptime!(ITEMS as usize * d));
        let mut own_codes = Array::<u64>::new(comptime!(ITEMS as usize));
        let mut point = Array::<F>::new(d);
        #[unroll]
        for k in 0..ITEMS {
            let at = k * THREADS_PER_BLOCK + UNIT_POS;
            if at < len {
                own_indices[k as usize] = order[(first + at) as usize];
            }
        }
        #[unroll]
        for k in 0..ITEMS {
            let at = k * THREADS_PER_BLOCK + UNIT_POS;
            if at < len {
                #[unroll]
                for axis in 0..d {
                    let x = points[own_indices[k as usize] as usize * d + axis];
                    own_points[comptime!(k as usize * d + axis)] = x;
                }
            }
        }
        #[unroll]
        for k in 0..ITEMS {
            #[unroll]
            for axis in 0..d {
                point[axis] = own_points[comptime!(k as usize * d + axis)];
            }
            own_codes[k as usize] = code::<F>(&point, grid_params, spec);
        }
        if comptime!(trailing_bits > 0) {
            #[unroll]
            for k in 0..ITEMS {
                tile_codes[(REACH + k * THREADS_PER_BLOCK + UNIT_POS) as usize] = own_codes[k as usize];
            }
            if UNIT_POS < 2 * REACH {
                // The index in shared memory, and whether there is such a position.
                let mut at = UNIT_POS + TILE;
                let mut is_there = UNIT_POS + TILE < len + REACH;
                if UNIT_POS < REACH {
                    at -= TILE;
                    is_there = first > 0;
                }
                if is_there {
                    let index = order[(first + at - REACH) as usize] as usize;
                    #[unroll]
                    for axis in 0..d {
                        point[axis] = points[index * d + axis];
                    }
                    tile_codes[at as usize] = code::<F>(&point, grid_params, spec);
                }
            }
            sync_cube();
        }
        #[unroll]
        for k in 0..ITEMS {
            let at = k * THREADS_PER_BLOCK + UNIT_POS;
            if at < len {
                let mut to = first + at;
                if comptime!(trailing_bits > 0) {
                    let own = own_codes[k as usize];
                    let here = REACH + at;
                    let mut back = 0u32.runtime();
                    let mut goes_on = to > 0;
                    while goes_on {
                        back += 1;
                        let other = tile_codes[(here - back) as usize];
                        goes_on = (other ^ own) >> comptime!(u64::from(trailing_bits)) == 0;
                        if goes_on {
                            if other > own {
                                to -= 1;
                            }
                            if back == REACH {
                                flags[Flag::PREFIX_TIES] = 1;
                            }
                            goes_on = back < REACH && first + at > back;
                        }
                    }
                    let mut ahead = 0u32.runtime();
                    goes_on = at + 1 < len;
                    while goes_on {
                        ahead += 1;
                        let other = tile_codes[(here + ahead) as usize];
                        goes_on = (other ^ own) >> comptime!(u64::from(trailing_bits)) == 0;
                        if goes_on {
                            if other < own {
                                to += 1;
                            }
                            if ahead == REACH {
                                flags[Flag::PREFIX_TIES] = 1;
                            }
                            goes_on = ahead < REACH && at + 1 + ahead < len;
                        }
                    }
                    indices[to as usize] = own_indices[k as usize];
                }
                codes[to as usize] = own_codes[k as usize];
                #[unroll]
                for axis in 0..d {
                    axes[axis * n as usize + to as usize] = own_points[comptime!(k as usize * d + axis)];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::geometry::Aabb;
    use crate::gpu::Device;
    use crate::gpu::device::on;
    use crate::gpu::primitives::radix_sort::{order, sort};

    fn compare<S: Scalar + Float + CubeElement, const D: usize>() -> Result<()> {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 40
        };
        let mut points: Vec<[S; D]> =
            (0..200).map(|_| std::array::from_fn(|_| S::from_f64(random() as f64 * 0.01 - 3e4))).collect();
        // Points just before the last cell, which must not be assigned to it.
        let bounds = points.iter().fold(Aabb::EMPTY, |bounds, &point| bounds.union(&Aabb::point(point)));
        let before: f64 = bounds.hi[0].into();
        points.extend([1e-9, 1e-7, 1e-5].map(|step| [S::from_f64(before - (step * before).abs()); D]));
        let grid = Grid::over(&bounds);
        let mut expected = vec![0; points.len()];
        grid.codes(points.iter().copied(), &mut expected);
        on!(Device::first()?, client => {
            let values = Buffer::from_slice(client, points.as_flattened());
            let mut found = MortonKernel::new(client, &values, points.len(), &grid).codes().read(client)?;
            if D > 3 {
                found.iter_mut().for_each(|code| *code >>= CODE - Grid::<S, D>::BITS);
            }
            assert!(found == expected, "{D} dimensions");
            Ok(())
        })
    }

    #[test]
    fn codes_of_all_dimensions() -> Result<()> {
        compare::<f32, 1>()?;
        compare::<f64, 1>()?;
        compare::<f32, 2>()?;
        compare::<f64, 2>()?;
        compare::<f32, 3>()?;
        compare::<f32, 4>()?;
        compare::<f32, 5>()?;
        compare::<f32, 6>()?;
        compare::<f64, 7>()?;
        compare::<f32, 8>()?;
        compare::<f32, 9>()?;
        compare::<f64, 10>()
    }

    /// Near the last cell, several 31-bit cell numbers are equal in `f32`; the device clamps as the CPU does.
    #[test]
    fn the_last_cell() -> Result<()> {
        let points = [[1.0f32, 0.0], [1.0 - f32::EPSILON / 2.0, 0.0], [0.0, 0.0]];
        let ours = crate::gpu::Bvh::build(&points, Device::first()?)?.read()?;
        assert_eq!(ours.order(), crate::Bvh::build(&points)?.order());
        Ok(())
    }

    /// Some of these points tie in their leading bits, for the numbers of bits used with up to 2^28 points and with
    /// more.
    #[test]
    fn ties_are_put_right() -> Result<()> {
        let mix = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
        let points: Vec<[f64; 3]> =
            (0..6000).map(|i| std::array::from_fn(|k| mix(3 * (i / 9) + k as u32) + mix(i) * 1e-5)).collect();
        let grid = Grid::over(&Aabb::new([0.0; 3], [1.1; 3]));
        on!(Device::first()?, client => {
            let values = Buffer::from_slice(client, points.as_flattened());
            let morton = MortonKernel::new(client, &values, points.len(), &grid);
            let expected = morton.layout(&sort(client, morton.pairs())?.values, CODE);
            for leading_bits in [45, 43, 41] {
                let found = morton.layout(&order(client, morton.codes(), leading_bits), leading_bits);
                assert_eq!(morton.flags.read(client)?[Flag::PREFIX_TIES], 0);
                assert_eq!(found.codes.read(client)?, expected.codes.read(client)?, "{leading_bits} bits");
                assert_eq!(found.order.read(client)?, expected.order.read(client)?, "{leading_bits} bits");
                assert_eq!(found.axes.read(client)?, expected.axes.read(client)?, "{leading_bits} bits");
            }
            let codes = expected.codes.read(client)?;
            assert!([45, 41].iter().all(|leading_bits| codes.windows(2).any(|pair| (pair[0] ^ pair[1]) >> (CODE - leading_bits) == 0 && pair[0] != pair[1])));
            Ok(())
        })
    }
}
