//! Writing of snapshots as NumPy archives, with one array per quantity.
//!
//! In: a [`Snapshot`]. Out: `positions` and, if they are known, `velocities` (peculiar), `ids`, `masses` (a single
//! number if all are equal), `types` (if not all are dark matter), `box_size`, `redshift`, `omega_m`, `omega_lambda`,
//! `h`. Cost: one pass; nothing is copied.

use std::io::{self, Write};
use std::path::Path;

use zip::ZipWriter;
use zip::write::StreamWriter;

use ropewalk::{Error, Result};

use crate::npz::stored;
use crate::snapshot_write::types::Types;
use crate::{Masses, Snapshot, npy};

pub(super) fn write(out: &mut dyn Write, path: &Path, snapshot: &Snapshot) -> Result<()> {
    let types = Types::new(snapshot, path)?;
    write_arrays(out, snapshot, &types).map_err(Error::write)
}

fn write_arrays(out: &mut dyn Write, snapshot: &Snapshot, types: &Types) -> io::Result<()> {
    let mut archive = ZipWriter::new_stream(out);
    let start =
        |archive: &mut ZipWriter<StreamWriter<_>>, name: &str| archive.start_file(format!("{name}.npy"), stored());
    for (name, points) in [("positions", Some(&snapshot.points)), ("velocities", snapshot.velocities.as_ref())] {
        let Some(points) = points else { continue };
        start(&mut archive, name)?;
        npy::write_points(&mut archive, points)?;
    }
    if let Some(ids) = &snapshot.ids {
        start(&mut archive, "ids")?;
        npy::write(&mut archive, &[ids.len() as u64], ids)?;
    }
    let masses = match &snapshot.masses {
        Masses::Each(masses) => Some((vec![masses.len() as u64], masses.as_slice())),
        Masses::Equal(mass) => Some((vec![], std::slice::from_ref(mass))),
        Masses::Unknown => None,
    };
    if let Some((shape, masses)) = masses {
        start(&mut archive, "masses")?;
        npy::write(&mut archive, &shape, masses)?;
    }
    if snapshot.has_types() {
        start(&mut archive, "types")?;
        let kinds = types.each();
        npy::write(&mut archive, &[kinds.len() as u64], &kinds)?;
    }
    let background = snapshot.background;
    let numbers = [
        ("box_size", snapshot.box_size),
        ("redshift", snapshot.redshift),
        ("omega_m", background.omega_m),
        ("omega_lambda", background.omega_lambda),
        ("h", background.h),
    ];
    for (name, number) in numbers {
        let Some(number) = number else { continue };
        start(&mut archive, name)?;
        npy::write(&mut archive, &[], &[number])?;
    }
    archive.finish()?;
    Ok(())
}
