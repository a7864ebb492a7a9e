//! Whether all ranks ask for the same.
//!
//! In: the function that a rank calls and its options. Out: an error on all ranks if they differ, which names the first that does.
//! Cost: 96 bytes from each rank to each.

use std::fmt;

use ropewalk::distributed::Communicator;
use ropewalk::{Error, ErrorKind, Result};

/// The function, its number of options, and the options.
const WORDS: usize = 12;

/// An option's value.
#[derive(Clone, Copy)]
pub enum Value {
    Whole(u64),
    Real(f64),
}

impl Value {
    fn word(self) -> u64 {
        match self {
            Self::Whole(value) => value,
            Self::Real(value) => value.to_bits(),
        }
    }

    /// The value of another rank that is sent as `word`.
    fn like(self, word: u64) -> Self {
        match self {
            Self::Whole(_) => Self::Whole(word),
            Self::Real(_) => Self::Real(f64::from_bits(word)),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
        }
    }
}

/// Errors on all ranks if they call other functions than this, or with other options. Collective.
pub fn compare(ranks: &dyn Communicator, function: u64, options: &[(&str, Value)]) -> Result<()> {
    let mut own = [0u64; WORDS];
    let words = [function, options.len() as u64].into_iter().chain(options.iter().map(|option| option.1.word()));
    own.iter_mut().zip(words).for_each(|(own, word)| *own = word);
    let bytes: Vec<u8> = own.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut all = vec![0; bytes.len() * ranks.size()];
    ranks.all_gather_v(&bytes, &mut all, &vec![bytes.len(); ranks.size()])?;

    let (words, _) = all.as_chunks::<8>();
    let (of_ranks, _) = words.as_chunks::<WORDS>();
    let Some((first, others)) = of_ranks.split_first() else { return Ok(()) };
    for (rank, other) in (1..).zip(others) {
        let Some(at) = first.iter().zip(other).position(|(a, b)| a != b) else { continue };
        // What ranks of other functions do not share has no name here.
        let option = at.checked_sub(2).filter(|_| first[0].eq(&own[0].to_le_bytes())).and_then(|at| options.get(at));
        let sentence = match option {
            Some((name, value)) => {
                let [a, b] = [other[at], first[at]].map(|word| value.like(u64::from_le_bytes(word)));
                format!("{name} is {a} on rank {rank} and {b} on rank 0; all ranks must ask for the same")
            }
            None => format!("rank {rank} calls another function than rank 0"),
        };
        return Err(Error::new(ErrorKind::Parameter, sentence));
    }
    Ok(())
}
