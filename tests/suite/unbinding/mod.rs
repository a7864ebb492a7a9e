//! Unbinding, compared with its definition, and results for clumps that are constructed to be bound or unbound.

mod bad_input;
mod definition;
mod known;
mod properties;
mod clumps;
mod snapshot;
