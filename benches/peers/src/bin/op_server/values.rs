//! Moving least squares of degree 2 with 20 neighbours: `sources` and `targets` are rows of three f64, `values` has
//! one f64 per source.

use std::error::Error;
use std::path::Path;

use ropewalk::interpolate::MovingLeastSquares;

use crate::operation::{FinishedRun, OpServer, rows};

pub struct Values {
    sources: Vec<[f64; 3]>,
    targets: Vec<[f64; 3]>,
    values: Vec<f64>,
}

impl Values {
    pub fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            sources: rows(folder, "sources", f64::from_le_bytes)?,
            targets: rows(folder, "targets", f64::from_le_bytes)?,
            values: rows(folder, "values", f64::from_le_bytes)?.into_iter().map(|[value]| value).collect(),
        })
    }
}

impl OpServer for Values {
    /// Computes the values at targets from sources, targets and values, including the tree.
    fn run(&mut self, library: &str, op: &str) -> Result<FinishedRun, Box<dyn Error>> {
        if (library, op) != ("ropewalk", "moving_least_squares") {
            return Err(format!("{library} has no operation {op:?}").into());
        }
        let start = std::time::Instant::now();
        let mls = MovingLeastSquares::new(2).neighbors(20);
        let answer = mls.prepare(&self.sources, &self.targets)?.apply(&self.values)?;
        Ok(FinishedRun { seconds: start.elapsed().as_secs_f64(), bytes: None, answer, triangles: vec![] })
    }
}
