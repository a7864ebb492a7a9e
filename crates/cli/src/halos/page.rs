//! The page of `ropewalk halos --report`.

use std::path::Path;

use ropewalk_io::Snapshot;
use ropewalk_pipeline::{FoundHalos, Pipeline};
use ropewalk_plot::PictureFormat;
use ropewalk_report::{Catalogue, Cloud, CloudOptions, Figure, Groups, Report, Section};
use ropewalk_table::Catalog;

use crate::args::{Format, Halos as Args};
use crate::failure::Failure;
use crate::output_units::InUnits;
use crate::pictures::shown;
use crate::text::command_line;

/// The captions of pictures, by the beginning of their file names.
const CAPTIONS: [(&str, &str); 5] = [
    ("mass_function", "Mass function"),
    ("projection", "Projected density and halos"),
    ("dendrogram", "Subhalos of a halo"),
    ("profiles", "Density profiles of the largest halos"),
    ("gallery", "The largest halos with their centres"),
];

/// The pictures of a run that its page shows.
#[derive(Default)]
pub struct PageFigures {
    /// The arguments of pictures for the page, if those of the run are PDF files, which are not images in browsers.
    args: Option<Args>,
    is_wanted: bool,
    figures: Vec<Figure>,
}

impl PageFigures {
    pub fn new(args: &Args) -> Self {
        let is_wanted = args.report.is_some();
        let is_pdf = args.pictures.format == Some(Format::Pdf);
        let svg = || {
            let mut args = args.clone();
            args.pictures.format = Some(Format::Svg);
            args
        };
        Self { args: (is_wanted && is_pdf).then(svg), is_wanted, figures: vec![] }
    }

    /// Returns the arguments with which pictures are drawn again for the page; `None` if those of the run fit.
    pub fn other_format(&self) -> Option<Args> {
        self.args.clone()
    }

    /// Adds a picture, if the page can show it.
    pub fn add(&mut self, name: &str, bytes: &[u8]) {
        let caption = CAPTIONS.iter().find(|(stem, _)| name.starts_with(stem));
        let is_image = [PictureFormat::Png, PictureFormat::Svg].iter().any(|format| name.ends_with(format.ending()));
        if let (Some((_, caption)), true, true) = (caption, is_image, self.is_wanted) {
            self.figures.push(Figure { caption: (*caption).into(), image: bytes.to_vec() });
        }
    }

    /// Adds pictures.
    pub fn extend(&mut self, pictures: &[(&str, Vec<u8>)]) {
        pictures.iter().for_each(|(name, bytes)| self.add(name, bytes));
    }

    pub fn into_figures(self) -> Vec<Figure> {
        self.figures
    }
}

/// The results that a page shows.
pub struct RunPage<'a> {
    pub args: &'a Args,
    pub snapshot: &'a Snapshot,
    pub pipeline: &'a Pipeline<'a>,
    pub found: &'a FoundHalos<'a>,
    pub catalog: &'a Catalog,
    pub columns: InUnits<'a>,
    pub figures: Vec<Figure>,
}

impl RunPage<'_> {
    /// Returns the page. `lines` are those of the report; `timing` has the time of each phase.
    pub fn report(
        &self,
        path: &Path,
        lines: &[&[(String, String)]],
        timing: Vec<(String, String)>,
    ) -> Result<Report<'_>, Failure> {
        let Self { args, snapshot, pipeline, catalog, columns, .. } = self;
        let projection = shown(args, pipeline, catalog)?;
        let has_unit = pipeline.universe().known_units().length.is_some();
        let options = CloudOptions {
            period: pipeline.period(),
            unit: if has_unit { projection.units.length().into() } else { String::new() },
            length_factor: projection.units.length_factor(),
            ..CloudOptions::default()
        };
        let parents: Vec<Option<u32>> = catalog.subhalos().iter().map(|subhalo| subhalo.parent).collect();
        let labels = self.found.halos.labels();
        let groups = Groups { labels: labels.as_slice(), rows: catalog.labels(), parents: &parents };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut report = Report::new(format!("Halos of {name}"));
        report.subtitle = projection.title;
        report.command = command_line();
        report.cloud = Some(Cloud::new(&snapshot.points, &groups, &options)?);
        report.catalogue = Some(Catalogue::new(&columns.columns, columns.units)?);
        report.figures.clone_from(&self.figures);
        for (title, lines) in ["Snapshot", "Halos"].into_iter().zip(lines) {
            let (notes, lines): (Vec<_>, Vec<_>) = lines.iter().cloned().partition(|(name, _)| name == "note");
            report.notes.extend(notes.into_iter().map(|(_, note)| note));
            report.sections.push(Section { title: title.into(), lines });
        }
        report.sections.push(Section { title: "Time and memory before this page".into(), lines: timing });
        Ok(report)
    }
}
