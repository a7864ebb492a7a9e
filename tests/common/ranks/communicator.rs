//! Each function of a communicator, compared with its definition.

use std::time::{Duration, SystemTime};

use ropewalk::distributed::{Communicator, Measured, Reduction, Traffic, agree};
use ropewalk::{ErrorKind, Fof, Result};

use crate::random::Random;

super::scenario::scenarios![
    ranks_have_numbers,
    all_to_all_transposes,
    all_to_all_of_long_blocks,
    all_gather_joins,
    all_reduce_reduces,
    a_barrier_waits_for_all,
    splits_by_color_and_key,
    splits_by_large_numbers,
    splits_of_splits_talk_by_themselves,
    errors_of_each_rank,
    errors_of_several_ranks,
    errors_agreed_on_twice,
    arrivals_in_any_order,
    traffic_is_counted,
];

fn byte(from: usize, to: usize, at: usize) -> u8 {
    (from * 31 + to * 17 + at * 7 + at / 251) as u8
}

/// Tests `all_to_all_v`. `counts` gives the number of bytes from one rank to another, and is the same on all ranks.
fn all_to_all(ranks: &dyn Communicator, counts: &dyn Fn(usize, usize) -> usize) {
    let (rank, size) = (ranks.rank(), ranks.size());
    let sent: Vec<usize> = (0..size).map(|to| counts(rank, to)).collect();
    let received: Vec<usize> = (0..size).map(|from| counts(from, rank)).collect();
    let send: Vec<u8> = (0..size).flat_map(|to| (0..sent[to]).map(move |at| byte(rank, to, at))).collect();
    let expected: Vec<u8> =
        (0..size).flat_map(|from| (0..received[from]).map(move |at| byte(from, rank, at))).collect();
    let mut receive = vec![0xee; expected.len()];
    ranks.all_to_all_v(&send, &sent, &mut receive, &received).unwrap();
    assert!(receive == expected, "rank {rank} of {size}");
}

fn all_gather(ranks: &dyn Communicator, count: &dyn Fn(usize) -> usize) {
    let (rank, size) = (ranks.rank(), ranks.size());
    let of = |rank: usize| (0..count(rank)).map(move |at| byte(rank, 0, at));
    let counts: Vec<usize> = (0..size).map(count).collect();
    let expected: Vec<u8> = (0..size).flat_map(of).collect();
    let mut receive = vec![0xee; expected.len()];
    ranks.all_gather_v(&of(rank).collect::<Vec<u8>>(), &mut receive, &counts).unwrap();
    assert!(receive == expected, "rank {rank} of {size}");
}

/// Returns the numbers of all ranks.
fn numbers(ranks: &dyn Communicator, own: u64) -> Vec<u64> {
    let mut all = vec![0; 8 * ranks.size()];
    ranks.all_gather_v(&own.to_le_bytes(), &mut all, &vec![8; ranks.size()]).unwrap();
    all.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// Returns the texts of all ranks.
fn texts(ranks: &dyn Communicator, own: &str) -> Vec<String> {
    let counts: Vec<usize> = numbers(ranks, own.len() as u64).into_iter().map(|count| count as usize).collect();
    let mut all = vec![0; counts.iter().sum()];
    ranks.all_gather_v(own.as_bytes(), &mut all, &counts).unwrap();
    let mut all = all.as_slice();
    counts.iter().map(|&count| String::from_utf8(all.split_off(..count).unwrap().to_vec()).unwrap()).collect()
}

fn ranks_have_numbers(ranks: &dyn Communicator) {
    assert!(ranks.rank() < ranks.size());
    let expected: Vec<u64> = (0..ranks.size() as u64).collect();
    assert_eq!(numbers(ranks, ranks.rank() as u64), expected);
}

fn all_to_all_transposes(ranks: &dyn Communicator) {
    let size = ranks.size();
    let tables: [&dyn Fn(usize, usize) -> usize; 8] = [
        &|_, _| 0,
        &|_, _| 8,
        &|from, to| 3 * from + to,
        &|from, to| if from == to { 40 } else { 0 },
        &|from, to| if (from + 1) % size == to { 1 + from } else { 0 },
        &|from, _| if from == size - 1 { 200 } else { 0 },
        &|_, to| if to == size / 2 { 200 } else { 0 },
        &|from, to| if from < to { 99 + from + to } else { 0 },
    ];
    for table in tables {
        all_to_all(ranks, table);
    }
    for seed in 0..10 {
        // Half of the blocks are empty.
        all_to_all(ranks, &|from, to| {
            let mut random = Random::new((seed * 1000 + from * size + to) as u64);
            random.below(2) * random.below(500)
        });
    }
}

/// Blocks longer than the messages that MPI libraries send without a handshake.
fn all_to_all_of_long_blocks(ranks: &dyn Communicator) {
    let size = ranks.size();
    all_to_all(ranks, &|from, to| if (from + 1) % size == to { 100_001 } else { 0 });
    all_to_all(ranks, &|from, to| if (from + to) % 3 == 0 { 20_000 - 1000 * from } else { to });
}

fn all_gather_joins(ranks: &dyn Communicator) {
    let size = ranks.size();
    let counts: [&dyn Fn(usize) -> usize; 6] = [
        &|_| 0,
        &|_| 8,
        &|rank| 5 * rank,
        &|rank| if rank == size - 1 { 1000 } else { 0 },
        &|rank| (rank % 2) * 77,
        &|rank| if rank == 0 { 30_000 } else { 3000 - rank },
    ];
    for count in counts {
        all_gather(ranks, count);
    }
}

fn all_reduce_reduces(ranks: &dyn Communicator) {
    let size = ranks.size();
    let of = |rank: usize, at: usize| Random::new((rank * 5000 + at) as u64).bits();
    for n in [0, 1, 5, 1000] {
        for reduction in [Reduction::Sum, Reduction::Min, Reduction::Max] {
            let mut numbers: Vec<u64> = (0..n).map(|at| of(ranks.rank(), at)).collect();
            let all = |at| (0..size).map(move |rank| of(rank, at));
            let expected: Vec<u64> = (0..n)
                .map(|at| match reduction {
                    Reduction::Sum => (all(at).map(u128::from).sum::<u128>() % (1 << 64)) as u64,
                    Reduction::Min => all(at).min().unwrap(),
                    Reduction::Max => all(at).max().unwrap(),
                })
                .collect();
            ranks.all_reduce(&mut numbers, reduction).unwrap();
            assert_eq!(numbers, expected, "{reduction:?}");
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64
}

fn a_barrier_waits_for_all(ranks: &dyn Communicator) {
    for late in 0..ranks.size().min(4) {
        if ranks.rank() == late {
            std::thread::sleep(Duration::from_millis(20));
        }
        let came = now();
        ranks.barrier().unwrap();
        let went = now();
        assert!(numbers(ranks, came).iter().max() <= numbers(ranks, went).iter().min());
    }
}

/// Checks a split, given the arguments of all ranks.
fn check_split(ranks: &dyn Communicator, of: &dyn Fn(usize) -> (usize, usize)) {
    let (color, key) = of(ranks.rank());
    let part = ranks.split(color, key).unwrap();
    let mut expected: Vec<u64> =
        (0..ranks.size()).filter(|&rank| of(rank).0 == color).map(|rank| rank as u64).collect();
    expected.sort_by_key(|&rank| of(rank as usize).1);
    assert_eq!(part.size(), expected.len());
    assert_eq!(expected[part.rank()], ranks.rank() as u64);
    assert_eq!(numbers(&*part, ranks.rank() as u64), expected);
    // Both communicators still work.
    all_to_all(&*part, &|from, to| 10 * from + to);
    all_to_all(ranks, &|from, to| from + 10 * to);
}

fn splits_by_color_and_key(ranks: &dyn Communicator) {
    let size = ranks.size();
    check_split(ranks, &|_| (0, 0));
    check_split(ranks, &|rank| (0, size - rank));
    check_split(ranks, &|rank| (rank, 0));
    check_split(ranks, &|rank| (rank % 3, 100 - rank));
    check_split(ranks, &|rank| (2 - rank % 2, rank % 3));
    check_split(ranks, &|rank| (usize::from(rank == 0), rank * 7 % 5));
}

fn splits_by_large_numbers(ranks: &dyn Communicator) {
    check_split(ranks, &|rank| (usize::MAX - rank % 2, usize::MAX - rank));
    check_split(ranks, &|rank| ((rank % 2) << 32, (rank % 3) << 40));
}

fn splits_of_splits_talk_by_themselves(ranks: &dyn Communicator) {
    let half = ranks.split(ranks.rank() % 2, ranks.rank()).unwrap();
    let quarter = half.split(half.rank() % 2, 0).unwrap();
    // Groups communicate different numbers of times.
    for _ in 0..ranks.rank() % 4 * 3 {
        all_gather(&*quarter, &|rank| rank + 1);
    }
    for _ in 0..ranks.rank() % 2 * 5 {
        all_to_all(&*half, &|from, to| from * to);
    }
    drop(half);
    check_split(&*quarter, &|rank| (rank % 2, 0));
    ranks.barrier().unwrap();
}

/// Returns a failure, with different kinds.
fn failure(which: usize) -> Result<()> {
    match which % 3 {
        0 => Fof::new(-1.0).run(&[[0.0f32; 2]]).map(drop),
        1 => Fof::new(1.0).run(&[[0.0, f64::NAN, 2.0]]).map(drop),
        _ => Fof::new(1.0).run(&[[0.0f32; 11]]).map(drop),
    }
}

/// Checks that all ranks have the error of one rank, and that the communicator still works.
fn check_agreed(ranks: &dyn Communicator, result: Result<()>, first: usize, which: usize) {
    let error = result.unwrap_err();
    let own = failure(which).unwrap_err();
    let expected = if ranks.rank() == first { own.to_string() } else { format!("rank {first}: {own}") };
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.kind(), [ErrorKind::Parameter, ErrorKind::NotFinite, ErrorKind::Unsupported][which % 3]);
    let same = texts(ranks, &format!("{:?}", error.kind()));
    assert!(same.iter().all(|kind| *kind == same[0]), "{same:?}");
}

fn errors_of_each_rank(ranks: &dyn Communicator) {
    agree(ranks, Ok(())).unwrap();
    for failing in 0..ranks.size() {
        let own = if ranks.rank() == failing { failure(failing) } else { Ok(()) };
        check_agreed(ranks, agree(ranks, own), failing, failing);
        assert_eq!(agree(ranks, Ok(ranks.rank())).unwrap(), ranks.rank());
    }
}

fn errors_of_several_ranks(ranks: &dyn Communicator) {
    let size = ranks.size();
    for first in 0..size {
        let own = if ranks.rank() >= first { failure(ranks.rank()) } else { Ok(()) };
        check_agreed(ranks, agree(ranks, own), first, first);
    }
}

fn errors_agreed_on_twice(ranks: &dyn Communicator) {
    let failing = ranks.size() / 2;
    let own = if ranks.rank() == failing { failure(1) } else { Ok(()) };
    check_agreed(ranks, agree(ranks, agree(ranks, own)), failing, 1);
    // Agreed on within a part, then by all ranks.
    let part = ranks.split(ranks.rank() % 2, 0).unwrap();
    let own = if ranks.rank() == failing { failure(2) } else { Ok(()) };
    check_agreed(ranks, agree(ranks, agree(&*part, own)), failing, 2);
}

fn arrivals_in_any_order(ranks: &dyn Communicator) {
    let mut delays = Random::new(ranks.rank() as u64);
    let mut rounds = Random::new(1000);
    for _ in 0..40 {
        if delays.below(3) == 0 {
            std::thread::sleep(Duration::from_micros(delays.below(3000) as u64));
        }
        let salt = rounds.below(50);
        match rounds.below(5) {
            0 => all_to_all(ranks, &|from, to| (from * 7 + to * 3 + salt) % 60),
            1 => all_gather(ranks, &|rank| (rank * 11 + salt) % 60),
            2 => ranks.barrier().unwrap(),
            3 => {
                let mut sum = [salt as u64];
                ranks.all_reduce(&mut sum, Reduction::Sum).unwrap();
                assert_eq!(sum, [(salt * ranks.size()) as u64]);
            }
            _ => check_split(ranks, &|rank| ((rank + salt) % 2, rank % 3)),
        }
    }
}

fn traffic_is_counted(ranks: &dyn Communicator) {
    let (rank, size) = (ranks.rank(), ranks.size());
    let measured = Measured::new(ranks);
    assert_eq!((measured.rank(), measured.size(), measured.traffic()), (rank, size, Traffic::default()));
    all_to_all(&measured, &|from, to| 3 * from + to);
    let sent: usize = (0..size).filter(|&to| to != rank).map(|to| 3 * rank + to).sum();
    assert_eq!(measured.traffic(), Traffic { bytes: sent as u64, calls: 1 });
    all_gather(&measured, &|rank| rank + 2);
    let gathered = (rank + 2) * (size - 1);
    measured.all_reduce(&mut [1, 2, 3], Reduction::Max).unwrap();
    measured.barrier().unwrap();
    let part = measured.split(0, 0).unwrap();
    numbers(&*part, 1);
    let bytes = sent + gathered + 24 * (size - 1);
    assert_eq!(measured.traffic(), Traffic { bytes: bytes as u64, calls: 5 });
}
