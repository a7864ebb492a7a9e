//! Values of the JSON of glTF: lists, indices and numbers, with errors that name them.

use serde_json::Value;

/// Returns the items of a list, none if it is missing.
pub(super) fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// Returns an index or a size; `None` if it is missing.
pub(super) fn whole(value: &Value, name: &str) -> Result<Option<usize>, String> {
    let found = &value[name];
    if found.is_null() {
        return Ok(None);
    }
    let number = found.as_u64().and_then(|number| usize::try_from(number).ok());
    number.map(Some).ok_or_else(|| format!("{name} is {found}; it must be an integer from 0"))
}

/// Returns a list of `N` finite numbers; `None` if it is missing.
pub(super) fn numbers<const N: usize>(value: &Value, name: &str) -> Result<Option<[f64; N]>, String> {
    if value[name].is_null() {
        return Ok(None);
    }
    let found: Vec<f64> = items(value, name).iter().filter_map(Value::as_f64).collect();
    let found = <[f64; N]>::try_from(found).map_err(|_| format!("{name} must have {N} numbers"))?;
    Ok(Some(found))
}

/// The error for a reference to an item that a list does not have.
pub(super) fn absent(what: &str, at: usize) -> String {
    format!("refers to {what} {at}, which it does not have")
}
