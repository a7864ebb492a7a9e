//! `--threads`: the number of threads of a run.

use super::failure::Failure;

/// Sets the number of threads, if one is given.
pub fn start_threads(threads: Option<u16>) -> Result<(), Failure> {
    let Some(threads) = threads.map(usize::from) else { return Ok(()) };
    // A few more threads than processors do no harm, but thousands take longer to start than most work takes.
    let most = std::thread::available_parallelism().map_or(1, usize::from).saturating_mul(4).max(256);
    if threads > most {
        return Err(format!("--threads must be at most {most} on this machine, got {threads}").into());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global().map_err(|error| format!("cannot start {threads} threads: {error}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_threads_are_refused() {
        assert!(start_threads(None).is_ok());
        let error = start_threads(Some(u16::MAX)).unwrap_err().to_string();
        assert!(error.starts_with("--threads must be at most ") && error.ends_with("got 65535"), "{error}");
    }
}
