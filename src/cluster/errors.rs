//! Errors about labels, member lists, weights and fields of clusters.

use crate::error::{Error, ErrorKind};
use crate::format::number;

/// More clusters than labels can represent.
pub(super) fn too_many_clusters(clusters: usize, max: usize) -> Error {
    let sentence = format!("too many clusters: {clusters}; 32-bit labels can represent at most {max}");
    Error::new(ErrorKind::Unsupported, sentence)
}

/// A label that is not less than the number of points.
pub(super) fn label(point: usize, label: i32, points: usize) -> Error {
    let sentence =
        format!("point {point} has the label {label}; with {points} points, labels must be less than {points}");
    Error::new(ErrorKind::Input, sentence).at(point)
}

/// Offsets of member lists that do not begin with 0.
pub(super) fn offset_count(count: usize) -> Error {
    let sentence =
        format!("offsets must begin with 0 and have one entry more than there are halos, got {count} entries");
    Error::new(ErrorKind::Input, sentence)
}

/// A halo without members, or one whose end is before its start.
pub(super) fn offsets(halo: usize, start: usize, end: usize) -> Error {
    let sentence =
        format!("the offsets of halo {halo} are {start} and {end}; they must ascend, because each halo has members");
    Error::new(ErrorKind::Input, sentence).at(halo)
}

/// A last offset that differs from the number of members.
pub(super) fn last_offset(end: usize, members: usize) -> Error {
    Error::new(
        ErrorKind::Input,
        format!("the last offset is {end}, but there are {members} members; they must be equal"),
    )
}

/// A member that is not the index of a point.
pub(super) fn member(halo: usize, point: u32, points: usize) -> Error {
    let sentence =
        format!("halo {halo} has the member index {point}; with {points} points, it must be less than {points}");
    Error::new(ErrorKind::Input, sentence).at(halo)
}

/// A point that occurs in two member lists.
pub(super) fn member_twice(point: u32, first: usize, halo: usize) -> Error {
    let sentence =
        format!("point {point} is a member of halo {first} and of halo {halo}; it may be a member of only one");
    Error::new(ErrorKind::Input, sentence).at(point as usize)
}

/// A number of weights that differs from the number of points.
pub(super) fn weight_count(weights: usize, n: usize) -> Error {
    Error::new(ErrorKind::Input, format!("there are {weights} weights for {n} points; specify one per point"))
}

/// A weight that is negative or not finite.
pub(super) fn weight(index: usize, value: f64) -> Error {
    let value = number(value);
    let sentence = format!("the weight of point {index} is {value}; weights must be finite and not negative");
    Error::new(ErrorKind::Input, sentence).at(index)
}

/// A field that is NaN at a point.
pub(super) fn field_value(index: usize) -> Error {
    let sentence = format!("the field is NaN at point {index}; it must not be NaN anywhere");
    Error::new(ErrorKind::Input, sentence).at(index)
}

/// An edge of a spanning tree with invalid ends or an invalid weight.
pub(super) fn edge(index: usize, [low, high]: [u32; 2], weight2: f64, n_points: usize) -> Error {
    let sentence = format!(
        "edge {index} has low {low}, high {high} and weight2 {}; it needs low < high < {n_points} and weight2 >= 0",
        number(weight2)
    );
    Error::new(ErrorKind::Parameter, sentence).about("edges").at(index)
}

/// An edge that does not follow the one before it in order.
pub(super) fn edge_order(index: usize) -> Error {
    let sentence = format!("edge {index} is out of order; edges must ascend by weight2, then low, then high");
    Error::new(ErrorKind::Parameter, sentence).about("edges").at(index)
}

/// An edge between points that earlier edges connect.
pub(super) fn edge_cycle(index: usize, [low, high]: [u32; 2]) -> Error {
    let sentence =
        format!("edge {index} between points {low} and {high} closes a cycle; a spanning tree has no cycles");
    Error::new(ErrorKind::Parameter, sentence).about("edges").at(index)
}

/// Creates the error for a dimension without a density kernel.
pub fn hop_dimension(dim: usize) -> Error {
    Error::new(ErrorKind::Unsupported, format!("densities and HOP support 2 or 3 dimensions, got {dim}"))
}
