//! From a table whose width is known at run time to arrays whose length is known when compiling.

/// Runs `$work` with `$rows` as a slice of arrays of 32 or 64-bit floats; `None` if the points have another number of
/// coordinates than those listed. `$work` is compiled twice for each, which takes its time: list what is needed.
macro_rules! with_rows {
    ($points:expr, [$($dim:literal),+], $rows:ident => $work:expr) => {
        'done: {
            match $points {
                ropewalk::io::Points::F32(table) => {
                    $(if let Some($rows) = table.rows::<$dim>() { break 'done Some($work); })+
                }
                ropewalk::io::Points::F64(table) => {
                    $(if let Some($rows) = table.rows::<$dim>() { break 'done Some($work); })+
                }
            }
            None
        }
    };
}

pub(super) use with_rows;
