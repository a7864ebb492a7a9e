//! Densities and HOP against their definition, against yt, and against themselves.

mod bad_input;
pub(crate) mod definition;
mod density;
mod groups;
mod properties;
pub(crate) mod stored;
