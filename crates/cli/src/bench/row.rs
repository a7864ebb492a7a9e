//! The measurements of one operation.

/// Times and memory of one operation.
pub struct Row {
    pub op: &'static str,
    pub n: usize,
    pub seconds: Vec<f64>,
    /// The number of points or pairs that were processed.
    pub items: u64,
    /// The seconds of the first run on a device, which compiles its kernels.
    pub first: Option<f64>,
    /// The peak memory beyond that before the run. On a device, all memory allocated so far, including the points and
    /// the results.
    pub peak_bytes: usize,
    pub check: String,
    pub phases: Vec<(&'static str, f64)>,
}

impl Row {
    /// Returns the median of the times, in seconds.
    pub fn median(&self) -> f64 {
        self.seconds[self.seconds.len() / 2]
    }

    /// Returns the number of items per second, from the median time.
    pub fn per_second(&self) -> f64 {
        self.items as f64 / self.median()
    }
}
