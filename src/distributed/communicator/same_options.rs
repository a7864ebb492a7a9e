//! Checks that all ranks request the same operation.
//!
//! In: the function that a rank calls, and its options. Out: if these differ, an error on all ranks that names the
//! first rank that differs from rank 0.
//! Cost: 16 bytes from each rank to each, and 8 for each option.

use std::fmt;

use bytemuck::{cast_slice, cast_slice_mut};

use crate::distributed::communicator::interface::Communicator;
use crate::distributed::communicator::typed::all_gather;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::zeroed;

/// The function number of calls that are known to be the same on all ranks.
const KNOWN: u64 = 0;

/// The value of an option, as compared by [`agree_on`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term {
    /// An integer, or the number of an enum variant.
    Whole(u64),
    /// A real number. Zeros of either sign are equal, and so are all NaNs, unlike with `==`.
    Real(f64),
}

impl Term {
    fn word(self) -> u64 {
        match self {
            Self::Whole(value) => value,
            Self::Real(value) => bits(value),
        }
    }

    /// Returns the value that another rank sent as `word`.
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

/// Returns the bits that represent a number, the same for both zeros and for all NaNs.
fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

/// Fails on all ranks if ranks call different functions or pass different options.
///
/// Use it for choices made at run time, where ranks that choose differently would wait for each other forever. The
/// caller assigns numbers to functions. Collective.
///
/// ```
/// use ropewalk::distributed::{Communicator, Term, agree_on, on_threads};
///
/// let error = on_threads(3, |ranks| {
///     let columns = if ranks.rank() == 2 { 4 } else { 3 };
///     agree_on(ranks, 1, &[("columns", Term::Whole(columns))])
/// });
/// assert_eq!(error.unwrap_err().to_string(), "columns is 4 on rank 2 and 3 on rank 0; the value must be equal on all ranks");
/// ```
///
/// # Errors
/// Fails with the same error on all ranks, if they differ. Fails if a rank has ended.
pub fn agree_on(ranks: &dyn Communicator, function: u64, options: &[(&str, Term)]) -> Result<()> {
    let calls = all_gather(ranks, [function, options.len() as u64])?;
    if let Some(rank) = calls.iter().position(|call| *call != calls[0]) {
        return Err(refused(format!(
            "rank {rank} and rank 0 call different functions; all ranks must call the same one"
        )));
    }
    let own: Vec<u64> = options.iter().map(|option| option.1.word()).collect();
    let mut all: Vec<u64> = zeroed(own.len() * ranks.size());
    ranks.all_gather_v(cast_slice(&own), cast_slice_mut(&mut all), &vec![size_of_val(&own[..]); ranks.size()])?;
    for (at, &(name, value)) in options.iter().enumerate() {
        let word = |rank: usize| all[rank * own.len() + at];
        if let Some(rank) = (1..ranks.size()).find(|&rank| word(rank) != word(0)) {
            let [a, b] = [rank, 0].map(|rank| value.like(word(rank)));
            let sentence =
                format!("{name} is {a} on rank {rank} and {b} on rank 0; the value must be equal on all ranks");
            return Err(refused(sentence));
        }
    }
    Ok(())
}

/// Calls [`agree_on`] with real options, for a function that all ranks are known to call. Collective.
pub(crate) fn check_same_options(ranks: &dyn Communicator, options: &[(&str, f64)]) -> Result<()> {
    let terms: Vec<(&str, Term)> = options.iter().map(|&(name, value)| (name, Term::Real(value))).collect();
    agree_on(ranks, KNOWN, &terms)
}

fn refused(sentence: String) -> Error {
    Error::new(ErrorKind::Parameter, sentence)
}
