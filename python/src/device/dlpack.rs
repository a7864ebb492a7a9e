//! DLPack through the crate `dlpark`: capsules and their ownership.
//!
//! Source: the Python array API standard, "Data interchange mechanisms" (2024.12); DLPack 1.3.

#![allow(unsafe_code)] // Addresses are combined with their owners.

use std::sync::Arc;

use dlpark::ffi::{DLDataType, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::python::consumer::stream::cuda as cuda_stream;
use dlpark::python::{DlpackExporter, DlpackStream, ExportRequest, ImportRequest, StreamArg};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::device::array::{DeviceArray, DeviceColumn};
use crate::device::external::{ExternalPoints, Precision, checked_shape};

/// The stream that waits for the producer's work.
struct LegacyDefault;

// SAFETY: the legacy default stream, with the number 1, exists on every CUDA device at any time.
unsafe impl DlpackStream for LegacyDefault {
    fn as_python_arg(&self, _py: Python<'_>, _device: DLDevice) -> PyResult<StreamArg> {
        Ok(cuda_stream(std::ptr::null_mut()))
    }
}

/// Returns the points of an object that supports DLPack; `None` if it does not, or if it is a NumPy array.
pub fn points(x: &Bound<'_, PyAny>) -> PyResult<Option<ExternalPoints>> {
    let py = x.py();
    if x.is_instance_of::<numpy::PyUntypedArray>() || !x.hasattr(pyo3::intern!(py, "__dlpack_device__"))? {
        return Ok(None);
    }
    let request = ImportRequest::new(x.as_borrowed())?;
    let device = match request.device() {
        Err(error) if error.is_instance_of::<PyAttributeError>(py) => return Ok(None),
        device => device?,
    };
    let index = match device.device_type {
        DLDeviceType::CUDA => Some(device.device_id as usize),
        DLDeviceType::CUDAMANAGED => None,
        DLDeviceType(other) => {
            return Err(PyValueError::new_err(format!(
                "X is in memory of DLPack's device type {other}; it must be in CUDA memory, type 2 or 13"
            )));
        }
    };
    let import = request.import(Some(&LegacyDefault), None)?;
    let (address, shape, precision) = {
        let tensor = import.validate().map_err(|error| PyValueError::new_err(error.to_string()))?;
        let precision = match tensor.dtype() {
            DLDataType::F32 => Precision::F32,
            DLDataType::F64 => Precision::F64,
            other => {
                return Err(PyTypeError::new_err(format!(
                    "X holds numbers of DLPack's type {}, {} bits; it must hold float32 or float64",
                    other.code.0, other.bits
                )));
            }
        };
        let shape = checked_shape(tensor.shape(), tensor.strides())?;
        let address = (tensor.data_ptr() as u64).checked_add(tensor.byte_offset());
        (address.ok_or_else(|| PyValueError::new_err("X is invalid: its address is out of range"))?, shape, precision)
    };
    Ok(Some(ExternalPoints { address, shape, precision, device: index, wait_for_all: false, import: Some(import) }))
}

fn data_type(column: &DeviceColumn) -> DLDataType {
    match column {
        DeviceColumn::Labels(_) | DeviceColumn::Indices { is_narrow: true, .. } => DLDataType::I32,
        DeviceColumn::Indices { .. } => DLDataType::U32,
        DeviceColumn::Numbers(_) => DLDataType::F64,
    }
}

impl DeviceArray {
    fn export<M: ManagedTensorBase>(&self, py: Python<'_>) -> PyResult<Managed<M>> {
        let memory = self.memory(py)?;
        let address = memory.address();
        let prepared = Dynamic::compact(self.shape()).prepare_as::<M>();
        let mut tensor =
            prepared.map_err(|error| PyBufferError::new_err(error.to_string()))?.initialize(Arc::clone(memory));
        tensor.set_data(std::ptr::without_provenance_mut(address as usize));
        tensor.set_device(DlpackExporter::device(self)).set_dtype(data_type(self.column()));
        // SAFETY: `memory` holds `shape` numbers of type `data_type`, contiguous and in C order (`new` and `rows` set
        // the shape from the column), and the tensor keeps it alive through the `Arc`.
        Ok(unsafe { tensor.finish() })
    }
}

impl DlpackExporter for DeviceArray {
    fn device(&self) -> DLDevice {
        DLDevice::cuda(self.index() as i32)
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::empty()
    }

    /// Checks the stream only: the numbers are complete, so no stream has to wait.
    fn prepare_export(&self, _py: Python<'_>, request: &ExportRequest<'_>) -> PyResult<()> {
        request.cuda_stream().map(|_| ())
    }

    fn export_legacy(&self, py: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        self.export(py)
    }

    fn export_versioned(&self, py: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.export(py)
    }
}
