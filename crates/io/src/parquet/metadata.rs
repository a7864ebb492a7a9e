//! The metadata of a Parquet table: units, redshift, box, cosmology, and the indexes of pandas.
//!
//! | entry | use |
//! |---|---|
//! | `ARROW:schema` | units of columns: `unit` or `units` of their metadata; which columns are durations |
//! | `table_meta_yaml` | astropy's header: units of columns, and the quantities below |
//! | `pandas` | index columns, which are not coordinates |
//! | `box_size`, `redshift`, `omega_m`, `omega_lambda`, `h`, `particle_mass` | quantities of the snapshot; values that are not numbers are errors. A `box_size` of 0 is an open box, and 0 for `omega_m` and `h` means that the value is not set |
//! | `program` | not used |
//! | others | named in a note |

use std::path::Path;

use parquet::file::metadata::FileMetaData;

use ropewalk::{Error, Result};

use crate::array_names::{BOX, REDSHIFT};
use crate::ecsv;
use crate::messages::shorten;
use crate::parquet::kind::Kind;
use crate::parquet::{arrow, arrow_schema};
use crate::typed_columns::TypedColumn;

const ASTROPY: &str = "table_meta_yaml";
const PANDAS: &str = "pandas";
/// The range of the number in an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Finite,
    Positive,
    /// Zero means that the value is not set.
    PositiveOrZero,
}

/// Entries that are numbers.
const NUMBERS: [(&str, Limit); 6] = [
    ("box_size", Limit::PositiveOrZero),
    ("redshift", Limit::Finite),
    ("omega_m", Limit::PositiveOrZero),
    ("omega_lambda", Limit::Finite),
    ("h", Limit::PositiveOrZero),
    ("particle_mass", Limit::Positive),
];
/// The maximum number of entries that are named in a note.
const MAX_NAMES: usize = 20;

/// The metadata of a table.
#[derive(Default)]
pub(super) struct ParquetMetadata {
    /// Scalars with the keys that lead to them, in the form of an enhanced CSV header.
    pub values: Vec<(Vec<String>, String)>,
    /// Columns that are indexes of pandas.
    pub indexes: Vec<String>,
    /// Columns of durations. Only Arrow's schema distinguishes them from integers.
    durations: Vec<String>,
    /// Notes about metadata that are not used.
    pub notes: Vec<String>,
}

/// Returns the quantity in an entry with this key.
fn quantity(key: &str) -> Option<&'static str> {
    let key = key.to_lowercase();
    if BOX.contains(&key.as_str()) {
        return Some("box_size");
    }
    if REDSHIFT.contains(&key.as_str()) {
        return Some("redshift");
    }
    NUMBERS.iter().map(|(name, _)| *name).find(|name| *name == key)
}

/// Returns `true` for an entry whose value 0 means that it is not set.
fn is_none(keys: &[String], value: &str) -> bool {
    let is = |name: &str| keys.first().is_some_and(|key| key == "meta") && keys.last().is_some_and(|key| key == name);
    let of = NUMBERS.iter().find(|(name, _)| is(name));
    of.is_some_and(|(_, must)| *must == Limit::PositiveOrZero) && value.trim().parse() == Ok(0.0)
}

impl ParquetMetadata {
    pub(super) fn new(path: &Path, metadata: &FileMetaData) -> Result<Self> {
        let entries = || metadata.key_value_metadata().into_iter().flatten();
        let value = |key: &str| entries().find(|entry| entry.key == key)?.value.as_deref();
        let mut said = Self::default();
        let yaml = value(ASTROPY).map(|text| (ASTROPY, ecsv::values(text)));
        let schema = value(arrow::KEY).map(|text| (arrow::KEY, arrow_schema::decode(text)));
        for (key, values) in yaml.into_iter().chain(schema) {
            match values {
                Some(values) if said.values.is_empty() => said.values = values,
                Some(_) => {}
                None => said.notes.push(format!("its metadata {key} cannot be decoded and is not used")),
            }
        }
        let schema = value(arrow::KEY).and_then(arrow_schema::decode).unwrap_or_default();
        let of = |at: &str, key: &str| {
            let is = |(keys, _): &&(Vec<String>, String)| keys.len() == 3 && keys[1] == at && keys[2] == key;
            schema.iter().find(is).map(|(_, value)| value.clone())
        };
        let durations = schema.iter().filter(|(keys, _)| keys.last().is_some_and(|key| key == arrow_schema::KIND));
        said.durations = durations.filter_map(|(keys, _)| of(keys.get(1)?, "name")).collect();
        match value(PANDAS).map(ecsv::values) {
            Some(Some(values)) => {
                let is_index = |keys: &[String]| keys.len() == 2 && keys[0] == "index_columns";
                said.indexes = values.into_iter().filter(|(keys, _)| is_index(keys)).map(|(_, name)| name).collect();
            }
            Some(None) => said.notes.push(format!("its metadata {PANDAS} cannot be decoded and is not used")),
            None => {}
        }
        let mut unused = vec![];
        for entry in entries() {
            match (quantity(&entry.key), &entry.value) {
                (Some(name), Some(value)) => said.values.push((vec!["meta".into(), name.into()], value.clone())),
                _ if [arrow::KEY, ASTROPY, PANDAS, "program"].contains(&entry.key.as_str()) => {}
                _ => unused.push(shorten(entry.key.as_bytes())),
            }
        }
        if !unused.is_empty() {
            let more = if unused.len() > MAX_NAMES { ", .." } else { "" };
            unused.truncate(MAX_NAMES);
            said.notes.push(format!("entries of its metadata that are not used: {}{more}", unused.join(", ")));
        }
        said.check(path)?;
        said.values.retain(|(keys, value)| !is_none(keys, value));
        Ok(said)
    }

    /// Returns the kind of the column with this name. `kind` is its kind according to the file's own schema.
    pub(super) fn kind(&self, name: &String, kind: Kind) -> Kind {
        if self.durations.contains(name) && kind.is_read() { Kind::Other("durations") } else { kind }
    }

    /// Returns the description of a column with this name and kind.
    pub(super) fn typed(&self, name: String, kind: Kind) -> TypedColumn {
        TypedColumn {
            is_index: self.indexes.contains(&name) || name.starts_with("__index_level_"),
            unread: (!kind.is_read()).then(|| kind.name()),
            is_of_numbers: !matches!(kind, Kind::Other(_)),
            name,
        }
    }

    /// Errors: a quantity that is not a number, or is outside its range.
    fn check(&self, path: &Path) -> Result<()> {
        for (keys, value) in self.values.iter().filter(|(keys, _)| keys.first().is_some_and(|key| key == "meta")) {
            let Some((name, must)) = NUMBERS.iter().find(|(name, _)| keys.last().is_some_and(|key| key == name)) else {
                continue;
            };
            let number = value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            let (least, must) = match must {
                Limit::Finite => (f64::MIN, "a finite number"),
                Limit::Positive => (f64::MIN_POSITIVE, "a finite number above 0"),
                Limit::PositiveOrZero => (0.0, "a finite number above 0, or 0 for none"),
            };
            if number.is_none_or(|number| number < least) {
                let message = format!("its metadata {name} is '{}'; it must be {must}", shorten(value.as_bytes()));
                return Err(Error::file(path, message));
            }
        }
        Ok(())
    }
}
