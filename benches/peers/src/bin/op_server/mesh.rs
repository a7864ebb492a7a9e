//! First hits of rays on a mesh, and nearest triangles to points: ropewalk, parry3d's TriMesh, bvh.
//!
//! `vertices`, `rays` (origin, direction) and `points` are f32, `faces` u32. An answer is `t` or a distance, or
//! infinity if there is no hit.

use std::error::Error;
use std::path::Path;

use bvh::bounding_hierarchy::BoundingHierarchy;
use nalgebra::{Point3, Vector3};
use parry3d::math::Vector;
use parry3d::query::{PointQuery, RayCast};
use parry3d::shape::TriMesh;
use rayon::prelude::*;
use ropewalk::{Mesh, Ray};

use crate::moller_trumbore::{Triangle, first_hit_by_walk, first_hit_in_order};
use crate::operation::{FinishedRun, OpServer, rows};

pub struct Meshes {
    vertices: Vec<[f32; 3]>,
    faces: Vec<[u32; 3]>,
    rays: Vec<Ray<f32, 3>>,
    parry_rays: Vec<parry3d::query::Ray>,
    bvh_rays: Vec<bvh::ray::Ray<f32, 3>>,
    points: Vec<[f32; 3]>,
    parry_points: Vec<Vector>,
    ropewalk: Option<Mesh<f32>>,
    parry: Option<TriMesh>,
    bvh: Option<(Vec<Triangle>, bvh::bvh::Bvh<f32, 3>)>,
}

impl Meshes {
    /// Reads the arrays and converts rays and points to each library's types, which is not timed.
    pub fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let rays: Vec<[f32; 6]> = rows(folder, "rays", f32::from_le_bytes)?;
        let points: Vec<[f32; 3]> = rows(folder, "points", f32::from_le_bytes)?;
        let vector = |x: f32, y: f32, z: f32| Vector::new(x, y, z);
        Ok(Self {
            vertices: rows(folder, "vertices", f32::from_le_bytes)?,
            faces: rows(folder, "faces", u32::from_le_bytes)?,
            parry_rays: rays
                .iter()
                .map(|&[x, y, z, i, j, k]| parry3d::query::Ray::new(vector(x, y, z), vector(i, j, k)))
                .collect(),
            bvh_rays: rays
                .iter()
                .map(|&[x, y, z, i, j, k]| bvh::ray::Ray::new(Point3::new(x, y, z), Vector3::new(i, j, k)))
                .collect(),
            rays: rays.iter().map(|&[x, y, z, i, j, k]| Ray::new([x, y, z], [i, j, k])).collect(),
            parry_points: points.iter().map(|&[x, y, z]| vector(x, y, z)).collect(),
            points,
            ropewalk: None,
            parry: None,
            bvh: None,
        })
    }

    fn build(&mut self, library: &str) -> Result<FinishedRun, Box<dyn Error>> {
        let (vertices, faces) = (&self.vertices, &self.faces);
        match library {
            "ropewalk" => FinishedRun::build(&mut self.ropewalk, || Ok(Mesh::build(vertices, faces)?)),
            "parry3d" => FinishedRun::build(&mut self.parry, || {
                let vertices = vertices.iter().map(|&[x, y, z]| Vector::new(x, y, z)).collect();
                Ok(TriMesh::new(vertices, faces.clone())?)
            }),
            "bvh" => FinishedRun::build(&mut self.bvh, || {
                let corners = |face: &[u32; 3]| face.map(|vertex| vertices[vertex as usize].into());
                let mut triangles: Vec<Triangle> =
                    faces.iter().map(|face| Triangle { corners: corners(face), node: 0 }).collect();
                let tree = match rayon::current_num_threads() {
                    1 => bvh::bvh::Bvh::build(&mut triangles),
                    _ => bvh::bvh::Bvh::build_par(&mut triangles),
                };
                Ok((triangles, tree))
            }),
            _ => Err(format!("unknown library {library:?}").into()),
        }
    }
}

/// Maps queries serially on one thread, and in parallel on several.
fn each<Q: Sync, T: Send>(queries: &[Q], find: impl Fn(&Q) -> T + Send + Sync) -> Vec<T> {
    match rayon::current_num_threads() {
        1 => queries.iter().map(find).collect(),
        _ => queries.par_iter().with_min_len(512).map(find).collect(),
    }
}

/// Runs queries that return a number without a triangle.
fn numbers(work: impl FnOnce() -> Vec<f32>) -> FinishedRun {
    FinishedRun::queries(work, |&x| f64::from(x), |_| u32::MAX)
}

impl OpServer for Meshes {
    fn run(&mut self, library: &str, op: &str) -> Result<FinishedRun, Box<dyn Error>> {
        if op == "build" {
            return self.build(library);
        }
        let absent = || format!("{library} has not been built");
        let hit_at = |hit: &Option<ropewalk::search::RayHit>| hit.map_or(f64::INFINITY, |hit| hit.t);
        let hit = |hit: &Option<ropewalk::search::RayHit>| hit.map_or(u32::MAX, |hit| hit.triangle);
        let distance = |near: &Option<ropewalk::search::MeshNearest>| near.map_or(f64::INFINITY, |near| near.distance2.sqrt());
        let nearest = |near: &Option<ropewalk::search::MeshNearest>| near.map_or(u32::MAX, |near| near.triangle);
        Ok(match library {
            "ropewalk" => {
                let mesh = self.ropewalk.as_ref().ok_or_else(absent)?;
                match op {
                    "first_hits" => FinishedRun::queries(|| mesh.first_hits(&self.rays), hit_at, hit),
                    "first_hit" => FinishedRun::queries(|| each(&self.rays, |ray| mesh.first_hit(ray)), hit_at, hit),
                    "nearest_all" => {
                        FinishedRun::queries(|| mesh.nearest_all(&self.points, f64::INFINITY), distance, nearest)
                    }
                    "nearest" => {
                        FinishedRun::queries(|| each(&self.points, |&point| mesh.nearest(point)), distance, nearest)
                    }
                    _ => return Err(format!("{library} has no operation {op:?}").into()),
                }
            }
            "parry3d" => {
                let mesh = self.parry.as_ref().ok_or_else(absent)?;
                match op {
                    "first_hit" => numbers(|| {
                        each(&self.parry_rays, |ray| mesh.cast_local_ray(ray, f32::MAX, false).unwrap_or(f32::INFINITY))
                    }),
                    "nearest" => numbers(|| {
                        each(&self.parry_points, |&at| (mesh.project_local_point(at, false).point - at).length())
                    }),
                    _ => return Err(format!("{library} has no operation {op:?}").into()),
                }
            }
            "bvh" => {
                let (triangles, tree) = self.bvh.as_ref().ok_or_else(absent)?;
                let find = match op {
                    "first_hit_in_order" => first_hit_in_order,
                    "first_hit_by_walk" => first_hit_by_walk,
                    _ => return Err(format!("{library} has no operation {op:?}").into()),
                };
                let mut done = numbers(|| each(&self.bvh_rays, |ray| find(tree, triangles, ray)));
                // bvh normalizes the directions of rays, so `t` is converted back.
                for (t, ray) in done.answer.iter_mut().zip(&self.rays) {
                    *t /= ray.direction.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
                }
                done
            }
            _ => return Err(format!("unknown library {library:?}").into()),
        })
    }
}
