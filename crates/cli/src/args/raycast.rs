//! The arguments of `ropewalk raycast`.

use std::path::PathBuf;

use super::number;

/// Draw a triangle mesh in light and shadow, or find the hits of rays.
///
/// MESH is a Wavefront OBJ, PLY, STL, OFF or glTF file, recognized by its content. Polygons are split as fans from their
/// first corner, which is correct for convex polygons. The z axis points up, also for glTF. The whole mesh is in the
/// picture, and both sides of its triangles are drawn. If all vertices have a colour, they are drawn in it.
#[derive(Debug, clap::Args)]
pub struct Raycast {
    /// File with the mesh
    #[arg(value_name = "MESH")]
    pub file: PathBuf,
    /// Picture to write, or with --rays the hits; - is standard output
    ///
    /// Hits have a row per ray: the coordinates x, y, z of the hit, the triangle, and the parameter t, where the hit is
    /// at origin + t * direction. For a ray without a hit, the coordinates are NaN, the triangle is -1, and t is
    /// infinity. By the ending of the name, a table (.csv, .ecsv, .parquet) or a NumPy array of f64 with these five
    /// columns (.npy). Standard output is CSV. Triangles are numbered from 0 in the order of the file, after polygons
    /// are split.
    #[arg(long, value_name = "PICTURE.png|HITS.csv|npy")]
    pub out: PathBuf,
    /// Find the first hit of each ray of this file instead of drawing
    ///
    /// A table or an array with six numbers per row: three of the origin and three of the direction, which need not
    /// have length 1. A direction of zeros has no hit.
    #[arg(long, value_name = "RAYS", conflicts_with_all = ["size", "azimuth", "elevation"])]
    pub rays: Option<PathBuf>,
    /// Width and height in pixels
    #[arg(long, value_name = "W,H", value_delimiter = ',', num_args = 1, default_value = "1200,900")]
    pub size: Vec<usize>,
    /// Direction of the viewer: degrees about the z axis, from x towards y
    #[arg(long, value_name = "DEGREES", value_parser = number, allow_negative_numbers = true, default_value_t = -60.0)]
    pub azimuth: f64,
    /// Height of the viewer: degrees above the xy plane, from -90 to 90
    #[arg(long, value_name = "DEGREES", value_parser = number, allow_negative_numbers = true, default_value_t = 25.0)]
    pub elevation: f64,
    /// Number of threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Write the report as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
