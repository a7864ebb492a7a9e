//! Named columns with units and descriptions, and how they are written as text.
//!
//! In: values with a name, the [`Quantity`](crate::units::Quantity) that they measure, and a description. Out: [`Column`]s, in other units
//! if asked, and tables in CSV and enhanced CSV.

mod column;
mod csv;
mod ecsv;
mod in_units;

pub use column::{Column, Values};
#[cfg(feature = "io")]
pub(crate) use csv::rows_of;
pub use csv::{csv_name, write_csv};
#[cfg(feature = "parquet")]
pub(crate) use ecsv::header as ecsv_header;
#[cfg(feature = "io")]
pub(crate) use ecsv::{Head, write_header};
pub use ecsv::{Meta, write_ecsv};
pub use in_units::meta_in_units;
