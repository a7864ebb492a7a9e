//! Attributes of groups and datasets: numbers and texts by name.
//!
//! In: the attributes of one object. Out: values of the requested kind, or an error that names the attribute and how
//! it is stored. Numbers may be stored as integers, floats, enumerations (the booleans of h5py) or texts of one
//! number, with one value or several.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hdf5_reader::messages::dataspace::DataspaceType;
use hdf5_reader::{Attribute, Datatype, RawAttribute};

use ropewalk::{Error, Result};

use crate::hdf5::number::{Number, class_name};
use crate::messages::shorten;

/// The attributes of a group or dataset; empty if it does not exist.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    path: PathBuf,
    owner: String,
    values: BTreeMap<String, Value>,
}

#[derive(Clone, Debug)]
enum Value {
    Numbers(Vec<f64>),
    Text(String),
    /// A description of a value that is neither.
    Other(String),
}

impl Attributes {
    /// Collects the attributes of `owner`, a group or dataset of the file `path`. `all` are the parsed attributes,
    /// and `raw` holds the bytes of their datatypes.
    pub(super) fn new(path: &Path, owner: &str, all: &[Attribute], raw: &[RawAttribute]) -> Self {
        let values = all.iter().map(|one| {
            let raw = raw.iter().find(|raw| raw.name() == one.name);
            (one.name.clone(), value(one, raw))
        });
        Self { path: path.to_path_buf(), owner: owner.to_string(), values: values.collect() }
    }

    /// Returns the name of the group or dataset that has these attributes.
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Returns the name of an attribute as spelled in the file. An exact match is preferred; otherwise case, blanks,
    /// `_` and `-` are ignored.
    ///
    /// Names of one or two letters must be spelled exactly: `H` and `h` are different numbers of SWIFT.
    pub(super) fn spelled(&self, name: &str) -> Option<&str> {
        if let Some((exact, _)) = self.values.get_key_value(name) {
            return Some(exact);
        }
        let wanted = folded(name);
        self.names().find(|other| wanted.len() > 2 && folded(other) == wanted)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    fn error(&self, name: &str, what: &str) -> Error {
        let owner = if self.owner.is_empty() { "the root group" } else { &self.owner };
        Error::file(&self.path, format!("attribute {name} of {owner} {what}"))
    }

    /// Returns the numbers of an attribute; `None` if it does not exist.
    ///
    /// # Errors
    /// If the attribute has no elements, or holds values other than numbers.
    pub(super) fn numbers(&self, name: &str) -> Result<Option<Vec<f64>>> {
        match self.values.get(name) {
            None => Ok(None),
            Some(Value::Numbers(numbers)) if numbers.is_empty() => {
                Err(self.error(name, "has no elements; it must hold a number"))
            }
            Some(Value::Numbers(numbers)) => Ok(Some(numbers.clone())),
            Some(Value::Text(text)) => match text.trim().parse() {
                Ok(number) => Ok(Some(vec![number])),
                Err(_) => {
                    Err(self.error(name, &format!("is the text '{}'; it must be a number", shorten(text.as_bytes()))))
                }
            },
            Some(Value::Other(what)) => Err(self.error(name, &format!("holds {what}; it must hold numbers"))),
        }
    }

    /// Returns the number of an attribute with one value, a scalar or an array of length one; `None` if it does not
    /// exist.
    ///
    /// # Errors
    /// As [`Attributes::numbers`]; also if the attribute has several values.
    pub(super) fn number(&self, name: &str) -> Result<Option<f64>> {
        match self.numbers(name)?.as_deref() {
            None => Ok(None),
            Some([number]) => Ok(Some(*number)),
            Some(several) => Err(self.error(name, &format!("has {} numbers; it must have one", several.len()))),
        }
    }

    /// Returns the text of an attribute; `None` if it does not exist.
    ///
    /// # Errors
    /// If the attribute is not a text.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>> {
        match self.values.get(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::Numbers(_)) => Err(self.error(name, "holds numbers; it must be a text")),
            Some(Value::Other(what)) => Err(self.error(name, &format!("holds {what}; it must be a text"))),
        }
    }
}

/// Returns a name without case, blanks, `_` and `-`, in which writers differ.
fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).flat_map(char::to_lowercase).collect()
}

fn value(attribute: &Attribute, raw: Option<&RawAttribute>) -> Value {
    let Some(raw) = raw else { return Value::Other("a value that cannot be read".into()) };
    if matches!(raw.message().dataspace.dataspace_type, DataspaceType::Null) {
        return Value::Other("no value (a null dataspace)".into());
    }
    let datatype = raw.raw_datatype();
    let number = match attribute.datatype {
        Datatype::FixedPoint { .. } | Datatype::FloatingPoint { .. } => Number::parse(datatype),
        // The base type follows the 8 bytes at the start of the message.
        Datatype::Enum { .. } => Number::parse(datatype.get(8..).unwrap_or_default()),
        _ => return text(attribute, datatype),
    };
    let number = match number {
        Ok(number) => number,
        Err(what) => {
            let what = what.to_string();
            return Value::Other(what.strip_prefix("has ").unwrap_or(&what).to_string());
        }
    };
    let bytes = &raw.message().raw_data;
    let n = attribute.num_elements().ok().and_then(|n| usize::try_from(n).ok());
    let Some(n) = n.filter(|n| n.checked_mul(number.size).is_some_and(|all| all <= bytes.len())) else {
        return Value::Other("fewer bytes than its shape needs".into());
    };
    let mut numbers = vec![0.0; n];
    number.values()(bytes, &mut numbers);
    Value::Numbers(numbers)
}

/// Returns the text of an attribute with one text.
fn text(attribute: &Attribute, datatype: &[u8]) -> Value {
    let is_text = matches!(attribute.datatype, Datatype::String { .. }) || attribute.decoded_strings.is_some();
    match attribute.num_elements() {
        Ok(1) if is_text => match attribute.read_string() {
            Ok(text) => Value::Text(text.trim_end().to_string()),
            Err(_) => Value::Other("a text that cannot be decoded".into()),
        },
        Ok(n) if is_text => Value::Other(format!("{n} texts")),
        _ => Value::Other(class_name(datatype.first().map_or(0, |first| first & 15)).into()),
    }
}
