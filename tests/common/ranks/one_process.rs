//! Results of one process, computed once. Ranks that are threads, and runs with other numbers of ranks, share them.

use std::any::{Any, type_name};
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock};

use ropewalk::Scalar;

type Answer = Arc<OnceLock<Arc<dyn Any + Send + Sync>>>;

/// The results so far, by question and hash of the points.
static ANSWERS: Mutex<Option<HashMap<(String, u64), Answer>>> = Mutex::new(None);

/// Returns the result for a question about points, which `find` computes at the first use. `question` must name
/// everything except the points that the result depends on.
pub fn one_process_result<S: Scalar, const D: usize, T: Any + Send + Sync>(
    points: &[[S; D]],
    question: impl Debug,
    find: impl FnOnce() -> T,
) -> Arc<T> {
    let mut hasher = DefaultHasher::new();
    for &x in points.as_flattened() {
        Into::<f64>::into(x).to_bits().hash(&mut hasher);
    }
    let question = format!("{} of {} in {D} dimensions: {question:?}", type_name::<T>(), type_name::<S>());
    let answer = {
        let mut answers = ANSWERS.lock().unwrap();
        Arc::clone(answers.get_or_insert_default().entry((question, hasher.finish())).or_default())
    };
    let answer = answer.get_or_init(|| Arc::new(find()));
    Arc::clone(answer).downcast().unwrap()
}
