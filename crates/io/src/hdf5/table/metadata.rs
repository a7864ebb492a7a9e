//! The quantities of an HDF5 table: box, redshift, cosmology, and the units of its columns.
//!
//! - in: attributes of the root group, of the groups that contain columns that are read, and of their datasets; small
//!   datasets in these groups
//! - out: one value for each quantity, and notes that name the attributes and small datasets that are not used
//! - errors: values that cannot be read, or that contradict each other; mixed units; packed numbers

use std::str::FromStr;

use ropewalk::Result;

use crate::hdf5::attributes::Attributes;
use crate::hdf5::file::File;
use crate::hdf5::table::list::{Column, Listing, Scalar};
use crate::hdf5::table::quantities::{is_quantity, quantity};
use crate::hdf5::table::scalar;
use crate::messages::list;
use crate::{Background, ecsv};

const UNITS: [&str; 2] = ["units", "unit"];
/// Attributes that specify the value for missing data.
const MISSING: [&str; 2] = ["_FillValue", "missing_value"];
/// Attributes of datasets, besides units, that affect how their numbers are read.
const OF_DATASETS: [&str; 5] = ["_FillValue", "_Unsigned", "add_offset", "missing_value", "scale_factor"];
/// Attributes, in lower case, without relevant numbers: descriptions, and those that h5py, netCDF and PyTables write
/// for their own use.
const KNOWN: [&str; 32] = [
    "_nc3_strict",
    "_ncproperties",
    "_netcdf4coordinates",
    "_netcdf4dimid",
    "author",
    "axis",
    "class",
    "comment",
    "conventions",
    "coordinates",
    "creator",
    "date",
    "description",
    "dimension_labels",
    "dimension_list",
    "encoding",
    "errors",
    "extdim",
    "flavor",
    "history",
    "institution",
    "long_name",
    "name",
    "nrows",
    "program",
    "pytables_format_version",
    "reference_list",
    "references",
    "source",
    "standard_name",
    "title",
    "version",
];
/// Attributes that pandas writes for its own use.
const PANDAS: [&str; 15] = [
    "data_columns",
    "index_class",
    "index_cols",
    "index_variety",
    "info",
    "levels",
    "metadata",
    "nan_rep",
    "nblocks",
    "ndim",
    "non_index_axes",
    "table_type",
    "transposed",
    "value_type",
    "values_cols",
];

/// The quantities that apply to all points.
#[derive(Default)]
pub(super) struct Metadata {
    /// The sides of the box.
    pub sides: Vec<f64>,
    pub redshift: Option<f64>,
    pub background: Background,
    /// Notes about metadata that is not used.
    pub notes: Vec<String>,
}

/// One occurrence of a quantity in the file, with its values.
struct Occurrence {
    /// Its description for messages: `attribute BoxSize of the root group`.
    name: String,
    values: Vec<f64>,
}

impl Metadata {
    /// Returns the metadata that apply to the columns `used`, whose datasets have the attributes `of_columns`.
    pub(super) fn new(file: &File, all: &Listing, used: &[&Column], of_columns: &[Attributes]) -> Result<Self> {
        let is_above = |group: &str| {
            let is = |column: &&Column| {
                group.is_empty() || column.group == group || column.group.starts_with(&format!("{group}/"))
            };
            used.iter().any(is)
        };
        let mut places: [Vec<Occurrence>; 5] = Default::default();
        let groups = all.groups.iter().filter(|attributes| is_above(attributes.owner()));
        for attributes in groups.chain(of_columns) {
            for (name, k) in attributes.names().filter_map(|name| Some((name, quantity(name)?))) {
                let values = attributes.numbers(name)?.unwrap_or_default();
                places[k]
                    .push(Occurrence { name: format!("attribute {name} of {}", owner(attributes.owner())), values });
            }
        }
        for scalar in all.scalars.iter().filter(|scalar| is_above(&scalar.group)) {
            if let Some(k) = quantity(&scalar.name) {
                let name = format!("dataset {}", scalar.path());
                if k == 0 {
                    check_unit(file, scalar, used, of_columns)?;
                }
                places[k].push(Occurrence { values: read(file, scalar)?, name });
            }
        }
        let [sides, redshift, omega_m, omega_lambda, h] = places;
        Ok(Self {
            sides: one_value(file, sides, true)?,
            redshift: number(file, redshift, false)?,
            background: Background {
                omega_m: number(file, omega_m, true)?,
                omega_lambda: number(file, omega_lambda, false)?,
                h: number(file, h, true)?,
            },
            notes: unused(all, of_columns, is_above),
        })
    }
}

/// Returns the name of a group or dataset for messages.
fn owner(path: &str) -> &str {
    if path.is_empty() { "the root group" } else { path }
}

fn read(file: &File, place: &Scalar) -> Result<Vec<f64>> {
    let found = file.dataset(&place.group, &place.name)?;
    let numbers = found.map_or_else(|| Err("is missing".into()), |found| scalar::numbers(&found));
    let refuse = |what: String| file.error(format!("dataset {} {what}", place.path()));
    let numbers = numbers.map_err(refuse)?;
    if numbers.is_empty() { Err(refuse("has no elements; it must hold a number".into())) } else { Ok(numbers) }
}

/// Errors: the unit of a box differs from that of the coordinates, which are the first of `used`.
fn check_unit(file: &File, place: &Scalar, used: &[&Column], of_columns: &[Attributes]) -> Result<()> {
    let Some(found) = file.dataset(&place.group, &place.name)? else { return Ok(()) };
    let own = unit_text(&file.dataset_attributes(&place.path(), &found)?)?;
    let path = used.first().map(|column| column.dataset_path());
    let coordinates = of_columns.iter().find(|attributes| Some(attributes.owner()) == path.as_deref());
    match (own, coordinates.map(unit_text).transpose()?.flatten()) {
        (Some(own), Some(other)) if own != other => {
            Err(file.error(format!("has {} in {own}, but coordinates in {other}", place.path())))
        }
        _ => Ok(()),
    }
}

/// Returns the unit that attributes state.
fn unit_text(attributes: &Attributes) -> Result<Option<String>> {
    let is_unit = |name: &&str| UNITS.contains(&name.to_lowercase().as_str());
    let Some(name) = attributes.names().find(is_unit) else { return Ok(None) };
    Ok(attributes.text(name)?.map(str::to_string).filter(|text| !text.trim().is_empty()))
}

/// Returns the value on which all places agree, as one number if all its numbers are equal. If `may_be_unset`, 0
/// means that the value is not set.
///
/// Errors: places with different values; more than three numbers.
fn one_value(file: &File, mut places: Vec<Occurrence>, may_be_unset: bool) -> Result<Vec<f64>> {
    for place in &mut places {
        let n = place.values.len();
        if n > 3 {
            return Err(file.error(format!("{} has {n} numbers; it must have one to three", place.name)));
        }
        if place.values.iter().all(|value| *value == place.values[0]) {
            place.values.truncate(1);
        }
    }
    if may_be_unset {
        places.retain(|place| place.values != [0.0]);
    }
    let Some(first) = places.first() else { return Ok(vec![]) };
    if let Some(other) = places.iter().skip(1).find(|other| other.values != first.values) {
        let text = |place: &Occurrence| place.values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
        let message = format!("{} is {}, but {} is {}", first.name, text(first), other.name, text(other));
        return Err(file.error(message));
    }
    Ok(first.values.clone())
}

/// Returns the finite number on which all places agree. If `is_positive`, it must be above 0, and 0 means not set.
fn number(file: &File, places: Vec<Occurrence>, is_positive: bool) -> Result<Option<f64>> {
    let name = places.first().map(|place| place.name.clone()).unwrap_or_default();
    let must = if is_positive { "one finite number above 0, or 0 for none" } else { "one finite number" };
    match one_value(file, places, is_positive)?[..] {
        [] => Ok(None),
        [value] if value.is_finite() && (!is_positive || value > 0.0) => Ok(Some(value)),
        ref values => {
            let values: Vec<String> = values.iter().map(f64::to_string).collect();
            Err(file.error(format!("{name} is {}; it must be {must}", values.join(", "))))
        }
    }
}

/// Returns notes on the attributes of groups and read columns, and on the small datasets, that are not used.
fn unused(all: &Listing, of_columns: &[Attributes], is_above: impl Fn(&str) -> bool) -> Vec<String> {
    let of = |attributes: &Attributes, is_used: bool, is_dataset: bool| {
        let is_pandas = attributes.has("CLASS") || attributes.has("pandas_type");
        let is_unused = |name: &&str| {
            !(is_used && is_quantity(name)
                || KNOWN.contains(&name.to_lowercase().as_str())
                || is_dataset && (OF_DATASETS.contains(name) || UNITS.contains(&name.to_lowercase().as_str()))
                || is_pandas && is_of_pandas(name))
        };
        let names: Vec<String> =
            attributes.names().filter(is_unused).map(|name| name.escape_debug().to_string()).collect();
        (!names.is_empty()).then(|| format!("of {} {}", owner(attributes.owner()).escape_debug(), list(&names)))
    };
    let groups = all.groups.iter().filter_map(|attributes| of(attributes, is_above(attributes.owner()), false));
    let attributes: Vec<String> =
        groups.chain(of_columns.iter().filter_map(|attributes| of(attributes, true, true))).collect();
    let is_unused = |scalar: &&Scalar| !(is_quantity(&scalar.name) && is_above(&scalar.group));
    let scalars: Vec<String> =
        all.scalars.iter().filter(is_unused).map(|scalar| scalar.path().escape_debug().to_string()).collect();
    let mut notes = vec![];
    if !attributes.is_empty() {
        notes.push(format!("attributes not used: {}", list(&attributes)));
    }
    if !scalars.is_empty() {
        notes.push(format!("datasets of single values that are not used: {}", list(&scalars)));
    }
    notes
}

fn is_of_pandas(name: &str) -> bool {
    let ends = ["_kind", "_dtype", "_meta", "_variety", "_NAME", "_FILL"];
    name.starts_with("pandas_") || PANDAS.contains(&name) || ends.iter().any(|end| name.ends_with(end))
}

/// Returns the unit that the columns share. Each column is given by its name and the attributes of its dataset. Adds
/// a note on a unit that is not known.
///
/// Errors: different units; a unit that is not a text.
pub(super) fn unit<T: FromStr + PartialEq + Copy>(
    file: &File,
    columns: &[(&str, &Attributes)],
    what: &str,
    notes: &mut Vec<String>,
) -> Result<Option<T>> {
    let mut own = vec![];
    for (name, attributes) in columns {
        own.push(ecsv::Column::with_unit(name, unit_text(attributes)?));
    }
    ecsv::common(&own.iter().collect::<Vec<_>>(), what, notes).map_err(|message| file.error(message))
}

/// Returns the values that mark missing data in a dataset.
///
/// Errors: numbers that are packed with `scale_factor` and `add_offset`, as in netCDF, or signed numbers marked as
/// unsigned.
pub(super) fn missing_values(file: &File, attributes: &Attributes) -> Result<Vec<f64>> {
    for (name, neutral) in [("scale_factor", 1.0), ("add_offset", 0.0)] {
        if let Some(value) = attributes.number(name)?.filter(|value| *value != neutral) {
            return Err(file.error(format!(
                "column {} is packed: its attribute {name} is {value}, and packed values are not supported; unpack them, for example with xarray",
                attributes.owner()
            )));
        }
    }
    if attributes.has("_Unsigned") && attributes.text("_Unsigned")? == Some("true") {
        let message = "has the attribute _Unsigned: its signed numbers represent unsigned ones, which is not supported";
        return Err(file.error(format!("column {} {message}", attributes.owner())));
    }
    let mut missing = vec![];
    for name in MISSING {
        missing.extend(attributes.numbers(name)?.unwrap_or_default());
    }
    missing.retain(|value| !value.is_nan());
    missing.dedup();
    Ok(missing)
}
