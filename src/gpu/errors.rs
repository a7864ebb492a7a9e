//! Errors about devices.

use std::fmt::Display;

use crate::error::{Error, ErrorKind};

/// There is no device number `index`; `found` is the number of devices.
pub(super) fn no_device(what: &'static str, index: usize, found: usize) -> Error {
    Error::new(ErrorKind::Device, format!("there is no {what} device {index}: {found} were found"))
}

/// An environment variable has an unknown value.
pub(super) fn variable(name: &str, value: &str, known: &[&str]) -> Error {
    let sentence =
        format!("the environment variable {name} is '{value}'; it must be one of {}, or not set", known.join(", "));
    Error::new(ErrorKind::Parameter, sentence)
}

/// A driver or a kernel failed.
pub(super) fn failed(cause: impl Display) -> Error {
    Error::new(ErrorKind::Device, format!("the device failed: {cause}"))
}

/// A driver rounds sums of products differently from the CPU.
pub(super) fn rounding() -> Error {
    let sentence = "this device's driver rounds sums of products otherwise than the CPU, so that answers would differ; use CUDA for NVIDIA's \
                    GPUs, or the CPU";
    Error::new(ErrorKind::Unsupported, sentence)
}

/// A driver ends long loops early.
pub(super) fn long_loops(what: &'static str) -> Error {
    let sentence = format!("{what} takes longer loops than this device's driver runs; use CUDA, or the CPU");
    Error::new(ErrorKind::Unsupported, sentence)
}

/// A driver flushes a small coordinate to 0.
pub(super) fn small_coordinate(value: f64) -> Error {
    let sentence = format!(
        "this device's driver takes a coordinate of {value:e} for 0; multiply all coordinates by a power of two, or use CUDA or the CPU"
    );
    Error::new(ErrorKind::Unsupported, sentence)
}

/// A buffer is larger than the device allows.
pub(super) fn large_buffer(bytes: u128, most: u64) -> Error {
    let sentence = format!(
        "a buffer of {bytes} bytes is needed; this device's have at most {most}. Use less at a time, or the CPU"
    );
    Error::new(ErrorKind::Memory, sentence)
}

/// Lists have more values than a 32-bit index can address.
pub(super) fn long_lists(values: u64) -> Error {
    let sentence = format!(
        "{values} neighbours are too many for lists on a device, which hold at most 4294967295; ask for less at a time"
    );
    Error::new(ErrorKind::Unsupported, sentence)
}

/// Inputs are on two devices. The second argument holds the names of the devices.
pub(super) fn two_devices([a, b]: [&'static str; 2], [one, other]: [String; 2]) -> Error {
    let sentence = format!("{a} are on {one}, {b} on {other}; they must be on the same device");
    Error::new(ErrorKind::Input, sentence)
}

/// The number of values differs from the number of items.
pub(super) fn value_count(len: usize, n: usize, what: &'static str) -> Error {
    Error::new(ErrorKind::Input, format!("there are {len} values for {n} {what}; there must be one each"))
}

/// The number of coordinates is not a multiple of the dimension.
pub(super) fn no_rows(len: usize, dim: usize) -> Error {
    let sentence = format!("{len} coordinates do not make points of {dim}; their number must be a multiple of {dim}");
    Error::new(ErrorKind::Input, sentence)
}

/// A tree stores primitives other than points.
pub(super) fn not_points() -> Error {
    Error::new(ErrorKind::Unsupported, "the tree is over boxes; trees on a device are over points")
}
