//! Groups of meshes, compared with one mesh of all triangles, with loops over instances and triangles, and with exact
//! transforms of integers.

use std::sync::Arc;

use super::solids::{Random, Solid};
use ropewalk::search::{InstanceHit, MeshGroup, MeshInstance};
use ropewalk::{Mesh, Ray, Scalar};

type Transform = [[f64; 4]; 3];
/// The hits of a ray on a mesh.
type HitsOn<'a> = &'a dyn Fn(&Mesh<f64>, &Ray<f64, 3>) -> Vec<ropewalk::search::RayHit>;

fn mesh_of<S: Scalar>(solid: &Solid) -> Mesh<S> {
    let vertices: Vec<[S; 3]> = solid.vertices.iter().map(|vertex| vertex.map(|x| S::from_f64(x as f64))).collect();
    Mesh::build(&vertices, &solid.faces).unwrap()
}

fn apply(transform: &Transform, [x, y, z]: [f64; 3]) -> [f64; 3] {
    transform.map(|row| row[0] * x + row[1] * y + row[2] * z + row[3])
}

/// Returns a rotation about a random axis with scales, moved by up to `reach`.
fn random_transform(random: &mut Random, reach: f64) -> Transform {
    let mut number = |size: f64| size * (2.0 * random.unit() - 1.0);
    let axis: [f64; 3] = [0.0; 3].map(|_: f64| number(1.0));
    let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
    let [x, y, z] = axis.map(|x| x / length);
    let (sin, cos) = number(3.0).sin_cos();
    let rest = 1.0 - cos;
    let turn = [
        [cos + rest * x * x, rest * x * y - sin * z, rest * x * z + sin * y],
        [rest * x * y + sin * z, cos + rest * y * y, rest * y * z - sin * x],
        [rest * x * z - sin * y, rest * y * z + sin * x, cos + rest * z * z],
    ];
    let scales: [f64; 3] = [0.0; 3].map(|_: f64| number(1.0) + if number(1.0) > 0.0 { 1.2 } else { -1.2 });
    turn.map(|row| [row[0] * scales[0], row[1] * scales[1], row[2] * scales[2], number(reach)])
}

fn random_ray<S: Scalar>(random: &mut Random, reach: f64) -> Ray<S, 3> {
    let mut number = |size: f64| size * (2.0 * random.unit() - 1.0);
    let origin: [f64; 3] = [0.0; 3].map(|_: f64| number(1.5 * reach));
    let to: [f64; 3] = [0.0; 3].map(|_: f64| number(reach));
    let direction: [S; 3] = std::array::from_fn(|k| S::from_f64(to[k] - origin[k]));
    let ray = Ray::new(origin.map(S::from_f64), direction);
    match (number(4.0) + 4.0) as u32 {
        0 => ray.between(0.5, 1.5),
        1 => ray.between(f64::NEG_INFINITY, f64::INFINITY),
        _ => ray,
    }
}

fn order(a: &InstanceHit, b: &InstanceHit) -> std::cmp::Ordering {
    a.t.total_cmp(&b.t).then((a.instance, a.triangle).cmp(&(b.instance, b.triangle)))
}

/// Compares all queries of a group with those of the mapped rays on all meshes. Returns the number of first hits.
fn compare<S: Scalar>(group: &MeshGroup<S>, rays: &[Ray<S, 3>]) -> usize {
    let wide: Vec<Mesh<f64>> = group
        .meshes()
        .iter()
        .map(|mesh| {
            let corners = (0..mesh.len() as u32).flat_map(|face| mesh.triangle(face));
            let corners: Vec<[f64; 3]> = corners.map(|corner| corner.map(Into::into)).collect();
            let faces: Vec<[u32; 3]> =
                (0..mesh.len() as u32).map(|face| [3 * face, 3 * face + 1, 3 * face + 2]).collect();
            Mesh::build(&corners, &faces).unwrap()
        })
        .collect();
    let on_all = |ray: &Ray<S, 3>, hits: HitsOn| {
        let mut all: Vec<InstanceHit> = vec![];
        for (instance, own) in (0..).zip(group.instances()) {
            let there = group.instance_ray(instance, ray).unwrap();
            all.extend(hits(&wide[own.mesh as usize], &there).into_iter().map(|hit| InstanceHit {
                instance,
                triangle: hit.triangle,
                t: hit.t,
                barycentric: hit.barycentric,
            }));
        }
        all.sort_by(order);
        all
    };
    let (firsts, anys, lists) = (group.first_hits(rays), group.any_hits(rays), group.hits_all(rays));
    let twos = group.k_hits_all(rays, 2);
    for (i, ray) in rays.iter().enumerate() {
        let first = on_all(ray, &|mesh, ray| mesh.first_hit(ray).into_iter().collect()).first().copied();
        let all = on_all(ray, &|mesh, ray| mesh.hits(ray));
        assert_eq!((firsts[i], group.first_hit(ray)), (first, first), "{ray:?}");
        assert_eq!((anys[i], group.any_hit(ray)), (first.is_some(), first.is_some()), "{ray:?}");
        assert_eq!((lists.of(i), &group.hits(ray)), (&all[..], &all), "{ray:?}");
        assert_eq!(twos.of(i), &all[..all.len().min(2)], "{ray:?}");
        for k in [0, 1, 3, 1000] {
            assert_eq!(group.k_hits(ray, k), all[..all.len().min(k)], "{ray:?}");
        }
    }
    firsts.iter().flatten().count()
}

fn instances_anywhere<S: Scalar>() {
    let mut random = Random(3);
    let meshes = [Solid::octahedron(3), Solid::cube(2), Solid::default(), Solid::octahedron(1)]
        .map(|solid| Arc::new(mesh_of::<S>(&solid)));
    for (n, reach) in [(0, 1.0), (1, 2.0), (40, 20.0), (150, 30.0)] {
        let instances: Vec<MeshInstance> =
            (0..n).map(|i| MeshInstance::new(i % 4).transformed(random_transform(&mut random, reach))).collect();
        let mut group = MeshGroup::build(meshes.clone(), &[MeshInstance::new(1)]).unwrap();
        assert_eq!(group.set_instances(&[MeshInstance::new(4)]).unwrap_err().index(), Some(0));
        assert_eq!(group.instances(), [MeshInstance::new(1)]);
        group.set_instances(&instances).unwrap();
        assert_eq!((group.len(), group.is_empty()), (n as usize, n == 0));
        let rays: Vec<Ray<S, 3>> = (0..300).map(|_| random_ray(&mut random, reach)).collect();
        let hits = compare(&group, &rays);
        assert!(n < 40 || hits > 30, "{hits}");
    }
}

#[test]
fn instances_in_f32() {
    instances_anywhere::<f32>();
}

#[test]
fn instances_in_f64() {
    instances_anywhere::<f64>();
}

/// The first hit is near that of a loop over the triangles in the world, by the Möller-Trumbore test.
#[test]
fn first_hits_in_the_world() {
    let mut random = Random(5);
    let solids = [Solid::octahedron(2), Solid::cube(2)];
    let instances: Vec<MeshInstance> =
        (0..30).map(|i| MeshInstance::new(i % 2).transformed(random_transform(&mut random, 15.0))).collect();
    let group = MeshGroup::build(solids.each_ref().map(mesh_of::<f64>), &instances).unwrap();
    let mut met = 0;
    for _ in 0..500 {
        let ray: Ray<f64, 3> = random_ray(&mut random, 15.0).between(0.0, f64::INFINITY);
        let mut first = f64::INFINITY;
        for own in &instances {
            let solid = &solids[own.mesh as usize];
            for face in 0..solid.faces.len() {
                let corners = solid.corners(face).map(|corner| apply(&own.transform, corner.map(|x| x as f64)));
                first = first.min(moller_trumbore(&ray, corners).unwrap_or(f64::INFINITY));
            }
        }
        let hit = group.first_hit(&ray);
        // A ray beside an edge may hit only one of the two.
        assert!(
            hit.map_or(f64::INFINITY, |hit| hit.t) == first || hit.is_some_and(|hit| (hit.t - first).abs() < 1e-9),
            "{ray:?}"
        );
        if let Some(hit) = hit {
            met += 1;
            let own = &instances[hit.instance as usize];
            let corners = solids[own.mesh as usize].corners(hit.triangle as usize);
            let corners = corners.map(|corner| apply(&own.transform, corner.map(|x| x as f64)));
            for (k, at) in ray.at(hit.t).into_iter().enumerate() {
                let there: f64 = (0..3).map(|corner| hit.barycentric[corner] * corners[corner][k]).sum();
                assert!((there - at).abs() < 1e-10, "{ray:?}");
            }
        }
    }
    assert!(met > 100, "{met}");
}

/// Returns the `t` at which a ray meets a triangle, if it is not negative.
fn moller_trumbore(ray: &Ray<f64, 3>, [a, b, c]: [[f64; 3]; 3]) -> Option<f64> {
    let minus = |a: [f64; 3], b: [f64; 3]| -> [f64; 3] { std::array::from_fn(|k| a[k] - b[k]) };
    let cross = |a: [f64; 3], b: [f64; 3]| -> [f64; 3] {
        std::array::from_fn(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
    };
    let dot = |a: [f64; 3], b: [f64; 3]| (0..3).map(|k| a[k] * b[k]).sum::<f64>();
    let (u, v, from) = (minus(b, a), minus(c, a), minus(ray.origin, a));
    let p = cross(ray.direction, v);
    let determinant = dot(u, p);
    let q = cross(from, u);
    let (s, t) = (dot(from, p) / determinant, dot(ray.direction, q) / determinant);
    let at = dot(v, q) / determinant;
    (s >= 0.0 && t >= 0.0 && s + t <= 1.0 && at >= 0.0).then_some(at)
}

/// Meshes at their own places are hit as one mesh of all triangles, also on edges and corners.
#[test]
fn meshes_at_their_own_places() {
    let mut random = Random(7);
    let moved = |solid: &Solid, by: [i64; 3]| Solid {
        vertices: solid.vertices.iter().map(|v| std::array::from_fn(|k| v[k] + by[k])).collect(),
        faces: solid.faces.clone(),
    };
    let parts =
        [moved(&Solid::octahedron(3), [2, 0, 1]), moved(&Solid::cube(4), [0, 0, 0]), moved(&Solid::cube(2), [4, 1, 1])];
    let mut all = Solid::default();
    let mut places = vec![];
    for (instance, part) in (0..).zip(&parts) {
        let first = all.vertices.len() as u32;
        all.vertices.extend(&part.vertices);
        all.faces.extend(part.faces.iter().map(|face| face.map(|vertex| first + vertex)));
        places.extend((0..part.faces.len() as u32).map(|triangle| (instance, triangle)));
    }
    let one = mesh_of::<f32>(&all);
    let group = MeshGroup::build(parts.map(|part| mesh_of::<f32>(&part)), &[0, 1, 2].map(MeshInstance::new)).unwrap();
    let on_group = |hit: ropewalk::search::RayHit| {
        let (instance, triangle) = places[hit.triangle as usize];
        InstanceHit { instance, triangle, t: hit.t, barycentric: hit.barycentric }
    };
    let mut met = 0;
    for i in 0..3000 {
        let half = if i % 2 == 0 { 1.0 } else { 0.5 };
        let mut place = |size: i64| [0; 3].map(|_: i64| random.integer(-size, size) as f32 * half);
        let ray = Ray::new(place(12), place(3));
        let hits: Vec<InstanceHit> = one.hits(&ray).into_iter().map(on_group).collect();
        assert_eq!(group.first_hit(&ray), one.first_hit(&ray).map(on_group), "{ray:?}");
        assert_eq!(group.hits(&ray), hits, "{ray:?}");
        met += usize::from(!hits.is_empty());
    }
    assert!(met > 200, "{met}");
}

/// Turns by right angles, mirrors, powers of two and integer moves are exact, so hits are those of moved triangles.
#[test]
fn exact_transforms() {
    let mut random = Random(9);
    let solids = [Solid::octahedron(2), Solid::cube(3)];
    let mut all = (vec![], vec![], vec![]);
    let mut instances = vec![];
    for instance in 0..12 {
        let (mesh, first) = (instance % 2, random.integer(0, 2) as usize);
        let mut transform = [[0.0; 4]; 3];
        for (k, row) in transform.iter_mut().enumerate() {
            row[(k + first) % 3] = [1.0, -1.0, 2.0, 0.5][random.integer(0, 3) as usize];
            row[3] = random.integer(-8, 8) as f64;
        }
        let solid = &solids[mesh];
        let start = all.0.len() as u32;
        all.0.extend(solid.vertices.iter().map(|vertex| apply(&transform, vertex.map(|x| x as f64))));
        all.1.extend(solid.faces.iter().map(|face| face.map(|vertex| start + vertex)));
        all.2.extend((0..solid.faces.len() as u32).map(|face| (instance as u32, face)));
        instances.push(MeshInstance::new(mesh as u32).transformed(transform));
    }
    let one = Mesh::build(&all.0, &all.1).unwrap();
    let group = MeshGroup::build(solids.each_ref().map(mesh_of::<f64>), &instances).unwrap();
    let mut met = 0;
    for _ in 0..3000 {
        let mut place = |size: i64| [0; 3].map(|_: i64| random.integer(-size, size) as f64);
        let ray: Ray<f64, 3> = Ray::new(place(14), place(3));
        let (found, expected) = (group.first_hit(&ray), one.first_hit(&ray));
        let at = |hit: &InstanceHit| (hit.t, hit.instance, hit.triangle);
        let expected = expected.map(|hit| {
            let (instance, triangle) = all.2[hit.triangle as usize];
            (hit.t, instance, triangle)
        });
        assert_eq!(found.as_ref().map(at), expected, "{ray:?}");
        met += usize::from(found.is_some());
    }
    assert!(met > 200, "{met}");
}

/// Rays from far away, large and small instances, and nearly singular transforms miss no instance.
#[test]
fn far_rays_and_extreme_transforms() {
    let mut random = Random(11);
    let mesh = Arc::new(mesh_of::<f64>(&Solid::octahedron(1)));
    let mut instances = vec![];
    for i in 0..40 {
        let mut transform = random_transform(&mut random, 10.0);
        let by = [1.0, 1e-7, 1e7, 1e-3][i % 4];
        for row in &mut transform {
            row[i % 3] *= if i % 8 < 4 { by } else { 1.0 };
            let scale = if i % 5 == 0 { 1e-4 } else { 1.0 };
            row[..3].iter_mut().for_each(|x| *x *= scale);
            if i == 17 {
                row[3] += 1e9;
            }
        }
        instances.push(MeshInstance::new(0).transformed(transform));
    }
    let group = MeshGroup::build([mesh], &instances).unwrap();
    let mut rays = vec![];
    for i in 0..400 {
        // Towards a corner of an instance, where rounding decides.
        let corner = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]][i % 3];
        let to = apply(&instances[i % 40].transform, corner);
        let far = [1.0, 1e3, 1e9, 1e15][i / 3 % 4];
        let origin: [f64; 3] = std::array::from_fn(|k| to[k] + far * (random.unit() - 0.5));
        rays.push(Ray::new(origin, std::array::from_fn::<f64, 3, _>(|k| to[k] - origin[k])));
    }
    assert!(compare(&group, &rays) > 50);
}

#[test]
fn invalid_groups() {
    let mesh = Arc::new(mesh_of::<f32>(&Solid::cube(1)));
    let good = MeshInstance::new(0);
    for (bad, word) in [
        (MeshInstance::new(1), "mesh"),
        (good.transformed([[0.0; 4]; 3]), "singular"),
        (good.transformed([[1.0, 2.0, 3.0, 0.0], [2.0, 4.0, 6.0, 0.0], [0.0, 0.0, 1.0, 0.0]]), "singular"),
        (good.transformed([[0.1, 0.2, 0.3, 0.0], [0.4, 0.5, 0.6, 0.0], [0.7, 0.8, 0.9, 0.0]]), "singular"),
        (good.moved([f64::NAN, 0.0, 0.0]), "finite"),
        (good.moved([0.0, f64::INFINITY, 0.0]), "finite"),
        (good.moved([0.0, 1e151, 0.0]), "1e149"),
        (good.transformed([[1e200, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]), "1e149"),
    ] {
        let error = MeshGroup::build([mesh.clone()], &[good, bad]).unwrap_err();
        assert_eq!(error.index(), Some(1), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    let group = MeshGroup::build([mesh], &[good, good]).unwrap();
    let (zero, nan) = (Ray::new([0.5f32; 3], [0.0f32; 3]), Ray::new([f32::NAN; 3], [1.0f32; 3]));
    for ray in [zero, nan, Ray::new([0.5; 3], [1.0; 3]).between(2.0, 1.0)] {
        assert!(group.first_hit(&ray).is_none() && !group.any_hit(&ray) && group.hits(&ray).is_empty());
    }
    // Copies of an instance: the first one is hit.
    assert_eq!(group.first_hit(&Ray::new([0.3, 0.4, -1.0], [0.0, 0.0, 1.0])).unwrap().instance, 0);
    assert!(group.instance_ray(2, &zero).is_none());
    let none = MeshGroup::build(Vec::<Mesh<f32>>::new(), &[]).unwrap();
    assert!(none.is_empty() && none.first_hit(&Ray::new([0.0; 3], [1.0; 3])).is_none());
}
