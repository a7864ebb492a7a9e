//! Arrays on NVIDIA GPUs, imported through DLPack or the CUDA array interface and exported through both. No data pass
//! through the host.
//!
//! In: an array of CuPy, PyTorch, JAX or another library ([`source`]), or a NumPy array, which is copied to the
//! device. Out: a [`DeviceArray`], which these libraries accept without a copy. In between are the library's `gpu`
//! functions ([`functions`]).
//!
//! **Order.** Producers are requested to make the legacy default stream wait for their work, and the library copies on
//! that stream. Results are complete when a function returns, so consumers may use any stream.

mod array;
mod dlpack;
mod external;
mod functions;
mod interface;
mod source;

pub use array::DeviceArray;
pub use functions::{
    DeviceBvh, device_dbscan, device_friends_of_friends, device_hdbscan, device_hop, device_minimum_spanning_tree,
};
