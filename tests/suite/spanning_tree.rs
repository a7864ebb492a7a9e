//! Minimum spanning trees, compared edge by edge with Prim's algorithm with the total order.
//! `tests/oracle/spanning_tree.py` compares up to 200,000 points with scipy and quitefastmst.

use common::clouds::{self, Cloud};
use common::data::root;
use common::oracle;
use common::random::Random;
use ropewalk::cluster::{Dendrogram, Edge, SpanningTree};
use ropewalk::{ErrorKind, Fof, MinimumSpanningTree, Scalar, minimum_spanning_tree};
use ropewalk_io::{ReadOptions, read};
use ropewalk_table::Points;

fn edges(tree: &SpanningTree) -> Vec<(f64, u32, u32)> {
    tree.edges().iter().map(|edge| (edge.weight2, edge.low, edge.high)).collect()
}

fn compare<S: Scalar, const D: usize>(cloud: &Cloud<S, D>) {
    let Cloud { name, points, side, .. } = cloud;
    for min_samples in [1, 2, 5, 40] {
        if min_samples > points.len() {
            continue;
        }
        for side in [None, Some(*side)] {
            let wrapped: Vec<_> = points.iter().map(|point| oracle::wrap_point(point, side)).collect();
            let expected = oracle::spanning_tree(&wrapped, min_samples, 1.0, side);
            let tree = MinimumSpanningTree::new().min_samples(min_samples).periodic(side).run(points).unwrap();
            assert_eq!(edges(&tree), expected, "{name}, {min_samples} samples, {side:?}");
        }
    }
}

#[test]
fn clouds_in_f32() {
    clouds::small::<f32, 2>().iter().for_each(compare);
    clouds::small::<f32, 3>().iter().for_each(compare);
}

#[test]
fn clouds_in_f64() {
    clouds::small::<f64, 1>().iter().for_each(compare);
    clouds::small::<f64, 3>().iter().for_each(compare);
    clouds::small::<f64, 5>().iter().for_each(compare);
}

/// Few different distances, so that many edges have equal weights.
#[test]
fn lattices_and_copies() {
    let mut random = Random::new(3);
    for (n, cells) in [(300, 3), (1500, 6), (3000, 12)] {
        let mut point = || std::array::from_fn(|_| random.below(cells) as f32);
        let points: Vec<[f32; 3]> = (0..n).map(|_| point()).collect();
        compare(&Cloud { name: "lattice with copies", points, radii: vec![], side: cells as f64 });
    }
}

/// Squares of most distances underflow in `f32`, while those of others are large.
#[test]
fn distances_of_all_magnitudes() {
    let mut random = Random::new(5);
    let sizes = [1e30f32, 1.0, 1e-10, 1e-30, 1e-44, 0.0];
    let clouds = (0..900).map(|i| std::array::from_fn(|_| random.unit() as f32 * sizes[i % sizes.len()])).collect();
    compare::<f32, 3>(&Cloud { name: "clouds within clouds", points: clouds, radii: vec![], side: 2e30 });
    for far in [1e12, 1e30, 1e38] {
        let mut point = || std::array::from_fn(|_| random.below(6) as f32 * 1e-20);
        let mut points: Vec<[f32; 2]> = (0..600).map(|_| point()).collect();
        points.push([far; 2]);
        compare(&Cloud {
            name: "lattice with copies, and a point far away",
            points,
            radii: vec![],
            side: 2.0 * f64::from(far),
        });
    }
    let exponential = (0..700).map(|_| {
        let size = 10f64.powf(76.0 * random.unit() - 38.0);
        std::array::from_fn(|_| ((random.unit() - 0.5) * size) as f32)
    });
    let points: Vec<[f32; 6]> = exponential.collect();
    compare(&Cloud { name: "exponential", points, radii: vec![], side: 3e38 });
}

/// Powers of two, whose squares divide exactly.
#[test]
fn alpha() {
    for cloud in clouds::small::<f64, 2>() {
        let points = &cloud.points;
        for (alpha, min_samples) in [(0.5, 1), (0.25, 5), (2.0, 5), (8.0, 3)] {
            if min_samples <= points.len() {
                let expected = oracle::spanning_tree(points, min_samples, alpha, None);
                let tree = MinimumSpanningTree::new().min_samples(min_samples).alpha(alpha).run(points).unwrap();
                assert_eq!(edges(&tree), expected, "{}, {min_samples} samples, alpha {alpha}", cloud.name);
            }
        }
    }
}

/// Two million copies of one point: the tree is a star around point 0.
#[test]
fn copies_of_one_point() {
    let n = 2_000_000;
    let tree = minimum_spanning_tree(&vec![[0.5f32, 0.25, 0.125]; n]).unwrap();
    assert!(tree.edges().iter().zip(1..).all(|(edge, other)| (edge.low, edge.high, edge.weight2) == (0, other, 0.0)));
    assert_eq!(tree.edges().len(), n - 1);
}

/// The tree is the same for any number of threads, in every run.
#[test]
fn threads() {
    let cloud = clouds::uniform::<f32, 3>("uniform", 20_000, 0.0, 1.0, &[], 1.0);
    let run = |min_samples| MinimumSpanningTree::new().min_samples(min_samples).run(&cloud.points).unwrap();
    let expected = [run(1), run(6)];
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for _ in 0..4 {
            assert!(pool.install(|| [run(1), run(6)]) == expected, "{threads} threads");
        }
    }
}

#[test]
fn bad_input() {
    let points = [[0.0f32], [1.0]];
    for min_samples in [0, 3] {
        let error = MinimumSpanningTree::new().min_samples(min_samples).run(&points).unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::Parameter, Some("min_samples")), "{error}");
    }
    assert_eq!(minimum_spanning_tree(&[[f64::NAN]]).unwrap_err().kind(), ErrorKind::NotFinite);
    assert!(minimum_spanning_tree::<[f32; 2], f32, 2>(&[]).unwrap().edges().is_empty());
    assert!(minimum_spanning_tree(&[[1.0f32]]).unwrap().edges().is_empty());
}

/// One tree gives the halos of all linking lengths. Linking lengths equal to lattice distances are ties.
#[test]
fn cuts_are_friends_of_friends() {
    let mut lattice = clouds::whole_lattice::<f32, 3>();
    lattice.radii = vec![0.0, 0.99, 1.0, 1.5, 2.0];
    for cloud in [clouds::clustered(), clouds::plummer(), lattice] {
        for side in [None, Some(cloud.side)] {
            let tree = MinimumSpanningTree::new().periodic(side).run(&cloud.points).unwrap();
            for &radius in &cloud.radii {
                if side.is_some_and(|side| 2.0 * radius > side) {
                    continue;
                }
                let halos = Fof::new(radius).periodic(side).run(&cloud.points).unwrap();
                assert_eq!(tree.cut(radius).unwrap(), *halos.labels(), "{} at {radius}", cloud.name);
            }
        }
    }
}

/// Cuts of a simulation's tree, from lengths with hardly any groups to one with a single large group.
#[test]
fn cuts_of_the_sample() {
    let options = ReadOptions::default();
    let points = read(root().join("data/p3m_64.gadget2"), &options).unwrap().points;
    let Points::F32(table) = &points else { panic!("the sample is in f32") };
    let positions = table.rows::<3>().unwrap();
    for side in [None, Some(32.0)] {
        let options = MinimumSpanningTree::new().periodic(side);
        let tree = ropewalk_table::minimum_spanning_tree(&points, &options).unwrap();
        assert_eq!(tree, options.run(positions).unwrap());
        // From 0.002 to 2 mean separations.
        for step in 0..20 {
            let length = 0.001 * 10f64.powf(3.0 * f64::from(step) / 19.0);
            let halos = Fof::new(length).periodic(side).run(positions).unwrap();
            assert_eq!(tree.cut(length).unwrap(), *halos.labels(), "{length}, {side:?}");
            let groups = halos.labels().n_clusters();
            assert!(groups > 0 && (step < 19 || halos.members(0).len() > positions.len() / 2), "{length}: {groups}");
        }
    }
}

/// Merges, compared with sets of points that are united edge by edge.
#[test]
fn merges_are_unions() {
    for cloud in clouds::small::<f64, 2>() {
        let n = cloud.points.len();
        let tree = minimum_spanning_tree(&cloud.points).unwrap();
        let dendrogram = Dendrogram::new(&tree);
        let mut clusters: Vec<Option<Vec<usize>>> = (0..n).map(|i| Some(vec![i])).collect();
        let mut cophenetic = vec![vec![0.0; n]; n];
        for (merge, edge) in dendrogram.merges().iter().zip(tree.edges()) {
            let [a, b] =
                merge.clusters.map(|cluster| clusters[cluster as usize].take().expect("a cluster merges once"));
            assert!(merge.clusters[0] < merge.clusters[1]);
            for (&i, &j) in a.iter().flat_map(|i| b.iter().map(move |j| (i, j))) {
                (cophenetic[i][j], cophenetic[j][i]) = (merge.height, merge.height);
            }
            let both = [a, b].concat();
            assert!(both.contains(&(edge.low as usize)) && both.contains(&(edge.high as usize)));
            assert_eq!(
                (merge.size as usize, merge.height),
                (both.len(), ropewalk::geometry::distance_from_square(edge.weight2))
            );
            clusters.push(Some(both));
        }
        for (i, row) in cophenetic.iter().enumerate() {
            for (j, &height) in row.iter().enumerate() {
                assert_eq!(dendrogram.cophenetic_distance(i, j), height, "{} {i} {j}", cloud.name);
            }
        }
        for count in [1, 2, 7, n] {
            if (1..=n).contains(&count) {
                let labels = tree.cut_into(count).unwrap();
                assert_eq!((labels.n_clusters(), labels.n_noise()), (count, 0), "{}", cloud.name);
            }
        }
        assert!(tree.cut_into(0).is_err() && tree.cut_into(n + 1).is_err() && tree.cut(-1.0).is_err());
    }
}

#[test]
fn trees_from_elsewhere() {
    let points: Vec<[f64; 2]> = (0..50).map(|i| [f64::from(i % 7), f64::from(i * i % 11)]).collect();
    let tree = MinimumSpanningTree::new().min_samples(3).run(&points).unwrap();
    assert_eq!(SpanningTree::from_edges(50, tree.edges().to_vec()).unwrap(), tree);
    for n in [0, 1] {
        assert_eq!(SpanningTree::from_edges(n, vec![]).unwrap().n_points(), n);
    }
    let refused = |n: usize, edges: &[(u32, u32, f64)]| {
        let edges = edges.iter().map(|&(low, high, weight2)| Edge { low, high, weight2 }).collect();
        let error = SpanningTree::from_edges(n, edges).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Parameter);
        error
    };
    for n in [0, 3] {
        assert!(refused(n, &[(0, 1, 1.0)]).to_string().contains("edges.len() is 1"));
    }
    let about = |n: usize, edges: &[(u32, u32, f64)]| {
        let error = refused(n, edges);
        (error.parameter(), error.index())
    };
    for second in [(2, 1, 1.0), (2, 2, 1.0), (1, 3, 1.0), (1, 2, f64::NAN), (1, 2, 0.5), (0, 1, 2.0), (0, 1, 1.0)] {
        assert_eq!(about(3, &[(0, 1, 1.0), second]), (Some("edges"), Some(1)), "{second:?}");
    }
    assert_eq!(about(2, &[(0, 1, -1.0)]), (Some("edges"), Some(0)));
}
