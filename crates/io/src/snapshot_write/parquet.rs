//! Writing of snapshots as Parquet tables.
//!
//! In: a [`Snapshot`]. Out: the columns of the text formats, with units. Cost: all columns are held in memory as
//! 64-bit numbers.

use std::io::Write;
use std::path::Path;

use ropewalk::Result;
use ropewalk::halo::UniverseOptions;
use ropewalk::units::Quantity;
use ropewalk_table::columns::{Column, Values};

use crate::snapshot_write::text::{ColumnContent, columns, component, meta};
use crate::snapshot_write::types::Types;
use crate::{Masses, Snapshot, write_parquet};

pub(super) fn write(out: &mut (dyn Write + Send), path: &Path, snapshot: &Snapshot) -> Result<()> {
    let types = Types::new(snapshot, path)?;
    let universe = snapshot.universe(&UniverseOptions::default(), snapshot.box_size);
    // Velocities without a known unit are written as pure numbers.
    let velocity = if universe.has_velocity_unit { Quantity::Velocity } else { Quantity::Dimensionless };
    let rows = 0..snapshot.points.len();
    let column = |(name, part): (String, ColumnContent)| {
        let (quantity, values) = match part {
            ColumnContent::Position(axis) => {
                let values = rows.clone().map(|row| component(&snapshot.points, row, axis)).collect();
                (Quantity::Length, Values::Numbers(values))
            }
            ColumnContent::Velocity(axis) => {
                let velocities = snapshot.velocities.iter();
                let values = velocities.flat_map(|points| rows.clone().map(|row| component(points, row, axis)));
                (velocity, Values::Numbers(values.collect()))
            }
            ColumnContent::Id => (Quantity::Dimensionless, Values::Integers(snapshot.ids.clone().unwrap_or_default())),
            ColumnContent::Mass => {
                let values = match &snapshot.masses {
                    Masses::Equal(mass) => vec![*mass; rows.len()],
                    Masses::Each(masses) => masses.clone(),
                    Masses::Unknown => vec![],
                };
                (Quantity::Mass, Values::Numbers(values))
            }
            ColumnContent::Type => {
                (Quantity::Dimensionless, Values::Integers(types.each().into_iter().map(u64::from).collect()))
            }
        };
        Column::new(name, values).quantity(quantity)
    };
    let columns: Vec<Column> = columns(path, snapshot)?.into_iter().map(column).collect();
    write_parquet(out, &columns, universe.known_units(), &meta(snapshot))
}
