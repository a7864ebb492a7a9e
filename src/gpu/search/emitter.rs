//! The destination of the values that a callback emits.

#![allow(missing_docs)] // The macros add undocumented expansions.

use cubecl::prelude::*;

/// Takes the values that a [`HitMapper`](crate::gpu::HitMapper) emits for one query.
#[derive(CubeType)]
pub struct Emitter<T: Numeric> {
    values: SliceMut<T>,
    /// The number of values so far, or the place of the next one.
    place: RuntimeCell<u32>,
    #[cube(comptime)]
    writes: bool,
}

#[cube]
impl<T: Numeric> Emitter<T> {
    /// Creates a destination that counts values, or writes them from `place` on.
    pub(super) fn new(values: SliceMut<T>, place: RuntimeCell<u32>, #[comptime] writes: bool) -> Emitter<T> {
        Emitter::<T> { values, place, writes }
    }

    /// Appends a value to the list of the query.
    pub fn emit(&self, value: T) {
        let at = self.place.read();
        if comptime!(self.writes) {
            let mut values = self.values;
            values[at as usize] = value;
        }
        self.place.store(at + 1);
    }

    /// Returns the number of values so far, or the place of the next one.
    pub(super) fn place(&self) -> u32 {
        self.place.read()
    }
}
