//! HOP, AdaptaHOP and kernel densities for a table.

use ropewalk::Result;
use ropewalk::cluster::{Hop, HopChains, KernelDensity};
use ropewalk::halo::{AdaptaHop, Halos, Subhalos};
use ropewalk::internals::cancel::guarded;
use ropewalk::internals::cluster::hop_dimension;

use super::Points;

/// Evaluates `$work` with `$rows` as a slice of arrays, for the dimensions that kernels support.
macro_rules! with_positions {
    ($points:expr, $rows:ident => $work:expr) => {{
        let (points, dim) = ($points, $points.dim());
        match (points, dim) {
            (Points::F32(table), 2) => table.rows::<2>().map(|$rows| $work),
            (Points::F32(table), _) => table.rows::<3>().map(|$rows| $work),
            (Points::F64(table), 2) => table.rows::<2>().map(|$rows| $work),
            (Points::F64(table), _) => table.rows::<3>().map(|$rows| $work),
        }
        .unwrap_or_else(|| Err(hop_dimension(dim)))
    }};
}

/// Finds the halos of points, as [`Hop::run`] does.
///
/// ```
/// use ropewalk::Hop;
/// use ropewalk_table::{Points, Table};
///
/// let rows = (0..30).flat_map(|i| [f32::from(i as u8 % 5), f32::from(i as u8 / 5), 0.0]);
/// let points = Points::F32(Table::new(3, rows.collect())?);
/// let halos = ropewalk_table::hop(&points, &Hop::new(0.5).n_density(8).n_hop(8).periodic(6.0))?;
/// assert_eq!(halos.members(0).len(), 30);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`Hop::run`]. Also fails for dimensions other than 2 and 3, since kernels depend on the dimension.
pub fn hop(points: &Points, options: &Hop) -> Result<Halos> {
    guarded(|| with_positions!(points, rows => options.run(rows)))
}

/// Computes the chains and densities of points, from which [`Hop::run_on_chains`] finds halos.
///
/// ```
/// use ropewalk::Hop;
/// use ropewalk_table::{Points, Table};
///
/// let rows = (0..30).flat_map(|i| [f64::from(i % 5), f64::from(i / 5)]);
/// let hop = Hop::new(0.1).n_density(8).n_hop(8);
/// let chains = ropewalk_table::hop_chains(&Points::F64(Table::new(2, rows.collect())?), &hop)?;
/// assert_eq!((chains.density().len(), hop.run_on_chains(&chains)?.len()), (30, 1));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`Hop::run`], including errors about thresholds.
pub fn hop_chains(points: &Points, options: &Hop) -> Result<HopChains> {
    guarded(|| {
        options.check()?;
        with_positions!(points, rows => options.chains(rows))
    })
}

/// Finds the halos and subhalos of points, as [`AdaptaHop::run`] does.
///
/// ```
/// use ropewalk::AdaptaHop;
/// use ropewalk_table::{Points, Table};
///
/// // Points in the plane, denser towards the middle.
/// let axis = |i: i32| f64::from((i - 10) * (i - 10).abs());
/// let points = Points::F64(Table::new(2, (0..400).flat_map(|i| [axis(i / 20), axis(i % 20)]).collect())?);
/// let found = ropewalk_table::adaptahop(&points, &AdaptaHop::new().density_threshold(1.0))?;
/// assert_eq!((found.len(), found.rows()[0].level), (1, 1));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`AdaptaHop::run`]. Also fails for dimensions other than 2 and 3, since kernels depend on the dimension.
pub fn adaptahop(points: &Points, options: &AdaptaHop) -> Result<Subhalos> {
    guarded(|| with_positions!(points, rows => options.run(rows)))
}

/// Computes the densities of points, as [`KernelDensity::run`] does.
///
/// ```
/// use ropewalk::cluster::KernelDensity;
/// use ropewalk_table::{Points, Table};
///
/// let points = Points::F64(Table::new(2, (0..64).flat_map(|i| [f64::from(i % 8), f64::from(i / 8)]).collect())?);
/// let density = ropewalk_table::density(&points, &KernelDensity::new().n_density(20).periodic(8.0))?;
/// assert!(density.iter().all(|density| (density - 1.0).abs() < 0.1));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`KernelDensity::run`].
pub fn density(points: &Points, options: &KernelDensity) -> Result<Vec<f64>> {
    guarded(|| with_positions!(points, rows => options.run(rows)))
}
