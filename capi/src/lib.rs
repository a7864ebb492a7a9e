//! ropewalk for programs in C, as simulations that run: `include/ropewalk.h` is its documentation.
//!
//! In: particles in the memory of a program, and its functions by which ranks talk. Out: a label for each, and rows of halos.
//! What a program hands over by pointers is taken apart in [`ffi`], the one module with `unsafe` code: it reads the particles into a
//! snapshot, wraps the functions of the communicator, and hands out results. No algorithm is here.

mod ffi;
mod find;
#[cfg(test)]
mod c_interface;
mod types;

/// Without memory a call fails; the program goes on.
#[global_allocator]
static ALLOCATOR: ropewalk::memory::ReserveAllocator = ropewalk::memory::ReserveAllocator;
