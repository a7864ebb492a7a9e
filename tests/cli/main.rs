//! The built program, driven as a user would.
#![cfg(feature = "cli")]

mod bad_input;
mod centers;
mod clusters;
mod device;
mod good_input;
mod program;
mod reference;
mod units;
