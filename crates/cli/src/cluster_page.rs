//! The page of `ropewalk dbscan --plot clusters.html` and `ropewalk hdbscan --plot clusters.html`.

use std::path::Path;

use ropewalk::Labels;
use ropewalk::units::KnownUnits;
use ropewalk_io::{Points, Snapshot};
use ropewalk_report::{Catalogue, Cloud, CloudOptions, Figure, Groups, Report, Section};
use ropewalk_table::columns::{Column, Values};

use super::args;
use super::failure::Failure;
use super::outputs::Outputs;
use super::phases::Phases;
use super::summary::Summary;
use super::text::command_line;

/// The names of up to three coordinates of files without names.
const NAMES: [&str; 3] = ["x", "y", "z"];

/// Points with their clusters.
pub struct ClusterPage<'a> {
    pub args: &'a args::Points,
    pub snapshot: &'a Snapshot,
    pub labels: &'a Labels,
    /// The title lines of the picture.
    pub title: &'a [String; 2],
    pub figures: Vec<Figure>,
}

impl ClusterPage<'_> {
    /// Writes the page. `summary` has the lines of the report.
    pub fn write(
        self,
        outputs: &mut Outputs,
        path: &Path,
        summary: &Summary,
        phases: &mut Phases,
    ) -> Result<(), Failure> {
        let timing = phases.lines();
        phases.run("page", || {
            let axes = names(self.snapshot);
            let columns = columns(&self.snapshot.points, self.labels, &axes, self.args.periodic);
            let rows: Vec<u32> = (0..self.labels.n_clusters() as u32).collect();
            let groups = Groups { labels: self.labels.as_slice(), rows: &rows, parents: &[] };
            let options = CloudOptions { period: self.args.periodic, axes, ..CloudOptions::default() };
            let name = self.args.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut report = Report::new(format!("Clusters of {name}"));
            report.names = ["point", "cluster"].map(String::from);
            report.subtitle = self.title.join("; ");
            report.command = command_line();
            report.cloud = Some(Cloud::new(&self.snapshot.points, &groups, &options)?);
            report.catalogue = Some(Catalogue::new(&columns, KnownUnits::default())?);
            report.figures = self.figures;
            let (notes, lines): (Vec<_>, Vec<_>) = summary.lines.iter().cloned().partition(|(name, _)| name == "note");
            report.notes = notes.into_iter().map(|(_, note)| note).collect();
            report.sections.push(Section { title: "Points and clusters".into(), lines });
            report.sections.push(Section { title: "Time and memory before this page".into(), lines: timing });
            outputs.write(path, |out| report.write(out))
        })
    }
}

/// Returns the names of the coordinates.
fn names(snapshot: &Snapshot) -> Vec<String> {
    let dim = snapshot.points.dim();
    if snapshot.columns.len() == dim {
        return snapshot.columns.clone();
    }
    (0..dim).map(|k| if dim <= NAMES.len() { NAMES[k].into() } else { format!("x{k}") }).collect()
}

/// Returns the size of each cluster, the number of its core points, and the mean of each coordinate.
fn columns(points: &Points, labels: &Labels, names: &[String], period: Option<f64>) -> Vec<Column> {
    let (dim, clusters) = (points.dim(), labels.n_clusters());
    let mut core = vec![0u64; clusters];
    let mut firsts: Vec<Option<usize>> = vec![None; clusters];
    let mut sums = vec![0.0; clusters * dim];
    let value = |i: usize, k: usize| match points {
        Points::F32(table) => f64::from(table.as_slice()[i * dim + k]),
        Points::F64(table) => table.as_slice()[i * dim + k],
    };
    let sizes: Vec<u64> = labels.sizes().into_iter().map(|size| size as u64).collect();
    for i in 0..points.len() {
        let Some(cluster) = labels.get(i).map(|cluster| cluster as usize) else { continue };
        core[cluster] += u64::from(labels.is_core(i));
        // Offsets from the first member, so that a cluster may cross the boundary of a periodic box.
        let first = *firsts[cluster].get_or_insert(i);
        for k in 0..dim {
            let offset = value(i, k) - value(first, k);
            let image = period.map_or(0.0, |side| side * (offset / side).round());
            sums[cluster * dim + k] += (offset - image) / sizes[cluster] as f64;
        }
    }
    let mut columns = vec![
        Column::new("size", Values::Integers(sizes)).description("number of points"),
        Column::new("core", Values::Integers(core)).description("number of core points"),
    ];
    for (k, name) in names.iter().enumerate() {
        let mean = |(cluster, first): (usize, &Option<usize>)| {
            let mean = first.map_or(f64::NAN, |first| value(first, k)) + sums[cluster * dim + k];
            period.map_or(mean, |side| mean.rem_euclid(side))
        };
        let means = firsts.iter().enumerate().map(mean).collect();
        let about = format!("mean of the coordinate {name}");
        columns.push(Column::new(format!("mean_{name}"), Values::Numbers(means)).description(about));
    }
    columns
}

#[cfg(test)]
mod tests {
    use ropewalk_table::Table;

    use super::*;

    #[test]
    fn means_cross_the_boundary() {
        let points = Points::F64(Table::new(2, vec![9.5, 1.0, 5.0, 5.0, 0.5, 3.0, 1.5, 2.0]).unwrap());
        let labels = Labels::from_slice(&[0, -1, 0, 0]).unwrap();
        let found = columns(&points, &labels, &["a".into(), "b".into()], Some(10.0));
        assert_eq!(found.iter().map(Column::name).collect::<Vec<_>>(), ["size", "core", "mean_a", "mean_b"]);
        let Values::Numbers(mean) = found[2].values() else { panic!("{found:?}") };
        assert!((mean[0] - 0.5).abs() < 1e-12, "{mean:?}");
        assert_eq!(*found[0].values(), Values::Integers(vec![3]));
        assert_eq!(*found[3].values(), Values::Numbers(vec![2.0]));
    }
}
