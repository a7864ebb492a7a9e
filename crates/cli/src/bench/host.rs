//! Times of operations on the CPU.

use std::time::Instant;

use ropewalk::Scalar;

use super::operations::{Case, Operation};
use super::row::Row;
use super::verify;
use crate::failure::Failure;
use crate::memory::MEMORY;

/// Warms up, checks, and times an operation.
pub fn time<S: Scalar, const D: usize>(
    operation: &Operation,
    case: &Case<'_, S, D>,
    reps: usize,
) -> Result<Row, Failure> {
    let prepared = operation.prepare(case)?;
    let warm = operation.run(case, &prepared)?;
    verify::check(case, &prepared, &warm)
        .map_err(|wrong| format!("{}: the result is wrong, so it is not timed: {wrong}", operation.name()))?;
    let (check, items) = (warm.check(), warm.items(case));
    drop(warm);

    let mut seconds = Vec::with_capacity(reps);
    let (mut peak_bytes, mut phases) = (0, Vec::new());
    for _ in 0..reps.max(1) {
        MEMORY.reset_peak();
        let before = MEMORY.current();
        let start = Instant::now();
        let (outcome, steps) = ropewalk::phases::timed(|| operation.run(case, &prepared));
        seconds.push(start.elapsed().as_secs_f64());
        peak_bytes = MEMORY.peak().saturating_sub(before);
        phases = steps.into_iter().map(|(step, time)| (step, time.as_secs_f64())).collect();
        let again = outcome?.check();
        if again != check {
            return Err(format!("{}: results of two runs differ: {check}, {again}", operation.name()).into());
        }
    }
    seconds.sort_by(f64::total_cmp);
    let (op, n) = (operation.name(), case.points.len());
    Ok(Row { op, n, seconds, items, first: None, peak_bytes, check, phases })
}
