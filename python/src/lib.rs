//! The compiled part of the Python package `ropewalk`: thin functions over the library, on NumPy arrays.
//!
//! In: arrays prepared by the Python side (two dimensions, C order, native `float32` or `float64`). Out: arrays that
//! take over the library's memory. No algorithm is implemented here: each function unpacks its arguments, calls the
//! library ([`calls::run`]) and packs the result.

mod across;
mod arrays;
mod bvh;
mod calls;
mod cosmology;
mod dbscan;
#[cfg(feature = "cuda")]
mod device;
mod errors;
mod figures;
mod fof;
mod halo_figures;
mod halo_options;
mod halos;
mod hdbscan;
mod hop;
mod indices;
mod interpolate;
mod k_distances;
mod borrowed;
mod mesh;
mod pools;
mod ranks;
mod report;
mod sample;
mod snapshot;
mod trees;

use pyo3::prelude::*;
use ropewalk::memory::ReserveAllocator;

#[global_allocator]
static ALLOCATOR: ReserveAllocator = ReserveAllocator;

/// The compiled part of `ropewalk`. The package calls its functions; they are not part of the public interface.
// Safe without the GIL: the only shared state are the pools, which have their own lock.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::across::{dbscan_across, friends_of_friends_across, refuse_across};
    #[pymodule_export]
    #[expect(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use crate::arrays::check_box;
    #[pymodule_export]
    use crate::bvh::Bvh;
    #[pymodule_export]
    use crate::cosmology::halos_above;
    #[pymodule_export]
    use crate::dbscan::{dbscan, dbscan_predict};
    #[cfg(feature = "cuda")]
    #[pymodule_export]
    use crate::device::{
        DeviceArray, DeviceBvh, device_dbscan, device_friends_of_friends, device_hdbscan, device_hop,
        device_minimum_spanning_tree,
    };
    #[pymodule_export]
    use crate::figures::{
        describe_halos, describe_mass, draw_clusters, draw_condensed_tree, draw_gallery, draw_k_distances,
        draw_mass_function, draw_mesh, draw_profiles, draw_projection, draw_subhalos, draw_value_map,
    };
    #[pymodule_export]
    use crate::fof::friends_of_friends;
    #[pymodule_export]
    use crate::halos::{HaloTable, Halos, halos_of_arrays, halos_of_particles};
    #[pymodule_export]
    use crate::hdbscan::{Clusters, hdbscan, hdbscan_of_tree};
    #[pymodule_export]
    use crate::hop::hop;
    #[pymodule_export]
    use crate::interpolate::{Interpolator, prepare};
    #[pymodule_export]
    use crate::k_distances::k_distances;
    #[pymodule_export]
    use crate::mesh::{Mesh, read_mesh};
    #[pymodule_export]
    use crate::pools::{set_threads, threads};
    #[pymodule_export]
    use crate::report::halo_report;
    #[pymodule_export]
    use crate::sample::sample;
    #[pymodule_export]
    use crate::snapshot::{Particles, inspect, particle_type, read_particles};
    #[pymodule_export]
    use crate::trees::{SpanningTree, minimum_spanning_tree};
}
