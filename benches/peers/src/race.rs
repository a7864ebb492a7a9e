//! Timing: repetitions are interleaved, so that drift of the machine affects all libraries alike.

use std::time::Instant;

use crate::answer::{Answer, agreement};
use crate::input::Input;
use crate::op::Op;
use crate::peer::{Peer, Run};
use crate::report::{Reference, Row, median, peak_bytes};

/// Before the race each peer gets a compact fraction of the points, 1 / `TRIAL`, to estimate its time.
const TRIAL: usize = 32;

pub struct Limits {
    pub reps: usize,
    /// The maximum seconds of a repetition. A peer whose estimate is higher is skipped; a peer that takes longer runs
    /// once.
    pub cap: f64,
}

struct Runner<'a> {
    peer: &'a dyn Peer,
    run: Run<'a>,
    answer: Answer,
    seconds: Vec<f64>,
    finished: bool,
}

/// Races all peers in one operation. The first that supports the operation is the reference for the others.
pub fn race(op: Op, peers: &[&dyn Peer], input: &Input, limits: &Limits) -> Vec<Row> {
    let mut rows = vec![];
    let mut runners: Vec<Runner> = vec![];
    let trial = (input.points.len() >= TRIAL << 10).then(|| input.part(TRIAL));
    for &peer in peers {
        // The reference has no trial.
        let trial = trial.as_ref().filter(|_| !runners.is_empty());
        if let Some(estimate) = trial.and_then(|part| estimate(op, peer, part)).filter(|&s| s > limits.cap) {
            let reason = format!("about {estimate:.1} s, extrapolated from 1/{TRIAL} of the points");
            rows.push(Row::skipped(op, peer, input, reason));
            continue;
        }
        let Some(mut run) = peer.prepare(op, input) else { continue };
        // Warms up, and gets the answer.
        let (seconds, answer) = time(&mut run);
        let finished = seconds > limits.cap;
        eprintln!("{} {}: {answer}", op.name(), peer.name());
        runners.push(Runner { peer, run, answer, seconds: if finished { vec![seconds] } else { vec![] }, finished });
    }
    for _ in 0..limits.reps {
        for runner in runners.iter_mut().filter(|runner| !runner.finished) {
            let (seconds, answer) = time(&mut runner.run);
            runner.seconds.push(seconds);
            if answer != runner.answer {
                // Threads may sum in another order. Any other difference is reported.
                let text = agreement(op, &runner.answer, &answer);
                if text != "yes" {
                    eprintln!("{} {}: results differ between repetitions: {text}", op.name(), runner.peer.name());
                }
            }
        }
    }
    let timed = runners.iter().filter_map(|runner| {
        let first = runners.first()?;
        let agrees = agreement(op, &first.answer, &runner.answer);
        let versus = Reference { library: first.peer.name(), median_s: median(&first.seconds) };
        Some(Row::timed(op, runner.peer, input, &runner.seconds, runner.answer, versus, agrees))
    });
    timed.chain(rows).collect()
}

/// Runs a repetition for each line on stdin and prints `{"seconds", "check", "peak_bytes"}`. For drivers in other
/// languages.
pub fn serve(op: Op, peer: &dyn Peer, input: &Input) {
    let before = peak_bytes();
    let Some(mut run) = peer.prepare(op, input) else {
        println!("{}", serde_json::json!({ "skipped": "no such operation" }));
        return;
    };
    println!("{}", serde_json::json!({ "ready": true }));
    for _ in std::io::stdin().lines().map_while(Result::ok) {
        let start = Instant::now();
        let done = run();
        let seconds = start.elapsed().as_secs_f64();
        // Read before the check, whose memory is not the library's.
        let peak = peak_bytes();
        let peak_bytes = peak.zip(before).map(|(peak, before)| peak - before);
        println!("{}", serde_json::json!({ "seconds": seconds, "check": done(), "peak_bytes": peak_bytes }));
    }
}

/// Estimates the time for all points, assuming that it is proportional to their number.
fn estimate(op: Op, peer: &dyn Peer, part: &Input) -> Option<f64> {
    let mut run = peer.prepare(op, part)?;
    // If it is fast, the shorter of two runs: the first wakes threads and allocates memory.
    let first = time(&mut run).0;
    let seconds = if first < 0.1 { first.min(time(&mut run).0) } else { first };
    Some(seconds * TRIAL as f64)
}

fn time(run: &mut Run) -> (f64, Answer) {
    let start = Instant::now();
    let done = run();
    let seconds = start.elapsed().as_secs_f64();
    (seconds, done())
}
