//! The arguments of `ropewalk convert`.

use std::path::PathBuf;

use ropewalk::units::VelocityUnit;
use ropewalk_io::SnapshotFormat;

use super::{number, particle_type};

/// Convert a snapshot to another format.
///
/// IN is the output of a simulation, a table or an array; `ropewalk info IN` shows its contents. The ending of OUT is
/// its format:
///
/// hdf5 (Gadget's layout, with units), gadget1 and gadget2 (binary), tipsy, npz (arrays positions, velocities, ids,
/// masses, box_size, redshift), npy (positions only), csv, ecsv and parquet. The last three have the columns x, y, z,
/// vx, vy, vz, id and mass. If IN has other names for the coordinates, these are kept. The formats ecsv and parquet
/// also have units.
///
/// Values are not changed. Velocities are peculiar; in Gadget's formats they are divided by the square root of the
/// scale factor. The report lists data that the format cannot store.
///
/// Examples:
///
///   ropewalk convert snapshot_000 snapshot_000.hdf5
///
///   ropewalk convert snap_099.0.hdf5 dark.npz --type 1 --subsample 0.01
#[derive(Debug, clap::Args)]
pub struct Convert {
    /// File with the particles; - is standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// File to write; - is standard output, and requires --format
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Format [default: by the ending of OUT]
    #[arg(long, value_name = "ENDING")]
    pub format: Option<SnapshotFormat>,
    /// Particle types to write, by number or name [default: all]
    ///
    /// The types are 0 gas, 1 dm (dark matter), 2 and 3 others, 4 stars, 5 bh (black holes) and 6 neutrinos.
    #[arg(
        long = "type",
        value_name = "TYPES",
        value_delimiter = ',',
        value_parser = particle_type
    )]
    pub types: Vec<u8>,
    /// Read only this fraction of the particles, above 0 and at most 1
    ///
    /// The fraction is approximate, and the same particles are read in each run. Their masses are divided by it.
    #[arg(long, value_name = "PART", value_parser = number, allow_negative_numbers = true)]
    pub subsample: Option<f64>,
    /// Coordinate columns of a table, as RA,DEC,z or 2,3,4 [default: x, y, z]
    ///
    /// Names, or numbers from 1.
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    pub coordinates: Vec<String>,
    /// Skip rows of a text table with missing values in the columns that are read
    ///
    /// Missing values are empty fields, NA, N/A, NaN, null, None and --.
    #[arg(long)]
    pub skip_missing: bool,
    /// Unit of the velocities of IN [default: from the file]
    ///
    /// km/s and similar units are for peculiar velocities, gadget is for u = v / sqrt(a) in km/s. The default for
    /// comoving snapshots of Gadget is gadget.
    #[arg(long, value_name = "UNIT")]
    pub velocity_unit: Option<VelocityUnit>,
    /// Redshift, if IN does not have it
    #[arg(long, value_name = "Z", value_parser = number, allow_negative_numbers = true)]
    pub redshift: Option<f64>,
    /// Accept a periodic box that is not a cube, and treat it as open
    #[arg(long)]
    pub open: bool,
    /// Read only the given file of a split snapshot
    #[arg(long)]
    pub single_part: bool,
    /// Number of threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}
