//! Figures: the drawings of the program, as bytes of PNG, SVG or PDF files.
//!
//! In: the data of a figure, and a format with a resolution. Out: the bytes of a file. `ropewalk-plot` draws.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ropewalk::halo::Particles;
use ropewalk::internals::memory::collected;
use ropewalk::{Error, ErrorKind, Labels, Result, Scalar};
use ropewalk_io::Points;
use ropewalk_plot::{AxisUnits, ClusterPicture, LineOfSight, Map, PictureFormat, Projection, Slab, Style, View};
use ropewalk_table::{Catalog, knee};

use crate::arrays::Rows;
use crate::calls::run;
use crate::errors::unknown;
use crate::halo_figures::HaloFigures;
use crate::halos::{Halos, Mass};
use crate::hdbscan::Clusters;
use crate::mesh::{Mesh, TypedMesh};

/// A format by its file extension, and a resolution in pixels per inch.
#[derive(FromPyObject)]
pub struct StyleArguments(String, Option<f64>);

impl StyleArguments {
    fn style(&self) -> Result<Style> {
        let format = PictureFormat::ALL.into_iter().find(|format| format.ending() == self.0);
        format.map_or_else(|| unknown("format", &self.0), |format| Ok(Style::new(format).dpi(self.1)))
    }
}

/// Draws without the GIL, on all threads of the package.
fn drawn<'py>(py: Python<'py>, draw: impl FnOnce() -> Result<Vec<u8>> + Send) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &run(py, None, draw)?))
}

/// Draws points in the plane or in space, coloured by cluster. `axes` has the names of the coordinates, or none.
#[pyfunction]
#[pyo3(signature = (points, labels, axes, eps, period, title, style))]
pub fn draw_clusters<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, i32>,
    axes: Vec<String>,
    eps: f64,
    period: Option<f64>,
    title: [String; 2],
    style: StyleArguments,
) -> PyResult<Bound<'py, PyBytes>> {
    let (dim, points, labels) = (points.shape()[1], points.as_slice()?, labels.as_slice()?);
    let shown = ClusterPicture { title, axes, eps, period };
    drawn(py, || {
        let (labels, style) = (Labels::from_slice(labels)?, style.style()?);
        match dim {
            3 => ropewalk_plot::clusters(points.as_chunks::<3>().0, &labels, &shown, style),
            _ => ropewalk_plot::clusters(points.as_chunks::<2>().0, &labels, &shown, style),
        }
    })
}

/// Draws the condensed tree of HDBSCAN*.
#[pyfunction]
#[pyo3(signature = (clusters, title, style))]
pub fn draw_condensed_tree<'py>(
    py: Python<'py>,
    clusters: &Bound<'py, Clusters>,
    title: &str,
    style: StyleArguments,
) -> PyResult<Bound<'py, PyBytes>> {
    let found = &clusters.get().found;
    drawn(py, || ropewalk_plot::condensed_tree(found, title, style.style()?))
}

/// Draws rows of the catalogue side by side. `attached` has types and the positions of their particles. `centers` has
/// the middle parts of the names of columns, and names for the legend.
#[pyfunction]
#[pyo3(signature = (halos, rows, positions, attached, centers, title, style))]
pub fn draw_gallery<'py>(
    py: Python<'py>,
    halos: &Bound<'py, Halos>,
    rows: Vec<usize>,
    positions: Rows,
    attached: Vec<(u8, Rows)>,
    centers: Vec<(String, String)>,
    title: &str,
    style: StyleArguments,
) -> PyResult<Bound<'py, PyBytes>> {
    let halos = halos.get();
    drawn(py, || {
        let joined: Vec<Vec<Vec<usize>>> =
            attached.iter().map(|(kind, _)| halos.attached_members(*kind, &rows)).collect();
        let members = |place: usize| {
            let linked = halos.row(rows[place]).iter().filter_map(|&i| positions.0.in_space(i as usize));
            let of_type = |((kind, points), lists): (&(u8, Rows), &Vec<Vec<usize>>)| {
                (*kind, lists[place].iter().filter_map(|&i| points.0.in_space(i)).collect())
            };
            (linked.collect(), attached.iter().zip(&joined).map(of_type).collect())
        };
        halos.figures.gallery(&rows, &centers, members, title, style.style()?)
    })
}

/// Draws ascending distances to `k`-th neighbours. Also returns the distance at the knee, and draws nothing if `style`
/// is `None`.
#[pyfunction]
#[pyo3(signature = (sorted, k, title, style))]
pub fn draw_k_distances<'py>(
    py: Python<'py>,
    sorted: PyReadonlyArray1<'py, f64>,
    k: usize,
    title: &str,
    style: Option<StyleArguments>,
) -> PyResult<(Option<f64>, Option<Bound<'py, PyBytes>>)> {
    let sorted = sorted.as_slice()?;
    let knee = knee(sorted);
    let picture =
        style.map(|style| drawn(py, || ropewalk_plot::k_distances(sorted, k, knee, title, "", style.style()?)));
    Ok((knee.and_then(|[_, at]| sorted.get(at).copied()), picture.transpose()?))
}

/// Draws values on a grid as colours.
#[pyfunction]
#[pyo3(signature = (values, corners, axes, name, title, style))]
pub fn draw_value_map<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    corners: [[f64; 2]; 2],
    axes: [String; 2],
    name: String,
    title: String,
    style: StyleArguments,
) -> PyResult<Bound<'py, PyBytes>> {
    let cells = [values.shape()[0], values.shape()[1]];
    let values = values.as_slice()?;
    let grid = Map { cells, corners, axes, name, title };
    drawn(py, || ropewalk_plot::map(values, &grid, style.style()?))
}

/// Renders a mesh as PNG.
#[pyfunction]
#[pyo3(signature = (mesh, colors, azimuth, elevation, width, height))]
pub fn draw_mesh<'py>(
    py: Python<'py>,
    mesh: &Bound<'py, Mesh>,
    colors: Option<PyReadonlyArray3<'py, u8>>,
    azimuth: f64,
    elevation: f64,
    width: usize,
    height: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let mesh = &mesh.get().0;
    if let Some(colors) = colors.as_ref().filter(|colors| colors.shape()[1..] != [3, 3]) {
        let sentence = format!("colors have the shape {:?}; expected three corners of three channels", colors.shape());
        return Err(PyValueError::new_err(sentence));
    }
    let colors = colors.as_ref().map(|colors| colors.as_slice()).transpose()?;
    let colors = colors.map(|colors| colors.as_chunks::<3>().0.as_chunks::<3>().0);
    drawn(py, || {
        let view = View { azimuth, elevation, width, height };
        let (picture, _) = match mesh {
            TypedMesh::F32(mesh, _) => ropewalk_plot::shaded(mesh, colors, &view)?,
            TypedMesh::F64(mesh) => ropewalk_plot::shaded(mesh, colors, &view)?,
        };
        Ok(picture)
    })
}

/// Returns words for titles: the finder and the mass of halos, and the box.
#[pyfunction]
pub fn describe_halos(halos: &Bound<'_, Halos>) -> (String, String) {
    let figures = &halos.get().figures;
    (figures.described_halos.clone(), figures.described_box.clone())
}

/// Describes the mass of a row for titles, after its number of particles.
#[pyfunction]
pub fn describe_mass(halos: &Bound<'_, Halos>, row: usize) -> String {
    halos.get().figures.described_mass(row)
}

/// Draws the mass function of a catalogue, with the expected ones if they are known.
#[pyfunction]
#[pyo3(signature = (halos, title, style))]
pub fn draw_mass_function<'py>(
    py: Python<'py>,
    halos: &Bound<'py, Halos>,
    title: &str,
    style: StyleArguments,
) -> PyResult<Bound<'py, PyBytes>> {
    let figures = &halos.get().figures;
    drawn(py, || figures.mass_function(title, style.style()?))
}

/// Draws the density profiles of rows of the catalogue that have one.
#[pyfunction]
#[pyo3(signature = (halos, rows, title, style))]
pub fn draw_profiles<'py>(
    py: Python<'py>,
    halos: &Bound<'py, Halos>,
    rows: Vec<usize>,
    title: &str,
    style: StyleArguments,
) -> PyResult<Bound<'py, PyBytes>> {
    let figures = &halos.get().figures;
    drawn(py, || figures.profiles(&rows, title, style.style()?))
}

/// Draws a halo of AdaptaHOP with its subhalos.
#[pyfunction]
#[pyo3(signature = (halos, row, title, style))]
pub fn draw_subhalos<'py>(
    py: Python<'py>,
    halos: &Bound<'py, Halos>,
    row: usize,
    title: &str,
    style: StyleArguments,
) -> PyResult<Bound<'py, PyBytes>> {
    let figures = &halos.get().figures;
    drawn(py, || ropewalk_plot::dendrogram(&figures.catalog, row, title, style.style()?))
}

/// The picture of a projection, without its particles.
struct Shown<'a> {
    figures: Option<&'a HaloFigures>,
    period: Option<f64>,
    /// The line of sight, 0 for x.
    axis: usize,
    /// The ends of a slab along it.
    slab: Option<[f64; 2]>,
    title: &'a str,
    style: StyleArguments,
}

impl Shown<'_> {
    fn draw<S: Scalar>(&self, particles: Particles<'_, S>) -> Result<Vec<u8>> {
        let particles = particles.periodic(self.period);
        let units = self.figures.map_or_else(AxisUnits::default, |figures| figures.units.clone());
        let slab = self.slab.map(|ends| Slab::new(self.axis, ends)).transpose()?;
        let axis = [LineOfSight::X, LineOfSight::Y, LineOfSight::Z].get(self.axis).copied().unwrap_or_default();
        let shown = Projection { title: self.title.into(), units, slab, axis };
        let style = self.style.style()?;
        match self.figures {
            Some(figures) => ropewalk_plot::projection(&particles, &figures.catalog, &shown, style),
            None => {
                let none = ropewalk::Halos::new(Labels::from_slice(&collected((0..particles.len()).map(|_| -1)))?, 1);
                ropewalk_plot::projection(&particles, &Catalog::new(&none, &particles)?, &shown, style)
            }
        }
    }
}

/// Draws the density of particles along an axis, with the halos of a catalogue, if one is given. `period` is the side
/// of the periodic box of particles without a catalogue. `axis` is the line of sight, 0 for x.
#[pyfunction]
#[pyo3(signature = (halos, positions, masses, period, axis, slab, title, style))]
pub fn draw_projection<'py>(
    py: Python<'py>,
    halos: Option<&Bound<'py, Halos>>,
    positions: Rows,
    masses: Option<Mass<'py>>,
    period: Option<f64>,
    axis: usize,
    slab: Option<[f64; 2]>,
    title: &str,
    style: StyleArguments,
) -> PyResult<Bound<'py, PyBytes>> {
    let figures = halos.map(|halos| &halos.get().figures);
    let period = figures.map_or(period, |figures| figures.period);
    let shown = Shown { figures, period, axis, slab, title, style };
    let masses = match &masses {
        Some(Mass::Each(masses)) => Weights::Each(masses.as_slice()?),
        Some(Mass::Equal(mass)) => Weights::Equal(*mass),
        None => Weights::Equal(1.0),
    };
    drawn(py, || match &positions.0 {
        Points::F32(table) => shown.draw(masses.of(table.rows())?),
        Points::F64(table) => shown.draw(masses.of(table.rows())?),
    })
}

/// The masses of particles.
enum Weights<'a> {
    Equal(f64),
    Each(&'a [f64]),
}

impl<'a> Weights<'a> {
    fn of<S: Scalar>(&self, positions: Option<&'a [[S; 3]]>) -> Result<Particles<'a, S>> {
        let without = || Error::new(ErrorKind::Internal, "internal error: positions without three coordinates");
        let particles = Particles::new(positions.ok_or_else(without)?);
        Ok(match *self {
            Self::Equal(mass) => particles.mass(mass),
            Self::Each(masses) => particles.masses(masses),
        })
    }
}
