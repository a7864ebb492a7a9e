//! Searches among points distributed over ranks, compared with one process and with the definitions.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Mutex;

use ropewalk::distributed::{Bvh, Communicator, DomainOptions, Measured};
use ropewalk::{Error, ErrorKind, Nearest, Scalar, Sphere};

use super::distributions::{Distribution, distributions};
use super::search_checks::{Case, Exclusion, NearestOptions, others, queries, rows, some};
use crate::clouds::{self, Cloud};
use crate::random::Random;

super::scenario::scenarios![
    searches_in_clouds,
    searches_in_clouds_in_f64,
    searches_in_other_dimensions,
    searches_however_points_are_shared,
    searches_in_batches,
    searches_where_points_live,
    fewer_points_than_ranks,
    a_thousandfold_and_a_snapshot,
    each_hit_is_visited_once,
    few_queries_go_to_several_ranks,
    refusals_are_known_to_all,
];

fn searches<S: Scalar, const D: usize>(ranks: &dyn Communicator, clouds: &[Cloud<S, D>], of: &[Distribution]) {
    // Every second cloud, alternately in open space and in a box. Other numbers of ranks cover the other
    // combinations.
    let size = ranks.size();
    for (number, cloud) in clouds.iter().enumerate().skip(size % 2 * usize::from(clouds.len() > 2)).step_by(2) {
        let queries = queries(cloud);
        let n = cloud.points.len();
        let side = [None, Some(cloud.side)][(number / 2 + size / 3) % 2];
        let case = Case::new(ranks, cloud, side, of[(number / 2) % of.len()]);
        let bvh = case.build(ranks);
        let own = distributions()[(number + 1) % 4].of(queries.len(), ranks);
        for &radius in cloud.radii.iter().take(2) {
            case.check_stored(ranks, &bvh, radius);
            case.check_queries(&bvh, &queries, &own, radius);
        }
        let radius = cloud.radii[0];
        let last = n.saturating_sub(1) as u32;
        let by_turns = [
            [some(0), NearestOptions { radius, ..some(3) }],
            [some(1), NearestOptions { radius, ..others(100) }],
            [some(5), NearestOptions { exclusion: Exclusion::Index(last), ..some(7) }],
            [others(4), NearestOptions { radius: -1.0, ..some(2) }],
        ];
        for options in by_turns[number % 4] {
            case.check_nearest(&bvh, &queries, &own, options);
        }
        case.check_nearest_defined(&bvh, &queries, &own, 6, f64::INFINITY);
        case.check_nearest_defined(&bvh, &queries, &own, 9, radius);
    }
}

fn searches_in_clouds(ranks: &dyn Communicator) {
    searches::<f32, 3>(ranks, &clouds::small(), &[Distribution::Even, Distribution::Uneven]);
}

fn searches_in_clouds_in_f64(ranks: &dyn Communicator) {
    searches::<f64, 2>(ranks, &clouds::small(), &[Distribution::OneEmpty]);
}

fn searches_in_other_dimensions(ranks: &dyn Communicator) {
    searches::<f32, 1>(ranks, &clouds::small(), &[Distribution::Uneven]);
    searches::<f64, 5>(ranks, &[clouds::clustered()], &[Distribution::Even]);
}

fn searches_however_points_are_shared(ranks: &dyn Communicator) {
    let cloud = clouds::whole_lattice::<f32, 3>();
    let queries = queries(&cloud);
    let n = cloud.points.len();
    for (share, side) in distributions().into_iter().zip([None, Some(cloud.side), Some(cloud.side), None]) {
        let case = Case::new(ranks, &cloud, side, share);
        let bvh = case.build(ranks);
        for of in distributions() {
            let own = of.of(queries.len(), ranks);
            case.check_queries(&bvh, &queries, &own, cloud.radii[0]);
        }
        let own = Distribution::Even.of(queries.len(), ranks);
        // With infinite radius all points are found. Some `k` exceed the number of points of a rank, or of all ranks.
        let (radii, ks) = match share {
            Distribution::Even => ([f64::INFINITY, 0.0], [n + 5, n / ranks.size() + 1]),
            _ => ([0.4 * cloud.side, if side.is_some() { -1.0 } else { f64::NAN }], [n / 2, 4]),
        };
        for radius in radii {
            case.check_stored(ranks, &bvh, radius);
            case.check_queries(&bvh, &queries, &own, radius);
        }
        for k in ks {
            case.check_nearest(&bvh, &queries, &own, if side.is_some() { others(k) } else { some(k) });
        }
    }
}

fn searches_in_batches(ranks: &dyn Communicator) {
    let cloud = clouds::plummer::<f32, 2>();
    let queries = queries(&cloud);
    let own = Distribution::Uneven.of(queries.len(), ranks);
    for batch in [0, 3, 7] {
        let case = Case::new(ranks, &cloud, None, Distribution::Even);
        // The batch size may differ between ranks.
        let bvh = case.build(ranks).batches_of(batch + ranks.rank() % 2);
        case.check_queries(&bvh, &queries, &own, 0.4);
        case.check_nearest(&bvh, &queries, &own, others(3));
    }
}

/// Regions by weight with points left in place: some ranks have few points, and regions overlap.
fn searches_where_points_live(ranks: &dyn Communicator) {
    for (cloud, share) in
        [(clouds::plummer::<f64, 3>(), Distribution::Uneven), (clouds::clustered(), Distribution::Even)]
    {
        let queries = queries(&cloud);
        for side in [None, Some(cloud.side)] {
            let case = Case::new(ranks, &cloud, side, share);
            let points = &cloud.points[case.range.clone()];
            let weights: Vec<f64> = case.range.clone().map(|point| (point % 10) as f64).collect();
            let own = Distribution::Even.of(queries.len(), ranks);
            let domain = match share {
                Distribution::Even => DomainOptions::new().periodic(side).weights(&weights).distribute(ranks, points),
                _ => DomainOptions::new().periodic(side).in_place().distribute(ranks, points),
            };
            let bvh = Bvh::from_domain(domain.unwrap()).unwrap();
            case.check_stored(ranks, &bvh, cloud.radii[0]);
            case.check_queries(&bvh, &queries, &own, cloud.radii[1]);
            case.check_nearest(&bvh, &queries, &own, some(8));
            case.check_nearest(&bvh, &queries, &own, others(30));
        }
    }
}

fn fewer_points_than_ranks(ranks: &dyn Communicator) {
    for n in [0, 1, 2, 5, 15] {
        let cloud: Cloud<f32, 3> = clouds::uniform("few", n, 0.0, 1.0, &[0.5], 1.0);
        let queries = queries(&cloud);
        for share in distributions() {
            let case = Case::new(ranks, &cloud, None, share);
            let bvh = case.build(ranks);
            let own = Distribution::Uneven.of(queries.len(), ranks);
            case.check_stored(ranks, &bvh, 0.5);
            case.check_queries(&bvh, &queries, &own, 0.5);
            for k in [1, n + 1] {
                case.check_nearest(&bvh, &queries, &own, some(k));
            }
            case.check_nearest_defined(&bvh, &queries, &own, 2, f64::INFINITY);
        }
    }
}

/// Many points at one position, of which those with the lowest indices count as nearest; and halos.
fn a_thousandfold_and_a_snapshot(ranks: &dyn Communicator) {
    let cloud = clouds::thousandfold::<f32, 2>();
    let case = Case::new(ranks, &cloud, None, Distribution::Even);
    let bvh = case.build(ranks);
    let queries = queries(&cloud);
    let own = Distribution::Even.of(queries.len(), ranks);
    case.check_queries(&bvh, &queries, &own, 0.0);
    for options in [some(3), others(30)] {
        case.check_nearest(&bvh, &queries, &own, options);
    }
    let cloud: Cloud<f32, 3> = clouds::snapshot().unwrap();
    let case = Case::new(ranks, &cloud, Some(cloud.side), Distribution::Uneven);
    let bvh = case.build(ranks);
    case.check_stored(ranks, &bvh, 0.1);
    case.check_nearest(&bvh, &queries_of(&cloud), &Distribution::Even.of(400, ranks), some(10));
}

fn queries_of<S: Scalar, const D: usize>(cloud: &Cloud<S, D>) -> Vec<[S; D]> {
    let mut random = Random::new(3);
    (0..400).map(|_| std::array::from_fn(|_| S::from_f64(cloud.side * random.unit()))).collect()
}

/// Returns the numbers of all ranks.
fn all_of(ranks: &dyn Communicator, own: &[[u64; 2]]) -> Vec<[u64; 2]> {
    let mut lengths = vec![0; 8 * ranks.size()];
    let bytes: Vec<u8> = own.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    ranks.all_gather_v(&(bytes.len() as u64).to_le_bytes(), &mut lengths, &vec![8; ranks.size()]).unwrap();
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let lengths: Vec<usize> = lengths.chunks(8).map(|bytes| number(bytes) as usize).collect();
    let mut all = vec![0; lengths.iter().sum()];
    ranks.all_gather_v(&bytes, &mut all, &lengths).unwrap();
    all.chunks(16).map(|two| [number(&two[..8]), number(&two[8..])]).collect()
}

fn each_hit_is_visited_once(ranks: &dyn Communicator) {
    let cloud = clouds::plummer::<f32, 3>();
    let points = queries(&cloud);
    let own = Distribution::Uneven.of(points.len(), ranks);
    let balls: Vec<Sphere<f32, 3>> = points.iter().map(|&center| Sphere { center, radius: 0.5 }).collect();
    let case = Case::new(ranks, &cloud, None, Distribution::Even);
    let bvh = case.build(ranks).batches_of(5);
    let seen = Mutex::new(vec![]);
    let (indices, stored) = (bvh.domain().indices(), bvh.domain().points());
    bvh.for_each_hit(&balls[own.clone()], |hit| {
        assert_eq!((indices[hit.row as usize], stored[hit.row as usize]), (hit.index, hit.position));
        assert_eq!(cloud.points[hit.index as usize], hit.position);
        // A sphere with a NaN has no hits.
        assert_eq!(*hit.query, balls[hit.number as usize]);
        seen.lock().unwrap().push([hit.number, hit.index]);
        ControlFlow::Continue(())
    })
    .unwrap();
    let mut all = all_of(ranks, &seen.into_inner().unwrap());
    all.sort_unstable();
    let lists = rows(&case.one.query_all(&balls));
    let expected = (0..).zip(&lists).flat_map(|(query, list)| list.iter().map(move |&index| [query, index]));
    assert_eq!(all, expected.collect::<Vec<_>>());
    // Each rank ends a query at its first hit.
    let seen = Mutex::new(vec![]);
    bvh.for_each_hit(&balls[own.clone()], |hit| {
        seen.lock().unwrap().push(hit.number);
        ControlFlow::Break(())
    })
    .unwrap();
    let seen = seen.into_inner().unwrap();
    let once: BTreeSet<u64> = seen.iter().copied().collect();
    assert_eq!(once.len(), seen.len());
    let all: BTreeSet<u64> =
        all_of(ranks, &seen.iter().map(|&query| [query, 0]).collect::<Vec<_>>()).iter().map(|two| two[0]).collect();
    let with_hits = (0..).zip(&lists).filter(|(_, list)| !list.is_empty()).map(|(query, _)| query);
    assert_eq!(all, with_hits.collect());
}

/// The traffic of queries in a rank's own region, which are nearly all answered there.
fn few_queries_go_to_several_ranks(ranks: &dyn Communicator) {
    let cloud: Cloud<f32, 3> = clouds::uniform("uniform", 8000, 0.0, 1.0, &[0.03], 1.0);
    let range = Distribution::Even.of(8000, ranks);
    let measured = Measured::new(ranks);
    let bvh = Bvh::build(&measured, &cloud.points[range]).unwrap();
    let own = bvh.domain().points().to_vec();
    let sent = |work: &dyn Fn()| {
        let before = measured.traffic().bytes;
        work();
        (measured.traffic().bytes - before) / own.len().max(1) as u64
    };
    let balls: Vec<_> = own.iter().map(|&center| Sphere { center, radius: 0.03 }).collect();
    let bytes = [
        sent(&|| drop(bvh.count_all(&balls).unwrap())),
        sent(&|| drop(bvh.nearest_all(&own, 1).unwrap())),
        sent(&|| drop(bvh.nearest_all(&own, 8).unwrap())),
    ];
    // A query that goes to another rank takes 40 bytes plus its results. If all did, 8 neighbours would take 200
    // bytes or more.
    if ranks.size() == 1 {
        assert_eq!(bytes, [0; 3]);
    } else if ranks.size() <= 4 {
        assert!(bytes[0] < 20 && bytes[1] < 40 && bytes[2] < 100, "{bytes:?}");
    }
}

fn refusals_are_known_to_all(ranks: &dyn Communicator) {
    let points = [[ranks.rank() as f32; 3]];
    let bvh = Bvh::build(ranks, &points).unwrap();
    let own = ranks.rank() as u32;
    let refused = |error: Error, name: &str| {
        assert_eq!(error.kind(), ErrorKind::Parameter);
        let sentence = format!("{name} is 1 on rank 1 and 0 on rank 0; the value must be equal on all ranks");
        assert_eq!(error.to_string(), sentence);
    };
    if ranks.size() > 1 {
        refused(bvh.neighbors(own as f64).unwrap_err(), "radius");
        refused(bvh.count_neighbors(own as f64).unwrap_err(), "radius");
        refused(bvh.pairs(own as f64).unwrap_err(), "radius");
        refused(bvh.count_pairs(own as f64).unwrap_err(), "radius");
        refused(bvh.nearest_neighbors(own as usize).unwrap_err(), "k");
        refused(bvh.nearest_all(&points, Nearest::new(1).within(own as f64)).unwrap_err(), "radius");
        refused(bvh.nearest_all(&points, Nearest::new(1).excluding(own)).unwrap_err(), "excluded");
    }
    let mut points = points;
    if ranks.rank() == ranks.size() - 1 {
        points[0][1] = f32::NAN;
    }
    let error = Bvh::build(ranks, &points).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFinite);
    assert!(error.to_string().ends_with("point 0: coordinate 1 is NaN; coordinates must be finite"));
    // All ranks can continue.
    assert_eq!(bvh.count_pairs(0.0).unwrap(), 0);
}
