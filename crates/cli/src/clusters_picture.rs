//! The picture of clusters that `ropewalk dbscan` and `ropewalk hdbscan` draw.

use std::path::Path;

use ropewalk::Labels;
use ropewalk_io::{Points, Snapshot};
use ropewalk_plot::{ClusterPicture, PictureFormat};

use super::args;
use super::axis_names::axis_names;
use super::dimensions::with_rows;
use super::failure::Failure;
use super::text::counted;

/// The error for points of a dimension that cannot be drawn.
fn wrong_dimension(dim: usize) -> String {
    let dimensions = counted(dim as u64, "dimension");
    format!("points have {dimensions}; --plot requires 2 or 3, or a name that ends in .html")
}

/// Refuses points that have neither two nor three coordinates.
pub fn check_dimension(file: &Path, points: &Points) -> Result<(), Failure> {
    if (2..=3).contains(&points.dim()) {
        return Ok(());
    }
    Err(format!("{}: {}", file.display(), wrong_dimension(points.dim())).into())
}

/// Returns headings, the names of the columns with their unit, the box and the radius.
pub fn shown(snapshot: &Snapshot, args: &args::Points, title: [String; 2], eps: f64) -> ClusterPicture {
    ClusterPicture { title, axes: axis_names(snapshot), eps, period: args.periodic }
}

/// Draws the clusters of points in two or three dimensions.
pub fn draw(
    points: &Points,
    labels: &Labels,
    shown: &ClusterPicture,
    format: PictureFormat,
) -> Result<Vec<u8>, Failure> {
    let picture =
        with_rows!(points, f32 [2, 3], f64 [2, 3], rows => ropewalk_plot::clusters(rows, labels, shown, format));
    Ok(picture.ok_or_else(|| wrong_dimension(points.dim()))??)
}
