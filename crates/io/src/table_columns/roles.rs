//! The rules that give columns their roles.

use super::choice::{choose, numbered};
use super::columns::{ADVICE, Columns, CoordinateReason};
use crate::ReadOptions;
use crate::column_names::{longitude_and_latitude, may_be_weight, not_a_coordinate, quantity};
use crate::messages::shorten;

impl Columns {
    /// Returns the columns of a table without names.
    pub(crate) fn plain(width: usize, chosen: &[String]) -> Result<Self, String> {
        if chosen.is_empty() {
            return Self { width, coordinates: (0..width).collect(), ..Self::default() }.checked();
        }
        let coordinates = choose(chosen, &[], width)?;
        Self { width, names: numbered(width), coordinates, ..Self::default() }.checked()
    }

    /// Returns the columns of a table of fields. `names` is empty if the table has no names.
    pub(crate) fn fields(names: Vec<String>, width: usize, chosen: &[String]) -> Result<Self, String> {
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
    pub(crate) fn named(names: Vec<String>, chosen: &[String]) -> Result<Self, String> {
        Self::named_of(names, &|_| None, &ReadOptions::default().columns(chosen))
    }

    /// Returns the columns of a table with names. `no_numbers` returns the reason why a column holds no numbers, or
    /// `None` if it holds numbers.
    ///
    /// Errors: columns that are coordinates, velocities or masses by their names, but hold no numbers; two columns
    /// with the same name.
    pub(crate) fn named_of(
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
    pub(crate) fn with_coordinates(
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
}

/// Returns the names of the columns that are coordinates without a choice; empty if there are none.
pub(crate) fn own_coordinates(names: &[String]) -> Vec<String> {
    Columns::named(names.to_vec(), &[]).map(|columns| columns.called()).unwrap_or_default()
}
