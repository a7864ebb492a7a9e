//! Points, shapes and queries in the unit box.

use std::error::Error;
use std::path::Path;

use ropewalk::sample::{MockHalos, Uniform};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A name and points in three dimensions.
pub type Cloud = (String, Vec<[f32; 3]>);

/// Uniform points, mock halos and, if there is one, the points of a file.
pub fn clouds(n: usize, file: Option<&str>) -> Result<Vec<Cloud>> {
    let mut clouds = vec![
        ("uniform".into(), Uniform::new(n).seed(1).points()?),
        ("halos".into(), MockHalos::new(n).seed(1).points()?),
    ];
    if let Some(file) = file {
        clouds.push(("file".into(), npy(Path::new(file))?));
    }
    Ok(clouds)
}

/// Reads an array N x 3 of `f32` in NumPy's format, version 1, and scales it to the unit box.
fn npy(path: &Path) -> Result<Vec<[f32; 3]>> {
    let bytes = std::fs::read(path)?;
    let length = bytes.get(8..10).ok_or("the file is too short")?;
    let data = 10 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    let header = String::from_utf8_lossy(bytes.get(10..data).ok_or("the file is too short")?);
    if !header.contains("'<f4'") || !header.contains(", 3)") {
        return Err(format!("{}: not an array N x 3 of f32", path.display()).into());
    }
    let numbers: Vec<f32> = bytes[data..].as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    let (lo, hi) = numbers.iter().fold((f32::MAX, f32::MIN), |(lo, hi), &x| (lo.min(x), hi.max(x)));
    Ok(numbers.as_chunks().0.iter().map(|point: &[f32; 3]| point.map(|x| (x - lo) / (hi - lo))).collect())
}

/// The first two coordinates of points.
pub fn flat(points: &[[f32; 3]]) -> Vec<[f32; 2]> {
    points.iter().map(|&[x, y, _]| [x, y]).collect()
}

/// Random vectors of lengths up to `length` along each axis, in both directions.
pub fn vectors<const D: usize>(n: usize, seed: u64, length: f32) -> Result<Vec<[f32; D]>> {
    let random = Uniform::new(n).seed(seed).points()?;
    Ok(random.iter().map(|x| std::array::from_fn(|k| (2.0 * x[k] - 1.0) * length)).collect())
}

fn add<const D: usize>(a: [f32; D], b: [f32; D]) -> [f32; D] {
    std::array::from_fn(|k| a[k] + b[k])
}

/// Segments from random points, with lengths up to `length` along each axis.
pub fn segments<const D: usize>(n: usize, length: f32) -> Result<Vec<[[f32; D]; 2]>> {
    let starts = Uniform::new(n).seed(2).points()?;
    let starts = starts.iter().map(|x| std::array::from_fn(|k| x[k]));
    Ok(starts.zip(vectors(n, 3, length)?).map(|(a, way)| [a, add(a, way)]).collect())
}

/// Triangles at random points with one side of up to `length` and another of up to `width` along each axis.
pub fn triangles(n: usize, length: f32, width: f32) -> Result<Vec<[[f32; 3]; 3]>> {
    let (long, wide) = (segments::<3>(n, length)?, vectors(n, 4, width)?);
    Ok(long.into_iter().zip(wide).map(|([a, b], way)| [a, b, add(a, way)]).collect())
}

/// A sphere with bumps, of about `n` triangles along lines of equal latitude and longitude.
pub fn surface(n: usize) -> Vec<[[f32; 3]; 3]> {
    let rows = ((n / 4) as f64).sqrt() as usize;
    let place = |i: usize, j: usize| {
        let (u, v) = (std::f64::consts::PI * i as f64 / rows as f64, std::f64::consts::PI * j as f64 / rows as f64);
        let radius = 0.4 + 0.03 * (9.0 * u).sin() * (11.0 * v).cos();
        [u.sin() * v.cos(), u.sin() * v.sin(), u.cos()].map(|x| (0.5 + radius * x) as f32)
    };
    let square = |i: usize, j: usize| {
        let [a, b, c, d] = [place(i, j), place(i + 1, j), place(i + 1, j + 1), place(i, j + 1)];
        [[a, b, c], [a, c, d]]
    };
    (0..rows).flat_map(|i| (0..2 * rows).flat_map(move |j| square(i, j))).collect()
}
