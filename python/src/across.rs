//! Friends of friends and DBSCAN across ranks.
//!
//! If one rank rejects its arguments, all ranks return an error. This holds for arguments that its Python side
//! rejects ([`refuse_across`]), and for arguments that are checked here.

use std::sync::Arc;

use numpy::IntoPyArray;
use pyo3::prelude::*;
use ropewalk::distributed::{Communicator, Term, agree, agree_on};
use ropewalk::geometry::BoxSize;
use ropewalk::{Dbscan, Error, ErrorKind, Fof, Result, memory};
use ropewalk_table::Points;
use ropewalk_table::check_sides_across;

use crate::arrays::{Rows, Vector};
use crate::calls::run_in;
use crate::errors::exception;
use crate::indices::offsets;
use crate::pools;
use crate::ranks::{FirstException, Limits, Ranks};

/// A communicator, and limits on messages that tests set; a pair in Python.
#[derive(FromPyObject)]
pub struct Comm {
    #[pyo3(item(0))]
    comm: Py<PyAny>,
    #[pyo3(item(1))]
    limits: Option<Limits>,
}

/// The numbers of the functions, which ranks compare.
const FOF: u64 = 1;
const DBSCAN: u64 = 2;

/// The arguments that must be equal on all ranks, with their Python names.
struct Call<'a> {
    function: u64,
    options: [(&'static str, Term); 2],
    box_size: Option<&'a [f64]>,
    /// A digest of the column names of the points.
    names: u64,
}

impl Call<'_> {
    /// Returns an error on all ranks if their arguments differ, or if the points of all ranks span more than the box.
    /// Collective.
    fn agree(&self, ranks: &dyn Communicator, points: &Points) -> Result<()> {
        let bits = if matches!(points, Points::F32(_)) { 32 } else { 64 };
        let mut terms = vec![
            ("coordinates per point", Term::Whole(points.dim() as u64)),
            ("bits per coordinate (float32 or float64)", Term::Whole(bits)),
            ("the digest of feature names (0 for none)", Term::Whole(self.names)),
        ];
        terms.extend(self.options);
        // The number of terms must be the same on all ranks, hence the padding.
        let sides = self.box_size.unwrap_or_default().iter().copied().chain(std::iter::repeat(0.0));
        terms.extend(sides.take(MOST_SIDES).map(|side| ("box_size (0 for none)", Term::Real(side))));
        agree_on(ranks, self.function, &terms)?;
        // Checks the points of all ranks together, since the points of each rank may fit a box that all points do not
        // fit.
        self.box_size.map_or(Ok(()), |sides| check_sides_across(ranks, points, sides))
    }
}

/// The maximum number of coordinates of a point.
const MOST_SIDES: usize = 10;

/// Runs `work` with the points on `n_jobs` threads, if all ranks have valid points, have started their threads and
/// make the same call. Collective.
fn run<T: Send>(
    py: Python<'_>,
    comm: Comm,
    call: &Call,
    points: &Bound<'_, PyAny>,
    n_jobs: Option<isize>,
    work: impl FnOnce(&dyn Communicator, Rows) -> Result<T> + Send,
) -> PyResult<T> {
    let ready = points.extract::<Rows>().and_then(|points| {
        let reserve = memory::hold().map_err(exception)?;
        Ok((points, reserve, pools::take(py, n_jobs)?))
    });
    let (points, _reserve, pool) = match ready {
        Ok(ready) => ready,
        Err(error) => {
            refuse_across(py, comm, error.value(py).to_string())?;
            return Err(error);
        }
    };
    let raised = Arc::new(FirstException::default());
    let result = run_in(py, pool, || {
        let ranks = Ranks::new(&comm.comm, comm.limits.unwrap_or_default(), &raised)?;
        let agreed = agree(&ranks, Ok(())).and_then(|()| call.agree(&ranks, &points.0));
        let result = agreed.and_then(|()| work(&ranks, points));
        end(ranks, result)
    });
    raised.ends(py).map_or(result, Err)
}

/// Frees the copy of the communicator, unless an error of kind `Rank` shows that not all ranks reach this point.
fn end<T>(ranks: Ranks, result: Result<T>) -> Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::Rank => Err(error),
        result => ranks.free().and(result),
    }
}

/// Tells all ranks that this rank rejects its arguments, with a message. Collective with the other functions of this
/// module.
#[pyfunction]
#[pyo3(signature = (comm, sentence))]
pub fn refuse_across(py: Python<'_>, comm: Comm, sentence: String) -> PyResult<()> {
    let raised = Arc::new(FirstException::default());
    let outcome = py.detach(|| {
        let ranks = Ranks::new(&comm.comm, comm.limits.unwrap_or_default(), &raised)?;
        // All ranks get an error with the message of the first rank that rejects its arguments. The caller has this
        // rank's own error.
        let outcome = agree(&ranks, Err::<(), _>(Error::new(ErrorKind::Input, sentence)));
        end(ranks, outcome)
    });
    match outcome {
        Err(error) if error.kind() == ErrorKind::Rank => Err(raised.ends(py).unwrap_or_else(|| exception(error))),
        _ => Ok(()),
    }
}

/// Returns the indices of this rank's core points in ascending order, and its labels (noise -1).
#[pyfunction]
#[pyo3(signature = (comm, points, eps, min_samples, box_size, n_jobs, names))]
pub fn dbscan_across<'py>(
    py: Python<'py>,
    comm: Comm,
    points: &Bound<'py, PyAny>,
    eps: f64,
    min_samples: usize,
    box_size: Option<Vec<f64>>,
    n_jobs: Option<isize>,
    names: u64,
) -> PyResult<(Vector<'py, i64>, Vector<'py, i32>)> {
    let options = [("eps", Term::Real(eps)), ("min_samples", Term::Whole(min_samples as u64))];
    let call = Call { function: DBSCAN, options, box_size: box_size.as_deref(), names };
    let options = Dbscan::new(eps, min_samples).periodic(box_size.clone().map(BoxSize::from));
    let (labels, core) = run(py, comm, &call, points, n_jobs, |ranks, points| {
        let labels = ropewalk_table::dbscan_across(ranks, &points.0, &options)?;
        check_count("clusters", labels.n_clusters())?;
        let core: Vec<i64> = (0..labels.as_slice().len()).filter(|&i| labels.is_core(i)).map(|i| i as i64).collect();
        Ok((narrow(&labels.into_vec()), core))
    })?;
    Ok((core.into_pyarray(py), labels.into_pyarray(py)))
}

/// The group of each point of this rank (-1 for none). For the groups that this rank owns: the offsets in the list of
/// members, the members as indices into the points of all ranks, and the numbers of the groups.
type Owned<'py> = (Vector<'py, i32>, Vector<'py, i64>, Vector<'py, i64>, Vector<'py, i64>);

/// Returns the groups of the points of all ranks.
#[pyfunction]
#[pyo3(signature = (comm, points, linking_length, min_members, box_size, n_jobs, names))]
pub fn friends_of_friends_across<'py>(
    py: Python<'py>,
    comm: Comm,
    points: &Bound<'py, PyAny>,
    linking_length: f64,
    min_members: usize,
    box_size: Option<Vec<f64>>,
    n_jobs: Option<isize>,
    names: u64,
) -> PyResult<(Owned<'py>, u64)> {
    let options = [("linking_length", Term::Real(linking_length)), ("min_members", Term::Whole(min_members as u64))];
    let call = Call { function: FOF, options, box_size: box_size.as_deref(), names };
    let options = Fof::new(linking_length).min_members(min_members).periodic(box_size.clone().map(BoxSize::from));
    let (labels, starts, members, numbers, count) = run(py, comm, &call, points, n_jobs, |ranks, points| {
        let halos = ropewalk_table::fof_across(ranks, &points.0, &options)?;
        check_count("groups", halos.len())?;
        let labels = narrow(&halos.halo_of_points(ranks)?);
        let numbers: Vec<i64> = halos.catalog_rows(ranks)?.iter().map(|&place| place as i64).collect();
        let owned = halos.owned();
        let members: Vec<i64> = owned.iter().flatten().map(|&at| halos.indices()[at as usize] as i64).collect();
        let mut starts = Vec::with_capacity(owned.len() + 1);
        starts.push(0);
        starts.extend(owned.iter().scan(0, |end, members| {
            *end += members.len();
            Some(*end)
        }));
        Ok((labels, offsets(starts), members, numbers, halos.len()))
    })?;
    let arrays = (labels.into_pyarray(py), starts.into_pyarray(py), members.into_pyarray(py), numbers.into_pyarray(py));
    Ok((arrays, count))
}

/// Returns an error if the number of groups exceeds 32-bit labels, which also one process has. All ranks know the
/// count, so the error is the same on all ranks.
fn check_count(what: &str, count: u64) -> Result<()> {
    if count > i32::MAX as u64 {
        let sentence = format!("there are {count} {what}; 32-bit labels allow at most {}", i32::MAX);
        return Err(Error::new(ErrorKind::Unsupported, sentence));
    }
    Ok(())
}

fn narrow(labels: &[i64]) -> Vec<i32> {
    labels.iter().map(|&label| label as i32).collect()
}
