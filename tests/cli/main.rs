//! The built program, driven as a user would.
#![cfg(feature = "cli")]

mod bad_input;
mod centers;
mod clusters;
mod device;
mod good_input;
mod missing;
mod program;
mod reference;
