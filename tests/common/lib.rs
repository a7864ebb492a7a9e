//! Code shared by the test programs: named point clouds, and the definitions as plain loops.

pub mod cells;
pub mod clouds;
pub mod data;
pub mod engine;
pub mod images;
pub mod mpirun;
pub mod oracle;
pub mod random;
pub mod ranks;
