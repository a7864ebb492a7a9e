//! The triangles of a file in memory, and the functions from which readers construct them.
//!
//! In: coordinates, colours and the corners of polygons. Out: vertices and triangles. Cost: one pass over the coordinates.

use ropewalk::internals::memory::with_capacity;

use crate::{Points, Table};

/// The triangles of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshData {
    /// The corners of triangles, in three dimensions. Coordinates of STL have 32 bits, and those of OBJ, OFF
    /// and glTF 64 bits. Those of PLY have 32 bits unless a coordinate is `double`, `int` or `uint`, which need 64 bits.
    pub vertices: Points,
    /// The corners of each triangle, as valid indices into the vertices.
    pub faces: Vec<[u32; 3]>,
    /// The sRGB colour of each vertex; `None` unless all vertices of the file have one.
    pub colors: Option<Vec<[u8; 3]>>,
    /// Notes on parts of the file that were not read.
    pub notes: Vec<String>,
}

/// Returns vertices with these coordinates. If a coordinate is not finite, returns an error that names it.
pub(super) fn vertices<S: Into<f64> + Copy>(
    coordinates: Vec<S>,
    points: fn(Table<S>) -> Points,
) -> std::result::Result<Points, String> {
    if let Some(at) = coordinates.iter().position(|&x| !x.into().is_finite()) {
        return Err(format!("vertex {} has a coordinate that is {}", at / 3, coordinates[at].into()));
    }
    Table::new(3, coordinates).map(points).map_err(|error| error.to_string())
}

impl MeshData {
    /// Returns the colours of the corners of each triangle, in the order of the triangles. `None` if a corner has no
    /// colour.
    pub fn corner_colors(&self) -> Option<Vec<[[u8; 3]; 3]>> {
        let colors = self.colors.as_ref()?;
        let mut corners = with_capacity(self.faces.len());
        for &[a, b, c] in &self.faces {
            corners.push([*colors.get(a as usize)?, *colors.get(b as usize)?, *colors.get(c as usize)?]);
        }
        Some(corners)
    }
}

/// Returns the colours of `n` vertices if all have one.
pub(super) fn of_all(colors: Vec<[u8; 3]>, n: usize) -> Option<Vec<[u8; 3]>> {
    (!colors.is_empty() && colors.len() == n).then_some(colors)
}

/// Returns the byte of a channel from 0 to 1. Values out of range are clamped.
pub(super) fn channel(share: f64) -> u8 {
    (share * 255.0).round() as u8
}

/// Returns the triangles of a polygon: a fan about its first corner. Fewer than three corners give no triangles.
pub(super) fn fan(corners: &[u32]) -> impl Iterator<Item = [u32; 3]> {
    let first = corners.first().copied().unwrap_or_default();
    corners.get(1..).unwrap_or_default().windows(2).map(move |edge| [first, edge[0], edge[1]])
}
