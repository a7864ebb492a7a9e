//! Clusters of points distributed over ranks, compared with one process.

use ropewalk::distributed::{Communicator, Domain, DomainOptions, Halos, Reduction};
use ropewalk::{Dbscan, Error, Fof, Scalar};

use super::distributions::{Distribution, distributions};
use super::one_process::one_process_result;
use crate::clouds::{self, Cloud};

super::scenario::scenarios![
    groups_of_clouds,
    groups_of_clouds_in_f64,
    groups_in_other_dimensions,
    clusters_of_clouds,
    clusters_in_a_periodic_box,
    groups_however_points_are_shared,
    a_chain_through_all_ranks,
    groups_of_a_snapshot,
    refusals_are_those_of_one_rank,
    options_that_differ_are_refused,
];

/// Returns open space (`None`), and the side of a periodic box if it is large enough.
fn spaces<S: Scalar, const D: usize>(cloud: &Cloud<S, D>, radius: f64) -> Vec<Option<f64>> {
    let mut spaces = vec![None];
    spaces.extend((cloud.side >= 2.0 * radius).then_some(Some(cloud.side)));
    spaces
}

fn groups<S: Scalar, const D: usize>(ranks: &dyn Communicator, clouds: &[Cloud<S, D>], shares: &[Distribution]) {
    for cloud in clouds {
        for &radius in &cloud.radii {
            for space in spaces(cloud, radius) {
                let fof = Fof::new(radius).periodic(space);
                let expected = one_process_result(&cloud.points, &fof, || fof.run(&cloud.points).unwrap());
                for share in shares {
                    let range = share.of(cloud.points.len(), ranks);
                    let halos = fof.run_across(ranks, &cloud.points[range.clone()]).unwrap();
                    let labels = halos.labels();
                    let context = format!("{}, radius {radius}, {space:?}, {share:?}", cloud.name);
                    let own: Vec<i64> = expected.labels().as_slice()[range].iter().map(|&l| l.into()).collect();
                    assert_eq!(labels.as_slice(), own, "{context}");
                    assert_eq!(labels.n_clusters(), expected.labels().n_clusters() as u64, "{context}");
                    owned_are(ranks, &halos, &expected, &context);
                }
            }
        }
    }
}

/// Checks that each halo is owned by one rank, with its members.
pub fn owned_are(ranks: &dyn Communicator, halos: &Halos, expected: &ropewalk::Halos, context: &str) {
    assert_eq!(halos.len(), expected.len() as u64, "{context}");
    assert!(halos.indices().is_sorted());
    let mut owned = [halos.owned().len() as u64];
    for (members, number) in halos.owned().iter().zip(halos.numbers()) {
        let halo = expected.clusters().iter().position(|&cluster| u64::from(cluster) == number).unwrap();
        let members: Vec<u32> = members.iter().map(|&at| halos.indices()[at as usize] as u32).collect();
        assert_eq!(members, expected.members(halo), "{context}");
    }
    ranks.all_reduce(&mut owned, Reduction::Sum).unwrap();
    assert_eq!(owned, [halos.len()], "{context}");
}

fn clusters<S: Scalar, const D: usize>(ranks: &dyn Communicator, clouds: &[Cloud<S, D>], is_periodic: bool) {
    for cloud in clouds {
        for &radius in &cloud.radii {
            for space in spaces(cloud, radius).into_iter().filter(|space| space.is_some() == is_periodic) {
                for (min_samples, star) in [(1, false), (2, false), (3, false), (3, true), (7, false)] {
                    let dbscan = Dbscan::new(radius, min_samples).periodic(space).star(star);
                    let expected = one_process_result(&cloud.points, &dbscan, || dbscan.run(&cloud.points).unwrap());
                    for share in [Distribution::Even, Distribution::Uneven] {
                        let range = share.of(cloud.points.len(), ranks);
                        let labels = dbscan.run_across(ranks, &cloud.points[range.clone()]).unwrap();
                        let context = format!("{}, radius {radius}, {space:?}, min_samples {min_samples}", cloud.name);
                        for (own, point) in range.enumerate() {
                            let own = (labels.get(own), labels.is_core(own));
                            let one = (expected.get(point).map(u64::from), expected.is_core(point));
                            assert_eq!(own, one, "{context}, {star}, point {point}");
                        }
                        assert_eq!(labels.n_clusters(), expected.n_clusters() as u64, "{context}");
                    }
                }
            }
        }
    }
}

fn groups_of_clouds(ranks: &dyn Communicator) {
    groups::<f32, 3>(ranks, &clouds::small(), &distributions());
}

fn groups_of_clouds_in_f64(ranks: &dyn Communicator) {
    groups::<f64, 3>(ranks, &clouds::small(), &[Distribution::Even]);
}

fn groups_in_other_dimensions(ranks: &dyn Communicator) {
    groups::<f32, 1>(ranks, &clouds::small(), &[Distribution::Even]);
    groups::<f32, 2>(ranks, &clouds::small(), &[Distribution::Uneven]);
    groups::<f64, 6>(ranks, &clouds::small(), &[Distribution::Even]);
}

fn clusters_of_clouds(ranks: &dyn Communicator) {
    clusters::<f32, 3>(ranks, &clouds::small(), false);
    clusters::<f64, 2>(ranks, &clouds::small(), false);
}

fn clusters_in_a_periodic_box(ranks: &dyn Communicator) {
    clusters::<f32, 3>(ranks, &clouds::small(), true);
    clusters::<f64, 2>(ranks, &clouds::small(), true);
}

/// The result does not depend on the distribution of points: by count, by weight, or unchanged.
fn groups_however_points_are_shared(ranks: &dyn Communicator) {
    let cloud: Cloud<f32, 3> = clouds::clustered();
    for &radius in &cloud.radii {
        let fof = Fof::new(radius);
        let expected = one_process_result(&cloud.points, &fof, || fof.run(&cloud.points).unwrap());
        for share in distributions() {
            let range = share.of(cloud.points.len(), ranks);
            let points = &cloud.points[range.clone()];
            let weights: Vec<f64> = range.clone().map(|point| (point % 10) as f64).collect();
            let own: Vec<i64> = expected.labels().as_slice()[range].iter().map(|&l| l.into()).collect();
            for domain in [
                Domain::new(ranks, points).unwrap(),
                DomainOptions::new().weights(&weights).distribute(ranks, points).unwrap(),
                DomainOptions::new().weights(&vec![0.0; points.len()]).distribute(ranks, points).unwrap(),
                DomainOptions::new().in_place().distribute(ranks, points).unwrap(),
            ] {
                assert_eq!(domain.len(), cloud.points.len() as u64);
                assert!(domain.indices().is_sorted() && domain.indices().len() == domain.points().len());
                for (&index, point) in domain.indices().iter().zip(domain.points()) {
                    assert_eq!(cloud.points[index as usize], *point);
                }
                assert_eq!(fof.run_on_domain(&domain).unwrap().labels().as_slice(), own, "{share:?}");
            }
        }
    }
}

/// A group that passes through all regions several times, and other groups.
fn a_chain_through_all_ranks(ranks: &dyn Communicator) {
    let n = 3000;
    // A winding line through a square, with its points in random order.
    let at = |i: usize| {
        let (row, column) = (i / 60, i % 60);
        [if row % 2 == 0 { column } else { 59 - column } as f32, row as f32 * 1.5]
    };
    let points: Vec<[f32; 2]> = (0..n).map(|i| at(i * 1013 % n)).collect();
    for radius in [0.9, 1.0, 1.4, 1.5] {
        let expected = Fof::new(radius).run(&points).unwrap();
        for share in distributions() {
            let range = share.of(n, ranks);
            let halos = Fof::new(radius).run_across(ranks, &points[range.clone()]).unwrap();
            let own: Vec<i64> = expected.labels().as_slice()[range].iter().map(|&l| l.into()).collect();
            assert_eq!(halos.labels().as_slice(), own, "radius {radius}, {share:?}");
        }
    }
}

fn groups_of_a_snapshot(ranks: &dyn Communicator) {
    let cloud: Cloud<f32, 3> = clouds::snapshot().unwrap();
    groups(ranks, std::slice::from_ref(&cloud), &[Distribution::Even]);
}

fn refusals_are_those_of_one_rank(ranks: &dyn Communicator) {
    let last = ranks.size() - 1;
    let told = |error: Error| error.to_string();
    let of = |rank: usize, sentence: &str| {
        if ranks.rank() == rank { sentence.to_string() } else { format!("rank {rank}: {sentence}") }
    };
    let mut points = vec![[0.0f32; 3]; 5];
    if ranks.rank() == last {
        points[3][1] = f32::NAN;
    }
    let sentence = of(last, "point 3: coordinate 1 is NaN; coordinates must be finite");
    assert_eq!(told(Fof::new(0.1).run_across(ranks, &points).unwrap_err()), sentence);
    assert_eq!(told(Dbscan::new(0.1, 3).run_across(ranks, &points).unwrap_err()), sentence);
    let points = [[0.5f32; 3]];
    let refused = |length: f64, side: Option<f64>| {
        let one = told(Fof::new(length).periodic(side).run(&points).unwrap_err());
        assert_eq!(told(Fof::new(length).periodic(side).run_across(ranks, &points).unwrap_err()), of(0, &one));
    };
    refused(-1.0, None);
    refused(f64::NAN, None);
    refused(0.6, Some(1.0));
    refused(0.1, Some(-1.0));
    let weighted = Dbscan::new(0.1, 3).weights(vec![1.0]).run_across(ranks, &points);
    assert!(told(weighted.unwrap_err()).contains("does not support weights"));
}

/// All ranks have the same error.
fn options_that_differ_are_refused(ranks: &dyn Communicator) {
    let points = [[ranks.rank() as f32, 1.0]];
    let last = ranks.size() - 1;
    let is_last = ranks.rank() == last;
    let either = |of_last: f64, of_others: f64| if is_last { of_last } else { of_others };
    let fof = |length: f64, members: f64| Fof::new(length).min_members(members as usize).periodic(100.0);
    let group = |fof: &Fof| fof.run_across(ranks, &points).map(drop);
    let cluster = |eps: f64, min_samples: f64, star: f64| {
        Dbscan::new(eps, min_samples as usize).star(star == 1.0).run_across(ranks, &points).map(drop)
    };
    let share = |size: Option<f64>| DomainOptions::new().periodic(size).distribute(ranks, &points).map(drop);
    let results = [
        (["linking_length", "2", "1"], group(&fof(either(2.0, 1.0), 2.0))),
        (["min_members", "2", "3"], group(&fof(1.0, either(2.0, 3.0)))),
        (["eps", "0.25", "0.5"], cluster(either(0.25, 0.5), 3.0, 0.0)),
        (["min_samples", "2", "3"], cluster(1.0, either(2.0, 3.0), 0.0)),
        (["star", "0", "1"], cluster(1.0, 3.0, either(0.0, 1.0))),
        (["periodic", "9", "8"], share(Some(either(9.0, 8.0)))),
        (["periodic", "8", "0"], share(is_last.then_some(8.0))),
        (
            ["distribution of points (0 even, 1 weighted, 2 in place)", "0", "2"],
            if is_last { share(None) } else { DomainOptions::new().in_place().distribute(ranks, &points).map(drop) },
        ),
    ];
    for ([name, of_last, of_others], result) in results {
        let sentence = format!(
            "{name} is {of_last} on rank {last} and {of_others} on rank 0; the value must be equal on all ranks"
        );
        match result {
            Err(error) => assert_eq!(error.to_string(), sentence),
            Ok(()) => assert!(ranks.size() == 1, "{sentence}"),
        }
    }
    // The two zeros count as equal.
    fof(either(-0.0, 0.0), 2.0).run_across(ranks, &points).unwrap();
}
