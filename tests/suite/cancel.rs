//! Cancelled calls return an error at once, leave no state behind, and give the right result when repeated.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use common::random::Random;
use ropewalk::cluster::DbscanAlgorithm;
use ropewalk::geometry::BoxSize;
use ropewalk::phases::timed;
use ropewalk::sample::MockHalos;
use ropewalk::{
    AdaptaHop, Bvh, Cancel, Dbscan, ErrorKind, Fof, Hdbscan, Hop, Nearest, Result, dbscan, minimum_spanning_tree,
};
use ropewalk_io::{Points, Snapshot, Table};
use ropewalk_pipeline::{CenterKind, LinkingLength, Options};
use ropewalk_table::{nearest_neighbors, pairs};

/// Fewer points without optimization.
const N: usize = if cfg!(debug_assertions) { 4_000 } else { 40_000 };
/// About one mean separation.
const SEPARATION: f64 = if cfg!(debug_assertions) { 0.06 } else { 0.03 };

fn points() -> Vec<[f32; 3]> {
    MockHalos::new(N).seed(4).points().unwrap()
}

/// Cancels `call` before its start, and at random moments until slightly after its expected end, at least until one
/// cancellation precedes the end.
fn at_random_moments<T: PartialEq + Send>(name: &str, call: impl Fn() -> Result<T> + Sync) {
    let mut random = Random::new(7);
    let start = Instant::now();
    let expected = call().unwrap();
    let whole = start.elapsed();
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(cancel.run(&call).err().map(|error| error.kind()), Some(ErrorKind::Cancelled), "{name}");
    let (mut rounds, mut cancelled) = (0, 0);
    while rounds < 12 || cancelled == 0 {
        assert!(rounds < 200, "{name}: never cancelled while it runs");
        rounds += 1;
        let wait = whole.mul_f64(1.1 * random.unit());
        let cancel = Cancel::new();
        // Cancelled from within, so that the call itself must detect it.
        let result = cancel.run(|| {
            scope(|scope| {
                scope.spawn(|| {
                    sleep(wait);
                    cancel.cancel();
                });
                call()
            })
        });
        match result {
            Ok(found) => assert!(found == expected, "{name}: another answer"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{name}: {error}");
                cancelled += 1;
            }
        }
    }
    assert!(call().unwrap() == expected, "{name}: another answer after it was cancelled");
}

#[test]
fn clusterings() {
    let points = points();
    at_random_moments("dbscan", || dbscan(&points, SEPARATION, 5));
    let fdbscan = Dbscan::new(SEPARATION, 5).algorithm(DbscanAlgorithm::Fdbscan).periodic(1.0);
    at_random_moments("fdbscan", || fdbscan.run(&points));
    at_random_moments("fof", || Fof::new(0.3 * SEPARATION).run(&points));
    at_random_moments("spanning tree", || minimum_spanning_tree(&points));
    at_random_moments("hdbscan", || Hdbscan::new(8).run(&points));
    at_random_moments("hop", || Hop::new(80.0).periodic(1.0).run(&points));
    at_random_moments("adaptahop", || AdaptaHop::new().periodic(1.0).run(&points));
}

#[test]
fn searches() {
    let points = points();
    let bvh = Bvh::build(&points).unwrap();
    at_random_moments("build", || Bvh::build(&points));
    at_random_moments("neighbors", || Ok(bvh.neighbors(SEPARATION)));
    at_random_moments("nearest", || Ok(bvh.nearest_all(&points, 8)));
    let table = Points::F32(Table::new(3, points.concat()).unwrap());
    let wanted = Nearest::new(8).excluding_self();
    at_random_moments("nearest neighbours", || nearest_neighbors(&table, wanted, BoxSize::default()));
    at_random_moments("pairs", || pairs(&table, 0.5 * SEPARATION, 1.0));
}

#[test]
fn a_pipeline() {
    let mut snapshot = Snapshot::new(Points::F32(Table::new(3, points().concat()).unwrap()));
    snapshot.box_size = Some(1.0);
    let mut options = Options::default();
    options.center = Some(CenterKind::MostBound);
    options.linking_length = LinkingLength::Length(0.2 * SEPARATION);
    at_random_moments("pipeline", || {
        let output = ropewalk_pipeline::run(&snapshot, &options)?;
        Ok((output.halos, output.catalog.columns().to_vec(), output.centers))
    });
}

fn kind<T: Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn before_the_start() {
    let cancel = Cancel::new();
    assert!(!cancel.is_cancelled());
    cancel.clone().cancel();
    assert!(cancel.is_cancelled());
    let ran = AtomicBool::new(false);
    let result = cancel.run(|| {
        ran.store(true, Relaxed);
        Ok(())
    });
    assert_eq!((kind(result), ran.into_inner()), (ErrorKind::Cancelled, false));
    let message = cancel.run(|| dbscan(&points(), 0.1, 5)).unwrap_err().to_string();
    assert_eq!(message, "the call was cancelled");
}

#[test]
fn one_within_another() {
    let points = points();
    let call = || minimum_spanning_tree(&points);
    // Cancelling the outer scope ends both.
    let (outer, inner) = (Cancel::new(), Cancel::new());
    let mut came_back = None;
    let result = outer.run(|| {
        outer.cancel();
        came_back = Some(kind(inner.run(call)));
        call()
    });
    assert_eq!((kind(result), came_back), (ErrorKind::Cancelled, Some(ErrorKind::Cancelled)));
    assert!(!inner.is_cancelled());
    // Cancelling the inner scope ends only that.
    let (outer, inner) = (Cancel::new(), Cancel::new());
    let result = outer.run(|| {
        inner.cancel();
        assert_eq!(kind(inner.run(call)), ErrorKind::Cancelled);
        call()
    });
    assert_eq!(result.unwrap(), call().unwrap());
    // Calls after the scope are not affected.
    assert!(call().is_ok());
}

/// Calls that share a pool run tasks of each other.
#[test]
fn other_calls_go_on() {
    let points = points();
    let expected = dbscan(&points, SEPARATION, 5).unwrap();
    let done = AtomicBool::new(false);
    scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(8);
            while !done.load(Relaxed) {
                let cancel = Cancel::new();
                let again = cancel.clone();
                let wait = Duration::from_micros(random.below(20_000) as u64);
                let timer = std::thread::spawn(move || {
                    sleep(wait);
                    again.cancel();
                });
                let result = cancel.run(|| dbscan(&points, SEPARATION, 5));
                match result {
                    Ok(labels) => assert!(labels == expected),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
                }
                timer.join().unwrap();
            }
        });
        for _ in 0..20 {
            let found = catch_unwind(AssertUnwindSafe(|| dbscan(&points, SEPARATION, 5)));
            done.store(found.is_err(), Relaxed);
            assert!(found.unwrap().unwrap() == expected);
        }
        done.store(true, Relaxed);
    });
}

#[test]
fn panics_and_errors_go_on() {
    let cancel = Cancel::new();
    let bvh = Bvh::build(&points()).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        cancel.run(|| {
            bvh.for_each_pair(0.01, |_, _| std::panic::resume_unwind(Box::new("its own")));
            Ok(())
        })
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"its own"));
    assert_eq!(kind(cancel.run(|| dbscan(&points(), -1.0, 5))), ErrorKind::Parameter);
    // The recording of phases continues after a cancelled call.
    let (_, steps) = timed(|| {
        let cancel = Cancel::new();
        cancel.cancel();
        assert!(cancel.run(|| Ok(())).is_err());
        Bvh::build(&[[0.0f32]]).unwrap()
    });
    assert_eq!(steps[0].0, "bounds");
}

/// A cancelled call ends in a fraction of its full time.
#[test]
fn soon() {
    let points = points();
    let bvh = Bvh::build(&points).unwrap();
    let cancel = Cancel::new();
    // Would take many seconds.
    let endless = || (0..1_000_000).map(|_| bvh.nearest_neighbors(20).len()).sum::<usize>();
    let elapsed = scope(|scope| {
        let again = cancel.clone();
        let ended = scope.spawn(move || cancel.run(|| Ok(endless())));
        sleep(Duration::from_millis(50));
        let start = Instant::now();
        again.cancel();
        assert_eq!(kind(ended.join().unwrap()), ErrorKind::Cancelled);
        start.elapsed()
    });
    assert!(elapsed < Duration::from_secs(30), "{elapsed:?}");
}
