//! Removal of unfinished outputs when a signal ends the program.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The directories that were created for incomplete outputs, each after its parents.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Changes the list of directories that a signal removes.
pub fn with_made<T>(change: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    change(&mut MADE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Starts a thread that waits for signals. SIGINT, SIGTERM, SIGHUP and SIGXCPU remove unfinished outputs and then end
/// the process as by default. Signals that the process was started to ignore, as under `nohup`, stay ignored. SIGXFSZ
/// does nothing, so that a file that is too large is an ordinary error.
#[cfg(unix)]
pub fn watch() -> std::io::Result<()> {
    use ropewalk_io::AtomicFile;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let ignored = ignored();
    let heeded =
        [SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGXFSZ].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = Signals::new(heeded)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever().filter(|&signal| signal != SIGXFSZ) {
            AtomicFile::remove_unfinished(|| {
                // Directories that cannot be removed stay; the process ends in any case.
                with_made(|made| made.drain(..).rev().for_each(|directory| _ = std::fs::remove_dir(directory)));
                _ = emulate_default_handler(signal);
            });
        }
    })?;
    Ok(())
}

/// Returns the mask of ignored signals, with bit `s - 1` for signal `s`, from `/proc/self/status`. 0 on systems other
/// than Linux.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Other systems have no signals to wait for.
#[cfg(not(unix))]
pub fn watch() -> std::io::Result<()> {
    Ok(())
}
