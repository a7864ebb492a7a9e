//! Parsers of options for which shells complete some values, although other values are valid, too.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};

/// The names of particle types.
pub const TYPES: &[&str] = &["gas", "dm", "stars", "bh", "neutrinos"];

/// A parser, and the values that shells complete.
#[derive(Clone)]
pub struct Suggested<P> {
    values: &'static [&'static str],
    parser: P,
}

/// Returns a parser for which shells complete `values`.
pub fn suggested<P>(values: &'static [&'static str], parser: P) -> Suggested<P> {
    Suggested { values, parser }
}

impl<P: TypedValueParser> TypedValueParser for Suggested<P> {
    type Value = P::Value;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<P::Value, clap::Error> {
        self.parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values.iter().copied().map(PossibleValue::new)))
    }
}
