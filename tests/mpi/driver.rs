//! Starts this program with `mpirun` and several numbers of processes, and checks how it ends.

use std::process::{ExitCode, Output};
use std::time::Instant;

use common::mpirun::mpirun;

use crate::faults::FAULTS;

/// With this number of ranks all scenarios run if none is chosen; with others only quick ones, as each rank computes
/// the whole result.
const WHOLE: usize = 3;
/// The scenarios that the word `quick` chooses.
const QUICK: [&str; 4] = ["communicator", "groups", "chain", "refusals"];
/// The time limit in seconds, which ends runs that hang. Without optimizations, all scenarios take six minutes on two
/// busy processors.
const LIMIT: u32 = 1200;

/// Returns `true` if this process is one of several that `mpirun` started.
pub fn is_rank() -> bool {
    ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"].iter().any(|name| std::env::var_os(name).is_some())
}

/// The numbers of processes: 1, 2 and 3, or those of the variable `ROPEWALK_RANKS`.
fn numbers_of_ranks() -> Vec<usize> {
    let list = std::env::var("ROPEWALK_RANKS").unwrap_or_else(|_| "1,2,3".into());
    list.split(',').map(|ranks| ranks.parse().unwrap()).collect()
}

/// Runs the chosen scenarios; if none is chosen, all scenarios and the faults. The word `quick` alone chooses the quick
/// scenarios and the faults.
pub fn run(words: &[String]) -> ExitCode {
    let mut failed = 0;
    let is_quick = words == ["quick"];
    let words = if is_quick { &[] } else { words };
    for size in numbers_of_ranks() {
        let since = Instant::now();
        let quick = QUICK.map(String::from);
        let words = if words.is_empty() && (is_quick || size != WHOLE) { &quick } else { words };
        let output = start(size, LIMIT, words);
        let text = String::from_utf8_lossy(&output.stdout);
        let passed = output.status.success() && text.lines().any(|line| line.ends_with(" passed, 0 failed"));
        if passed && output.stderr.is_empty() {
            println!("{size} processes: {} ({:.1} s)", text.trim(), since.elapsed().as_secs_f64());
        } else {
            failed += 1;
            println!("{size} processes: {}", told(&output));
        }
    }
    for (name, expected) in FAULTS.iter().filter(|_| words.is_empty()) {
        let since = Instant::now();
        let output = start(4, 30, &["fault".into(), (*name).into()]);
        // `timeout` has the status 124 if it ended the program.
        let ended = !output.status.success() && output.status.code() != Some(124);
        if ended && String::from_utf8_lossy(&output.stderr).contains(expected) {
            println!("fault {name}: ok ({:.1} s)", since.elapsed().as_secs_f64());
        } else {
            failed += 1;
            println!("fault {name}: \"{expected}\" is expected, not {}", told(&output));
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn told(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}\n{out}{err}", output.status)
}

/// Starts this program again on `size` processes, for at most the given seconds.
fn start(size: usize, seconds: u32, words: &[String]) -> Output {
    let program = std::env::current_exe().expect("the program has a path");
    mpirun(size, seconds).arg(program).args(words).output().expect("`timeout` of coreutils is there")
}
