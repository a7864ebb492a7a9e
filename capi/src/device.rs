//! Points, trees and results in the memory of an NVIDIA GPU.
//!
//! In: the address of coordinates, which are copied within the device. Out: memory with an address, which stays allocated
//! until its owner is dropped.

use ropewalk::gpu::{self, CudaMemory, Device, DeviceVec, on_one_stream};
use ropewalk::{Nearest, Result};
use ropewalk_table::{Coordinates, DeviceBvh, DevicePoints, on_device};

use crate::find::{invalid, saturating_usize};
use crate::types::{self, PointArray};

/// A tree on a device. For C this is an opaque type.
pub struct Tree(DeviceBvh);

/// A list of points for each point of a tree. For C this is an opaque type.
pub struct Lists {
    count: usize,
    total: usize,
    offsets: Option<CudaMemory>,
    indices: CudaMemory,
    distances: Option<CudaMemory>,
}

/// The clusters of points. For C this is an opaque type.
pub struct Labels {
    labels: CudaMemory,
    count: usize,
    clusters: usize,
}

/// Copies points within the device of their address. `sides` are those of the periodic box.
fn points_of(points: &PointArray, sides: Option<Vec<f64>>) -> Result<DevicePoints> {
    let PointArray { data, count, stride, dim, kind } = *points;
    if !(1..=10).contains(&dim) {
        return Err(invalid(format!("points.dim is {dim}; it must be 1 to 10")));
    }
    let width = match kind {
        types::F32 => 4,
        types::F64 => 8,
        _ => return Err(invalid(format!("points.type is {kind}; it must be ROPEWALK_F32 or ROPEWALK_F64"))),
    };
    let packed = u64::from(dim) * width;
    if stride != 0 && stride != packed {
        return Err(invalid(format!("points.stride is {stride}; on a device it must be 0 or {packed}, without gaps")));
    }
    let dim = dim as usize;
    let len = saturating_usize(count).checked_mul(dim);
    let len = len.ok_or_else(|| invalid(format!("points.count is {count}, which is too large")))?;
    if len > 0 && data.is_null() {
        return Err(invalid(format!("points.data is NULL for {count} points")));
    }
    let address = data as u64;
    let device = if len == 0 { Device::cuda(0)? } else { Device::from_cuda_address(address)? };
    let coordinates = match kind {
        types::F32 => Coordinates::F32(DeviceVec::from_cuda(address, len, device)?),
        _ => Coordinates::F64(DeviceVec::from_cuda(address, len, device)?),
    };
    if let Some(sides) = &sides {
        coordinates.check_sides(dim, sides)?;
    }
    DevicePoints::from_device(&coordinates, dim, sides)
}

fn checked(radius: f64) -> Result<f64> {
    match (0.0..f64::INFINITY).contains(&radius) {
        true => Ok(radius),
        false => Err(invalid(format!("radius is {radius}; it must be finite and not negative"))),
    }
}

impl Tree {
    pub fn build(points: &PointArray, sides: Option<Vec<f64>>) -> Result<Self> {
        on_one_stream(|| points_of(points, sides)?.tree().map(Self))
    }

    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    pub fn count_pairs(&self, radius: f64) -> Result<u64> {
        let radius = checked(radius)?;
        on_one_stream(|| on_device!(DeviceBvh, &self.0, bvh => bvh.count_pairs(radius)))
    }

    pub fn neighbors(&self, radius: f64) -> Result<Lists> {
        let radius = checked(radius)?;
        on_one_stream(|| {
            let lists = on_device!(DeviceBvh, &self.0, bvh => bvh.neighbors(radius))?;
            Ok(Lists {
                count: self.0.len(),
                total: lists.n_values(),
                offsets: Some(lists.offsets().to_cuda()?),
                indices: lists.values().to_cuda()?,
                distances: None,
            })
        })
    }

    /// The `k` nearest other points of each point.
    pub fn nearest(&self, k: u64) -> Result<Lists> {
        let n = self.0.len();
        let others = n.saturating_sub(1);
        let wanted = saturating_usize(k);
        if wanted == 0 || wanted > others {
            return Err(invalid(format!("k is {k}; it must be 1 to {others}, the number of other points")));
        }
        on_one_stream(|| {
            let found = on_device!(DeviceBvh, &self.0, bvh => {
                bvh.nearest_neighbors(Nearest::new(wanted).excluding_self())
            })?;
            Ok(Lists {
                count: n,
                total: n * wanted,
                offsets: None,
                indices: found.indices().to_cuda()?,
                distances: Some(found.distances()?.to_cuda()?),
            })
        })
    }
}

fn address<T>(memory: Option<&CudaMemory>) -> *const T {
    memory.map_or(0, CudaMemory::address) as *const T
}

impl Lists {
    pub fn count(&self) -> u64 {
        self.count as u64
    }

    pub fn total(&self) -> u64 {
        self.total as u64
    }

    pub fn offsets(&self) -> *const u32 {
        address(self.offsets.as_ref())
    }

    pub fn indices(&self) -> *const u32 {
        address(Some(&self.indices))
    }

    pub fn distances(&self) -> *const f64 {
        address(self.distances.as_ref())
    }
}

impl Labels {
    /// Finds the clusters of DBSCAN.
    pub fn dbscan(points: &PointArray, sides: Option<Vec<f64>>, eps: f64, min_samples: u64) -> Result<Self> {
        let finder = gpu::Dbscan::new(eps, saturating_usize(min_samples));
        on_one_stream(|| {
            let tree = points_of(points, sides)?.tree()?;
            let found = on_device!(DeviceBvh, &tree, bvh => finder.run_on(bvh))?;
            let labels = found.column()?.to_cuda()?;
            Ok(Self { labels, count: tree.len(), clusters: found.n_clusters() })
        })
    }

    pub fn count(&self) -> u64 {
        self.count as u64
    }

    pub fn clusters(&self) -> u64 {
        self.clusters as u64
    }

    pub fn labels(&self) -> *const i32 {
        address(Some(&self.labels))
    }
}
