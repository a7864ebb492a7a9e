//! A clock that other programs do not disturb.

use std::sync::LazyLock;
use std::time::Instant;

/// Returns the processor time of this thread so far, in seconds. On systems other than Linux, returns the elapsed time.
pub fn seconds() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = text.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |nanoseconds| 1e-9 * nanoseconds as f64)
}
