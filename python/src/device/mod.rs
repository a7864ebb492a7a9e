//! Arrays on NVIDIA GPUs: in by DLPack or by the CUDA array interface, out by both. Nothing goes through the host.
//!
//! In: an array of CuPy, PyTorch, JAX or another library ([`source`]), or one of NumPy's, which is copied to the device. Out: a
//! [`DeviceArray`], which such libraries take without a copy. Between them are the library's `gpu` functions ([`functions`]).
//!
//! **Order.** A producer is asked to make the legacy default stream wait for its work; the library copies on that stream. Results are
//! complete when a function returns, so that a consumer may use any stream.

mod array;
mod dlpack;
mod foreign;
mod functions;
mod interface;
mod source;

pub use array::DeviceArray;
pub use functions::{
    DeviceBvh, device_dbscan, device_friends_of_friends, device_hdbscan, device_hop, device_minimum_spanning_tree,
};
