//! Shapes in general position, including round ones, checked by upper and lower bounds on the distance.
//!
//! Two points, one of each shape, give an upper bound of the distance; a plane between the shapes gives a lower
//! bound. The points come from alternating projections (closest points in turn). The planes come from support
//! functions written here from the definition of each shape. Closest points are verified by the plane through them.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ropewalk::geometry::{
    Capsule, Convex, Dop14, Dop18, Dop26, Ellipsoid, Kdop, Obb, Query, Segment, Space, Tetrahedron, Triangle,
};
use ropewalk::{Aabb, Bvh, Ray, Sphere};

type P<const D: usize> = [f64; D];

fn dot<const D: usize>(a: &P<D>, b: &P<D>) -> f64 {
    (0..D).map(|k| a[k] * b[k]).sum()
}

fn sub<const D: usize>(a: &P<D>, b: &P<D>) -> P<D> {
    std::array::from_fn(|k| a[k] - b[k])
}

fn length<const D: usize>(a: &P<D>) -> f64 {
    dot(a, a).sqrt()
}

/// A shape by its definition: the hull of corners, plus an ellipsoid with half axes, plus a sphere.
struct ShapeDefinition<const D: usize> {
    corners: Vec<P<D>>,
    half_axes: Vec<P<D>>,
    radius: f64,
}

impl<const D: usize> ShapeDefinition<D> {
    /// Returns the maximum of `normal · x`.
    fn support(&self, normal: &P<D>) -> f64 {
        let corner = self.corners.iter().map(|p| dot(p, normal)).fold(f64::NEG_INFINITY, f64::max);
        let round = self.half_axes.iter().map(|axis| dot(axis, normal).powi(2)).sum::<f64>().sqrt();
        corner + round + self.radius * length(normal)
    }

    fn center(&self) -> P<D> {
        std::array::from_fn(|k| self.corners.iter().map(|p| p[k]).sum::<f64>() / self.corners.len() as f64)
    }
}

/// A shape of the library with its definition.
struct Defined<'a, T, const D: usize> {
    shape: &'a T,
    own: &'a ShapeDefinition<D>,
}

/// Returns a rotation from Householder reflections, a method independent of Gram-Schmidt.
fn axes<const D: usize>(numbers: &[P<D>; 4]) -> [P<D>; D] {
    let mut axes: [P<D>; D] = std::array::from_fn(|i| std::array::from_fn(|k| f64::from(u8::from(i == k))));
    for normal in &numbers[1..3] {
        let n2 = dot(normal, normal);
        if n2 < 1e-20 {
            continue;
        }
        for axis in &mut axes {
            let t = 2.0 * dot(axis, normal) / n2;
            *axis = std::array::from_fn(|k| axis[k] - t * normal[k]);
        }
    }
    axes
}

/// Returns the corners of a k-DOP: the intersections of three planes that are inside.
fn corners_of<const N: usize>(dop: &Kdop<f64, 3, N>) -> Vec<P<3>> {
    let normals = Kdop::<f64, 3, N>::directions();
    let planes: Vec<(P<3>, f64)> =
        (0..N).flat_map(|i| [(normals[i], dop.lo()[i]), (normals[i], dop.hi()[i])]).collect();
    let cross = |a: &P<3>, b: &P<3>| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let mut corners = vec![];
    for (i, (a, x)) in planes.iter().enumerate() {
        for (j, (b, y)) in planes.iter().enumerate().skip(i + 1) {
            for (c, z) in &planes[j + 1..] {
                let all = dot(a, &cross(b, c));
                if all != 0.0 {
                    let (p, q, r) = (cross(b, c), cross(c, a), cross(a, b));
                    let at = std::array::from_fn(|k| (x * p[k] + y * q[k] + z * r[k]) / all);
                    let is_inside = |i: usize| {
                        let here = dot(&normals[i], &at);
                        dop.lo()[i] - 1e-13 <= here && here <= dop.hi()[i] + 1e-13
                    };
                    if (0..N).all(is_inside) {
                        corners.push(at);
                    }
                }
            }
        }
    }
    corners
}

#[derive(Clone, Debug)]
struct Numbers<const D: usize> {
    kind: usize,
    points: [P<D>; 4],
    sizes: P<D>,
}

fn numbers<const D: usize>(kinds: usize) -> impl Strategy<Value = Numbers<D>> {
    let size = prop_oneof![1 => Just(0.0), 4 => 0.0..3.0f64, 1 => 0.0..0.01f64];
    // Near grid points, almost parallel, flat or touching configurations are common.
    let noise = (-8i32..=8, prop::sample::select(vec![0.0, 1e-16, 1e-12, 1e-8, 1e-5]))
        .prop_map(|(i, unit)| f64::from(i) * unit);
    let nearly = (-3i32..=3, noise).prop_map(|(x, noise)| f64::from(x) + noise);
    let point = prop_oneof![prop::collection::vec(-4.0..4.0f64, D), prop::collection::vec(nearly, D)]
        .prop_map(|x| -> P<D> { x.try_into().unwrap() });
    let line = (0..6usize, -1.0..2.0f64);
    (0..kinds, prop::collection::vec(point, 4), prop::collection::vec(size, D), line).prop_map(
        |(kind, mut points, sizes, (form, t))| {
            // Some points are on a line up to rounding, or in a plane.
            let between = |p: &P<D>, q: &P<D>, t: f64| -> P<D> { std::array::from_fn(|k| p[k] + t * (q[k] - p[k])) };
            if form < 2 {
                points[2 + form] = between(&points[0], &points[1], t);
            }
            if form == 2 {
                points[3] = between(&points[2], &between(&points[0], &points[1], t), 0.7);
            }
            Numbers { kind, points: points.try_into().unwrap(), sizes: sizes.try_into().unwrap() }
        },
    )
}

/// Calls `$use` with the shape and its definition.
macro_rules! with {
    ($numbers:expr, $dim:tt, |$shape:ident, $own:ident| $use:expr) => {{
        let Numbers { kind, points, sizes } = $numbers;
        let [a, b, c, _] = *points;
        let hull = |corners: &[P<$dim>], radius: f64| ShapeDefinition { corners: corners.to_vec(), half_axes: vec![], radius };
        let axes = axes(points);
        let stretched: Vec<P<$dim>> = (0..$dim).map(|i| axes[i].map(|x| x * sizes[i])).collect();
        match kind {
            0 => { let ($shape, $own) = (a, hull(&[a], 0.0)); $use }
            1 => { let ($shape, $own) = (Segment::new(a, b), hull(&[a, b], 0.0)); $use }
            2 => { let ($shape, $own) = (Triangle::new(a, b, c), hull(&[a, b, c], 0.0)); $use }
            3 => { let ($shape, $own) = (Sphere::new(a, sizes[0]), hull(&[a], sizes[0])); $use }
            4 => { let ($shape, $own) = (Capsule::new(a, b, sizes[0]), hull(&[a, b], sizes[0])); $use }
            5 => {
                let $shape = Ellipsoid::new(a, axes, *sizes);
                let $own = ShapeDefinition { corners: vec![a], half_axes: stretched, radius: 0.0 };
                $use
            }
            6 => {
                let corners: Vec<P<$dim>> = (0..1 << $dim)
                    .map(|bits| (0..$dim).fold(a, |at, i| {
                        let sign = if bits >> i & 1 == 1 { 1.0 } else { -1.0 };
                        std::array::from_fn(|k| at[k] + sign * stretched[i][k])
                    }))
                    .collect();
                let ($shape, $own) = (Obb::new(a, axes, *sizes), hull(&corners, 0.0));
                $use
            }
            7 => {
                let $shape = Aabb::point(a).union(&Aabb::point(b));
                let corners: Vec<P<$dim>> = (0..1 << $dim)
                    .map(|bits| std::array::from_fn(|k| if bits >> k & 1 == 1 { a[k] } else { b[k] }))
                    .collect();
                let $own = hull(&corners, 0.0);
                $use
            }
            _ => with!(@$dim, kind, points, hull, |$shape, $own| $use),
        }
    }};
    (@3, $kind:expr, $points:expr, $hull:expr, |$shape:ident, $own:ident| $use:expr) => {
        match $kind {
            8 => { let ($shape, $own) = (Tetrahedron::new(*$points), $hull($points, 0.0)); $use }
            9 => { let $shape = Dop14::around($points); let $own = $hull(&corners_of(&$shape), 0.0); $use }
            10 => { let $shape = Dop18::around(&$points[..3]); let $own = $hull(&corners_of(&$shape), 0.0); $use }
            _ => { let $shape = Dop26::around($points); let $own = $hull(&corners_of(&$shape), 0.0); $use }
        }
    };
    (@$dim:tt, $kind:expr, $points:expr, $hull:expr, |$shape:ident, $own:ident| $use:expr) => {
        unreachable!("{} {}", $kind, $hull($points, 0.0).radius)
    };
}

fn pair_is_right<const D: usize>(
    Defined { shape: a, own: own_a }: Defined<'_, impl Convex<f64, D>, D>,
    Defined { shape: b, own: own_b }: Defined<'_, impl Convex<f64, D>, D>,
) -> Result<(), TestCaseError> {
    let found = a.distance2(b).sqrt();
    let other = b.distance2(a).sqrt();
    prop_assert!((found - other).abs() < 1e-9, "{found} and the other way {other}");
    let (mut upper, mut lower) = (f64::INFINITY, 0.0f64);
    let mut q = own_b.center();
    for round in 0..20_000 {
        let p = a.closest_point(q);
        q = b.closest_point(p);
        let normal = sub(&p, &q);
        let distance = length(&normal);
        if distance > 1e-9 {
            lower = lower.max(-(own_a.support(&normal.map(|x| -x)) + own_b.support(&normal)) / distance);
        }
        upper = upper.min(distance);
        if upper - lower < 1e-10 || (round > 2000 && upper - lower < 1e-4) {
            break;
        }
    }
    prop_assert!(lower - 1e-8 < found && found < upper + 1e-8, "{found} is not between {lower} and {upper}");
    prop_assert!(upper - lower < 1e-2, "nothing is proved: {lower}, {upper}");
    let (meets, meets_too) = (a.intersects(b), b.intersects(a));
    prop_assert!(meets == meets_too || found < 1e-9);
    prop_assert!(
        if meets { lower < 1e-9 } else { found > 0.0 || upper < 1e-9 },
        "meets: {meets}; {lower} to {upper}, {found}"
    );
    Ok(())
}

fn closest_point_is_right<const D: usize>(
    Defined { shape: a, own }: Defined<'_, impl Convex<f64, D>, D>,
    p: P<D>,
) -> Result<(), TestCaseError> {
    let q = a.closest_point(p);
    let normal = sub(&p, &q);
    let beyond = own.support(&normal) - dot(&normal, &q);
    // If squares differ by a rounding error, the points may differ by its square root.
    prop_assert!(beyond.abs() <= 1e-6, "the shape reaches {beyond} beyond {q:?}");
    prop_assert!((a.distance2(&p).sqrt() - length(&normal)).abs() < 1e-10);
    // No plane separates the point from the shape.
    for i in 0..D * D {
        let n: P<D> = std::array::from_fn(|k| ((i + 1) as f64 * (k as f64 + 1.3)).sin());
        prop_assert!(dot(&n, &q) <= own.support(&n) + 1e-10, "{q:?} lies outside");
    }
    Ok(())
}

fn ray_is_right<const D: usize>(a: &impl Convex<f64, D>, ray: &Ray<f64, D>, rounds: bool) -> Result<(), TestCaseError> {
    let found = a.ray_interval(ray);
    for i in 0..=200 {
        let t = ray.from + (ray.to - ray.from) * f64::from(i) / 200.0;
        let distance = a.distance2(&ray.at(t)).sqrt();
        let is_in = found.is_some_and(|[first, last]| first <= t && t <= last);
        // If the ray is inside by rounding only, the distance may be 0, but not on both sides.
        let is_deep = || [t - 1e-6, t + 1e-6].iter().all(|&t| a.distance2(&ray.at(t)) == 0.0);
        prop_assert!(
            if is_in { distance < 1e-9 } else { distance > 0.0 || rounds || !is_deep() },
            "{t} is {distance} away, of {found:?}"
        );
    }
    let reach = Segment::new(ray.at(ray.from), ray.at(ray.to));
    prop_assert!(
        found.is_some() == a.intersects(&reach) || a.distance2(&reach) < 1e-18,
        "{found:?} for {}",
        a.distance2(&reach)
    );
    Ok(())
}

/// The bounding box contains the shape, and trees find the points that the shape meets.
fn box_is_right<const D: usize>(
    Defined { shape: a, own }: Defined<'_, impl Convex<f64, D> + Query<f64, D>, D>,
    other: &[P<D>; 4],
) -> Result<(), TestCaseError> {
    let bounds = a.bounds();
    for k in 0..D {
        let axis: P<D> = std::array::from_fn(|i| f64::from(u8::from(i == k)));
        let (lo, hi) = (-own.support(&axis.map(|x| -x)), own.support(&axis));
        prop_assert!((bounds.lo[k] - lo).abs() < 1e-9 && (bounds.hi[k] - hi).abs() < 1e-9);
    }
    let boxes = [Aabb::point(other[0]).union(&Aabb::point(other[1])), Aabb::point(other[2])];
    let tree = Bvh::build(&boxes).unwrap();
    let mut hits: Vec<u32> = tree.query(a).collect();
    hits.sort_unstable();
    // A box of one point gives the same result as the point.
    let meets = [a.intersects(&boxes[0]), a.intersects(&other[2])];
    prop_assert_eq!(meets[1], a.intersects(&boxes[1]));
    let right: Vec<u32> = (0..2).filter(|&i| meets[i as usize]).collect();
    prop_assert_eq!(&hits, &right);
    // In a periodic box, one of the images intersects.
    let space = Space::periodic(3.0).unwrap();
    let images = (0..7usize.pow(D as u32)).any(|image| {
        let shift: P<D> = std::array::from_fn(|k| 3.0 * ((image / 7usize.pow(k as u32) % 7) as f64 - 3.0));
        let corner = |corner: &P<D>| -> P<D> { std::array::from_fn(|k| corner[k] + shift[k]) };
        a.intersects(&Aabb::new(corner(&boxes[0].lo), corner(&boxes[0].hi)))
    });
    prop_assert_eq!(a.meets(&boxes[0], &space), images);
    Ok(())
}

// Tolerances are those of rounding errors, so the cases are the same in each run.
macro_rules! tests {
    ($module:ident, $dim:tt, $kinds:literal) => {
        mod $module {
            use super::*;

            proptest! {
                #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

                #[test]
                fn pairs(a in numbers::<$dim>($kinds), b in numbers::<$dim>($kinds)) {
                    with!(&a, $dim, |p, own_p| with!(&b, $dim, |q, own_q| {
                        pair_is_right(Defined { shape: &p, own: &own_p }, Defined { shape: &q, own: &own_q })?
                    }));
                }

                #[test]
                fn closest_points(a in numbers::<$dim>($kinds), at in numbers::<$dim>(1)) {
                    with!(&a, $dim, |p, own| closest_point_is_right(Defined { shape: &p, own: &own }, at.points[0])?);
                }

                #[test]
                fn rays(a in numbers::<$dim>($kinds), line in numbers::<$dim>(1)) {
                    prop_assume!(line.points[1] != [0.0; $dim]);
                    let ray = Ray::new(line.points[0], line.points[1]).between(-2.0, 3.0);
                    with!(&a, $dim, |p, _own| ray_is_right(&p, &ray, a.kind >= 9)?);
                }
            }
        }
    };
}

tests!(in_the_plane, 2, 8);
tests!(in_space, 3, 12);
tests!(in_five_dimensions, 5, 8);

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, rng_seed: RngSeed::Fixed(2), ..ProptestConfig::default() })]

    #[test]
    fn boxes_and_trees(a in numbers::<3>(12), other in numbers::<3>(1)) {
        prop_assume!(a.kind != 0 && a.kind != 7);
        let Numbers { points: [p, q, r, _], sizes, .. } = a;
        let hull = |corners: &[P<3>], radius: f64| ShapeDefinition { corners: corners.to_vec(), half_axes: vec![], radius };
        match a.kind {
            1 => box_is_right(Defined { shape: &Segment::new(p, q), own: &hull(&[p, q], 0.0) }, &other.points)?,
            2 => box_is_right(Defined { shape: &Triangle::new(p, q, r), own: &hull(&[p, q, r], 0.0) }, &other.points)?,
            4 => box_is_right(Defined { shape: &Capsule::new(p, q, sizes[0]), own: &hull(&[p, q], sizes[0]) }, &other.points)?,
            8 => box_is_right(Defined { shape: &Tetrahedron::new(a.points), own: &hull(&a.points, 0.0) }, &other.points)?,
            5 => {
                let axes = axes(&a.points);
                let half_axes = (0..3).map(|i| axes[i].map(|x| x * sizes[i])).collect();
                box_is_right(Defined { shape: &Ellipsoid::new(p, axes, sizes), own: &ShapeDefinition { corners: vec![p], half_axes, radius: 0.0 } }, &other.points)?;
            }
            9..12 => {
                let dop = Dop18::around(&a.points);
                box_is_right(Defined { shape: &dop, own: &hull(&corners_of(&dop), 0.0) }, &other.points)?;
            }
            _ => {
                let axes = axes(&a.points);
                let corners: Vec<P<3>> = (0..8).map(|bits| (0..3).fold(p, |at, i| {
                    let sign = if bits >> i & 1 == 1 { sizes[i] } else { -sizes[i] };
                    std::array::from_fn(|k| at[k] + sign * axes[i][k])
                })).collect();
                box_is_right(Defined { shape: &Obb::new(p, axes, sizes), own: &hull(&corners, 0.0) }, &other.points)?;
            }
        }
    }
}
