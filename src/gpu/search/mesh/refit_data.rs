//! The data that a refit of a mesh needs in addition to the tree.

use crate::gpu::buffer::Buffer;

/// The faces and levels of a mesh that was built on a device.
#[derive(Clone, Debug)]
pub(super) struct RefitData {
    /// The vertices of each face.
    pub faces: Buffer<u32>,
    pub n_vertices: usize,
    /// The number of the first node of each level, followed by the number of nodes.
    pub levels: Vec<u32>,
    /// The cost of the tree that was built; `None` before the first refit.
    pub built_cost: Option<f64>,
}
