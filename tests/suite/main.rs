//! Tests of the library on the CPU, stage by stage, with definitions, stored results of other programs, and invalid
//! input.

mod attach;
mod attack;
mod bad_input;
mod cancel;
mod cells;
mod centers;
mod changing;
mod conformance;
mod contract;
mod copies;
mod crossings;
mod dbscan;
mod debug_output;
mod dendrogram;
mod dimensions;
mod distributed;
mod fof_algorithms;
mod halos;
mod hdbscan;
mod hits;
mod hop;
mod interpolate;
mod limits;
mod mesh;
mod moving;
mod overdensity;
mod particles;
mod pipeline;
mod primitives;
mod profiles;
mod properties;
mod regressions;
mod sample;
mod shapes;
mod shapes_edges;
mod shapes_round;
mod shared_tables;
mod spanning_tree;
mod structure;
mod subhalos;
mod table_bvh;
mod table_predict;
mod tree;
mod unbinding;
mod units;
mod values;
mod zoom;

/// `ROPEWALK_ISA=baseline` runs this program without AVX2. Checks that the library then does not use it.
#[test]
fn the_instruction_set_that_was_asked_for() {
    if std::env::var("ROPEWALK_ISA").is_ok_and(|isa| isa == "baseline") {
        assert_eq!(ropewalk::internals::instruction_set(), "baseline");
    }
}
