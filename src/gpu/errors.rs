//! Errors about devices.

use std::fmt::Display;

use crate::error::{Error, ErrorKind};

/// There is no device.
pub(super) fn no_gpu() -> Error {
    Error::new(ErrorKind::Device, "no GPU found")
}

/// There is no device number `index`; `found` is the number of devices.
pub(super) fn no_device(what: &'static str, index: usize, found: usize) -> Error {
    let present = match found {
        0 => format!("no {what} devices found"),
        1 => "the only device is number 0".into(),
        _ => format!("the devices are numbers 0 to {}", found - 1),
    };
    Error::new(ErrorKind::Device, format!("no {what} device {index}: {present}"))
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

/// The device of a call that exchanges addresses with CUDA is not a CUDA device.
#[cfg(feature = "cuda")]
pub(super) fn no_cuda(call: &'static str) -> Error {
    Error::new(ErrorKind::Parameter, format!("{call} needs a CUDA device"))
}

/// Kernels for CUDA cannot be compiled; `missing` says why, as the start of a sentence.
#[cfg(feature = "cuda")]
pub(super) fn no_cuda_compiler(missing: &str) -> Error {
    let sentence = format!(
        "{missing}; kernels are compiled when the program runs, so install the CUDA toolkit, or set CUDA_PATH and LD_LIBRARY_PATH to it"
    );
    Error::new(ErrorKind::Device, sentence)
}

/// ROCm's program `hipconfig`, which the compilation of kernels needs, cannot be run.
#[cfg(feature = "hip")]
pub(super) fn no_hipconfig() -> Error {
    let sentence = "the program hipconfig cannot be run; kernels are compiled when the program runs, so install ROCm, and add its \
                    programs to PATH";
    Error::new(ErrorKind::Device, sentence)
}

/// A driver rounds numbers, for example sums of products, differently from the CPU.
pub(super) fn rounding() -> Error {
    let sentence = "the device's driver rounds numbers differently from the CPU, so results would differ; use CUDA for NVIDIA GPUs, or \
                    the CPU";
    Error::new(ErrorKind::Unsupported, sentence)
}

/// A driver ends long loops early. `what` is a noun phrase.
pub(super) fn long_loops(what: impl Display) -> Error {
    let sentence = format!("{what} needs longer loops than the device's driver allows; use CUDA or the CPU");
    Error::new(ErrorKind::Unsupported, sentence)
}

/// A driver flushes a small coordinate to 0.
pub(super) fn small_coordinate(value: f64) -> Error {
    let sentence = format!(
        "the device's driver flushes the coordinate {value:e} to 0; multiply all coordinates by a power of two, or use CUDA or the CPU"
    );
    Error::new(ErrorKind::Unsupported, sentence)
}

/// A buffer is larger than the device allows.
pub(super) fn large_buffer(bytes: u128, most: u64) -> Error {
    let sentence = format!(
        "cannot allocate {bytes} bytes: the device allows {most} per buffer; use fewer points per call, or the CPU"
    );
    Error::new(ErrorKind::Memory, sentence)
}

/// A result has more values than a 32-bit index can address. `what` is their plural noun.
pub(super) fn too_many_values(values: u128, what: &'static str) -> Error {
    let sentence = format!("{values} {what} exceed the limit of {} on a device; use fewer points per call", u32::MAX);
    Error::new(ErrorKind::Unsupported, sentence)
}

/// Inputs are on two devices. The second argument holds the names of the devices.
pub(super) fn two_devices([a, b]: [&'static str; 2], [one, other]: [String; 2]) -> Error {
    let sentence = format!("{a} are on {one}, {b} on {other}; they must be on the same device");
    Error::new(ErrorKind::Input, sentence)
}

/// The number of values differs from the number of items.
pub(super) fn value_count(len: usize, n: usize, what: &'static str) -> Error {
    Error::new(ErrorKind::Input, format!("expected one value each, got {len} values for {n} {what}"))
}

/// The number of coordinates of directions differs from that of origins.
pub(super) fn directions_length(len: usize, origins: usize) -> Error {
    let sentence = format!("directions have {len} coordinates, origins have {origins}; they must have the same number");
    Error::new(ErrorKind::Input, sentence)
}

/// The number of coordinates is not a multiple of the dimension.
pub(super) fn no_rows(len: usize, dim: usize) -> Error {
    let sentence = format!("the number of coordinates must be a multiple of the dimension {dim}, got {len}");
    Error::new(ErrorKind::Input, sentence)
}

/// Corners on the device are for a tree in a periodic box.
pub(super) fn periodic_corners() -> Error {
    let sentence = "the tree is in a periodic box, and corners on the device are in open space; use `refit` with boxes";
    Error::new(ErrorKind::Unsupported, sentence)
}

/// The number of coordinates is not that of whole boxes, which have `numbers` each.
pub(super) fn no_boxes(len: usize, numbers: usize) -> Error {
    let sentence =
        format!("a box has {numbers} coordinates, twice the dimension, so {len} coordinates are not whole boxes");
    Error::new(ErrorKind::Input, sentence)
}

/// The number of vertex indices is not a multiple of three.
pub(super) fn no_faces(len: usize) -> Error {
    Error::new(ErrorKind::Input, format!("the number of vertex indices must be a multiple of 3, got {len}"))
}

/// A tree stores primitives other than points.
pub(super) fn not_points() -> Error {
    Error::new(ErrorKind::Unsupported, "the tree stores boxes; upload it as a `gpu::BoxBvh`")
}

/// Points are in another space than `what`.
pub(super) fn other_space(what: &'static str) -> Error {
    let sentence =
        format!("the points are in another space than {what}; both must be in open space or in the same periodic box");
    Error::new(ErrorKind::Input, sentence)
}
