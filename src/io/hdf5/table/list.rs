//! The columns of an HDF5 file without a header: 1-d and 2-d datasets, and the fields of compounds.
//!
//! In: a file. Out: columns by container: a group, or a dataset of compounds. Cost: object headers are read, data are not.
//!
//! pandas: of a frame in the format "fixed" the names of `block0_items` are those of the columns, and axes are no columns; of one in
//! the format "table" the field `index` is no column.

use crate::io::hdf5::file::File;
use crate::io::hdf5::links::soft_links;
use crate::io::hdf5::table::record::{Content, Spot, fields};
use crate::io::{Error, Result};

/// Groups that are looked into.
const MOST_GROUPS: usize = 1 << 12;
/// Groups within each other, and objects in all, that are looked at.
const DEEPEST: usize = 8;
const MOST_OBJECTS: usize = 4096;

/// A column: a dataset or a field of one.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The group and the name of its dataset.
    pub group: String,
    pub dataset: String,
    /// What users call it: the path, with the field of a compound behind it.
    pub path: String,
    /// The last part of the path.
    pub short: String,
    /// The group, or the dataset of compounds, that it is a column of.
    pub container: String,
    pub rows: u64,
    /// The numbers of a row, and the bytes of an element.
    pub spots: Vec<Spot>,
    pub element: u64,
    /// A phrase if it is not read, and whether it is text.
    pub unread: Option<(String, bool)>,
    /// The names of the numbers of a row, if the file has them.
    pub names: Vec<String>,
}

impl Column {
    /// A description for people, as `points (100 x 3 f64)`.
    pub(super) fn describe(&self) -> String {
        let path = &self.path;
        match (&self.unread, &self.spots[..]) {
            (Some((what, _)), _) => format!("{path} ({what})"),
            (None, [(_, number)]) => format!("{path} ({} {})", self.rows, number.name()),
            (None, spots) => {
                let number = spots.first().map_or(String::new(), |(_, number)| number.name());
                format!("{path} ({} x {} {number})", self.rows, spots.len())
            }
        }
    }
}

/// All columns of a file, in the order of their paths.
pub(super) fn columns(file: &File) -> Result<Vec<Column>> {
    let mut all = vec![];
    let mut groups = vec![(String::new(), 0)];
    let mut seen = 0;
    while let Some((group, depth)) = groups.pop() {
        // A group of a damaged file may be in itself.
        seen += 1;
        if seen > MOST_GROUPS {
            return Err(Error::file(
                &file.path,
                format!("has more than {MOST_GROUPS} groups, and no header of a snapshot"),
            ));
        }
        let found = found_in(file, &group)?;
        for name in found.groups.into_iter().filter(|_| depth < DEEPEST && all.len() < MOST_OBJECTS) {
            // PyTables keeps the indexes of its tables in hidden groups.
            if name.starts_with("_i_") || name.starts_with("_p_") {
                continue;
            }
            groups.push((join(&group, &name), depth + 1));
        }
        let is_frame = matches!(file.attributes(&group)?.text("pandas_type"), Ok(Some("frame" | "frame_table")));
        for (name, what) in found.dead {
            all.push(unread(&group, &name, what, false));
        }
        for name in found.datasets {
            if all.len() >= MOST_OBJECTS {
                break;
            }
            let is_axis = is_frame && (name.starts_with("axis") || name.ends_with("_items"));
            match dataset(file, &group, &name, is_frame) {
                _ if is_axis => {}
                Ok(own) => all.extend(own),
                Err(what) => all.push(unread(&group, &name, what, false)),
            }
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path).then(a.group.cmp(&b.group)));
    Ok(all)
}

struct FoundIn {
    groups: Vec<String>,
    datasets: Vec<String>,
    /// Links that lead nowhere, with a phrase.
    dead: Vec<(String, String)>,
}

fn found_in(file: &File, group: &str) -> Result<FoundIn> {
    let none = FoundIn { groups: vec![], datasets: vec![], dead: vec![] };
    let Some(own) = file.group(group)? else { return Ok(none) };
    let broken = |error| file.error(format!("/{group} is damaged: {error}"));
    let (groups, datasets) = file.members(&format!("/{group}"), &own)?;
    let mut dead = soft_links(&file.hdf5, &own).map_err(broken)?;
    dead.retain(|(name, _)| !groups.contains(name) && !datasets.contains(name));
    Ok(FoundIn { groups, datasets, dead })
}

fn join(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_string() } else { format!("{group}/{name}") }
}

fn unread(group: &str, name: &str, what: String, is_text: bool) -> Column {
    Column {
        group: group.to_string(),
        dataset: name.to_string(),
        path: join(group, name),
        short: name.to_string(),
        container: group.to_string(),
        rows: 0,
        spots: vec![],
        element: 1,
        unread: Some((what, is_text)),
        names: vec![],
    }
}

/// The columns of a dataset, or a phrase why it has none.
fn dataset(file: &File, group: &str, name: &str, is_frame: bool) -> std::result::Result<Vec<Column>, String> {
    let found = file.dataset(group, name).map_err(|error| error.to_string())?.ok_or("is missing")?;
    let (rows, width) = match *found.shape() {
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
    let mut columns = vec![];
    for field in fields.into_iter().filter(|field| !(is_frame && field.name == "index")) {
        let (path, container) = match is_compound {
            true => (join(&join(group, name), &field.name), join(group, name)),
            false => (join(group, name), group.to_string()),
        };
        let short = if is_compound { field.name } else { name.to_string() };
        let (own, unread) = match field.content {
            Content::Numbers(spots) => (spots, None),
            Content::Text => (vec![], Some(("text".to_string(), true))),
            Content::Other(what) => (vec![], Some((what, false))),
        };
        let repeated =
            (0..width).flat_map(|k| own.iter().map(move |(at, number)| (at + (k * element) as usize, *number)));
        columns.push(Column {
            group: group.to_string(),
            dataset: name.to_string(),
            path,
            short,
            container,
            rows,
            // More numbers than points have coordinates are no points.
            spots: repeated.take(1 << 16).collect(),
            element,
            unread,
            names: if is_frame { items(file, group, name) } else { vec![] },
        });
    }
    Ok(columns)
}

/// The names of the columns of a block of pandas.
fn items(file: &File, group: &str, name: &str) -> Vec<String> {
    let Some(block) = name.strip_suffix("_values") else { return vec![] };
    let Ok(Some(items)) = file.dataset(group, &format!("{block}_items")) else { return vec![] };
    items.read_strings().unwrap_or_default()
}
