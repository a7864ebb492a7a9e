//! A shaded mesh with shadows.
//!
//! In: a mesh, and a view. Out: a PNG file.
//! Four rays per pixel find the surface, and another ray from each hit tests for shadow. The picture is rendered in
//! strips. Cost: two rays for each of the four samples.

use std::ops::Range;

use ropewalk::internals::parallel::map;
use ropewalk::internals::precompiled::same_ref;
use ropewalk::search::{Mesh, RayHit};
use ropewalk::{Error, ErrorKind, Ray, Result, Scalar};

use crate::canvas::Image;
use crate::colors::Rgb;

/// Samples of a pixel along each side.
const SAMPLES: usize = 2;
/// Rays per parallel task.
const TASK: usize = 1 << 10;
/// The number of pixels per strip, at least one row.
const STRIP: usize = 1 << 15;
/// The tangent of half the angle that the shorter side of the picture spans, and the share of it that the mesh fills.
const TANGENT: f64 = 0.26;
const FILLED: f64 = 0.92;
/// The number of steps by which the mesh is centred.
const CENTERING: usize = 10;
/// The maximum number of pixels along a side.
const MOST: usize = 1 << 14;
const SURFACE: [f64; 3] = [214.0, 196.0, 168.0];
const TOP: [f64; 3] = [250.0, 250.0, 252.0];
const BOTTOM: [f64; 3] = [206.0, 211.0, 220.0];
/// The light of surfaces that face away from the lamp, or are in shadow.
const AMBIENT: f64 = 0.28;
const DPI: f64 = 150.0;

/// The direction from which a mesh is seen, and the size of the picture.
///
/// The picture shows the whole mesh with a margin of 4% of the picture's shorter side; `z` points up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The azimuth of the eye in degrees about the z axis, from x towards y.
    pub azimuth: f64,
    /// The elevation of the eye in degrees above the xy plane, from -90 to 90.
    pub elevation: f64,
    /// The number of pixels per row, 1 to 16384.
    pub width: usize,
    /// The number of rows of pixels, 1 to 16384.
    pub height: usize,
}

impl Default for View {
    fn default() -> Self {
        Self { azimuth: -60.0, elevation: 25.0, width: 1200, height: 900 }
    }
}

/// Renders the mesh as PNG. Also returns the number of rays cast. Both sides of triangles are drawn.
///
/// `colors` has the sRGB colours of the corners of each triangle, in the order of the mesh. Between corners they are
/// interpolated. Without them the mesh has one colour.
///
/// ```
/// use ropewalk::Mesh;
/// use ropewalk_plot::{View, shaded};
///
/// let mesh = Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], &[[0, 1, 2]])?;
/// let (png, rays) = shaded(&mesh, None, &View { width: 80, height: 60, ..View::default() })?;
/// assert!(png.starts_with(b"\x89PNG") && rays >= 4 * 80 * 60);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails if an angle is not finite, if the elevation is out of range, or if a side is not 1 to 16384 pixels. Also fails
/// if the numbers of triangles and of their colours differ.
pub fn shaded<S: Scalar>(mesh: &Mesh<S>, colors: Option<&[[Rgb; 3]]>, view: &View) -> Result<(Vec<u8>, u64)> {
    if const { S::IS_F32 } { of_f32(same_ref(mesh), colors, view) } else { of_f64(same_ref(mesh), colors, view) }
}

/// [`draw`] for `f32`, compiled in this crate instead of in each program.
fn of_f32(mesh: &Mesh<f32>, colors: Option<&[[Rgb; 3]]>, view: &View) -> Result<(Vec<u8>, u64)> {
    draw(mesh, colors, view)
}

/// [`draw`] for `f64`.
fn of_f64(mesh: &Mesh<f64>, colors: Option<&[[Rgb; 3]]>, view: &View) -> Result<(Vec<u8>, u64)> {
    draw(mesh, colors, view)
}

fn draw<S: Scalar>(mesh: &Mesh<S>, colors: Option<&[[Rgb; 3]]>, view: &View) -> Result<(Vec<u8>, u64)> {
    let View { width, height, .. } = *view;
    for (name, value) in [("width", width), ("height", height)] {
        if !(1..=MOST).contains(&value) {
            return Err(parameter(name, value as f64, "from 1 to 16384"));
        }
    }
    if let Some(colors) = colors.filter(|colors| colors.len() != mesh.len()) {
        let sentence = format!("colors for {} triangles of a mesh of {}", colors.len(), mesh.len());
        return Err(Error::new(ErrorKind::Input, sentence).about("colors"));
    }
    let camera = Camera::new(mesh, view)?;
    let rows = (STRIP / width).max(1);
    let mut pixels = Vec::with_capacity(width * height);
    let mut rays = 0;
    for first in (0..height).step_by(rows) {
        let strip = strip(mesh, colors, view, &camera, first..height.min(first + rows));
        pixels.extend_from_slice(&strip.0);
        rays += strip.1;
    }
    Ok((Image { width, height, pixels }.png(DPI)?, rays))
}

/// Renders the pixels of some rows. Also returns the number of rays cast.
fn strip<S: Scalar>(
    mesh: &Mesh<S>,
    colors: Option<&[[Rgb; 3]]>,
    view: &View,
    camera: &Camera,
    rows: Range<usize>,
) -> (Vec<Rgb>, u64) {
    let View { width, height, .. } = *view;
    let (across, down) = (SAMPLES * width, SAMPLES * height);
    let unit = 1.0 / down.min(across) as f64;
    let rays = map(across * SAMPLES * rows.len(), TASK, &|at| {
        let middle = |at: usize, n: usize| (2.0 * (at as f64 + 0.5) - n as f64) * unit;
        camera.ray(middle(at % across, across), -middle(SAMPLES * rows.start + at / across, down))
    });
    let hits = mesh.first_hits(&rays);
    let met: Vec<usize> = (0..hits.len()).filter(|&at| hits[at].is_some()).collect();
    let surfaces = map(met.len(), TASK, &|at| {
        let (ray, hit) = (&rays[met[at]], hits[met[at]].unwrap_or_default());
        camera.surface(ray, hit.t, mesh.triangle(hit.triangle))
    });
    let lamps: Vec<Ray<S, 3>> = surfaces.iter().map(|surface| surface.1).collect();
    let shadows = mesh.any_hits(&lamps);
    let mut samples = vec![None; hits.len()];
    for ((&at, (facing, _)), is_dark) in met.iter().zip(&surfaces).zip(shadows) {
        let light = AMBIENT + (1.0 - AMBIENT) * if is_dark { 0.0 } else { facing.max(0.0) };
        let own = hits[at].zip(colors).map_or(SURFACE, |(hit, colors)| mixed(&hit, colors));
        samples[at] = Some(own.map(|own| light * own));
    }
    let pixels = map(width * rows.len(), TASK, &|pixel| {
        let (x, y) = (pixel % width, pixel / width);
        color(&samples, x, y, width, (rows.start + y) as f64 / height as f64)
    });
    (pixels, (rays.len() + lamps.len()) as u64)
}

/// Returns the colour of a surface at a hit: the mean of the colours of the triangle's corners with the weights of the
/// hit.
fn mixed(hit: &RayHit, colors: &[[Rgb; 3]]) -> [f64; 3] {
    let corners = &colors[hit.triangle as usize];
    std::array::from_fn(|k| (0..3).map(|corner| hit.barycentric[corner] * f64::from(corners[corner][k])).sum())
}

/// Averages the samples of a pixel. `samples` has the colour of each, none for the sky; `sky` is the relative height
/// from the top.
fn color(samples: &[Option<[f64; 3]>], x: usize, y: usize, width: usize, sky: f64) -> Rgb {
    let mut sum = [0.0; 3];
    for (row, column) in (0..SAMPLES).flat_map(|row| (0..SAMPLES).map(move |column| (row, column))) {
        let sample = samples[(SAMPLES * y + row) * SAMPLES * width + SAMPLES * x + column];
        let seen = sample.unwrap_or_else(|| std::array::from_fn(|k| TOP[k] + sky * (BOTTOM[k] - TOP[k])));
        for k in 0..3 {
            sum[k] += seen[k];
        }
    }
    sum.map(|sum| (sum / (SAMPLES * SAMPLES) as f64).round() as u8)
}

/// The position of the eye, and its axes.
struct Camera {
    eye: [f64; 3],
    /// The vectors to the middle of the picture, to its right edge and to its upper edge.
    axes: [[f64; 3]; 3],
    lamp: [f64; 3],
    /// A length that is negligible compared with the mesh.
    shadow_bias: f64,
}

impl Camera {
    fn new<S: Scalar>(mesh: &Mesh<S>, view: &View) -> Result<Self> {
        let range = |name, value: f64, must, range: std::ops::RangeInclusive<f64>| match range.contains(&value) {
            true => Ok(value.to_radians()),
            false => Err(parameter(name, value, must)),
        };
        let azimuth = range("azimuth", view.azimuth, "finite", f64::MIN..=f64::MAX)?;
        let elevation = range("elevation", view.elevation, "from -90 to 90", -90.0..=90.0)?;
        let [sine, cosine] = [azimuth.sin(), azimuth.cos()];
        let back = [elevation.cos() * cosine, elevation.cos() * sine, elevation.sin()];
        let right = [-sine, cosine, 0.0];
        let up = [-elevation.sin() * cosine, -elevation.sin() * sine, elevation.cos()];
        let (eye, distance) = eye(mesh, [right, up, back], view);
        let lamp: [f64; 3] = std::array::from_fn(|k| 0.55 * back[k] - 0.45 * right[k] + 0.7 * up[k]);
        Ok(Self {
            eye,
            axes: [back.map(|x| -x), right.map(|x| x * TANGENT), up.map(|x| x * TANGENT)],
            lamp,
            shadow_bias: distance * f64::from(f32::EPSILON) * 64.0,
        })
    }

    fn ray<S: Scalar>(&self, x: f64, y: f64) -> Ray<S, 3> {
        let [ahead, right, up] = &self.axes;
        let direction: [S; 3] = std::array::from_fn(|k| S::from_f64(ahead[k] + x * right[k] + y * up[k]));
        Ray::new(self.eye.map(S::from_f64), direction)
    }

    /// Returns the cosine of the angle between lamp and normal at the surface that a ray hits, and the ray towards
    /// the lamp.
    fn surface<S: Scalar>(&self, ray: &Ray<S, 3>, t: f64, triangle: [[S; 3]; 3]) -> (f64, Ray<S, 3>) {
        let [a, b, c] = triangle.map(|corner| corner.map(Into::<f64>::into));
        let [u, v]: [[f64; 3]; 2] = [std::array::from_fn(|k| b[k] - a[k]), std::array::from_fn(|k| c[k] - a[k])];
        let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        let dot = |a: &[f64; 3], b: &[f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let length = dot(&normal, &normal).sqrt();
        let towards = if dot(&normal, &ray.direction.map(Into::into)) > 0.0 { -1.0 } else { 1.0 };
        let normal = normal.map(|x| towards * x / length);
        let at = ray.at(t);
        // Offset from the surface, whose points are rounded, so that it does not shadow itself.
        let origin = std::array::from_fn(|k| S::from_f64(at[k] + self.shadow_bias * normal[k]));
        let facing = dot(&normal, &self.lamp) / dot(&self.lamp, &self.lamp).sqrt();
        (facing, Ray::new(origin, self.lamp.map(S::from_f64)))
    }
}

/// Returns the position from which a mesh fills the picture up to a margin, and its distance from the middle of the
/// mesh. `axes` point to the right, up, and from the mesh to the eye.
fn eye<S: Scalar>(mesh: &Mesh<S>, axes: [[f64; 3]; 3], view: &View) -> ([f64; 3], f64) {
    let shorter = view.width.min(view.height) as f64;
    let margin = (1.0 - FILLED) * shorter;
    // The tangents of half the angles that the mesh may span across and up.
    let tangents = [view.width, view.height].map(|side| TANGENT * (side as f64 - margin).max(0.5) / shorter);
    let bounds = mesh.bounds();
    let corners = [bounds.lo, bounds.hi].map(|corner| corner.map(Into::<f64>::into));
    let middle: [f64; 3] = std::array::from_fn(|k| 0.5 * corners[0][k] + 0.5 * corners[1][k]);
    let along = |at: &[f64; 3], axis: &[f64; 3]| (0..3).map(|k| (at[k] - middle[k]) * axis[k]).sum::<f64>();
    // For each side of the picture, the farthest plane through a vertex that is parallel to that side of the view.
    let mut planes = [[f64::NEG_INFINITY; 2]; 2];
    let mut nearest = f64::NEG_INFINITY;
    for corner in (0..mesh.len()).flat_map(|triangle| mesh.triangle(triangle as u32)) {
        let at: [f64; 3] = corner.map(Into::into);
        let depth = along(&at, &axes[2]);
        nearest = nearest.max(depth);
        for k in 0..2 {
            let across = along(&at, &axes[k]);
            planes[k][0] = planes[k][0].max(across + tangents[k] * depth);
            planes[k][1] = planes[k][1].max(-across + tangents[k] * depth);
        }
    }
    if mesh.is_empty() {
        return (axes[2].map(|x| x / TANGENT), 1.0 / TANGENT);
    }
    let needed = [0, 1].map(|k| 0.5 * (planes[k][0] + planes[k][1]) / tangents[k]);
    let size = (0..3).map(|k| corners[1][k] - corners[0][k]).fold(0.0f64, f64::max);
    // A mesh without extent, or seen edge-on, is seen from a distance.
    let distance = needed[0].max(needed[1]).max(nearest + 1e-3 * size);
    let distance = if size > 0.0 { distance } else { 1.0 };
    let mut shift = planes.map(|[right, left]| 0.5 * (right - left));
    // The side of the picture that is not filled is centred in steps, since nearer vertices count more.
    for _ in 0..CENTERING {
        let mut seen = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
        for corner in (0..mesh.len()).flat_map(|triangle| mesh.triangle(triangle as u32)) {
            let at: [f64; 3] = corner.map(Into::into);
            let ahead = distance - along(&at, &axes[2]);
            for k in 0..2 {
                let place = (along(&at, &axes[k]) - shift[k]) / ahead;
                seen[k] = [seen[k][0].min(place), seen[k][1].max(place)];
            }
        }
        for k in 0..2 {
            shift[k] += 0.5 * (seen[k][0] + seen[k][1]) * (distance - nearest);
        }
    }
    let eye = |k: usize| middle[k] + distance * axes[2][k] + shift[0] * axes[0][k] + shift[1] * axes[1][k];
    (std::array::from_fn(eye), distance + size)
}

fn parameter(name: &'static str, value: f64, must: &'static str) -> Error {
    Error::parameter_must(name, value, must)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders a floor, optionally with a roof above a part of it, from above.
    fn seen(roof: bool) -> (usize, Vec<[u8; 3]>) {
        let square = |half: f32, z: f32| [[-half, -half, z], [half, -half, z], [half, half, z], [-half, half, z]];
        let vertices = [square(4.0, 0.0), square(1.0, 2.0)].concat();
        let faces = [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]];
        let mesh = Mesh::build(&vertices, &faces[..if roof { 4 } else { 2 }]).unwrap();
        let (png, _) = shaded(&mesh, None, &View { azimuth: -90.0, elevation: 90.0, width: 60, height: 40 }).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; 60 * 40 * 3];
        reader.next_frame(&mut pixels).unwrap();
        (60, pixels.as_chunks::<3>().0.to_vec())
    }

    #[test]
    fn light_shadow_and_sky() {
        // The cosine of the angle between the lamp and the normal.
        let facing = 0.55 / (0.55f64.powi(2) + 0.45f64.powi(2) + 0.7f64.powi(2)).sqrt();
        let shade = |light: f64| SURFACE.map(|x| (light * x).round() as u8);
        let (lit, dark) = (shade(AMBIENT + (1.0 - AMBIENT) * facing), shade(AMBIENT));
        let (width, pixels) = seen(false);
        assert_eq!(pixels[20 * width + 30], lit);
        assert_eq!(pixels[0], TOP.map(|x| x as u8));
        assert!(!pixels.contains(&dark));
        let (_, pixels) = seen(true);
        assert!(pixels.iter().filter(|pixel| **pixel == dark).count() > 20);
        assert!(pixels.iter().filter(|pixel| **pixel == lit).count() > 200);
    }

    /// A flat terrain, a cube, a needle and a point, from several directions: the mesh touches the margin on two
    /// opposite sides of the picture, and nothing is outside.
    #[test]
    fn the_mesh_fills_the_picture() {
        let boxed = |size: [f64; 3]| {
            let vertices: Vec<[f64; 3]> =
                (0..8).map(|i| std::array::from_fn(|k| 100.0 + size[k] * f64::from(i >> k & 1))).collect();
            let faces = [[0, 1, 3], [0, 3, 2], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4], [2, 3, 7], [2, 7, 6]];
            Mesh::build(&vertices, &faces).unwrap()
        };
        for mesh in [boxed([10.0, 10.0, 0.5]), boxed([1.0; 3]), boxed([0.4, 0.4, 5.0])] {
            for (azimuth, elevation, width, height) in
                [(-60.0, 25.0, 240, 180), (10.0, 80.0, 180, 240), (0.0, 5.0, 240, 90)]
            {
                let view = View { azimuth, elevation, width, height };
                let camera = Camera::new(&mesh, &view).unwrap();
                let (pixels, _) = strip(&mesh, None, &view, &camera, 0..height);
                let is_sky = |x: usize, y: usize| {
                    let sky = (0..3).map(|k| TOP[k] + y as f64 / height as f64 * (BOTTOM[k] - TOP[k]));
                    sky.zip(pixels[y * width + x]).all(|(sky, own)| (sky - f64::from(own)).abs() <= 1.0)
                };
                let columns: Vec<usize> = (0..width).filter(|&x| (0..height).any(|y| !is_sky(x, y))).collect();
                let rows: Vec<usize> = (0..height).filter(|&y| (0..width).any(|x| !is_sky(x, y))).collect();
                let margin = |list: &[usize], side: usize| [list[0], side - 1 - list[list.len() - 1]];
                let [across, up] = [margin(&columns, width), margin(&rows, height)];
                let expected = 0.5 * (1.0 - FILLED) * width.min(height) as f64;
                let fits = |[a, b]: [usize; 2]| (a as f64 - expected).abs() < 2.5 && (b as f64 - expected).abs() < 2.5;
                assert!(fits(across) || fits(up), "{across:?} {up:?} {expected} {view:?}");
                let is_centred = |[a, b]: [usize; 2]| a.abs_diff(b) <= 4;
                assert!(is_centred(across) && is_centred(up), "{across:?} {up:?} {view:?}");
                assert!(across.iter().chain(&up).all(|&own| own as f64 > expected - 2.5), "{across:?} {up:?}");
            }
        }
        let point = Mesh::build(&[[3.0f64; 3]; 3], &[[0, 1, 2]]).unwrap();
        assert!(shaded(&point, None, &View { width: 8, height: 6, ..View::default() }).is_ok());
    }

    /// The middle of a triangle with a red, a green and a blue corner has a third of each, and each corner its own.
    #[test]
    fn colors_of_corners_are_interpolated() {
        let vertices = [[0.0f32, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0]];
        let mesh = Mesh::build(&vertices, &[[0, 1, 2]]).unwrap();
        let corners = [[255, 0, 0], [0, 255, 0], [0, 0, 255]];
        let view = View { azimuth: -90.0, elevation: 90.0, width: 61, height: 61 };
        let camera = Camera::new(&mesh, &view).unwrap();
        let (pixels, _) = strip(&mesh, Some(&[corners]), &view, &camera, 0..61);
        // The triangle fills the picture up to a margin: its corners are at the lower left, the lower right and the upper
        // left.
        let at = |x: usize, y: usize| pixels[y * 61 + x].map(f64::from);
        let light = at(21, 40).iter().sum::<f64>() / 255.0;
        for channel in at(21, 40) {
            assert!((channel - 85.0 * light).abs() < 0.04 * 255.0, "{channel} {light}");
        }
        for (corner, (x, y)) in [(4, 56), (54, 56), (4, 6)].into_iter().enumerate() {
            assert!(at(x, y)[corner] > 0.85 * 255.0 * light, "{corner} {:?} {light}", at(x, y));
        }
        let error = shaded(&mesh, Some(&[]), &view).unwrap_err().to_string();
        assert!(error.contains("colors"), "{error}");
    }

    #[test]
    fn strips_do_not_show() {
        let mesh = Mesh::build(&[[0.0f64, 0.0, 0.0], [3.0, 0.0, 1.0], [0.0, 2.0, 0.5]], &[[0, 1, 2]]).unwrap();
        let view = View { width: 30, height: 20, ..View::default() };
        let camera = Camera::new(&mesh, &view).unwrap();
        let (whole, rays) = strip(&mesh, None, &view, &camera, 0..20);
        let parts: Vec<_> = [0..7, 7..8, 8..20].map(|rows| strip(&mesh, None, &view, &camera, rows)).into();
        assert_eq!(parts.iter().flat_map(|part| part.0.clone()).collect::<Vec<_>>(), whole);
        assert_eq!(parts.iter().map(|part| part.1).sum::<u64>(), rays);
    }

    #[test]
    fn nothing_and_less_than_nothing() {
        let mesh = Mesh::<f64>::build(&[], &[]).unwrap();
        let view = View { width: 4, height: 3, ..View::default() };
        assert!(shaded(&mesh, None, &view).is_ok());
        for view in [
            View { width: 0, ..view },
            View { height: MOST + 1, ..view },
            View { azimuth: f64::NAN, ..view },
            View { elevation: 91.0, ..view },
        ] {
            assert!(shaded(&mesh, None, &view).is_err(), "{view:?}");
        }
    }
}
