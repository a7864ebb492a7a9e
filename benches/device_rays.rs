//! Meshes, rays and nearest triangles on a device: rates, and comparison of the results with the CPU.
//!
//!     cargo bench -p ropewalk-benches --features cuda --bench device_rays -- [TRIANGLES] [RAYS]
//!
//! The mesh is a bumpy sphere. It is built on the CPU and uploaded, and built on the device. Queries run on both trees in
//! turn. Incoherent rays connect two random points of a box that is half as wide again. Camera
//! rays pass through the pixels of an image. `peers/warp_rays.py` times NVIDIA's Warp with the same mesh and rays.

use std::error::Error;
use std::time::Instant;

use ropewalk::gpu::{self, Device, Rays};
use ropewalk::{Mesh, Ray, phases};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The number of repetitions of each measurement. The shortest time counts.
const TURNS: usize = 7;

fn main() -> Result<()> {
    // Cargo passes `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |text| text.parse());
    let (triangles, n) = (number(1_000_000)?, number(1 << 24)?);
    let device = Device::first()?;
    println!("{device:?}, {triangles} triangles, {n} rays");

    let (vertices, faces) = bumpy(triangles);
    let began = Instant::now();
    let mesh = Mesh::build(&vertices, &faces)?;
    println!("build on the CPU {:.3} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let before = device.memory()?.used;
    let first = began.elapsed().as_secs_f64();
    let there = gpu::Mesh::upload(&mesh, device)?;
    let bytes = (device.memory()?.used - before) as f64 / mesh.len() as f64;
    let upload = began.elapsed().as_secs_f64() - first;
    println!("first call of the device {first:.3} s, upload {upload:.3} s, {bytes:.0} bytes per triangle");

    let began = Instant::now();
    let mut built = gpu::Mesh::build(&vertices, &faces, device)?;
    built.wait()?;
    println!("first build on the device {:.3} s, including the compilation of kernels", began.elapsed().as_secs_f64());
    time("mesh_build, from arrays on the host", faces.len(), &mut || {
        Ok(gpu::Mesh::build(&vertices, &faces, device)?.wait()?)
    })?;
    println!("its steps, each with a wait:");
    for (step, duration) in phases::timed(|| gpu::Mesh::build(&vertices, &faces, device)).1 {
        println!("  {step} {:.3} ms", 1e3 * duration.as_secs_f64());
    }
    built.refit(&vertices)?;
    println!("degradation after a refit without movement {}", built.degradation()?);
    time("mesh_refit, from vertices on the host", faces.len(), &mut || {
        built.refit(&vertices)?;
        Ok(built.wait()?)
    })?;

    for (name, rays) in [("incoherent", incoherent(n)), ("camera", camera(n))] {
        let asked = Rays::new(&rays, device)?;
        let some = &rays[..n.min(200_000)];
        let expected = mesh.first_hits(some);
        let few = Rays::new(some, device)?;
        for (tree, there) in [("uploaded", &there), ("built", &built)] {
            let firsts = there.first_hits(&asked)?.read()?;
            let differ = expected.iter().zip(&firsts).filter(|(a, b)| a != b).count();
            let anys = there.any_hits(&asked)?.read()?;
            let wrong = anys.iter().zip(&firsts).filter(|(any, first)| (**any == 1) != first.is_some()).count();
            let hit = firsts.iter().flatten().count();
            println!(
                "{name}, {tree}: {hit} rays hit; first hits of {differ} of {} rays differ from the CPU, any hits of {wrong} from first hits",
                some.len()
            );
            time(&format!("{name}, {tree}, first"), n, &mut || Ok(there.first_hits(&asked)?.wait()?))?;
            time(&format!("{name}, {tree}, any"), n, &mut || Ok(there.any_hits(&asked)?.wait()?))?;
            let lists = there.hits_all(&few)?.read()?;
            println!("{name}, {tree}: lists equal those of the CPU: {}", lists == mesh.hits_all(some));
            time(&format!("{name}, {tree}, all"), some.len(), &mut || Ok(there.hits_all(&few)?.triangles().wait()?))?;
        }
    }
    let points: Vec<[f32; 3]> = incoherent(n.min(1 << 20)).iter().map(|ray| ray.origin).collect();
    let some = &points[..points.len().min(100_000)];
    let expected = mesh.nearest_all(some, f64::INFINITY);
    for (tree, there) in [("uploaded", &there), ("built", &built)] {
        let near = there.nearest_all(&points, f64::INFINITY)?.read()?;
        let differ = expected.iter().zip(&near).filter(|(a, b)| a != b).count();
        println!("nearest, {tree}: {differ} of {} triangles differ from the CPU", some.len());
        time(&format!("nearest, {tree}, including the upload of points"), points.len(), &mut || {
            Ok(there.nearest_all(&points, f64::INFINITY)?.wait()?)
        })?;
    }
    Ok(())
}

fn time(what: &str, n: usize, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    let mut least = f64::INFINITY;
    for _ in 0..TURNS {
        let began = Instant::now();
        work()?;
        least = least.min(began.elapsed().as_secs_f64());
    }
    println!("{what}: {:.3} ms, {:.1} million per second", 1e3 * least, n as f64 / least / 1e6);
    Ok(())
}

/// Returns a bumpy sphere of about the given number of triangles.
fn bumpy(triangles: usize) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let n = ((triangles as f64 / 4.0).sqrt() as u32).max(2);
    let place = |i: u32, j: u32| {
        let (theta, phi) = (f64::from(i) / f64::from(n), f64::from(j) / f64::from(n));
        let (theta, phi) = (theta * std::f64::consts::PI, phi * std::f64::consts::PI);
        let at = [theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()];
        let bumps = 0.1 * (9.0 * at[0]).sin() * (7.0 * at[1]).cos() + 0.05 * (31.0 * at[2]).sin();
        at.map(|x| (x * (1.0 + bumps)) as f32)
    };
    let vertices = (0..=n).flat_map(|i| (0..2 * n).map(move |j| place(i, j))).collect();
    let at = |i: u32, j: u32| i * 2 * n + j % (2 * n);
    let quads = (0..n).flat_map(|i| (0..2 * n).map(move |j| (i, j)));
    let faces = quads
        .flat_map(|(i, j)| [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]);
    (vertices, faces.collect())
}

fn incoherent(n: usize) -> Vec<Ray<f32, 3>> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1 << 24) as f32 - 0.5) * 3.0
    };
    let mut place = || -> [f32; 3] { std::array::from_fn(|_| random()) };
    (0..n)
        .map(|_| {
            let (from, to) = (place(), place());
            Ray::new(from, std::array::from_fn::<f32, 3, _>(|k| to[k] - from[k]))
        })
        .collect()
}

fn camera(n: usize) -> Vec<Ray<f32, 3>> {
    let width = (n as f64).sqrt() as usize;
    (0..n)
        .map(|i| {
            let [x, y] = [i % width, i / width].map(|at| at as f32 / width as f32 - 0.5);
            Ray::new([0.0, -3.0, 0.0], [x, 1.0, y])
        })
        .collect()
}
