//! Distances that the library returns, passed back as limits: every call includes the points that they were measured
//! to.

use common::random::Random;
use ropewalk::cluster::Dendrogram;
use ropewalk::geometry::{BoxSize, distance_from_square};
use ropewalk::{Bvh, Dbscan, Fof, Hdbscan, Mesh, MinimumSpanningTree, Nearest, Scalar, Sphere, minimum_spanning_tree};
use ropewalk_table::{Points, Table, k_distances};

fn points<S: Scalar, const D: usize>(random: &mut Random, n: usize, offset: f64) -> Vec<[S; D]> {
    (0..n).map(|_| std::array::from_fn(|_| S::from_f64(offset + random.unit()))).collect()
}

fn check<S: Scalar, const D: usize>(random: &mut Random, offset: f64, side: Option<f64>) {
    let all = points::<S, D>(random, 100, offset);
    let tree = Bvh::build_periodic(&all, side).unwrap();
    let counts = |radius: f64| tree.count_neighbors(radius);
    for (i, list) in tree.nearest_neighbors(Nearest::new(4).excluding_self()).iter().enumerate().step_by(7) {
        for (rank, near) in list.iter().enumerate() {
            let (j, radius) = (near.index, near.distance());
            assert!(tree.neighbors(radius).of(i).contains(&j));
            assert!(counts(radius)[i] as usize >= rank + 2);
            assert!(tree.query(Sphere::new(all[i], radius)).any(|hit| hit == j));
            let within = tree.nearest(all[i], Nearest::new(9).within(radius));
            assert!(within.iter().any(|hit| hit.index == j));
            let pair = [i as u32, j];
            let is_pair = |found: &[u32; 2]| found.contains(&pair[0]) && found.contains(&pair[1]);
            assert!(tree.pairs(radius).iter().any(is_pair));
            let halos = Fof::new(radius).min_members(2).run_on(&tree).unwrap();
            assert!(halos.labels().get(i).is_some() && halos.labels().get(i) == halos.labels().get(j as usize));
            let labels = Dbscan::new(radius, rank + 2).run_on(&tree).unwrap();
            // It is a core point, and its neighbour is at least a border point.
            assert!(labels.get(i).is_some() && labels.get(j as usize).is_some());
        }
    }
    spanning(&all, &tree, side);
}

fn spanning<S: Scalar, const D: usize>(all: &[[S; D]], tree: &Bvh<S, D>, side: Option<f64>) {
    for min_samples in [1, 4] {
        let spanned = MinimumSpanningTree::new().min_samples(min_samples).periodic(side).run(all).unwrap();
        let heights: Vec<f64> = Dendrogram::new(&spanned).merges().iter().map(|merge| merge.height).collect();
        let clusters = Hdbscan::new(2).min_samples(min_samples).periodic(side).run(all).unwrap();
        for (edge, height) in spanned.edges().iter().zip(heights).step_by(3) {
            let (low, high) = (edge.low as usize, edge.high as usize);
            assert_eq!(edge.weight(), height);
            // The value of the edge in other programs is a valid limit, too.
            for length in [height, edge.weight2.sqrt()] {
                let labels = spanned.cut(length).unwrap();
                assert!(labels.get(low).is_some() && labels.get(low) == labels.get(high));
                let joined = labels.as_slice().iter().filter(|&&label| label >= 0).count() - labels.n_clusters();
                assert_eq!(joined, spanned.edges().iter().filter(|edge| edge.weight2.sqrt() <= length).count());
            }
            let labels = clusters.dbscan_labels(height).unwrap();
            assert!(labels.get(low).is_some() && labels.get(low) == labels.get(high));
            if min_samples == 1 {
                let halos = Fof::new(height).min_members(2).run_on(tree).unwrap();
                assert!(halos.labels().get(low).is_some() && halos.labels().get(low) == halos.labels().get(high));
            }
        }
    }
}

#[test]
fn distances_of_points() {
    let mut random = Random::new(51);
    for offset in [0.0, 1e3, 1e6] {
        check::<f64, 1>(&mut random, offset, None);
        check::<f64, 2>(&mut random, offset, None);
        check::<f64, 3>(&mut random, offset, None);
        check::<f32, 3>(&mut random, offset.min(1e3), None);
    }
    check::<f64, 3>(&mut random, 0.0, Some(1.0));
    check::<f32, 2>(&mut random, 0.0, Some(1.0));
    check::<f64, 7>(&mut random, 0.0, None);
}

#[test]
fn k_distances_make_core_points() {
    let mut random = Random::new(52);
    let all = points::<f64, 3>(&mut random, 400, 0.0);
    let table = Points::F64(Table::new(3, all.as_flattened().to_vec()).unwrap());
    let tree = Bvh::build(&all).unwrap();
    for (i, &eps) in k_distances(&table, 4, BoxSize::default()).unwrap().iter().enumerate() {
        let core = tree.count_neighbors(eps).iter().filter(|&&count| count > 4).count();
        assert!(core > i, "{core} {i}");
    }
}

#[test]
fn distances_of_meshes() {
    let mut random = Random::new(53);
    let corners = points::<f64, 3>(&mut random, 60, 0.0);
    let faces: Vec<[u32; 3]> = (0..80).map(|_| std::array::from_fn(|_| random.below(60) as u32)).collect();
    let mesh = Mesh::build(&corners, &faces).unwrap();
    for point in points::<f64, 3>(&mut random, 2000, 0.3) {
        let near = mesh.nearest(point).unwrap();
        assert_eq!(mesh.nearest_within(point, near.distance()), Some(near));
        assert_eq!(mesh.nearest_within(point, mesh.signed_distance(point).abs()), Some(near));
        assert_eq!(mesh.nearest_within(point, near.distance().next_down()), None);
    }
}

#[test]
fn edges_of_a_uniform_cloud() {
    let mut random = Random::new(54);
    let all = points::<f64, 3>(&mut random, 1000, 0.0);
    let tree = minimum_spanning_tree(&all).unwrap();
    for (rank, edge) in tree.edges().iter().enumerate() {
        assert_eq!(edge.weight(), distance_from_square(edge.weight2));
        let labels = tree.cut(edge.weight()).unwrap();
        let joined = labels.as_slice().iter().filter(|&&label| label >= 0).count() - labels.n_clusters();
        assert!(joined > rank);
    }
}
