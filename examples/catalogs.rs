//! Halos of a snapshot as tables and group catalogues for other programs.
//!
//!     cargo run --release --example catalogs [FOLDER [SNAPSHOT]]

use std::error::Error;
use std::path::{Path, PathBuf};

use ropewalk::AdaptaHop;
use ropewalk::halo::Overdensity;
use ropewalk::units::UnitSystem;
use ropewalk_io::{AtomicFile, ReadOptions, TableFormat, TableWriter, read};
use ropewalk_pipeline::{Finder, FoundHalos, Options, Pipeline};
use ropewalk_table::Catalog;
use ropewalk_table::columns::{Column, Meta, meta_in_units};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = arguments.next().unwrap_or(std::env::temp_dir().join("ropewalk_catalogs"));
    let source = arguments.next().unwrap_or(Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/p3m_64.gadget2"));
    std::fs::create_dir_all(&folder)?;
    let snapshot = read(source, &ReadOptions::default())?;

    let mut options = Options::default();
    options.overdensities = vec![Overdensity::Critical(200.0)];
    let pipeline = Pipeline::new(&snapshot, &options)?;
    let found = pipeline.find()?;
    let catalog = pipeline.measure(&found)?.catalog;
    for name in ["halos.ecsv", "halos.csv", "halos.hdf5", "halos.parquet"] {
        write_table(&folder.join(name), &pipeline, &found, &catalog, None)?;
    }
    for (name, system) in [("h.ecsv", UnitSystem::H), ("physical.ecsv", UnitSystem::Physical)] {
        write_table(&folder.join(name), &pipeline, &found, &catalog, Some(system))?;
    }
    write_groups(&folder.join("fof_subhalo_tab_000.0.hdf5"), &pipeline, &found, &catalog)?;
    println!("{} friends-of-friends halos", catalog.halos().len());

    let mut with_subhalos = options.clone();
    with_subhalos.finder = Finder::AdaptaHop { finder: AdaptaHop::new(), unbind: false };
    let pipeline = Pipeline::new(&snapshot, &with_subhalos)?;
    let found = pipeline.find()?;
    let catalog = pipeline.measure(&found)?.catalog;
    write_groups(&folder.join("fof_subhalo_tab_001.0.hdf5"), &pipeline, &found, &catalog)?;
    println!("{} halos and subhalos by AdaptaHOP", catalog.halos().len());
    Ok(())
}

/// Writes the catalogue in the format of the file extension, and in the units of `system` if it is given.
fn write_table(
    path: &Path,
    pipeline: &Pipeline<'_>,
    found: &FoundHalos<'_>,
    catalog: &Catalog,
    system: Option<UnitSystem>,
) -> ropewalk::Result<()> {
    let factors = system.map(|system| pipeline.universe().factors(system)).transpose()?;
    let (mut columns, mut meta): (Vec<Column>, Vec<(&str, Meta)>) = (catalog.columns().to_vec(), pipeline.meta());
    let mut units = catalog.column_units();
    if let Some(factors) = &factors {
        columns = columns.iter().map(|column| column.in_units(factors)).collect();
        meta = meta_in_units(&meta, factors);
        units = (*factors.units()).into();
    }
    let members = pipeline.members(found, catalog)?.unwrap_or_default();
    let format = TableFormat::from_path(path)?;
    let mut table = TableWriter::new(&columns).units(units).meta(&meta);
    if format == TableFormat::Hdf5 {
        table = table.members(&members);
    }
    let mut file = AtomicFile::create(path)?;
    table.write(&mut file, format)?;
    file.commit()
}

fn write_groups(
    path: &Path,
    pipeline: &Pipeline<'_>,
    found: &FoundHalos<'_>,
    catalog: &Catalog,
) -> ropewalk::Result<()> {
    let mut file = AtomicFile::create(path)?;
    pipeline.write_group_catalog(&mut file, found, catalog)?;
    file.commit()
}
