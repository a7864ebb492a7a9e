//! Hundreds of small sets with scikit-learn's results, stored in `tests/data/dbscan_cases.txt`. The script next to it
//! wrote them and documents the format.

use std::fmt::Debug;
use std::str::FromStr;

use ropewalk::{Dbscan, Scalar, dbscan};

use super::assert_clusters;
use super::oracle::Clusters;

const CASES: &str = include_str!("../../data/dbscan_cases.txt");

/// The lines of a set, since its type and dimension are known only at run time.
struct Set<'a> {
    header: &'a str,
    is_f32: bool,
    dim: usize,
    points: Vec<&'a str>,
    questions: Vec<Question>,
}

struct Question {
    eps: f64,
    min_samples: usize,
    weights: Option<Vec<f64>>,
    answer: Clusters,
}

fn numbers<T: FromStr<Err: Debug>>(line: &str) -> Vec<T> {
    line.split(' ').map(|token| token.parse().unwrap_or_else(|error| panic!("{token}: {error:?}"))).collect()
}

fn sets() -> Vec<Set<'static>> {
    let mut sets: Vec<Set> = vec![];
    let mut lines = CASES.lines().filter(|line| !line.starts_with('#'));
    let mut asked = None;
    let mut weights = None;
    while let Some(line) = lines.next() {
        let (word, rest) = line.split_once(' ').expect("a word and its values");
        match word {
            "set" => {
                let [_, scalar, dim, n] = rest.split(' ').collect::<Vec<_>>().try_into().expect("four values");
                let points = lines.by_ref().take(n.parse().unwrap()).collect();
                let is_f32 = scalar == "f32";
                sets.push(Set { header: line, is_f32, dim: dim.parse().unwrap(), points, questions: vec![] });
            }
            "ask" => {
                let (eps, min_samples) = rest.split_once(' ').expect("two values");
                asked = Some((eps.parse().unwrap(), min_samples.parse().unwrap()));
            }
            "weights" => weights = Some(numbers(rest)),
            "labels" => {
                let (eps, min_samples) = asked.take().expect("a question before its answer");
                let core = rest.split(' ').map(|label| label.ends_with('*')).collect();
                let labels = rest.split(' ').map(|label| label.trim_end_matches('*').parse().unwrap()).collect();
                let answer = Clusters { labels, core };
                let set = sets.last_mut().expect("a set before its questions");
                set.questions.push(Question { eps, min_samples, weights: weights.take(), answer });
            }
            _ => panic!("what is '{word}'?"),
        }
    }
    sets
}

impl Set<'_> {
    fn points<P: FromStr<Err: Debug>, const D: usize>(&self) -> Vec<[P; D]> {
        let point = |line: &&str| numbers(line).try_into().ok().expect("as many coordinates as dimensions");
        self.points.iter().map(point).collect()
    }

    fn check<S: Scalar, const D: usize>(&self, points: &[[S; D]]) {
        for Question { eps, min_samples, weights, answer } in &self.questions {
            let what = || format!("{}, stored as {}", self.header, std::any::type_name::<S>());
            let options = Dbscan::new(*eps, *min_samples);
            match weights {
                Some(weights) => assert_clusters(&options.weights(weights.clone()), points, answer, &what),
                None => {
                    assert_clusters(&options, points, answer, &what);
                    assert_eq!(dbscan(points, *eps, *min_samples).unwrap().as_slice(), answer.labels, "{}", what());
                }
            }
        }
    }

    /// Tests values that are exact in `f32` in both types, since the result depends only on the values.
    fn check_types<const D: usize>(&self) {
        if self.is_f32 {
            let points = self.points::<f32, D>();
            self.check(&points);
            self.check(&points.iter().map(|point| point.map(f64::from)).collect::<Vec<_>>());
        } else {
            self.check(&self.points::<f64, D>());
        }
    }
}

fn small_sets<const D: usize>() {
    sets().iter().filter(|set| set.dim == D).for_each(Set::check_types::<D>);
}

#[test]
fn small_sets_in_2() {
    small_sets::<2>();
}

#[test]
fn small_sets_in_3() {
    small_sets::<3>();
}

#[test]
fn small_sets_in_4() {
    small_sets::<4>();
}

#[test]
fn small_sets_in_5() {
    small_sets::<5>();
}

/// The file is complete and covers the intended cases.
#[test]
fn stored_sets_cover_the_regimes() {
    let sets = sets();
    assert_eq!(sets.len(), 420);
    assert!(sets.iter().all(|set| (2..=5).contains(&set.dim)));
    let questions: Vec<&Question> = sets.iter().flat_map(|set| &set.questions).collect();
    let count = |wanted: &dyn Fn(&Question) -> bool| questions.iter().filter(|question| wanted(question)).count();
    assert!(questions.len() >= 1200);
    assert!(count(&|question| question.weights.is_some()) >= 400);
    assert!(count(&|question| question.answer.labels.iter().all(|&label| label < 0)) >= 100, "all noise");
    assert!(count(&|question| question.answer.labels.iter().all(|&label| label == 0)) >= 100, "one cluster");
    assert!(count(&|question| question.answer.labels.contains(&2)) >= 100, "three clusters or more");
    let has_border = |question: &Question| {
        question.answer.labels.iter().zip(&question.answer.core).any(|(&label, &core)| label >= 0 && !core)
    };
    assert!(count(&has_border) >= 100, "border points");
    let n = |question: &Question| question.answer.labels.len();
    for (least, wanted) in [(1, 20), (2, 20), (3, 20), (5, 20), (10, 20)] {
        assert!(count(&|question| question.min_samples == least && n(question) > 10) >= wanted, "min_samples {least}");
    }
    assert!(count(&|question| question.min_samples > n(question)) >= 20, "min_samples above n");
}
