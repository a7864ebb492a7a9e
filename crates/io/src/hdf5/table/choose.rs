//! The choice of the columns of an HDF5 table, and of their roles.
//!
//! - default: the columns of the only group, or dataset of compounds, that contains numbers. Their names determine
//!   the roles, as in all tables
//! - chosen: columns by path, or by name if the name is unique; the other columns of their group have the roles of
//!   their names
//! - fields: all columns of numbers, or the chosen ones, whatever their names
//! - errors: several groups of columns, columns of different lengths, and unreadable columns with the name of a
//!   requested quantity

use ropewalk::Result;

use crate::ReadOptions;
use crate::hdf5::file::File;
use crate::hdf5::table::list::Column;
use crate::reading::Reading;
use crate::table_columns::{ADVICE as CHOOSE, Columns, FIELDS_ADVICE};

/// The maximum number of columns that an error lists.
const MAX_LISTED: usize = 30;
/// The maximum number of numbers per row of fields.
const MAX_NUMBERS: u64 = 1 << 16;
/// Names of columns that are quantities, in lower case.
const AXES: [&str; 3] = ["x", "y", "z"];
const SPEEDS: [&str; 3] = ["vx", "vy", "vz"];
const OTHERS: [&str; 2] = ["id", "type"];

/// One number of a row: the index of a column of the file, and the index of the number within a row of that column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CellIndex {
    pub column: usize,
    pub number: usize,
}

/// The numbers of a row, with the roles of those that are read. `Columns` refers to indices of `cells_read`.
pub(super) struct ChosenColumns {
    pub cells_read: Vec<CellIndex>,
    pub roles: Columns,
}

/// A number of a row, regarded as a column of a table.
struct Cell {
    index: CellIndex,
    name: String,
    /// The reason why it cannot be a coordinate.
    why: Option<String>,
}

/// Chooses among all columns of a file.
pub(super) fn choose(file: &File, all: &[Column], reading: &Reading<'_>) -> Result<ChosenColumns> {
    let chosen = &reading.options.columns[..];
    if !chosen.is_empty() {
        let wanted = chosen_columns(file, all, chosen)?;
        return of_chosen(all, &wanted, reading).map_err(|message| file.error(message));
    }
    let advice = if reading.reads_fields { FIELDS_ADVICE } else { CHOOSE };
    let unclear = |what: String| {
        let listed = listed(all);
        file.error(format!(
            "is an HDF5 file without the group Header of a snapshot, and {what}; {advice}; columns: {listed}"
        ))
    };
    let own = own_columns(all).map_err(unclear)?;
    if reading.reads_fields {
        return fields(all, &own).map_err(unclear);
    }
    let cells = points(all, &own, reading.options).map_err(unclear)?;
    if let Some(lone) = lone_array(all, &own) {
        return of_array(cells, lone, all, &own, reading.options).map_err(|message| file.error(message));
    }
    let why = |place: usize| cells.get(place).and_then(|cell| cell.why.clone());
    let names = cells.iter().map(|cell| cell.name.clone()).collect();
    let roles = Columns::with_coordinates(names, None, &why, reading.options);
    let mut roles = roles.map_err(|message| file.error(message))?;
    roles.left_out.extend(elsewhere(all, &own));
    Ok(ChosenColumns { cells_read: cells.iter().map(|cell| cell.index).collect(), roles })
}

/// Lists the first columns, for messages.
fn listed(all: &[Column]) -> String {
    let more = if all.len() > MAX_LISTED { " and others" } else { "" };
    let listed: Vec<String> = all.iter().take(MAX_LISTED).map(Column::describe).collect();
    if listed.is_empty() { "none".into() } else { listed.join(", ") + more }
}

/// Returns the columns, readable or not, of the only container that has columns of numbers.
fn own_columns(all: &[Column]) -> std::result::Result<Vec<usize>, String> {
    let read = all.iter().filter(|column| column.unread.is_none());
    let mut containers: Vec<&str> = read.map(|column| column.container.as_str()).collect();
    containers.sort_unstable();
    containers.dedup();
    match containers[..] {
        [container] => Ok((0..all.len()).filter(|&i| all[i].container == container).collect()),
        [] => Err("has no datasets of numbers".into()),
        _ => Err("has several groups of columns".into()),
    }
}

/// Returns the unreadable columns of other containers, and the reasons.
fn elsewhere<'a>(all: &'a [Column], own: &'a [usize]) -> impl Iterator<Item = (String, String)> + 'a {
    let others = (0..all.len()).filter(|i| !own.contains(i));
    others.filter_map(|i| Some((all[i].path.clone(), all[i].unread.as_ref()?.what.clone())))
}

/// Returns the unreadable columns of the container, and the reasons.
fn unread<'a>(all: &'a [Column], own: &'a [usize]) -> impl Iterator<Item = (String, String)> + 'a {
    own.iter().filter_map(|&i| Some((all[i].short.clone(), all[i].unread.as_ref()?.what.clone())))
}

/// Errors: an unreadable column that may hold numbers.
fn check_read(all: &[Column], own: &[usize]) -> std::result::Result<(), String> {
    let may_be_numbers = |i: &&usize| all[**i].unread.as_ref().is_some_and(|unread| unread.may_be_numbers);
    match own.iter().find(may_be_numbers) {
        Some(&i) => Err(format!("has an unreadable column, {}", all[i].describe())),
        None => Ok(()),
    }
}

/// Errors: columns of a pandas table whose names cannot be read, unless the table has only one number per row.
fn check_names(all: &[Column], own: &[usize]) -> std::result::Result<(), String> {
    let is_nameless = |i: &&usize| all[**i].is_nameless && all[**i].unread.is_none();
    let numbers: u64 = own.iter().map(|&i| all[i].numbers.count).fold(0, u64::saturating_add);
    match own.iter().find(is_nameless).filter(|_| numbers > 1) {
        Some(&i) => Err(format!(
            "has columns of a pandas table whose names are not stored as text, {}: write it with data_columns=True or format=\"fixed\"",
            all[i].describe()
        )),
        None => Ok(()),
    }
}

/// Errors: columns of different lengths.
fn check_rows(all: &[Column], own: impl Iterator<Item = usize>) -> std::result::Result<(), String> {
    let mut rows = own.map(|i| all[i].rows);
    let first = rows.next();
    if rows.all(|rows| Some(rows) == first) { Ok(()) } else { Err("has columns of different lengths".into()) }
}

/// Returns the cells of a table of points. Their names then determine the roles.
fn points(all: &[Column], own: &[usize], options: &ReadOptions) -> std::result::Result<Vec<Cell>, String> {
    let lower = |i: usize| all[i].short.to_lowercase();
    let is_number = |i: usize| all[i].unread.is_none() && all[i].numbers.count == 1;
    let is_named = |i: usize, names: &[&str]| names.contains(&lower(i).as_str());
    let has = |name: &str| own.iter().any(|&i| is_number(i) && lower(i) == name);
    let has_axes = has("x") && has("y");
    let is_wanted = |i: usize| {
        is_named(i, &AXES) || options.velocities && is_named(i, &SPEEDS) || options.masses && is_named(i, &["mass"])
    };
    let is_wrong = |i: usize| all[i].unread.is_some() || has_axes && !is_number(i);
    if let Some(&i) = own.iter().find(|&&i| is_wanted(i) && is_wrong(i)) {
        return Err(format!("has an unreadable column, {}", all[i].describe()));
    }
    check_names(all, own)?;
    let read: Vec<usize> = own.iter().copied().filter(|&i| all[i].unread.is_none()).collect();
    if has_axes {
        let is_known = |i: &usize| is_wanted(*i) || is_number(*i) && is_named(*i, &OTHERS);
        check_rows(all, read.iter().copied().filter(is_known))?;
    } else {
        check_read(all, own)?;
        check_rows(all, read.iter().copied())?;
        if read.len() > 1 && read.iter().any(|&i| !is_number(i)) {
            return Err("has arrays of points beside other columns".into());
        }
    }
    let mut cells = vec![];
    for &i in own {
        let name = all[i].short.clone();
        match &all[i].unread {
            Some(unread) => {
                cells.push(Cell { index: CellIndex { column: i, number: 0 }, name, why: Some(unread.what.clone()) })
            }
            None if has_axes && !is_number(i) => {
                let why = Some(format!("rows of {} numbers", all[i].numbers.count));
                cells.push(Cell { index: CellIndex { column: i, number: 0 }, name, why });
            }
            None => cells.extend(numbers_of(all, i, &all[i].short)?),
        }
    }
    Ok(cells)
}

/// Returns the only column of numbers, if it has several numbers per row.
fn lone_array(all: &[Column], own: &[usize]) -> Option<usize> {
    let mut read = own.iter().copied().filter(|&i| all[i].unread.is_none());
    read.next().filter(|&i| read.next().is_none() && all[i].numbers.count > 1)
}

/// Returns the choice for an array of points, whatever its name is.
fn of_array(
    cells: Vec<Cell>,
    array: usize,
    all: &[Column],
    own: &[usize],
    options: &ReadOptions,
) -> std::result::Result<ChosenColumns, String> {
    let cells: Vec<Cell> = cells.into_iter().filter(|cell| cell.index.column == array).collect();
    let names = cells.iter().map(|cell| cell.name.clone()).collect();
    let mut roles = Columns::with_coordinates(names, Some((0..cells.len()).collect()), &|_| None, options)?;
    roles.left_out = unread(all, own).chain(elsewhere(all, own)).collect();
    Ok(ChosenColumns { cells_read: cells.iter().map(|cell| cell.index).collect(), roles })
}

/// Returns a cell for each number of a column that is named `name`.
///
/// Errors: the column has more numbers per row than are supported.
fn numbers_of(all: &[Column], column: usize, name: &str) -> std::result::Result<Vec<Cell>, String> {
    let count = all[column].numbers.count;
    if count > MAX_NUMBERS {
        return Err(format!(
            "has rows of {count} numbers in {}; they must have at most {MAX_NUMBERS}",
            all[column].path
        ));
    }
    let cell = |number: usize| {
        let name = if count == 1 { name.to_string() } else { format!("{name}[{number}]") };
        Cell { index: CellIndex { column, number }, name, why: None }
    };
    Ok((0..count as usize).map(cell).collect())
}

/// Returns the cells of several columns, joined into one row.
fn row_of(all: &[Column], columns: &[usize]) -> std::result::Result<Vec<Cell>, String> {
    let count = columns.iter().fold(0u64, |count, &i| count.saturating_add(all[i].numbers.count));
    if count > MAX_NUMBERS {
        return Err(format!("has rows of {count} numbers; they must have at most {MAX_NUMBERS}"));
    }
    let mut cells = vec![];
    for &i in columns {
        // If columns of several groups have the same name, their paths distinguish them.
        let is_twice = columns.iter().filter(|&&other| all[other].short == all[i].short).count() > 1;
        cells.extend(numbers_of(all, i, if is_twice { &all[i].path } else { &all[i].short })?);
    }
    Ok(cells)
}

/// Returns the choice of all columns of numbers as fields.
fn fields(all: &[Column], own: &[usize]) -> std::result::Result<ChosenColumns, String> {
    check_read(all, own)?;
    check_names(all, own)?;
    let read: Vec<usize> = own.iter().copied().filter(|&i| all[i].unread.is_none()).collect();
    check_rows(all, read.iter().copied())?;
    let cells = row_of(all, &read)?;
    let names: Vec<String> = cells.iter().map(|cell| cell.name.clone()).collect();
    let mut roles = Columns::fields(names, cells.len(), &[])?;
    roles.left_out = unread(all, own).chain(elsewhere(all, own)).collect();
    Ok(ChosenColumns { cells_read: cells.iter().map(|cell| cell.index).collect(), roles })
}

/// Returns the columns that are chosen by path or by name.
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
        if let Some(unread) = &all[column].unread {
            return Err(file.error(format!("column {} cannot be read: {}", all[column].path, unread.what)));
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

/// Returns the choice of the given columns as coordinates or fields. If they are all in one container, its other
/// columns have the roles of their names.
fn of_chosen(all: &[Column], wanted: &[usize], reading: &Reading<'_>) -> std::result::Result<ChosenColumns, String> {
    let options = reading.options;
    let mut cells = row_of(all, wanted)?;
    let coordinates = cells.len();
    let mut left_out = vec![];
    let first = wanted.first().map(|&i| &all[i]);
    let container = first.filter(|first| wanted.iter().all(|&i| all[i].container == first.container));
    let beside = (0..all.len()).filter(|i| {
        let is_own = container.is_some_and(|first| all[*i].container == first.container);
        is_own && !wanted.contains(i) && !reading.reads_fields
    });
    for i in beside {
        let column = &all[i];
        let lower = column.short.to_lowercase();
        let is_wanted = options.velocities && SPEEDS.contains(&lower.as_str())
            || options.masses && lower == "mass"
            || options.ids && lower == "id"
            || lower == "type";
        let is_needed = lower != "id" && lower != "type";
        let is_as_long = container.is_some_and(|first| column.rows == first.rows);
        let cell = |why| Cell { index: CellIndex { column: i, number: 0 }, name: column.short.clone(), why };
        match &column.unread {
            _ if !is_wanted => {}
            Some(_) if is_needed => {
                return Err(format!("has an unreadable column, {}; {CHOOSE}", column.describe()));
            }
            Some(unread) => cells.push(cell(Some(unread.what.clone()))),
            None if column.numbers.count != 1 => {
                left_out.push((column.short.clone(), format!("rows of {} numbers", column.numbers.count)));
            }
            None if !is_as_long => left_out.push((column.short.clone(), format!("{} rows", column.rows))),
            None => cells.push(cell(None)),
        }
    }
    let names = cells.iter().map(|cell| cell.name.clone()).collect();
    let why = |place: usize| cells.get(place).and_then(|cell| cell.why.clone());
    let mut roles = match reading.reads_fields {
        true => Columns::fields(names, coordinates, &[])?,
        false => Columns::with_coordinates(names, Some((0..coordinates).collect()), &why, options)?,
    };
    roles.left_out.extend(left_out);
    Ok(ChosenColumns { cells_read: cells.iter().map(|cell| cell.index).collect(), roles })
}
