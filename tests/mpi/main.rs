//! Ranks as MPI processes: the scenarios of `common::ranks`, and ranks that fail.
//!
//! `cargo test --package ropewalk-tests --features mpi --test mpi` starts this program several times with `mpirun`.
//! Words after `--` select scenarios by name; `quick` selects those that take seconds, and the failures.
//! `mpirun -n 3 PROGRAM` runs the scenarios on 3 processes.

mod driver;
mod faults;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use common::ranks::{SCENARIOS, Scenario};
use ropewalk::distributed::{Communicator, Mpi};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if !driver::is_rank() {
        return driver::run(&words);
    }
    match words.as_slice() {
        [kind, name] if kind == "fault" => faults::run(name),
        [kind] if kind == "large" => large(),
        _ => scenarios(&words),
    }
}

/// Scenarios that take long without optimization. They run on threads in the ordinary tests, and on processes if
/// `ROPEWALK_RANKS` chooses the numbers of ranks, or a word names them.
const WIDE: [&str; 2] = ["halos::hop_catalog_of_a_snapshot", "hop::hop_halos_of_a_snapshot"];

/// Returns the scenarios whose names contain one of the words; without words, all that are not too wide.
fn chosen(words: &[String]) -> Vec<(String, Scenario)> {
    let all = SCENARIOS
        .iter()
        .flat_map(|(module, all)| all.iter().map(move |(name, run)| (format!("{module}::{name}"), *run)));
    let is_wide = std::env::var_os("ROPEWALK_RANKS").is_some();
    let is_chosen = |name: &str| match words {
        [] => is_wide || !WIDE.contains(&name),
        words => words.iter().any(|word| name.contains(word)),
    };
    all.filter(|(name, _)| is_chosen(name)).collect()
}

fn scenarios(words: &[String]) -> ExitCode {
    let mut ranks = Mpi::init().unwrap();
    // All ranks are on one host.
    assert_eq!(ranks.rank_on_host().unwrap(), ranks.rank());
    let mut passed = 0;
    // With messages of any length; then, for scenarios of pure communication, with messages so short that most data
    // are split.
    for (bytes, module) in [(usize::MAX, ""), (100, "communicator::")] {
        ranks = ranks.with_message_bytes(bytes);
        for (name, scenario) in chosen(words).into_iter().filter(|(name, _)| name.starts_with(module)) {
            // A failed rank ends all ranks, since others may be waiting for it.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| scenario(&ranks))) {
                println!(
                    "{name}, in messages of at most {bytes} bytes: rank {} of {} fails",
                    ranks.rank(),
                    ranks.size()
                );
                println!("{passed} passed, 1 failed");
                std::panic::resume_unwind(panic);
            }
            ranks.barrier().unwrap();
            passed += 1;
        }
    }
    if ranks.rank() == 0 {
        println!("{passed} passed, 0 failed");
    }
    ExitCode::SUCCESS
}

/// Sends blocks of more than 2^31 bytes from the last rank to the first, then to all: about 5 GB per rank.
fn large() -> ExitCode {
    let ranks = Mpi::init().unwrap();
    let (rank, last) = (ranks.rank(), ranks.size() - 1);
    let length = (1usize << 31) + 12_345;
    let pattern = |at: usize| (at % 251) as u8;
    let counts = |from: usize, to: usize| if from == last && to == 0 { length } else { from + to };
    let sent: Vec<usize> = (0..=last).map(|to| counts(rank, to)).collect();
    let received: Vec<usize> = (0..=last).map(|from| counts(from, rank)).collect();
    let send: Vec<u8> = sent.iter().flat_map(|&count| (0..count).map(pattern)).collect();
    let right = |bytes: &[u8], counts: &[usize]| {
        let mut bytes = bytes;
        counts
            .iter()
            .all(|&count| bytes.split_off(..count).unwrap().iter().enumerate().all(|(at, &byte)| byte == pattern(at)))
    };
    let mut receive = vec![0; received.iter().sum()];
    ranks.all_to_all_v(&send, &sent, &mut receive, &received).unwrap();
    assert!(right(&receive, &received));
    drop((send, receive));
    let counts: Vec<usize> = (0..=last).map(|from| if from == last { length } else { from }).collect();
    let own: Vec<u8> = (0..counts[rank]).map(pattern).collect();
    let mut receive = vec![0; counts.iter().sum()];
    ranks.all_gather_v(&own, &mut receive, &counts).unwrap();
    assert!(right(&receive, &counts));
    if rank == 0 {
        println!("2 passed, 0 failed");
    }
    ExitCode::SUCCESS
}
