//! Data sets: a shape, and values that are generated only when they are written.

use std::io::{self, Write};

use crate::hdf5_write::Value;
use crate::hdf5_write::object::{Header, Number, Type};

/// The number of values that are converted at a time.
const BAND: usize = 1 << 16;

type WriteValues<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

/// A data set of numbers, in rows of `width` values or of one value.
pub struct Dataset<'a> {
    of: Type,
    shape: Vec<u64>,
    values: WriteValues<'a>,
    attributes: Vec<(String, Value)>,
}

impl<'a> Dataset<'a> {
    /// Creates a data set of the values of all pieces, concatenated. With `width`, rows have `width` values.
    pub fn pieces<T: Number>(pieces: Vec<&'a [T]>, width: Option<usize>) -> Self {
        let values = pieces.iter().map(|piece| piece.len()).sum();
        Self::new(T::TYPE, values, width, move |out| {
            pieces.iter().try_for_each(|piece| out.write_all(bytemuck::cast_slice(piece)))
        })
    }

    /// Creates a data set that owns its values.
    #[doc(hidden)]
    pub fn owned<T: Number>(values: Vec<T>, width: Option<usize>) -> Self {
        Self::new(T::TYPE, values.len(), width, move |out| out.write_all(bytemuck::cast_slice(&values)))
    }

    /// Creates a data set of the values of all pieces, converted by `convert` while they are written.
    pub fn converted<S: Copy, T: Number>(
        pieces: Vec<&'a [S]>,
        width: Option<usize>,
        convert: impl Fn(S) -> T + 'a,
    ) -> Self {
        let values = pieces.iter().map(|piece| piece.len()).sum();
        Self::new(T::TYPE, values, width, move |out| {
            let mut band: Vec<T> = Vec::with_capacity(BAND.min(values));
            for part in pieces.iter().flat_map(|piece| piece.chunks(BAND)) {
                band.clear();
                band.extend(part.iter().map(|&value| convert(value)));
                out.write_all(bytemuck::cast_slice(&band))?;
            }
            Ok(())
        })
    }

    fn new(
        of: Type,
        values: usize,
        width: Option<usize>,
        write: impl Fn(&mut dyn Write) -> io::Result<()> + 'a,
    ) -> Self {
        let shape = match width.map(|width| width.max(1)) {
            Some(width) => vec![(values / width) as u64, width as u64],
            None => vec![values as u64],
        };
        Self { of, shape, values: Box::new(write), attributes: vec![] }
    }

    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// Returns the bytes of all values.
    pub(super) fn bytes(&self) -> u64 {
        self.shape.iter().product::<u64>() * u64::from(self.of.bytes())
    }

    pub(super) fn header(&self, address: u64) -> io::Result<Vec<u8>> {
        let mut header = Header::default();
        header.dataset(self.of, &self.shape, address, self.bytes())?;
        self.attributes.iter().try_for_each(|(name, value)| header.attribute(name, value))?;
        header.finish()
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        (self.values)(out)
    }
}
