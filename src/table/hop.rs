//! HOP and its densities of a table.

use super::{Points, Table};
use crate::cluster::{Hop, KernelDensity};
use crate::error::{Kind, Result};
use crate::geometry::Scalar;
use crate::halo::Halos;

/// The halos of points, as [`Hop::run`] finds them.
///
/// Errors: as [`Hop::run`]. Other dimensions than 2 and 3 are refused, for a kernel depends on the dimension.
///
/// ```
/// use ropewalk::Hop;
/// use ropewalk::table::{self, Points, Table};
///
/// let rows = (0..30).flat_map(|i| [f32::from(i as u8 % 5), f32::from(i as u8 / 5), 0.0]);
/// let points = Points::F32(Table::new(3, rows.collect())?);
/// let halos = table::hop(&points, &Hop::new(0.5).n_density(8).n_hop(8).periodic(6.0))?;
/// assert_eq!(halos.members(0).len(), 30);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn hop(points: &Points, options: &Hop) -> Result<Halos> {
    fn run<S: Scalar>(table: &Table<S>, options: &Hop) -> Result<Halos> {
        match (table.rows::<2>(), table.rows::<3>()) {
            (Some(rows), _) => options.run(rows),
            (_, Some(rows)) => options.run(rows),
            _ => Err(Kind::HopDimension { dim: table.dim() }.into()),
        }
    }
    match points {
        Points::F32(table) => run(table, options),
        Points::F64(table) => run(table, options),
    }
}

/// The densities of points, as [`KernelDensity::run`] finds them.
///
/// Errors: as [`KernelDensity::run`].
///
/// ```
/// use ropewalk::KernelDensity;
/// use ropewalk::table::{self, Points, Table};
///
/// let points = Points::F64(Table::new(2, (0..64).flat_map(|i| [f64::from(i % 8), f64::from(i / 8)]).collect())?);
/// let density = table::density(&points, &KernelDensity::new().n_density(20).periodic(8.0))?;
/// assert!(density.iter().all(|density| (density - 1.0).abs() < 0.1));
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn density(points: &Points, options: &KernelDensity) -> Result<Vec<f64>> {
    fn run<S: Scalar>(table: &Table<S>, options: &KernelDensity) -> Result<Vec<f64>> {
        match (table.rows::<2>(), table.rows::<3>()) {
            (Some(rows), _) => options.run(rows),
            (_, Some(rows)) => options.run(rows),
            _ => Err(Kind::HopDimension { dim: table.dim() }.into()),
        }
    }
    match points {
        Points::F32(table) => run(table, options),
        Points::F64(table) => run(table, options),
    }
}
