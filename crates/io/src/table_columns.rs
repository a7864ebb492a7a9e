//! The roles of a table's columns, decided by their names: one rule for all formats.
//!
//! - names: `vx`, `vy`, `vz` are velocities, and `id`, `mass` and `type` mean what they say. Case is ignored unless that is
//!   ambiguous, and so is a unit after the name, as in `x [kpc]`
//! - coordinates: `x` and `y`, with `z` if there is one. Without these, longitude and latitude (`lon` and `lat`, or
//!   `RA` and `DEC`), with `z`. Without these, all columns of numbers except those whose names exclude coordinates
//!   ([`column_names`](super::column_names))
//! - no names: all columns are coordinates
//! - fields: all columns that hold numbers, or the chosen ones, whatever their names
//! - chosen columns, by name or by number from 1: these are the coordinates, in this order; names give other roles
//! - callers that use only coordinates: columns with other roles are noted, and not read

use ropewalk::units::LengthUnit;

use crate::ReadOptions;
use crate::column_names::{longitude_and_latitude, may_be_weight, not_a_coordinate, quantity, quantity_and_unit};
use crate::contents::Role;
use crate::messages::{list, shorten};

/// The reason why columns are coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum CoordinateReason {
    /// Their names, or an explicit choice.
    #[default]
    ByName,
    /// They are all columns that no other rule assigned.
    Rest,
    /// They are not coordinates, but chosen fields.
    Fields,
    /// They are not coordinates, but all fields that hold numbers.
    AllFields,
}

/// The columns of each role, as positions in a row of `width` fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub width: usize,
    /// The names in the first line, or those by which columns were chosen; empty if there are none.
    pub names: Vec<String>,
    pub taken: CoordinateReason,
    pub coordinates: Vec<usize>,
    pub velocities: Vec<usize>,
    pub id: Option<usize>,
    pub mass: Option<usize>,
    pub type_column: Option<usize>,
    /// The names of columns that are left out, with the reasons.
    pub left_out: Vec<(String, String)>,
    /// Sentences about columns that are read.
    pub remarks: Vec<String>,
}

impl Columns {
    /// Returns the columns of a table without names.
    pub(super) fn plain(width: usize, chosen: &[String]) -> Result<Self, String> {
        if chosen.is_empty() {
            return Self { width, coordinates: (0..width).collect(), ..Self::default() }.checked();
        }
        let coordinates = choose(chosen, &[], width)?;
        Self { width, names: numbered(width), coordinates, ..Self::default() }.checked()
    }

    /// Returns the columns of a table of fields. `names` is empty if the table has no names.
    pub(super) fn fields(names: Vec<String>, width: usize, chosen: &[String]) -> Result<Self, String> {
        if width == 0 {
            return Err("has no column of numbers".into());
        }
        if chosen.is_empty() {
            let (coordinates, taken) = ((0..width).collect(), CoordinateReason::AllFields);
            return Ok(Self { width, names, taken, coordinates, ..Self::default() });
        }
        let (coordinates, taken) = (choose(chosen, &names, width)?, CoordinateReason::Fields);
        let names = if names.is_empty() { numbered(width) } else { names };
        Ok(Self { width, names, taken, coordinates, ..Self::default() })
    }

    /// Returns the columns of a table with names, all of which hold numbers.
    ///
    /// Errors: as [`Columns::named_of`].
    pub(super) fn named(names: Vec<String>, chosen: &[String]) -> Result<Self, String> {
        Self::named_of(names, &|_| None, &ReadOptions::default().columns(chosen))
    }

    /// Returns the columns of a table with names. `no_numbers` returns the reason why a column holds no numbers, or
    /// `None` if it holds numbers.
    ///
    /// Errors: columns that are coordinates, velocities or masses by their names, but hold no numbers; two columns
    /// with the same name.
    pub(super) fn named_of(
        names: Vec<String>,
        no_numbers: &dyn Fn(usize) -> Option<String>,
        options: &ReadOptions,
    ) -> Result<Self, String> {
        let chosen = &options.columns[..];
        let coordinates = (!chosen.is_empty()).then(|| choose(chosen, &names, names.len())).transpose()?;
        Self::with_coordinates(names, coordinates, no_numbers, options)
    }

    /// Returns the columns of a table with names, whose coordinates are at the given positions. If `coordinates` is
    /// `None`, the names decide.
    ///
    /// Errors: as [`Columns::named_of`].
    pub(super) fn with_coordinates(
        names: Vec<String>,
        coordinates: Option<Vec<usize>>,
        no_numbers: &dyn Fn(usize) -> Option<String>,
        options: &ReadOptions,
    ) -> Result<Self, String> {
        let is_chosen = coordinates.is_some();
        let mut columns = Self { width: names.len(), names, ..Self::default() };
        match coordinates {
            Some(coordinates) => columns.coordinates = coordinates,
            None => match (columns.find("x")?, columns.find("y")?) {
                (Some(x), Some(y)) => columns.coordinates = [x, y].into_iter().chain(columns.find("z")?).collect(),
                _ => columns.use_remaining(no_numbers)?,
            },
        }
        let lower: Vec<String> = columns.names.iter().map(|name| quantity(name).to_lowercase()).collect();
        // The velocity components of the chosen axes, in the order in which the axes are chosen.
        let axes: Vec<&str> = columns.coordinates.iter().map(|&column| lower[column].as_str()).collect();
        let has_axes = axes.iter().all(|axis| ["x", "y", "z"].contains(axis));
        let axes = if has_axes { axes } else { vec!["x", "y", "z"] };
        for axis in axes {
            columns.velocities.extend(columns.other(&format!("v{axis}"))?);
        }
        if is_chosen && columns.velocities.len() != columns.coordinates.len() {
            columns.velocities.clear();
        }
        (columns.id, columns.mass, columns.type_column) =
            (columns.other("id")?, columns.other("mass")?, columns.other("type")?);
        if !is_chosen {
            columns.leave_out_unused(no_numbers);
        }
        columns.keep_wanted(options, !is_chosen, no_numbers);
        let must = columns.coordinates.iter().chain(&columns.velocities).chain(&columns.mass);
        if let Some((column, why)) = must.copied().find_map(|column| Some((column, no_numbers(column)?))) {
            let name = shorten(columns.names[column].as_bytes());
            let advice = match columns.coordinates.contains(&column) {
                true => ADVICE,
                false if columns.mass == Some(column) => {
                    "its name makes it the mass: rename it, or disable masses (ReadOptions::masses)"
                }
                false => "its name makes it a velocity: rename it, or disable velocities (ReadOptions::velocities)",
            };
            return Err(format!("column {name} holds {why}, which cannot be read as numbers; {advice}"));
        }
        for (role, what) in [(&mut columns.id, "ids"), (&mut columns.type_column, "types")] {
            if let Some((column, why)) = role.and_then(|column| Some((column, no_numbers(column)?))) {
                columns.left_out.push((columns.names[column].clone(), format!("{why}, no {what}")));
                *role = None;
            }
        }
        columns.check_units(!is_chosen)?;
        columns.checked()
    }

    /// Adds a remark about the units in the names of columns that are read.
    ///
    /// Errors: coordinates named x, y, z with different units of length.
    fn check_units(&mut self, is_by_name: bool) -> Result<(), String> {
        let read = self.coordinates.iter().chain(&self.velocities).chain(&self.mass);
        let units: Vec<(usize, &str)> =
            read.filter_map(|&column| Some((column, quantity_and_unit(&self.names[column])?.1))).collect();
        let length = |&(column, unit): &(usize, &str)| {
            let is_length = is_by_name && self.taken == CoordinateReason::ByName && self.coordinates.contains(&column);
            unit.parse::<LengthUnit>().ok().filter(|_| is_length)
        };
        let mut lengths = units.iter().filter_map(|of| Some((of.0, length(of)?)));
        if let Some((first, unit)) = lengths.next()
            && let Some((other, _)) = lengths.find(|(_, other)| *other != unit)
        {
            let [first, other] = [first, other].map(|column| shorten(self.names[column].as_bytes()));
            return Err(format!(
                "columns {first} and {other} have different units; all coordinates must have the same unit; {ADVICE}"
            ));
        }
        let names: Vec<String> = units.iter().map(|(column, _)| shorten(self.names[*column].as_bytes())).collect();
        if !names.is_empty() {
            self.remarks.push(format!("units in the names of columns are not used: {}", list(&names)));
        }
        Ok(())
    }

    /// Leaves out the column of types, since its value `text` is not a particle type.
    pub(super) fn leave_out_types(&mut self, text: &str) {
        if let Some(column) = self.type_column.take() {
            self.leave_out(column, format!("'{text}' is not a particle type"));
        }
    }

    /// Leaves out the fields that hold no numbers.
    pub(super) fn leave_out_fields(&mut self, no_numbers: &dyn Fn(usize) -> Option<String>) {
        for column in std::mem::take(&mut self.coordinates) {
            match no_numbers(column) {
                None => self.coordinates.push(column),
                Some(why) => {
                    let name = self.names.get(column).cloned().unwrap_or_else(|| format!("column {}", column + 1));
                    self.left_out.push((name, why));
                }
            }
        }
    }

    /// Errors: a chosen field holds no numbers.
    pub(super) fn check_fields(&self, no_numbers: &dyn Fn(usize) -> Option<String>) -> Result<(), String> {
        let found = self.coordinates.iter().find_map(|&column| Some((column, no_numbers(column)?)));
        found.map_or(Ok(()), |(column, why)| {
            let name = shorten(self.names[column].as_bytes());
            Err(format!("column {name} holds {why}, which cannot be read as numbers; {FIELDS_ADVICE}"))
        })
    }

    /// The role of a column.
    pub(super) fn role(&self, column: usize) -> Role {
        let roles = [
            (Role::Position, &self.coordinates[..]),
            (Role::Velocity, &self.velocities),
            (Role::Id, self.id.as_slice()),
            (Role::Mass, self.mass.as_slice()),
            (Role::Type, self.type_column.as_slice()),
        ];
        Role::from_column(column, &roles)
    }

    /// Removes the roles that a caller does not request. If the caller uses only coordinates and `is_by_name`, lists
    /// these columns as left out.
    fn keep_wanted(&mut self, options: &ReadOptions, is_by_name: bool, no_numbers: &dyn Fn(usize) -> Option<String>) {
        let is_only = options.coordinates_only;
        let mut unused: Vec<(usize, &str)> = vec![];
        if !options.velocities || is_only {
            unused.extend(self.velocities.drain(..).map(|column| (column, "a velocity by its name")));
        }
        for (role, is_wanted, why) in [
            (&mut self.id, options.ids && !is_only, "an id by its name"),
            (&mut self.mass, options.masses && !is_only, "a mass by its name"),
            (&mut self.type_column, !is_only || !options.types.is_empty(), "a type by its name"),
        ] {
            unused.extend(role.take_if(|_| !is_wanted).map(|column| (column, why)));
        }
        if is_only && is_by_name {
            unused.sort_unstable();
            unused
                .into_iter()
                .for_each(|(column, why)| self.leave_out(column, no_numbers(column).unwrap_or_else(|| why.into())));
        }
    }

    /// Uses as coordinates the columns that neither their names nor their values exclude.
    fn use_remaining(&mut self, no_numbers: &dyn Fn(usize) -> Option<String>) -> Result<(), String> {
        self.taken = CoordinateReason::Rest;
        let mut known = vec![];
        for name in ["vx", "vy", "vz", "id", "mass", "type"] {
            known.extend(self.find(name)?);
        }
        let lower: Vec<String> = self.names.iter().map(|name| quantity(name).to_lowercase()).collect();
        let numbered =
            |name: &str| name.strip_prefix('x').is_some_and(|rest| rest.trim_start_matches('_').parse::<u32>().is_ok());
        let has_numbered = lower.iter().any(|name| numbered(name));
        let (mut rest, mut weights) = (vec![], vec![]);
        for column in (0..self.width).filter(|column| !known.contains(column)) {
            // The only column of a table is read whatever its name.
            let by_name = not_a_coordinate(quantity(&self.names[column])).filter(|_| self.width > 1).map(String::from);
            let predicted = (lower[column] == "y" && has_numbered).then(|| "a label beside numbered x".to_string());
            let is_weight = by_name.is_some() && may_be_weight(&self.names[column]) && no_numbers(column).is_none();
            match no_numbers(column).or(by_name).or(predicted) {
                Some(why) if is_weight => weights.push((column, why)),
                Some(why) => self.leave_out(column, why),
                None => rest.push(column),
            }
        }
        // Beside one other column, a column `weight` is a quantity of a body, as height is.
        let is_quantity = rest.len() < 2 && weights.len() == 1;
        for (column, why) in weights {
            if is_quantity {
                let name = shorten(self.names[column].as_bytes());
                self.remarks.push(format!("column {name} is used as a coordinate; {ADVICE}"));
                rest.push(column);
                rest.sort_unstable();
            } else {
                self.leave_out(column, why);
            }
        }
        let named: Vec<(usize, &str)> = rest.iter().map(|&column| (column, self.names[column].as_str())).collect();
        let sky = longitude_and_latitude(&named).map_err(|message| format!("{message}; {ADVICE}"))?;
        if let Some(pair) = sky {
            let (kept, others) = rest.iter().partition(|column| pair.contains(column) || lower[**column] == "z");
            rest = kept;
            let [first, second] = pair.map(|column| self.names[column].as_str());
            let why = format!("beside {first} and {second}");
            let others: Vec<usize> = others;
            others.into_iter().for_each(|column| self.leave_out(column, why.clone()));
        }
        self.coordinates = rest;
        Ok(())
    }

    fn leave_out(&mut self, column: usize, why: String) {
        self.left_out.push((self.names[column].clone(), why));
    }

    /// Leaves out the columns without a role, if the coordinates have known names.
    fn leave_out_unused(&mut self, no_numbers: &dyn Fn(usize) -> Option<String>) {
        if self.taken == CoordinateReason::Rest {
            return;
        }
        let Self { coordinates, velocities, id, mass, type_column, .. } = &*self;
        let used: Vec<usize> =
            coordinates.iter().chain(velocities).chain(id).chain(mass).chain(type_column).copied().collect();
        let axes: Vec<&str> = coordinates.iter().map(|&column| self.names[column].as_str()).collect();
        let why = format!("beside {}", axes.join(", "));
        let is_free = |column: &usize| {
            !used.contains(column) && !self.left_out.iter().any(|(name, _)| *name == self.names[*column])
        };
        let free: Vec<usize> = (0..self.width).filter(is_free).collect();
        free.into_iter().for_each(|column| self.leave_out(column, no_numbers(column).unwrap_or_else(|| why.clone())));
    }

    /// Returns the column with a known name. An exact match is preferred, then a name that differs only in case, then
    /// one that is followed by a unit.
    fn find(&self, name: &str) -> Result<Option<usize>, String> {
        let exact: Vec<usize> = (0..self.width).filter(|&i| self.names[i] == name).collect();
        let mut alike: Vec<usize> = (0..self.width).filter(|&i| self.names[i].to_lowercase() == name).collect();
        if alike.is_empty() {
            alike = (0..self.width).filter(|&i| quantity(&self.names[i]).eq_ignore_ascii_case(name)).collect();
        }
        match (&exact[..], &alike[..]) {
            ([one], _) | ([], [one]) => Ok(Some(*one)),
            ([], []) => Ok(None),
            ([], several) => {
                let names: Vec<&str> = several.iter().map(|&i| self.names[i].as_str()).collect();
                Err(format!("has two columns named {name}: {}", names.join(", ")))
            }
            _ => Err(format!("has two columns named {name}")),
        }
    }

    /// Returns the column that [`Columns::find`] returns, unless it is a coordinate: a column chosen as coordinate
    /// has no other role.
    fn other(&self, name: &str) -> Result<Option<usize>, String> {
        Ok(self.find(name)?.filter(|column| !self.coordinates.contains(column)))
    }

    fn checked(self) -> Result<Self, String> {
        let (dim, speeds) = (self.coordinates.len(), self.velocities.len());
        if !(1..=10).contains(&dim) {
            let left_out = self.described();
            let left_out = if left_out.is_empty() { left_out } else { format!("; left out: {left_out}") };
            return Err(format!("has {dim} columns of coordinates; points must have 1 to 10{left_out}; {ADVICE}"));
        }
        if speeds != 0 && speeds != dim {
            return Err(format!("has {dim} columns of coordinates, but {speeds} of velocities"));
        }
        Ok(self)
    }

    /// Describes the columns that are left out, with the reasons.
    fn described(&self) -> String {
        let one = |(name, why): &(String, String)| match name.as_str() {
            "" => format!("a column without a name ({why})"),
            name => format!("{} ({why})", shorten(name.as_bytes())),
        };
        list(&self.left_out.iter().map(one).collect::<Vec<_>>())
    }

    /// Returns notes about the columns that are left out, and remarks about those that are read.
    pub(super) fn notes(&self) -> Vec<String> {
        let (described, mut notes) = (self.described(), self.remarks.clone());
        let are_fields = matches!(self.taken, CoordinateReason::Fields | CoordinateReason::AllFields);
        let advice = if are_fields { FIELDS_ADVICE } else { ADVICE };
        if !described.is_empty() {
            notes.insert(0, format!("columns left out: {described}; {advice}"));
        }
        notes
    }

    /// Returns the end of the error message for a field or coordinate in `column` that is not a number.
    pub(super) fn advice(&self, column: usize) -> String {
        let name = self.names.get(column).map(|name| shorten(name.as_bytes()));
        match (self.taken, name) {
            (CoordinateReason::ByName, Some(name)) => format!(", in the column {name}"),
            (CoordinateReason::ByName | CoordinateReason::Rest | CoordinateReason::Fields, None) => String::new(),
            (CoordinateReason::Rest, Some(name)) => format!(", in the column {name}; {ADVICE}"),
            (CoordinateReason::Fields, Some(name)) => format!(", in the field {name}"),
            (CoordinateReason::AllFields, Some(name)) => format!(", in the field {name}; {FIELDS_ADVICE}"),
            (CoordinateReason::AllFields, None) => format!("; {FIELDS_ADVICE}"),
        }
    }

    /// Returns `true` if the coordinates are the columns to which no name assigns a role.
    pub(super) fn is_fallback(&self) -> bool {
        self.taken == CoordinateReason::Rest
    }

    /// Returns the positions of the columns that are read.
    pub(super) fn places(&self) -> impl Iterator<Item = &usize> {
        let Self { coordinates, velocities, id, mass, type_column, .. } = self;
        coordinates.iter().chain(velocities).chain(id).chain(mass).chain(type_column)
    }

    /// Returns mutable positions of the columns that are read.
    pub(super) fn places_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let Self { coordinates, velocities, id, mass, type_column, .. } = self;
        coordinates.iter_mut().chain(velocities).chain(id).chain(mass).chain(type_column)
    }

    /// Returns the names of the columns of coordinates.
    pub(super) fn called(&self) -> Vec<String> {
        self.coordinates.iter().filter_map(|&column| self.names.get(column).cloned()).collect()
    }
}

/// Names columns by their numbers, from 1.
fn numbered(width: usize) -> Vec<String> {
    (1..=width).map(|column| column.to_string()).collect()
}

/// Advice in messages about columns that were wrongly read as coordinates.
pub(super) const ADVICE: &str = "choose the coordinate columns (ReadOptions::columns)";
/// Advice in messages about columns that were wrongly read as fields.
pub(super) const FIELDS_ADVICE: &str = "choose the fields to read (read_fields)";

/// Returns the names of the columns that are coordinates without a choice; empty if there are none.
pub(super) fn own_coordinates(names: &[String]) -> Vec<String> {
    Columns::named(names.to_vec(), &[]).map(|columns| columns.called()).unwrap_or_default()
}

/// Returns the columns that are chosen by name or by number from 1.
pub(super) fn choose(chosen: &[String], names: &[String], width: usize) -> Result<Vec<usize>, String> {
    let mut columns = Vec::with_capacity(chosen.len());
    for wanted in chosen {
        let wanted = wanted.trim();
        let mut exact = (0..names.len()).filter(|&i| names[i] == wanted);
        let (exact, is_twice) = (exact.next(), exact.next().is_some());
        let mut alike = (0..names.len()).filter(|&i| names[i].to_lowercase() == wanted.to_lowercase());
        let column = match (exact, alike.next(), wanted.parse::<usize>()) {
            (Some(column), ..) if !is_twice => column,
            (_, Some(column), _) if alike.next().is_none() => column,
            (_, None, Ok(number)) if (1..=width).contains(&number) => number - 1,
            (_, Some(_), _) => return Err(format!("has several columns named {wanted}; choose by number")),
            _ => {
                let known = if names.is_empty() { "have no names".into() } else { format!("are {}", names.join(", ")) };
                return Err(format!("has no column {wanted}; its {width} columns {}", shorten(known.as_bytes())));
            }
        };
        if columns.contains(&column) {
            return Err(format!("column {wanted} is chosen twice"));
        }
        columns.push(column);
    }
    Ok(columns)
}
