//! The arguments of `ropewalk convert`.

use std::path::PathBuf;

use ropewalk::units::VelocityUnit;
use ropewalk_io::SnapshotFormat;

use super::particle_type;

/// Write a snapshot in another format.
///
/// IN is what a simulation wrote, a table or an array: `ropewalk info IN` tells what is in it. OUT has the format that its ending says:
/// hdf5 (Gadget's layout, with units), gadget1 and gadget2 (binary), tipsy, npz (arrays positions, velocities, ids, masses, box_size,
/// redshift), npy (positions alone), csv, ecsv and parquet (columns x, y, z, vx, vy, vz, id, mass, or coordinates with the names that they have in IN; the latter two with units). Numbers stay as they are; velocities are
/// peculiar ones, in Gadget's formats over the root of the scale factor. The report says what a format has no place for.
///
///   ropewalk convert snapshot_000 snapshot_000.hdf5
///
///   ropewalk convert snap_099.0.hdf5 dark.npz --type 1 --subsample 0.01
#[derive(Debug, clap::Args)]
pub struct Convert {
    /// The file with the particles; - is standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Where to write them; - is standard output, and needs --format
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// How to write them; otherwise by the name's ending
    #[arg(long, value_name = "ENDING")]
    pub format: Option<SnapshotFormat>,
    /// Particle types to write: 0 gas, 1 dark matter, 2 and 3 others, 4 stars, 5 black holes, 6 neutrinos; or gas, dm, stars, bh. Otherwise all
    #[arg(
        long = "type",
        value_name = "TYPES",
        value_delimiter = ',',
        value_parser = particle_type
    )]
    pub types: Vec<u8>,
    /// About this part of the particles, above 0 and at most 1, the same in each run; their masses are divided by it
    #[arg(long, value_name = "PART", allow_negative_numbers = true)]
    pub subsample: Option<f64>,
    /// Which columns of a table are x, y and z: names or numbers from 1, as RA,DEC,z or 2,3,4; otherwise those named x, y, z
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    pub coordinates: Vec<String>,
    /// Leave out rows of a text table with missing values in the columns that are read: empty fields, NA, N/A, NaN, null, None, --
    #[arg(long)]
    pub skip_missing: bool,
    /// What velocities of IN are in: km/s and others for peculiar ones, gadget for u = v / sqrt(a) in km/s; otherwise what the file
    /// says, and gadget for Gadget's comoving snapshots
    #[arg(long, value_name = "UNIT")]
    pub velocity_unit: Option<VelocityUnit>,
    /// The redshift, if IN does not say it
    #[arg(long, value_name = "Z", allow_negative_numbers = true)]
    pub redshift: Option<f64>,
    /// Take a periodic box that is no cube for open
    #[arg(long)]
    pub open: bool,
    /// Read one file of a split snapshot alone, without the others
    #[arg(long)]
    pub single_part: bool,
    /// Number of threads; otherwise one per processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}
