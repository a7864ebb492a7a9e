//! Groups of meshes on a device, compared with the CPU bit for bit.

use common::random::Random;
use ropewalk::gpu::{self, Coordinate, Rays};
use ropewalk::search::{MeshGroup, MeshInstance};
use ropewalk::{Aabb, Mesh, Ray};

use crate::mesh::{Surface, around, device, rays};

/// Returns surfaces: round, with integers, and empty.
fn surfaces() -> Vec<Surface> {
    let bumpy = |[x, y, z]: [f64; 3]| 1.0 + 0.1 * (9.0 * x).sin() * (7.0 * y).cos() + 0.05 * (11.0 * z).sin();
    let vertices = (0..25).map(|i| [f64::from(i % 5), f64::from(i / 5), f64::from(i % 3)]).collect();
    let at = |x: u32, y: u32| y * 5 + x;
    let faces = (0..16)
        .map(|i| (i % 4, i / 4))
        .flat_map(|(x, y)| [[at(x, y), at(x + 1, y), at(x + 1, y + 1)], [at(x, y), at(x + 1, y + 1), at(x, y + 1)]]);
    let steps = Surface { name: "steps", vertices, faces: faces.collect() };
    let none = Surface { name: "none", vertices: vec![], faces: vec![] };
    vec![around("a ball", 8, bumpy), steps, none]
}

/// Returns instances, some turned, stretched and mirrored, some moved by integers, some equal.
fn instances(n: usize, meshes: usize, reach: f64) -> Vec<MeshInstance> {
    let mut random = Random::new(12);
    let instance = |i: usize| {
        let mut number = |size: f64| size * (2.0 * random.unit() - 1.0);
        let own = MeshInstance::new((i % meshes) as u32);
        match i % 4 {
            0 => own.moved([0.0; 3].map(|_: f64| number(reach).round())),
            1 => own.moved([((i / 4) % 5) as f64, 0.0, 0.0]),
            _ => {
                let mut transform = [[0.0; 4]; 3];
                transform.iter_mut().for_each(|row| row[..3].iter_mut().for_each(|x| *x = number(1.0)));
                (0..3).for_each(|k| transform[k][k] += [1.5, -1.5][i / 4 % 2]);
                own.transformed(transform).moved([0.0; 3].map(|_: f64| number(reach)))
            }
        }
    };
    (0..n).map(instance).collect()
}

fn compare<S: Coordinate>(n_instances: usize, n_rays: usize, reach: f64) {
    let device = device();
    let surfaces = surfaces();
    let vertices = |surface: &Surface| -> Vec<[S; 3]> { surface.vertices.iter().map(|v| v.map(S::from_f64)).collect() };
    let meshes: Vec<Mesh<S>> =
        surfaces.iter().map(|surface| Mesh::build(&vertices(surface), &surface.faces).unwrap()).collect();
    let built: Vec<gpu::Mesh<S>> =
        surfaces.iter().map(|surface| gpu::Mesh::build(&vertices(surface), &surface.faces, device).unwrap()).collect();
    let group = MeshGroup::build(meshes, &instances(n_instances, 3, reach)).unwrap();
    let bounds = if group.is_empty() { Aabb::new([-1.0f64; 3], [1.0; 3]) } else { group.bounds() };
    let bounds = Aabb { lo: bounds.lo.map(S::from_f64), hi: bounds.hi.map(S::from_f64) };
    // Towards integers, where edges and corners are hit.
    let grid: Vec<[f64; 3]> = (0..64).map(|i| [i % 4, i / 4 % 4, i / 16].map(f64::from)).collect();
    let rays: Vec<Ray<S, 3>> = rays(&bounds, &grid, n_rays);
    let (firsts, anys) = (group.first_hits(&rays), group.any_hits(&rays));
    let met = firsts.iter().flatten().count();
    assert!(n_instances < 20 || (met > n_rays / 20 && met < n_rays), "{met}");
    let there = Rays::new(&rays, device).unwrap();
    let all = group.hits_all(&rays);
    let mut moved = gpu::MeshGroup::build(&built, &instances(n_instances / 2, 3, 1.0), device).unwrap();
    assert!(moved.set_instances(&[MeshInstance::new(3)]).is_err());
    assert_eq!(moved.len(), n_instances / 2);
    moved.set_instances(group.instances()).unwrap();
    for ours in [gpu::MeshGroup::upload(&group, device).unwrap(), moved] {
        assert_eq!((ours.len(), ours.is_empty()), (group.len(), group.is_empty()));
        let hits = ours.first_hits(&there).unwrap();
        let found = hits.read().unwrap();
        let (instances, triangles) = (hits.instances().read().unwrap(), hits.triangles().read().unwrap());
        let any = ours.any_hits(&there).unwrap().read().unwrap();
        assert_eq!((hits.len(), any.len()), (rays.len(), rays.len()));
        for (i, ray) in rays.iter().enumerate() {
            assert_eq!(found[i], firsts[i], "{ray:?}");
            assert_eq!(any[i], u32::from(anys[i]), "{ray:?}");
            let expected = firsts[i].map_or((u32::MAX, u32::MAX), |hit| (hit.instance, hit.triangle));
            assert_eq!((instances[i], triangles[i]), expected, "{ray:?}");
        }
        let lists = ours.hits_all(&there).unwrap();
        let (found, triangles) = (lists.read().unwrap(), lists.triangles().read().unwrap());
        assert!(found.values().iter().zip(triangles).all(|(hit, triangle)| hit.triangle == triangle));
        let first = [0, 1, 3].map(|k| (k, ours.k_hits_all(&there, k).unwrap().read().unwrap()));
        for (i, ray) in rays.iter().enumerate() {
            assert_eq!(found.of(i), all.of(i), "{ray:?}");
            for (k, lists) in &first {
                assert_eq!(lists.of(i), &all.of(i)[..all.of(i).len().min(*k)], "the first {k} of {ray:?}");
            }
        }
    }
}

#[test]
#[ignore = "wide"]
fn wide_groups_in_f32() {
    for (n_instances, reach) in [(0, 1.0), (1, 3.0), (60, 15.0)] {
        compare::<f32>(n_instances, 1500, reach);
    }
}

#[test]
#[ignore = "wide"]
fn wide_groups() {
    compare::<f64>(60, 3000, 15.0);
    // Enough rays to be sorted.
    compare::<f32>(400, 20_000, 40.0);
}

#[test]
#[ignore = "wide"]
fn wide_rays_from_afar_at_a_group() {
    let device = device();
    let mesh = Mesh::build(&[[0.0f64, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], &[[0, 1, 2]]).unwrap();
    let stack: Vec<MeshInstance> = (0..20).map(|i| MeshInstance::new(0).moved([0.0, 0.0, f64::from(i)])).collect();
    let group = MeshGroup::build([mesh], &stack).unwrap();
    let rays: Vec<Ray<f64, 3>> = [1e3, 1e9, 1e15, 1e20]
        .iter()
        .flat_map(|&far| {
            [Ray::new([0.5, 1.0, far], [0.0, 0.0, -1.0]), Ray::new([far, 1.0, 2.5 + far], [-1.0, 0.0, -1.0])]
        })
        .collect();
    let ours = gpu::MeshGroup::upload(&group, device).unwrap();
    let found = ours.first_hits(&Rays::new(&rays, device).unwrap()).unwrap().read().unwrap();
    assert_eq!(found, group.first_hits(&rays));
    assert!(found.iter().flatten().count() >= 4);
}

/// The group keeps its meshes, and takes the bounds of a mesh that was refitted.
#[test]
#[ignore = "wide"]
fn wide_groups_of_refitted_meshes() {
    let device = device();
    let mut vertices = [[0.0f32, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]];
    let mut mesh = gpu::Mesh::build(&vertices, &[[0, 1, 2]], device).unwrap();
    let before = gpu::MeshGroup::build(&[mesh.clone()], &[MeshInstance::new(0)], device).unwrap();
    vertices.iter_mut().for_each(|vertex| vertex[2] = 5.0);
    mesh.refit(&vertices).unwrap();
    assert_eq!(mesh.bounds(), Aabb::new([0.0, 0.0, 5.0], [1.0, 1.0, 5.0]));
    let after = gpu::MeshGroup::build(&[mesh], &[MeshInstance::new(0)], device).unwrap();
    let rays = Rays::new(&[Ray::new([0.25f32, 0.25, 0.0], [0.0, 0.0, 1.0])], device).unwrap();
    for (group, t) in [(before, 1.0), (after, 5.0)] {
        assert_eq!(group.first_hits(&rays).unwrap().read().unwrap()[0].unwrap().t, t);
    }
    let error = gpu::MeshGroup::<f32>::build(&[], &[MeshInstance::new(0)], device).unwrap_err();
    assert_eq!(error.index(), Some(0), "{error}");
}
