//! The structures and constants of the C headers. A test compares their sizes, offsets and values with the headers.

use std::ffi::{c_int, c_void};

/// Rises with each incompatible change of `ropewalk.h`, `ropewalk_points.h` or `ropewalk_mesh.h`.
pub const ABI_VERSION: u32 = 1;

pub const OK: c_int = 0;
pub const INVALID: c_int = 1;
pub const MEMORY: c_int = 2;
pub const COMMUNICATION: c_int = 3;
pub const BUG: c_int = 4;

pub const F32: u32 = 1;
pub const F64: u32 = 2;
pub const U32: u32 = 3;
pub const U64: u32 = 4;

pub const SUM: u32 = 0;
pub const MIN: u32 = 1;
pub const MAX: u32 = 2;

pub const NO_ROWS: u32 = 0;
pub const ROWS_OF_OWNERS: u32 = 1;
pub const ROWS_ON_RANK_0: u32 = 2;

pub const NO_CENTER: u32 = 0;
pub const MOST_BOUND: u32 = 1;
pub const MOST_CONNECTED: u32 = 2;
pub const SHRINKING_SPHERE: u32 = 3;

pub const EXCESS_OF_MASS: u32 = 0;
pub const LEAF: u32 = 1;

pub const SPHERE_FOUND: u32 = 0;
pub const SPHERE_NOT_DENSE: u32 = 1;
pub const SPHERE_BEYOND_HALF_BOX: u32 = 2;

pub const CONTINUE: c_int = 0;
pub const NEXT_CENTER: c_int = 1;

pub const NO_TRIANGLE: u32 = u32::MAX;

/// The functions for communication between ranks.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Communicator {
    pub context: *mut c_void,
    pub rank: u64,
    pub size: u64,
    pub all_to_all_v:
        Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const u64, *mut c_void, *const u64) -> c_int>,
    pub all_gather_v: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void, *const u64) -> c_int>,
    pub all_reduce: Option<unsafe extern "C" fn(*mut c_void, *mut u64, u64, u32) -> c_int>,
}

/// An array with one number for each particle.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Numbers {
    pub data: *const c_void,
    pub stride: u64,
    pub kind: u32,
}

/// Arrays of the three components of a vector for each particle.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Vectors {
    pub x: *const c_void,
    pub y: *const c_void,
    pub z: *const c_void,
    pub stride: u64,
    pub kind: u32,
}

/// The particles of a rank.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Particles {
    pub count: u64,
    pub positions: Vectors,
    pub velocities: Vectors,
    pub masses: Numbers,
    pub mass: f64,
    pub ids: Numbers,
}

/// Options of friends of friends.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FofOptions {
    pub linking_length: f64,
    pub min_members: u64,
    pub box_size: [f64; 3],
    pub rows: u32,
    pub center: u32,
    pub softening: f64,
}

/// Options of HOP.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct HopOptions {
    pub delta_outer: f64,
    pub delta_saddle: f64,
    pub delta_peak: f64,
    pub n_density: u64,
    pub n_hop: u64,
    pub n_merge: u64,
    pub min_members: u64,
    pub box_size: [f64; 3],
    pub rows: u32,
    pub center: u32,
    pub softening: f64,
}

/// Options of DBSCAN.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DbscanOptions {
    pub eps: f64,
    pub min_samples: u64,
    pub box_size: [f64; 3],
}

/// A halo: a row of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Halo {
    pub tag: u64,
    pub label: i64,
    pub count: u64,
    pub mass: f64,
    pub center_of_mass: [f64; 3],
    pub velocity: [f64; 3],
    pub velocity_dispersion: f64,
    pub rms_radius: f64,
    pub max_radius: f64,
    pub center: [f64; 3],
    pub center_id: u64,
}

/// Options of spheres about centres.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct SphereOptions {
    pub thresholds: *const f64,
    pub threshold_count: u64,
    pub box_size: [f64; 3],
}

/// A sphere about a centre within which the mean density equals a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Sphere {
    pub mass: f64,
    pub radius: f64,
    pub count: u64,
    pub status: u32,
}

/// Points of 1 to 10 coordinates.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct PointArray {
    pub data: *const c_void,
    pub count: u64,
    pub stride: u64,
    pub dim: u32,
    pub kind: u32,
}

/// Options of DBSCAN for points of any dimension.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct PointDbscanOptions {
    pub eps: f64,
    pub min_samples: u64,
    pub box_size: *const f64,
}

/// Options of HDBSCAN*.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct HdbscanOptions {
    pub min_cluster_size: u64,
    pub min_samples: u64,
    pub max_cluster_size: u64,
    pub cluster_selection_epsilon: f64,
    pub alpha: f64,
    pub cluster_selection: u32,
    pub allow_single_cluster: u32,
    pub box_size: *const f64,
}

/// A callback that gets the index of a centre and that of a point near it.
pub type Visitor = Option<unsafe extern "C" fn(*mut c_void, u64, u32) -> c_int>;

/// A ray of a mesh query.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct MeshRay {
    pub origin: [f64; 3],
    pub direction: [f64; 3],
    pub from: f64,
    pub to: f64,
}

/// A hit of a ray on a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct MeshHit {
    pub t: f64,
    pub weights: [f64; 3],
    pub triangle: u32,
}

/// A list of points for each query. For C this is an opaque type.
pub struct Lists {
    pub offsets: Vec<u64>,
    pub indices: Vec<u32>,
    pub distances: Option<Vec<f64>>,
}

/// A result. For C this is an opaque type.
#[derive(Default)]
pub struct RunResult {
    pub labels: Vec<i64>,
    pub core: Option<Vec<u8>>,
    pub probabilities: Option<Vec<f64>>,
    pub outlier_scores: Option<Vec<f64>>,
    pub density: Option<Vec<f64>>,
    pub clusters: u64,
    pub halos: u64,
    pub rows: Vec<Halo>,
}
