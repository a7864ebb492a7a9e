//! Conversion of the arguments to options of the library, and the errors of invalid arguments.

use std::path::{Path, PathBuf};

use ropewalk::{Error, ErrorKind};
use ropewalk_pipeline::{CenterKind, Finder, LinkingLength, Options};

use crate::args::{self, Halos as Args, Particles};
use crate::centers::CenterArg;
use crate::device::DeviceArg;
use crate::failure::Failure;
use crate::pictures::Picture;

/// A run with one linking length: its output folder, and the options of the library.
pub struct Run {
    pub folder: PathBuf,
    pub options: Options,
}

/// Checks the arguments and returns the run of each linking length.
pub fn runs(args: &Args, out: &Path) -> Result<Vec<Run>, Failure> {
    check_finder(args)?;
    check_types(args)?;
    check_particle_mass(&args.particles)?;
    if args.gallery > 0 {
        ropewalk_plot::check_gallery(args.gallery.into(), Picture::Gallery.style(args))
            .map_err(|error| format!("--gallery {}: {error} (--dpi)", args.gallery))?;
    }
    let lengths = &args.linking_lengths;
    if lengths.is_empty() {
        let length = args.eps.map_or(LinkingLength::Separations(args.linking_length), LinkingLength::Length);
        return Ok(vec![Run { folder: out.to_path_buf(), options: options(args, length)? }]);
    }
    if args.device != DeviceArg::Cpu {
        return Err(format!(
            "--linking-lengths: the spanning tree is computed on the cpu; not supported with --device {}",
            args.device
        )
        .into());
    }
    if let (Some(Some(page)), [_, _, ..]) = (&args.report, &lengths[..]) {
        let why = "a name requires one linking length; without one each length has a report.html in its folder";
        return Err(format!("--report {}: {why}", page.display()).into());
    }
    let mut runs: Vec<Run> = vec![];
    for (i, length) in lengths.iter().enumerate() {
        if lengths[..i].contains(length) {
            return Err(format!("--linking-lengths: {length} is given twice").into());
        }
        let options = options(args, LinkingLength::Separations(*length))?;
        runs.push(Run { folder: out.join(format!("b{length}")), options });
    }
    Ok(runs)
}

/// Refuses options of one finder with another finder.
fn check_finder(args: &Args) -> Result<(), Failure> {
    let (is_hop, is_adaptahop) = (args.finder == args::Finder::Hop, args.finder == args::Finder::AdaptaHop);
    let of_both = args.hop.given_for_both().or(args.density.then_some("--density"));
    let others = [
        (args.hop.given().filter(|_| !is_hop), "hop"),
        (args.adaptahop.given().filter(|_| !is_adaptahop), "adaptahop"),
        (of_both.filter(|_| !is_hop && !is_adaptahop), "hop or adaptahop"),
    ];
    if let Some((Some(option), finder)) = others.into_iter().find(|(option, _)| option.is_some()) {
        return Err(format!("{option} requires --finder {finder}").into());
    }
    if is_adaptahop && args.device != DeviceArg::Cpu {
        return Err(
            format!("--finder adaptahop is not supported with --device {}; use --device cpu", args.device).into()
        );
    }
    // HOP and AdaptaHOP also attach particles within the linking length, which `other_types::check_length` checks.
    let has_length = !(is_hop || is_adaptahop) || args.center.contains(&CenterArg::Mcp);
    if args.particles.single_part && args.eps.is_none() && has_length {
        return Err("--single-part: mean separations need all particles; give the linking length with --eps".into());
    }
    if (is_hop || is_adaptahop) && !args.linking_lengths.is_empty() {
        return Err("--linking-lengths requires --finder fof".into());
    }
    Ok(())
}

/// Refuses a mass of particles that is not positive and finite, and one beside `--subsample`, which changes masses.
fn check_particle_mass(particles: &Particles) -> Result<(), Failure> {
    let Some(mass) = particles.particle_mass else { return Ok(()) };
    if !(mass > 0.0 && mass < f64::INFINITY) {
        return Err(format!("--particle-mass must be positive and finite, got {mass}").into());
    }
    if particles.subsample.is_some() {
        return Err("--particle-mass: not with --subsample, which changes the mass of a particle".into());
    }
    Ok(())
}

/// Refuses types that are both linked and attached, and types that are given twice.
fn check_types(args: &Args) -> Result<(), Failure> {
    let Particles { types, attach: given, .. } = &args.particles;
    if given.len() > 1 && given.contains(&args::Attach::Nothing) {
        return Err("--attach: none cannot be combined with types".into());
    }
    let attach = &args.particles.attached().unwrap_or_default();
    if let Some(both) = attach.iter().find(|kind| types.contains(kind)) {
        return Err(format!("--attach: type {both} is linked (--type)").into());
    }
    if let Some(twice) = [types, attach].into_iter().find_map(|list| first_twice(list)) {
        return Err(format!("type {twice} is given twice").into());
    }
    Ok(())
}

fn first_twice(list: &[u8]) -> Option<u8> {
    list.iter().enumerate().find(|(i, kind)| list[..*i].contains(kind)).map(|(_, &kind)| kind)
}

/// Returns the options of the library; an error if the arguments are invalid.
fn options(args: &Args, linking_length: LinkingLength) -> Result<Options, Failure> {
    let mut options = Options::default();
    options.finder = match args.finder {
        args::Finder::Fof => Finder::FriendsOfFriends,
        args::Finder::Hop => Finder::Hop(args.hop.finder()),
        args::Finder::AdaptaHop => {
            Finder::AdaptaHop { finder: args.adaptahop.finder(&args.hop), unbind: args.adaptahop.unbind }
        }
    };
    options.linking_length = linking_length;
    options.min_members = args.min_members as usize;
    options.box_size = args.box_size;
    options.open = args.open;
    options.center = args.center.first().map(|&kind| kind.into());
    options.most_connected = args.center.contains(&CenterArg::Mcp);
    options.softening = args.softening;
    options.overdensities = args.so.clone();
    options.min_sphere_particles = args.min_so_particles;
    options.universe = args.universe.options();
    options.columns = args.columns.clone();
    options.profiles = args.profiles;
    options.check().map_err(|error| with_option_name(args, &error))?;
    if let Some(&kind) = args.center.iter().skip(1).find(|&&kind| kind != CenterArg::Mcp) {
        let kind = CenterKind::from(kind);
        return Err(format!("--center: the second kind must be mcp, got the {kind}").into());
    }
    let not_on_device =
        |kind: &&CenterArg| args.device != DeviceArg::Cpu && !matches!(kind, CenterArg::Mbp | CenterArg::Mcp);
    if let Some(&kind) = args.center.iter().find(not_on_device) {
        let (device, kind) = (&args.device, CenterKind::from(kind));
        return Err(
            format!("--device {device} supports --center mbp and mcp only; for the {kind} use --device cpu").into()
        );
    }
    Ok(options)
}

/// Returns an error of the options with the command-line name of its parameter.
fn with_option_name(args: &Args, error: &Error) -> Failure {
    let option = match error.parameter() {
        Some("linking_length") if args.eps.is_some() => "--eps",
        Some("linking_length") if !args.linking_lengths.is_empty() => "--linking-lengths",
        Some("linking_length") => "--linking-length",
        Some("box_size") => "--box",
        Some("delta_outer") => "--delta-outer",
        Some("delta_saddle") => "--delta-saddle",
        Some("delta_peak") => "--delta-peak",
        Some("density_threshold") => "--density-threshold",
        Some("fudge") => "--fudge",
        Some("fudge_epsilon") => "--fudge-epsilon",
        Some("alpha") => "--alpha",
        Some("overdensities") => "--so",
        Some("columns") => "--columns",
        _ => return error.to_string().into(),
    };
    error.to_string().replacen(error.parameter().unwrap_or_default(), option, 1).into()
}

/// Rewords an error about a snapshot. Errors about missing data name the option that needs the data and the option
/// that provides it; errors about the input name the file.
pub fn refused(args: &Args, snapshot: &Path, error: &Error) -> Failure {
    let by = match error.parameter() {
        Some("velocities" | "velocity_unit") => "--unbind",
        _ if !args.so.is_empty() => "--so",
        _ if args.profiles > 0 => "--profiles",
        _ => "--unbind",
    };
    // Some errors end with this advice, but name no option.
    let advised = |options: &str| match error.to_string().strip_suffix("specify the units") {
        Some(start) => format!("{by}: {start}give {options}").into(),
        None => format!("{by}: {error}; give {options}").into(),
    };
    match (error.kind(), error.parameter()) {
        (ErrorKind::Missing, Some("linking_length")) => format!("{error}; give --eps").into(),
        (ErrorKind::Missing, Some("omega_m")) => format!("{by}: {error}; give --omega-m").into(),
        (ErrorKind::Missing, Some("units")) => advised("--length-unit and --mass-unit"),
        (ErrorKind::Missing, Some("length_unit")) => advised("--length-unit"),
        (ErrorKind::Missing, Some("mass_unit")) => advised("--mass-unit"),
        (ErrorKind::Missing, Some("h")) => format!("{by}: {error}; give --h").into(),
        (ErrorKind::Missing, Some("velocity_unit")) => format!("{by}: {error}; give --velocity-unit").into(),
        (ErrorKind::Missing, _) => format!("{by}: {error}").into(),
        (ErrorKind::Input | ErrorKind::NotFinite, _) => format!("{}: {error}", snapshot.display()).into(),
        _ => error.to_string().into(),
    }
}
