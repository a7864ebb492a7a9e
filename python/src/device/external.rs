//! Points in another library's memory: address, shape and type.

use dlpark::python::ImportedDlpack;
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

/// The type of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    F32,
    F64,
}

/// Points in another library's memory, as that library describes them.
pub struct ExternalPoints {
    pub address: u64,
    pub shape: [usize; 2],
    pub precision: Precision,
    /// The number of the device; `None` if it must be derived from the address.
    pub device: Option<usize>,
    /// `true` if it is unknown when the points are written, so that all work of the device is waited for.
    pub wait_for_all: bool,
    /// The import from DLPack, which returns the memory to its owner when dropped.
    pub import: Option<ImportedDlpack>,
}

/// Checks that the shape is that of points, contiguous and in C order, and returns it. `strides` count elements.
pub fn checked_shape(shape: &[i64], strides: Option<&[i64]>) -> PyResult<[usize; 2]> {
    let refuse = |sentence: String| Err(PyValueError::new_err(sentence));
    let &[n, dim] = shape else {
        return refuse(format!(
            "X has {} dimensions; points must be a two-dimensional array, (points, coordinates)",
            shape.len()
        ));
    };
    let (Ok(rows), Ok(columns)) = (usize::try_from(n), usize::try_from(dim)) else {
        return refuse(format!("X has the shape ({n}, {dim}); lengths must not be negative"));
    };
    if rows.checked_mul(columns).and_then(|len| len.checked_mul(8)).is_none() {
        return refuse(format!("X has the shape ({n}, {dim}), which exceeds the address space"));
    }
    if let Some(strides) = strides {
        let &[by_row, by_column] = strides else {
            return refuse(format!("X has 2 dimensions, but {} strides", strides.len()));
        };
        // The stride of an axis of length 1 is irrelevant.
        let is_compact = rows * columns == 0 || ((rows == 1 || by_row == dim) && (columns == 1 || by_column == 1));
        if !is_compact {
            return refuse(format!(
                "X is not in C order: its strides are {by_row} and {by_column} numbers, not {dim} and 1; make it contiguous first \
                 (x.contiguous() in PyTorch, cupy.ascontiguousarray)"
            ));
        }
    }
    Ok([rows, columns])
}
