//! The contents of a report.

use crate::catalogue::Catalogue;
use crate::cloud::Cloud;
use crate::figure::Figure;

/// Lines of text with names: settings, units, times.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// Names and values.
    pub lines: Vec<(String, String)>,
}

/// A report: a title, and any of its parts.
///
/// ```
/// use ropewalk_report::{Catalogue, Cloud, CloudOptions, Groups, Report, Section};
/// use ropewalk::units::KnownUnits;
/// use ropewalk_table::columns::{Column, Values};
/// use ropewalk_table::{Points, Table};
///
/// let points = Points::F32(Table::new(2, vec![0.0, 0.0, 0.5, 0.25, 1.0, 1.0])?);
/// let groups = Groups { labels: &[0, -1, 0], rows: &[0], parents: &[] };
/// let columns = [Column::new("size", Values::Integers(vec![2]))];
/// let mut report = Report::new("Clusters of points.csv");
/// report.names = ["point", "cluster"].map(String::from);
/// report.cloud = Some(Cloud::new(&points, &groups, &CloudOptions::default())?);
/// report.catalogue = Some(Catalogue::new(&columns, KnownUnits::default())?);
/// report.sections.push(Section { title: "Settings".into(), lines: vec![("eps".into(), "0.5".into())] });
/// let mut page = vec![];
/// report.write(&mut page)?;
/// assert!(page.starts_with(b"<!doctype html>"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Report<'a> {
    /// The title of the page.
    pub title: String,
    /// A line below the title.
    pub subtitle: String,
    /// The command that made the report; empty if no command did.
    pub command: String,
    /// The names of a point and of a group, in the singular. Default: particle and halo.
    pub names: [String; 2],
    /// The points. `None`: the page has no view.
    pub cloud: Option<Cloud>,
    /// The table, with a row per group of the points. `None`: the page has no table.
    pub catalogue: Option<Catalogue<'a>>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// Settings, units and times.
    pub sections: Vec<Section>,
    /// Notes on the data and the run.
    pub notes: Vec<String>,
}

impl Report<'_> {
    /// Creates a report without parts.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), names: ["particle", "halo"].map(String::from), ..Self::default() }
    }
}
