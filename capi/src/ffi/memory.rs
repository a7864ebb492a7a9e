//! Particles and points in the memory of a program, as a snapshot and as tables.
//!
//! In: pointers, strides and types. Out: tables. They share positions that are contiguous and aligned; all other
//! values are copied.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use rayon::prelude::*;
use ropewalk::{Error, ErrorKind, Result, Scalar};
use ropewalk_io::{Masses, Points, Snapshot, Table};

use crate::find::invalid;
use crate::types::{self, Numbers, Particles, PointArray, Vectors};

/// Returns a snapshot of the positions only.
///
/// # Safety
/// Each pointer in `particles` that is not null leads to the values that `ropewalk.h` describes. These are one or
/// three values of the given type for each of `count` particles, `stride` bytes apart. Nothing writes to them until
/// the snapshot is dropped.
pub unsafe fn positions(particles: &Particles) -> Result<Snapshot> {
    // SAFETY: the contract of this function covers the positions.
    let points = unsafe { vectors("positions", &particles.positions, particles.count) }?;
    Ok(Snapshot::new(points))
}

/// Returns a snapshot of all columns of the particles.
///
/// # Safety
/// As [`positions`].
pub unsafe fn snapshot(particles: &Particles) -> Result<Snapshot> {
    let Particles { count, velocities, masses, mass, ids, .. } = particles;
    // SAFETY: the contract of this function is that of `positions`.
    let mut snapshot = unsafe { positions(particles) }?;
    if !velocities.x.is_null() {
        // SAFETY: the contract of this function covers the velocities.
        snapshot.velocities = Some(unsafe { vectors("velocities", velocities, *count) }?);
    }
    snapshot.masses = if masses.data.is_null() {
        Masses::Equal(if *mass == 0.0 { 1.0 } else { *mass })
    } else {
        // SAFETY: the contract of this function covers the masses, whose type is `kind`.
        Masses::Each(match masses.kind {
            types::F32 => unsafe { numbers::<f32, f64>("masses", masses, *count) }?,
            types::F64 => unsafe { numbers::<f64, f64>("masses", masses, *count) }?,
            kind => return Err(unknown("masses", kind, "ROPEWALK_F32 or ROPEWALK_F64")),
        })
    };
    if !ids.data.is_null() {
        // SAFETY: the contract of this function covers the ids, whose type is `kind`.
        snapshot.ids = Some(match ids.kind {
            types::U32 => unsafe { numbers::<u32, u64>("ids", ids, *count) }?,
            types::U64 => unsafe { numbers::<u64, u64>("ids", ids, *count) }?,
            kind => return Err(unknown("ids", kind, "ROPEWALK_U32 or ROPEWALK_U64")),
        });
    }
    Ok(snapshot)
}

/// Returns a snapshot of the positions and masses only.
///
/// # Safety
/// As [`positions`].
pub unsafe fn positions_and_masses(particles: &Particles) -> Result<Snapshot> {
    let none = Vectors { x: ptr::null(), y: ptr::null(), z: ptr::null(), stride: 0, kind: 0 };
    let ids = Numbers { data: ptr::null(), stride: 0, kind: 0 };
    // SAFETY: the contract of this function is that of `positions`.
    unsafe { snapshot(&Particles { velocities: none, ids, ..*particles }) }
}

/// Returns points of 1 to 10 coordinates. They share coordinates that are contiguous and aligned, and copy others.
///
/// # Safety
/// `points.data` is null, or leads to `count` groups of `dim` contiguous values of the given type, `stride` bytes
/// apart. Nothing writes to them until the points are dropped.
pub unsafe fn points(what: &str, points: &PointArray) -> Result<Points> {
    // SAFETY: the contract of this function covers the values, whose type is `kind`.
    match points.kind {
        types::F32 => Ok(Points::F32(unsafe { rows(what, points) }?)),
        types::F64 => Ok(Points::F64(unsafe { rows(what, points) }?)),
        kind => Err(unknown(what, kind, "ROPEWALK_F32 or ROPEWALK_F64")),
    }
}

/// # Safety
/// As [`points`].
unsafe fn rows<S: Scalar>(what: &str, points: &PointArray) -> Result<Table<S>> {
    let PointArray { data, count, dim, stride, .. } = *points;
    if !(1..=10).contains(&dim) {
        return Err(invalid(format!("{what}.dim is {dim}; it must be 1 to 10")));
    }
    let dim = dim as usize;
    if count == 0 {
        return Table::new(dim, vec![]);
    }
    if data.is_null() {
        return Err(invalid(format!("{what}.data is NULL for {count} points")));
    }
    let width = size_of::<S>();
    let (count, stride) = layout(what, count, stride, dim * width)?;
    if stride == dim * width && data.cast::<S>().is_aligned() {
        return Table::shared(dim, Arc::new(Shared::<S> { start: data.cast(), len: dim * count }));
    }
    let start = Place(data.cast());
    // SAFETY: `i < dim * count`. By the contract there are `count` groups of `dim` contiguous values of type `S`,
    // `stride` bytes apart. `layout` has checked that `stride >= dim * width` and that `count * stride <= isize::MAX`.
    let values = collect(dim * count, |i| unsafe { start.at::<S>(i / dim * stride + i % dim * width) })?;
    Table::new(dim, values)
}

/// Returns `count` values of type `T`.
///
/// # Safety
/// `start` is null, or leads to `count` values of type `T` that nothing writes to during `'a`.
pub unsafe fn slice<'a, T>(what: &str, start: *const T, count: u64) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(invalid(format!("{what} is NULL for {count} entries")));
    }
    if !start.is_aligned() {
        return Err(invalid(format!("{what} is not aligned to {} bytes", align_of::<T>())));
    }
    let (count, _) = layout(what, count, 0, size_of::<T>())?;
    // SAFETY: by the contract there are `count` values at `start`, which has just been checked to be aligned and not
    // null. `layout` has checked that their size is at most `isize::MAX`.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}

/// Writes `values` to the memory at `start`.
///
/// # Safety
/// `start` is null, or leads to writable memory for as many values of type `T`, which may be uninitialized and is not
/// that of `values`.
pub unsafe fn write<T: Copy>(what: &str, start: *mut T, values: &[T]) -> Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    if start.is_null() {
        return Err(invalid(format!("{what} is NULL for {} entries", values.len())));
    }
    // SAFETY: the contract of this function. Bytes are copied, so that `start` does not need alignment.
    unsafe { start.cast::<u8>().copy_from_nonoverlapping(values.as_ptr().cast(), size_of_val(values)) };
    Ok(())
}

fn unknown(what: &str, kind: u32, known: &str) -> Error {
    invalid(format!("{what}.type is {kind}; it must be {known}"))
}

/// The start of memory that values are read from.
#[derive(Clone, Copy)]
struct Place(*const u8);

// SAFETY: memory is only read, and the contracts of `numbers`, `table` and `rows` exclude writes meanwhile. Reads are
// valid on any thread.
unsafe impl Send for Place {}
// SAFETY: as for `Send`, since `Place` only reads.
unsafe impl Sync for Place {}

impl Place {
    /// Reads the value at an offset of `bytes`.
    ///
    /// # Safety
    /// The `size_of::<T>()` bytes at this offset are readable, and any bytes are a valid `T`.
    unsafe fn at<T: Copy>(self, bytes: usize) -> T {
        // SAFETY: the contract of this function. `read_unaligned` does not need alignment.
        unsafe { self.0.add(bytes).cast::<T>().read_unaligned() }
    }
}

/// Returns the number of particles and the stride in bytes, for `width` bytes per particle. Refuses a stride below
/// `width`, and a count that exceeds the address space.
fn layout(what: &str, count: u64, stride: u64, width: usize) -> Result<(usize, usize)> {
    let stride = if stride == 0 { width as u64 } else { stride };
    if stride < width as u64 {
        return Err(invalid(format!("{what}.stride is {stride}; it must be 0 or at least {width}")));
    }
    let bytes = count.checked_mul(stride).filter(|&bytes| isize::try_from(bytes).is_ok());
    match (bytes, usize::try_from(count), usize::try_from(stride)) {
        (Some(_), Ok(count), Ok(stride)) => Ok((count, stride)),
        _ => Err(invalid(format!("count is {count}: {what} exceed the address space"))),
    }
}

/// Collects `count` values, computed in parallel. Running out of memory is an error.
fn collect<T: Copy + Send>(count: usize, value: impl Fn(usize) -> T + Sync + Send) -> Result<Vec<T>> {
    let mut all = vec![];
    let memory = |_| Error::new(ErrorKind::Memory, format!("cannot allocate a copy of {count} particles"));
    all.try_reserve_exact(count).map_err(memory)?;
    all.par_extend((0..count).into_par_iter().map(value));
    Ok(all)
}

/// # Safety
/// As [`positions`].
unsafe fn numbers<T: Copy + Send + Into<U>, U: Copy + Send>(
    what: &str,
    numbers: &Numbers,
    count: u64,
) -> Result<Vec<U>> {
    let (count, stride) = layout(what, count, numbers.stride, size_of::<T>())?;
    let start = Place(numbers.data.cast());
    // SAFETY: `i < count`. By the contract there are `count` values of type `T`, `stride` bytes apart, and `T` is an
    // integer or a float. `layout` has checked that `stride >= size_of::<T>()` and that
    // `count * stride <= isize::MAX`.
    collect(count, |i| unsafe { start.at::<T>(i * stride) }.into())
}

/// # Safety
/// As [`positions`].
unsafe fn vectors(what: &str, vectors: &Vectors, count: u64) -> Result<Points> {
    // SAFETY: the contract of this function covers the vectors, whose type is `kind`.
    match vectors.kind {
        types::F32 => Ok(Points::F32(unsafe { table(what, vectors, count) }?)),
        types::F64 => Ok(Points::F64(unsafe { table(what, vectors, count) }?)),
        kind => Err(unknown(what, kind, "ROPEWALK_F32 or ROPEWALK_F64")),
    }
}

/// # Safety
/// As [`positions`].
unsafe fn table<S: Scalar>(what: &str, vectors: &Vectors, count: u64) -> Result<Table<S>> {
    let Vectors { x, y, z, stride, .. } = *vectors;
    if count == 0 {
        return Table::new(3, vec![]);
    }
    let is_null = [x, y, z].map(<*const c_void>::is_null);
    if is_null[0] || is_null[1] != is_null[2] {
        let names: Vec<&str> = ["x", "y", "z"].into_iter().zip(is_null).filter_map(|(k, is)| is.then_some(k)).collect();
        let names = names.join(" and ");
        return Err(invalid(format!(
            "{what}: {names} NULL for {count} particles; x must not be NULL, and y and z must both be NULL or both be set"
        )));
    }
    let width = size_of::<S>();
    if is_null[1] {
        let (count, stride) = layout(what, count, stride, 3 * width)?;
        if stride == 3 * width && x.cast::<S>().is_aligned() {
            return Table::shared(3, Arc::new(Shared::<S> { start: x.cast(), len: 3 * count }));
        }
        let start = Place(x.cast());
        // SAFETY: `i < count` and `k < 3`. By the contract `x` leads to `count` groups of three contiguous values of
        // type `S`, `stride` bytes apart. `layout` has checked that `stride >= 3 * width` and that
        // `count * stride <= isize::MAX`.
        let rows = collect(count, |i| [0, 1, 2].map(|k| unsafe { start.at::<S>(i * stride + k * width) }))?;
        return Table::new(3, rows.into_flattened());
    }
    let (count, stride) = layout(what, count, stride, width)?;
    let starts = [x, y, z].map(|start| Place(start.cast()));
    // SAFETY: `i < count`. By the contract `x`, `y` and `z` lead to `count` values of type `S` each, `stride` bytes
    // apart. `layout` has checked that `stride >= width` and that `count * stride <= isize::MAX`.
    let rows = collect(count, |i| starts.map(|start| unsafe { start.at::<S>(i * stride) }))?;
    Table::new(3, rows.into_flattened())
}

/// Values in the memory of a program, shared without a copy.
struct Shared<S> {
    start: *const S,
    len: usize,
}

// SAFETY: the values are only read, and the contracts of `table` and `rows` exclude writes meanwhile. Reads are valid
// on any thread.
unsafe impl<S: Scalar> Send for Shared<S> {}
// SAFETY: as for `Send`, since `Shared` only reads.
unsafe impl<S: Scalar> Sync for Shared<S> {}

impl<S> AsRef<[S]> for Shared<S> {
    fn as_ref(&self) -> &[S] {
        // SAFETY: by the contracts of `table` and `rows` there are `len` values at `start`. `table` and `rows` have
        // checked that `start` is aligned, and `layout` that their size is at most `isize::MAX`. The snapshot or points
        // with this table are dropped before the call returns, and the contracts exclude writes until then.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}
