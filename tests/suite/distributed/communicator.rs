//! The communicator of threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::time::Duration;

use common::ranks::SCENARIOS;
use ropewalk::distributed::{Alone, Communicator, Reduction, ThreadRank, agree, on_threads};
use ropewalk::{Error, ErrorKind, Fof, Result};

#[test]
fn scenarios_on_threads() {
    super::run("communicator", &[1, 2, 3]);
}

#[test]
#[ignore = "wide"]
fn wide_scenarios_on_threads() {
    super::run("communicator", &[4, 7, 16]);
}

#[test]
fn scenarios_alone() {
    for (_, scenario) in common::ranks::communicator::SCENARIOS {
        scenario(&Alone);
    }
}

/// A communicator that reduces numbers as signed, like some MPI libraries.
struct Signed<'a>(&'a dyn Communicator);

impl Communicator for Signed<'_> {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn all_to_all_v(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]) -> Result<()> {
        self.0.all_to_all_v(send, sent, receive, received)
    }

    fn all_gather_v(&self, own: &[u8], receive: &mut [u8], counts: &[usize]) -> Result<()> {
        self.0.all_gather_v(own, receive, counts)
    }

    fn all_reduce(&self, numbers: &mut [u64], reduction: Reduction) -> Result<()> {
        // Flipping the first bit maps the order of unsigned numbers to that of signed numbers.
        let first_bit = if reduction == Reduction::Sum { 0 } else { 1 << 63 };
        numbers.iter_mut().for_each(|number| *number ^= first_bit);
        self.0.all_reduce(numbers, reduction)?;
        numbers.iter_mut().for_each(|number| *number ^= first_bit);
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        self.0.barrier()
    }

    fn split(&self, color: usize, key: usize) -> Result<Box<dyn Communicator>> {
        self.0.split(color, key)
    }
}

#[test]
fn scenarios_where_numbers_are_compared_with_a_sign() {
    let is_quick = |module: &str, name: &str| {
        module == "communicator" || name.contains("refus") || name == "trees_of_distant_groups"
    };
    let quick = SCENARIOS.iter().flat_map(|(module, all)| all.iter().filter(|(name, _)| is_quick(module, name)));
    // One scenario compares numbers beyond 2^63, which the library itself does not need.
    for (name, scenario) in quick.filter(|(name, _)| *name != "all_reduce_reduces") {
        println!("{name}");
        on_threads(3, |ranks| {
            scenario(&Signed(ranks));
            Ok(())
        })
        .unwrap();
    }
}

fn refused() -> Error {
    Fof::new(-1.0).run(&[[0.0f32]]).unwrap_err()
}

/// The rank, the message and the kind of an error.
type RankError = (usize, String, ErrorKind);

/// Returns the result of `on_threads`, which must arrive within 30 seconds, and the error of each rank that returned
/// one.
fn ends(work: fn(&ThreadRank) -> Result<()>) -> (std::thread::Result<Result<()>>, Vec<RankError>) {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let (seen, errors) = channel();
        let all = catch_unwind(AssertUnwindSafe(|| {
            on_threads(4, |ranks| {
                work(ranks).inspect_err(|error| seen.send((ranks.rank(), error.to_string(), error.kind())).unwrap())
            })
        }));
        drop(seen);
        let mut errors: Vec<_> = errors.into_iter().collect();
        errors.sort_by_key(|error| error.0);
        send.send((all.map(|all| all.map(drop)), errors)).unwrap();
    });
    receive.recv_timeout(Duration::from_secs(30)).expect("the ranks do not end")
}

fn gone(rank: usize, of: usize) -> RankError {
    (rank, format!("rank {of} has ended before a collective call"), ErrorKind::Rank)
}

#[test]
fn a_rank_that_returns_early_ends_those_that_wait() {
    let (all, errors) = ends(|ranks| if ranks.rank() == 2 { Ok(()) } else { ranks.barrier() });
    assert_eq!(errors, [gone(0, 2), gone(1, 2), gone(3, 2)]);
    assert_eq!(all.unwrap().unwrap_err().kind(), ErrorKind::Rank);
}

#[test]
fn a_rank_that_fails_ends_those_that_wait_and_its_error_is_the_result() {
    let (all, errors) = ends(|ranks| {
        ranks.barrier()?;
        if ranks.rank() == 3 {
            return Err(refused());
        }
        // Ranks wait in different functions.
        match ranks.rank() {
            0 => ranks.all_gather_v(&[], &mut [], &[0; 4]),
            1 => ranks.split(0, 0).map(drop),
            _ => agree(ranks, Ok(())),
        }
    });
    let own = (3, refused().to_string(), ErrorKind::Parameter);
    assert_eq!(errors, [gone(0, 3), gone(1, 3), gone(2, 3), own]);
    assert_eq!(all.unwrap().unwrap_err().to_string(), refused().to_string());
}

#[test]
fn a_rank_that_panics_ends_those_that_wait_and_its_panic_goes_on() {
    let (all, errors) = ends(|ranks| {
        assert!(ranks.rank() != 1, "this rank panics");
        ranks.barrier()
    });
    assert_eq!(errors, [gone(0, 1), gone(2, 1), gone(3, 1)]);
    assert_eq!(*all.unwrap_err().downcast::<&str>().unwrap(), "this rank panics");
}

#[test]
fn ranks_that_wait_in_a_part_end_too() {
    let (all, errors) = ends(|ranks| {
        let part = ranks.split(ranks.rank() % 2, 0)?;
        if ranks.rank() == 1 {
            return Err(refused());
        }
        part.barrier()?;
        ranks.barrier()
    });
    // Rank 3 waits in a part in which rank 1 has the number 0. That part ends before rank 1 does, so rank 3 may end
    // first.
    assert_eq!(errors.len(), 4);
    assert_eq!((&errors[1], &errors[3]), (&(1, refused().to_string(), ErrorKind::Parameter), &gone(3, 0)));
    for rank in [0, 2] {
        assert!([gone(rank, 1), gone(rank, 3)].contains(&errors[rank]), "{:?}", errors[rank]);
    }
    // Whichever rank ends first, the result is the error of the rank that failed.
    assert_eq!(all.unwrap().unwrap_err().to_string(), refused().to_string());
}

#[test]
fn what_all_have_done_is_not_lost_when_one_ends() {
    for _ in 0..200 {
        let sums = on_threads(4, |ranks| {
            let mut all = [0; 4];
            ranks.all_gather_v(&[ranks.rank() as u8], &mut all, &[1; 4])?;
            Ok(all)
        });
        assert_eq!(sums.unwrap(), [[0, 1, 2, 3]; 4]);
    }
}

#[test]
fn no_ranks_make_nothing() {
    assert_eq!(on_threads(0, |_| Ok(())).unwrap(), []);
}
