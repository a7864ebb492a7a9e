//! Rays and nearest triangles on a device, compared with the CPU bit for bit.

use common::random::Random;
use ropewalk::geometry::Convex;
use ropewalk::gpu::{self, Coordinate, Device, Rays, Solids};
use ropewalk::{Aabb, Bvh, Mesh, Ray, Sphere};

pub(crate) fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// The vertices and faces of a surface.
pub(crate) struct Surface {
    pub name: &'static str,
    pub vertices: Vec<[f64; 3]>,
    pub faces: Vec<[u32; 3]>,
}

/// Returns a closed surface of `n` by `2 n` quads, with a radius that depends on the direction.
pub(crate) fn around(name: &'static str, n: u32, radius: impl Fn([f64; 3]) -> f64) -> Surface {
    let mut vertices = vec![];
    for i in 0..=n {
        for j in 0..2 * n {
            let (theta, phi) = (f64::from(i) / f64::from(n), f64::from(j) / f64::from(n));
            let (theta, phi) = (theta * std::f64::consts::PI, phi * std::f64::consts::PI);
            let at = [theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()];
            vertices.push(at.map(|x| x * radius(at)));
        }
    }
    let at = |i: u32, j: u32| i * 2 * n + j % (2 * n);
    let quads = (0..n).flat_map(|i| (0..2 * n).map(move |j| (i, j)));
    let faces = quads
        .flat_map(|(i, j)| [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]);
    Surface { name, vertices, faces: faces.collect() }
}

fn surfaces() -> Vec<Surface> {
    let bumpy = |[x, y, z]: [f64; 3]| 1.0 + 0.1 * (9.0 * x).sin() * (7.0 * y).cos() + 0.05 * (11.0 * z).sin();
    // With few triangles around its poles, since loops on a software driver are limited.
    let ball = around("a ball", 8, bumpy);
    let far = ball.vertices.iter().map(|&[x, y, z]| [1000.0 + x, y - 500.0, z]).collect();
    let far = Surface { name: "far away", vertices: far, faces: ball.faces.clone() };
    // Integers, so that rays hit edges and corners.
    let grid = (0..81).map(|i| [f64::from(i % 9), f64::from(i / 9), f64::from(i % 9 / 3)]).collect();
    let at = |x: u32, y: u32| y * 9 + x;
    let squares = (0..64).map(|i| (i % 8, i / 8));
    let faces = squares
        .flat_map(|(x, y)| [[at(x, y), at(x + 1, y), at(x + 1, y + 1)], [at(x, y), at(x + 1, y + 1), at(x, y + 1)]]);
    let steps = Surface { name: "steps", vertices: grid, faces: faces.collect() };
    let mut random = Random::new(11);
    let soup: Vec<[f64; 3]> = (0..900).map(|_| std::array::from_fn(|_| random.unit())).collect();
    let faces = (0..300).map(|i| [3 * i, 3 * i + 1, if i % 7 == 0 { 3 * i } else { 3 * i + 2 }]).collect();
    let soup = Surface { name: "crossing, some without area", vertices: soup, faces };
    let copies = Surface { name: "copies", vertices: ball.vertices.clone(), faces: vec![[40, 56, 57]; 40] };
    let one = Surface { name: "one", vertices: ball.vertices.clone(), faces: vec![[40, 56, 57]] };
    let none = Surface { name: "none", vertices: vec![], faces: vec![] };
    vec![ball, far, steps, soup, copies, one, none]
}

fn vertices_of<S: Coordinate>(surface: &Surface) -> Vec<[S; 3]> {
    surface.vertices.iter().map(|vertex| vertex.map(S::from_f64)).collect()
}

fn mesh_of<S: Coordinate>(surface: &Surface) -> Mesh<S> {
    Mesh::build(&vertices_of::<S>(surface), &surface.faces).unwrap()
}

/// Returns an uploaded mesh, and one that is built on the device.
fn meshes_on<S: Coordinate>(device: Device, surface: &Surface, mesh: &Mesh<S>) -> [gpu::Mesh<S>; 2] {
    let built = gpu::Mesh::build(&vertices_of::<S>(surface), &surface.faces, device);
    [gpu::Mesh::upload(mesh, device), built]
        .map(|mesh| mesh.unwrap_or_else(|error| panic!("{}: {error}", surface.name)))
}

/// Returns points around a box, on vertices, and far away.
pub(crate) fn places<S: Coordinate>(bounds: &Aabb<S, 3>, vertices: &[[f64; 3]], n: usize) -> Vec<[S; 3]> {
    let mut random = Random::new(5);
    let [lo, hi] = [bounds.lo, bounds.hi].map(|corner| corner.map(Into::<f64>::into));
    let place = |i: usize| -> [S; 3] {
        let wide = [0.1, 1.0, 3.0, 1e6][if i.is_multiple_of(50) { 3 } else { i % 3 }];
        let at: [f64; 3] = std::array::from_fn(|k| {
            let middle = 0.5 * (lo[k] + hi[k]);
            middle + wide * (hi[k] - lo[k] + 0.01) * (random.unit() - 0.5)
        });
        match vertices {
            [] => [0.5; 3].map(S::from_f64),
            _ if i.is_multiple_of(4) => vertices[i * 31 % vertices.len()].map(S::from_f64),
            _ => at.map(S::from_f64),
        }
    };
    (0..n).map(place).collect()
}

/// Returns rays from each point to others: some along axes, some limited to a range, and some invalid.
pub(crate) fn rays<S: Coordinate>(bounds: &Aabb<S, 3>, vertices: &[[f64; 3]], n: usize) -> Vec<Ray<S, 3>> {
    let places = places(bounds, vertices, 2 * n);
    let mut rays: Vec<Ray<S, 3>> = (0..n)
        .map(|i| {
            let (from, to) = (places[i], places[n + i * 7 % n]);
            let mut direction: [S; 3] =
                std::array::from_fn(|k| S::from_f64(Into::<f64>::into(to[k]) - Into::<f64>::into(from[k])));
            if i % 6 == 0 {
                direction = [0.0; 3].map(S::from_f64);
                direction[i % 3] = S::from_f64(if i % 12 == 0 { 2.0 } else { -1.0 });
            }
            let ray = Ray::new(from, direction);
            match i % 5 {
                0 => ray.between(-3.0, 0.75),
                1 => ray.between(0.5, f64::INFINITY),
                _ => ray,
            }
        })
        .collect();
    let [zero, one, nan] = [0.0, 1.0, f64::NAN].map(S::from_f64);
    rays.push(Ray::new([zero; 3], [zero; 3]));
    rays.push(Ray::new([nan, zero, zero], [one; 3]));
    rays.push(Ray::new([zero; 3], [one, S::from_f64(f64::INFINITY), zero]));
    rays.push(Ray::new([zero; 3], [one; 3]).between(2.0, 1.0));
    rays.push(Ray::new([zero; 3], [one; 3]).between(f64::NEG_INFINITY, f64::INFINITY));
    rays.push(Ray::new([1e-3, 0.5, 0.25].map(S::from_f64), [1e-30, 0.0, 1e-32].map(S::from_f64)));
    rays
}

fn compare_rays<S: Coordinate>(n: usize) {
    let device = device();
    for surface in surfaces() {
        let mesh = mesh_of::<S>(&surface);
        let rays = rays(&mesh.bounds(), &surface.vertices, n);
        let met = mesh.first_hits(&rays).iter().flatten().count();
        assert!(surface.faces.len() < 100 || (met > n / 20 && met < rays.len()), "{}: {met}", surface.name);
        for ours in meshes_on(device, &surface, &mesh) {
            compare_hits(surface.name, &ours, &mesh, &rays, device);
        }
    }
}

/// Compares all queries of rays with those of the CPU.
pub(crate) fn compare_hits<S: Coordinate>(
    name: &str,
    ours: &gpu::Mesh<S>,
    mesh: &Mesh<S>,
    rays: &[Ray<S, 3>],
    device: Device,
) {
    assert_eq!((ours.len(), ours.is_empty()), (mesh.len(), mesh.is_empty()));
    let there = Rays::new(rays, device).unwrap();
    let found = ours.first_hits(&there).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (firsts, expected) = (found.read().unwrap(), mesh.first_hits(rays));
    let anys = ours.any_hits(&there).unwrap().read().unwrap();
    let (lists, all) = (ours.hits_all(&there).unwrap().read().unwrap(), mesh.hits_all(rays));
    for (i, ray) in rays.iter().enumerate() {
        assert_eq!(firsts[i], expected[i], "{name}: {ray:?}");
        assert_eq!(anys[i], u32::from(expected[i].is_some()), "{name}: {ray:?}");
        assert_eq!(lists.of(i), all.of(i), "{name}: {ray:?}");
    }
    for k in [0, 1, 3] {
        let (lists, first) = (ours.k_hits_all(&there, k).unwrap().read().unwrap(), mesh.k_hits_all(rays, k));
        for (i, ray) in rays.iter().enumerate() {
            assert_eq!(lists.of(i), first.of(i), "{name}: the first {k} of {ray:?}");
        }
    }
}

#[test]
fn rays_in_f32() {
    compare_rays::<f32>(600);
}

#[test]
#[ignore = "wide"]
fn wide_rays() {
    compare_rays::<f32>(3000);
    compare_rays::<f64>(3000);
}

/// More triangles than a driver's loop can process: rays through corners are still decided, and tests of all
/// triangles give an error.
#[test]
fn a_large_mesh() {
    let device = device();
    let n = 190;
    let vertices: Vec<[f32; 3]> =
        (0..(n + 1) * (n + 1)).map(|i| [i % (n + 1), i / (n + 1), i % 3].map(|x| x as f32)).collect();
    let at = |x: u32, y: u32| y * (n + 1) + x;
    let squares = (0..n * n).map(|i| (i % n, i / n));
    let faces: Vec<[u32; 3]> = squares
        .flat_map(|(x, y)| [[at(x, y), at(x + 1, y), at(x + 1, y + 1)], [at(x, y), at(x + 1, y + 1), at(x, y + 1)]])
        .collect();
    let mesh = Mesh::build(&vertices, &faces).unwrap();
    let ours = gpu::Mesh::upload(&mesh, device).unwrap();
    let rays: Vec<Ray<f32, 3>> = (0..2000u32)
        .map(|i| Ray::new([i % 187, i * 31 % 189, 9].map(|x| 0.5 * (1 + i % 2) as f32 * x as f32), [0.0, 0.0, -1.0]))
        .collect();
    let hits = ours.first_hits(&Rays::new(&rays, device).unwrap()).unwrap().read().unwrap();
    assert_eq!(hits, mesh.first_hits(&rays));
    assert_eq!(hits.iter().flatten().count(), rays.len());
    let far = [Ray::new([1e20, 0.5, 0.5], [-1.0, 0.0, 0.0])];
    let points = [[1e12, 0.5, 0.5]];
    if format!("{device:?}").contains("Cuda") {
        let near = ours.nearest_all(&points, f64::INFINITY).unwrap().read().unwrap();
        assert_eq!(near, mesh.nearest_all(&points, f64::INFINITY));
    } else {
        for error in [
            ours.first_hits(&Rays::new(&far, device).unwrap()).unwrap_err(),
            ours.nearest_all(&points, f64::INFINITY).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ropewalk::ErrorKind::Unsupported, "{error}");
        }
    }
}

/// Each triangle is tested, which drivers may reject.
#[test]
fn rays_from_afar() {
    let device = device();
    let ray = Ray::new([1e20f64, 0.5, 0.25], [-1.0, 0.0, 0.0]);
    for surface in surfaces() {
        let mesh = mesh_of::<f64>(&surface);
        let there = Rays::new(&[ray], device).unwrap();
        for ours in meshes_on(device, &surface, &mesh) {
            match ours.first_hits(&there) {
                Ok(hits) => assert_eq!(hits.read().unwrap()[0], mesh.first_hit(&ray), "{}", surface.name),
                Err(error) => {
                    assert!(mesh.len() >= 64 && !format!("{device:?}").contains("Cuda"), "{error}");
                    assert_eq!(error.kind(), ropewalk::ErrorKind::Unsupported);
                }
            }
        }
    }
}

/// Enough rays to be sorted; on CUDA also enough that threads process several rays, in small and in large blocks.
#[test]
#[ignore = "wide"]
fn wide_many_rays() {
    let device = device();
    let mesh = mesh_of::<f32>(&surfaces()[0]);
    let ours = gpu::Mesh::upload(&mesh, device).unwrap();
    let more = [(1 << 19) + 77, (1 << 22) + 77];
    let more = if format!("{device:?}").contains("Cuda") { &more[..] } else { &[] };
    for &n in [17_000].iter().chain(more) {
        let rays = rays(&mesh.bounds(), &surfaces()[0].vertices, n);
        let there = Rays::new(&rays, device).unwrap();
        assert!(ours.first_hits(&there).unwrap().read().unwrap() == mesh.first_hits(&rays), "{n} rays");
        let anys = ours.any_hits(&there).unwrap().read().unwrap();
        assert!(anys.into_iter().map(|any| any == 1).eq(mesh.any_hits(&rays)), "{n} rays");
        let (lists, all) = (ours.hits_all(&there).unwrap().read().unwrap(), mesh.hits_all(&rays));
        assert!((0..rays.len()).all(|ray| lists.of(ray) == all.of(ray)), "{n} rays");
    }
}

#[test]
fn half_lines_from_numbers_on_the_device() {
    let device = device();
    let surface = &surfaces()[0];
    let mesh = mesh_of::<f32>(surface);
    let rays: Vec<Ray<f32, 3>> =
        (0..500u32).map(|i| Ray::new([0.0; 3], [i % 8, i / 8 % 8, i / 64].map(|x| x as f32 - 3.5))).collect();
    let numbers = |of: fn(&Ray<f32, 3>) -> [f32; 3]| {
        gpu::DeviceVec::new(rays.iter().map(of).collect::<Vec<_>>().as_flattened(), device).unwrap()
    };
    let (origins, directions) = (numbers(|ray| ray.origin), numbers(|ray| ray.direction));
    let there = Rays::from_device(&origins, &directions).unwrap();
    let found = gpu::Mesh::upload(&mesh, device).unwrap().first_hits(&there).unwrap().read().unwrap();
    assert_eq!(found, mesh.first_hits(&rays));
    assert_eq!(found.iter().flatten().count(), rays.len());
    let short = gpu::DeviceVec::new(&[0.0f32; 4], device).unwrap();
    let error = Rays::from_device(&short, &directions).unwrap_err().to_string();
    assert!(error.contains('4') && error.contains('3'), "{error}");
    let error =
        Rays::from_device(&origins, &gpu::DeviceVec::new(&[0.0f32; 1501], device).unwrap()).unwrap_err().to_string();
    assert!(error.contains("1500") && error.contains("1501"), "{error}");
}

fn compare_nearest<S: Coordinate>(n: usize) {
    let device = device();
    for surface in surfaces() {
        let mesh = mesh_of::<S>(&surface);
        let mut points = places(&mesh.bounds(), &surface.vertices, n);
        points.push([f64::NAN, 0.0, 0.0].map(S::from_f64));
        points.push([0.0, f64::INFINITY, 0.0].map(S::from_f64));
        points.push([0.0, 0.0, 1e12].map(S::from_f64));
        for ours in meshes_on(device, &surface, &mesh) {
            for radius in [f64::INFINITY, 0.3, 0.0, -1.0, f64::NAN] {
                let near = compare_nearest_of(surface.name, &ours, &mesh, &points, radius);
                assert!(radius.is_finite() || near == if mesh.is_empty() || radius.is_nan() { 0 } else { n + 1 });
            }
        }
    }
}

/// Compares nearest triangles with those of the CPU. Returns the number of points that have one.
pub(crate) fn compare_nearest_of<S: Coordinate>(
    name: &str,
    ours: &gpu::Mesh<S>,
    mesh: &Mesh<S>,
    points: &[[S; 3]],
    radius: f64,
) -> usize {
    let found = ours.nearest_all(points, radius).unwrap().read().unwrap();
    let expected = mesh.nearest_all(points, radius);
    for (i, point) in points.iter().enumerate() {
        assert_eq!(found[i], expected[i], "{name}: {point:?} within {radius}");
    }
    found.iter().flatten().count()
}

#[test]
fn nearest_in_f32() {
    compare_nearest::<f32>(600);
}

#[test]
#[ignore = "wide"]
fn wide_nearest() {
    compare_nearest::<f32>(2000);
    compare_nearest::<f64>(2000);
}

fn compare_solids<S: Coordinate, G: Convex<S, 3>>(solids: &[G], ours: &Solids<S>, device: Device) {
    let bvh = Bvh::build(solids).unwrap();
    let corners: Vec<[f64; 3]> = solids.iter().map(|solid| solid.bounds().hi.map(Into::into)).collect();
    let rays = rays(&bvh.bounds(), &corners, 2000);
    let there = Rays::new(&rays, device).unwrap();
    let found = ours.first_hits(&there).unwrap();
    let firsts = found.read().unwrap();
    let (indices, ts) = (found.indices().read().unwrap(), found.ts().read().unwrap());
    let anys = ours.any_hits(&there).unwrap().read().unwrap();
    let lists = ours.hits_all(&there).unwrap().read().unwrap();
    for (i, ray) in rays.iter().enumerate() {
        assert_eq!(firsts[i].map_or(u32::MAX, |hit| hit.index), indices[i], "{ray:?}");
        assert!(firsts[i].is_none_or(|hit| hit.t == ts[i]), "{ray:?}: {}", ts[i]);
        let enters = |index: u32| solids[index as usize].ray_interval(ray).map(|[first, _]| first);
        assert_eq!(firsts[i], bvh.cast(ray, enters), "{ray:?}");
        let mut all: Vec<(f64, u32)> =
            (0..solids.len() as u32).filter_map(|index| Some((enters(index)?, index))).collect();
        // Zeros of either sign are equal.
        all.sort_by(|a, b| (a.0 + 0.0).total_cmp(&(b.0 + 0.0)).then(a.1.cmp(&b.1)));
        assert_eq!(anys[i], u32::from(!all.is_empty()), "{ray:?}");
        assert_eq!(lists.of(i), all.iter().map(|&(_, index)| index).collect::<Vec<u32>>(), "{ray:?}");
    }
    assert!(solids.len() < 100 || firsts.iter().flatten().count() > 300);
}

fn solids_of<S: Coordinate>() {
    let device = device();
    for n in [700, 5, 1] {
        let mut random = Random::new(3);
        let corners: Vec<[[f64; 3]; 2]> =
            (0..n).map(|_| std::array::from_fn(|_| std::array::from_fn(|_| 4.0 * random.unit()))).collect();
        let boxes: Vec<Aabb<S, 3>> = corners
            .iter()
            .map(|[lo, size]| {
                let hi: [f64; 3] = std::array::from_fn(|k| lo[k] + 0.1 * size[k]);
                Aabb::new(lo.map(S::from_f64), hi.map(S::from_f64))
            })
            .collect();
        let balls: Vec<Sphere<S, 3>> =
            corners.iter().map(|[at, size]| Sphere::new(at.map(S::from_f64), 0.1 * size[0])).collect();
        compare_solids(&boxes, &Solids::boxes(&boxes, device).unwrap(), device);
        compare_solids(&balls, &Solids::balls(&balls, device).unwrap(), device);
    }
    let none = Solids::<S>::balls(&[], device).unwrap();
    let rays = Rays::new(&[Ray::new([0.0; 3].map(S::from_f64), [1.0; 3].map(S::from_f64))], device).unwrap();
    assert_eq!((none.len(), none.first_hits(&rays).unwrap().read().unwrap()), (0, vec![None]));
    let error = Solids::balls(&[Sphere::new([f64::NAN; 3].map(S::from_f64), 1.0)], device).unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
}

#[test]
fn solids_in_f32() {
    solids_of::<f32>();
}

#[test]
#[ignore = "wide"]
fn wide_solids_in_f64() {
    solids_of::<f64>();
}
