//! Conversion of tables, whose width is known at run time, to slices of arrays of fixed length.
//!
//! For functions that the library does not offer for tables.

/// Runs `$work` with `$rows` as a slice of arrays of 32 or 64-bit floats. `None` if the number of coordinates is not
/// one of those listed. `$work` is compiled once for each.
macro_rules! with_rows {
    ($points:expr, f32 [$($narrow:literal),*], f64 [$($wide:literal),*], $rows:ident => $work:expr) => {
        'done: {
            match $points {
                ropewalk_io::Points::F32(table) => {
                    $(if let Some($rows) = table.rows::<$narrow>() { break 'done Some($work); })*
                }
                ropewalk_io::Points::F64(table) => {
                    $(if let Some($rows) = table.rows::<$wide>() { break 'done Some($work); })*
                }
            }
            None
        }
    };
}

pub(super) use with_rows;
