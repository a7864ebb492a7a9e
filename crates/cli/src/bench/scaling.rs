//! `ropewalk bench --scaling`: each operation and its steps on 1, 2, 4, ... threads.
//!
//! The table also has the speed at which the same threads copy memory, measured in the same run. It bounds the speed
//! of steps whose data exceed the caches.

use std::time::Instant;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use ropewalk::Scalar;

use super::host::time;
use super::operations::{Case, Operation};
use super::row::Row;
use crate::failure::Failure;

/// The number of bytes that are copied, larger than the caches.
const COPIED: usize = 1 << 29;
/// The number of copies; the fastest counts.
const COPIES: usize = 5;

/// Pools of 1, 2, 4, ... threads, with which operations are timed one after the other.
pub struct Scaling {
    pools: Vec<(usize, ThreadPool)>,
}

impl Scaling {
    /// Starts the pools, up to `most` threads.
    pub fn new(most: usize) -> Result<Self, Failure> {
        let pool = |threads| Ok((threads, ThreadPoolBuilder::new().num_threads(threads).build()?));
        Ok(Self { pools: numbers_of_threads(most).into_iter().map(pool).collect::<Result<_, Failure>>()? })
    }

    /// The numbers of threads.
    pub fn threads(&self) -> impl Iterator<Item = usize> {
        self.pools.iter().map(|(threads, _)| *threads)
    }

    /// Times an operation with each number of threads. Fails if the result depends on that number.
    pub fn time<S: Scalar, const D: usize>(
        &self,
        operation: &Operation,
        case: &Case<'_, S, D>,
        reps: usize,
    ) -> Result<Vec<Row>, Failure> {
        let mut rows: Vec<Row> = vec![];
        for (threads, pool) in &self.pools {
            // Errors leave the pool as text, because they cannot be sent between threads.
            let row = pool.install(|| time(operation, case, reps).map_err(|error| error.to_string()))?;
            if let Some(first) = rows.first().filter(|first| first.check != row.check) {
                let (op, check) = (row.op, &row.check);
                return Err(format!(
                    "{op}: the result depends on the number of threads: {check} on {threads} threads, {} on one",
                    first.check
                )
                .into());
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// The line of names.
    pub fn head(&self) -> String {
        let numbers: String = self.threads().map(|threads| format!("{threads:>10}")).collect();
        format!("{:<18}{numbers}{:>10}\n", "seconds", "gain")
    }

    /// Measures how fast each number of threads copies memory; returns the line of the table.
    pub fn copying(&self) -> String {
        let speeds: Vec<f64> = self.pools.iter().map(|(_, pool)| pool.install(copy) / 1e9).collect();
        let gain = speeds.last().zip(speeds.first()).map_or(f64::NAN, |(last, first)| last / first);
        line("copying, GB/s", &speeds, gain)
    }
}

/// Formats the times of an operation and of its steps, with the speedup of the last number of threads over the first.
pub fn lines(rows: &[Row]) -> String {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return String::new() };
    let medians: Vec<f64> = rows.iter().map(Row::median).collect();
    let mut lines = line(first.op, &medians, first.median() / last.median());
    for (step, (name, seconds)) in first.phases.iter().enumerate() {
        let of = |row: &Row| row.phases.get(step).map_or(f64::NAN, |phase| phase.1);
        lines += &line(&format!("  {name}"), &rows.iter().map(of).collect::<Vec<_>>(), seconds / of(last));
    }
    lines
}

fn line(name: &str, values: &[f64], gain: f64) -> String {
    let values: String = values.iter().map(|value| format!("{value:>10.4}")).collect();
    format!("{name:<18}{values}{gain:>10.1}\n")
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
    fn a_line_for_an_operation_and_each_step() {
        let row = |seconds: f64| Row {
            op: "build",
            n: 10,
            seconds: vec![seconds],
            items: 10,
            first: None,
            peak_bytes: 0,
            check: String::new(),
            phases: vec![("sort", seconds / 2.0)],
        };
        let expected = "\
build                 2.0000    0.8000       2.5
  sort                1.0000    0.4000       2.5
";
        assert_eq!(lines(&[row(2.0), row(0.8)]), expected);
        assert_eq!(lines(&[]), "");
        assert_eq!(Scaling::new(2).unwrap().head(), "seconds                    1         2      gain\n");
    }
}
