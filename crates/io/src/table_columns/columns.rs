//! The columns of each role, with notes about those that are left out and advice in messages.

use ropewalk::units::LengthUnit;

use crate::column_names::quantity_and_unit;
use crate::contents::Role;
use crate::messages::{list, shorten};

/// Advice in messages about columns that were wrongly read as coordinates.
pub(crate) const ADVICE: &str = "choose the coordinate columns (ReadOptions::columns)";
/// Advice in messages about columns that were wrongly read as fields.
pub(crate) const FIELDS_ADVICE: &str = "choose the fields to read (read_fields)";

/// The reason why columns are coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum CoordinateReason {
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
pub(crate) struct Columns {
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
    /// Leaves out the column of types, since its value `text` is not a particle type.
    pub(crate) fn leave_out_types(&mut self, text: &str) {
        if let Some(column) = self.type_column.take() {
            self.leave_out(column, format!("'{text}' is not a particle type"));
        }
    }

    /// Leaves out the fields that hold no numbers.
    pub(crate) fn leave_out_fields(&mut self, no_numbers: &dyn Fn(usize) -> Option<String>) {
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
    pub(crate) fn check_fields(&self, no_numbers: &dyn Fn(usize) -> Option<String>) -> Result<(), String> {
        let found = self.coordinates.iter().find_map(|&column| Some((column, no_numbers(column)?)));
        found.map_or(Ok(()), |(column, why)| {
            let name = shorten(self.names[column].as_bytes());
            Err(format!("column {name} holds {why}, which cannot be read as numbers; {FIELDS_ADVICE}"))
        })
    }

    /// The role of a column.
    pub(crate) fn role(&self, column: usize) -> Role {
        let roles = [
            (Role::Position, &self.coordinates[..]),
            (Role::Velocity, &self.velocities),
            (Role::Id, self.id.as_slice()),
            (Role::Mass, self.mass.as_slice()),
            (Role::Type, self.type_column.as_slice()),
        ];
        Role::from_column(column, &roles)
    }

    pub(super) fn leave_out(&mut self, column: usize, why: String) {
        self.left_out.push((self.names[column].clone(), why));
    }

    pub(super) fn checked(self) -> Result<Self, String> {
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

    /// Returns `true` if the coordinates are the columns to which no name assigns a role.
    pub(crate) fn is_fallback(&self) -> bool {
        self.taken == CoordinateReason::Rest
    }

    /// Returns the positions of the columns that are read.
    pub(crate) fn places(&self) -> impl Iterator<Item = &usize> {
        let Self { coordinates, velocities, id, mass, type_column, .. } = self;
        coordinates.iter().chain(velocities).chain(id).chain(mass).chain(type_column)
    }

    /// Returns mutable positions of the columns that are read.
    pub(crate) fn places_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let Self { coordinates, velocities, id, mass, type_column, .. } = self;
        coordinates.iter_mut().chain(velocities).chain(id).chain(mass).chain(type_column)
    }

    /// Returns the names of the columns of coordinates.
    pub(crate) fn called(&self) -> Vec<String> {
        self.coordinates.iter().filter_map(|&column| self.names.get(column).cloned()).collect()
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
    pub(crate) fn notes(&self) -> Vec<String> {
        let (described, mut notes) = (self.described(), self.remarks.clone());
        let are_fields = matches!(self.taken, CoordinateReason::Fields | CoordinateReason::AllFields);
        let advice = if are_fields { FIELDS_ADVICE } else { ADVICE };
        if !described.is_empty() {
            notes.insert(0, format!("columns left out: {described}; {advice}"));
        }
        notes
    }

    /// Returns the number and the name of a column, as `column 2 (y)`.
    pub(crate) fn title(&self, column: usize) -> String {
        let number = (column + 1).to_string();
        match self.names.get(column).filter(|name| !name.trim().is_empty() && **name != number) {
            Some(name) => format!("column {number} ({})", shorten(name.as_bytes())),
            None => format!("column {number}"),
        }
    }

    /// Returns the end of an error message about a value in a column: what to do if the column should not be read.
    pub(crate) fn advice(&self) -> String {
        match self.taken {
            CoordinateReason::Rest => format!("; {ADVICE}"),
            CoordinateReason::AllFields => format!("; {FIELDS_ADVICE}"),
            CoordinateReason::ByName | CoordinateReason::Fields => String::new(),
        }
    }

    /// Adds a remark about the units in the names of columns that are read.
    ///
    /// Errors: coordinates named x, y, z with different units of length.
    pub(super) fn check_units(&mut self, is_by_name: bool) -> Result<(), String> {
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
}
