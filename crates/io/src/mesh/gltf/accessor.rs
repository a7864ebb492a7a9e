//! Accessors of glTF: arrays of numbers in buffers.
//!
//! In: the JSON and the bytes of buffers. Out: numbers as `f64`, or indices. Cost: one pass over an array.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value;

use ropewalk::internals::memory::{collected, zeroed};

use super::json::{absent, items, shown, whole};

/// The arrays of a file.
pub(super) struct Accessors<'a> {
    accessors: &'a [Value],
    views: &'a [Value],
    buffers: &'a [Rc<Cow<'a, [u8]>>],
}

/// The type of a number.
#[derive(Clone, Copy, PartialEq)]
enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn of(value: &Value) -> Result<Self, String> {
        Ok(match whole(value, "componentType")? {
            Some(5120) => Self::I8,
            Some(5121) => Self::U8,
            Some(5122) => Self::I16,
            Some(5123) => Self::U16,
            Some(5125) => Self::U32,
            Some(5126) => Self::F32,
            _ => return Err(format!("has the componentType {}", shown(&value["componentType"]))),
        })
    }

    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    /// Returns the number in the first bytes, of which there are enough.
    fn number(self, bytes: &[u8]) -> f64 {
        let [a, b] = [bytes[0], bytes.get(1).copied().unwrap_or_default()];
        let four = || std::array::from_fn(|i| bytes.get(i).copied().unwrap_or_default());
        match self {
            Self::I8 => a.cast_signed().into(),
            Self::U8 => a.into(),
            Self::I16 => i16::from_le_bytes([a, b]).into(),
            Self::U16 => u16::from_le_bytes([a, b]).into(),
            Self::U32 => u32::from_le_bytes(four()).into(),
            Self::F32 => f32::from_le_bytes(four()).into(),
        }
    }

    /// Returns the integer that means 1 where integers are normalized to numbers from 0 or -1 to 1.
    fn one(self) -> f64 {
        match self {
            Self::I8 => i8::MAX.into(),
            Self::U8 => u8::MAX.into(),
            Self::I16 => i16::MAX.into(),
            Self::U16 => u16::MAX.into(),
            Self::U32 | Self::F32 => 1.0,
        }
    }
}

/// An array in a buffer: `count` items of `width` numbers, `stride` bytes apart.
struct Array<'a> {
    bytes: &'a [u8],
    stride: usize,
    width: usize,
    component: Component,
}

impl Array<'_> {
    fn write(&self, item: usize, into: &mut [f64]) {
        let bytes = &self.bytes[item * self.stride..];
        for (own, bytes) in into.iter_mut().zip(bytes.chunks(self.component.size())).take(self.width) {
            *own = self.component.number(bytes);
        }
    }
}

impl<'a> Accessors<'a> {
    pub(super) fn new(root: &'a Value, buffers: &'a [Rc<Cow<'a, [u8]>>]) -> Result<Self, String> {
        Ok(Self { accessors: items(root, "accessors")?, views: items(root, "bufferViews")?, buffers })
    }

    /// Returns the numbers of an accessor, whose items must have one of these widths.
    pub(super) fn numbers(&self, at: usize, widths: &[usize]) -> Result<Vec<f64>, String> {
        let width = self.width(at)?;
        if !widths.contains(&width) {
            return Err(format!("accessor {at} is of {}", shown(&self.accessors[at]["type"])));
        }
        self.read(at, width).map_err(|message| format!("accessor {at} {message}"))
    }

    /// Returns the indices of an accessor, which must be below `n`.
    pub(super) fn indices(&self, at: usize, n: usize) -> Result<Vec<u32>, String> {
        let numbers = self.numbers(at, &[1])?;
        match numbers.iter().find(|&&number| !(number >= 0.0 && number < n as f64 && number.fract() == 0.0)) {
            Some(number) => Err(format!("accessor {at} has the index {number}, but there are {n} vertices")),
            None => Ok(collected(numbers.into_iter().map(|number| number as u32))),
        }
    }

    /// Returns how many numbers an item has.
    pub(super) fn width(&self, at: usize) -> Result<usize, String> {
        let accessor = self.accessors.get(at).ok_or_else(|| absent("accessor", at))?;
        Ok(match accessor["type"].as_str() {
            Some("SCALAR") => 1,
            Some("VEC2") => 2,
            Some("VEC3") => 3,
            Some("VEC4") => 4,
            _ => return Err(format!("accessor {at} is of {}", shown(&accessor["type"]))),
        })
    }

    fn read(&self, at: usize, width: usize) -> Result<Vec<f64>, String> {
        let accessor = &self.accessors[at];
        let component = Component::of(accessor)?;
        let count = whole(accessor, "count")?.ok_or("has no count")?;
        let array = self.array(accessor, component, width, count)?;
        let sparse = &accessor["sparse"];
        // Without data, as a sparse accessor may be, all numbers are zero. They may be no more than the file can change.
        if array.is_none() && count > self.buffers.iter().map(|buffer| buffer.len()).sum() {
            return Err(format!("has {count} items without data"));
        }
        let mut numbers: Vec<f64> = zeroed(count.checked_mul(width).ok_or("is too large")?);
        if let Some(array) = array {
            numbers.chunks_exact_mut(width).enumerate().for_each(|(i, into)| array.write(i, into));
        }
        if !sparse.is_null() {
            self.replace(sparse, component, width, &mut numbers)?;
        }
        if accessor["normalized"].as_bool() == Some(true) {
            let one = component.one();
            numbers.iter_mut().for_each(|number| *number = (*number / one).max(-1.0));
        }
        Ok(numbers)
    }

    /// Writes the values of a sparse accessor.
    fn replace(&self, sparse: &Value, component: Component, width: usize, numbers: &mut [f64]) -> Result<(), String> {
        let count = whole(sparse, "count")?.ok_or("has sparse values without a count")?;
        let [places, values] = [&sparse["indices"], &sparse["values"]];
        let places =
            self.array(places, Component::of(places)?, 1, count)?.ok_or("has sparse values without indices")?;
        let values = self.array(values, component, width, count)?.ok_or("has sparse indices without values")?;
        for i in 0..count {
            let mut place = [0.0];
            places.write(i, &mut place);
            let into = numbers.chunks_exact_mut(width).nth(place[0] as usize);
            values.write(i, into.ok_or_else(|| format!("has the sparse index {}", place[0]))?);
        }
        Ok(())
    }

    /// Returns `count` items of the view that `value` names, checked against the view; `None` if it names none.
    fn array(
        &self,
        value: &Value,
        component: Component,
        width: usize,
        count: usize,
    ) -> Result<Option<Array<'a>>, String> {
        let Some(at) = whole(value, "bufferView")? else { return Ok(None) };
        let view = self.views.get(at).ok_or_else(|| absent("bufferView", at))?;
        let buffer = whole(view, "buffer")?.ok_or("has a bufferView without a buffer")?;
        let bytes = self.buffers.get(buffer).ok_or_else(|| absent("buffer", buffer))?;
        let start = whole(view, "byteOffset")?.unwrap_or(0);
        let length = whole(view, "byteLength")?.ok_or("has a bufferView without byteLength")?;
        let size = width * component.size();
        let stride = whole(view, "byteStride")?.unwrap_or(size);
        if stride < size {
            return Err(format!("has a byteStride of {stride} for items of {size} bytes"));
        }
        let offset = whole(value, "byteOffset")?.unwrap_or(0);
        let inside = || {
            let view = bytes.get(start..start.checked_add(length)?)?;
            let bytes = view.get(offset..)?;
            let needed = if count == 0 { 0 } else { (count - 1).checked_mul(stride)?.checked_add(size)? };
            (needed <= bytes.len()).then_some(bytes)
        };
        let bytes = inside().ok_or_else(|| format!("needs more bytes than bufferView {at} has"))?;
        Ok(Some(Array { bytes, stride, width, component }))
    }
}
