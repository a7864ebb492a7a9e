//! The folder of a RAMSES output, and the metadata in its text files.
//!
//! In: `output_00080`, or a file in it. Out: the numbers in `info_00080.txt`, and the columns of particle files.
//! Their names come from `part_file_descriptor.txt`, from `header_00080.txt`, or else from the convention of early
//! versions. Source: RAMSES, "Outputs" in its documentation; yt's and pynbody's frontends for the versions in use.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use ropewalk::units::{Frame, KnownUnits, LengthUnit, MassUnit, VelocityUnit};
use ropewalk::{Error, Result};

use crate::Background;

/// The maximum number of bytes that are read of a text file. Real files have a few thousand bytes, and a line per
/// process.
const LONGEST: u64 = 1 << 24;
/// A limit above the number of processes on any machine.
const MAX_FILES: f64 = 1e7;

/// The metadata of an output.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub folder: PathBuf,
    /// The number of the output as text, such as `00080`.
    number: String,
    pub files: u32,
    pub dimensions: usize,
    pub box_size: f64,
    /// The scale factor of a cosmological run; `None` for other runs.
    pub scale_factor: Option<f64>,
    pub background: Background,
    pub units: KnownUnits,
}

/// Returns the folder and the number of the output that `path` names or belongs to.
pub(super) fn find(path: &Path) -> Option<(PathBuf, String)> {
    if path.is_dir() {
        let mut numbers = fs::read_dir(path).ok()?.filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            number_of(name.strip_prefix("info_")?.strip_suffix(".txt")?)
        });
        let number = numbers.next()?;
        return numbers.next().is_none().then(|| (path.to_path_buf(), number));
    }
    let name = path.file_name()?.to_str()?;
    let info = name.strip_prefix("info_").and_then(|rest| rest.strip_suffix(".txt"));
    let number = number_of(info.or_else(|| Some(name.strip_prefix("part_")?.split_once(".out")?.0))?)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.join(format!("info_{number}.txt")).is_file().then(|| (folder.to_path_buf(), number))
}

/// Returns the text if it consists only of digits, such as `00080`.
fn number_of(text: &str) -> Option<String> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.to_string())
}

impl Output {
    pub(super) fn read(folder: PathBuf, number: String) -> Result<Self> {
        let path = folder.join(format!("info_{number}.txt"));
        let text = text(&path).map_err(|error| Error::io(&path, "cannot be read", error))?;
        let lines: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('=')).collect();
        let value = |key: &str| -> Result<f64> {
            let found = lines.iter().find(|(own, _)| own.trim() == key).map(|(_, value)| value.trim());
            let Some(found) = found else { return Err(Error::file(&path, format!("has no line for {key}"))) };
            // Fortran may write exponents with a D.
            match found.replace(['D', 'd'], "e").parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(Error::file(&path, format!("has {key} = {}, which is not a number", found.escape_debug()))),
            }
        };
        let within = |key: &str, range: std::ops::RangeInclusive<f64>| {
            let value = value(key)?;
            let must = || format!("has {key} = {value}; it must be from {} to {}", range.start(), range.end());
            if range.contains(&value) { Ok(value) } else { Err(Error::file(&path, must())) }
        };
        let positive = |key: &str| within(key, f64::MIN_POSITIVE..=f64::MAX);
        let (aexp, h0, time) = (positive("aexp")?, positive("H0")?, value("time")?);
        // Runs without expansion have these values.
        let is_cosmological = !(time >= 0.0 && h0 == 1.0 && aexp == 1.0);
        let (unit_l, unit_d, unit_t) = (positive("unit_l")?, positive("unit_d")?, positive("unit_t")?);
        let length = format!("{unit_l:e} cm").parse::<LengthUnit>().ok();
        let frame = if is_cosmological { Frame::Comoving } else { Frame::Physical };
        let units = KnownUnits {
            // The unit is physical, but the coordinates are comoving.
            length: length.map(|unit| LengthUnit { mpc: unit.mpc / aexp, frame, ..unit }),
            mass: format!("{:e} g", unit_d * unit_l.powi(3)).parse::<MassUnit>().ok(),
            velocity: Some(VelocityUnit { km_s: unit_l / unit_t * 1e-5, is_internal: false }),
        };
        let background = if is_cosmological {
            Background { omega_m: Some(value("omega_m")?), omega_lambda: Some(value("omega_l")?), h: Some(h0 / 100.0) }
        } else {
            Background::default()
        };
        Ok(Self {
            files: within("ncpu", 1.0..=MAX_FILES)? as u32,
            dimensions: within("ndim", 1.0..=3.0)? as usize,
            box_size: positive("boxlen")?,
            scale_factor: is_cosmological.then_some(aexp),
            background,
            units,
            folder,
            number,
        })
    }

    /// Returns the file with the particles of a process; processes are numbered from 1.
    pub(super) fn part(&self, process: u32) -> PathBuf {
        self.folder.join(format!("part_{}.out{process:05}", self.number))
    }

    /// Returns `true` if the output has gas, which is not stored as particles.
    pub(super) fn has_gas(&self) -> bool {
        self.folder.join(format!("hydro_{}.out00001", self.number)).exists()
    }

    /// Returns notes about files of the output that are not read.
    pub(super) fn unread(&self) -> Vec<String> {
        let mut notes = vec![];
        if self.has_gas() {
            notes.push("gas is in cells (hydro files), which are not read".to_string());
        }
        let sinks = [format!("sink_{}.csv", self.number), format!("sink_{}.out00001", self.number)];
        if let Some(name) = sinks.iter().find(|name| self.folder.join(name).exists()) {
            notes.push(format!("sinks ({name}) are not read"));
        }
        notes
    }

    /// Returns the known names of the columns of particle files, each with `true` if the column holds floats.
    pub(super) fn columns(&self) -> Vec<(String, bool)> {
        self.described().or_else(|| self.listed()).unwrap_or_else(|| self.usual(&["birth_time", "metallicity"]))
    }

    fn described(&self) -> Option<Vec<(String, bool)>> {
        let text = text(&self.folder.join("part_file_descriptor.txt")).ok()?;
        let columns = text.lines().filter(|line| !line.trim_start().starts_with('#')).filter_map(|line| {
            let mut fields = line.split(',').map(str::trim);
            let (name, kind) = (fields.nth(1)?, fields.next()?);
            Some((name.to_string(), kind == "d" || kind == "f"))
        });
        Some(columns.collect()).filter(|columns: &Vec<_>| !columns.is_empty())
    }

    /// Returns the columns listed in a line of the header file, such as `pos vel mass iord level tform metal`.
    fn listed(&self) -> Option<Vec<(String, bool)>> {
        let text = text(&self.folder.join(format!("header_{}.txt", self.number))).ok()?;
        let line = text.lines().find(|line| line.split_whitespace().any(|word| word == "level"))?;
        let mut words = line.split_whitespace().skip_while(|word| *word != "level").skip(1);
        let rest: Vec<&str> = words
            .by_ref()
            .map(|word| match word {
                "tform" | "age" | "birth" => "birth_time",
                "metal" => "metallicity",
                other => other,
            })
            .collect();
        Some(self.usual(&rest))
    }

    /// Returns the columns that all versions write, followed by `others`.
    fn usual(&self, others: &[&str]) -> Vec<(String, bool)> {
        let axes = ["x", "y", "z"].into_iter().take(self.dimensions);
        let vectors = ["position", "velocity"]
            .into_iter()
            .flat_map(|name| axes.clone().map(move |axis| format!("{name}_{axis}")));
        let mut columns: Vec<(String, bool)> = vectors.map(|name| (name, true)).collect();
        columns
            .extend([("mass", true), ("identity", false), ("levelp", false)].map(|(name, is)| (name.to_string(), is)));
        columns.extend(others.iter().map(|name| (name.to_string(), true)));
        columns
    }
}

fn text(path: &Path) -> std::io::Result<String> {
    let mut bytes = vec![];
    File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
