//! The pictures of `ropewalk halos`, and their titles.

use ropewalk::halo::Particles;
use ropewalk::units::{Factors, Quantity};
use ropewalk_io::{Masses, Snapshot};
use ropewalk_pipeline::{Pipeline, add_cosmology, describe_cosmology};
use ropewalk_plot::{AxisUnits, PictureFormat, Projection, Style};
use ropewalk_table::Catalog;
use ropewalk_table::columns::{Meta, write_ecsv};
use ropewalk_table::{ExpectedMassFunction, MassCounts};

use super::args::{self, Halos as Args};
use super::dimensions::with_rows;
use super::failure::Failure;
use super::output_units::{axes, factor, in_comoving_units, length_name, mass_factor, of_mass_functions, of_pictures};
use super::text::{counted, short};

/// The error if there is no projection. Finding halos refuses such points earlier.
const NOT_3D: &str = "points must have three coordinates";
/// The file with the values of the mass function.
const MASS_TABLE: &str = "mass_function.ecsv";

/// The pictures. The files of each are in the order of [`PictureFormat::ALL`].
#[derive(Clone, Copy, Debug)]
pub enum Picture {
    MassFunction,
    Projection,
    Dendrogram,
    Profiles,
    Gallery,
}

impl Picture {
    const ALL: [Self; 5] = [Self::MassFunction, Self::Projection, Self::Dendrogram, Self::Profiles, Self::Gallery];

    fn files(self) -> [&'static str; 3] {
        match self {
            Self::MassFunction => ["mass_function.png", "mass_function.svg", "mass_function.pdf"],
            Self::Projection => ["projection.png", "projection.svg", "projection.pdf"],
            Self::Dendrogram => ["dendrogram.png", "dendrogram.svg", "dendrogram.pdf"],
            Self::Profiles => ["profiles.png", "profiles.svg", "profiles.pdf"],
            Self::Gallery => ["gallery.png", "gallery.svg", "gallery.pdf"],
        }
    }

    /// Returns the format that `--format` names, or the default of the picture, with the resolution.
    pub fn style(self, args: &Args) -> Style {
        args.pictures.style(match self {
            Self::Projection | Self::Gallery => PictureFormat::Png,
            _ => PictureFormat::Svg,
        })
    }

    /// Returns the name of the file in that format.
    pub fn file(self, args: &Args) -> &'static str {
        let format = self.style(args).format();
        let [png, svg, pdf] = self.files();
        match format {
            PictureFormat::Svg => svg,
            PictureFormat::Pdf => pdf,
            _ => png,
        }
    }

    fn is_wanted(self, args: &Args) -> bool {
        match self {
            Self::MassFunction | Self::Projection => !args.no_pictures,
            Self::Dendrogram => !args.no_pictures && args.finder == args::Finder::AdaptaHop,
            Self::Profiles => !args.no_pictures && args.profiles > 0,
            Self::Gallery => args.gallery > 0,
        }
    }
}

/// Returns the files of the requested pictures.
pub fn files(args: &Args) -> impl Iterator<Item = &'static str> + '_ {
    let table = (!args.no_pictures).then_some(MASS_TABLE);
    table
        .into_iter()
        .chain(Picture::ALL.into_iter().filter(|picture| picture.is_wanted(args)).map(|picture| picture.file(args)))
}

/// Returns the files of all pictures in all formats.
pub fn all_files() -> Vec<&'static str> {
    [MASS_TABLE].into_iter().chain(Picture::ALL.into_iter().flat_map(Picture::files)).collect()
}

/// The lower and the upper corner of a box around particles.
pub type Extent = ([f64; 3], [f64; 3]);

/// Returns the box around the particles. `None` if there are none, or if they do not have three coordinates, which
/// finding halos refuses.
pub fn extent(snapshot: &Snapshot) -> Option<Extent> {
    let extent = with_rows!(&snapshot.points, f32 [3], f64 [3], rows => Particles::new(rows).extent());
    extent.filter(|_| !snapshot.points.is_empty())
}

/// Refuses a slab without particles, if they have the given extent. In a periodic box any slab is valid, because it
/// is wrapped into the box.
pub fn check_slab(
    args: &Args,
    snapshot: &Snapshot,
    extent: impl FnOnce() -> Result<Option<Extent>, Failure>,
) -> Result<(), Failure> {
    let Some(slab) = args.pictures.slab else { return Ok(()) };
    let is_periodic = !args.open && args.box_size.or(snapshot.box_size).is_some();
    if is_periodic {
        return Ok(());
    }
    let Some((lo, hi)) = extent()? else { return Ok(()) };
    let (axis, [from, to]) = (slab.axis(), slab.ends());
    let (lo, hi) = (lo[axis], hi[axis]);
    // If all coordinates are NaN, `lo > hi`; finding halos refuses such points.
    if lo > hi || (from <= hi && to >= lo) {
        return Ok(());
    }
    let (axis, lo, hi) = (["x", "y", "z"][axis], short(lo), short(hi));
    Err(format!("--slab {axis}:{from}..{to}: the particles are from {lo} to {hi} along {axis}").into())
}

/// Draws the projection of all particles, the mass function with its table and, if there are subhalos, the dendrogram
/// of a halo. Returns names and contents of the files.
pub fn pictures(
    args: &Args,
    snapshot: &Snapshot,
    pipeline: &Pipeline<'_>,
    catalog: &Catalog,
    meta: &[(&str, Meta)],
    remarks: &mut Vec<String>,
) -> Result<Vec<(&'static str, Vec<u8>)>, Failure> {
    let shown = shown(args, pipeline, catalog)?;
    let period = pipeline.period();
    let projection = with_rows!(&snapshot.points, f32 [3], f64 [3], rows => {
        let style = Picture::Projection.style(args);
        ropewalk_plot::projection(&ropewalk_pipeline::particles_of(rows, snapshot, period), catalog, &shown, style)
    });
    let projection = projection.ok_or(NOT_3D)??;
    let mut pictures = vec![(Picture::Projection.file(args), projection)];
    pictures.extend(mass_function(args, pipeline, catalog, meta, remarks)?);
    if args.finder == args::Finder::AdaptaHop {
        pictures.push((Picture::Dendrogram.file(args), dendrogram(args, catalog, &shown.units, pipeline)?));
    }
    Ok(pictures)
}

/// Draws the projection of the particles of all ranks, on the rank that has the catalogue.
pub fn projection_across(
    args: &Args,
    ranks: &dyn ropewalk::distributed::Communicator,
    part: &Snapshot,
    pipeline: &Pipeline<'_>,
    catalog: Option<&Catalog>,
) -> Result<Option<Vec<u8>>, Failure> {
    let shown = match catalog {
        Some(catalog) => shown(args, pipeline, catalog)?,
        None => Projection { slab: args.pictures.slab, ..Projection::default() },
    };
    let period = pipeline.period();
    let picture = with_rows!(&part.points, f32 [3], f64 [3], rows => {
        let style = Picture::Projection.style(args);
        ropewalk_plot::projection_across(ranks, &ropewalk_pipeline::particles_of(rows, part, period), catalog, &shown, style)
    });
    Ok(picture.ok_or(NOT_3D)??)
}

/// Returns the title of the projection, its units and its slab.
pub fn shown(args: &Args, pipeline: &Pipeline<'_>, catalog: &Catalog) -> Result<Projection, Failure> {
    let factors = of_pictures(args, pipeline)?;
    let length = factor(factors.as_ref(), Quantity::Length);
    let [halos, subhalos] = counts(catalog);
    let units = units_of(pipeline, factors.as_ref());
    let place = pipeline.describe_box(length, length_name(pipeline, &units));
    let when = units.when();
    // Only linked types are drawn.
    let sets = pipeline.particle_sets();
    let kinds: Vec<String> = sets.linked.iter().map(u8::to_string).collect();
    let of = if sets.is_one_type() { String::new() } else { format!(" of type {}", kinds.join(", ")) };
    // The picture counts what is in a slab.
    let title = match args.pictures.slab {
        Some(_) if of.is_empty() => format!("Slab, {place}{when}"),
        Some(_) => format!("Slab, particles{of}, {place}{when}"),
        None => format!("{}{of}, {place}{when}, {halos}{subhalos}", counted(pipeline.n_particles(), "particle")),
    };
    Ok(Projection { title, units, slab: args.pictures.slab, ..Projection::default() })
}

/// Returns the units of pictures. Particles without masses are counted.
fn units_of(pipeline: &Pipeline<'_>, factors: Option<&Factors>) -> AxisUnits {
    let units = axes(pipeline, factors);
    if pipeline.counts_particles() { units.counting_particles() } else { units }
}

/// Draws the mass function and writes its table. Returns names and contents of the files.
pub fn mass_function(
    args: &Args,
    pipeline: &Pipeline<'_>,
    catalog: &Catalog,
    meta: &[(&str, Meta)],
    remarks: &mut Vec<String>,
) -> Result<Vec<(&'static str, Vec<u8>)>, Failure> {
    let [halos, _] = counts(catalog);
    let how = {
        let factors = of_pictures(args, pipeline)?;
        let units = axes(pipeline, factors.as_ref());
        pipeline.describe_halos(units.length_factor(), length_name(pipeline, &units))
    };
    let factors = of_mass_functions(args, pipeline);
    let factors = factors.as_ref();
    let units = units_of(pipeline, factors);
    let part = pipeline.part_of_volume();
    let title = format!("{halos} of {} or more particles, {how}{}", args.min_members, units.when());
    let measured = MassCounts::new(catalog, pipeline.scales().volume);
    // If the expected curves fail, the catalogue is still written.
    let curves = match &part {
        // Expected mass functions are those of a whole volume.
        Some(part) => Err(format!("the particles are {part}")),
        None => expected(pipeline, &measured),
    };
    let curves = curves.unwrap_or_else(|why| {
        remarks.push(format!("no expected mass functions: {why}"));
        vec![]
    });
    let shown = pipeline.suitable_fits().choose(&curves);
    let (counts, lines) = match factors {
        Some(factors) => (measured.in_units(factors), shown.iter().map(|curve| curve.in_units(factors)).collect()),
        None => (measured.clone(), shown),
    };
    let cosmology = describe_cosmology(pipeline.universe());
    let style = Picture::MassFunction.style(args);
    let picture = ropewalk_plot::mass_function(&counts, &lines, &title, &cosmology, &units, style)?;
    let mut meta = meta.to_vec();
    if !curves.is_empty() {
        add_cosmology(&mut meta, pipeline.universe());
    }
    let mut table = vec![];
    let columns = measured.columns(&curves);
    let columns = in_comoving_units(args, pipeline, &columns, &meta)?;
    write_ecsv(&mut table, &columns.columns, columns.units, &columns.meta)?;
    Ok(vec![(Picture::MassFunction.file(args), picture), (MASS_TABLE, table)])
}

/// Describes the number of halos of a catalogue and, after a comma, that of its subhalos, if there are any.
fn counts(catalog: &Catalog) -> [String; 2] {
    let hosts = (0..catalog.halos().len()).filter(|&row| catalog.is_host(row)).count();
    let subhalos = match catalog.subhalos().len() {
        0 => String::new(),
        all => format!(", {}", counted((all - hosts) as u64, "subhalo")),
    };
    [counted(hosts as u64, "halo"), subhalos]
}

/// Draws the dendrogram of the halo of `--dendrogram`, or of the largest halo.
fn dendrogram(args: &Args, catalog: &Catalog, units: &AxisUnits, pipeline: &Pipeline<'_>) -> Result<Vec<u8>, Failure> {
    let factors = of_pictures(args, pipeline)?;
    let row = match args.adaptahop.dendrogram {
        None => 0,
        Some(row) if (row as usize) < catalog.halos().len() => row as usize,
        Some(row) => {
            let rows = catalog.halos().len();
            return Err(format!("--dendrogram {row}: the catalogue has {rows} rows, numbered from 0").into());
        }
    };
    let title = match catalog.halos().get(row) {
        Some(halo) => {
            let count = counted(halo.count as u64, "particle");
            let mass = units.mass_of_halo(mass_factor(pipeline, factors.as_ref()) * halo.mass);
            let of = pipeline.particle_sets().linked_alone().map_or(String::new(), |kinds| format!(" of {kinds}"));
            format!("halo {row}: {count}{mass}{of}{}", units.when())
        }
        None => String::new(),
    };
    Ok(ropewalk_plot::dendrogram(catalog, row, &title, Picture::Dendrogram.style(args))?)
}

/// Returns the expected mass functions in the snapshot's units, or the reason why there are none.
fn expected(pipeline: &Pipeline<'_>, measured: &MassCounts) -> Result<Vec<ExpectedMassFunction>, String> {
    if pipeline.about().masses == Masses::Unknown {
        return Err("the snapshot has no masses".into());
    }
    pipeline.suitable_fits().expected(pipeline.universe(), measured).map_err(|error| error.to_string())
}
