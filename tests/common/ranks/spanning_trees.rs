//! Minimum spanning trees of points distributed over ranks, compared with one process edge by edge.

use ropewalk::distributed::{Communicator, DomainOptions, Reduction, SpanningTree};
use ropewalk::{Error, ErrorKind, MinimumSpanningTree, Scalar};

use super::distributions::{Distribution, distributions};
use super::one_process::one_process_result;
use crate::clouds::{self, Cloud};
use crate::random::Random;

super::scenario::scenarios![
    trees_of_clouds,
    trees_in_f64,
    trees_in_other_dimensions,
    trees_however_points_are_shared,
    trees_of_lattices_and_copies,
    trees_of_distant_groups,
    trees_of_a_snapshot,
    tree_refusals_are_those_of_one_rank,
];

/// Compares the edges of this rank with the same ones of one process.
fn compare<S: Scalar, const D: usize>(
    ranks: &dyn Communicator,
    points: &[[S; D]],
    side: Option<f64>,
    share: Distribution,
    context: &str,
) {
    let options = MinimumSpanningTree::new().periodic(side);
    let expected = one_process_result(points, &options, || options.run(points).unwrap());
    let own = &points[share.of(points.len(), ranks)];
    let context = format!("{context}, {side:?}, {share:?}");
    is_part(ranks, &options.run_across(ranks, own).unwrap(), &expected, &context);
    let domain = DomainOptions::new().periodic(side).in_place().distribute(ranks, own).unwrap();
    is_part(ranks, &options.run_on_domain(&domain).unwrap(), &expected, &format!("{context}, in place"));
}

/// Checks the edges of this rank, and that the ranks together have all.
fn is_part(ranks: &dyn Communicator, found: &SpanningTree, expected: &ropewalk::cluster::SpanningTree, context: &str) {
    assert_eq!(found.n_points(), expected.n_points() as u64, "{context}");
    let first = found.first() as usize;
    let part = &expected.edges()[first..first + found.edges().len()];
    for (at, (own, one)) in found.edges().iter().zip(part).enumerate() {
        let (own, one) = ((own.low, own.high, own.weight2), (u64::from(one.low), u64::from(one.high), one.weight2));
        assert_eq!(own, one, "{context}: edge {}", first + at);
    }
    let mut count = [found.edges().len() as u64];
    ranks.all_reduce(&mut count, Reduction::Sum).unwrap();
    assert_eq!(count, [expected.edges().len() as u64], "{context}");
}

fn compare_clouds<S: Scalar, const D: usize>(ranks: &dyn Communicator, clouds: &[Cloud<S, D>]) {
    for cloud in clouds {
        for side in [None, Some(cloud.side)] {
            compare(ranks, &cloud.points, side, Distribution::Even, cloud.name);
        }
    }
}

fn trees_of_clouds(ranks: &dyn Communicator) {
    compare_clouds(ranks, &clouds::small::<f32, 3>());
}

fn trees_in_f64(ranks: &dyn Communicator) {
    compare_clouds(ranks, &clouds::small::<f64, 2>());
}

fn trees_in_other_dimensions(ranks: &dyn Communicator) {
    compare_clouds(ranks, &[clouds::clustered::<f64, 1>(), clouds::two()]);
    compare_clouds(ranks, &[clouds::clustered::<f32, 5>()]);
}

fn trees_however_points_are_shared(ranks: &dyn Communicator) {
    let cloud = clouds::clustered::<f32, 3>();
    for share in distributions() {
        compare(ranks, &cloud.points, Some(cloud.side), share, cloud.name);
        compare(ranks, &cloud.points[..9], None, share, "nine points");
    }
}

/// Many equal distances, so that indices decide, also between ranks.
fn trees_of_lattices_and_copies(ranks: &dyn Communicator) {
    let mut random = Random::new(6);
    let at_two_places: Vec<[f64; 3]> = (0..1500).map(|i| [[0.0; 3], [1.0, 2.0, 3.0]][i % 2]).collect();
    compare(ranks, &at_two_places, None, Distribution::Even, "copies at two places");
    for (n, cells) in [(600, 9), (900, 5), (60, 1)] {
        let points: Vec<[f64; 3]> = (0..n).map(|_| std::array::from_fn(|_| random.below(cells) as f64)).collect();
        for side in [None, Some(cells as f64)] {
            compare(ranks, &points, side, Distribution::Uneven, &format!("lattice of {cells} cells"));
        }
    }
}

/// Groups whose distances are far larger than their sizes, and points far from all.
fn trees_of_distant_groups(ranks: &dyn Communicator) {
    let mut random = Random::new(8);
    let mut points: Vec<[f32; 2]> = vec![];
    for group in 0..7 {
        let center = [(group % 3) as f32 * 1e4, (group / 3) as f32 * 3e4];
        points.extend((0..40 * group).map(|_| center.map(|x| x + random.unit() as f32)));
    }
    points.extend([[1e7, 0.0], [-2e7, 1e3], [1e7, 1.0]]);
    for share in distributions() {
        compare(ranks, &points, None, share, "distant groups");
    }
    // Each point of a group is nearer to other points of the group on another rank than to the other group.
    let two: Vec<[f32; 3]> = (0..6000)
        .map(|i| std::array::from_fn(|k| random.unit() as f32 + if k == 0 && i % 2 == 0 { 9.0 } else { 0.0 }))
        .collect();
    compare(ranks, &two, None, Distribution::Even, "two groups");
}

fn trees_of_a_snapshot(ranks: &dyn Communicator) {
    if let Some(cloud) = clouds::snapshot::<f32, 3>() {
        compare(ranks, &cloud.points, Some(cloud.side), Distribution::Even, cloud.name);
    }
}

fn tree_refusals_are_those_of_one_rank(ranks: &dyn Communicator) {
    let points = if ranks.rank() == 0 { vec![[0.0, f64::NAN]] } else { vec![[0.0; 2]] };
    let error = MinimumSpanningTree::new().run_across(ranks, &points).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFinite, "{error}");
    let across = |options: MinimumSpanningTree| -> Error { options.run_across(ranks, &[[0.0f32]; 9]).unwrap_err() };
    let error = across(MinimumSpanningTree::new().periodic(-1.0));
    assert_eq!(error.kind(), MinimumSpanningTree::new().periodic(-1.0).run(&[[0.0f32]; 9]).unwrap_err().kind());
    for options in [MinimumSpanningTree::new().min_samples(0), MinimumSpanningTree::new().alpha(f64::NAN)] {
        assert_eq!(across(options).kind(), ErrorKind::Parameter);
    }
    for options in [MinimumSpanningTree::new().min_samples(5), MinimumSpanningTree::new().alpha(0.5)] {
        assert_eq!(across(options).kind(), ErrorKind::Unsupported);
    }
    // A rank with other options ends the call on all.
    let options = MinimumSpanningTree::new().alpha(if ranks.rank() == 0 { 2.0 } else { 1.0 });
    assert_eq!(across(options).kind(), ErrorKind::Unsupported);
}
