//! The particles of one type in a file where types are mixed.
//!
//! In: the type of each particle. Out: the rows of one type, in their order. Cost: one byte per particle. The rows of
//! a file are read once for each requested type that occurs in it.

use ropewalk::Result;

use crate::columns::Joined;
use crate::number_types::Target;
use crate::read_columns::RowSource;

/// The interval, in particles, at which cumulative counts of each type are stored.
const STEP: usize = 1 << 14;
/// The number of steps that are read together.
const STEPS: usize = 4;
/// The number of types; all types are below it.
const TYPES: usize = 8;

/// The types of the particles in a file.
pub(super) struct Types {
    each: Vec<u8>,
    /// For each step, the number of particles of each type before it. The last entry counts all particles.
    before: Vec<[u64; TYPES]>,
}

impl Types {
    /// Creates the counts of these types, which are below 8.
    pub(super) fn new(each: Vec<u8>) -> Self {
        let mut counts = [0; TYPES];
        let mut before = vec![counts];
        for step in each.chunks(STEP) {
            for &particle_type in step {
                counts[usize::from(particle_type) % TYPES] += 1;
            }
            before.push(counts);
        }
        Self { each, before }
    }

    pub(super) fn count(&self, particle_type: u8) -> u64 {
        self.before.last().map_or(0, |counts| counts[usize::from(particle_type) % TYPES])
    }
}

/// The rows of the particles of one type.
pub(super) struct RowsOfType<'a> {
    pub all: Joined<'a>,
    pub types: &'a Types,
    pub particle_type: u8,
}

impl<T: Target> RowSource<T> for RowsOfType<'_> {
    fn len(&self) -> u64 {
        self.types.count(self.particle_type)
    }

    fn band(&self) -> u64 {
        (STEP * STEPS) as u64
    }

    fn step(&self) -> u64 {
        1
    }

    fn read(&self, first: u64, out: &mut [T]) -> Result<()> {
        let width = self.all.width();
        let own = usize::from(self.particle_type) % TYPES;
        // The last step that at most `first` particles of this type precede.
        let mut step = self.types.before.partition_point(|counts| counts[own] <= first).saturating_sub(1);
        let mut place = self.types.before[step][own];
        let mut slots = out.chunks_exact_mut(width);
        let mut slot = slots.next();
        let mut rows = vec![];
        while let (Some(_), Some(types)) = (&slot, self.types.each.chunks(STEP).nth(step)) {
            if !types.contains(&self.particle_type) {
                step += 1;
                continue;
            }
            rows.resize(types.len() * width, T::zeroed());
            self.all.read((step * STEP) as u64, &mut rows)?;
            for row in types.iter().zip(rows.chunks_exact(width)).filter(|(kind, _)| **kind == self.particle_type) {
                if place >= first
                    && let Some(values) = slot
                {
                    values.copy_from_slice(row.1);
                    slot = slots.next();
                }
                place += 1;
            }
            step += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_counted() {
        let each: Vec<u8> = (0..40_000).map(|i| if i % 7 == 0 { 4 } else { 1 }).collect();
        let types = Types::new(each);
        assert_eq!((types.count(4), types.count(1), types.count(0)), (5715, 34_285, 0));
        assert_eq!(types.before.len(), 4);
    }
}
