//! Small datasets that are read whole: single numbers and texts.
//!
//! In: a dataset. Out: its values, or a phrase that says why they cannot be read.

use hdf5_reader::Dataset;

use crate::hdf5::number::{Number, class_name};
use crate::hdf5::table::record::{TEXT, VARIABLE};
use crate::messages::shorten;

/// The maximum number of elements that are read, and of bytes of a text.
const MAX_ELEMENTS: u64 = 1 << 16;
const LONGEST_TEXT: usize = 1 << 12;

/// Returns the numbers of a dataset. Texts that are numbers are parsed.
pub(super) fn numbers(dataset: &Dataset) -> Result<Vec<f64>, String> {
    if let Some(numbers) = stored_numbers(dataset)? {
        return Ok(numbers);
    }
    let number = |text: &String| {
        let number = text.trim().parse().ok();
        number.ok_or_else(|| format!("is the text '{}'; it must be a number", shorten(text.trim().as_bytes())))
    };
    texts(dataset)?.iter().map(number).collect()
}

/// Returns the texts of a dataset. Numbers are formatted.
pub(super) fn texts(dataset: &Dataset) -> Result<Vec<String>, String> {
    if let Some(numbers) = stored_numbers(dataset)? {
        return Ok(numbers.iter().map(f64::to_string).collect());
    }
    let message = dataset.raw_datatype().map_err(|error| format!("is damaged: {error}"))?;
    let class = message.first().map_or(0, |first| first & 15);
    let width = dataset.raw_element_size().map_err(|error| format!("is damaged: {error}"))?;
    if ![TEXT, VARIABLE].contains(&class) || width > LONGEST_TEXT {
        return Err(format!("holds {}; it must hold a number", class_name(class)));
    }
    check_elements(dataset)?;
    dataset.read_strings().map_err(|error| format!("cannot be read: {error}"))
}

fn stored_numbers(dataset: &Dataset) -> Result<Option<Vec<f64>>, String> {
    let message = dataset.raw_datatype().map_err(|error| format!("is damaged: {error}"))?;
    let Ok(number) = Number::parse(&message) else { return Ok(None) };
    let elements = check_elements(dataset)?;
    let bytes = dataset.read_raw_bytes().map_err(|error| format!("cannot be read: {error}"))?;
    let mut numbers = vec![0.0; elements.min(bytes.len() / number.size)];
    number.values()(&bytes, &mut numbers);
    Ok(Some(numbers))
}

fn check_elements(dataset: &Dataset) -> Result<usize, String> {
    match dataset.num_elements() {
        Ok(elements) if elements <= MAX_ELEMENTS => Ok(elements as usize),
        Ok(elements) => Err(format!("has {elements} elements")),
        Err(error) => Err(format!("is damaged: {error}")),
    }
}
