//! Reading of a snapshot, and of separate files with the velocities, masses and ids of its particles.

use std::path::{Path, PathBuf};

use ropewalk_io::{Masses, ReadOptions, Snapshot};

use crate::args::Halos as Args;
use crate::failure::Failure;
use crate::input;
use crate::option_names;
use crate::outputs::Inputs;
use crate::phases::Phases;

/// Returns all files that are read: the snapshots, and the files of velocities, masses and ids.
pub fn inputs(args: &Args, snapshots: &[PathBuf]) -> Inputs {
    let particles = &args.particles;
    let beside = [&particles.velocities, &particles.masses, &particles.ids].into_iter().flatten();
    Inputs::from_paths(snapshots.iter().chain(beside))
}

/// Reads the linked particles, and the files with their velocities, masses and ids.
pub fn read(args: &Args, path: &Path, phases: &mut Phases) -> Result<Snapshot, Failure> {
    let particles = &args.particles;
    let mut snapshot = input::read(path, &read_options(args, &particles.types), phases)?;
    input::check_finite(path, &snapshot.points, 0)?;
    let n = snapshot.points.len();
    let beside = [&particles.velocities, &particles.masses, &particles.ids];
    if beside.into_iter().any(Option::is_some) && particles.subsample.is_some() {
        return Err(
            "--subsample: not with files of velocities, masses or ids, which have the values of all particles".into()
        );
    }
    if let Some(file) = &particles.velocities {
        if args.universe.velocity_unit.is_some_and(|unit| unit.is_internal) {
            return Err(
                "--velocities: files have peculiar velocities; give --velocity-unit in km/s, m/s or cm/s".into()
            );
        }
        let read = ropewalk_io::read(file, &ReadOptions::default().coordinates_only(true))?;
        snapshot.notes.extend(input::notes_of("--velocities", &option_names::notes(&read.notes)));
        let velocities = read.points;
        if (velocities.len(), velocities.dim()) != (n, 3) {
            let (file, len, dim) = (file.display(), velocities.len(), velocities.dim());
            return Err(format!("--velocities {file}: has {len} rows of {dim} values; expected {n} rows of 3").into());
        }
        snapshot.velocities = Some(velocities);
        snapshot.units.velocity = args.universe.velocity_unit.or(snapshot.units.velocity);
    }
    // If the file has other types, their masses and so the mass of all matter are not known.
    let is_all = snapshot.file_types.len() < 2;
    if let Some(file) = &particles.masses {
        let masses = input::values("--mass", file, n, &mut snapshot.notes)?;
        snapshot.matter = is_all.then(|| masses.iter().sum());
        snapshot.masses = Masses::Each(masses);
    }
    if let Some(mass) = particles.particle_mass {
        if snapshot.masses != Masses::Unknown {
            return Err("--particle-mass: the snapshot has masses; leave the option out".into());
        }
        snapshot.matter = is_all.then_some(mass * n as f64);
        snapshot.masses = Masses::Equal(mass);
    }
    if let Some(file) = &particles.ids {
        let ids = ropewalk_io::read_npy_u64(file)?;
        if ids.len() != n {
            return Err(format!("--ids {}: has {} ids; expected {n}", file.display(), ids.len()).into());
        }
        snapshot.ids = Some(ids);
    }
    Ok(snapshot)
}

/// Returns the options for reading particles of these types.
pub fn read_options(args: &Args, types: &[u8]) -> ReadOptions {
    let mut read = ReadOptions::default().types(types.iter().copied());
    read.columns = args.particles.coordinates.clone();
    read.velocity_unit = args.universe.velocity_unit;
    read.redshift = args.universe.redshift;
    read.subsample = args.particles.subsample;
    // The box of `--box` is a cube, so the box of the file may have any shape.
    read.open = args.open || args.box_size.is_some();
    read.single_part = args.particles.single_part;
    read
}
