//! The C interface of ropewalk, for programs such as running simulations. It is documented in `include/ropewalk.h`.
//!
//! In: particles in the memory of a program, and its functions for communication between ranks. Out: a label for each
//! particle, and rows of halos.
//! The module [`ffi`] has all `unsafe` code: it reads the particles into a snapshot, wraps the functions of the
//! communicator, and returns results. The algorithms are in other crates.

#[cfg_attr(not(feature = "cuda"), path = "no_device.rs")]
mod device;
mod ffi;
mod find;
#[cfg(test)]
mod c_interface;
#[cfg(test)]
mod c_points;
mod types;

/// Lets a call on one rank fail with an error when memory runs out, instead of ending the program.
#[global_allocator]
static ALLOCATOR: ropewalk::memory::ReserveAllocator = ropewalk::memory::ReserveAllocator;
