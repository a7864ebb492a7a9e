//! The arguments of `ropewalk halos`.

use std::path::PathBuf;

use ropewalk::units::UnitSystem;
use serde_json::{Map, Value};

use super::super::centers::CenterArg;
use super::super::device::DevicesArg;
use super::super::suggested::{TYPES, suggested};
use super::super::universe::Overrides;
use super::{AdaptaHop, Finder, Hop, Pictures, number, particle_type};

/// Find the halos of snapshots; write a catalogue, labels and pictures.
///
/// SNAPSHOT is the output of a simulation; `ropewalk info SNAPSHOT` shows its contents. A snapshot in several files
/// is named by any one of them. Several snapshots have a folder each in DIR, and those that already have results are
/// skipped.
///
/// Results are written to DIR, all of them or, after an error, none. The catalogue halos.ecsv has one row per halo,
/// largest first. Halos are numbered by rows from 0 in the column *_label, in figures and in --dendrogram; the tag of
/// a halo does not depend on the other halos. The array labels.npy has the row of each linked particle in file order,
/// -1 for none; for other types see --attach. Pictures are mass_function.svg, with its values in mass_function.ecsv,
/// projection.png and, with --finder adaptahop, dendrogram.svg. Columns are named fof_halo_*, with other finders halo_*.
///
/// With --finder adaptahop each subhalo has a row, too, with its parent (a row, -1 for none), its host and its
/// level. The members of a row include those of all nested subhalos. labels.npy has the smallest structure of each
/// particle.
///
/// Examples:
///
///   ropewalk halos snap_099.0.hdf5 --out halos --so 200c,500c --units physical
///
///   ropewalk halos snap_*.hdf5 --out run1 --catalog halos.hdf5,halos.ecsv --no-pictures
///
///   ropewalk halos snapshot_000 --out halos --finder adaptahop --unbind --profiles 10 --dendrogram 7
#[derive(Clone, Debug, clap::Args)]
pub struct Halos {
    /// Files with the particles; - is standard input
    #[arg(required = true, value_name = "SNAPSHOT")]
    pub snapshots: Vec<PathBuf>,
    #[command(flatten)]
    pub particles: Particles,
    #[command(flatten)]
    pub universe: Overrides,
    /// Halo finder
    #[arg(long, value_enum, default_value_t = Finder::Fof, help_heading = "Halos")]
    pub finder: Finder,
    /// Linking length in mean separations, (volume / particles)^(1/3)
    ///
    /// The volume is that of the box if it is known, otherwise that of the smallest box around the particles. In zoom
    /// runs it is the volume that the particles would fill at the mean density of matter.
    #[arg(long, value_name = "B", value_parser = number, default_value_t = 0.2, allow_negative_numbers = true, help_heading = "Halos")]
    pub linking_length: f64,
    /// Linking length in the snapshot's length unit instead
    #[arg(
        long,
        value_name = "LENGTH",
        value_parser = number,
        conflicts_with = "linking_length",
        allow_negative_numbers = true,
        help_heading = "Halos"
    )]
    pub eps: Option<f64>,
    /// Several linking lengths in mean separations, all from one spanning tree
    ///
    /// Each length has a folder in DIR, as b0.15, with the files of a run with that length. For a few lengths,
    /// separate runs are faster.
    #[arg(
        long,
        value_name = "B,..",
        value_parser = number,
        value_delimiter = ',',
        conflicts_with_all = ["linking_length", "eps"],
        allow_negative_numbers = true,
        help_heading = "Halos"
    )]
    pub linking_lengths: Vec<f64>,
    /// Minimum number of linked particles of a halo
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(2..),
        help_heading = "Halos"
    )]
    pub min_members: u32,
    /// Use open boundaries, even if the snapshot has a box
    ///
    /// Required if the box is not a cube.
    #[arg(long, help_heading = "Halos")]
    pub open: bool,
    /// Side of the periodic box, in the snapshot's unit [default: the snapshot's box]
    #[arg(long = "box", value_name = "L", value_parser = number, allow_negative_numbers = true, help_heading = "Halos")]
    pub box_size: Option<f64>,
    #[command(flatten)]
    pub hop: Hop,
    #[command(flatten)]
    pub adaptahop: AdaptaHop,
    /// Centre of each halo: columns fof_halo_center_* (halo_center_*)
    ///
    /// With mcp, alone or as a second kind after a comma, the most connected particle has its own columns
    /// fof_halo_mcp_*. It counts all friends of each member, which is slow in dense halos.
    #[arg(long, value_enum, value_name = "KIND[,mcp]", value_delimiter = ',', help_heading = "Measurements")]
    pub center: Vec<CenterArg>,
    /// Plummer softening length, in the snapshot's length unit
    ///
    /// Softens the potential that determines the most bound particle, and that of --unbind.
    #[arg(
        long,
        value_name = "LENGTH",
        value_parser = number,
        default_value_t = 0.0,
        allow_negative_numbers = true,
        help_heading = "Measurements"
    )]
    pub softening: f64,
    /// Spherical overdensities about the centre: some of 200c, 500c, 200m, vir
    ///
    /// Spheres are over all linked and attached particles, about the centre of --center or else mbp. Adds the columns
    /// sod_halo_* and the structure of each halo.
    #[arg(long, value_name = "DENSITIES", value_delimiter = ',', help_heading = "Measurements")]
    pub so: Vec<ropewalk::halo::Overdensity>,
    /// Minimum number of particles of a sphere
    ///
    /// Smaller spheres are noise: their mass and radius are NaN, their count is kept.
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Measurements")]
    pub min_so_particles: usize,
    /// Measure density profiles of the N largest halos
    ///
    /// Writes profiles.ecsv and draws profiles.svg, which shows the first 100. Profiles are about the most bound
    /// particle of each halo, subhalos excepted, in shells out to R200c. An NFW profile is fitted outside of three
    /// softening lengths, or without --softening outside of the radius of Power et al. 2003.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = "Measurements")]
    pub profiles: usize,
    /// Folder for the results of one run, created if missing
    ///
    /// summary.json lists the result files with their sizes. The next run into the folder removes the listed files
    /// that it does not write again, if they are unchanged. Other files stay, and the report names those that look
    /// like results.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: PathBuf,
    /// Catalogue files: .ecsv, .csv, .hdf5 or .parquet; - is standard output
    ///
    /// The ending of a name is its format: .ecsv is enhanced CSV (CSV with units), and so is standard output. With
    /// --members, .hdf5 also has the lists of members.
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', default_value = "halos.ecsv", help_heading = "Output")]
    pub catalog: Vec<PathBuf>,
    /// Units of the catalogue, tables and pictures [default: the snapshot's units]
    ///
    /// h is comoving Mpc/h, Msun/h and km/s; physical is physical Mpc, Msun and km/s. Without this option, pictures
    /// are in comoving Mpc/h and Msun/h if the snapshot's units are known. With this option, mass functions
    /// are numbers per comoving volume.
    #[arg(
        long,
        value_name = "h|physical",
        value_parser = suggested(&["h", "physical"], str::parse::<UnitSystem>),
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub units: Option<UnitSystem>,
    /// Also write groups and subhalos in the layout of GADGET-4, for yt and pynbody
    ///
    /// The file is fof_subhalo_tab_000.0.hdf5.
    #[arg(long, help_heading = "Output")]
    pub group_catalog: bool,
    /// Also write a page of particles, catalogue and figures [default: report.html in DIR]
    ///
    /// One HTML file for a browser, without a network. The particles are coloured by halo, and can be turned and
    /// zoomed. The catalogue can be sorted and filtered. Beyond 2 million particles a part of them is shown. A name
    /// ends in .html, and is for a single snapshot. Not with --mpi or several devices.
    #[arg(long, value_name = "FILE.html", num_args = 0..=1, value_parser = page_name, help_heading = "Output")]
    pub report: Option<Option<PathBuf>>,
    /// Only these columns of the catalogue, in this order
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Output")]
    pub columns: Vec<String>,
    /// Also write density.npy: the density of each particle in file order
    ///
    /// In units of the mean density. Requires --finder hop or adaptahop.
    #[arg(long, help_heading = "Output")]
    pub density: bool,
    /// Also write members.npz: the ids of each halo's members
    ///
    /// Halos are in the order of the catalogue, and their members include those of all nested subhalos. The ids of
    /// attached particles are in separate arrays, ids_type0 and so on.
    #[arg(long, help_heading = "Output")]
    pub members: bool,
    /// Also write summary.json to this file; - is standard output
    ///
    /// Not with several snapshots, which have a summary.json each.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Recompute snapshots that already have results
    #[arg(long, help_heading = "Output")]
    pub again: bool,
    /// Draw gallery.png: the N largest halos with members, R200c and centres
    ///
    /// Dots are the linked members and, in other colours, those of each attached type. Marks are the most bound
    /// particle, about which R200c is, and the centres of --center.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(..=100),
        help_heading = "Pictures"
    )]
    pub gallery: u16,
    /// No pictures of the mass function, projection, dendrogram and profiles
    #[arg(long, help_heading = "Pictures")]
    pub no_pictures: bool,
    #[command(flatten)]
    pub pictures: Pictures,
    /// Read options from a TOML file; those of the command line replace them
    ///
    /// Keys are the options of `ropewalk halos` without dashes, as linking-length = 0.2, and `snapshot`. An option with
    /// several values takes a list, as so = ["200c", "vir"]. Options without a value are true or false. Paths are
    /// relative to the current folder. An option of the file does not count if the command line has one that excludes
    /// it, as --eps excludes linking-length.
    #[arg(long, value_name = "FILE.toml", help_heading = "Running")]
    pub config: Option<PathBuf>,
    /// Write all options of this run to a file for --config
    ///
    /// The file is written when the run has succeeded. `ropewalk halos --config FILE.toml` then repeats the run.
    #[arg(long, value_name = "FILE.toml", help_heading = "Running")]
    pub write_config: Option<PathBuf>,
    /// The contents of the file of `--write-config`.
    #[arg(skip)]
    pub config_text: String,
    /// The options that results depend on, for the summary.
    #[arg(skip)]
    pub recorded: Map<String, Value>,
    /// Device for halos and centres: cpu, cuda, vulkan, or one of several, as cuda:1
    ///
    /// A device supports the centres mbp and mcp.
    ///
    /// Several devices, as cuda:0,1, share the particles of one snapshot, as processes do with --mpi. They support
    /// friends of friends only, and not --linking-lengths, --gallery, --group-catalog, --velocities, --mass,
    /// --particle-mass, --ids and --catalog -. Files are byte for byte those of one device. The devices exchange data
    /// through host memory and share the threads of the host.
    ///
    /// With --mpi the ranks of one host take its devices in turn, from the given one on.
    #[arg(long, value_name = "DEVICE", default_value = "cpu", hide_possible_values = true, help_heading = "Running")]
    pub device: DevicesArg,
    /// Number of threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Running")]
    pub threads: Option<u16>,
    /// Share the work among the processes that mpirun or srun starts
    ///
    /// Each process reads its part of the snapshot. Files are byte for byte those of one process. For --members, one
    /// process holds 16 bytes per member. Each process has one thread unless --threads is given.
    ///
    /// Not with --finder adaptahop, --linking-lengths, --gallery, --group-catalog, --velocities, --mass,
    /// --particle-mass, --ids and --catalog -.
    #[arg(long, help_heading = "Running", hide = cfg!(not(feature = "mpi")))]
    pub mpi: bool,
}

/// One of the values of `--attach`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attach {
    Nothing,
    Type(u8),
}

/// Parses the name of a page. Other names are refused, because the option may precede a snapshot.
fn page_name(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_page = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("html"));
    is_page.then_some(path).ok_or_else(|| "the name must end in .html; without a name give --report last".into())
}

fn attach(text: &str) -> Result<Attach, String> {
    if text == "none" {
        return Ok(Attach::Nothing);
    }
    particle_type(text).map(Attach::Type).map_err(|error| format!("{error}, or none"))
}

/// The options that select particles, and those that name files with their velocities, masses and ids.
#[derive(Clone, Debug, clap::Args)]
pub struct Particles {
    /// Particle types to link, by number or name
    ///
    /// The types are 0 gas, 1 dm (dark matter), 2 and 3 others, 4 stars, 5 bh (black holes) and 6 neutrinos. Formats
    /// without types ignore the option.
    #[arg(
        long = "type",
        value_name = "TYPES",
        value_delimiter = ',',
        default_value = "1",
        value_parser = suggested(TYPES, particle_type),
        hide_possible_values = true,
        help_heading = "Particles"
    )]
    pub types: Vec<u8>,
    /// Other particle types that join halos [default: all types that are not linked]
    ///
    /// A particle joins the halo of its nearest linked particle, if that is within the linking length. `none` ignores
    /// other types. A named type must have particles in the snapshot; in a series, snapshots without them are noted.
    ///
    /// The catalogue then has the number and mass of each type and of all types together. Spheres and profiles are
    /// over all types. The rows of the particles of each type are in labels_type0.npy, labels_type4.npy and so on,
    /// in the order of that type in the file. Their ids are in ids_type0.npy and so on, if there are any.
    ///
    /// With --finder adaptahop a particle joins the halo or subhalo of its nearest linked particle, and counts in all
    /// that contain it. --unbind removes linked particles only, before others join.
    #[arg(
        long,
        value_name = "TYPES|none",
        value_delimiter = ',',
        value_parser = suggested(&["none", "gas", "dm", "stars", "bh", "neutrinos"], attach),
        hide_possible_values = true,
        help_heading = "Particles"
    )]
    pub attach: Vec<Attach>,
    /// Read only the given file of a split snapshot
    ///
    /// Requires --eps, since mean separations are of all particles. Mass functions still divide by the volume of the
    /// whole box.
    #[arg(long, help_heading = "Particles")]
    pub single_part: bool,
    /// Read only this fraction of the particles, above 0 and at most 1
    ///
    /// The fraction is approximate, and the same particles are read in each run. Their masses are divided by it.
    #[arg(long, value_name = "PART", value_parser = number, allow_negative_numbers = true, help_heading = "Particles")]
    pub subsample: Option<f64>,
    /// Coordinate columns of a table, as RA,DEC,z or 2,3,4 [default: x, y, z]
    ///
    /// Names, or numbers from 1.
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', help_heading = "Particles")]
    pub coordinates: Vec<String>,
    /// Velocities of the particles, N x 3, if SNAPSHOT is a bare array or table
    #[arg(long, value_name = "FILE.npy", help_heading = "Particles")]
    pub velocities: Option<PathBuf>,
    /// Masses of the particles
    #[arg(long = "mass", value_name = "FILE.npy", help_heading = "Particles")]
    pub masses: Option<PathBuf>,
    /// Mass of each linked particle, in the mass unit of the snapshot
    ///
    /// For arrays and tables without masses. Not with --subsample.
    #[arg(
        long,
        value_name = "M",
        value_parser = number,
        allow_negative_numbers = true,
        conflicts_with = "masses",
        help_heading = "Particles"
    )]
    pub particle_mass: Option<f64>,
    /// Ids of the particles
    #[arg(long, value_name = "FILE.npy", help_heading = "Particles")]
    pub ids: Option<PathBuf>,
}

impl Particles {
    /// Returns the types that `--attach` names. `None` if `--attach` is not given: then all types that are not linked
    /// are attached.
    pub fn attached(&self) -> Option<Vec<u8>> {
        let kind = |attach: &Attach| if let Attach::Type(kind) = attach { Some(*kind) } else { None };
        (!self.attach.is_empty()).then(|| self.attach.iter().filter_map(kind).collect())
    }
}
