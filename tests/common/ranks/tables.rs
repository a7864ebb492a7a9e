//! Distributed tables, whose dimension and type are known at run time, compared with one process.

use ropewalk::distributed::Communicator;
use ropewalk::{Dbscan, Fof, Scalar};
use ropewalk_table::{Points, Table};

use super::distributions::{Distribution, distributions};
use crate::clouds::{self, Cloud};

super::scenario::scenarios![
    tables_of_all_kinds,
    halos_are_numbered_by_size,
    tables_that_differ_are_refused,
    calls_that_differ_are_refused
];

/// Compares results for clouds, converted to tables by `of`.
fn agree_with_one<S: Scalar, const D: usize>(
    ranks: &dyn Communicator,
    clouds: &[Cloud<S, D>],
    shares: &[Distribution],
    of: fn(Table<S>) -> Points,
) {
    let table = |points: &[[S; D]]| of(Table::new(D, points.as_flattened().to_vec()).unwrap());
    for Cloud { name, points, radii, side } in clouds {
        let radius = radii[0] * if D > 3 { 3.0 } else { 1.0 };
        let spaces = [None, Some(*side).filter(|side| *side >= 2.0 * radius)];
        for (size, share) in spaces.into_iter().flat_map(|size| shares.iter().map(move |share| (size, share))) {
            let range = share.of(points.len(), ranks);
            let (own, all) = (table(&points[range.clone()]), table(points));
            let context = format!("{name} in {D} dimensions, {size:?}, {share:?}");
            let fof = Fof::new(radius).min_members(3).periodic(size);
            let (halos, expected) =
                (ropewalk_table::fof_across(ranks, &own, &fof).unwrap(), ropewalk_table::fof(&all, &fof).unwrap());
            let numbers: Vec<i64> = expected.halo_of_points().iter().map(|&halo| halo.into()).collect();
            assert_eq!(halos.halo_of_points(ranks).unwrap(), numbers[range.clone()], "{context}");
            assert_eq!(halos.owned().boundary(), expected.boundary(), "{context}");
            for (members, &place) in halos.owned().iter().zip(halos.catalog_rows(ranks).unwrap()) {
                let members: Vec<u32> = members.iter().map(|&at| halos.indices()[at as usize] as u32).collect();
                assert_eq!(members, expected.members(place as usize), "{context}");
            }
            let dbscan = Dbscan::new(radius, 4).periodic(size);
            let labels = ropewalk_table::dbscan_across(ranks, &own, &dbscan).unwrap();
            let expected = ropewalk_table::dbscan(&all, &dbscan).unwrap();
            for (own, point) in range.enumerate() {
                let one = (expected.get(point).map(u64::from), expected.is_core(point));
                assert_eq!((labels.get(own), labels.is_core(own)), one, "{context}, point {point}");
            }
        }
    }
}

fn tables_of_all_kinds(ranks: &dyn Communicator) {
    agree_with_one::<f32, 2>(ranks, &clouds::small(), &[Distribution::Uneven], Points::F32);
    agree_with_one::<f32, 3>(ranks, &clouds::small(), &[Distribution::OneEmpty], Points::F32);
    agree_with_one::<f64, 2>(ranks, &clouds::small(), &[Distribution::OneEmpty], Points::F64);
    agree_with_one::<f64, 3>(ranks, &clouds::small(), &[Distribution::Uneven], Points::F64);
    // Other dimensions are padded to a larger one.
    agree_with_one::<f32, 1>(ranks, &[clouds::clustered(), clouds::whole_lattice()], &distributions(), Points::F32);
    agree_with_one::<f64, 4>(ranks, &[clouds::clustered()], &[Distribution::Uneven], Points::F64);
    agree_with_one::<f32, 7>(ranks, &[clouds::clustered()], &[Distribution::First], Points::F32);
}

/// Rows of points along an axis, of known lengths, with interleaved indices.
fn halos_are_numbered_by_size(ranks: &dyn Communicator) {
    let lengths = [2, 5, 2, 3, 5, 1, 9, 2];
    let mut points: Vec<(usize, f64)> = lengths
        .iter()
        .enumerate()
        .flat_map(|(row, &length)| (0..length).map(move |at| (row, 100.0 * row as f64 + f64::from(at))))
        .collect();
    points.sort_by_key(|&(row, x)| (x as u64 % 100, row));
    // By decreasing length, ties by the first point of a row.
    let number_of_row = [4, 1, 5, 3, 2, -1, 0, 6];
    for share in distributions() {
        let range = share.of(points.len(), ranks);
        let own = Table::new(1, points[range.clone()].iter().map(|point| point.1).collect()).unwrap();
        let halos = ropewalk_table::fof_across(ranks, &Points::F64(own), &Fof::new(1.0)).unwrap();
        let expected: Vec<i64> = points[range].iter().map(|point| number_of_row[point.0]).collect();
        assert_eq!(halos.halo_of_points(ranks).unwrap(), expected, "{share:?}");
    }
}

/// All ranks have the same error.
fn tables_that_differ_are_refused(ranks: &dyn Communicator) {
    let (rank, is_last) = (ranks.rank(), ranks.rank() + 1 == ranks.size());
    let (last, is_alone) = (ranks.size() - 1, ranks.size() == 1);
    let wide = Points::F64(Table::new(2, vec![rank as f64, 0.0]).unwrap());
    let others = [
        (
            Points::F64(Table::new(3, vec![0.0; 3]).unwrap()),
            format!("coordinates per point is 3 on rank {last} and 2 on rank 0;"),
        ),
        (
            Points::F32(Table::new(2, vec![]).unwrap()),
            format!("bits per coordinate (float32 or float64) is 32 on rank {last} and 64 on rank 0;"),
        ),
    ];
    for (other, sentence) in &others {
        let own = if is_last { other } else { &wide };
        let results = [
            ropewalk_table::fof_across(ranks, own, &Fof::new(1.0)).map(drop),
            ropewalk_table::dbscan_across(ranks, own, &Dbscan::new(1.0, 2)).map(drop),
        ];
        for result in results {
            match result {
                Err(error) => assert_eq!(error.to_string(), format!("{sentence} the value must be equal on all ranks")),
                Ok(()) => assert!(is_alone),
            }
        }
    }
    // A box that does not fit the points on one rank.
    let sides = if is_last { vec![4.0; 3] } else { vec![4.0; 2] };
    let found = ropewalk_table::fof_across(ranks, &wide, &Fof::new(1.0).periodic(sides));
    assert!(found.unwrap_err().to_string().contains("3 sides"));
}

fn calls_that_differ_are_refused(ranks: &dyn Communicator) {
    let points = Points::F64(Table::new(2, vec![0.0, 0.0]).unwrap());
    let result = match ranks.rank() {
        0 => ropewalk_table::fof_across(ranks, &points, &Fof::new(1.0)).map(drop),
        _ => ropewalk_table::dbscan_across(ranks, &points, &Dbscan::new(1.0, 2)).map(drop),
    };
    match result {
        Err(error) => assert!(error.to_string().starts_with("rank 1 and rank 0 call different functions")),
        Ok(()) => assert_eq!(ranks.size(), 1),
    }
}
