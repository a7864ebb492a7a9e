//! Particles of other types than the linked ones: reading them, and writing the groups of each type.

use std::path::Path;

use ropewalk::{Error, ErrorKind};
use ropewalk_io::{Masses, Points, ReadOptions, Snapshot, Table};
use ropewalk_pipeline::{FoundHalos, HaloRows, Pipeline};

use super::files::{TypeSet, typed};
use super::read::read_options;
use crate::args::{Finder, Halos as Args};
use crate::failure::Failure;
use crate::input;
use crate::outputs::Outputs;
use crate::phases::Phases;

/// The particles of other types than the linked ones.
pub struct Others {
    /// The particles; `None` if no other types are to be read.
    pub snapshot: Option<Snapshot>,
    /// The types that get files, including those without particles in the snapshot.
    kinds: Vec<u8>,
}

/// Returns the types to be read in addition to the linked ones: those of `--attach`, or all others of the file.
pub fn wanted(args: &Args, linked: &Snapshot) -> Vec<u8> {
    if let Some(named) = args.particles.attached() {
        return named;
    }
    let is_linked = |kind: u8| args.particles.types.contains(&kind);
    linked.file_types.iter().map(|&(kind, _)| kind).filter(|&kind| !is_linked(kind)).collect()
}

/// Refuses to attach particles within a length in mean separations if only one file of a snapshot is read, since mean
/// separations are of all particles.
pub fn check_length(args: &Args, wanted: &[u8]) -> Result<(), Failure> {
    if args.particles.single_part && args.eps.is_none() && args.finder != Finder::Fof && !wanted.is_empty() {
        let message = "--single-part: other types join halos within the linking length, and mean separations are of all particles; give \
                       the length with --eps, or leave other types out with --attach none";
        return Err(message.into());
    }
    Ok(())
}

/// Returns the types of which the file has particles. Early snapshots of a series have no stars.
pub fn there(wanted: &[u8], linked: &Snapshot) -> Vec<u8> {
    let is_there = |kind: &u8| linked.file_types.iter().any(|&(other, count)| other == *kind && count > 0);
    wanted.iter().copied().filter(is_there).collect()
}

/// Refuses to attach types of which the snapshot has no particles. In a series, where early snapshots have no stars,
/// adds a note instead.
pub fn check_there(args: &Args, path: &Path, linked: &mut Snapshot, in_series: bool) -> Result<(), Failure> {
    let count = |kind: u8| linked.file_types.iter().find(|of| of.0 == kind).map_or(0, |of| of.1);
    let named = args.particles.attached().unwrap_or_default();
    let absent: Vec<u8> = named.into_iter().filter(|&kind| count(kind) == 0).collect();
    if absent.is_empty() {
        return Ok(());
    }
    let listed = |numbers: Vec<String>| numbers.join(", ");
    let absent = listed(absent.iter().map(u8::to_string).collect());
    let present = linked.file_types.iter().filter(|of| of.1 > 0).map(|(kind, count)| format!("{kind} ({count})"));
    let present = listed(present.collect());
    let message = format!("{} has no particles of type {absent}; types present: {present}", path.display());
    if !in_series {
        return Err(format!("--attach: {message}").into());
    }
    linked.notes.push(message);
    Ok(())
}

/// Returns the options for reading other types than the linked ones. Velocities are read if spins or group catalogues
/// need them. Ids are read for the types that have them.
pub fn options(args: &Args, kinds: &[u8]) -> ReadOptions {
    read_options(args, kinds).velocities(!args.so.is_empty() || args.group_catalog).partial_ids(true)
}

/// Adds the option that ignores other types to an error.
pub fn left_out(error: Failure) -> Failure {
    format!("{error}; --attach none leaves other types out").into()
}

/// Returns a snapshot without particles.
pub fn nothing() -> Result<Snapshot, Failure> {
    let mut none = Snapshot::new(Points::F32(Table::new(3, vec![])?));
    none.masses = Masses::Equal(0.0);
    Ok(none)
}

/// Returns an error about particles that cannot be attached, with the path of their file and the option that ignores
/// them.
pub fn refused(path: &Path, error: &Error) -> Failure {
    match (error.kind(), error.parameter()) {
        (ErrorKind::Missing, Some("masses" | "attach")) => {
            format!("--attach: {error}; give the types to attach, or leave all out with --attach none").into()
        }
        _ => format!("{}: {error}; --attach none leaves other types out", path.display()).into(),
    }
}

impl Others {
    /// Reads the particles of other types than the linked ones of a snapshot.
    pub fn read(
        args: &Args,
        path: &Path,
        in_series: bool,
        linked: &mut Snapshot,
        phases: &mut Phases,
    ) -> Result<Self, Failure> {
        let is_given = args.particles.attached().is_some_and(|kinds| !kinds.is_empty());
        let is_stream = path.as_os_str() == input::STANDARD_INPUT;
        if is_given && (linked.types.is_empty() || is_stream) {
            let why = if linked.types.is_empty() { "has no particle types" } else { "can be read only once" };
            return Err(format!("--attach: {} {why}", path.display()).into());
        }
        let wanted = if is_stream { vec![] } else { wanted(args, linked) };
        if wanted.is_empty() {
            return Ok(Self { snapshot: None, kinds: vec![] });
        }
        check_length(args, &wanted)?;
        check_there(args, path, linked, in_series)?;
        let there = there(&wanted, linked);
        let snapshot = match there[..] {
            [] => nothing()?,
            _ => input::read(path, &options(args, &there), phases).map_err(left_out)?,
        };
        Ok(Self { snapshot: Some(snapshot), kinds: wanted })
    }

    /// Returns the pipeline with these particles added.
    pub fn join<'a>(&'a self, path: &Path, pipeline: Pipeline<'a>) -> Result<Pipeline<'a>, Failure> {
        let Some(others) = &self.snapshot else { return Ok(pipeline) };
        pipeline.attaching(others).map_err(|error| refused(path, &error))
    }

    /// Returns the notes of the reader that are not in `known`.
    pub fn more_notes(&self, known: &[String]) -> Vec<String> {
        more_notes(self.snapshot.as_ref(), known)
    }

    /// Returns the types with files of their own, and the names of these files.
    pub fn typed(&self, args: &Args, linked: &Snapshot) -> Vec<(u8, Vec<&'static str>)> {
        let linked_kinds = kinds(args, linked);
        let linked_without = if linked.ids.is_some() { &[][..] } else { &linked_kinds };
        let without_ids = match &self.snapshot {
            Some(others) if others.ids.is_some() => &others.types_without_ids,
            // Without particles of other types it is unknown whether they have ids.
            Some(others) if others.points.is_empty() && linked.ids.is_some() => &[][..],
            _ => &self.kinds,
        };
        typed(
            TypeSet { kinds: &linked_kinds, without_ids: linked_without },
            TypeSet { kinds: &self.kinds, without_ids },
        )
    }

    /// Writes the rows of the catalogue and the ids of the particles of each type.
    pub fn write(
        &self,
        args: &Args,
        folder: &Path,
        linked: &Snapshot,
        found: &FoundHalos<'_>,
        rows: &HaloRows,
        outputs: &mut Outputs,
    ) -> Result<(), Failure> {
        let attached = found.attached.as_ref();
        for (kind, names) in self.typed(args, linked) {
            let (snapshot, labels) = match attached.filter(|_| self.kinds.contains(&kind)) {
                Some(attached) => (attached.snapshot(), &attached.labels[..]),
                None => (linked, found.halos.labels().as_slice()),
            };
            let ids = snapshot.ids.as_deref().unwrap_or_default();
            if let [labels_name, ids_name @ ..] = &names[..] {
                let labels = rows.of(&snapshot.of_type(kind, labels))?;
                outputs.write(folder.join(labels_name), |out| ropewalk_io::write_npy_i32_to(out, &labels))?;
                for name in ids_name {
                    let ids = snapshot.of_type(kind, ids);
                    outputs.write(folder.join(name), |out| ropewalk_io::write_npy_u64_to(out, &ids))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the notes of the reader of other particles that are not in `known`.
pub fn more_notes(others: Option<&Snapshot>, known: &[String]) -> Vec<String> {
    let notes = others.into_iter().flat_map(|others| &others.notes);
    notes.filter(|note| !known.contains(note)).cloned().collect()
}

/// Returns the linked types of the file, ascending, including types whose particles are on other ranks only.
pub fn kinds(args: &Args, linked: &Snapshot) -> Vec<u8> {
    let known = linked.file_types.iter().map(|&(kind, _)| kind);
    known.filter(|kind| args.particles.types.contains(kind)).collect()
}
