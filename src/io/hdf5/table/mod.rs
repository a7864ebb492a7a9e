//! Tables in HDF5: datasets of one length, compounds, and arrays of points, as h5py, PyTables and pandas write them.
//!
//! - in: a file without the groups of a snapshot, and the columns that are chosen, by path (`group/x`, `table/x`, `points`) or by name
//! - out: points with what the names of other columns say, as of text tables; `BoxSize` and `Redshift` are attributes
//! - columns that are not chosen must be clear: of several groups of columns, or of arrays of several widths, none is taken
//! - cost: that of `fill`

mod list;
mod packed;
mod record;

use std::path::Path;

use crate::io::contents::{Contents, Field, Role, TypeContents};
use crate::io::csv_columns::Columns;
use crate::io::fill::{Rows, fill};
use crate::io::hdf5::attributes::Attributes;
use crate::io::hdf5::dataset::{Column as Stored, Shape};
use crate::io::hdf5::file::File;
use crate::io::hdf5::number::Number;
use crate::io::matter::Matter;
use crate::io::reading::Reading;
use crate::io::sides::side_of_chosen;
use crate::io::type_column::TypeColumn;
use crate::io::{Background, Error, Format, MassSum, Masses, Points, ReadOptions, Result, Snapshot, Table};
use crate::units::{KnownUnits, LengthUnit, VelocityUnit};
use list::Column;
use packed::{Packed, Source, Value};

/// Columns that an error lists.
const MOST_LISTED: usize = 30;
/// Names of columns that are known, in lower case.
const KNOWN: [&str; 9] = ["x", "y", "z", "vx", "vy", "vz", "id", "mass", "type"];
const ADVICE: &str =
    "choose the columns that are coordinates (ReadOptions::columns, --coordinates A,B, in Python columns=)";

/// One number of a row: a column of the file, and which of its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pick {
    column: usize,
    spot: usize,
}

/// A table whose columns are known.
struct Scan<'a> {
    file: &'a File,
    all: Vec<Column>,
    /// The numbers of a row of the table, and how they are used.
    picks: Vec<Pick>,
    roles: Columns,
    attributes: Vec<Attributes>,
}

/// Columns that belong together: of one container, none of which is in doubt.
fn default_columns(all: &[Column]) -> std::result::Result<Vec<usize>, String> {
    let is_read = |column: &&Column| column.unread.is_none();
    let mut containers: Vec<&str> = all.iter().filter(is_read).map(|column| column.container.as_str()).collect();
    containers.dedup();
    containers.sort_unstable();
    containers.dedup();
    let [container] = containers[..] else {
        let what = if containers.is_empty() { "no datasets of numbers" } else { "several groups of columns" };
        return Err(format!("has {what}"));
    };
    let own: Vec<usize> = (0..all.len()).filter(|&i| all[i].container == container).collect();
    let is_known = |i: &usize| KNOWN.contains(&all[*i].short.to_lowercase().as_str());
    let is_number = |i: &usize| all[*i].unread.is_none() && all[*i].spots.len() == 1;
    let has = |name: &str| own.iter().any(|i| is_number(i) && all[*i].short.to_lowercase() == name);
    if has("x") && has("y") {
        // Of columns with names that are known the others are not looked at.
        let known: Vec<usize> = own.into_iter().filter(is_known).collect();
        if let Some(&i) = known.iter().find(|i| !is_number(i) && all[**i].short.to_lowercase() != "type") {
            return Err(format!("has a column that is not read, {}", all[i].describe()));
        }
        let known: Vec<usize> = known.into_iter().filter(is_number).collect();
        let is_equal = known.windows(2).all(|pair| all[pair[0]].rows == all[pair[1]].rows);
        return if is_equal { Ok(known) } else { Err("has columns of different lengths".into()) };
    }
    if let Some(&i) = own.iter().find(|&&i| matches!(all[i].unread, Some((_, false)))) {
        return Err(format!("has a column that is not read, {}", all[i].describe()));
    }
    let own: Vec<usize> = own.into_iter().filter(|&i| all[i].unread.is_none()).collect();
    let is_equal = own.windows(2).all(|pair| all[pair[0]].rows == all[pair[1]].rows);
    let is_wide = own.iter().any(|&i| all[i].spots.len() != 1);
    match (is_equal, is_wide && own.len() > 1) {
        (false, _) => Err("has columns of different lengths".into()),
        (true, true) => Err("has arrays of points beside other columns".into()),
        (true, false) => Ok(own),
    }
}

/// The columns that are chosen by path or by name.
fn chosen_columns(file: &File, all: &[Column], chosen: &[String]) -> Result<Vec<usize>> {
    let mut found: Vec<usize> = vec![];
    for wanted in chosen {
        let wanted = wanted.trim().trim_matches('/');
        let by = |is: &dyn Fn(&Column) -> bool| (0..all.len()).filter(|&i| is(&all[i])).collect::<Vec<usize>>();
        let mut matching = by(&|column| column.path == wanted);
        if matching.is_empty() {
            matching = by(&|column| column.short == wanted);
        }
        if matching.is_empty() {
            matching = by(&|column| column.short.to_lowercase() == wanted.to_lowercase());
        }
        let [column] = matching[..] else {
            let what = if matching.is_empty() { "no column" } else { "several columns" };
            return Err(file.error(format!("has {what} {}; columns: {}", wanted.escape_debug(), listed(all))));
        };
        if let Some((what, _)) = &all[column].unread {
            return Err(file.error(format!("column {} is not read: {what}", all[column].path)));
        }
        if found.contains(&column) {
            return Err(file.error(format!("column {wanted} is chosen twice")));
        }
        if let Some(other) = found.first().map(|&first| &all[first]).filter(|other| other.rows != all[column].rows) {
            let (a, b) = (other.describe(), all[column].describe());
            return Err(file.error(format!("columns {a} and {b} differ in length")));
        }
        found.push(column);
    }
    Ok(found)
}

fn listed(all: &[Column]) -> String {
    let more = if all.len() > MOST_LISTED { " and others" } else { "" };
    let listed: Vec<String> = all.iter().take(MOST_LISTED).map(Column::describe).collect();
    if listed.is_empty() { "none".into() } else { listed.join(", ") + more }
}

impl<'a> Scan<'a> {
    fn new(file: &'a File, reading: &Reading<'_>) -> Result<Self> {
        let (all, chosen) = (list::columns(file)?, &reading.options.columns[..]);
        let unclear = |what: String| {
            file.error(format!(
                "is an HDF5 file without the group Header of a snapshot, and {what}; {ADVICE}; columns: {}",
                listed(&all)
            ))
        };
        let wanted = match chosen {
            [] => default_columns(&all).map_err(unclear)?,
            chosen => chosen_columns(file, &all, chosen)?,
        };
        let refuse = |message: String| file.error(message);
        let picks_of = |columns: &[usize]| -> Vec<Pick> {
            columns
                .iter()
                .flat_map(|&column| (0..all[column].spots.len()).map(move |spot| Pick { column, spot }))
                .collect()
        };
        let name = |pick: &Pick| {
            let column = &all[pick.column];
            let own = column.names.get(pick.spot).filter(|_| column.names.len() == column.spots.len());
            match (own, column.spots.len()) {
                (Some(name), _) => name.clone(),
                (None, 1) => column.short.clone(),
                (None, _) => format!("{}[{}]", column.short, pick.spot),
            }
        };
        let mut picks = picks_of(&wanted);
        if picks.is_empty() {
            return Err(unclear("its columns have no numbers".into()));
        }
        let names: Vec<String> = picks.iter().map(name).collect();
        let roles = if reading.is_of_fields {
            Columns::fields(names.clone(), names.len(), &[]).map_err(refuse)?
        } else if chosen.is_empty() {
            Columns::named(names, &[]).map_err(refuse)?
        } else {
            // Other columns of the same group and length are what their names say.
            let (first, rows) = wanted.first().map_or(("", 0), |&i| (all[i].container.as_str(), all[i].rows));
            let is_beside = |&i: &usize| {
                let column = &all[i];
                let is_read = column.unread.is_none() && column.spots.len() == 1;
                is_read && column.container == first && column.rows == rows && !wanted.contains(&i)
            };
            let beside: Vec<usize> = (0..all.len()).filter(is_beside).collect();
            let coordinates = names.len();
            picks.extend(picks_of(&beside));
            let names: Vec<String> = picks.iter().map(name).collect();
            let numbers: Vec<String> = (1..=coordinates).map(|number| number.to_string()).collect();
            // By number, for names may occur twice.
            let unique: Vec<String> = names
                .iter()
                .enumerate()
                .map(|(i, name)| if i < coordinates { format!("\u{0}{i}") } else { name.clone() })
                .collect();
            let mut roles = Columns::named(unique, &numbers).map_err(refuse)?;
            roles.names = names;
            roles
        };
        let mut attributes = vec![file.attributes("")?];
        for &column in &wanted {
            let Column { group, dataset, path, .. } = &all[column];
            if let Some(found) = file.dataset(group, dataset)? {
                attributes.push(file.dataset_attributes(path, &found)?);
            }
            attributes.push(file.attributes(group)?);
        }
        Ok(Self { file, all, picks, roles, attributes })
    }

    fn rows(&self) -> u64 {
        self.picks.first().map_or(0, |pick| self.all[pick.column].rows)
    }

    fn number(&self, place: usize) -> Number {
        let Pick { column, spot } = self.picks[place];
        self.all[column].spots[spot].1
    }

    /// The first attribute with one of these names.
    fn attribute(&self, names: &[&str]) -> Result<Option<f64>> {
        for attributes in &self.attributes {
            for name in names {
                if let Some(value) = attributes.numbers(name)? {
                    return match value[..] {
                        [first, ref rest @ ..] if rest.iter().all(|&other| other == first) => Ok(Some(first)),
                        _ => Err(self.file.error(format!("attribute {name} has several numbers that differ"))),
                    };
                }
            }
        }
        Ok(None)
    }

    /// The side of the periodic box.
    fn box_size(&self) -> Result<Option<f64>> {
        match self.attribute(&["BoxSize", "box_size", "boxsize"])? {
            Some(side) if side < 0.0 || !side.is_finite() => {
                Err(self.file.error(format!("has box size {side}; it must be positive, or 0 for none")))
            }
            side => Ok(side.filter(|&side| side > 0.0)),
        }
    }

    /// The side of the box in which the columns lie that are read; `notes` gets what is not used.
    fn side(&self, reading: &Reading<'_>, notes: &mut Vec<String>) -> Result<Option<f64>> {
        let side = self.box_size()?;
        if reading.options.columns.is_empty() {
            return Ok(side);
        }
        let options = ReadOptions::default();
        let own = Scan::new(self.file, &Reading::new(&options, None)?).map(|own| own.coordinates());
        Ok(side_of_chosen(side, &own.unwrap_or_default(), &self.coordinates(), notes))
    }

    fn coordinates(&self) -> Vec<Pick> {
        self.roles.coordinates.iter().map(|&place| self.picks[place]).collect()
    }

    /// The unit that the attribute `units` or `unit` of the coordinates names, if it is one of length.
    fn length_unit(&self) -> Option<LengthUnit> {
        let text = |attributes: &Attributes| {
            ["units", "unit"].into_iter().find_map(|name| attributes.text(name).ok().flatten()?.parse().ok())
        };
        let units: Vec<Option<LengthUnit>> = self
            .roles
            .coordinates
            .iter()
            .map(|&place| {
                let path = &self.all[self.picks[place].column].path;
                self.attributes.iter().find(|attributes| attributes.owner() == path).and_then(text)
            })
            .collect();
        let first = *units.first()?;
        first.filter(|_| units.iter().all(|unit| *unit == first))
    }

    /// The datasets of these places, opened.
    fn open(&self, places: &[usize]) -> Result<Vec<(Stored, String, Vec<record::Spot>)>> {
        let mut sources: Vec<(Stored, String, Vec<record::Spot>)> = vec![];
        for &place in places {
            let Pick { column, spot } = self.picks[place];
            let Column { group, dataset, path, element, spots, .. } = &self.all[column];
            let found = self.file.dataset(group, dataset)?.ok_or_else(|| self.file.error(format!("has no {path}")))?;
            let shape = Shape::of_bytes(&found, *element).map_err(|what| self.file.error(format!("{path} {what}")))?;
            match sources.last_mut().filter(|(_, name, _)| name == path) {
                Some((_, _, own)) => own.push(spots[spot]),
                None => {
                    let stored = Stored::with_shape(self.file, path, &found, shape)?;
                    sources.push((stored, path.clone(), vec![spots[spot]]));
                }
            }
        }
        Ok(sources)
    }

    /// The rows of these places together, each value as `scale` makes it with `factor`.
    fn gather<T: Value>(
        &self,
        reading: &Reading<'_>,
        places: &[usize],
        scale: fn(T, f64) -> T,
        factor: f64,
    ) -> Result<Vec<T>> {
        let opened = self.open(places)?;
        let sources = opened.iter().map(|(column, name, spots)| Source { column, name, spots: spots.clone() });
        let packed = Packed::new(reading, sources.collect(), scale, factor);
        let width = packed.width();
        let pieces: Vec<Box<dyn Rows<T> + '_>> = vec![Box::new(packed)];
        fill(reading, &self.file.path, width, &pieces)
    }

    fn points(&self, reading: &Reading<'_>, places: &[usize], factor: f64) -> Result<Points> {
        let dim = places.len();
        Ok(if places.iter().all(|&place| self.number(place).is_single()) {
            let scale = |x: f32, factor: f64| (f64::from(x) * factor) as f32;
            Points::F32(Table::of(dim, self.gather(reading, places, scale, factor)?))
        } else {
            Points::F64(Table::of(dim, self.gather(reading, places, |x: f64, factor| x * factor, factor)?))
        })
    }

    /// The types of all rows, if there is a column of types.
    fn types(&self, reading: &Reading<'_>) -> Result<Option<TypeColumn>> {
        let Some(place) = self.roles.kind else { return Ok(None) };
        let opened = self.open(&[place])?;
        let sources = opened.iter().map(|(column, name, spots)| Source { column, name, spots: spots.clone() });
        let packed = Packed::new(reading, sources.collect(), |kind: u8, _| kind, 1.0);
        let mut each = crate::io::source::room(&self.file.path, self.rows())?;
        each.resize(self.rows() as usize, 0);
        packed.read(0, &mut each)?;
        TypeColumn::of(&self.file.path, "column type", each, reading)
    }

    fn role(&self, pick: Pick) -> Role {
        let Some(place) = self.picks.iter().position(|own| *own == pick) else { return Role::Other };
        match place {
            _ if self.roles.coordinates.contains(&place) => Role::Position,
            _ if self.roles.velocities.contains(&place) => Role::Velocity,
            _ if self.roles.id == Some(place) => Role::Id,
            _ if self.roles.mass == Some(place) => Role::Mass,
            _ if self.roles.kind == Some(place) => Role::Type,
            _ => Role::Other,
        }
    }
}

/// The points of a table.
pub(super) fn read(file: &File, reading: &Reading<'_>) -> Result<Snapshot> {
    let (scan, options) = (Scan::new(file, reading)?, reading.options);
    reading.choose(scan.types(reading)?);
    let roles = &scan.roles;
    let velocities = Some(&roles.velocities).filter(|places| options.velocities && !places.is_empty());
    let redshift = scan.attribute(&["Redshift", "redshift"])?;
    let factor = options.velocity_unit.map(|unit| options.velocity_factor(unit, redshift, None)).transpose();
    let factor = factor.map_err(|error| Error::file(&file.path, error))?.unwrap_or(1.0);
    let mass = roles.mass.filter(|_| options.masses);
    let each = 1.0 / reading.keep.fraction;
    let masses = mass.map(|mass| scan.gather(reading, &[mass], |x: f64, factor| x * factor, each)).transpose()?;
    let is_whole = reading.keep.is_all() && reading.types().is_none_or(TypeColumn::is_all);
    let matter = masses
        .as_ref()
        .filter(|_| is_whole)
        .and_then(|masses| reading.matter(Matter { share: Some(MassSum::of(masses)), ..Matter::default() }));
    let id = roles.id.filter(|_| options.ids);
    let mut notes = vec![];
    let box_size = scan.side(reading, &mut notes)?;
    Ok(Snapshot {
        types: reading.types().map(|types| types.runs(reading)).unwrap_or_default(),
        velocities: velocities.map(|places| scan.points(reading, places, factor)).transpose()?,
        ids: id.map(|id| scan.gather(reading, &[id], |id: u64, _| id, 1.0)).transpose()?,
        masses: masses.map_or(Masses::Unknown, Masses::Each),
        matter,
        units: KnownUnits {
            length: scan.length_unit(),
            velocity: options.velocity_unit.map(|unit| VelocityUnit { is_internal: false, ..unit }),
            ..KnownUnits::default()
        },
        redshift,
        box_size,
        notes,
        format: Format::Hdf5Table,
        columns: roles.called(),
        ..Snapshot::new(scan.points(reading, &roles.coordinates, 1.0)?)
    })
}

/// What a file without a header holds: the table that is read, or all groups of columns where none is clear.
pub(super) fn inspect(path: &Path, file: &File, reading: &Reading<'_>) -> Result<Contents> {
    let field = |scan: Option<&Scan<'_>>, index: usize, column: &Column| {
        let number = match (&column.unread, column.spots.first()) {
            (None, Some((_, number))) => number.name(),
            _ => "other".into(),
        };
        let role = scan.map_or(Role::Other, |scan| scan.role(Pick { column: index, spot: 0 }));
        Field::new(column.path.clone(), number, column.spots.len().max(1) as u64, role)
    };
    let fields = |scan: Option<&Scan<'_>>, all: &[Column], container: Option<&str>| -> Vec<Field> {
        let own = all.iter().enumerate().filter(|(_, column)| container.is_none_or(|name| column.container == name));
        own.map(|(index, column)| field(scan, index, column)).collect()
    };
    let contents = |types, notes| Contents {
        format: Format::Hdf5Table,
        code: None,
        files: vec![path.to_path_buf()],
        types,
        box_size: None,
        redshift: None,
        background: Background::default(),
        units: KnownUnits::default(),
        notes,
    };
    match Scan::new(file, reading) {
        Ok(scan) => {
            let types = scan.types(reading)?;
            let counts = types.as_ref().map_or(&[][..], TypeColumn::counts);
            let all = fields(Some(&scan), &scan.all, None);
            Ok(Contents {
                box_size: scan.box_size()?,
                redshift: scan.attribute(&["Redshift", "redshift"])?,
                units: KnownUnits { length: scan.length_unit(), ..KnownUnits::default() },
                ..contents(TypeContents::of_table(scan.rows(), counts, &all), vec![])
            })
        }
        Err(error) => {
            let all = list::columns(file)?;
            if all.iter().all(|column| column.unread.is_some()) {
                return Err(error);
            }
            let mut containers: Vec<&str> = all.iter().map(|column| column.container.as_str()).collect();
            containers.sort_unstable();
            containers.dedup();
            let types = containers.into_iter().map(|name| TypeContents {
                particle_type: None,
                name: format!("/{name}"),
                count: all
                    .iter()
                    .filter(|column| column.container == name)
                    .map(|column| column.rows)
                    .max()
                    .unwrap_or(0),
                mass: None,
                fields: fields(None, &all, Some(name)),
            });
            Ok(contents(types.collect(), vec![error.to_string()]))
        }
    }
}
