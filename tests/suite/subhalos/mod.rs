//! Subhalos, compared with their definition, with constructed halos, and between runs.

mod bad_input;
mod definition;
mod known;
mod nested;
mod properties;
mod stored;
