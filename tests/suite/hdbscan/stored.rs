//! Hundreds of small sets with the results of scikit-learn and of the package hdbscan, stored in
//! `tests/data/hdbscan_cases.txt`. The script next to it wrote them and documents the format.

use ropewalk::Hdbscan;
use ropewalk::cluster::{HdbscanClusters, Ties};

use super::{Choice, assert_close};

const CASES: &str = include_str!("../../data/hdbscan_cases.txt");

#[derive(Default)]
struct Question {
    line: &'static str,
    program: &'static str,
    choice: Option<Choice>,
    labels: Vec<i32>,
    probabilities: Vec<f64>,
    outliers: Option<Vec<f64>>,
    persistence: Option<Vec<f64>>,
    /// New points, each with its label and probability.
    predictions: Vec<Vec<f64>>,
}

struct Set {
    header: &'static str,
    dim: usize,
    rows: Vec<Vec<f64>>,
    questions: Vec<Question>,
}

fn numbers(line: &str) -> Vec<f64> {
    line.split(' ').map(|token| token.parse().unwrap()).collect()
}

fn choice(line: &str) -> Choice {
    let tokens: Vec<_> = line.split(' ').collect();
    let count = |at: usize| tokens[at].parse::<usize>().unwrap();
    Choice {
        leaf: tokens[1] == "leaf",
        epsilon: tokens[4].parse().unwrap(),
        max_cluster_size: Some(count(5)).filter(|&size| size > 0),
        single: tokens[6] == "1",
        ..Choice::new(count(2), count(3))
    }
}

fn sets() -> Vec<Set> {
    let mut sets: Vec<Set> = vec![];
    let mut lines = CASES.lines().filter(|line| !line.starts_with('#'));
    while let Some(line) = lines.next() {
        let (word, rest) = line.split_once(' ').unwrap();
        if word == "set" {
            let [_, dim, n] = rest.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let rows = lines.by_ref().take(n.parse().unwrap()).map(numbers).collect();
            sets.push(Set { header: line, dim: dim.parse().unwrap(), rows, questions: vec![] });
            continue;
        }
        let questions = &mut sets.last_mut().unwrap().questions;
        if word == "ask" {
            let program = rest.split(' ').next().unwrap();
            questions.push(Question { line, program, choice: Some(choice(rest)), ..Default::default() });
            continue;
        }
        let question = questions.last_mut().unwrap();
        match word {
            "labels" => question.labels = rest.split(' ').map(|label| label.parse().unwrap()).collect(),
            "probabilities" => question.probabilities = numbers(rest),
            "outliers" => question.outliers = Some(numbers(rest)),
            "persistence" => question.persistence = Some(numbers(rest)),
            "predict" => question.predictions.push(numbers(rest)),
            _ => panic!("{line}"),
        }
    }
    sets
}

/// Returns the library's clusters from its own spanning tree, and its predictions (label, probability).
fn find<const D: usize>(set: &Set, options: &Hdbscan, new: &[Vec<f64>]) -> (HdbscanClusters, Vec<(i32, f64)>) {
    let point = |row: &Vec<f64>| -> [f64; D] { std::array::from_fn(|k| row[k]) };
    let points: Vec<_> = set.rows.iter().map(point).collect();
    let clusters = options.run(&points).unwrap();
    let new: Vec<_> = new.iter().map(point).collect();
    let found = options.predict(&points, &clusters, &new).unwrap();
    (clusters, found.labels.into_iter().zip(found.probabilities).collect())
}

#[test]
fn every_stored_answer() {
    let mut seen = [0; 4];
    for set in sets() {
        for question in &set.questions {
            let context = format!("{}: {}", set.header, question.line);
            let options = question.choice.unwrap().options().ties(Ties::Sequential);
            let (clusters, new) = match set.dim {
                1 => find::<1>(&set, &options, &question.predictions),
                2 => find::<2>(&set, &options, &question.predictions),
                _ => find::<3>(&set, &options, &question.predictions),
            };
            assert_eq!(clusters.labels().as_slice(), question.labels, "{context}");
            assert_close(clusters.probabilities(), &question.probabilities, &context);
            if let Some(outliers) = &question.outliers {
                // The package hdbscan divides infinity by infinity if a cluster contains copies of a point.
                let outliers: Vec<_> = outliers.iter().map(|&score| if score.is_nan() { 1.0 } else { score }).collect();
                assert_close(&clusters.outlier_scores(), &outliers, &context);
                let persistence = question.persistence.as_deref().unwrap_or_default();
                assert_close(clusters.persistence(), persistence, &context);
            }
            for (new, row) in new.iter().zip(&question.predictions) {
                let expected = &row[set.dim..];
                assert_eq!(f64::from(new.0), expected[0], "{row:?} in {context}");
                assert_close(&[new.1], &expected[1..], &context);
            }
            let program = ["scikit-learn", "raw", "hdbscan"].iter().position(|name| *name == question.program);
            seen[program.unwrap()] += 1;
            seen[3] += question.predictions.len();
        }
    }
    assert!(seen[0] >= 600 && seen[1] >= 100 && seen[2] >= 300 && seen[3] >= 400, "{seen:?}");
}

/// In sets without ties, both settings for ties give the same clusters with different numbers.
#[test]
fn without_ties_their_treatment_does_not_matter() {
    let mut compared = 0;
    for set in sets() {
        for question in set.questions.iter().filter(|question| question.program == "raw") {
            let options = question.choice.unwrap().options();
            let clusters = match set.dim {
                1 => find::<1>(&set, &options, &[]).0,
                2 => find::<2>(&set, &options, &[]).0,
                _ => find::<3>(&set, &options, &[]).0,
            };
            let mut numbers = vec![-1; question.labels.len()];
            let mut next = 0;
            let mut number = |&label: &i32| {
                if label >= 0 && numbers[label as usize] < 0 {
                    numbers[label as usize] = next;
                    next += 1;
                }
                if label < 0 { -1 } else { numbers[label as usize] }
            };
            let renumbered: Vec<i32> = question.labels.iter().map(&mut number).collect();
            assert_eq!(clusters.labels().as_slice(), renumbered, "{}: {}", set.header, question.line);
            assert_close(clusters.probabilities(), &question.probabilities, question.line);
            compared += 1;
        }
    }
    assert!(compared >= 100);
}
