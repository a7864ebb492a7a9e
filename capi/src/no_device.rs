//! The types of [`device`](super::device) in a build without CUDA. They have no values, and constructors return an error.

use ropewalk::{Error, ErrorKind, Result};

use crate::types::PointArray;

/// A tree on a device. No value of it exists.
pub enum Tree {}
/// Lists on a device. No value of it exists.
pub enum Lists {}
/// Labels on a device. No value of it exists.
pub enum Labels {}

fn not_built_in<T>() -> Result<T> {
    let sentence = "this library was built without CUDA; build it with --features cuda";
    Err(Error::new(ErrorKind::Unsupported, sentence))
}

impl Tree {
    pub fn build(_: &PointArray, _: Option<Vec<f64>>) -> Result<Self> {
        not_built_in()
    }

    pub fn count(&self) -> u64 {
        match *self {}
    }

    pub fn count_pairs(&self, _: f64) -> Result<u64> {
        match *self {}
    }

    pub fn neighbors(&self, _: f64) -> Result<Lists> {
        match *self {}
    }

    pub fn nearest(&self, _: u64) -> Result<Lists> {
        match *self {}
    }
}

impl Lists {
    pub fn count(&self) -> u64 {
        match *self {}
    }

    pub fn total(&self) -> u64 {
        match *self {}
    }

    pub fn offsets(&self) -> *const u32 {
        match *self {}
    }

    pub fn indices(&self) -> *const u32 {
        match *self {}
    }

    pub fn distances(&self) -> *const f64 {
        match *self {}
    }
}

impl Labels {
    pub fn dbscan(_: &PointArray, _: Option<Vec<f64>>, _: f64, _: u64) -> Result<Self> {
        not_built_in()
    }

    pub fn count(&self) -> u64 {
        match *self {}
    }

    pub fn clusters(&self) -> u64 {
        match *self {}
    }

    pub fn labels(&self) -> *const i32 {
        match *self {}
    }
}
