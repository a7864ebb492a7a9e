//! Primitives other than points: boxes, spheres, glam vectors, and a user-defined type.

use std::sync::Mutex;

use common::engine::Engine;
use common::oracle::Side;
use common::random::Random;
use glam::{DVec2, DVec3, DVec4, Vec2, Vec3, Vec3A, Vec4};
use ropewalk::reference::BruteForce;
use ropewalk::{Aabb, Bounded, Bvh, Fof, Nearest, Scalar, Sphere};

/// Returns the gap between two intervals over all images. Corners are multiples of 1/64, so the result is exact.
fn gap(a: [f64; 2], b: [f64; 2], side: Side) -> f64 {
    let open = |shift: f64| (b[0] + shift - a[1]).max(a[0] - b[1] - shift).max(0.0);
    side.map_or(open(0.0), |side| (-9..=9).map(|i| open(f64::from(i) * side)).fold(f64::INFINITY, f64::min))
}

fn min_distance2<S: Scalar, const D: usize>(a: &Aabb<S, D>, b: &Aabb<S, D>, side: Side) -> f64 {
    let of = |bounds: &Aabb<S, D>, k: usize| [bounds.lo[k].into(), bounds.hi[k].into()];
    (0..D).map(|k| gap(of(a, k), of(b, k), side).powi(2)).sum()
}

/// Returns boxes with corners on a fine lattice. Some are points, some extend across the boundary of the periodic
/// box, some are outside of it, and some are larger than it.
fn boxes<S: Scalar, const D: usize>(n: usize, side: f64) -> Vec<Aabb<S, D>> {
    let mut random = Random::new(n as u64);
    let extents = [0, 3, 40, 200, 700];
    (0..n)
        .map(|i| {
            let extent = extents[if i % 20 == 0 { random.below(5) } else { random.below(3) }];
            let lo: [f64; D] =
                std::array::from_fn(|_| random.below((128.0 * side) as usize) as f64 / 64.0 - 0.5 * side);
            let hi = lo.map(|lo| lo + random.below(extent + 1) as f64 / 64.0);
            Aabb::new(lo.map(S::from_f64), hi.map(S::from_f64))
        })
        .collect()
}

fn stores_boxes<S: Scalar, const D: usize, E: Engine<S, D>>(side: Side) {
    let stored = boxes::<S, D>(300, 8.0);
    let asked = boxes::<S, D>(97, 8.0);
    let engine = E::new(&stored, side).unwrap();
    let select = |wanted: &dyn Fn(&Aabb<S, D>) -> bool| -> Vec<u32> {
        (0..stored.len() as u32).filter(|&i| wanted(&stored[i as usize])).collect()
    };
    let sorted = |mut hits: Vec<u32>| {
        hits.sort_unstable();
        hits
    };

    for query in &asked {
        let expected = select(&|primitive| min_distance2(query, primitive, side) == 0.0);
        assert_eq!(sorted(engine.query(query)), expected, "{query:?}, side {side:?}");
        let ball = Sphere::new(query.lo, 0.75);
        let expected = select(&|primitive| min_distance2(&Aabb::point(query.lo), primitive, side) <= 0.75 * 0.75);
        assert_eq!(sorted(engine.query(ball)), expected, "{ball:?}, side {side:?}");

        let mut near: Vec<(f64, u32)> = (0..)
            .zip(&stored)
            .map(|(i, primitive)| (min_distance2(&Aabb::point(query.lo), primitive, side), i))
            .collect();
        near.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let found: Vec<u32> = engine.nearest(query.lo, Nearest::new(20)).iter().map(|near| near.index).collect();
        assert_eq!(found, near[..20].iter().map(|near| near.1).collect::<Vec<_>>(), "{:?}, side {side:?}", query.lo);
    }

    for radius in [0.0, 0.25, 1.0] {
        let lists: Vec<Vec<u32>> = stored
            .iter()
            .map(|of| select(&|primitive| min_distance2(of, primitive, side) <= radius * radius))
            .collect();
        let found: Vec<Vec<u32>> = engine.neighbors(radius).iter().map(|list| sorted(list.to_vec())).collect();
        assert_eq!(found, lists, "radius {radius}, side {side:?}");
        let counts: Vec<u32> = lists.iter().map(|list| list.len() as u32).collect();
        assert_eq!(engine.count_neighbors(radius), counts, "radius {radius}, side {side:?}");
        let pairs = Mutex::new(vec![]);
        engine.for_each_pair(radius, |i, j| pairs.lock().unwrap().push((i, j)));
        let mut pairs = pairs.into_inner().unwrap();
        pairs.sort_unstable();
        let expected: Vec<(u32, u32)> = (0..)
            .zip(&lists)
            .flat_map(|(i, list)| list.iter().filter(move |&&j| i < j).map(move |&j| (i, j)))
            .collect();
        assert_eq!(pairs, expected, "radius {radius}, side {side:?}");
        assert_eq!(engine.count_pairs(radius), expected.len() as u64, "radius {radius}, side {side:?}");
        if let Some(halos) = engine.halos(radius) {
            let expected = common::oracle::components(&lists);
            assert_eq!(halos.labels().as_slice(), expected, "radius {radius}, side {side:?}");
        }
    }
}

#[test]
fn boxes_in_open_space() {
    stores_boxes::<f32, 2, Bvh<f32, 2>>(None);
    stores_boxes::<f64, 3, Bvh<f64, 3>>(None);
    stores_boxes::<f32, 3, BruteForce<f32, 3>>(None);
}

#[test]
fn boxes_in_a_periodic_box_by_brute_force() {
    stores_boxes::<f32, 2, BruteForce<f32, 2>>(Some(8.0));
    stores_boxes::<f64, 3, BruteForce<f64, 3>>(Some(8.0));
}

#[test]
fn boxes_in_a_periodic_box() {
    stores_boxes::<f32, 2, Bvh<f32, 2>>(Some(8.0));
    stores_boxes::<f64, 3, Bvh<f64, 3>>(Some(8.0));
    stores_boxes::<f64, 1, Bvh<f64, 1>>(Some(8.0));
}

#[test]
fn a_stored_ball_is_found_by_its_box() {
    let balls = [Sphere::new([0.0f32, 0.0], 1.0), Sphere::new([5.0f32, 0.0], 0.5), Sphere::new([0.1f32, 0.3], 0.1)];
    let bvh = Bvh::build(&balls).unwrap();
    bvh.validate().unwrap();
    // A corner of the first sphere's bounding box is nearer than the sphere.
    assert_eq!(bvh.query(Aabb::new([0.9f32, 0.9], [2.0, 2.0])).collect::<Vec<_>>(), [0]);
    assert_eq!(bvh.nearest([4.6f32, 0.0], 1)[0].index, 1);
    // Rounding never puts a part of a sphere outside of its bounding box.
    let bounds = balls[2].bounds();
    let exact = [0.1f32 as f64 - 0.1, 0.1f32 as f64 + 0.1];
    assert!(f64::from(bounds.lo[0]) <= exact[0] && exact[1] <= f64::from(bounds.hi[0]));
}

/// Every glam type gives the results of the corresponding array.
macro_rules! glam_types {
    ($($test:ident: $vector:ty, $scalar:ty, $dim:literal;)*) => {$(
        #[test]
        fn $test() {
            let mut random = Random::new(3);
            let arrays: Vec<[$scalar; $dim]> =
                (0..200).map(|_| std::array::from_fn(|_| random.unit() as $scalar)).collect();
            let vectors: Vec<$vector> = arrays.iter().map(|&array| <$vector>::from(array)).collect();
            let (ours, theirs) = (Bvh::build(&vectors).unwrap(), Bvh::build(&arrays).unwrap());
            assert_eq!(ours.nodes(), theirs.nodes());
            assert_eq!(ours.order(), theirs.order());
            let ball = Sphere::new(vectors[7], 0.3);
            assert!(ours.query(ball).eq(theirs.query(Sphere::new(arrays[7], 0.3))));
            assert_eq!(ours.nearest(vectors[7], 5), theirs.nearest(arrays[7], 5));
            let (halos, expected) = (Fof::new(0.1).run(&vectors).unwrap(), Fof::new(0.1).run(&arrays).unwrap());
            assert_eq!(halos, expected);
        }
    )*};
}

glam_types! {
    glam_vec2: Vec2, f32, 2;
    glam_vec3: Vec3, f32, 3;
    glam_vec3a: Vec3A, f32, 3;
    glam_vec4: Vec4, f32, 4;
    glam_dvec2: DVec2, f64, 2;
    glam_dvec3: DVec3, f64, 3;
    glam_dvec4: DVec4, f64, 4;
}

/// A star of a catalogue: a point with other data.
struct Star {
    position: [f64; 3],
    _magnitude: f32,
}

impl Bounded<f64, 3> for Star {
    const IS_POINT: bool = true;

    fn bounds(&self) -> Aabb<f64, 3> {
        Aabb::point(self.position)
    }
}

/// A point whose type does not declare that it is one.
struct UndeclaredPoint([f64; 3]);

impl Bounded<f64, 3> for UndeclaredPoint {
    fn bounds(&self) -> Aabb<f64, 3> {
        Aabb::point(self.0)
    }
}

#[test]
fn a_type_of_ones_own_is_as_good_as_an_array() {
    let cloud = common::clouds::clustered::<f64, 3>();
    let stars: Vec<Star> = cloud.points.iter().map(|&position| Star { position, _magnitude: 4.5 }).collect();
    let undeclared: Vec<UndeclaredPoint> = cloud.points.iter().copied().map(UndeclaredPoint).collect();
    let arrays = Bvh::build_periodic(&cloud.points, cloud.side).unwrap();
    let stars = Bvh::build_periodic(&stars, cloud.side).unwrap();
    let undeclared = Bvh::build_periodic(&undeclared, cloud.side).unwrap();
    for radius in cloud.radii {
        assert_eq!(stars.neighbors(radius), arrays.neighbors(radius));
        assert_eq!(undeclared.neighbors(radius), arrays.neighbors(radius));
        assert_eq!(Fof::new(radius).run_on(&undeclared).unwrap(), Fof::new(radius).run_on(&arrays).unwrap());
    }
    assert_eq!(undeclared.nearest_neighbors(4), arrays.nearest_neighbors(4));
}
