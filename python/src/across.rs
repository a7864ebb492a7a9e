//! Friends of friends and DBSCAN across ranks.
//!
//! What one rank refuses is an error on all: also what its Python side refuses ([`refuse_across`]), and what stands in arguments that are
//! taken apart here.

use std::sync::Arc;

use numpy::IntoPyArray;
use pyo3::prelude::*;
use ropewalk::distributed::{Communicator, Term, agree, agree_on};
use ropewalk::{BoxSize, Dbscan, Error, ErrorKind, Fof, Result, memory};
use ropewalk_table::Points;
use ropewalk_table::check_sides_across;

use crate::arrays::{Rows, Vector};
use crate::calls::run_in;
use crate::errors::exception;
use crate::indices::offsets;
use crate::pools;
use crate::ranks::{Limits, Raised, Ranks};

/// A communicator, and for tests other limits; a pair in Python.
#[derive(FromPyObject)]
pub struct Comm {
    #[pyo3(item(0))]
    comm: Py<PyAny>,
    #[pyo3(item(1))]
    limits: Option<Limits>,
}

/// The numbers of the functions where ranks compare them.
const FOF: u64 = 1;
const DBSCAN: u64 = 2;

/// What all ranks must ask for alike, by the names that Python has for it.
struct Call<'a> {
    function: u64,
    options: [(&'static str, Term); 2],
    box_size: Option<&'a [f64]>,
    /// A digest of the names of the points' columns.
    names: u64,
}

impl Call<'_> {
    /// An error on all ranks if they differ, or if the points of all ranks span more than the box. Collective.
    fn agree(&self, ranks: &dyn Communicator, points: &Points) -> Result<()> {
        let bits = if matches!(points, Points::F32(_)) { 32 } else { 64 };
        let mut terms = vec![
            ("coordinates per point", Term::Whole(points.dim() as u64)),
            ("bits per coordinate (float32 or float64)", Term::Whole(bits)),
            ("the digest of feature names (0 for none)", Term::Whole(self.names)),
        ];
        terms.extend(self.options);
        // As many on all ranks.
        let sides = self.box_size.unwrap_or_default().iter().copied().chain(std::iter::repeat(0.0));
        terms.extend(sides.take(MOST_SIDES).map(|side| ("box_size (0 for none)", Term::Real(side))));
        agree_on(ranks, self.function, &terms)?;
        // Points of all ranks: those of each may fit a box that all of them together do not.
        self.box_size.map_or(Ok(()), |sides| check_sides_across(ranks, points, sides))
    }
}

/// Points have at most so many coordinates.
const MOST_SIDES: usize = 10;

/// Runs `work` with the points by `n_jobs` threads, if all ranks have points and threads and make this call. Collective.
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
    let raised = Arc::new(Raised::default());
    let result = run_in(py, pool, || {
        let ranks = Ranks::new(&comm.comm, comm.limits.unwrap_or_default(), &raised)?;
        let agreed = agree(&ranks, Ok(())).and_then(|()| call.agree(&ranks, &points.0));
        let result = agreed.and_then(|()| work(&ranks, points));
        end(ranks, result)
    });
    raised.ends(py).map_or(result, Err)
}

/// Ends the copy of the communicator where all ranks come here.
fn end<T>(ranks: Ranks, result: Result<T>) -> Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::Rank => Err(error),
        result => ranks.free().and(result),
    }
}

/// Tells all ranks that this one refuses its arguments, for a reason that is a sentence. Collective, in place of the other functions here.
#[pyfunction]
#[pyo3(signature = (comm, sentence))]
pub fn refuse_across(py: Python<'_>, comm: Comm, sentence: String) -> PyResult<()> {
    let raised = Arc::new(Raised::default());
    let told = py.detach(|| {
        let ranks = Ranks::new(&comm.comm, comm.limits.unwrap_or_default(), &raised)?;
        // An error of all ranks, of which the first to refuse has its own. The caller knows this one's.
        let told = agree(&ranks, Err::<(), _>(Error::new(ErrorKind::Input, sentence)));
        end(ranks, told)
    });
    match told {
        Err(error) if error.kind() == ErrorKind::Rank => Err(raised.ends(py).unwrap_or_else(|| exception(error))),
        _ => Ok(()),
    }
}

/// The rows of this rank's core points in ascending order, and its labels (noise -1).
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

/// The group of each of this rank's points (none -1); of the groups that it owns where the members of each begin, the members by the index
/// that they have in all ranks' points, and the number of each.
type Owned<'py> = (Vector<'py, i32>, Vector<'py, i64>, Vector<'py, i64>, Vector<'py, i64>);

/// The groups of the points of all ranks.
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
        let numbers: Vec<i64> = halos.places(ranks)?.iter().map(|&place| place as i64).collect();
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

/// Labels have 32 bits, as those of one process. All ranks know the count, so all refuse it.
fn check_count(what: &str, count: u64) -> Result<()> {
    if count > i32::MAX as u64 {
        let sentence =
            format!("there are {count} {what}; labels are 32-bit numbers, so at most {} can be told apart", i32::MAX);
        return Err(Error::new(ErrorKind::Unsupported, sentence));
    }
    Ok(())
}

fn narrow(labels: &[i64]) -> Vec<i32> {
    labels.iter().map(|&label| label as i32).collect()
}
