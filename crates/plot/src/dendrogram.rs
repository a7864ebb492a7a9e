//! A halo and its subhalos as a tree: each structure is a line from the saddle at which it joins its parent up to its
//! peak.

use ropewalk::halo::Subhalo;
use ropewalk::internals::format::grouped;
use ropewalk::{Error, Result};
use ropewalk_table::Catalog;

use crate::axis::{Axis, BOTTOM, FAINT, INK, LEFT, LETTERS, MIDDLE, RIGHT, TOP, empty_note, frame, page};
use crate::canvas::Align;
use crate::chart::Chart;
use crate::colors::category_color;
use crate::font::width as width_of;
use crate::style::Style;

/// The margin on both sides of the lines.
const MARGIN: f64 = 24.0;
/// The maximum width of the root's line, and the minimum width of lines.
const WIDEST: f64 = 11.0;
const THINNEST: f64 = 1.0;
/// The space above the densest peak, for its label, and below the root.
const ABOVE: f64 = 38.0;
const BELOW: f64 = 8.0;
/// The space between labels.
const GAP: f64 = 6.0;
/// The number of the most massive structures that may have labels.
const CANDIDATES: usize = 400;
/// The level from which on all levels have the same colour.
const LEVELS: u32 = 6;

/// Draws the tree of a row of a catalogue with subhalos ([`Catalog::add_subhalos`]).
///
/// The height is the density, on a logarithmic axis. Each structure is a line from its saddle up to its peak, joined
/// to the line of its parent at the saddle. The width of a line is the cube root of the mass, its colour the level.
/// Peaks have labels; if these do not all fit, the most massive structures have precedence. `title` is the heading
/// line.
///
/// ```
/// use ropewalk_plot::{PictureFormat, dendrogram};
/// use ropewalk::halo::Particles;
/// use ropewalk::AdaptaHop;
/// use ropewalk_table::Catalog;
///
/// // Two clumps in one halo: points get denser towards either of two middles.
/// let clump = |i: i32, x: f64| {
///     let place = |k: i32| 0.1 * f64::from((k - 5) * (k - 5).abs()) + 0.01 * f64::from(i % 7);
///     let [a, b, c] = [i / 100, i / 10 % 10, i % 10].map(place);
///     [a + x, b, c]
/// };
/// let positions: Vec<[f64; 3]> = (0..1000).map(|i| clump(i, 0.0)).chain((0..1000).map(|i| clump(i, 4.0))).collect();
/// let found = AdaptaHop::new().density_threshold(0.5).run(&positions)?;
/// let mut catalog = Catalog::new(&found.nested(), &Particles::new(&positions))?;
/// catalog.add_subhalos(&found)?;
/// let svg = dendrogram(&catalog, 0, "one halo", PictureFormat::Svg)?;
/// assert!(String::from_utf8_lossy(&svg).contains("level 2"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails if the catalogue has halos but no information on subhalos, if `row` is out of bounds, or if encoding fails.
pub fn dendrogram(catalog: &Catalog, row: usize, title: &str, style: impl Into<Style>) -> Result<Vec<u8>> {
    chart(catalog, row, title)?.encoded(style)
}

fn chart(catalog: &Catalog, row: usize, title: &str) -> Result<Chart> {
    let mut chart = page("Halo and subhalos by density", title);
    let mut name = "density / mean".to_string();
    if catalog.halos().is_empty() {
        empty_note(&mut chart, "no halos");
    } else {
        let tree = Tree::new(catalog.subhalos(), row)?;
        let axis = tree.axis();
        name = axis.grid(&mut chart, &name);
        tree.draw(&mut chart, catalog, &axis);
        tree.legend(&mut chart);
    }
    frame(&mut chart, "line width: cube root of the mass; numbers: rows of the catalogue".into(), &name);
    Ok(chart)
}

/// A structure of the tree, and its horizontal position.
struct Branch {
    /// The index of the parent in the list of branches.
    parent: Option<usize>,
    row: usize,
    x: f64,
}

/// A row of the catalogue and all structures in it, parents first.
struct Tree<'a> {
    rows: &'a [Subhalo],
    /// The distance between lines.
    step: f64,
    branches: Vec<Branch>,
}

impl<'a> Tree<'a> {
    fn new(rows: &'a [Subhalo], root: usize) -> Result<Self> {
        if rows.is_empty() {
            let message = "the catalogue has no subhalos; call Catalog::add_subhalos first";
            return Err(Error::missing("subhalos", message));
        }
        if root >= rows.len() {
            let must = "less than the number of halos and subhalos";
            return Err(Error::parameter_must("row", root as f64, must));
        }
        // Sorted by descending saddle density, because the child with the densest saddle is next to its parent.
        let mut children: Vec<(u32, usize)> =
            rows.iter().enumerate().filter_map(|(row, subhalo)| Some((subhalo.parent?, row))).collect();
        children.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then(rows[b.1].saddle.total_cmp(&rows[a.1].saddle)).then(a.1.cmp(&b.1))
        });
        let mut branches = vec![Branch { parent: None, row: root, x: 0.0 }];
        let mut at = 0;
        while let Some(branch) = branches.get(at) {
            let row = branch.row as u32;
            let first = children.partition_point(|&(parent, _)| parent < row);
            let own = children[first..].iter().take_while(|&&(parent, _)| parent == row);
            branches.extend(own.map(|&(_, row)| Branch { parent: Some(at), row, x: 0.0 }));
            at += 1;
        }
        let mut tree = Self { rows, step: (RIGHT - LEFT - 2.0 * MARGIN) / branches.len() as f64, branches };
        tree.place();
        Ok(tree)
    }

    /// Assigns a column to each branch. Children are on both sides of their parent, nearer to it if they join higher,
    /// so that no lines cross.
    fn place(&mut self) {
        let n = self.branches.len();
        let mut widths = vec![1usize; n];
        for at in (1..n).rev() {
            if let Some(parent) = self.branches[at].parent {
                widths[parent] += widths[at];
            }
        }
        // For each branch, the numbers of columns on the left and right that are assigned to its children so far.
        let mut sides = vec![[0, 0]; n];
        let mut offsets = vec![(0, 0usize); n];
        for at in 1..n {
            let Some(parent) = self.branches[at].parent else { continue };
            let side = usize::from(sides[parent][1] <= sides[parent][0]);
            offsets[at] = (side, sides[parent][side]);
            sides[parent][side] += widths[at];
        }
        let mut columns = vec![0usize; n];
        for at in 0..n {
            let first = match self.branches[at].parent {
                None => 0,
                Some(parent) => match offsets[at] {
                    (0, before) => columns[parent] - before - widths[at],
                    (_, before) => columns[parent] + 1 + before,
                },
            };
            columns[at] = first + sides[at][0];
            self.branches[at].x = LEFT + MARGIN + (columns[at] as f64 + 0.5) * self.step;
        }
    }

    /// Returns the axis, which points up from the root's saddle to the densest peak, with a margin.
    fn axis(&self) -> Axis {
        let of = |branch: &Branch| {
            let row = self.rows[branch.row];
            [row.saddle, row.peak_density]
        };
        let densities: Vec<f64> = self.branches.iter().flat_map(of).collect();
        let finite = densities.iter().copied().filter(|&x| x > 0.0 && x < f64::INFINITY);
        let (least, most) = finite.fold((f64::INFINITY, 0.0), |(lo, hi), x| (x.min(lo), x.max(hi)));
        let (least, most) = if least < most { (least, most) } else { (1.0, 10.0) };
        let infinite = densities.contains(&f64::INFINITY);
        Axis::new([least, most], true, infinite, [BOTTOM - BELOW, TOP + ABOVE])
    }

    fn draw(&self, chart: &mut Chart, catalog: &Catalog, axis: &Axis) {
        let (rows, halos) = (self.rows, catalog.halos());
        let whole = halos[self.branches[0].row].mass;
        let widest = WIDEST.min(0.8 * self.step);
        let width = |branch: &Branch| {
            let part = if whole > 0.0 { halos[branch.row].mass / whole } else { 1.0 };
            (widest * part.cbrt()).max(THINNEST)
        };
        for branch in &self.branches {
            if let Some(parent) = branch.parent {
                let y = axis.at(rows[branch.row].saddle);
                chart.line(vec![[self.branches[parent].x, y], [branch.x, y]], 1.5, FAINT);
            }
        }
        for branch in &self.branches {
            let row = rows[branch.row];
            let (foot, tip) = (axis.at(row.saddle), axis.at(row.peak_density));
            chart.line(vec![[branch.x, foot], [branch.x, tip]], width(branch), category_color(color_of(row.level)));
        }
        let mut heaviest: Vec<&Branch> = self.branches.iter().collect();
        heaviest.sort_by(|a, b| halos[b.row].mass.total_cmp(&halos[a.row].mass).then(a.row.cmp(&b.row)));
        let mut taken: Vec<[f64; 3]> = vec![];
        for branch in heaviest.into_iter().take(CANDIDATES) {
            let label = branch.row.to_string();
            let half = 0.5 * (width_of(&label, LETTERS) + GAP);
            let y = axis.at(rows[branch.row].peak_density) - 8.0;
            let meets =
                |&[x, line, other]: &[f64; 3]| (x - branch.x).abs() < half + other && (line - y).abs() < LETTERS;
            // A label must not overlap another label or a line.
            let crosses = |other: &Branch| {
                let row = rows[other.row];
                (other.x - branch.x).abs() < half && axis.at(row.peak_density) < y && axis.at(row.saddle) > y - LETTERS
            };
            if !taken.iter().any(meets) && !self.branches.iter().any(crosses) {
                chart.text(label, [branch.x, y], LETTERS, Align::Center, INK);
                taken.push([branch.x, y, half]);
            }
        }
    }

    /// Draws the colours of the levels, below the plot.
    fn legend(&self, chart: &mut Chart) {
        let levels = self.branches.iter().map(|branch| self.rows[branch.row].level);
        let mut counts = std::collections::BTreeMap::<usize, (u32, usize)>::new();
        for own in levels {
            counts.entry(color_of(own)).or_insert((own, 0)).1 += 1;
        }
        let names: Vec<(usize, String)> = counts
            .into_iter()
            .map(|(color, (level, count))| {
                let more = if level >= LEVELS { " and more" } else { "" };
                let what = if level == 1 { "halo" } else { "subhalo" };
                let ending = if count == 1 { "" } else { "s" };
                (color, format!("level {level}{more}: {} {what}{ending}", grouped(count as u64)))
            })
            .collect();
        let letters = |name: &str| 30.0 + width_of(name, LETTERS);
        let mut x = MIDDLE - 0.5 * names.iter().map(|(_, name)| letters(name) + 20.0).sum::<f64>();
        let y = BOTTOM + 30.0;
        for (color, name) in names {
            chart.line(vec![[x, y - 5.0], [x + 22.0, y - 5.0]], 5.0, category_color(color));
            let width = letters(&name);
            chart.text(name, [x + 30.0, y], LETTERS, Align::Left, INK);
            x += width + 20.0;
        }
    }
}

/// Returns the index of a level's colour.
fn color_of(level: u32) -> usize {
    level.clamp(1, LEVELS) as usize - 1
}

#[cfg(test)]
mod tests {
    use ropewalk::cluster::KernelDensity;
    use ropewalk::halo::{AdaptaHop, Particles};

    use super::*;

    fn row(parent: Option<u32>, level: u32, saddle: f64, peak_density: f64) -> Subhalo {
        let mut row = Subhalo::default();
        (row.parent, row.level, row.peak_density, row.saddle) = (parent, level, peak_density, saddle);
        row
    }

    /// Trees of many shapes: each structure has its own column, and no line crosses another.
    #[test]
    fn lines_do_not_cross() {
        for seed in 1..40u32 {
            let mut state = seed;
            let mut next = |below: u32| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) % below
            };
            let mut rows = vec![row(None, 1, 1.0, 1e4)];
            for at in 1..3 * seed {
                let parent = next(at);
                let of = rows[parent as usize];
                // Sometimes as high as the saddle of its parent or a sibling.
                let saddle = of.saddle * (1.0 + 0.1 * f64::from(next(9)));
                rows.push(row(Some(parent), of.level + 1, saddle, saddle * (1.5 + f64::from(next(50)))));
            }
            let tree = Tree::new(&rows, 0).unwrap();
            assert_eq!(tree.branches.len(), rows.len());
            let mut columns: Vec<f64> = tree.branches.iter().map(|branch| branch.x).collect();
            columns.sort_by(f64::total_cmp);
            assert!(columns.windows(2).all(|pair| (pair[1] - pair[0] - tree.step).abs() < 1e-9));
            assert!(columns[0] > LEFT && columns[columns.len() - 1] < RIGHT);
            for branch in &tree.branches {
                let Some(parent) = branch.parent else { continue };
                let (parent, saddle) = (&tree.branches[parent], rows[branch.row].saddle);
                let between = |x: f64| (x - branch.x) * (x - parent.x) < 0.0;
                for other in tree.branches.iter().filter(|other| between(other.x)) {
                    assert!(rows[other.row].saddle >= saddle, "seed {seed}");
                }
            }
            let part = Tree::new(&rows, rows.len() - 1).unwrap();
            assert_eq!(part.branches.len(), 1);
        }
    }

    #[test]
    fn anything_can_be_drawn() {
        let clumps = |width: f64| -> Vec<[f64; 3]> {
            let place = |i: u32| {
                let (r, turn) = (width * f64::from(i % 300).sqrt(), 2.4 * f64::from(i));
                [r * turn.cos() + f64::from(i / 300), r * turn.sin(), 0.3 * r * (1.7 * turn).cos()]
            };
            (0..900).map(place).collect()
        };
        for (points, radius) in [(vec![], 0.05), (clumps(0.05), 0.0), (clumps(0.0), 0.0), (clumps(0.01), 0.0)] {
            let density = KernelDensity::new().n_density(20).volume(64.0);
            let finder = AdaptaHop::new().density(density).fudge_epsilon(radius).density_threshold(1.0);
            let found = finder.run(&points).unwrap();
            let mut catalog = Catalog::new(&found.nested(), &Particles::new(&points)).unwrap();
            catalog.add_subhalos(&found).unwrap();
            assert_eq!(found.is_empty(), points.is_empty());
            for at in 0..found.len().max(1) {
                let chart = chart(&catalog, at, "<&>").unwrap();
                let svg = chart.svg().unwrap();
                assert!(svg.contains("&lt;&amp;&gt;") && !svg.contains("NaN") && !svg.contains("inf "), "{svg}");
                assert_eq!(svg.contains("no halos"), points.is_empty());
                assert_eq!(svg.contains(">infinite<"), found.rows().iter().any(|row| row.peak_density.is_infinite()));
                assert!(chart.png(96.0).unwrap().starts_with(b"\x89PNG"));
            }
            if !points.is_empty() {
                let error = chart(&catalog, found.len(), "").unwrap_err().to_string();
                assert!(error.contains("row is") && error.contains("less than the number"), "{error}");
            }
        }
        let points = [[0.0; 3]; 3];
        let plain = Catalog::new(&ropewalk::Fof::new(1.0).run(&points).unwrap(), &Particles::new(&points)).unwrap();
        let error = chart(&plain, 0, "").unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ropewalk::ErrorKind::Missing, Some("subhalos")));
    }
}
