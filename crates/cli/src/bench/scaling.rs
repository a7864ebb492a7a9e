//! `ropewalk bench --scaling`: each operation and its steps on 1, 2, 4, ... threads.
//!
//! The table also has the speed at which the same threads copy memory, measured in the same run. It bounds the speed
//! of steps whose data exceed the caches.

use std::fmt::Write;
use std::time::Instant;

use rayon::prelude::*;
use ropewalk::Scalar;

use super::host::time;
use super::operations::{Case, Operation};
use super::row::Row;
use crate::failure::Failure;

/// The number of bytes that are copied, larger than the caches.
const COPIED: usize = 1 << 29;
/// The number of copies; the fastest counts.
const COPIES: usize = 5;

/// The measurements with one number of threads.
pub struct Column {
    pub threads: usize,
    pub rows: Vec<Row>,
    /// Bytes read and written per second.
    copied: f64,
}

/// Times the operations with each number of threads up to `most`.
pub fn columns<S: Scalar, const D: usize>(
    operations: &[Operation],
    case: &Case<'_, S, D>,
    reps: usize,
    most: usize,
) -> Result<Vec<Column>, Failure> {
    let mut columns: Vec<Column> = vec![];
    for threads in numbers_of_threads(most) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let copied = pool.install(copy);
        // Errors leave the pool as text, because they cannot be sent between threads.
        let time = |operation| pool.install(|| time(operation, case, reps).map_err(|error| error.to_string()));
        let rows = operations.iter().map(time).collect::<Result<Vec<Row>, String>>()?;
        for (row, first) in rows.iter().zip(columns.first().map_or(&[][..], |first| &first.rows)) {
            if row.check != first.check {
                let (op, check) = (row.op, &row.check);
                return Err(format!(
                    "{op}: the result depends on the number of threads: {check} on {threads} threads, {} on one",
                    first.check
                )
                .into());
            }
        }
        columns.push(Column { threads, rows, copied });
    }
    Ok(columns)
}

/// Returns 1, 2, 4, and so on below `most`, and `most`.
fn numbers_of_threads(most: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(1), |&threads| Some(2 * threads));
    doubled.take_while(|&threads| threads < most).chain([most]).collect()
}

/// Measures the speed of copying, in bytes read and written per second.
fn copy() -> f64 {
    // Each thread touches its own part first, as it does when points are copied.
    let [mut from, mut to] = [(); 2].map(|()| vec![0u64; COPIED / size_of::<u64>()]);
    [&mut from, &mut to].into_iter().for_each(|all| all.par_chunks_mut(1 << 15).for_each(|part| part.fill(1)));
    let seconds = (0..COPIES).map(|_| {
        let start = Instant::now();
        let parts = to.par_chunks_mut(1 << 15).zip(from.par_chunks(1 << 15));
        parts.for_each(|(to, from)| to.copy_from_slice(from));
        start.elapsed().as_secs_f64()
    });
    2.0 * COPIED as f64 / seconds.fold(f64::INFINITY, f64::min)
}

/// Formats the columns side by side, with the speedup of the last over the first.
pub fn table(columns: &[Column]) -> String {
    let (Some(first), Some(last)) = (columns.first(), columns.last()) else { return String::new() };
    let mut table = format!("{:<18}", "seconds");
    let line = |table: &mut String, name: &str, values: Vec<f64>, gain: f64| {
        // Writing to a string does not fail.
        _ = write!(table, "{name:<18}");
        values.iter().for_each(|value| _ = write!(table, "{value:>10.4}"));
        _ = writeln!(table, "{gain:>10.1}");
    };
    for column in columns {
        _ = write!(table, "{:>10}", column.threads);
    }
    _ = writeln!(table, "{:>10}", "gain");
    for (op, row) in first.rows.iter().enumerate() {
        let medians: Vec<f64> = columns.iter().map(|column| column.rows[op].median()).collect();
        let gain = row.median() / last.rows[op].median();
        line(&mut table, row.op, medians, gain);
        for (step, (name, seconds)) in row.phases.iter().enumerate() {
            let of = |column: &Column| column.rows[op].phases.get(step).map_or(f64::NAN, |phase| phase.1);
            line(&mut table, &format!("  {name}"), columns.iter().map(of).collect(), seconds / of(last));
        }
    }
    let copied = columns.iter().map(|column| column.copied / 1e9).collect();
    line(&mut table, "copying, GB/s", copied, last.copied / first.copied);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_double_up_to_all() {
        assert_eq!(numbers_of_threads(1), [1]);
        assert_eq!(numbers_of_threads(2), [1, 2]);
        assert_eq!(numbers_of_threads(6), [1, 2, 4, 6]);
        assert_eq!(numbers_of_threads(16), [1, 2, 4, 8, 16]);
    }

    #[test]
    fn columns_side_by_side() {
        let column = |threads, seconds: f64| Column {
            threads,
            rows: vec![Row {
                op: "build",
                n: 10,
                seconds: vec![seconds],
                items: 10,
                first: None,
                peak_bytes: 0,
                check: String::new(),
                phases: vec![("sort", seconds / 2.0)],
            }],
            copied: 1e10 * threads as f64,
        };
        let expected = "\
seconds                    1         4      gain
build                 2.0000    0.8000       2.5
  sort                1.0000    0.4000       2.5
copying, GB/s        10.0000   40.0000       4.0
";
        assert_eq!(table(&[column(1, 2.0), column(4, 0.8)]), expected);
        assert_eq!(table(&[]), "");
    }
}
