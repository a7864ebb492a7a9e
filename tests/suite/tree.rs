//! The tree itself: valid for any input, the same for any number of threads, and of maximum depth.

use common::clouds::{self, Cloud};
use common::random::Random;
use ropewalk::internals::LEAF;
use ropewalk::reference::BruteForce;
use ropewalk::{Bvh, Nearest, Scalar, Sphere};

fn with_threads<R: Send>(threads: usize, task: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(task)
}

/// Builds a tree of every prefix of up to 100 points, and of some longer ones.
fn every_size_is_sound<S: Scalar, const D: usize>() {
    let mut random = Random::new(10);
    for cloud in clouds::all::<S, D>() {
        let n = cloud.points.len();
        let sizes = (0..=n.min(100)).chain((0..5).map(|_| random.below(n + 1))).chain([n]);
        for size in sizes {
            let points = &cloud.points[..size];
            for tree in [Bvh::build(points), Bvh::build_periodic(points, cloud.side)] {
                let tree = tree.unwrap();
                tree.validate().unwrap_or_else(|error| panic!("{size} points of {}: {error}", cloud.name));
                assert_eq!(tree.len(), size);
                assert_eq!(tree.nodes().is_empty(), size == 0);
            }
        }
    }
}

#[test]
fn every_size_is_sound_in_f32() {
    every_size_is_sound::<f32, 2>();
    every_size_is_sound::<f32, 3>();
}

#[test]
fn every_size_is_sound_in_f64() {
    every_size_is_sound::<f64, 1>();
    every_size_is_sound::<f64, 3>();
    every_size_is_sound::<f64, 10>();
}

#[test]
fn nodes_do_not_depend_on_threads() {
    // Enough points for several tasks in every parallel phase.
    let mut clouds: Vec<Cloud<f32, 3>> = clouds::all();
    clouds.push(clouds::uniform("uniform", 150_000, 0.0, 1.0, &[], 1.0));
    clouds.push(clouds::geometric(100_000));
    for cloud in clouds {
        let build = |threads| with_threads(threads, || Bvh::build(&cloud.points).unwrap());
        let one = build(1);
        one.validate().unwrap();
        for threads in [2, 5] {
            let many = build(threads);
            assert!(many.nodes() == one.nodes(), "{} with {threads} threads", cloud.name);
            assert!(many.order() == one.order(), "{} with {threads} threads", cloud.name);
        }
    }
}

#[test]
fn order_is_a_permutation_and_equal_points_keep_theirs() {
    let bvh = Bvh::build(&[[0.5f32, 0.5]; 1000]).unwrap();
    assert!(bvh.order().iter().copied().eq(0..1000));
}

/// Returns the number of nodes on the longest path from the root.
fn depth<S: Scalar, const D: usize>(tree: &Bvh<S, D>) -> usize {
    let nodes = tree.nodes();
    let mut depth = vec![1; nodes.len()];
    for at in 0..nodes.len() {
        let is_leaf = nodes[at].rope as usize == at + 1;
        if !is_leaf {
            let (left, right) = (at + 1, nodes[at + 1].rope as usize);
            (depth[left], depth[right]) = (depth[at] + 1, depth[at] + 1);
        }
    }
    depth.into_iter().max().unwrap_or(0)
}

/// Such a tree needs a stack of more than 64 entries, and losing an entry would lose neighbours.
fn deep_trees_lose_nothing<S: Scalar, const D: usize>() {
    let cloud: Cloud<S, D> = clouds::geometric(512 * LEAF);
    let tree = Bvh::build(&cloud.points).unwrap();
    tree.validate().unwrap();
    assert!(depth(&tree) > 70, "only {} deep", depth(&tree));

    let brute = BruteForce::build(&cloud.points).unwrap();
    let asked = &cloud.points[cloud.points.len() - 100..];
    for wanted in [Nearest::new(1), Nearest::new(70), Nearest::new(20).within(0.1)] {
        assert!(tree.nearest_all(asked, wanted) == brute.nearest_all(asked, wanted), "{wanted:?}");
    }
    for &center in asked {
        let ball = Sphere::new(center, 0.01);
        assert_eq!(tree.query(ball).count(), brute.query(ball).count());
    }
    assert_eq!(tree.count_neighbors(0.01), brute.count_neighbors(0.01));
}

#[test]
fn deep_trees_lose_nothing_in_f32() {
    deep_trees_lose_nothing::<f32, 2>();
    deep_trees_lose_nothing::<f32, 3>();
}

#[test]
fn deep_trees_lose_nothing_in_f64() {
    deep_trees_lose_nothing::<f64, 1>();
}
