//! The units of pictures, reports and tables.

use std::borrow::Cow;

use ropewalk::units::{Factors, KnownUnits, Quantity, UnitSystem};
use ropewalk_pipeline::Pipeline;
use ropewalk_plot::AxisUnits;
use ropewalk_table::columns::{Column, Meta, meta_in_units};

use super::args::Halos as Args;
use super::failure::Failure;

/// Returns the factors from the units of the snapshot to those of `--units`; `None` without `--units`.
pub fn of_report(args: &Args, pipeline: &Pipeline<'_>) -> Result<Option<Factors>, Failure> {
    let factors = args.units.map(|system| pipeline.universe().factors(system)).transpose();
    factors.map_err(|error| format!("--units: {error}").into())
}

/// Returns the factors to the units of pictures: those of `--units`, or comoving Mpc/h and Msun/h. `None` if the units
/// of the snapshot are unknown, or do not convert to these.
pub fn of_pictures(args: &Args, pipeline: &Pipeline<'_>) -> Result<Option<Factors>, Failure> {
    Ok(of_report(args, pipeline)?.or_else(|| pipeline.universe().factors(UnitSystem::H).ok()))
}

/// Returns the factors to the units of mass functions: those of pictures, with comoving lengths.
pub fn of_mass_functions(args: &Args, pipeline: &Pipeline<'_>) -> Option<Factors> {
    pipeline.universe().comoving_factors(args.units.unwrap_or(UnitSystem::H)).ok()
}

/// Returns the factor for lengths or masses; 1 if units are unchanged.
pub fn factor(factors: Option<&Factors>, quantity: Quantity) -> f64 {
    factors.map_or(1.0, |factors| factors.of(quantity))
}

/// Returns the factor for masses; 1 if units are unchanged, or if particles have no masses and are counted.
pub fn mass_factor(pipeline: &Pipeline<'_>, factors: Option<&Factors>) -> f64 {
    if pipeline.counts_particles() { 1.0 } else { factor(factors, Quantity::Mass) }
}

/// Returns the units and the redshift of pictures.
pub fn axes(pipeline: &Pipeline<'_>, factors: Option<&Factors>) -> AxisUnits {
    let universe = pipeline.universe();
    let units = factors.map_or(universe.known_units(), |factors| (*factors.units()).into());
    AxisUnits::new(units, universe.redshift).times(factor(factors, Quantity::Length))
}

/// Returns the name of the unit of lengths in pictures; empty if it is unknown.
pub fn length_name<'a>(pipeline: &Pipeline<'_>, units: &'a AxisUnits) -> &'a str {
    if pipeline.universe().known_units().length.is_some() { units.length() } else { "" }
}

/// A table in the units of `--units`.
pub struct InUnits<'a> {
    pub columns: Cow<'a, [Column]>,
    pub units: KnownUnits,
    pub meta: Vec<(&'a str, Meta)>,
}

/// Converts a table and the entries of its header to the units of `--units`. Without `--units` they are unchanged.
pub fn in_units<'a>(
    args: &Args,
    pipeline: &Pipeline<'_>,
    columns: &'a [Column],
    units: KnownUnits,
    meta: &[(&'a str, Meta)],
) -> Result<InUnits<'a>, Failure> {
    Ok(converted(of_report(args, pipeline)?.as_ref(), columns, units, meta))
}

/// Converts a table as [`in_units`], but with numbers per comoving volume.
pub fn in_comoving_units<'a>(
    args: &Args,
    pipeline: &Pipeline<'_>,
    columns: &'a [Column],
    meta: &[(&'a str, Meta)],
) -> Result<InUnits<'a>, Failure> {
    let factors = args.units.map(|system| pipeline.universe().comoving_factors(system)).transpose();
    let factors = factors.map_err(|error| format!("--units: {error}"))?;
    Ok(converted(factors.as_ref(), columns, pipeline.universe().known_units(), meta))
}

fn converted<'a>(
    factors: Option<&Factors>,
    columns: &'a [Column],
    units: KnownUnits,
    meta: &[(&'a str, Meta)],
) -> InUnits<'a> {
    match factors {
        None => InUnits { columns: Cow::Borrowed(columns), units: units.completed(), meta: meta.to_vec() },
        Some(factors) => InUnits {
            columns: columns.iter().map(|column| column.in_units(factors)).collect(),
            units: (*factors.units()).into(),
            meta: meta_in_units(meta, factors),
        },
    }
}
