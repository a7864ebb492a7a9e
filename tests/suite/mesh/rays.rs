//! Hits, compared with exact arithmetic on integers, and with the Möller-Trumbore test in `f64`.

use std::ops::ControlFlow;

use super::solids::{Random, Solid, is_inside, meeting};
use ropewalk::search::RayHit;
use ropewalk::{Mesh, Ray, Scalar};

fn mesh_of<S: Scalar>(solid: &Solid, scale: f64) -> Mesh<S> {
    let vertices: Vec<[S; 3]> =
        solid.vertices.iter().map(|vertex| vertex.map(|x| S::from_f64(x as f64 * scale))).collect();
    Mesh::build(&vertices, &solid.faces).unwrap()
}

fn ray_of<S: Scalar>(o: [i64; 3], d: [i64; 3], scale: f64) -> Ray<S, 3> {
    Ray::new(o.map(|x| S::from_f64(x as f64 * scale)), d.map(|x| S::from_f64(x as f64 * scale)))
}

/// Compares all queries of one ray with exact results, and returns its crossings. `is_one` is for a single convex
/// surface.
fn check<S: Scalar>(mesh: &Mesh<S>, solid: &Solid, o: [i64; 3], d: [i64; 3], scale: f64, is_one: bool) -> Vec<RayHit> {
    let ray = ray_of::<S>(o, d, scale);
    let what = format!("from {o:?} along {d:?}, scale {scale:e}");
    let met: Vec<(usize, i128, i128)> = (0..solid.faces.len())
        .filter_map(|face| meeting(o, d, solid.corners(face)).map(|(num, den)| (face, num, den)))
        .collect();
    let ahead: Vec<_> = met.iter().filter(|(_, num, _)| *num >= 0).collect();
    let first = ahead.iter().min_by(|a, b| (a.1 * b.2).cmp(&(b.1 * a.2)));
    let hit = mesh.first_hit(&ray);
    assert_eq!(hit.is_some(), first.is_some(), "{what}");
    assert_eq!(mesh.any_hit(&ray), first.is_some(), "{what}");
    if let (Some(hit), Some(first)) = (hit, first) {
        let exact = first.1 as f64 / first.2 as f64;
        assert!((hit.t - exact).abs() <= 1e-13 * exact.abs(), "{what}: {} is not {exact}", hit.t);
        let mut same = ahead.iter().filter(|other| other.1 * first.2 == first.1 * other.2);
        if is_one {
            assert_eq!(hit.triangle as usize, same.next().unwrap().0, "{what}");
        } else {
            assert!(same.any(|other| other.0 == hit.triangle as usize), "{what}");
        }
        assert!((hit.barycentric.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{what}");
        let corners = solid.corners(hit.triangle as usize);
        for (k, at) in ray.at(hit.t).into_iter().enumerate() {
            let there: f64 = (0..3).map(|corner| hit.barycentric[corner] * corners[corner][k] as f64 * scale).sum();
            assert!(
                (there - at).abs() <= 1e-11 * scale * (1.0 + o.iter().map(|x| x.abs()).max().unwrap() as f64),
                "{what}"
            );
        }
        // The range is inclusive.
        assert_eq!(mesh.first_hit(&ray.between(hit.t, hit.t)).map(|hit| hit.t), Some(hit.t), "{what}");
        assert!(!mesh.any_hit(&ray.between(0.0, hit.t * (1.0 - 1e-12) - 1e-300)), "{what}");
    }
    let hits = mesh.hits(&ray);
    assert!(hits.is_sorted_by(|a, b| (a.t, a.triangle) < (b.t, b.triangle)), "{what}");
    assert!(hits.iter().all(|hit| ahead.iter().any(|met| met.0 == hit.triangle as usize)), "{what}");
    let mut visited = vec![];
    mesh.for_each_hit(&ray, |hit| {
        visited.push(hit);
        ControlFlow::Continue(())
    });
    visited.sort_by(|a, b| a.t.total_cmp(&b.t).then(a.triangle.cmp(&b.triangle)));
    assert_eq!(visited, hits, "{what}");
    for k in [0, 1, 2, 5] {
        assert_eq!(mesh.k_hits(&ray, k), hits[..k.min(hits.len())], "{what}");
    }
    hits
}

/// Within the documented range, scaling by powers of two changes no bit of the result, also near edges, where the
/// result depends on rounding.
#[test]
fn any_unit_within_the_range() {
    let mut random = Random(21);
    let mut number = |size: f64| size * (random.unit() - 0.5);
    let corners: Vec<[f64; 3]> = (0..90).map(|_| [0.0; 3].map(|_: f64| number(2.0))).collect();
    let faces: Vec<[u32; 3]> = (0..30).map(|face| [3 * face, 3 * face + 1, 3 * face + 2]).collect();
    let rays: Vec<Ray<f64, 3>> = (0..3000)
        .map(|i| {
            let ([a, b, _], part) = (faces[i % 30].map(|at| corners[at as usize]), number(1.0) + 0.5);
            let origin = [0.0; 3].map(|_: f64| number(6.0));
            let beside = 10f64.powi(-8 - (i % 11) as i32);
            let to: [f64; 3] = std::array::from_fn(|k| part * a[k] + (1.0 - part) * b[k] + number(beside) - origin[k]);
            Ray::new(origin, to)
        })
        .collect();
    let of = |unit: f64, length: f64| {
        let scaled: Vec<[f64; 3]> = corners.iter().map(|corner| corner.map(|x| unit * x)).collect();
        let scaled_ray = |ray: &Ray<f64, 3>| Ray::new(ray.origin.map(|x| unit * x), ray.direction.map(|x| length * x));
        Mesh::build(&scaled, &faces).unwrap().first_hits(&rays.iter().map(scaled_ray).collect::<Vec<_>>())
    };
    let expected = of(1.0, 1.0);
    assert!(expected.iter().flatten().count() > 1000);
    for [unit, length] in [[-300, -300], [-330, -280], [-470, 0], [0, -940], [470, 0], [0, 940], [200, -700]] {
        let found = of(2f64.powi(unit), 2f64.powi(length));
        for (found, expected) in found.into_iter().zip(&expected) {
            let found = found.map(|hit| RayHit { t: hit.t * 2f64.powi(length - unit), ..hit });
            assert_eq!(found, *expected, "2^{unit}, 2^{length}");
        }
    }
    // From a distance beyond the range.
    let mesh = Mesh::build(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]]).unwrap();
    let from =
        |z: f64| mesh.first_hit(&Ray::new([0.25, 0.25, z], [0.0, 0.0, -1.0])).map(|hit| (hit.t, hit.barycentric));
    assert_eq!(from(1e60), Some((1e60, [0.5, 0.25, 0.25])));
    assert_eq!(from(1e200), None);
}

fn direction(random: &mut Random) -> [i64; 3] {
    loop {
        let d = [0; 3].map(|_: i64| random.integer(-3, 3));
        if d != [0; 3] {
            return d;
        }
    }
}

/// A ray from inside a convex surface crosses it once, even at an edge or corner; a ray from outside crosses it twice
/// or never.
fn crossings_of_convex_surfaces<S: Scalar>(scale: f64) {
    let mut random = Random(1);
    for (solid, size, is_cube) in
        [(Solid::octahedron(6), 6, false), (Solid::cube(5), 5, true), (Solid::octahedron(1), 1, false)]
    {
        let mesh = mesh_of::<S>(&solid, scale);
        for _ in 0..400 {
            let o = [0; 3].map(|_: i64| random.integer(-size - 2, size + 2));
            let d = direction(&mut random);
            let reach: i64 = o.iter().map(|x| x.abs()).sum();
            let (is_in, is_on) = if is_cube {
                let is_closed_in = o.iter().all(|&x| (0..=size).contains(&x));
                let is_in = o.iter().all(|&x| 0 < x && x < size);
                (is_in, is_closed_in && !is_in)
            } else {
                (reach < size, reach == size)
            };
            let hits = check::<S>(&mesh, &solid, o, d, scale, true);
            if !is_on {
                assert!(
                    if is_in { hits.len() == 1 } else { hits.len().is_multiple_of(2) && hits.len() <= 2 },
                    "{o:?} {d:?}: {hits:?}"
                );
            }
            let line = mesh.hits(&ray_of::<S>(o, d, scale).between(f64::NEG_INFINITY, f64::INFINITY));
            assert!(line.is_empty() || line.len() == 2, "{o:?} {d:?}: {line:?}");
        }
    }
}

#[test]
fn each_passage_through_a_convex_surface_is_one_hit() {
    crossings_of_convex_surfaces::<f32>(1.0);
    crossings_of_convex_surfaces::<f64>(1.0);
}

/// Scaling by powers of two changes nothing.
#[test]
fn very_large_and_very_small_meshes() {
    crossings_of_convex_surfaces::<f32>(2f64.powi(-120));
    crossings_of_convex_surfaces::<f32>(2f64.powi(120));
    crossings_of_convex_surfaces::<f64>(2f64.powi(-300));
    crossings_of_convex_surfaces::<f64>(2f64.powi(300));
}

#[test]
fn parity_is_inside_of_tetrahedra_that_cross() {
    let mut random = Random(2);
    for round in 0..30 {
        let size = 2 + round % 5;
        let solid = Solid::tetrahedra(60, size, &mut random);
        let (single, double) = (mesh_of::<f32>(&solid, 1.0), mesh_of::<f64>(&solid, 1.0));
        for _ in 0..60 {
            let o = [0; 3].map(|_: i64| random.integer(-1, size + 1));
            let d = direction(&mut random);
            let hits = check::<f64>(&double, &solid, o, d, 1.0, false);
            assert_eq!(check::<f32>(&single, &solid, o, d, 1.0, false), hits);
            for tetrahedron in 0..solid.faces.len() / 4 {
                let faces: Vec<_> = (4 * tetrahedron..4 * tetrahedron + 4).map(|face| solid.corners(face)).collect();
                let count = hits.iter().filter(|hit| hit.triangle as usize / 4 == tetrahedron).count();
                if let Some(is_in) = is_inside(o, &faces) {
                    let expected: &[usize] = if is_in { &[1] } else { &[0, 2] };
                    assert!(expected.contains(&count), "{count} of {faces:?} from {o:?} along {d:?}");
                }
            }
        }
    }
}

/// If `f32` cannot separate the triangles, all of them are tested.
#[test]
fn rays_from_far_away() {
    let mut random = Random(3);
    let solid = Solid::octahedron(5);
    let mesh = mesh_of::<f64>(&solid, 1.0);
    for power in [4, 12, 20, 28, 36] {
        for _ in 0..60 {
            let near = [0; 3].map(|_: i64| random.integer(-6, 6));
            let d = direction(&mut random);
            let o = std::array::from_fn(|k| near[k] - (d[k] << power));
            let hits = check::<f64>(&mesh, &solid, o, d, 1.0, true);
            assert!(hits.is_empty() || hits.len() == 2);
        }
    }
}

/// The test of Möller and Trumbore 1997.
fn straightforward(ray: &Ray<f64, 3>, [a, b, c]: [[f64; 3]; 3]) -> Option<(f64, f64)> {
    let minus = |a: [f64; 3], b: [f64; 3]| -> [f64; 3] { std::array::from_fn(|k| a[k] - b[k]) };
    let dot = |a: [f64; 3], b: [f64; 3]| (0..3).map(|k| a[k] * b[k]).sum::<f64>();
    let cross = |a: [f64; 3], b: [f64; 3]| -> [f64; 3] {
        std::array::from_fn(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
    };
    let (e, f) = (minus(b, a), minus(c, a));
    let p = cross(ray.direction, f);
    let det = dot(e, p);
    let s = minus(ray.origin, a);
    let u = dot(s, p) / det;
    let q = cross(s, e);
    let v = dot(ray.direction, q) / det;
    let t = dot(f, q) / det;
    // The distance from the edges in barycentric weights.
    let margin = u.min(v).min(1.0 - u - v);
    (t.is_finite() && margin > -1e-9).then_some((t, margin))
}

#[test]
fn random_meshes_against_brute_force() {
    let mut random = Random(4);
    for (n, size) in [(1, 1.0), (9, 0.5), (100, 0.3), (3000, 0.05), (3000, 0.5)] {
        let mut vertices: Vec<[f32; 3]> = vec![];
        for _ in 0..n {
            let center = [0.0; 3].map(|_: f64| random.unit());
            (0..3).for_each(|_| vertices.push(center.map(|x| (x + size * (random.unit() - 0.5)) as f32)));
        }
        let faces: Vec<[u32; 3]> = (0..n).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        let mesh = Mesh::build(&vertices, &faces).unwrap();
        let rays: Vec<Ray<f32, 3>> = (0..600)
            .map(|_| {
                let [o, d] = [3.0, 2.0].map(|wide| [0.0; 3].map(|_: f64| (wide * random.unit() - 1.0) as f32));
                Ray::new(o, d).between(0.1, 1.5)
            })
            .collect();
        let (firsts, any, all) = (mesh.first_hits(&rays), mesh.any_hits(&rays), mesh.hits_all(&rays));
        for (i, ray) in rays.iter().enumerate() {
            assert_eq!((mesh.first_hit(ray), mesh.any_hit(ray)), (firsts[i], any[i]));
            assert_eq!(mesh.hits(ray), all.of(i));
            let wide = Ray::new(ray.origin.map(f64::from), ray.direction.map(f64::from));
            let mut expected: Vec<(f64, u32)> = vec![];
            let mut is_sure = true;
            for (face, own) in faces.iter().enumerate() {
                let corners = own.map(|vertex| vertices[vertex as usize].map(f64::from));
                if let Some((t, margin)) = straightforward(&wide, corners) {
                    is_sure &= margin > 1e-9 && (t - 0.1).abs() > 1e-9 && (t - 1.5).abs() > 1e-9;
                    if (0.1..=1.5).contains(&t) {
                        expected.push((t, face as u32));
                    }
                }
            }
            if is_sure {
                expected.sort_by(|a, b| a.0.total_cmp(&b.0));
                assert_eq!(
                    all.of(i).iter().map(|hit| hit.triangle).collect::<Vec<_>>(),
                    expected.iter().map(|e| e.1).collect::<Vec<_>>()
                );
                assert!(all.of(i).iter().zip(&expected).all(|(hit, e)| (hit.t - e.0).abs() < 1e-9));
                assert_eq!(firsts[i].as_ref(), all.of(i).first());
                assert_eq!(any[i], !expected.is_empty());
            }
        }
        // Callbacks get the same hits, and one of them ends its ray early.
        let seen = std::sync::Mutex::new(vec![0; rays.len()]);
        mesh.for_each_hit_all(&rays, |ray, hit| {
            assert!(all.of(ray).contains(&hit));
            seen.lock().unwrap()[ray] += 1;
            ControlFlow::Break(())
        });
        assert!(seen.into_inner().unwrap().iter().enumerate().all(|(ray, &n)| n == all.of(ray).len().min(1)));
    }
}

/// Camera rays, and parallel rays through corners and edges of a duplicated surface. Some of the rays are invalid,
/// start far away, end early, or have another direction.
#[test]
fn many_rays_that_are_alike_meet_what_each_meets() {
    let height = |x: i64, y: i64| (x * x + 3 * y + x * y) % 4;
    for side in [1, 3, 40] {
        let mut solid = Solid { vertices: vec![], faces: vec![] };
        for x in 0..=side {
            solid.vertices.extend((0..=side).map(|y| [x, y, height(x, y)]));
        }
        let at = |x: i64, y: i64| (x * (side + 1) + y) as u32;
        for (x, y) in (0..side).flat_map(|x| (0..side).map(move |y| (x, y))).chain((0..side).map(|x| (x, x))) {
            solid.faces.push([at(x, y), at(x + 1, y), at(x, y + 1)]);
            solid.faces.push([at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)]);
        }
        solid.faces.extend(solid.faces.clone());
        let mesh = mesh_of::<f64>(&solid, 1.0);
        let rays: Vec<Ray<f64, 3>> = (0..2 * 32 * 32)
            .map(|i| {
                let (x, y) = (i % 32 * side, i / 32 % 32 * side);
                let mut ray = if i < 32 * 32 {
                    ray_of([12 * side, 12 * side, 96 * side], [x - 12 * side, y - 12 * side, -96 * side], 1.0 / 32.0)
                } else {
                    ray_of([x, y, 96 * side], [0, 0, -96 * side], 1.0 / 32.0)
                };
                match i % 53 {
                    3 => ray.direction[1] = f64::NAN,
                    11 => ray = Ray::new([0, 1, 2].map(|k| ray.origin[k] - 1e15 * ray.direction[k]), ray.direction),
                    17 => ray = ray.between(0.0, 0.9),
                    29 => ray.direction = ray.direction.map(|x| -x),
                    _ => {}
                }
                ray
            })
            .collect();
        let first: Vec<Option<RayHit>> = rays.iter().map(|ray| mesh.first_hit(ray)).collect();
        let any: Vec<bool> = rays.iter().map(|ray| mesh.any_hit(ray)).collect();
        let met = any.iter().filter(|&&any| any).count();
        assert!(met > rays.len() / 2 && met < rays.len(), "{met}");
        for n in [rays.len(), 1, 7, 9] {
            assert!(mesh.first_hits(&rays[..n]) == first[..n] && mesh.any_hits(&rays[..n]) == any[..n]);
        }
    }
}
