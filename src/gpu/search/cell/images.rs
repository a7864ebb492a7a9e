//! Images of points outside a cell, and the stored points near them: the GPU counterpart of `search::cell::shifts`.
//!
//! In: wrapped points, shifts, and a radius. Out: the images that may have neighbours, and the points near each.
//! A first kernel counts the images of each point, and a second one writes them. They are queries of the tree.
//! Cost: two passes over the points and shifts, a sort of the images along the Morton curve, and two walks.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Aabb, Cell};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::Bvh;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::list::ListOutputLaunch;
use crate::gpu::bvh::traverse::spec::TraversalMode;
use crate::gpu::csr::Csr;
use crate::gpu::errors;
use crate::gpu::primitives::reduce::sum;
use crate::gpu::primitives::scan::exclusive;
use crate::gpu::search::neighbors::Count;
use crate::gpu::search::query_points::QueryPoints;
use crate::search::cell::shifts::Shifts;

/// The positive shifts of a search on a device.
pub(super) struct ShiftTable {
    /// The shifts and their translations, shift by shift.
    pub shifts: Buffer<i32>,
    pub translations: Buffer<f64>,
    advances: Buffer<f64>,
    duals: Buffer<f64>,
    bounds: Buffer<f64>,
    /// The number of positive shifts, which is the code of no shift.
    pub zero: u32,
}

impl ShiftTable {
    pub fn new<R: Runtime, const D: usize>(client: &ComputeClient<R>, cell: &Cell<D>, shifts: &Shifts<D>) -> Self {
        Self {
            shifts: Buffer::from_slice(client, shifts.positive.as_flattened()),
            translations: Buffer::from_slice(client, shifts.translations.as_flattened()),
            advances: Buffer::from_slice(client, shifts.advances.as_flattened()),
            duals: Buffer::from_slice(client, cell.duals().as_flattened()),
            bounds: Buffer::from_slice(client, shifts.bounds.as_flattened()),
            zero: shifts.zero(),
        }
    }

    fn region<R: Runtime>(&self) -> RegionLaunch<R> {
        RegionLaunch::new(self.translations.arg(), self.advances.arg(), self.duals.arg(), self.bounds.arg())
    }
}

/// Images of points, and the stored points near each.
pub(super) struct ImageHits {
    /// The index of the point of each image, and the number of its shift.
    pub owners: Buffer<u32>,
    pub numbers: Buffer<u32>,
    pub lists: Csr,
}

impl ImageHits {
    /// Finds the stored points within the radius of images. `places` holds the wrapped points, point by point, in the
    /// order in which they were given.
    ///
    /// Errors: more images or hits than a device can hold; the device fails.
    pub fn find<R: Runtime, const D: usize>(
        client: &ComputeClient<R>,
        bvh: &Bvh<f64, D>,
        nodes: &Nodes<f64>,
        places: &Buffer<f64>,
        table: &ShiftTable,
        radius: f64,
    ) -> Result<Self> {
        let begins = Buffer::<u32>::filled(client, bvh.len() + 1, 0);
        let run = |images: ImagesLaunch<R>, writes: bool| {
            find_images::launch::<R>(
                client,
                blocks_for(bvh.len()),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                table.region(),
                bvh.order.arg(),
                places.arg(),
                begins.arg(),
                images,
                bvh.len() as u32,
                table.zero,
                D,
                writes,
            );
        };
        let none = Buffer::<u32>::new(client, 0);
        run(ImagesLaunch::new(none.arg(), none.arg(), Buffer::<f64>::new(client, 0).arg()), false);
        let images = sum(client, &begins)?;
        if images * D as u64 > u64::from(u32::MAX) {
            return Err(errors::too_many_values(u128::from(images) * D as u128, "coordinates of images"));
        }
        check_allocation(client, 8 * u128::from(images) * D as u128)?;
        exclusive(client, &begins);
        let images = images as usize;
        let (owners, numbers) = (Buffer::new(client, images), Buffer::new(client, images));
        let lists = if images == 0 {
            Csr::without_lists(client, bvh.device)
        } else {
            let coordinates = Buffer::new(client, images * D);
            run(ImagesLaunch::new(owners.arg(), numbers.arg(), coordinates.arg()), true);
            points_near(client, bvh, nodes, &coordinates, radius)?
        };
        Ok(Self { owners, numbers, lists })
    }
}

/// Lists the stored points within the radius of each of `coordinates`, which are stored point by point.
fn points_near<R: Runtime, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<f64, D>,
    nodes: &Nodes<f64>,
    coordinates: &Buffer<f64>,
    radius: f64,
) -> Result<Csr> {
    let n = coordinates.len() / D;
    // Images farther away have no hits, so their order does not matter.
    let bounds = Aabb { lo: bvh.bounds.lo.map(|x| x - radius), hi: bvh.bounds.hi.map(|x| x + radius) };
    let queries = QueryPoints::new(client, coordinates, &bounds)?;
    let asked = bvh.balls_about(client, &queries.axes, n, radius);
    let mode = TraversalMode::Whole;
    let listed = bvh.list_runs(client, nodes, &asked, mode);
    let offsets = Buffer::<u32>::filled(client, n + 1, 0);
    let (order, counts) = (|| queries.order.arg(), || offsets.arg());
    bvh.walk_listed::<_, Count>(client, nodes, &asked, mode, listed.as_ref(), order, counts);
    let values = Csr::allocate_values(client, &offsets)?;
    let rows = || ListOutputLaunch::new(bvh.order.arg(), queries.order.arg(), offsets.arg());
    bvh.write_lists(client, nodes, &asked, listed.as_ref(), rows, &values);
    Ok(Csr { device: bvh.device, offsets, values })
}

/// The region in which images may have neighbours, and the positive shifts.
#[derive(CubeType, CubeLaunch)]
struct Region {
    /// The sum of lattice vectors of each shift, and its fractional coordinates.
    translations: Array<f64>,
    advances: Array<f64>,
    /// The columns of the inverse of the lattice vectors.
    duals: Array<f64>,
    /// The minimum and the maximum of each fractional coordinate.
    bounds: Array<f64>,
}

/// Images in the order of the tree: the points, the numbers of their shifts, and coordinates, image by image.
#[derive(CubeType, CubeLaunch)]
struct Images {
    owners: Array<u32>,
    numbers: Array<u32>,
    coordinates: Array<f64>,
}

/// Finds the images of each point that may have neighbours. `begins` receives their numbers, or holds the position of
/// the first image of each point.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn find_images(
    region: &Region,
    order: &Array<u32>,
    places: &Array<f64>,
    begins: &mut Array<u32>,
    images: &mut Images,
    n: u32,
    n_shifts: u32,
    #[comptime] d: usize,
    #[comptime] writes: bool,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let owner = order[at];
        let first = owner as usize * d;
        let mut fractions = Array::<f64>::new(d);
        #[unroll]
        for axis in 0..d {
            let mut sum = f64::new(0.0);
            #[unroll]
            for k in 0..d {
                // Rounded in the same way by the kernel that counts and by the one that writes.
                sum = fma(region.duals[axis * d + k], places[first + k], sum);
            }
            fractions[axis] = sum;
        }
        let next = RuntimeCell::<u32>::new(0);
        if comptime!(writes) {
            next.store(begins[at]);
        }
        for number in 0..n_shifts {
            let row = number as usize * d;
            let mut beyond = 0u32.runtime();
            #[unroll]
            for axis in 0..d {
                let x = fractions[axis] + region.advances[row + axis];
                beyond += u32::cast_from(x < region.bounds[2 * axis]);
                beyond += u32::cast_from(x > region.bounds[2 * axis + 1]);
            }
            if beyond == 0 {
                let image = next.read() as usize;
                if comptime!(writes) {
                    images.owners[image] = owner;
                    images.numbers[image] = number;
                    #[unroll]
                    for k in 0..d {
                        images.coordinates[image * d + k] = places[first + k] + region.translations[row + k];
                    }
                }
                next.store(next.read() + 1);
            }
        }
        if comptime!(!writes) {
            begins[at] = next.read();
        }
    }
}
