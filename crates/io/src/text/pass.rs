//! The progress of a pass over the lines of a text file.

use std::path::Path;

use crate::reading::Reading;

/// The progress of one pass over a file, in bytes of the file.
pub(super) struct Pass<'a> {
    reading: &'a Reading<'a>,
    /// The size of the file.
    bytes: u64,
    done: u64,
}

impl<'a> Pass<'a> {
    /// Announces `passes` passes over the file `path`.
    pub fn announce(path: &Path, passes: u64, reading: &Reading<'_>) {
        reading.expect(passes * size(path));
    }

    pub fn new(path: &Path, reading: &'a Reading<'a>) -> Self {
        Self { reading, bytes: size(path), done: 0 }
    }

    /// Reports that the pass has read `bytes` bytes of the file.
    pub fn at(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        if bytes > self.done {
            self.reading.advance(bytes - self.done);
            self.done = bytes;
        }
    }

    /// Reports that the pass has read the whole file.
    pub fn end(mut self) {
        self.at(self.bytes);
    }
}

/// Returns the size of a file; 0 if it is unknown.
fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |meta| meta.len())
}
