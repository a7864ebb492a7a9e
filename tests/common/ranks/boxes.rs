//! The check that the points of all ranks fit a periodic box, compared with one process.

use ropewalk::distributed::Communicator;
use ropewalk_io::{Points, Table};
use ropewalk_table::{check_box_across, check_sides_across};

use super::distributions::distributions;
use crate::random::Random;

super::scenario::scenarios![points_fit_their_box];

/// Results equal those of one process. The points of one rank span little, and those of all ranks span more than the
/// box.
fn points_fit_their_box(ranks: &dyn Communicator) {
    let mut random = Random::new(11);
    // Sorted, so that each rank has a slab.
    let mut rows: Vec<[f64; 3]> = (0..90).map(|_| std::array::from_fn(|_| 10.0 * random.unit() - 2.0)).collect();
    rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
    rows[0][0] = -2.0;
    rows[89][0] = 8.0;
    for share in distributions() {
        let of = |rows: &[[f64; 3]], is_wide: bool| {
            if is_wide {
                return Points::F64(Table::new(3, rows.concat()).unwrap());
            }
            Points::F32(Table::new(3, rows.as_flattened().iter().map(|&x| x as f32).collect()).unwrap())
        };
        for is_wide in [true, false] {
            let (all, own) = (of(&rows, is_wide), of(&rows[share.of(90, ranks)], is_wide));
            for side in [10.0, 9.5, 5.5, 4.5, 0.0, -1.0, f64::NAN, f64::INFINITY] {
                for is_of_file in [true, false] {
                    same(check_box_across(ranks, &own, side, is_of_file), all.check_box(side, is_of_file));
                }
                for sides in [[side; 3], [20.0, 20.0, side], [side, 20.0, 20.0]] {
                    same(check_sides_across(ranks, &own, &sides), all.check_sides(&sides));
                }
            }
        }
    }
    let none = Points::F32(Table::new(3, vec![]).unwrap());
    assert_eq!(check_box_across(ranks, &none, 1.0, false).unwrap(), 0);
    assert!(check_box_across(ranks, &of_rank(ranks), 5.0, false).is_err() == (ranks.size() > 1));
}

/// Returns one point for each rank, 10 apart along each axis.
fn of_rank(ranks: &dyn Communicator) -> Points {
    Points::F32(Table::new(3, vec![10.0 * ranks.rank() as f32; 3]).unwrap())
}

fn same<T: PartialEq + std::fmt::Debug>(across: ropewalk::Result<T>, one: ropewalk::Result<T>) {
    let text = |error: ropewalk::Error| error.to_string().trim_start_matches("rank 0: ").to_string();
    assert_eq!(across.map_err(text), one.map_err(text));
}
