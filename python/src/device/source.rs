//! The points that are passed to a function, in host or device memory.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use ropewalk::gpu::{Device, DeviceVec};
use ropewalk_table::Coordinates;

use crate::arrays::Rows;
use crate::device::external::{ExternalPoints, Precision};
use crate::device::{dlpack, interface};
use crate::errors::exception;

enum Place {
    Host(ropewalk_table::Points),
    External(ExternalPoints),
}

/// The points that are passed to a function, and the device to work on.
pub struct Source {
    place: Place,
    device: Device,
    pub dim: usize,
}

impl Source {
    /// Accepts an array of another library, or a NumPy array. The former stays on its device, which must be `index`
    /// if given. The latter is for device `index`, by default the first one.
    pub fn new(x: &Bound<'_, PyAny>, index: Option<usize>) -> PyResult<Self> {
        let external = match dlpack::points(x)? {
            Some(external) => Some(external),
            None => interface::points(x)?,
        };
        let Some(external) = external else {
            let Rows(points) = x.extract().map_err(|_| PyTypeError::new_err(NO_ARRAY))?;
            let dim = checked_dim(points.dim())?;
            let device = Device::cuda(index.unwrap_or(0)).map_err(exception)?;
            return Ok(Self { place: Place::Host(points), device, dim });
        };
        let dim = checked_dim(external.shape[1])?;
        let device = match external.device {
            Some(own) => Device::cuda(own),
            // An empty array may have no address from which to derive the device.
            None if external.shape[0] == 0 => Device::cuda(index.unwrap_or(0)),
            None => Device::from_cuda_address(external.address),
        };
        let device = device.map_err(exception)?;
        if let (Some(index), Some(own)) = (index, device.cuda_index())
            && index != own
        {
            return Err(PyValueError::new_err(format!(
                "device is 'cuda:{index}', but X is on 'cuda:{own}'; move X or omit device"
            )));
        }
        Ok(Self { place: Place::External(external), device, dim })
    }

    /// Copies the coordinates within the device, or from the host to the device. The other library gets its memory
    /// back.
    pub fn coordinates(self) -> ropewalk::Result<Coordinates> {
        let device = self.device;
        match self.place {
            Place::Host(points) => Coordinates::new(&points, device),
            Place::External(ExternalPoints { address, shape, precision, wait_for_all, import, .. }) => {
                if wait_for_all {
                    device.wait_for_all()?;
                }
                let len = shape[0] * shape[1];
                let coordinates = match precision {
                    Precision::F32 => DeviceVec::from_cuda(address, len, device).map(Coordinates::F32),
                    Precision::F64 => DeviceVec::from_cuda(address, len, device).map(Coordinates::F64),
                };
                drop(import);
                coordinates
            }
        }
    }
}

const NO_ARRAY: &str = "X is not an array of points: pass a NumPy array, or an array on a GPU with __dlpack__ or \
                        __cuda_array_interface__";

fn checked_dim(dim: usize) -> PyResult<usize> {
    match dim {
        1..=10 => Ok(dim),
        _ => Err(PyValueError::new_err(format!("X has {dim} coordinates per point; it must be 1 to 10"))),
    }
}
