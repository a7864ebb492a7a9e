//! Densities and HOP, compared with their definitions, with yt, and between runs.

mod bad_input;
pub(crate) mod definition;
mod density;
mod groups;
mod properties;
pub(crate) mod stored;
