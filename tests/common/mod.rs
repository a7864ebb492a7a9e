//! What the test suites share: point clouds with names, and the definitions as plain loops.
#![allow(dead_code)] // Each suite uses a part of it.

pub mod clouds;
pub mod data;
pub mod engine;
pub mod images;
pub mod oracle;
pub mod random;
