//! The roles of a table's columns by their names: one rule for all formats.
//!
//! - names: `vx`, `vy`, `vz` are velocities, `id`, `mass` and `type` what they say. If there are columns `x` and `y`, they are the
//!   coordinates, with `z` if there is one; else those of longitude and latitude, as `lon` and `lat` or `RA` and `DEC`, with `z`; else all
//!   columns of numbers but those whose names say that they are no coordinates ([`column_names`](super::column_names)). Upper and lower case
//!   are the same where that leaves no doubt, and a unit after the name does not count, as in `x [kpc]`.
//! - no names: all columns are coordinates
//! - fields: all columns that hold numbers, or the chosen ones, whatever their names
//! - chosen columns, by name or number from 1: these are the coordinates, in this order, and other columns are what their names say
//! - callers that use coordinates alone: what else the names say of a column is noted, and not read

use ropewalk::units::LengthUnit;

use crate::ReadOptions;
use crate::column_names::{longitude_and_latitude, may_be_weight, not_a_coordinate, quantity, quantity_and_unit};
use crate::contents::Role;
use crate::messages::{list, shorten};

/// Why columns are taken for coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Taken {
    /// By their names, or because they are chosen.
    #[default]
    ByName,
    /// They are just what is left over.
    Rest,
    /// They are no coordinates, but fields that are chosen.
    Fields,
    /// The same, and all that hold numbers.
    AllFields,
}

/// Which columns hold what; positions in a row of `width` fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub width: usize,
    /// What the first line calls them, or what they were chosen by; empty if nothing does.
    pub names: Vec<String>,
    pub taken: Taken,
    pub coordinates: Vec<usize>,
    pub velocities: Vec<usize>,
    pub id: Option<usize>,
    pub mass: Option<usize>,
    pub kind: Option<usize>,
    /// The names of columns that are left out, with the reasons.
    pub left_out: Vec<(String, String)>,
    /// Sentences about columns that are read.
    pub remarks: Vec<String>,
}

impl Columns {
    /// The columns of a table without names.
    pub(super) fn plain(width: usize, chosen: &[String]) -> Result<Self, String> {
        if chosen.is_empty() {
            return Self { width, coordinates: (0..width).collect(), ..Self::default() }.checked();
        }
        let coordinates = choose(chosen, &[], width)?;
        Self { width, names: numbered(width), coordinates, ..Self::default() }.checked()
    }

    /// The columns of a table of fields: `names` are empty if it has none.
    pub(super) fn fields(names: Vec<String>, width: usize, chosen: &[String]) -> Result<Self, String> {
        if width == 0 {
            return Err("has no column that holds numbers".into());
        }
        if chosen.is_empty() {
            let (coordinates, taken) = ((0..width).collect(), Taken::AllFields);
            return Ok(Self { width, names, taken, coordinates, ..Self::default() });
        }
        let (coordinates, taken) = (choose(chosen, &names, width)?, Taken::Fields);
        let names = if names.is_empty() { numbered(width) } else { names };
        Ok(Self { width, names, taken, coordinates, ..Self::default() })
    }

    /// The columns of a table with names, all of which hold numbers.
    ///
    /// Errors: as [`Columns::named_of`].
    pub(super) fn named(names: Vec<String>, chosen: &[String]) -> Result<Self, String> {
        Self::named_of(names, &|_| None, &ReadOptions::default().columns(chosen))
    }

    /// The columns of a table with names, of which `no_numbers` says why one holds no numbers, if it holds none.
    ///
    /// Errors: coordinates, velocities or masses by their names that hold no numbers; two columns of one name.
    pub(super) fn named_of(
        names: Vec<String>,
        no_numbers: &dyn Fn(usize) -> Option<String>,
        options: &ReadOptions,
    ) -> Result<Self, String> {
        let chosen = &options.columns[..];
        let coordinates = (!chosen.is_empty()).then(|| choose(chosen, &names, names.len())).transpose()?;
        Self::with_coordinates(names, coordinates, no_numbers, options)
    }

    /// The columns of a table with names, whose coordinates are at the given positions; `None` leaves the choice to the names.
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
                _ => columns.take_rest(no_numbers)?,
            },
        }
        let lower: Vec<String> = columns.names.iter().map(|name| quantity(name).to_lowercase()).collect();
        // Velocities of the axes in the order in which they are chosen.
        let axes: Vec<&str> = columns.coordinates.iter().map(|&column| lower[column].as_str()).collect();
        let has_axes = axes.iter().all(|axis| ["x", "y", "z"].contains(axis));
        let axes = if has_axes { axes } else { vec!["x", "y", "z"] };
        for axis in axes {
            columns.velocities.extend(columns.other(&format!("v{axis}"))?);
        }
        if is_chosen && columns.velocities.len() != columns.coordinates.len() {
            columns.velocities.clear();
        }
        (columns.id, columns.mass, columns.kind) =
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
                    "Its name makes it the mass: rename it, or read no masses (ReadOptions::masses)"
                }
                false => "Its name makes it a velocity: rename it, or read no velocities (ReadOptions::velocities)",
            };
            return Err(format!("column {name} holds {why}, which cannot be read as numbers. {advice}"));
        }
        for (role, what) in [(&mut columns.id, "ids"), (&mut columns.kind, "types")] {
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
            let is_length = is_by_name && self.taken == Taken::ByName && self.coordinates.contains(&column);
            unit.parse::<LengthUnit>().ok().filter(|_| is_length)
        };
        let mut lengths = units.iter().filter_map(|of| Some((of.0, length(of)?)));
        if let Some((first, unit)) = lengths.next()
            && let Some((other, _)) = lengths.find(|(_, other)| *other != unit)
        {
            let [first, other] = [first, other].map(|column| shorten(self.names[column].as_bytes()));
            return Err(format!(
                "columns {first} and {other} have different units: coordinates must have one. {ADVICE}"
            ));
        }
        let names: Vec<String> = units.iter().map(|(column, _)| shorten(self.names[*column].as_bytes())).collect();
        if !names.is_empty() {
            self.remarks.push(format!("units in the names of columns are not used: {}", list(&names)));
        }
        Ok(())
    }

    /// Leaves out the column of types, whose value `text` is none.
    pub(super) fn leave_out_types(&mut self, text: &str) {
        if let Some(column) = self.kind.take() {
            self.leave_out(column, format!("'{text}' is no particle type"));
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
            Err(format!("column {name} holds {why}, which cannot be read as numbers. {FIELDS_ADVICE}"))
        })
    }

    /// The role of a column.
    pub(super) fn role(&self, column: usize) -> Role {
        let roles = [
            (Role::Position, &self.coordinates[..]),
            (Role::Velocity, &self.velocities),
            (Role::Id, self.id.as_slice()),
            (Role::Mass, self.mass.as_slice()),
            (Role::Type, self.kind.as_slice()),
        ];
        Role::of(column, &roles)
    }

    /// Forgets the columns that a caller does not want. A caller that uses coordinates alone is to name them if `is_by_name`.
    fn keep_wanted(&mut self, options: &ReadOptions, is_by_name: bool, no_numbers: &dyn Fn(usize) -> Option<String>) {
        let is_only = options.coordinates_only;
        let mut unused: Vec<(usize, &str)> = vec![];
        if !options.velocities || is_only {
            unused.extend(self.velocities.drain(..).map(|column| (column, "a velocity by its name")));
        }
        for (role, is_wanted, why) in [
            (&mut self.id, options.ids && !is_only, "an id by its name"),
            (&mut self.mass, options.masses && !is_only, "a mass by its name"),
            (&mut self.kind, !is_only || !options.types.is_empty(), "a type by its name"),
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

    /// Takes as coordinates the columns that neither their names nor their values exclude.
    fn take_rest(&mut self, no_numbers: &dyn Fn(usize) -> Option<String>) -> Result<(), String> {
        self.taken = Taken::Rest;
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
            // A table of one column is wanted for what it has.
            let by_name = not_a_coordinate(quantity(&self.names[column])).filter(|_| self.width > 1).map(String::from);
            let predicted = (lower[column] == "y" && has_numbered).then(|| "a label beside numbered x".to_string());
            let is_weight = by_name.is_some() && may_be_weight(&self.names[column]) && no_numbers(column).is_none();
            match no_numbers(column).or(by_name).or(predicted) {
                Some(why) if is_weight => weights.push((column, why)),
                Some(why) => self.leave_out(column, why),
                None => rest.push(column),
            }
        }
        // Height and weight are two quantities of a body.
        let is_quantity = rest.len() < 2 && weights.len() == 1;
        for (column, why) in weights {
            if is_quantity {
                let name = shorten(self.names[column].as_bytes());
                self.remarks.push(format!("column {name} is taken for a coordinate. {ADVICE}"));
                rest.push(column);
                rest.sort_unstable();
            } else {
                self.leave_out(column, why);
            }
        }
        let named: Vec<(usize, &str)> = rest.iter().map(|&column| (column, self.names[column].as_str())).collect();
        let sky = longitude_and_latitude(&named).map_err(|message| format!("{message}. {ADVICE}"))?;
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

    /// Leaves out the columns beside coordinates with known names.
    fn leave_out_unused(&mut self, no_numbers: &dyn Fn(usize) -> Option<String>) {
        if self.taken == Taken::Rest {
            return;
        }
        let Self { coordinates, velocities, id, mass, kind, .. } = &*self;
        let used: Vec<usize> =
            coordinates.iter().chain(velocities).chain(id).chain(mass).chain(kind).copied().collect();
        let axes: Vec<&str> = coordinates.iter().map(|&column| self.names[column].as_str()).collect();
        let why = format!("beside {}", axes.join(", "));
        let is_free = |column: &usize| {
            !used.contains(column) && !self.left_out.iter().any(|(name, _)| *name == self.names[*column])
        };
        let free: Vec<usize> = (0..self.width).filter(is_free).collect();
        free.into_iter().for_each(|column| self.leave_out(column, no_numbers(column).unwrap_or_else(|| why.clone())));
    }

    /// The column with a known name: the one with exactly this name, or the one that differs in case alone, or that has a unit after the name.
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

    /// The same, of those that are no coordinates: what is chosen for a coordinate is nothing else.
    fn other(&self, name: &str) -> Result<Option<usize>, String> {
        Ok(self.find(name)?.filter(|column| !self.coordinates.contains(column)))
    }

    fn checked(self) -> Result<Self, String> {
        let (dim, speeds) = (self.coordinates.len(), self.velocities.len());
        if !(1..=10).contains(&dim) {
            let left_out = self.described();
            let left_out = if left_out.is_empty() { left_out } else { format!("; left out: {left_out}") };
            return Err(format!("has {dim} columns of coordinates; points have 1 to 10{left_out}. {ADVICE}"));
        }
        if speeds != 0 && speeds != dim {
            return Err(format!("has {dim} columns of coordinates, but {speeds} of velocities"));
        }
        Ok(self)
    }

    /// The columns that are left out, with the reasons.
    fn described(&self) -> String {
        let one = |(name, why): &(String, String)| match name.as_str() {
            "" => format!("a column without a name ({why})"),
            name => format!("{} ({why})", shorten(name.as_bytes())),
        };
        list(&self.left_out.iter().map(one).collect::<Vec<_>>())
    }

    /// Notes about the columns that are left out, and remarks about those that are read.
    pub(super) fn notes(&self) -> Vec<String> {
        let (described, mut notes) = (self.described(), self.remarks.clone());
        let advice = if matches!(self.taken, Taken::Fields | Taken::AllFields) { FIELDS_ADVICE } else { ADVICE };
        if !described.is_empty() {
            notes.insert(0, format!("columns left out: {described}. {advice}"));
        }
        notes
    }

    /// What to add to the error that a field or coordinate in `column` is no number.
    pub(super) fn advice(&self, column: usize) -> String {
        let name = self.names.get(column).map(|name| shorten(name.as_bytes()));
        match (self.taken, name) {
            (Taken::ByName, Some(name)) => format!(", in the column {name}"),
            (Taken::ByName | Taken::Rest | Taken::Fields, None) => String::new(),
            (Taken::Rest, Some(name)) => format!(", in the column {name}. {ADVICE}"),
            (Taken::Fields, Some(name)) => format!(", in the field {name}"),
            (Taken::AllFields, Some(name)) => format!(", in the field {name}. {FIELDS_ADVICE}"),
            (Taken::AllFields, None) => format!(". {FIELDS_ADVICE}"),
        }
    }

    /// Whether the coordinates are the columns that no name tells anything of.
    pub(super) fn is_rest(&self) -> bool {
        self.taken == Taken::Rest
    }

    /// The columns that are read.
    pub(super) fn places(&self) -> impl Iterator<Item = &usize> {
        let Self { coordinates, velocities, id, mass, kind, .. } = self;
        coordinates.iter().chain(velocities).chain(id).chain(mass).chain(kind)
    }

    /// The same, to be changed.
    pub(super) fn places_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let Self { coordinates, velocities, id, mass, kind, .. } = self;
        coordinates.iter_mut().chain(velocities).chain(id).chain(mass).chain(kind)
    }

    /// What the columns of coordinates are called.
    pub(super) fn called(&self) -> Vec<String> {
        self.coordinates.iter().filter_map(|&column| self.names.get(column).cloned()).collect()
    }
}

/// Columns called by their numbers.
fn numbered(width: usize) -> Vec<String> {
    (1..=width).map(|column| column.to_string()).collect()
}

/// What to do if columns are taken for coordinates that are none.
pub(super) const ADVICE: &str = "Choose the columns that are coordinates (ReadOptions::columns)";

/// What to do if columns are taken for fields that are none.
pub(super) const FIELDS_ADVICE: &str = "Choose the fields that are wanted (read_fields)";

/// The names of the columns of a table that are coordinates without a choice; empty if there are no such columns.
pub(super) fn own_coordinates(names: &[String]) -> Vec<String> {
    Columns::named(names.to_vec(), &[]).map(|columns| columns.called()).unwrap_or_default()
}

/// The columns that are chosen by name or by number from 1.
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
                let known = if names.is_empty() { "no names".into() } else { shorten(names.join(", ").as_bytes()) };
                return Err(format!("has no column {wanted}; it has {width} columns and {known}"));
            }
        };
        if columns.contains(&column) {
            return Err(format!("column {wanted} is chosen twice"));
        }
        columns.push(column);
    }
    Ok(columns)
}
