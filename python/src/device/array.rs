//! Results on a device, for use by other libraries.

use std::sync::{Arc, OnceLock};

use dlpark::python::{DlpackExporter, ExportRequest, export_dlpack};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use ropewalk::gpu::{CudaMemory, Device, DeviceVec};

use crate::errors::exception;

/// The values of an array.
pub enum DeviceColumn {
    Labels(DeviceVec<i32>),
    /// Indices, exported as `int32` if all are below 2^31, since not all libraries support `uint32`.
    Indices {
        values: DeviceVec<u32>,
        is_narrow: bool,
    },
    Numbers(DeviceVec<f64>),
}

impl DeviceColumn {
    /// Returns a column of indices below `end`.
    pub fn indices(values: DeviceVec<u32>, end: usize) -> Self {
        Self::Indices { values, is_narrow: end <= 1 << 31 }
    }

    fn len(&self) -> usize {
        match self {
            Self::Labels(values) => values.len(),
            Self::Indices { values, .. } => values.len(),
            Self::Numbers(values) => values.len(),
        }
    }

    fn device(&self) -> Device {
        match self {
            Self::Labels(values) => values.device(),
            Self::Indices { values, .. } => values.device(),
            Self::Numbers(values) => values.device(),
        }
    }

    fn to_cuda(&self) -> ropewalk::Result<CudaMemory> {
        match self {
            Self::Labels(values) => values.to_cuda(),
            Self::Indices { values, .. } => values.to_cuda(),
            Self::Numbers(values) => values.to_cuda(),
        }
    }

    /// Returns NumPy's name of the type.
    fn dtype(&self) -> &'static str {
        match self {
            Self::Labels(_) | Self::Indices { is_narrow: true, .. } => "<i4",
            Self::Indices { .. } => "<u4",
            Self::Numbers(_) => "<f8",
        }
    }
}

/// An array on an NVIDIA GPU: numbers in C order.
///
/// `cupy.from_dlpack`, `torch.from_dlpack`, `jax.dlpack.from_dlpack` and other consumers of DLPack or the CUDA array
/// interface accept it without a copy; ``get()`` copies it to the host. The numbers are complete. Their memory is
/// freed after the array and everything made from it are gone and the device has finished the work queued until then.
#[pyclass(frozen, module = "ropewalk._native")]
pub struct DeviceArray {
    column: DeviceColumn,
    shape: Vec<usize>,
    /// Set when the array is first exported.
    memory: OnceLock<Arc<CudaMemory>>,
}

impl DeviceArray {
    pub fn new(column: DeviceColumn) -> Self {
        let shape = vec![column.len()];
        Self { column, shape, memory: OnceLock::new() }
    }

    /// Returns an array of the given shape over the values of the column.
    pub fn rows(column: DeviceColumn, shape: [usize; 2]) -> Self {
        Self { column, shape: shape.into(), memory: OnceLock::new() }
    }

    pub fn column(&self) -> &DeviceColumn {
        &self.column
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns CUDA's number of the device. Arrays exist only on CUDA devices.
    pub fn index(&self) -> usize {
        self.column.device().cuda_index().unwrap_or(0)
    }

    /// Returns the memory, which is shared from now on and freed with its last user.
    pub fn memory(&self, py: Python<'_>) -> PyResult<&Arc<CudaMemory>> {
        if let Some(memory) = self.memory.get() {
            return Ok(memory);
        }
        let memory = py.detach(|| self.column.to_cuda()).map_err(exception)?;
        Ok(self.memory.get_or_init(|| Arc::new(memory)))
    }
}

#[pymethods]
impl DeviceArray {
    /// The length of each axis.
    #[getter(shape)]
    fn shape_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The NumPy type of the numbers.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArrayDescr>> {
        numpy::PyArrayDescr::new(py, self.column.dtype())
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.column.len()
    }

    /// The device that holds the array: ``"cuda:0"``.
    #[getter]
    fn device(&self) -> String {
        format!("cuda:{}", self.index())
    }

    fn __len__(&self) -> usize {
        self.shape[0]
    }

    fn __repr__(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let name = match self.column.dtype() {
            "<i4" => "int32",
            "<u4" => "uint32",
            _ => "float64",
        };
        format!("<DeviceArray of {name}, {}, on {}>", shape.join(" x "), self.device())
    }

    /// Returns a copy in host memory.
    fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shape = self.shape.clone();
        Ok(match &self.column {
            DeviceColumn::Labels(values) => {
                py.detach(|| values.read()).map_err(exception)?.into_pyarray(py).reshape(shape)?.into_any()
            }
            DeviceColumn::Indices { values, is_narrow } => {
                let array = py.detach(|| values.read()).map_err(exception)?.into_pyarray(py).reshape(shape)?;
                if *is_narrow { array.call_method1("view", (self.dtype(py)?,))? } else { array.into_any() }
            }
            DeviceColumn::Numbers(values) => {
                py.detach(|| values.read()).map_err(exception)?.into_pyarray(py).reshape(shape)?.into_any()
            }
        })
    }

    /// Returns a copy in host memory.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.get(py)
    }

    /// Raises `TypeError`, since a pickle might be loaded on a machine without such a device.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "an array on a GPU cannot be pickled or copied; get() copies it to the host (for an estimator: fit it with device='cpu')",
        ))
    }

    /// Raises `TypeError`, so that NumPy does not copy from the device implicitly.
    #[pyo3(signature = (*_args, **_kwargs))]
    fn __array__(&self, _args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        Err(PyTypeError::new_err("this array is on a GPU; get() copies it to the host"))
    }

    fn __dlpack_device__(&self) -> (u32, i32) {
        DlpackExporter::device(self).into()
    }

    /// Returns a capsule for `from_dlpack`.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        export_dlpack(self, py, ExportRequest::parse(stream.as_ref(), max_version, dl_device, copy)?)
    }

    /// The CUDA array interface, version 3.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let address = if self.column.len() == 0 { 0 } else { self.memory(py)?.address() };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.shape_of(py)?)?;
        interface.set_item("typestr", self.column.dtype())?;
        interface.set_item("data", (address, false))?;
        interface.set_item("strides", py.None())?;
        interface.set_item("stream", py.None())?;
        Ok(interface)
    }
}
