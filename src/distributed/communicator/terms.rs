//! Whether all ranks ask for the same.
//!
//! In: the function that a rank calls and its options. Out: an error on all ranks if they differ, which names the first that does.
//! Cost: 16 bytes from each rank to each, and 8 for each option.

use std::fmt;

use bytemuck::{cast_slice, cast_slice_mut};

use crate::distributed::communicator::interface::Communicator;
use crate::distributed::communicator::typed::all_gather;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::zeroed;

/// The number of a function where it is known that all ranks call the same.
const KNOWN: u64 = 0;

/// An option's value, as [`agree_on`] compares it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term {
    /// A whole number, or the number of a choice.
    Whole(u64),
    /// A real number. Zeros of both signs are the same, and so are all that are no number, which `==` takes for different.
    Real(f64),
}

impl Term {
    fn word(self) -> u64 {
        match self {
            Self::Whole(value) => value,
            Self::Real(value) => bits(value),
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

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
        }
    }
}

/// What is sent of a real number: zero has two signs, and what is no number many forms.
fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

/// An error on all ranks if they call other functions than this, or with other options: for what the caller chooses at run time, where ranks
/// that choose differently would wait for each other. Functions have numbers of the caller's. Collective.
///
/// ```
/// use ropewalk::distributed::{Communicator, Term, agree_on, on_threads};
///
/// let error = on_threads(3, |ranks| {
///     let columns = if ranks.rank() == 2 { 4 } else { 3 };
///     agree_on(ranks, 1, &[("columns", Term::Whole(columns))])
/// });
/// assert_eq!(error.unwrap_err().to_string(), "columns is 4 on rank 2 and 3 on rank 0; all ranks must ask for the same");
/// ```
///
/// # Errors
/// The same on all ranks: if they differ. If a rank has ended.
pub fn agree_on(ranks: &dyn Communicator, function: u64, options: &[(&str, Term)]) -> Result<()> {
    let calls = all_gather(ranks, [function, options.len() as u64])?;
    if let Some(rank) = calls.iter().position(|call| *call != calls[0]) {
        return Err(refused(format!("rank {rank} calls another function than rank 0; all ranks must call the same")));
    }
    let own: Vec<u64> = options.iter().map(|option| option.1.word()).collect();
    let mut all: Vec<u64> = zeroed(own.len() * ranks.size());
    ranks.all_gather_v(cast_slice(&own), cast_slice_mut(&mut all), &vec![size_of_val(&own[..]); ranks.size()])?;
    for (at, &(name, value)) in options.iter().enumerate() {
        let word = |rank: usize| all[rank * own.len() + at];
        if let Some(rank) = (1..ranks.size()).find(|&rank| word(rank) != word(0)) {
            let [a, b] = [rank, 0].map(|rank| value.like(word(rank)));
            let sentence = format!("{name} is {a} on rank {rank} and {b} on rank 0; all ranks must ask for the same");
            return Err(refused(sentence));
        }
    }
    Ok(())
}

/// The same where all ranks are known to call one function with real numbers. Collective.
pub(crate) fn check_same(ranks: &dyn Communicator, options: &[(&str, f64)]) -> Result<()> {
    let terms: Vec<(&str, Term)> = options.iter().map(|&(name, value)| (name, Term::Real(value))).collect();
    agree_on(ranks, KNOWN, &terms)
}

fn refused(sentence: String) -> Error {
    Error::new(ErrorKind::Parameter, sentence)
}
