//! Named columns with units and descriptions, and text formats for them.
//!
//! In: named values, the [`Quantity`](ropewalk::units::Quantity) that they measure, and a description. Out:
//! [`Column`]s, optionally converted to other units, and tables in CSV and enhanced CSV.

mod column;
mod csv;
mod ecsv;
mod in_units;

pub use column::{Column, Values};
pub use csv::{csv_name, write_csv};
pub use ecsv::{Meta, write_ecsv};
pub use in_units::meta_in_units;

#[doc(hidden)]
pub use csv::rows_of;
#[doc(hidden)]
pub use ecsv::{HeaderEntry, header as ecsv_header, write_header};
