//! The grid of `ropewalk interpolate --grid`: the centres of equal cells.

use ropewalk_io::{Points, Table};
use ropewalk_table::points::extent::Extent;

use super::failure::Failure;
use super::text::counted;

/// The centres of cells between two corners. The last axis varies fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    pub cells: Vec<usize>,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
}

impl Grid {
    /// Returns a grid over the periodic box, or over the smallest box around the points. A single number of `cells`
    /// applies to all axes.
    pub fn around(cells: &[usize], points: &Points, period: Option<f64>) -> Result<Self, Failure> {
        let dim = points.dim();
        let cells = match cells {
            [all] => vec![*all; dim],
            each if each.len() == dim => each.to_vec(),
            each => {
                let (numbers, example) = (counted(each.len() as u64, "number"), vec!["100"; dim].join("x"));
                let dimensions = counted(dim as u64, "dimension");
                return Err(format!("--grid has {numbers}, but points have {dimensions}; use --grid {example}").into());
            }
        };
        let (lo, hi) = match period {
            Some(side) => (vec![0.0; dim], vec![side; dim]),
            None => Extent::new(points, f64::INFINITY).axes.into_iter().unzip(),
        };
        let flat = lo.iter().zip(&hi).position(|(lo, hi): (&f64, &f64)| !(hi - lo > 0.0 && (hi - lo).is_finite()));
        if let Some(axis) = flat {
            let (axis, at) = (axis + 1, lo[axis]);
            return Err(format!(
                "--grid: all points have the value {at} of coordinate {axis}, so that cells have no width"
            )
            .into());
        }
        Ok(Self { cells, lo, hi })
    }

    /// Returns the centres of all cells.
    pub fn points(&self) -> Result<Points, Failure> {
        let dim = self.cells.len();
        let n = self.cells.iter().try_fold(dim, |n, &cells| n.checked_mul(cells));
        let mut values = vec![];
        let shown = || self.cells.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let n = n.filter(|&n| values.try_reserve_exact(n).is_ok());
        let n = n.ok_or_else(|| format!("--grid: cannot allocate a grid of {} points", shown()))? / dim.max(1);
        for cell in 0..n {
            let mut rest = cell;
            let start = values.len();
            values.resize(start + dim, 0.0);
            for axis in (0..dim).rev() {
                let (cells, lo, hi) = (self.cells[axis], self.lo[axis], self.hi[axis]);
                values[start + axis] = lo + (hi - lo) * ((rest % cells) as f64 + 0.5) / cells as f64;
                rest /= cells;
            }
        }
        Ok(Points::F64(Table::new(dim, values)?))
    }
}

/// Parses the cells of a grid, as 200, 200x100 or 50x50x50.
pub fn parse(text: &str) -> Result<GridCells, String> {
    let each: Option<Vec<usize>> =
        text.split(['x', 'X', '×']).map(|part| part.trim().parse().ok().filter(|&cells| cells > 0)).collect();
    each.map(GridCells).ok_or_else(|| "must be numbers of cells per axis, as 200x200".into())
}

/// The numbers of cells along the axes.
#[derive(Clone, Debug, PartialEq)]
pub struct GridCells(pub Vec<usize>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centres_of_cells() {
        let points = Points::F64(Table::new(2, vec![1.0, 0.0, 3.0, 6.0]).unwrap());
        let grid = Grid::around(&[2, 3], &points, None).unwrap();
        let Points::F64(centres) = grid.points().unwrap() else { panic!("64 bits") };
        assert_eq!(centres.as_slice(), [1.5, 1.0, 1.5, 3.0, 1.5, 5.0, 2.5, 1.0, 2.5, 3.0, 2.5, 5.0]);
        let boxed = Grid::around(&[2], &points, Some(8.0)).unwrap();
        assert_eq!((boxed.cells, boxed.lo, boxed.hi), (vec![2, 2], vec![0.0; 2], vec![8.0; 2]));
        let error = |cells: &[usize], points: &Points| Grid::around(cells, points, None).unwrap_err().to_string();
        assert!(error(&[1, 2, 3], &points).contains("--grid 100x100"));
        assert!(error(&[1], &Points::F64(Table::new(1, vec![2.0]).unwrap())).contains("no width"));
        let endless = Grid { cells: vec![usize::MAX, 2], lo: vec![0.0; 2], hi: vec![1.0; 2] };
        assert!(endless.points().unwrap_err().to_string().contains("cannot allocate"));
    }

    #[test]
    fn cells_in_text() {
        assert_eq!(parse("200x100"), Ok(GridCells(vec![200, 100])));
        assert_eq!(parse("50"), Ok(GridCells(vec![50])));
        for text in ["", "0x2", "2x", "-1", "axb"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
