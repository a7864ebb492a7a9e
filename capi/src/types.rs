//! The structures and constants of `ropewalk.h`. A test compares their sizes, offsets and values with the header.

use std::ffi::{c_int, c_void};

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

/// A result. For C this is an opaque type.
pub struct RunResult {
    pub labels: Vec<i64>,
    pub core: Option<Vec<u8>>,
    pub clusters: u64,
    pub halos: u64,
    pub rows: Vec<Halo>,
}
