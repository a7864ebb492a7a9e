//! The files of one run: catalogues, labels, profiles and pictures.

use std::io::Write as _;
use std::path::Path;

use ropewalk::halo::Profile;
use ropewalk_io::{Snapshot, TableFormat, TableWriter};
use ropewalk_pipeline::{FoundHalos, HaloName, HaloRows, Pipeline, profile_columns};
use ropewalk_table::Catalog;
use ropewalk_table::columns::{Meta, write_ecsv};

use super::files::{Catalogs, DENSITY, GROUPS, LABELS, MEMBERS, Members, PROFILES, REPORT, STANDARD_OUTPUT};
use super::other_types::Others;
use super::page::{PageFigures, RunPage};
use crate::args::Halos as Args;
use crate::failure::Failure;
use crate::largest::{gallery, profiles_picture};
use crate::output_units::in_units;
use crate::outputs::Outputs;
use crate::pictures::{Picture, mass_function, pictures};

/// Writes the files of a run into its folder.
pub struct RunWriter<'a> {
    args: &'a Args,
    catalogs: &'a Catalogs,
    folder: &'a Path,
    /// The path of the snapshot.
    snapshot: &'a Path,
    pipeline: &'a Pipeline<'a>,
    /// The entries for the headers of tables.
    meta: Vec<(&'static str, Meta)>,
    outputs: &'a mut Outputs,
    /// The pictures of the report.
    figures: PageFigures,
}

impl<'a> RunWriter<'a> {
    /// Returns a writer into `folder`, for the halos that `pipeline` finds in `snapshot`.
    pub fn new(
        args: &'a Args,
        catalogs: &'a Catalogs,
        folder: &'a Path,
        snapshot: &'a Path,
        pipeline: &'a Pipeline<'a>,
        outputs: &'a mut Outputs,
    ) -> Self {
        let mut meta = vec![("snapshot", Meta::Text(snapshot.display().to_string()))];
        meta.extend(pipeline.meta());
        let figures = PageFigures::new(args);
        Self { args, catalogs, folder, snapshot, pipeline, meta, outputs, figures }
    }

    /// Writes lists of members, if there are any, and the catalogue in each of its formats.
    pub fn catalogs(&mut self, catalog: &Catalog, members: Option<Members>) -> Result<(), Failure> {
        if let Some(members) = &members {
            self.outputs.write(self.folder.join(MEMBERS), |out| ropewalk_io::write_npz_to(out, members))?;
        }
        let columns = in_units(self.args, self.pipeline, catalog.columns(), catalog.column_units(), &self.meta)?;
        let table = || TableWriter::new(&columns.columns).units(columns.units).meta(&columns.meta);
        for (name, format) in &self.catalogs.names {
            // Only HDF5 catalogues store members.
            let members = members.as_deref().filter(|_| *format == TableFormat::Hdf5).unwrap_or_default();
            self.outputs.write(self.folder.join(name), |out| table().members(members).write(out, *format))?;
        }
        if self.catalogs.to_stdout {
            self.outputs.write(STANDARD_OUTPUT, |out| table().write(out, TableFormat::Ecsv))?;
        }
        Ok(())
    }

    /// Writes the group catalogue of `--group-catalog`.
    pub fn group_catalog(&mut self, found: &FoundHalos<'_>, catalog: &Catalog) -> Result<(), Failure> {
        let write = |out: &mut _| self.pipeline.write_group_catalog(out, found, catalog);
        self.outputs.write(self.folder.join(GROUPS), write)
    }

    /// Writes the row of the catalogue of each linked particle and, with `--density`, its density.
    pub fn labels(&mut self, found: &FoundHalos<'_>, rows: &HaloRows) -> Result<(), Failure> {
        let labels = rows.of(found.halos.labels().as_slice())?;
        self.outputs.write(self.folder.join(LABELS), |out| ropewalk_io::write_npy_i32_to(out, &labels))?;
        if let Some(density) = found.density().filter(|_| self.args.density) {
            self.outputs.write(self.folder.join(DENSITY), |out| ropewalk_io::write_npy_f64_to(out, density))?;
        }
        Ok(())
    }

    /// Writes the rows of the catalogue and the ids of the particles of each type.
    pub fn types(
        &mut self,
        others: &Others,
        linked: &Snapshot,
        found: &FoundHalos<'_>,
        rows: &HaloRows,
    ) -> Result<(), Failure> {
        others.write(self.args, self.folder, linked, found, rows, self.outputs)
    }

    /// Writes the projection, mass function and dendrogram. Adds notes on missing parts to `remarks`.
    pub fn pictures(
        &mut self,
        snapshot: &Snapshot,
        catalog: &Catalog,
        remarks: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let all = pictures(self.args, snapshot, self.pipeline, catalog, &self.meta, remarks)?;
        if let Some(args) = self.figures.other_format() {
            let again = pictures(&args, snapshot, self.pipeline, catalog, &self.meta, &mut vec![])?;
            self.figures.extend(&again);
        }
        self.pictures_by_name(all)
    }

    /// Writes the picture and table of the mass function. Adds notes on missing parts to `remarks`.
    pub fn mass_function(&mut self, catalog: &Catalog, remarks: &mut Vec<String>) -> Result<(), Failure> {
        let all = mass_function(self.args, self.pipeline, catalog, &self.meta, remarks)?;
        self.pictures_by_name(all)
    }

    fn pictures_by_name(&mut self, all: Vec<(&'static str, Vec<u8>)>) -> Result<(), Failure> {
        all.iter().try_for_each(|(name, bytes)| self.bytes(name, bytes))
    }

    /// Writes the bytes of a finished picture.
    pub fn picture(&mut self, picture: Picture, bytes: &[u8]) -> Result<(), Failure> {
        self.bytes(picture.file(self.args), bytes)
    }

    /// Writes the page of `--report`. `lines` are those of the report on the snapshot and on its halos; `timing` has
    /// the time of each phase.
    pub fn page(
        &mut self,
        snapshot: &Snapshot,
        found: &FoundHalos<'_>,
        catalog: &Catalog,
        lines: &[&[(String, String)]],
        timing: Vec<(String, String)>,
    ) -> Result<(), Failure> {
        let columns = in_units(self.args, self.pipeline, catalog.columns(), catalog.column_units(), &self.meta)?;
        let figures = std::mem::take(&mut self.figures).into_figures();
        let page = RunPage { args: self.args, snapshot, pipeline: self.pipeline, found, catalog, columns, figures };
        let report = page.report(self.snapshot, lines, timing)?;
        let path = match &self.args.report {
            Some(Some(path)) => path.clone(),
            _ => self.folder.join(REPORT),
        };
        self.outputs.write(path, |out| report.write(out))
    }

    fn bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.figures.add(name, bytes);
        self.outputs.write(self.folder.join(name), |out| out.write_all(bytes))
    }

    /// Writes density profiles with their fits, and their picture. `halos`, `profiles` and `r200c` have one entry per
    /// halo.
    pub fn profiles(&mut self, halos: &[HaloName], profiles: &[Profile], r200c: &[Option<f64>]) -> Result<(), Failure> {
        let pipeline = self.pipeline;
        let columns = profile_columns(pipeline.finder().column_prefix(), halos, profiles);
        let table = in_units(self.args, pipeline, &columns, pipeline.universe().known_units(), &self.meta)?;
        let write = |out: &mut _| write_ecsv(out, &table.columns, table.units, &table.meta);
        self.outputs.write(self.folder.join(PROFILES), write)?;
        if self.args.no_pictures {
            return Ok(());
        }
        let picture = profiles_picture(self.args, pipeline, halos, profiles, r200c)?;
        if let Some(args) = self.figures.other_format() {
            let again = profiles_picture(&args, pipeline, halos, profiles, r200c)?;
            self.figures.extend(&[(Picture::Profiles.file(&args), again)]);
        }
        self.picture(Picture::Profiles, &picture)
    }

    /// Writes the picture of `--gallery`.
    pub fn gallery(&mut self, found: &FoundHalos<'_>, catalog: &Catalog) -> Result<(), Failure> {
        let picture = gallery(self.args, self.pipeline, found, catalog)?;
        if let Some(args) = self.figures.other_format() {
            let again = gallery(&args, self.pipeline, found, catalog)?;
            self.figures.extend(&[(Picture::Gallery.file(&args), again)]);
        }
        self.picture(Picture::Gallery, &picture)
    }
}
