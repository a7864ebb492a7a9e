//! The memory that is still available to the process.
//!
//! Operating systems promise more memory than they have, and kill a process that uses it. On Linux, the available
//! memory is read from the system and from the control group of the process. On other systems it is unknown, and only
//! failing allocations are detected.

use std::path::Path;

#[cfg(target_os = "linux")]
use ropewalk::Error;
use ropewalk::Result;

/// Errors: less than `bytes` of memory, which the values of the file `path` need, is available.
pub(super) fn check(path: &Path, bytes: u64) -> Result<()> {
    // Small sizes are not checked, since reading the limits costs time.
    #[cfg(target_os = "linux")]
    if bytes > 1 << 26
        && let Some(available) = available().filter(|&available| bytes > available)
    {
        let failed = format!("its values need {bytes} bytes of memory, but {available} are available");
        return Err(Error::io(path, failed, std::io::ErrorKind::OutOfMemory.into()));
    }
    _ = (path, bytes);
    Ok(())
}

/// Returns the bytes that the system and the control group leave available.
#[cfg(target_os = "linux")]
fn available() -> Option<u64> {
    let of_system = kilobytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:");
    [of_system, of_group()].into_iter().flatten().min()
}

/// Returns the bytes that the control group leaves available. Cached files can be evicted, so they are not counted as
/// used.
#[cfg(target_os = "linux")]
fn of_group() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let folder = Path::new("/sys/fs/cgroup").join(own.trim_start_matches('/'));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let (most, used) = (number("memory.max")?, number("memory.current")?);
    let files = read("memory.stat").and_then(|text| entry(&text, "inactive_file")).unwrap_or(0);
    Some(most.saturating_sub(used.saturating_sub(files)))
}

/// Returns the number after `name` in the line that begins with it.
#[cfg(target_os = "linux")]
fn entry(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(target_os = "linux")]
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    Some(entry(text, name)?.saturating_mul(1024))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_known() {
        assert!(available().unwrap() > 1 << 20);
        assert!(check(Path::new("a"), 1000).is_ok());
        let error = check(Path::new("a"), u64::MAX).unwrap_err();
        assert_eq!(error.kind(), ropewalk::ErrorKind::Memory);
        assert_eq!(kilobytes("A: 3 kB\nMemAvailable:   17 kB\n", "MemAvailable:"), Some(17 * 1024));
    }
}
