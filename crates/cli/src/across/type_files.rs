//! The labels and ids of the particles of one type, which all ranks write together.

use std::path::Path;

use ropewalk::distributed::{Communicator, Reduction};
use ropewalk_io::{SharedNpy, Snapshot};

use super::Shared;
use crate::failure::Failure;

/// The files of one type.
pub struct TypeFiles {
    pub kind: u8,
    pub names: Vec<&'static str>,
    /// Particles of this type on lower ranks.
    first: u64,
    labels: Shared,
    ids: Option<Shared>,
}

impl TypeFiles {
    /// Makes the files for the particles of a type, of which `part` has those of this rank. Collective.
    pub fn create(
        folder: &Path,
        kind: u8,
        names: &[&'static str],
        part: &Snapshot,
        ranks: &dyn Communicator,
    ) -> Result<Self, Failure> {
        let own: usize = part.types.iter().filter(|run| run.particle_type == kind).map(|run| run.count).sum();
        let mut counts = vec![0; ranks.size()];
        counts[ranks.rank()] = own as u64;
        ranks.all_reduce(&mut counts, Reduction::Sum)?;
        let (first, all) = (counts[..ranks.rank()].iter().sum(), counts.iter().sum());
        let labels = Shared::create::<i32>(&folder.join(names[0]), all, ranks)?;
        let ids = names.get(1).map(|name| Shared::create::<u64>(&folder.join(name), all, ranks)).transpose()?;
        Ok(Self { kind, names: names.to_vec(), first, labels, ids })
    }

    /// Writes the rows of all ranks; `labels` has one for each particle of `part`. Collective.
    pub fn write(&self, part: &Snapshot, labels: &[i32], ranks: &dyn Communicator) -> Result<(), Failure> {
        self.labels.write(self.first, &part.of_type(self.kind, labels), ranks)?;
        if let Some(file) = &self.ids {
            let ids = part.of_type(self.kind, part.ids.as_deref().unwrap_or_default());
            file.write(self.first, &ids, ranks)?;
        }
        Ok(())
    }

    /// The arrays of rank 0, which have no names yet; none on other ranks.
    pub fn into_arrays(self) -> impl Iterator<Item = SharedNpy> {
        [Some(self.labels), self.ids].into_iter().flatten().filter_map(|array| array.0)
    }
}
