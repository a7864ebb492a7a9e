//! The arguments of `ropewalk halos`.

use std::path::PathBuf;

use ropewalk::units::UnitSystem;

use super::super::centers::Kind;
use super::super::device::Names;
use super::super::universe::Overrides;
use super::{AdaptaHop, Finder, Hop, Pictures, particle_type};

/// Find the halos of snapshots, and with --finder adaptahop their subhalos; write a catalogue, labels and pictures.
///
/// SNAPSHOT is what a simulation wrote: `ropewalk info SNAPSHOT` tells what is in it. A snapshot in several files is named by one of
/// them; several snapshots have a folder each in DIR, and those that are finished are skipped. Into DIR go halos.ecsv (a line per halo,
/// largest first), labels.npy (the group of each linked particle in file order, -1 for none; other types have files of their own, see
/// --attach), mass_function.svg and .ecsv and projection.png, with
/// --finder adaptahop dendrogram.svg; all of them, or none if there is an error. Columns are called fof_halo_*, with other finders halo_*. With
/// --finder adaptahop each subhalo has a line, too: it says in which parent (a label, -1 for none) and host and on which level it is.
/// Members of a line are its own particles and those of all subhalos in it; labels.npy has the smallest structure of each particle.
///
///   ropewalk halos snap_099.0.hdf5 --out halos --so 200c,500c --units physical
///
///   ropewalk halos snap_*.hdf5 --out run1 --catalog halos.hdf5,halos.ecsv --no-pictures
///
///   ropewalk halos snapshot_000 --out halos --finder adaptahop --unbind --profiles 10 --dendrogram 7
#[derive(Clone, Debug, clap::Args)]
pub struct Halos {
    /// The files with the particles; - is standard input
    #[arg(required = true, value_name = "SNAPSHOT")]
    pub snapshots: Vec<PathBuf>,
    #[command(flatten)]
    pub particles: Particles,
    #[command(flatten)]
    pub universe: Overrides,
    /// What a halo is
    #[arg(long, value_enum, default_value_t = Finder::Fof, help_heading = "Halos")]
    pub finder: Finder,
    /// Linking length in mean separations, (volume / particles)^(1/3); the volume is that of the box if one is known,
    /// otherwise that of the smallest box around the particles, and in zoom runs the one that particles would fill at the mean
    /// density of matter
    #[arg(long, value_name = "B", default_value_t = 0.2, allow_negative_numbers = true, help_heading = "Halos")]
    pub linking_length: f64,
    /// Linking length in the snapshot's length unit instead
    #[arg(
        long,
        value_name = "LENGTH",
        conflicts_with = "linking_length",
        allow_negative_numbers = true,
        help_heading = "Halos"
    )]
    pub eps: Option<f64>,
    /// Several linking lengths in mean separations, all from one spanning tree. Each has a folder of its own in DIR, as b0.15, with
    /// what a run with that one writes. For a few lengths runs of their own are faster
    #[arg(
        long,
        value_name = "B,..",
        value_delimiter = ',',
        conflicts_with_all = ["linking_length", "eps"],
        allow_negative_numbers = true,
        help_heading = "Halos"
    )]
    pub linking_lengths: Vec<f64>,
    /// The least number of particles of a halo, of the types that are linked
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(2..),
        help_heading = "Halos"
    )]
    pub min_members: u32,
    /// No periodic boundaries, even if the snapshot has a box; a box that is no cube needs this
    #[arg(long, help_heading = "Halos")]
    pub open: bool,
    /// Side of the periodic box, in the snapshot's length unit; otherwise the snapshot's, if it has one
    #[arg(long = "box", value_name = "L", allow_negative_numbers = true, help_heading = "Halos")]
    pub box_size: Option<f64>,
    #[command(flatten)]
    pub hop: Hop,
    #[command(flatten)]
    pub adaptahop: AdaptaHop,
    /// Where the centre of each halo is: columns fof_halo_center_* (halo_center_*). With mcp, alone or after another and a comma, the most
    /// connected particle has columns of its own, fof_halo_mcp_*; it counts all friends, which takes its time in dense halos
    #[arg(long, value_enum, value_name = "KIND[,mcp]", value_delimiter = ',', help_heading = "Measurements")]
    pub center: Vec<Kind>,
    /// Plummer softening of the potential that most bound particles are found in, and of --unbind, in the snapshot's length unit
    #[arg(
        long,
        value_name = "LENGTH",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        help_heading = "Measurements"
    )]
    pub softening: f64,
    /// Spherical overdensities about the centre (mbp unless --center says otherwise), over all particles that are linked or
    /// attached: some of 200c, 500c, 200m, vir. Adds columns sod_halo_*, and the structure of each halo
    #[arg(long, value_name = "DENSITIES", value_delimiter = ',', help_heading = "Measurements")]
    pub so: Vec<ropewalk::halo::Overdensity>,
    /// Spheres of fewer particles have no mass and no radius (NaN), but their count: they are noise
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Measurements")]
    pub min_so_particles: usize,
    /// Also write profiles.ecsv and draw profiles.svg: the density about the most bound particle of the N largest halos, not subhalos, in
    /// shells out to R200c, with an NFW fit outside of three softenings, or without --softening outside of the radius of Power et al. 2003.
    /// The picture has the first 100
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = "Measurements")]
    pub profiles: usize,
    /// Folder for the results of one run, made if need be. summary.json lists its files with their sizes; the next run into the folder
    /// removes those that it does not write again and that are as they were written. Other files stay, and the report names those that look
    /// like results
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: PathBuf,
    /// The catalogue, by the names' endings: .ecsv (enhanced CSV, with units), .csv, .hdf5 (with --members also these) or .parquet; - is
    /// enhanced CSV on standard output
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', default_value = "halos.ecsv", help_heading = "Output")]
    pub catalog: Vec<PathBuf>,
    /// What catalogue and profiles are in: h is comoving Mpc/h, Msun/h and km/s, physical is physical Mpc, Msun and km/s; otherwise the
    /// snapshot's own units
    #[arg(long, value_name = "h|physical", help_heading = "Output")]
    pub units: Option<UnitSystem>,
    /// Also write fof_subhalo_tab_000.0.hdf5: groups and subhalos in the layout of GADGET-4, which yt and pynbody open
    #[arg(long, help_heading = "Output")]
    pub group_catalog: bool,
    /// Only these columns of the catalogue, in this order
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Output")]
    pub columns: Vec<String>,
    /// Also write density.npy: the density of each particle in file order, in units of the mean density; with --finder
    /// hop or adaptahop
    #[arg(long, help_heading = "Output")]
    pub density: bool,
    /// Also write members.npz: the ids of each halo's members, in the order of the catalogue; with those of all subhalos in it. Ids of
    /// attached particles are arrays of their own, ids_type0 and so on
    #[arg(long, help_heading = "Output")]
    pub members: bool,
    /// Also write the summary.json of the folder to this file; - is standard output. Several snapshots have a summary.json each
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Finds the halos of snapshots again that are finished
    #[arg(long, help_heading = "Output")]
    pub again: bool,
    /// Also draw gallery.png: the N largest halos with their members, R200c, and centres of each kind
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(..=100),
        help_heading = "Pictures"
    )]
    pub gallery: u16,
    /// No mass function, no projection, no dendrogram, and no picture of profiles
    #[arg(long, help_heading = "Pictures")]
    pub no_pictures: bool,
    #[command(flatten)]
    pub pictures: Pictures,
    /// What finds halos and centres: cpu, cuda or vulkan, or one of several by its number, as cuda:1. The centres of a device are
    /// mbp and mcp. Several, as cuda:0,1, share the particles of one snapshot, as processes do with --mpi: files are those of one, byte for
    /// byte; friends of friends alone, and not with --linking-lengths, --gallery, --group-catalog, --velocities, --mass, --ids and
    /// --catalog -, as with --mpi. What they tell each other goes by way of the host, whose threads they share. With --mpi the ranks of one
    /// host take its devices in turn, from this one on
    #[arg(long, value_name = "DEVICE", default_value = "cpu", help_heading = "Running")]
    pub device: Names,
    /// Number of threads; otherwise one per processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Running")]
    pub threads: Option<u16>,
    /// Share the work among the processes that mpirun or srun starts: each reads its part of the snapshot. Files are those of one
    /// process, byte for byte; of --members one process holds 16 bytes for each member. Not with --finder adaptahop, --linking-lengths,
    /// --gallery, --group-catalog, --velocities, --mass, --ids and --catalog -; one thread each, unless --threads says more
    #[arg(long, help_heading = "Running", hide = cfg!(not(feature = "mpi")))]
    pub mpi: bool,
}

/// One of the values of `--attach`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attach {
    Nothing,
    Type(u8),
}

fn attach(text: &str) -> Result<Attach, String> {
    if text == "none" {
        return Ok(Attach::Nothing);
    }
    particle_type(text).map(Attach::Type).map_err(|error| format!("{error}, or none"))
}

/// Which particles of a file, and what else belongs to them.
#[derive(Clone, Debug, clap::Args)]
pub struct Particles {
    /// Particle types to link: 0 gas, 1 dm (dark matter), 2 and 3 others, 4 stars, 5 bh (black holes), 6 neutrinos; as 1 or dm. Formats
    /// without types ignore it
    #[arg(
        long = "type",
        value_name = "TYPES",
        value_delimiter = ',',
        default_value = "1",
        value_parser = particle_type,
        help_heading = "Particles"
    )]
    pub types: Vec<u8>,
    /// Particle types that join the halo of their nearest linked particle, if that is within the linking length; `none` leaves other types
    /// out [default: all types of the file that are not linked]. The snapshot, or one of a series, has particles of each. The catalogue then has the number and mass of each type and of all,
    /// spheres and profiles are of all types, and labels_type0.npy, labels_type4.npy and so on have the group of each particle of a type, in
    /// the order of that type in the file; ids_type0.npy and so on have their ids, if they have any. With --finder adaptahop other types count in spheres
    /// and profiles alone
    #[arg(long, value_name = "TYPES|none", value_delimiter = ',', value_parser = attach, help_heading = "Particles")]
    pub attach: Vec<Attach>,
    /// Read one file of a split snapshot alone, without the others; needs --eps, since mean separations are of all particles. Mass functions
    /// still divide by the volume of the whole box
    #[arg(long, help_heading = "Particles")]
    pub single_part: bool,
    /// About this part of the particles, above 0 and at most 1, the same in each run; their masses are divided by it
    #[arg(long, value_name = "PART", allow_negative_numbers = true, help_heading = "Particles")]
    pub subsample: Option<f64>,
    /// Which columns of a table are x, y and z: names or numbers from 1, as RA,DEC,z or 2,3,4; otherwise those named x, y, z
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', help_heading = "Particles")]
    pub coordinates: Vec<String>,
    /// The velocities of the particles, N x 3, where SNAPSHOT is a bare array or table
    #[arg(long, value_name = "FILE.npy", help_heading = "Particles")]
    pub velocities: Option<PathBuf>,
    /// The masses of the particles
    #[arg(long = "mass", value_name = "FILE.npy", help_heading = "Particles")]
    pub masses: Option<PathBuf>,
    /// The ids of the particles
    #[arg(long, value_name = "FILE.npy", help_heading = "Particles")]
    pub ids: Option<PathBuf>,
}

impl Particles {
    /// The types that `--attach` names; `None` if it names none, so that all types are attached that are not linked.
    pub fn attached(&self) -> Option<Vec<u8>> {
        let kind = |attach: &Attach| if let Attach::Type(kind) = attach { Some(*kind) } else { None };
        (!self.attach.is_empty()).then(|| self.attach.iter().filter_map(kind).collect())
    }
}
