//! Random queries on random points, compared with loops that share no code with the crate.
//!
//! Each run uses 60 seeds. To try more or other seeds, give a range:
//!
//! ```sh
//! ROPEWALK_SEEDS=1000..20000 cargo test --release --test suite attack
//! ```
//!
//! A failure reports its seed and its type; `ROPEWALK_SEEDS=1234..1235` runs that seed only.

use std::ops::Range;
use std::sync::{LazyLock, Mutex};

use common::random::Random;
use rayon::ThreadPool;
use ropewalk::cluster::DbscanAlgorithm;
use ropewalk::reference::{fof_all_pairs, fof_bins};
use ropewalk::search::Neighbor;
use ropewalk::{Aabb, Bvh, Csr, Dbscan, Fof, Labels, Nearest, Scalar, Sphere};

/// The default range of seeds.
const SEEDS: Range<u64> = 0..60;
/// Pools of one and four threads, which seeds use alternately.
static POOLS: LazyLock<[ThreadPool; 2]> =
    LazyLock::new(|| [1, 4].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()));

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("ROPEWALK_SEEDS") else { return SEEDS };
    let parsed = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    parsed.unwrap_or_else(|| panic!("ROPEWALK_SEEDS is {text}; it must be two numbers, as in 0..100"))
}

/// A point cloud, and the periodic box to query it in.
struct Cloud<S, const D: usize> {
    points: Vec<[S; D]>,
    /// A characteristic length.
    scale: f64,
    side: Option<f64>,
}

fn cloud<S: Scalar, const D: usize>(random: &mut Random) -> Cloud<S, D> {
    let n = match random.below(10) {
        0 => random.below(4),
        1 => 30 + random.below(8),
        _ => random.below(400),
    };
    let is_narrow = Into::<f64>::into(S::MAX) < 1e39;
    let scale = match random.below(12) {
        0 => [f64::from_bits(60), 3e-44][usize::from(is_narrow)],
        1 => [1e-160, 1e-36][usize::from(is_narrow)],
        2 => [9e149, 3e38][usize::from(is_narrow)],
        3 => [1e22, 1e18][usize::from(is_narrow)],
        4 => 2f64.powi(random.below(80) as i32 - 40),
        _ => 1.0,
    };
    let kind = random.below(10);
    let places: Vec<[f64; D]> = (0..1 + random.below(9)).map(|_| std::array::from_fn(|_| random.unit())).collect();
    let steps = 2 + random.below(9);
    let offset = if random.below(8) == 0 && scale == 1.0 { 1e6 } else { 0.0 };
    let points: Vec<[f64; D]> = (0..n)
        .map(|i| {
            let size = 1e-3f64.powi((i % 7) as i32);
            let along = random.unit();
            std::array::from_fn(|k| match kind {
                // Ties, also on the faces of a box of side 1, and points beyond the faces.
                0 => random.below(steps + 1) as f64 / steps as f64,
                1 => (random.below(3 * steps) as f64 - steps as f64) * 0.1,
                2 => places[i % places.len()][k],
                3 => places[i % places.len()][k] + 0.01 * random.normal(),
                4 => along,
                5 => {
                    if k == 0 {
                        along
                    } else {
                        0.5
                    }
                }
                6 => size * random.unit(),
                7 if i == 0 => 1e8,
                8 => 3.0 * random.unit() - 1.0,
                _ => random.unit(),
            })
        })
        .collect();
    let most = S::LIMIT;
    let stored = |x: f64| S::from_f64((x * scale + offset).clamp(-most, most));
    let points = points.into_iter().map(|point| point.map(stored)).collect();
    let side = match random.below(5) {
        0 | 1 => None,
        2 => Some(1.3),
        _ => Some(1.0),
    };
    let side = side.map(|side: f64| (side * scale).min(1e150)).filter(|&side| side > 0.0);
    Cloud { points, scale, side }
}

/// Returns the points as stored: in a periodic box the remainder, in the type of the coordinates. If rounding leaves
/// the box, the result is the other face.
fn inside<S: Scalar, const D: usize>(points: &[[S; D]], side: Option<f64>) -> Vec<[S; D]> {
    let wrap = |x: S| match side {
        Some(side) if x.into() < 0.0 || x.into() > side => {
            let x = S::from_f64(x.into().rem_euclid(side));
            if x.into() > side { S::ZERO } else { x }
        }
        _ => x,
    };
    points.iter().map(|point| point.map(wrap)).collect()
}

/// Returns the squared distance to the nearest image, axis by axis.
fn distance2<S: Scalar, const D: usize>(a: &[S; D], b: &[S; D], side: Option<f64>) -> f64 {
    let mut sum = 0.0;
    for k in 0..D {
        let d = Into::<f64>::into(a[k]) - Into::<f64>::into(b[k]);
        let mut least = d.abs();
        for image in side.iter().flat_map(|side| [d - side, d + side]) {
            least = least.min(image.abs());
        }
        sum += least * least;
    }
    sum
}

/// The data of a query: points, tree, and reference results.
struct QueryCase<S, const D: usize> {
    seed: u64,
    random: Random,
    cloud: Cloud<S, D>,
    /// The points as stored.
    points: Vec<[S; D]>,
    tree: Bvh<S, D>,
    eps: f64,
    /// The squared distances of all pairs.
    distances2: Vec<Vec<f64>>,
    /// The points within `eps` of each point, ascending.
    near: Vec<Vec<u32>>,
}

impl<S: Scalar, const D: usize> QueryCase<S, D> {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let cloud = cloud::<S, D>(&mut random);
        let side = cloud.side;
        let points = inside(&cloud.points, side);
        let tree = side.map_or_else(|| Bvh::build(&cloud.points), |side| Bvh::build_periodic(&cloud.points, side));
        let distances2: Vec<Vec<f64>> =
            points.iter().map(|a| points.iter().map(|b| distance2(a, b, side)).collect()).collect();
        let eps = match random.below(8) {
            0 => 0.0,
            1 => side.unwrap_or(cloud.scale) / 2.0,
            2 => cloud.scale * 0.1,
            3 => cloud.scale * 0.2,
            4 => cloud.scale * random.unit() * 0.05,
            // The distance of a random pair, up to rounding.
            _ if !points.is_empty() => distances2[random.below(points.len())][random.below(points.len())].sqrt(),
            _ => 1.0,
        };
        let eps = eps.min(side.map_or(f64::INFINITY, |side| side / 2.0));
        let of = |list: &Vec<f64>| (0..).zip(list).filter(|(_, d2)| **d2 <= eps * eps).map(|(i, _)| i).collect();
        let near = distances2.iter().map(of).collect();
        Self { seed, random, cloud, points, tree: tree.unwrap(), eps, distances2, near }
    }

    fn what(&self, question: &str) -> String {
        let (seed, scalar, side) = (self.seed, std::any::type_name::<S>(), self.cloud.side);
        format!("seed {seed}, {D} x {scalar}, n {}, side {side:?}, eps {:e}: {question}", self.points.len(), self.eps)
    }

    /// Returns a point to query, which may be stored or not.
    fn place(&mut self) -> [S; D] {
        let random = &mut self.random;
        if !self.points.is_empty() && random.below(3) > 0 {
            return self.cloud.points[random.below(self.points.len())];
        }
        let scale = self.cloud.scale * if random.below(4) == 0 { 5.0 } else { 1.0 };
        std::array::from_fn(|_| S::from_f64((scale * (1.4 * random.unit() - 0.2)).clamp(-S::LIMIT, S::LIMIT)))
    }

    fn neighbors(&self) {
        let tree = &self.tree;
        tree.validate().unwrap();
        assert!(sorted(&tree.neighbors(self.eps)) == self.near, "{}", self.what("neighbors"));
        let counts: Vec<u32> = self.near.iter().map(|list| list.len() as u32).collect();
        assert!(tree.count_neighbors(self.eps) == counts, "{}", self.what("count_neighbors"));
        let expected: Vec<(u32, u32)> = (0..)
            .zip(&self.near)
            .flat_map(|(i, list)| list.iter().filter(move |&&j| i < j).map(move |&j| (i, j)))
            .collect();
        let pairs = Mutex::new(vec![]);
        tree.for_each_pair(self.eps, |i, j| pairs.lock().unwrap().push((i, j)));
        let mut pairs = pairs.into_inner().unwrap();
        pairs.sort_unstable();
        assert!(pairs == expected, "{}", self.what("for_each_pair"));
        assert_eq!(tree.count_pairs(self.eps), expected.len() as u64, "{}", self.what("count_pairs"));
    }

    fn nearest(&mut self) {
        let n = self.points.len();
        let k = [0, 1, 2, 5, 33, 34, 35, 64, 65, n, n + 3, usize::MAX][self.random.below(12)];
        let radius = if self.random.below(2) == 0 { f64::INFINITY } else { self.eps };
        let by_definition = |of: &mut dyn Iterator<Item = (f64, u32)>, excluded: Option<u32>| {
            let mut near: Vec<(f64, u32)> =
                of.filter(|&(d2, i)| d2 <= radius * radius && Some(i) != excluded).collect();
            near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            near.truncate(k);
            near
        };
        let wanted = Nearest::new(k).within(radius);
        for own in [false, true] {
            let wanted = if own { wanted.excluding_self() } else { wanted };
            let graph = self.tree.nearest_neighbors(wanted);
            assert!(graph == self.tree.nearest_all(&self.cloud.points, wanted), "{}", self.what("nearest_all"));
            for (i, found) in graph.iter().enumerate() {
                let all = &mut self.distances2[i].iter().copied().zip(0..);
                let expected = by_definition(all, own.then_some(i as u32));
                assert!(pairs(found) == expected, "{}", self.what(&format!("the {k} nearest of {i}, {own}")));
            }
        }
        let places: Vec<[S; D]> = (0..10).map(|_| self.place()).collect();
        let excluded = (n > 0).then(|| self.random.below(n) as u32);
        let wanted = excluded.map_or(wanted, |index| wanted.excluding(index));
        let lists = self.tree.nearest_all(&places, wanted);
        for (place, list) in inside(&places, self.cloud.side).iter().zip(lists.iter()) {
            let all = &mut self.points.iter().map(|point| distance2(place, point, self.cloud.side)).zip(0..);
            assert!(
                pairs(list) == by_definition(all, excluded),
                "{}",
                self.what(&format!("the {k} nearest of {place:?}"))
            );
        }
        for (place, list) in places.iter().zip(lists.iter()) {
            assert!(self.tree.nearest(*place, wanted) == list, "{}", self.what("nearest"));
        }
    }

    fn queries(&mut self) {
        let side = self.cloud.side;
        let places: Vec<[S; D]> = (0..12).map(|_| self.place()).collect();
        let balls: Vec<Sphere<S, D>> = places.iter().map(|&place| Sphere::new(place, self.eps)).collect();
        let expected: Vec<Vec<u32>> = inside(&places, side)
            .iter()
            .map(|place| self.hits(|point| distance2(place, point, side) <= self.eps * self.eps))
            .collect();
        assert!(sorted(&self.tree.query_all(&balls)) == expected, "{}", self.what("balls"));
        for (ball, expected) in balls.iter().zip(&expected) {
            let hits: Vec<u32> = self.tree.query(*ball).collect();
            let skipped = hits.len() / 2;
            assert_eq!(self.tree.query(*ball).nth(skipped), hits.get(skipped).copied(), "{}", self.what("nth"));
            assert_eq!(self.tree.query(*ball).count(), expected.len(), "{}", self.what("count"));
        }
        // Boxes within the periodic box, so that wrapping does not change their corners.
        let corners = inside(&places, side);
        let boxes: Vec<Aabb<S, D>> =
            corners.windows(2).map(|pair| Aabb::point(pair[0]).union(&Aabb::point(pair[1]))).collect();
        let holds = |lo: f64, hi: f64, x: f64| {
            let images = side.map_or([0.0; 3], |side| [0.0, -side, side]);
            images.iter().any(|image| lo + image <= x && x <= hi + image)
        };
        let expected: Vec<Vec<u32>> = boxes
            .iter()
            .map(|Aabb { lo, hi }| {
                self.hits(|point| (0..D).all(|k| holds(lo[k].into(), hi[k].into(), point[k].into())))
            })
            .collect();
        assert!(sorted(&self.tree.query_all(&boxes)) == expected, "{}", self.what("boxes"));
        let counts: Vec<u32> = expected.iter().map(|hits| hits.len() as u32).collect();
        assert!(self.tree.count_all(&boxes) == counts, "{}", self.what("boxes counted"));
    }

    fn hits(&self, holds: impl Fn(&[S; D]) -> bool) -> Vec<u32> {
        (0..).zip(&self.points).filter(|(_, point)| holds(point)).map(|(i, _)| i).collect()
    }

    /// Returns clusters of core points, numbered by their first member; -1 for other points.
    fn components(&self, core: &[bool]) -> Vec<i32> {
        let mut labels = vec![-1; core.len()];
        let mut next = 0;
        for start in 0..core.len() {
            if labels[start] >= 0 || !core[start] {
                continue;
            }
            let mut open = vec![start];
            labels[start] = next;
            while let Some(at) = open.pop() {
                for &other in &self.near[at] {
                    let other = other as usize;
                    if core[other] && labels[other] < 0 {
                        labels[other] = next;
                        open.push(other);
                    }
                }
            }
            next += 1;
        }
        labels
    }

    fn friends(&self) {
        let have_friends: Vec<bool> = self.near.iter().map(|list| list.len() > 1).collect();
        let expected = self.components(&have_friends);
        let least = 1 + self.seed as usize % 5;
        let fof = Fof::new(self.eps).min_members(least);
        let fof = self.cloud.side.map_or(fof.clone(), |side| fof.periodic(side));
        let points = &self.cloud.points;
        let mut all = vec![("tree", fof.run(points).unwrap()), ("all pairs", fof_all_pairs(&fof, points).unwrap())];
        if D <= 3 {
            all.push(("bins", fof_bins(&fof, points).unwrap()));
        }
        for (algorithm, halos) in all {
            assert!(halos.labels().as_slice() == expected, "{}", self.what(algorithm));
            for members in halos.iter() {
                let label = expected[members[0] as usize];
                let own: Vec<u32> = (0..).zip(&expected).filter(|(_, own)| **own == label).map(|(i, _)| i).collect();
                assert!(members == own && own.len() >= least, "{}", self.what("members"));
            }
        }
    }

    fn clusters(&mut self) {
        let n = self.points.len();
        let min_samples = [1, 2, 3, 5, 10, n + 1][self.random.below(6)];
        // Sums of eighths are exact.
        let weights: Option<Vec<f64>> =
            (self.random.below(2) == 0).then(|| (0..n).map(|_| self.random.below(24) as f64 / 8.0).collect());
        let star = self.random.below(4) == 0;
        let weight = |i: u32| weights.as_ref().map_or(1.0, |weights| weights[i as usize]);
        let core: Vec<bool> =
            self.near.iter().map(|list| list.iter().map(|&i| weight(i)).sum::<f64>() >= min_samples as f64).collect();
        let of_core = self.components(&core);
        let border = |i: usize| {
            let clusters = self.near[i].iter().map(|&j| of_core[j as usize]).filter(|&label| label >= 0);
            if star { -1 } else { clusters.min().unwrap_or(-1) }
        };
        let expected: Vec<i32> = (0..n).map(|i| if core[i] { of_core[i] } else { border(i) }).collect();
        let new: Vec<[S; D]> = (0..20).map(|_| self.place()).collect();
        for algorithm in [DbscanAlgorithm::Auto, DbscanAlgorithm::Fdbscan, DbscanAlgorithm::DenseBox] {
            let mut dbscan = Dbscan::new(self.eps, min_samples).algorithm(algorithm).star(star);
            dbscan = weights.clone().map_or(dbscan.clone(), |weights| dbscan.weights(weights));
            dbscan = self.cloud.side.map_or(dbscan.clone(), |side| dbscan.periodic(side));
            let labels: Labels = dbscan.run(&self.cloud.points).unwrap();
            let what = || self.what(&format!("{algorithm:?}, min_samples {min_samples}, star {star}"));
            assert!(labels.as_slice() == expected, "{}", what());
            assert!((0..n).all(|i| labels.is_core(i) == core[i]), "{}", what());
            let predicted = dbscan.predict(&self.cloud.points, &labels, &new).unwrap();
            for (place, found) in inside(&new, self.cloud.side).iter().zip(predicted) {
                let near = (0..n)
                    .filter(|&i| core[i])
                    .map(|i| (distance2(place, &self.points[i], self.cloud.side), i))
                    .filter(|&(d2, _)| d2 <= self.eps * self.eps)
                    .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                assert_eq!(found, near.map_or(-1, |(_, i)| of_core[i]), "{}", what());
            }
        }
    }
}

fn sorted(lists: &Csr<u32>) -> Vec<Vec<u32>> {
    let sorted = |list: &[u32]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    lists.iter().map(sorted).collect()
}

fn pairs(near: &[Neighbor]) -> Vec<(f64, u32)> {
    near.iter().map(|near| (near.distance2, near.index)).collect()
}

fn attack<S: Scalar, const D: usize>() {
    for seed in seeds() {
        POOLS[seed as usize % 2].install(|| {
            let mut case = QueryCase::<S, D>::new(seed);
            case.neighbors();
            case.nearest();
            case.queries();
            case.friends();
            case.clusters();
        });
    }
}

macro_rules! attacks {
    ($($name:ident: $scalar:ty, $dim:literal;)*) => {$(
        #[test]
        fn $name() {
            attack::<$scalar, $dim>();
        }
    )*};
}

attacks! {
    f32_in_1: f32, 1;
    f32_in_2: f32, 2;
    f32_in_3: f32, 3;
    f32_in_10: f32, 10;
    f64_in_1: f64, 1;
    f64_in_2: f64, 2;
    f64_in_3: f64, 3;
    f64_in_6: f64, 6;
}
