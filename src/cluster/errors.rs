//! Errors about labels, member lists, weights and fields of clusters.

use crate::error::{Error, ErrorKind};
use crate::format::number;

/// More clusters than labels can represent.
pub(super) fn too_many_clusters(clusters: usize, max: usize) -> Error {
    let sentence =
        format!("there are {clusters} clusters; labels are 32-bit numbers, so at most {max} can be told apart");
    Error::new(ErrorKind::Unsupported, sentence)
}

/// A label that is not less than the number of points.
pub(super) fn label(point: usize, label: i32, points: usize) -> Error {
    let sentence = format!("point {point} has the label {label}; of {points} points labels must be less than that");
    Error::new(ErrorKind::Input, sentence).at(point)
}

/// Offsets of member lists that do not begin with 0.
pub(super) fn offset_count(count: usize) -> Error {
    let sentence = format!(
        "the members of halos are told by {count} offsets; there must be one more than there are halos, the first of them 0"
    );
    Error::new(ErrorKind::Input, sentence)
}

/// A halo without members, or one whose end is before its start.
pub(super) fn offsets(halo: usize, start: usize, end: usize) -> Error {
    let sentence = format!(
        "halo {halo} begins at member {start} and ends at {end}; offsets must ascend, for each halo has members"
    );
    Error::new(ErrorKind::Input, sentence).at(halo)
}

/// A last offset that differs from the number of members.
pub(super) fn last_offset(end: usize, members: usize) -> Error {
    Error::new(ErrorKind::Input, format!("the last offset is {end}, but there are {members} members"))
}

/// A member that is not the index of a point.
pub(super) fn member(halo: usize, point: u32, points: usize) -> Error {
    let sentence = format!("halo {halo} has point {point} for a member, but there are {points} points, counted from 0");
    Error::new(ErrorKind::Input, sentence).at(halo)
}

/// A point that occurs in two member lists.
pub(super) fn member_twice(point: u32, first: usize, halo: usize) -> Error {
    let sentence =
        format!("point {point} is a member of halo {first} and again of halo {halo}; a point has one halo at most");
    Error::new(ErrorKind::Input, sentence).at(point as usize)
}

/// A number of weights that differs from the number of points.
pub(super) fn weight_count(weights: usize, n: usize) -> Error {
    Error::new(ErrorKind::Input, format!("there are {weights} weights for {n} points; there must be one each"))
}

/// A weight that is negative or not finite.
pub(super) fn weight(index: usize, value: f64) -> Error {
    let value = number(value);
    let sentence = format!("the weight of point {index} is {value}; weights must be finite and not negative");
    Error::new(ErrorKind::Input, sentence).at(index)
}

/// A field that is NaN at a point.
pub(super) fn field_value(index: usize) -> Error {
    let sentence = format!("the field is NaN at point {index}; it must be a number everywhere");
    Error::new(ErrorKind::Input, sentence).at(index)
}

/// A dimension without a density kernel.
pub fn hop_dimension(dim: usize) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{dim} dimensions: densities and HOP are for points of 2 or 3"))
}
