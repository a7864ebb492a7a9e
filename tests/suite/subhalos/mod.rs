//! Subhalos against their definition, against halos that are built with some, and against themselves.

mod bad_input;
mod definition;
mod known;
mod nested;
mod properties;
mod stored;
