//! The measurements of one operation.

/// Times and memory of one operation.
pub struct Row {
    pub op: &'static str,
    pub n: usize,
    pub seconds: Vec<f64>,
    /// Points, or pairs, that were dealt with.
    pub items: u64,
    /// On a device, the first run, in which its kernels are compiled.
    pub first: Option<f64>,
    /// Memory at most, beyond what was there before; on a device what it has given by then, the points and results included.
    pub peak_bytes: usize,
    pub check: String,
    pub phases: Vec<(&'static str, f64)>,
}

impl Row {
    /// The median of the times, in seconds.
    pub fn median(&self) -> f64 {
        self.seconds[self.seconds.len() / 2]
    }

    /// The number of items per second, by the median.
    pub fn per_second(&self) -> f64 {
        self.items as f64 / self.median()
    }
}
