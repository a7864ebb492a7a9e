//! The parameter file of a run of PKDGRAV, Gasoline or ChaNGa: `key = value` lines in a file beside its snapshots.
//!
//! In: the path of a snapshot. Out: units, cosmology and box, from a `.param` file in its folder or the parent
//! folder. The file must belong to the run of the snapshot, or at least to no other file. Source: the parameters of
//! Gasoline and ChaNGa; as in pynbody, the gravitational constant is 1 in the units of a run.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use ropewalk::units::{Frame, GRAVITY, KnownUnits, LengthUnit, MassUnit, VelocityUnit};
use ropewalk::{Error, Result};

use crate::Background;
use crate::expansion::Expansion;
use crate::messages::shorten;

/// The maximum number of bytes of a parameter file; real files have a few thousand.
const LONGEST: u64 = 1 << 18;

/// Keys that are used, with `true` if their values must be above 0. All other keys are settings of the program.
const KEYS: [(&str, bool); 16] = [
    ("dKpcUnit", true),
    ("dMsolUnit", true),
    ("dPeriod", true),
    ("dxPeriod", true),
    ("dyPeriod", true),
    ("dzPeriod", true),
    ("dHubble0", false),
    ("dOmega0", false),
    ("dLambda", false),
    ("dOmegaRad", false),
    ("w0", false),
    ("wa", false),
    ("bComove", false),
    ("bPeriodic", false),
    ("bDoublePos", false),
    ("bDoubleVel", false),
];

/// The contents of a parameter file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Param {
    pub units: KnownUnits,
    pub background: Background,
    pub expansion: Expansion,
    /// The sides of the periodic box.
    pub sides: Vec<f64>,
    /// If `true`, coordinates are comoving and times are scale factors.
    pub is_comoving: bool,
    /// If `true`, velocities have 64 bits, but positions do not.
    pub is_wide_velocity: bool,
    /// Notes about assumptions.
    pub notes: Vec<String>,
}

impl Param {
    /// Reads the parameter file of the run to which the snapshot `path` belongs. Without a file, all values are
    /// unknown.
    ///
    /// Errors: the file cannot be read; the value of a key that is used is not a number, or not a valid one.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let (param, of_another) = search(path);
        let Some(param) = param else {
            let note = |param: PathBuf| {
                format!(
                    "{} is not read: it belongs to another file by its name or {OUT_NAME} or {IN_FILE}",
                    param.display()
                )
            };
            return Ok(Self { notes: of_another.map(note).into_iter().collect(), ..Self::default() });
        };
        let text = text(&param)?;
        let mut own = Self::parse(&text).map_err(|message| Error::file(&param, message))?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !stem(&param).is_some_and(|stem| begins(name, stem)) {
            let is_named = names(&param).is_some_and(|names| names.has(name));
            let why = if is_named { "which names this file" } else { "the only .param file in the folder" };
            own.notes.push(format!("units, box and cosmology are those of {}, {why}", param.display()));
        }
        Ok(own)
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let values = assignments(text);
        // The last assignment of a key counts.
        let find = |key: &str| values.iter().rev().find(|(own, _)| *own == key).map(|(_, value)| *value);
        let mut numbers = [None; KEYS.len()];
        for (slot, (key, must_be_positive)) in numbers.iter_mut().zip(KEYS) {
            let Some(text) = find(key) else { continue };
            let number = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
            let must = if must_be_positive { "a number above 0" } else { "a number" };
            let is_right = |number: &f64| number.is_finite() && (*number > 0.0 || !must_be_positive);
            let Some(number) = number.filter(is_right) else {
                return Err(format!("{key} is '{}'; it must be {must}", shorten(text.as_bytes())));
            };
            *slot = Some(number);
        }
        let number =
            |key: &str| KEYS.iter().zip(numbers).find(|((own, _), _)| *own == key).and_then(|(_, number)| number);
        let positive = |key: &str| number(key).filter(|&value| value > 0.0);
        let flag = |key: &str| number(key).map(|value| value != 0.0);

        let is_comoving = flag("bComove").unwrap_or(false);
        let (kpc, msun) = (positive("dKpcUnit"), positive("dMsolUnit"));
        let frame = if is_comoving { Frame::Comoving } else { Frame::Physical };
        // sqrt(G M / L), where G is 1 in the units of the run.
        let km_s = kpc.zip(msun).map(|(kpc, msun)| (GRAVITY * msun / (kpc * 1e-3)).sqrt());
        let units = KnownUnits {
            length: kpc.map(|kpc| LengthUnit { mpc: kpc * 1e-3, per_h: false, frame }),
            mass: msun.map(|msun| MassUnit { msun, per_h: false }),
            velocity: km_s.map(|km_s| VelocityUnit { km_s, is_internal: false }),
        };
        // The Hubble constant is in units of the run: velocity divided by length.
        let hubble =
            positive("dHubble0").zip(kpc.zip(km_s)).map(|(own, (kpc, km_s))| own * km_s / (kpc * 1e-3) / 100.0);
        let background = Background {
            omega_m: positive("dOmega0"),
            omega_lambda: number("dLambda"),
            h: hubble.filter(|_| is_comoving),
        };
        let is_periodic = flag("bPeriodic").unwrap_or(is_comoving);
        // The values of single axes override the value for all axes.
        let all = positive("dPeriod").unwrap_or(1.0);
        let sides = ["dxPeriod", "dyPeriod", "dzPeriod"].map(|axis| positive(axis).unwrap_or(all));
        let sides = if is_periodic { sides.to_vec() } else { vec![] };
        let is_wide_velocity = flag("bDoubleVel").unwrap_or(false) && !flag("bDoublePos").unwrap_or(false);
        let expansion = Expansion::new(|names| Ok(names.iter().find_map(|name| number(name))))
            .map_err(|error| error.to_string())?;
        Ok(Self { units, background, expansion, sides, is_comoving, is_wide_velocity, notes: vec![] })
    }
}

/// Keys whose values are names of files: the base name of the snapshots that a run writes, and the file from which it
/// starts.
const OUT_NAME: &str = "achOutName";
const IN_FILE: &str = "achInFile";

/// Returns the parameter file of a snapshot, in its folder or the parent folder. The first of these rules that
/// applies chooses the file:
///
/// 1. The file whose name without `.param` is the longest beginning of the snapshot's name.
/// 2. The file whose text names the snapshot.
/// 3. The only file, unless it belongs to another file.
pub(super) fn find(path: &Path) -> Option<PathBuf> {
    search(path).0
}

/// Returns the result of [`find`], and the only parameter file if it belongs to another file.
fn search(path: &Path) -> (Option<PathBuf>, Option<PathBuf>) {
    let none = (None, None);
    let (Some(name), Ok(whole)) = (path.file_name().and_then(|name| name.to_str()), fs::canonicalize(path)) else {
        return none;
    };
    let mut of_another = None;
    for folder in whole.ancestors().skip(1).take(2) {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let all: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "param") && path.is_file())
            .collect();
        let own = all.iter().filter(|param| stem(param).is_some_and(|stem| begins(name, stem)));
        if let Some(longest) = own.max_by_key(|param| stem(param).map(str::len)) {
            return (Some(longest.clone()), None);
        }
        let named: Vec<&PathBuf> =
            all.iter().filter(|param| names(param).is_some_and(|names| names.has(name))).collect();
        match (&named[..], &all[..]) {
            ([only], _) => return (Some((*only).clone()), None),
            ([], [only]) if is_of_another(only, &whole) => of_another = of_another.or_else(|| Some(only.clone())),
            ([], [only]) => return (Some(only.clone()), None),
            _ => {}
        }
    }
    (None, of_another)
}

/// Returns the name of a parameter file without `.param`.
fn stem(param: &Path) -> Option<&str> {
    param.file_stem()?.to_str()
}

/// Returns `true` if `name` begins with `base`, followed by the end or by a character that is neither a letter nor a
/// digit.
fn begins(name: &str, base: &str) -> bool {
    let rest = name.strip_prefix(base).filter(|_| !base.is_empty());
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

/// Names of files in a parameter file, without folders.
struct Names {
    out: Option<String>,
    start: Option<String>,
}

impl Names {
    fn has(&self, name: &str) -> bool {
        self.out.as_deref().is_some_and(|out| begins(name, out)) || self.start.as_deref() == Some(name)
    }
}

/// Returns the files that a parameter file names; `None` if it names none, or cannot be read.
fn names(param: &Path) -> Option<Names> {
    let text = text(param).ok()?;
    let values = assignments(&text);
    let name = |key: &str| {
        let value = values.iter().rev().find(|(own, _)| *own == key)?.1;
        Some(Path::new(value.trim_matches('"')).file_name()?.to_str()?.to_string())
    };
    let names = Names { out: name(OUT_NAME), start: name(IN_FILE) };
    (names.out.is_some() || names.start.is_some()).then_some(names)
}

/// Returns `true` if a parameter file belongs to another file than `snapshot`, to which neither its name nor its text
/// refers. Its text names another file, or its name contains that of a file, as `a.tipsy.param` and `a.00010.param`,
/// or of a file that exists.
fn is_of_another(param: &Path, snapshot: &Path) -> bool {
    if names(param).is_some() {
        return true;
    }
    let Some(stem) = stem(param) else { return false };
    let is_number = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
    let is_own_end = |end: &str| snapshot.extension().is_some_and(|own| own == end);
    if stem.rsplit_once('.').is_some_and(|(_, end)| is_number(end) || is_own_end(end)) {
        return true;
    }
    let is_snapshot = |name: &str| {
        name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.').is_some_and(is_number))
    };
    let has = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter(|entry| entry.path() != snapshot)
            .any(|entry| entry.file_name().to_str().is_some_and(is_snapshot) && entry.path().is_file())
    };
    [param.parent(), snapshot.parent()].into_iter().flatten().any(has)
}

/// Returns the lines `key = value`, without comments.
fn assignments(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter_map(|line| line.split('#').next()?.split_once('='));
    lines.map(|(key, value)| (key.trim(), value.trim())).collect()
}

fn text(path: &Path) -> Result<String> {
    let failed = |error| Error::io(path, "cannot be read", error);
    let mut bytes = vec![];
    File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > LONGEST {
        return Err(Error::file(path, format!("has more than {LONGEST} bytes; parameter files must be shorter")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cosmological_run() {
        let text = "# units\ndKpcUnit = 50000\ndMsolUnit=1.84793e16 # of the box\nbComove = 1\ndHubble0 = 2.894405\ndOmega0 = 0.24\n\
                    dLambda = 0.76\nachInFile = a = b\nbPeriodic = 1\n";
        let param = Param::parse(text).unwrap();
        let length = param.units.length.unwrap();
        assert_eq!((length.mpc, length.frame, &param.sides[..]), (50.0, Frame::Comoving, &[1.0; 3][..]));
        assert_eq!(param.background.omega_lambda, Some(0.76));
        // pynbody returns 0.730 and 1261 km/s.
        assert!((param.background.h.unwrap() - 0.73).abs() < 1e-3, "{param:?}");
        assert!((param.units.velocity.unwrap().km_s - 1260.8).abs() < 1.0, "{param:?}");
        for (line, said) in [
            ("dKpcUnit = -1", "dKpcUnit is '-1'; it must be a number above 0"),
            ("dMsolUnit = inf", "dMsolUnit is 'inf'"),
            ("bComove = x", "bComove is 'x'; it must be a number"),
            ("dPeriod =", "dPeriod is ''"),
        ] {
            let message = Param::parse(line).unwrap_err();
            assert!(message.contains(said), "{message}");
        }
        assert_eq!(Param::parse("achOutName = run\ndHubble0 = 0\n"), Ok(Param::default()));
    }
}
