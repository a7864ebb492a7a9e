//! Conversion of the library's errors to Python exceptions, with the same messages.

use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use ropewalk::{Error, ErrorKind};

/// Converts an error: `ValueError` for invalid input, `OSError` with its number for errors of the system,
/// `MemoryError`, and `RuntimeError` for devices, for ranks that have ended, and for bugs.
pub fn exception(error: Error) -> PyErr {
    let sentence = in_python(&error.to_string());
    match error.kind() {
        ErrorKind::Memory => PyMemoryError::new_err(sentence),
        ErrorKind::Io => match errno(&error) {
            Some(number) => PyOSError::new_err((number, sentence)),
            None => PyOSError::new_err(sentence),
        },
        ErrorKind::Device | ErrorKind::Rank | ErrorKind::Internal | ErrorKind::Cancelled => {
            PyRuntimeError::new_err(sentence)
        }
        _ => PyValueError::new_err(sentence),
    }
}

/// Returns a message with the arguments to give. Some messages end with the advice to specify units, without arguments.
pub fn advised(sentence: &str, arguments: &str) -> String {
    match sentence.strip_suffix("specify the units") {
        Some(start) => format!("{start}give {arguments}"),
        None => format!("{sentence}; give {arguments}"),
    }
}

/// Returns an error for a name that the Python side should have rejected.
pub fn unknown<T>(parameter: &str, name: &str) -> ropewalk::Result<T> {
    Err(Error::new(ErrorKind::Internal, format!("internal error: unknown {parameter} {name:?}")))
}

/// Options of the library as named in messages, and the corresponding Python arguments.
const OPTIONS: [(&str, &str); 8] = [
    ("ReadOptions::columns", "columns="),
    ("ReadOptions::types", "types="),
    ("ReadOptions::open", "open=True"),
    ("ReadOptions::single_part", "single_part=True"),
    ("ReadOptions::velocity_unit", "velocity_unit="),
    ("ReadOptions::skip_missing", "ropewalk convert --skip-missing"),
    ("Snapshot::box_size", "box_size="),
    (" (read_fields)", ""),
];

/// Replaces options of the library in a message by Python arguments.
pub fn in_python(text: &str) -> String {
    OPTIONS.iter().fold(text.to_string(), |text, (own, argument)| text.replace(own, argument))
}

fn errno(error: &Error) -> Option<i32> {
    std::error::Error::source(error)?.downcast_ref::<std::io::Error>()?.raw_os_error()
}
