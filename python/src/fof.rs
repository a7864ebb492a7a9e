//! Friends of friends.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use ropewalk::geometry::BoxSize;
use ropewalk::{Fof, Halos};

use crate::arrays::{Rows, Vector};
use crate::calls::run;
use crate::indices::{narrow, offsets};

/// The group of each point (-1 for none), the offsets of groups, and their members with the type of [`narrow`].
pub type Groups<'py> = (Vector<'py, i32>, Vector<'py, i64>, Bound<'py, PyAny>);

/// The labels and members of groups, in the types of the Python interface.
pub struct Lists {
    labels: Vec<i32>,
    offsets: Vec<i64>,
    members: Vec<u32>,
}

impl Lists {
    pub fn new(halos: Halos) -> Self {
        let labels = halos.halo_of_points();
        let (offsets, members) = halos.into_members().into_parts();
        Self { labels, offsets: self::offsets(offsets), members }
    }

    pub fn into_arrays(self, py: Python<'_>) -> Groups<'_> {
        let n = self.labels.len();
        (self.labels.into_pyarray(py), self.offsets.into_pyarray(py), narrow(py, self.members, n))
    }
}

/// Returns the groups of points.
#[pyfunction]
#[pyo3(signature = (points, linking_length, min_members, box_size, n_jobs))]
pub fn friends_of_friends(
    py: Python<'_>,
    points: Rows,
    linking_length: f64,
    min_members: usize,
    box_size: Option<Vec<f64>>,
    n_jobs: Option<isize>,
) -> PyResult<Groups<'_>> {
    let options = Fof::new(linking_length).min_members(min_members).periodic(box_size.map(BoxSize::from));
    let lists = run(py, n_jobs, || Ok(Lists::new(ropewalk_table::fof(&points.0, &options)?)))?;
    Ok(lists.into_arrays(py))
}
