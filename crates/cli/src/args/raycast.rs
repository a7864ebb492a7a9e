//! The arguments of `raycast`.

use std::path::PathBuf;

/// Draw a triangle mesh in light and shadow.
///
/// MESH is a Wavefront OBJ, PLY or STL file, told by its content. Polygons are split as fans from their first corner, which is right for
/// convex ones. The z axis points up, and the whole mesh is in the picture; both sides of its triangles are drawn.
#[derive(Debug, clap::Args)]
pub struct Raycast {
    /// The file with the mesh
    #[arg(value_name = "MESH")]
    pub file: PathBuf,
    /// Write the picture
    #[arg(long, value_name = "PICTURE.png")]
    pub out: PathBuf,
    /// Pixels across and down
    #[arg(long, value_name = "W,H", value_delimiter = ',', num_args = 1, default_value = "1200,900")]
    pub size: Vec<usize>,
    /// From which side it is seen: degrees about the z axis, from x towards y
    #[arg(long, value_name = "DEGREES", allow_negative_numbers = true, default_value_t = -60.0)]
    pub azimuth: f64,
    /// From how high: degrees above the xy plane, from -90 to 90
    #[arg(long, value_name = "DEGREES", allow_negative_numbers = true, default_value_t = 25.0)]
    pub elevation: f64,
    /// Number of threads; otherwise one per processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Write what the report says as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
