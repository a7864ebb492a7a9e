//! The report of a halo catalogue: an interactive page in one HTML file.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ropewalk::internals::memory::collected;
use ropewalk_report::{Cloud, CloudOptions, Figure, Groups, Report, Section};

use crate::arrays::Rows;
use crate::calls::run;
use crate::halos::{HaloTable, Halos};

/// The parts of a page beside particles and catalogue, from a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PageArguments {
    title: String,
    subtitle: String,
    /// The caption and the file of each figure: SVG or PNG.
    figures: Vec<(String, Vec<u8>)>,
    /// Names and values below the heading "Settings".
    settings: Vec<(String, String)>,
    /// The maximum number of particles in the view.
    max_points: usize,
}

/// Returns a page with the catalogue `table` and its particles, coloured by halo.
#[pyfunction]
#[pyo3(signature = (halos, table, positions, page))]
pub fn halo_report<'py>(
    py: Python<'py>,
    halos: &Bound<'py, Halos>,
    table: &Bound<'py, HaloTable>,
    positions: Rows,
    page: PageArguments,
) -> PyResult<Bound<'py, PyBytes>> {
    let (halos, table) = (halos.get(), table.get());
    let write = || {
        let figures = &halos.figures;
        let options = CloudOptions {
            period: figures.period,
            max_points: page.max_points,
            unit: figures.known_length().unwrap_or_default().into(),
            length_factor: figures.units.length_factor(),
            ..CloudOptions::default()
        };
        let rows: Vec<u32> = collected(0..figures.catalog.halos().len() as u32);
        let parents: Vec<Option<u32>> = figures.catalog.subhalos().iter().map(|subhalo| subhalo.parent).collect();
        let groups = Groups { labels: halos.rows_of_particles(), rows: &rows, parents: &parents };
        let mut report = Report::new(page.title);
        report.subtitle = page.subtitle;
        report.cloud = Some(Cloud::new(&positions.0, &groups, &options)?);
        report.catalogue = Some(table.catalogue()?);
        report.figures = page.figures.into_iter().map(|(caption, image)| Figure { caption, image }).collect();
        report.sections.push(Section { title: "Settings".into(), lines: page.settings });
        report.notes = halos.notes().to_vec();
        let mut bytes = vec![];
        report.write(&mut bytes)?;
        Ok(bytes)
    };
    Ok(PyBytes::new(py, &run(py, None, write)?))
}
