//! Files with the labels and ids of the particles of one type, which all ranks write together.

use std::path::Path;

use ropewalk::Result;
use ropewalk::distributed::Communicator;
use ropewalk_io::{SharedNpy, Snapshot};

/// The files of one type.
pub struct TypeFiles<'a> {
    pub kind: u8,
    pub names: Vec<&'static str>,
    labels: SharedNpy<'a>,
    ids: Option<SharedNpy<'a>>,
}

impl<'a> TypeFiles<'a> {
    /// Creates the files for the particles of a type; `part` has those of this rank. Collective.
    pub fn create(
        folder: &Path,
        kind: u8,
        names: &[&'static str],
        part: &Snapshot,
        ranks: &'a dyn Communicator,
    ) -> Result<Self> {
        let own: usize = part.types.iter().filter(|run| run.particle_type == kind).map(|run| run.count).sum();
        let labels = SharedNpy::create::<i32>(ranks, folder.join(names[0]), own as u64, None)?;
        let ids = names.get(1).map(|name| SharedNpy::create::<u64>(ranks, folder.join(name), own as u64, None));
        Ok(Self { kind, names: names.to_vec(), labels, ids: ids.transpose()? })
    }

    /// Writes the rows of all ranks; `labels` has one entry per particle of `part`. Collective.
    pub fn write(&self, part: &Snapshot, labels: &[i32]) -> Result<()> {
        self.labels.write(&part.of_type(self.kind, labels))?;
        let ids = || part.of_type(self.kind, part.ids.as_deref().unwrap_or_default());
        self.ids.as_ref().map_or(Ok(()), |file| file.write(&ids()))
    }

    /// Returns the arrays, which are not committed yet.
    pub fn into_arrays(self) -> impl Iterator<Item = SharedNpy<'a>> {
        [Some(self.labels), self.ids].into_iter().flatten()
    }
}
