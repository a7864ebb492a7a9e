//! The columns of an HDF5 file without a snapshot header: 1-d and 2-d datasets, and the fields of compounds.
//!
//! In: a file. Out: columns by container (a group, or a dataset of compounds), datasets of single numbers, and the
//! attributes of all groups. Cost: object headers are read, but no data except the names in a pandas table.
//!
//! pandas: in the format "fixed", a dataset `block0_values` holds the columns that `block0_items` names, and axes are
//! not columns. In the format "table", the field `index` is not a column, and a field `values_block_0` holds columns
//! whose names are pickled.

use ropewalk::{Error, Result};

use crate::hdf5::attributes::Attributes;
use crate::hdf5::file::File;
use crate::hdf5::links::soft_links;
use crate::hdf5::number::Number;
use crate::hdf5::table::quantities::is_quantity;
use crate::hdf5::table::record::{Numbers, UnreadableColumn, fields};
use crate::hdf5::table::scalar::texts;

/// The maximum numbers of groups in a file, of nested groups, of datasets, and of columns. Files that exceed them are
/// rejected.
const MAX_GROUPS: usize = 1 << 12;
const DEEPEST: usize = 32;
const MAX_DATASETS: usize = 1 << 12;
const MAX_COLUMNS: usize = 1 << 16;

/// A column: a dataset, a field of a dataset of compounds, or a column of a pandas block.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The group that contains its dataset, and the name of the dataset.
    pub group: String,
    pub dataset: String,
    /// The name of the column for users: the path of the dataset, followed by the field of a compound.
    pub path: String,
    /// The last component of the path.
    pub short: String,
    /// The group, or the dataset of compounds, that contains the column.
    pub container: String,
    pub rows: u64,
    /// The location of its numbers in a row, and the bytes per element.
    pub numbers: Numbers,
    pub element: u64,
    /// The reason why it cannot be read.
    pub unread: Option<UnreadableColumn>,
    /// If `true`, it holds columns of a pandas table whose names cannot be read.
    pub is_nameless: bool,
}

impl Column {
    /// Returns a description for users, as `points (100 x 3 f64)`.
    pub(super) fn describe(&self) -> String {
        let (path, rows) = (&self.path, self.rows);
        let Numbers { number, count, .. } = self.numbers;
        match &self.unread {
            Some(unread) => format!("{path} ({})", unread.what),
            None if count == 1 => format!("{path} ({rows} {})", number.name()),
            None => format!("{path} ({rows} x {count} {})", number.name()),
        }
    }

    /// Returns the path of its dataset.
    pub(super) fn dataset_path(&self) -> String {
        join(&self.group, &self.dataset)
    }
}

/// A dataset of one number or text, or of a few numbers for a box or cosmology.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scalar {
    pub group: String,
    pub name: String,
}

impl Scalar {
    pub(super) fn path(&self) -> String {
        join(&self.group, &self.name)
    }
}

/// The contents of a file.
#[derive(Default)]
pub(super) struct Listing {
    /// Sorted by the path of the dataset, then in the order of the fields.
    pub columns: Vec<Column>,
    pub scalars: Vec<Scalar>,
    /// The attributes of all groups.
    pub groups: Vec<Attributes>,
}

/// Lists the contents of a file.
///
/// Errors: too many groups, datasets or columns; groups nested too deeply.
pub(super) fn listing(file: &File) -> Result<Listing> {
    let refuse = |what: String| Error::file(&file.path, format!("has {what}, and no header of a snapshot"));
    let mut found = Listing::default();
    let mut groups = vec![(String::new(), 0)];
    let (mut seen, mut datasets) = (0, 0);
    while let Some((group, depth)) = groups.pop() {
        // A group of a damaged file may contain itself, which this limit detects.
        seen += 1;
        if seen > MAX_GROUPS {
            return Err(refuse(format!("more than {MAX_GROUPS} groups")));
        }
        let members = members(file, &group)?;
        for name in members.groups {
            // PyTables stores the indexes of its tables in hidden groups.
            if name.starts_with("_i_") || name.starts_with("_p_") {
                continue;
            }
            if depth == DEEPEST {
                let group = join(&group, &name);
                return Err(refuse(format!("groups nested more than {DEEPEST} deep, as {}", group.escape_debug())));
            }
            groups.push((join(&group, &name), depth + 1));
        }
        let attributes = file.attributes(&group)?;
        let pandas = Pandas::new(&attributes);
        found.groups.push(attributes);
        for (name, what) in members.dead {
            found.columns.push(unread(&group, &name, UnreadableColumn::numbers(what)));
        }
        for name in members.datasets {
            datasets += 1;
            if datasets > MAX_DATASETS || found.columns.len() > MAX_COLUMNS {
                return Err(refuse(format!("more than {MAX_DATASETS} datasets or {MAX_COLUMNS} columns")));
            }
            let is_axis = pandas != Pandas::None && (name.starts_with("axis") || name.ends_with("_items"));
            match dataset(file, &group, &name, pandas) {
                _ if is_axis => {}
                Ok(None) => found.scalars.push(Scalar { group: group.clone(), name }),
                Ok(Some(own)) => found.columns.extend(own),
                Err(what) => found.columns.push(unread(&group, &name, UnreadableColumn::numbers(what))),
            }
        }
    }
    found.columns.sort_by_cached_key(Column::dataset_path);
    found.take_quantities();
    Ok(found)
}

impl Listing {
    /// Moves to the scalars each column of one to three rows that is named as a box, redshift or cosmology. Columns
    /// that have as many rows as another column of their container stay.
    fn take_quantities(&mut self) {
        let is_few = |column: &Column| {
            let is_one = column.numbers.count == 1 || column.unread.is_some();
            (1..=3).contains(&column.rows) && is_one && is_quantity(&column.short) && column.container == column.group
        };
        let is_column = |column: &Column, all: &[Column]| {
            let mut others = all.iter().filter(|other| other.container == column.container && !is_few(other));
            others.any(|other| other.rows == column.rows)
        };
        let all = std::mem::take(&mut self.columns);
        let are_scalars: Vec<bool> = all.iter().map(|column| is_few(column) && !is_column(column, &all)).collect();
        for (column, is_scalar) in all.into_iter().zip(are_scalars) {
            match is_scalar {
                true => self.scalars.push(Scalar { group: column.group, name: column.dataset }),
                false => self.columns.push(column),
            }
        }
    }
}

/// The pandas format of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pandas {
    None,
    Fixed,
    Table,
}

impl Pandas {
    fn new(attributes: &Attributes) -> Self {
        match attributes.text("pandas_type") {
            Ok(Some("frame")) => Self::Fixed,
            Ok(Some("frame_table")) => Self::Table,
            _ => Self::None,
        }
    }
}

struct GroupMembers {
    groups: Vec<String>,
    datasets: Vec<String>,
    /// Links whose target does not exist, with a description.
    dead: Vec<(String, String)>,
}

fn members(file: &File, group: &str) -> Result<GroupMembers> {
    let none = GroupMembers { groups: vec![], datasets: vec![], dead: vec![] };
    let Some(own) = file.group(group)? else { return Ok(none) };
    let broken = |error| file.error(format!("/{group} is damaged: {error}"));
    let (groups, datasets) = file.members(&format!("/{group}"), &own)?;
    let mut dead = soft_links(&file.hdf5, &own).map_err(broken)?;
    dead.retain(|(name, _)| !groups.contains(name) && !datasets.contains(name));
    Ok(GroupMembers { groups, datasets, dead })
}

fn join(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_string() } else { format!("{group}/{name}") }
}

fn unread(group: &str, name: &str, unread: UnreadableColumn) -> Column {
    Column {
        group: group.to_string(),
        dataset: name.to_string(),
        path: join(group, name),
        short: name.to_string(),
        container: group.to_string(),
        rows: 0,
        numbers: Numbers { at: 0, number: Number::BYTE, count: 0 },
        element: 1,
        unread: Some(unread),
        is_nameless: false,
    }
}

/// Returns the columns of a dataset; `None` if it is a scalar. The error is a phrase that describes an unsupported
/// dataset.
fn dataset(file: &File, group: &str, name: &str, pandas: Pandas) -> std::result::Result<Option<Vec<Column>>, String> {
    let found = file.dataset(group, name).map_err(|error| error.to_string())?.ok_or("is missing")?;
    let (rows, width) = match *found.shape() {
        [] => return Ok(None),
        [rows] => (rows, 1),
        [rows, width] => (rows, width),
        ref other => return Err(format!("{} dimensions", other.len())),
    };
    let message = found.raw_datatype().map_err(|error| format!("damaged: {error}"))?;
    let (element, fields) = fields(&message)?;
    let is_compound = fields.iter().any(|field| !field.name.is_empty());
    if is_compound && found.shape().len() != 1 {
        return Err("a table of records in two dimensions".into());
    }
    let fields = fields.into_iter().filter(|field| !(pandas == Pandas::Table && field.name == "index"));
    let mut columns: Vec<Column> = fields
        .map(|field| {
            let short = if is_compound { &field.name } else { name };
            let container = if is_compound { join(group, name) } else { group.to_string() };
            let mut column = Column {
                dataset: name.to_string(),
                path: join(&container, short),
                container,
                rows,
                element,
                is_nameless: pandas == Pandas::Table && short.starts_with("values_block_"),
                ..unread(group, short, UnreadableColumn::other("rows without numbers"))
            };
            match field.content.and_then(|numbers| repeated(numbers, width)) {
                Ok(numbers) if numbers.count == 0 => {}
                Ok(numbers) => (column.numbers, column.unread) = (numbers, None),
                Err(unread) => column.unread = Some(unread),
            }
            column
        })
        .collect();
    if let (Pandas::Fixed, [block], Some(items)) = (pandas, &columns[..], name.strip_suffix("_values")) {
        columns = named(file, block, &format!("{items}_items"));
    }
    Ok(Some(columns))
}

/// Returns the numbers of a row of `width` elements, each of which consists of `numbers` only.
fn repeated(numbers: Numbers, width: u64) -> std::result::Result<Numbers, UnreadableColumn> {
    let count = numbers.count.checked_mul(width);
    count
        .map(|count| Numbers { count, ..numbers })
        .ok_or_else(|| UnreadableColumn::numbers("rows of 2^64 numbers or more"))
}

/// Returns the columns of a pandas block, which are named in the dataset `items`.
fn named(file: &File, block: &Column, items: &str) -> Vec<Column> {
    if block.unread.is_some() {
        return vec![block.clone()];
    }
    let names = match file.dataset(&block.group, items) {
        Ok(Some(found)) => texts(&found).unwrap_or_default(),
        _ => vec![],
    };
    if names.len() as u64 != block.numbers.count {
        return vec![Column { is_nameless: true, ..block.clone() }];
    }
    let column = |(k, short): (usize, String)| Column {
        path: join(&block.group, &short),
        short,
        numbers: Numbers { at: block.numbers.spot(k).0, number: block.numbers.number, count: 1 },
        ..block.clone()
    };
    names.into_iter().enumerate().map(column).collect()
}
