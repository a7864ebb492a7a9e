//! The library on the CPU, stage by stage, against definitions, stored answers of other programs, and bad input.

#[path = "../common/mod.rs"]
mod common;

mod attack;
mod bad_input;
mod centers;
mod conformance;
mod copies;
mod dbscan;
mod dimensions;
mod fof_algorithms;
mod halos;
mod hits;
mod overdensity;
mod pipeline;
mod primitives;
mod profiles;
mod properties;
mod regressions;
mod sample;
mod structure;
mod tree;
mod units;
