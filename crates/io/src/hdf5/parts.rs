//! The files of a snapshot, and checks that they agree.
//!
//! In: one of the files, their folder, or the common part of their names. Out: all files in order, with their
//! headers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hdf5_reader::{FileStorage, Hdf5File};

use ropewalk::{Error, Result};

use crate::hdf5::file::File;
use crate::hdf5::header::Header;
use crate::reading::Reading;
use crate::split_files::{absent, missing, present};

/// The extensions of HDF5 files.
const EXTENSIONS: [&str; 3] = ["hdf5", "h5", "hdf"];

/// One file of a snapshot.
pub(super) struct SnapshotFile {
    pub file: File,
    pub header: Header,
}

/// The parsed name of a part: `snap_099.3.hdf5` is part 3 of the base `snap_099` with the extension `hdf5`.
#[derive(Clone, Debug, PartialEq)]
struct Name {
    folder: PathBuf,
    base: String,
    number: Option<u32>,
    end: Option<String>,
}

impl Name {
    fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let (stem, end) = match name.rsplit_once('.') {
            Some((stem, end)) if EXTENSIONS.contains(&end) => (stem, Some(end.to_string())),
            _ => (name, None),
        };
        let (base, number) = match stem.rsplit_once('.').map(|(base, number)| (base, number.parse().ok())) {
            Some((base, Some(number))) => (base, Some(number)),
            _ => (stem, None),
        };
        Some(Self { folder, base: base.to_string(), number, end })
    }

    fn part(&self, k: u32) -> PathBuf {
        let end = self.end.as_ref().map_or(String::new(), |end| format!(".{end}"));
        self.folder.join(format!("{}.{k}{end}", self.base))
    }
}

/// Returns the parts of the split snapshot that `path` belongs to by its name; empty if its name has no part number.
pub(super) fn named(path: &Path) -> Vec<PathBuf> {
    let name = Name::from_path(path).filter(|name| name.number.is_some() && name.end.is_some());
    let Some(name) = name else { return vec![] };
    (0..=u32::MAX).map(|k| name.part(k)).take_while(|part| part.is_file()).collect()
}

/// Returns the parts of which `path`, by its name, is the virtual file that SWIFT creates. For `snap.hdf5`, these are
/// `snap.0.hdf5`, `snap.1.hdf5`, and so on, beside it or in a folder named `snap`.
pub(super) fn viewed(path: &Path) -> Vec<PathBuf> {
    let name = Name::from_path(path).filter(|name| name.number.is_none() && name.end.is_some());
    let Some(name) = name else { return vec![] };
    let inside = Name { folder: name.folder.join(&name.base), ..name.clone() };
    let Some(found) = [name, inside].into_iter().find(|name| name.part(0).is_file()) else { return vec![] };
    (0..=u32::MAX).map(|k| found.part(k)).take_while(|part| part.is_file()).collect()
}

/// Returns the first file of the snapshot that a path names without being a file. The path is a name without the part
/// number, or with `*` in its place.
pub(super) fn first(path: &Path) -> Option<PathBuf> {
    let text = path.to_str()?;
    let star = text.contains('*').then(|| PathBuf::from(text.replacen('*', "0", 1)));
    let ends = || EXTENSIONS.into_iter();
    let bare = ends().map(|end| PathBuf::from(format!("{text}.0.{end}")));
    let whole = ends().map(|end| PathBuf::from(format!("{text}.{end}")));
    let less =
        Name::from_path(path).filter(|name| name.number.is_none() && name.end.is_some()).map(|name| name.part(0));
    star.into_iter().chain(less).chain(bare).chain(whole).find(|file| file.is_file())
}

/// Returns `true` for the extension of an HDF5 file.
pub(super) fn is_ending(end: &OsStr) -> bool {
    end.to_str().is_some_and(|end| EXTENSIONS.contains(&end))
}

/// Returns `true` if an HDF5 file has a group of particles; `false` also if the file cannot be read.
pub(super) fn has_particles(path: &Path) -> bool {
    let groups = || -> Option<Vec<String>> {
        let hdf5 = Hdf5File::from_storage(Arc::new(FileStorage::open(path).ok()?)).ok()?;
        Some(hdf5.root_group().ok()?.member_names().ok()?.0)
    };
    groups().unwrap_or_default().iter().any(|name| name.starts_with("PartType"))
}

/// Opens all files of the snapshot that `path` names or belongs to, and checks that they agree.
pub(super) fn open_all(path: &Path, reading: &Reading<'_>) -> Result<Vec<SnapshotFile>> {
    let file = File::open(path, reading)?;
    let mut header = Header::read(&file)?;
    if reading.options.single_part && header.files > 1 {
        reading.mark_single_file(header.files);
        header.counts.clone_from(&header.here);
        header.notes.push(format!(
            "{} is one of {} files of a snapshot: only its {} particles are read",
            path.display(),
            header.files,
            header.here.iter().fold(0, |sum: u64, &n| sum.saturating_add(n))
        ));
        return Ok(vec![SnapshotFile { file, header }]);
    }
    if is_view(&file, &header)? {
        return open_viewed(path, &header, reading);
    }
    if header.files == 1 {
        let parts = vec![SnapshotFile { file, header }];
        check_counts(&parts)?;
        return Ok(parts);
    }
    let files = header.files;
    let name = Name::from_path(path).filter(|name| name.number.is_some_and(|k| k < files));
    let Some(name) = name else {
        let last = files - 1;
        let message = format!(
            "is one of {files} files of a snapshot, but its name needs a part number .0 to .{last} before the extension"
        );
        return Err(Error::file(path, message));
    };
    open_parts(&name, files, reading)
}

/// Opens the files of a snapshot that exist, and checks that they agree. Also returns a note about missing files.
pub(super) fn open_present(path: &Path, reading: &Reading<'_>) -> Result<(Vec<SnapshotFile>, Option<String>)> {
    let file = File::open(path, reading)?;
    let header = Header::read(&file)?;
    let files = header.files;
    if files == 1 || is_view(&file, &header)? {
        return Ok((open_all(path, reading)?, None));
    }
    let Some(name) = Name::from_path(path).filter(|name| name.number.is_some_and(|k| k < files)) else {
        let note = format!("one of {files} files of a snapshot; its name has no number, so the others are not found");
        return Ok((vec![SnapshotFile { file, header }], Some(note)));
    };
    let present = present(files, &|k| name.part(k));
    let (Some(note), false) = (absent(files, &present, &|k| name.part(k)), present.is_empty()) else {
        return Ok((open_parts(&name, files, reading)?, None));
    };
    let mut parts: Vec<SnapshotFile> = vec![];
    for k in present {
        let path = name.part(k);
        let file = File::open(&path, reading)?;
        let header = Header::read(&file)?;
        if let Some(first) = parts.first() {
            first.header.check_same(&header, &path)?;
        }
        parts.push(SnapshotFile { file, header });
    }
    Ok((parts, Some(note)))
}

fn open_parts(name: &Name, files: u32, reading: &Reading<'_>) -> Result<Vec<SnapshotFile>> {
    let mut parts: Vec<SnapshotFile> = vec![];
    for k in 0..files {
        let path = name.part(k);
        if !path.exists() {
            return Err(Error::file(path, missing(files)));
        }
        let file = File::open(&path, reading)?;
        let header = Header::read(&file)?;
        if let Some(first) = parts.first() {
            first.header.check_same(&header, &path)?;
        }
        parts.push(SnapshotFile { file, header });
    }
    check_counts(&parts)?;
    Ok(parts)
}

/// Returns `true` if a file is a view of data in other files, as the virtual file that SWIFT creates for the parts.
fn is_view(file: &File, header: &Header) -> Result<bool> {
    for (t, _) in header.here.iter().enumerate().filter(|(_, n)| **n > 0) {
        if file.is_virtual(&format!("PartType{t}"), "Coordinates")? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Opens the parts of a view, which have its name, in its folder or in a subfolder with its name.
fn open_viewed(path: &Path, view: &Header, reading: &Reading<'_>) -> Result<Vec<SnapshotFile>> {
    let Some(name) = Name::from_path(path) else {
        return Err(Error::file(path, "has a name from which those of its parts cannot be derived"));
    };
    let inside = Name { folder: name.folder.join(&name.base), ..name.clone() };
    let Some(found) = [&name, &inside].into_iter().find(|name| name.part(0).is_file()) else {
        let message = format!(
            "has virtual datasets, whose values are in other files; neither {} nor {} exists",
            name.part(0).display(),
            inside.part(0).display()
        );
        return Err(Error::file(path, message));
    };
    let files = Header::read(&File::open(&found.part(0), reading)?)?.files;
    let parts = open_parts(found, files, reading)?;
    match parts.first() {
        Some(first) if first.header.counts != view.here => {
            let (here, parts) = (&view.here, &first.header.counts);
            Err(Error::file(path, format!("has {here:?} particles of each type, but its parts have {parts:?}")))
        }
        _ => Ok(parts),
    }
}

/// Returns an error if the files do not hold the total numbers of particles in their headers.
fn check_counts(parts: &[SnapshotFile]) -> Result<()> {
    let Some(first) = parts.first() else { return Ok(()) };
    for (t, &promised) in first.header.counts.iter().enumerate() {
        let here = parts.iter().map(|part| part.header.here.get(t).copied().unwrap_or(0));
        let found = here.fold(0, u64::saturating_add);
        if found != promised {
            let n = parts.len();
            return Err(first.file.error(format!(
                "its header declares {promised} particles of type {t}, but the {n} files of the snapshot hold {found}"
            )));
        }
    }
    Ok(())
}
