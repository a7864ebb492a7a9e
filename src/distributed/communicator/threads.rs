//! Ranks that are threads of one process, for tests and for several devices of one host.
//!
//! Each collective method is a round: all ranks post what they send, the last one closes the round, and each rank
//! takes what is addressed to it. A rank that ends before the others wakes waiting ranks with an error.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::distributed::communicator::interface::{Communicator, Reduction};
use crate::distributed::errors;
use crate::error::Result;

/// The data that a rank posts in a round.
#[derive(Default)]
struct Post {
    bytes: Vec<u8>,
    /// The number of bytes for each rank; empty if all bytes are for all ranks.
    counts: Vec<usize>,
    numbers: Vec<u64>,
    group: Option<Arc<Group>>,
}

type Posts = Arc<Vec<Arc<Post>>>;

#[derive(Default)]
struct Round {
    number: u64,
    posted: Vec<Option<Arc<Post>>>,
    /// The posts of the last closed round.
    last: Posts,
    /// A rank that has ended.
    gone: Option<usize>,
}

/// The ranks of one communicator.
struct Group {
    round: Mutex<Round>,
    closed: Condvar,
}

impl Group {
    fn new(size: usize) -> Arc<Self> {
        let round = Round { posted: vec![None; size], ..Round::default() };
        Arc::new(Self { round: Mutex::new(round), closed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Round> {
        // No code that can panic runs while the lock is held, so poisoning is ignored.
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A rank that is a thread of this process: see [`on_threads`].
pub struct ThreadRank {
    group: Arc<Group>,
    rank: usize,
    size: usize,
}

impl ThreadRank {
    /// Posts data, waits for the other ranks, and returns the posts of all ranks.
    fn round(&self, post: Post) -> Result<Posts> {
        let mut round = self.group.lock();
        let number = round.number;
        round.posted[self.rank] = Some(Arc::new(post));
        if round.posted.iter().all(Option::is_some) {
            round.last = Arc::new(round.posted.iter_mut().filter_map(Option::take).collect());
            round.number += 1;
            let last = Arc::clone(&round.last);
            // Releases the lock before waking the others.
            drop(round);
            self.group.closed.notify_all();
            return Ok(last);
        }
        loop {
            if round.number != number {
                return Ok(Arc::clone(&round.last));
            }
            if let Some(rank) = round.gone {
                return Err(errors::rank_gone(rank));
            }
            round = self.group.closed.wait(round).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for ThreadRank {
    fn drop(&mut self) {
        self.group.lock().gone.get_or_insert(self.rank);
        self.group.closed.notify_all();
    }
}

impl Communicator for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn all_to_all_v(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]) -> Result<()> {
        let posts = self.round(Post { bytes: send.to_vec(), counts: sent.to_vec(), ..Post::default() })?;
        let mut free = receive;
        for (post, &count) in posts.iter().zip(received) {
            let start: usize = post.counts[..self.rank].iter().sum();
            let (own, others) = free.split_at_mut(count);
            own.copy_from_slice(&post.bytes[start..start + post.counts[self.rank]]);
            free = others;
        }
        Ok(())
    }

    fn all_gather_v(&self, own: &[u8], receive: &mut [u8], counts: &[usize]) -> Result<()> {
        let posts = self.round(Post { bytes: own.to_vec(), ..Post::default() })?;
        let mut free = receive;
        for (post, &count) in posts.iter().zip(counts) {
            let (own, others) = free.split_at_mut(count);
            own.copy_from_slice(&post.bytes);
            free = others;
        }
        Ok(())
    }

    fn all_reduce(&self, numbers: &mut [u64], reduction: Reduction) -> Result<()> {
        let posts = self.round(Post { numbers: numbers.to_vec(), ..Post::default() })?;
        for (place, number) in numbers.iter_mut().enumerate() {
            let others = posts.iter().enumerate().filter(|(rank, _)| *rank != self.rank);
            *number = others.fold(*number, |all, (_, post)| reduction.of(all, post.numbers[place]));
        }
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        self.round(Post::default()).map(drop)
    }

    fn split(&self, color: usize, key: usize) -> Result<Box<dyn Communicator>> {
        let posts = self.round(Post { numbers: vec![color as u64, key as u64], ..Post::default() })?;
        let mut members: Vec<usize> = (0..self.size).filter(|&rank| posts[rank].numbers[0] == color as u64).collect();
        let first = members[0];
        members.sort_by_key(|&rank| posts[rank].numbers[1]);
        let group = (first == self.rank).then(|| Group::new(members.len()));
        let posts = self.round(Post { group, ..Post::default() })?;
        let rank = members.iter().position(|&rank| rank == self.rank);
        match (&posts[first].group, rank) {
            (Some(group), Some(rank)) => Ok(Box::new(Self { group: Arc::clone(group), rank, size: members.len() })),
            _ => Err(errors::rank_gone(first)),
        }
    }
}

/// Runs `work` on each of `size` ranks, which are threads, and returns the results by rank.
///
/// All ranks share one thread pool for their computations.
///
/// ```
/// use ropewalk::distributed::{Communicator, on_threads};
///
/// assert_eq!(on_threads(3, |ranks| Ok(ranks.rank() * 10))?, [0, 10, 20]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Returns the first error, by rank, that is not the error of another rank. A panic is resumed in the caller.
pub fn on_threads<T: Send>(size: usize, work: impl Fn(&ThreadRank) -> Result<T> + Sync) -> Result<Vec<T>> {
    let group = Group::new(size);
    let ranks = (0..size).map(|rank| ThreadRank { group: Arc::clone(&group), rank, size });
    let run = |rank: ThreadRank| catch_unwind(AssertUnwindSafe(|| work(&rank)));
    let results: Vec<std::thread::Result<Result<T>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = ranks.map(|rank| scope.spawn(|| run(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(Err)).collect()
    });
    let mut all = vec![];
    let (mut panicked, mut own, mut other) = (None::<Box<dyn Any + Send>>, None, None);
    for result in results {
        match result {
            Ok(Ok(value)) => all.push(value),
            Ok(Err(error)) if error.is_of_another_rank() => other = other.or(Some(error)),
            Ok(Err(error)) => own = own.or(Some(error)),
            Err(panic) => panicked = panicked.or(Some(panic)),
        }
    }
    if let Some(panic) = panicked {
        resume_unwind(panic);
    }
    own.or(other).map_or(Ok(all), Err)
}
