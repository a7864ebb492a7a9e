//! Values of the JSON of glTF: lists, indices and numbers, with errors that name them.

use serde_json::Value;

use crate::messages::shorten;

/// Returns the items of a list, no items if it is missing.
pub(super) fn items<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], String> {
    match &value[name] {
        Value::Null => Ok(&[]),
        Value::Array(list) => Ok(list),
        other => Err(format!("{name} is {}; it must be a list", shown(other))),
    }
}

/// Returns an item of a list of the root.
pub(super) fn item<'a>(root: &'a Value, list: &str, what: &str, at: usize) -> Result<&'a Value, String> {
    items(root, list)?.get(at).ok_or_else(|| absent(what, at))
}

/// Returns an index or a size; `None` if it is missing.
pub(super) fn whole(value: &Value, name: &str) -> Result<Option<usize>, String> {
    let found = &value[name];
    if found.is_null() {
        return Ok(None);
    }
    let number = found.as_u64().and_then(|number| usize::try_from(number).ok());
    number.map(Some).ok_or_else(|| format!("{name} is {}; it must be an integer from 0", shown(found)))
}

/// Returns a list of `N` numbers; `None` if it is missing.
pub(super) fn numbers<const N: usize>(value: &Value, name: &str) -> Result<Option<[f64; N]>, String> {
    if value[name].is_null() {
        return Ok(None);
    }
    let found: Option<Vec<f64>> = items(value, name)?.iter().map(Value::as_f64).collect();
    let found = found.and_then(|found| <[f64; N]>::try_from(found).ok());
    found.map(Some).ok_or_else(|| format!("{name} must have {N} numbers"))
}

/// Returns a value for an error message, shortened.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", shorten(text.as_bytes())),
        other => shorten(other.to_string().as_bytes()),
    }
}

/// The error for a reference to an item that a list does not have.
pub(super) fn absent(what: &str, at: usize) -> String {
    format!("refers to {what} {at}, which it does not have")
}
