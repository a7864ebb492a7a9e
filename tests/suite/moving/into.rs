//! Results in reused memory equal those in new memory.

use ropewalk::{Csr, Scalar};

use super::{build, cloud, moved, with_threads};

fn the_same<S: Scalar, const D: usize>(n: usize, side: Option<f64>) {
    let points = cloud::<S, D>(n, 30);
    let mut tree = build(&points, side);
    let (mut counts, mut lists, mut sums, mut strings) =
        (vec![7; 3], Csr::default(), vec![], vec!["before".to_string()]);
    for (step, radius) in [0.02, 0.1, 0.0, -1.0, f64::NAN, 0.05].into_iter().enumerate() {
        let points = moved(&points, 0.02, step as u64);
        let points = &points[..n - (n / 7) * (step % 3)];
        tree.rebuild(points).unwrap();
        tree.refit(&moved(points, 0.01, 99)).unwrap();
        tree.count_neighbors_into(radius, &mut counts);
        assert_eq!(counts, tree.count_neighbors(radius));
        tree.neighbors_into(radius, &mut lists);
        assert!(lists == tree.neighbors(radius), "{radius}");
        let sum = |i: u32, near: &[ropewalk::search::NeighborAt<D>]| -> f64 {
            near.iter().map(|near| near.distance2 * f64::from(near.index)).sum::<f64>() + f64::from(i)
        };
        tree.map_neighbors_into(radius, sum, &mut sums);
        assert_eq!(sums, tree.map_neighbors(radius, sum));
        tree.map_neighbors_into(radius, |i, near| format!("{i}: {}", near.len()), &mut strings);
        assert!(strings.iter().zip(&counts).enumerate().all(|(i, (text, count))| *text == format!("{i}: {count}")));
    }
}

#[test]
fn as_in_new_memory() {
    the_same::<f32, 2>(1500, None);
    the_same::<f64, 3>(1500, Some(1.0));
    the_same::<f64, 5>(300, None);
    the_same::<f32, 3>(0, None);
    the_same::<f32, 3>(1, Some(1.0));
    with_threads(5, || the_same::<f32, 3>(3000, Some(1.0)));
}

#[test]
fn of_boxes() {
    let points = cloud::<f64, 2>(900, 31);
    let boxes: Vec<_> = points.iter().map(|&lo| ropewalk::Aabb { lo, hi: lo.map(|x| x + 0.01) }).collect();
    let tree = build(&boxes, Some(1.0));
    let mut lists = Csr::default();
    tree.neighbors_into(0.02, &mut lists);
    assert!(lists == tree.neighbors(0.02));
}
