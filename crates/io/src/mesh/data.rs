//! The triangles of a file in memory, and what readers make them of.
//!
//! In: coordinates, and the corners of polygons. Out: vertices, and triangles. Cost: one pass over the coordinates.

use crate::{Points, Table};

/// The triangles of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshData {
    /// Corners of triangles, in three dimensions: 32-bit numbers of STL, and of PLY unless a coordinate is `double`, `int` or `uint`, which
    /// need 64 bits; those of OBJ have 64.
    pub vertices: Points,
    /// The corners of each triangle, as indices into the vertices, all of which are there.
    pub faces: Vec<[u32; 3]>,
    /// Notes on parts of the file that were not read.
    pub notes: Vec<String>,
}

/// Vertices of numbers that are all finite, or the first that is not.
pub(super) fn vertices<S: Into<f64> + Copy>(
    coordinates: Vec<S>,
    points: fn(Table<S>) -> Points,
) -> std::result::Result<Points, String> {
    if let Some(at) = coordinates.iter().position(|&x| !x.into().is_finite()) {
        return Err(format!("vertex {} has a coordinate that is {}", at / 3, coordinates[at].into()));
    }
    Table::new(3, coordinates).map(points).map_err(|error| error.to_string())
}

/// The triangles of a polygon: a fan about its first corner. Fewer than three corners are none.
pub(super) fn fan(corners: &[u32]) -> impl Iterator<Item = [u32; 3]> {
    let first = corners.first().copied().unwrap_or_default();
    corners.get(1..).unwrap_or_default().windows(2).map(move |edge| [first, edge[0], edge[1]])
}
