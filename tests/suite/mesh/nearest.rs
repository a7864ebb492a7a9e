//! Nearest triangles, compared with a search by regions, and inside-outside tests, compared with known solids.

use super::solids::{Random, Solid};
use ropewalk::Mesh;

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] - b[k])
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

/// Returns the squared distance by the regions of Ericson 2005, section 5.1.5, for triangles of positive area.
fn distance2([a, b, c]: [[f64; 3]; 3], p: [f64; 3]) -> f64 {
    let (ab, ac) = (minus(b, a), minus(c, a));
    let [ap, bp, cp] = [a, b, c].map(|x| minus(p, x));
    let [d1, d2, d3, d4, d5, d6] = [dot(ab, ap), dot(ac, ap), dot(ab, bp), dot(ac, bp), dot(ab, cp), dot(ac, cp)];
    let (va, vb, vc) = (d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2);
    let (v, w) = if d1 <= 0.0 && d2 <= 0.0 {
        (0.0, 0.0)
    } else if d3 >= 0.0 && d4 <= d3 {
        (1.0, 0.0)
    } else if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        (d1 / (d1 - d3), 0.0)
    } else if d6 >= 0.0 && d5 <= d6 {
        (0.0, 1.0)
    } else if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        (0.0, d2 / (d2 - d6))
    } else if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        let w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        (1.0 - w, w)
    } else {
        (vb / (va + vb + vc), vc / (va + vb + vc))
    };
    let off: [f64; 3] = std::array::from_fn(|k| ap[k] - v * ab[k] - w * ac[k]);
    dot(off, off)
}

#[test]
fn nearest_against_brute_force() {
    let mut random = Random(5);
    for (n, size, flat) in
        [(1, 1.0, 1.0), (8, 0.5, 1.0), (9, 0.5, 1.0), (2000, 0.05, 1.0), (2000, 0.7, 1.0), (2000, 0.4, 1e-4)]
    {
        let mut vertices: Vec<[f32; 3]> = vec![];
        for _ in 0..n {
            let center = [0.0; 3].map(|_: f64| random.unit());
            for _ in 0..3 {
                // Long thin triangles if `flat` is small.
                let off = [size, size * flat, size * flat].map(|wide| wide * (random.unit() - 0.5));
                vertices.push(std::array::from_fn(|k| (center[k] + off[k]) as f32));
            }
        }
        let faces: Vec<[u32; 3]> = (0..n).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        let mesh = Mesh::build(&vertices, &faces).unwrap();
        let corners: Vec<_> = faces.iter().map(|face| face.map(|v| vertices[v as usize].map(f64::from))).collect();
        let points: Vec<[f32; 3]> = (0..600)
            .map(|i| {
                // At small, large and very large distances; close to a triangle, and next to an edge.
                let wide = [1.2, 1e-4, 30.0, 1e4, 1e9, 1e-4][i % 6];
                let [a, b, c] = corners[i % n as usize];
                let (part, other) = (random.unit(), if i % 6 == 1 { random.unit() } else { 0.0 });
                let by = |k: usize| a[k] + part * (b[k] - a[k]) + other * (1.0 - part) * (c[k] - a[k]);
                std::array::from_fn(|k| (wide * (random.unit() - 0.5) + if wide < 1.0 { by(k) } else { 0.5 }) as f32)
            })
            .collect();
        let all = mesh.nearest_all(&points, f64::INFINITY);
        for (&point, &found) in points.iter().zip(&all) {
            let found = found.unwrap();
            assert_eq!(mesh.nearest(point), Some(found));
            let wide = point.map(f64::from);
            let least = corners.iter().map(|&corners| distance2(corners, wide)).fold(f64::INFINITY, f64::min);
            let near = |d: f64| (d.sqrt() - least.sqrt()).abs() <= 1e-11 * (1.0 + least.sqrt());
            assert!(near(found.distance2), "{point:?}: {found:?}, not {least}");
            assert!(near(distance2(corners[found.triangle as usize], wide)));
            let off = minus(wide, found.point);
            assert!(near(dot(off, off)));
            for (k, at) in found.point.into_iter().enumerate() {
                let weighted = found.barycentric.iter().zip(&corners[found.triangle as usize]);
                let there: f64 = weighted.map(|(weight, corner)| weight * corner[k]).sum();
                assert!((there - at).abs() < 1e-6);
            }
            // The radius is inclusive.
            let distance = found.distance2.sqrt();
            assert_eq!(mesh.nearest_within(point, distance * (1.0 + 1e-15)), Some(found));
            assert_eq!(mesh.nearest_within(point, distance * (1.0 - 1e-12)), None);
        }
    }
}

/// On a grid everything is exact, so ties must go to the lowest index.
#[test]
fn ties_go_to_the_lowest_index() {
    let mut random = Random(6);
    let solid = Solid::cube(4);
    let vertices: Vec<[f32; 3]> = solid.vertices.iter().map(|vertex| vertex.map(|x| x as f32)).collect();
    let mesh = Mesh::build(&vertices, &solid.faces).unwrap();
    for _ in 0..2000 {
        let point = [0; 3].map(|_: i64| random.integer(-4, 20) as f64 / 4.0);
        let least = (0..solid.faces.len())
            .map(|face| (distance2(solid.corners(face).map(|corner| corner.map(|x| x as f64)), point), face))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            .unwrap();
        let found = mesh.nearest(point.map(|x| x as f32)).unwrap();
        assert_eq!((found.distance2, found.triangle as usize), least, "{point:?}");
        let inside = point.iter().all(|&x| 0.0 < x && x < 4.0);
        if least.0 > 0.0 {
            let signed = mesh.signed_distance(point.map(|x| x as f32));
            assert_eq!(
                signed,
                if inside {
                    -ropewalk::geometry::distance_from_square(least.0)
                } else {
                    ropewalk::geometry::distance_from_square(least.0)
                },
                "{point:?}"
            );
        }
    }
}

#[test]
fn winding_numbers_of_solids() {
    let mut random = Random(7);
    let mut worst = 0.0f64;
    for solid in [Solid::octahedron(1), Solid::octahedron(12), Solid::octahedron(50)] {
        let size = solid.vertices.iter().map(|v| v[0]).max().unwrap() as f64;
        let vertices: Vec<[f64; 3]> = solid.vertices.iter().map(|vertex| vertex.map(|x| x as f64)).collect();
        let mesh = Mesh::build(&vertices, &solid.faces).unwrap();
        let mut points = vec![];
        for _ in 0..2000 {
            let point = [0.0; 3].map(|_: f64| size * (3.0 * random.unit() - 1.5));
            let is_in = point.iter().map(|x| x.abs()).sum::<f64>() < size;
            worst = worst.max((mesh.winding_number(point) - f64::from(u8::from(is_in))).abs());
            assert_eq!(mesh.contains(point), is_in);
            points.push(point);
        }
        let signed = mesh.signed_distances(&points);
        assert!(points.iter().zip(&signed).all(|(&point, &signed)| mesh.signed_distance(point) == signed));
        let numbers = mesh.winding_numbers(&points);
        assert!(points.iter().zip(&numbers).all(|(&point, &number)| mesh.winding_number(point) == number));
        let inside = mesh.contains_all(&points);
        assert!(points.iter().zip(&inside).all(|(&point, &is_in)| mesh.contains(point) == is_in));
    }
    assert!(worst < 1e-2, "{worst}");
    // From the centre of a cube, each side covers a sixth of the sphere.
    let cube = Solid::cube(40);
    let vertices: Vec<[f64; 3]> = cube.vertices.iter().map(|vertex| vertex.map(|x| x as f64)).collect();
    for side in 0..6 {
        let mesh = Mesh::build(&vertices, &cube.faces[side * 3200..(side + 1) * 3200]).unwrap();
        assert!((mesh.winding_number([20.0; 3]) - 1.0 / 6.0).abs() < 1e-3);
        assert!(!mesh.contains([20.0; 3]));
    }
}

/// For many nested surfaces, the errors of winding numbers add up to more than one half, but the inside is still
/// determined.
#[test]
fn many_nested_surfaces() {
    const SHELLS: usize = 500;
    let solid = Solid::octahedron(6);
    let radius = |shell: f64| 1.0 + 1e-6 * shell;
    let (mut vertices, mut faces) = (vec![], vec![]);
    for shell in 0..SHELLS {
        let first = vertices.len() as u32;
        vertices.extend(solid.vertices.iter().map(|vertex| vertex.map(|x| radius(shell as f64) * x as f64 / 6.0)));
        faces.extend(solid.faces.iter().map(|face| face.map(|at| first + at)));
    }
    let mesh = Mesh::build(&vertices, &faces).unwrap();
    let (mut random, mut worst) = (Random(11), 0.0f64);
    let last = SHELLS as f64 - 1.0;
    for (shell, around) in [(last + 10.0, 0), (last + 1e5, 0), (last - 0.5, 1)] {
        for i in 0..120 {
            let point = [0.0; 3].map(|_: f64| random.unit() - 0.5);
            let from_center: f64 = point.iter().map(|x| x.abs()).sum();
            let point = point.map(|x| x * radius(shell) / from_center);
            let winding = mesh.winding_number(point);
            if around == 0 {
                worst = worst.max(winding.abs());
            }
            // Some of the points with large errors, and some others.
            if i % 50 == 0 || (winding.abs() > 0.5) != (around > 0) && i % 3 == 0 {
                assert_eq!(mesh.contains(point), around > 0, "{shell}: {point:?}");
            }
        }
    }
    assert!(worst > 0.5, "{worst}");
}

/// At any distance, the result is that of the triangle alone, with the lowest index in case of ties.
#[test]
fn nearest_from_afar() {
    let mut random = Random(12);
    let solid = Solid::octahedron(7);
    let vertices: Vec<[f64; 3]> = solid.vertices.iter().map(|vertex| vertex.map(|x| 0.1 * x as f64)).collect();
    let mesh = Mesh::build(&vertices, &solid.faces).unwrap();
    let alone: Vec<Mesh<f64>> = solid.faces.iter().map(|face| Mesh::build(&vertices, &[*face]).unwrap()).collect();
    for distance in [1e5, 1e6, 1e7, 1e9, 1e12, 1e14, 1e17, 1e30, 1e149] {
        for i in 0..12 {
            let mut direction = [0.0; 3].map(|_: f64| 2.0 * random.unit() - 1.0);
            if i < 4 {
                // Corners and edges, where distances tie.
                direction = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [1.0, 1.0, 0.0], [1.0, -1.0, 1.0]][i];
            }
            let point = direction.map(|x| x * distance);
            let each = alone.iter().map(|mesh| mesh.nearest(point).unwrap().distance2);
            let (least, triangle) = each.zip(0u32..).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).unwrap();
            let found = mesh.nearest(point).unwrap();
            assert_eq!((found.distance2, found.triangle), (least, triangle), "{point:?}");
            assert_eq!(mesh.nearest_within(point, least.sqrt() * (1.0 - 1e-12)), None);
            assert_eq!(mesh.nearest_within(point, least.sqrt() * (1.0 + 1e-15)), Some(found));
        }
    }
}

/// The squares of such distances overflow.
#[test]
fn beyond_the_limit_nothing_is_near() {
    let mesh = Mesh::build(&[[0.0f64, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2], [0, 0, 0]]).unwrap();
    for x in [1e151, -1e200, f64::MAX] {
        for point in [[x, 0.0, 0.0], [0.5, x, 0.0], [x; 3]] {
            assert_eq!((mesh.nearest(point), mesh.nearest_within(point, 1.0)), (None, None));
            assert_eq!(mesh.nearest_all(&[point], f64::INFINITY), [None]);
            assert!(mesh.signed_distance(point).is_nan());
        }
    }
    let near = mesh.nearest([1e150, 0.0, 0.0]).unwrap();
    assert!(near.triangle == 0 && near.distance2.is_finite(), "{near:?}");
}
