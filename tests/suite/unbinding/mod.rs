//! Unbinding against its definition, and what becomes of clumps that are built to hold together or not.

mod bad_input;
mod definition;
mod known;
mod properties;
mod sky;
mod snapshot;
