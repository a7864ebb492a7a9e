//! The input of all libraries: points, parameters, and the points in Morton order.

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::data::Point;

#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    pub radius: f64,
    pub eps: f64,
    pub min_pts: usize,
    pub min_cluster_size: usize,
    pub k: usize,
    pub threads: usize,
}

pub struct Input {
    pub points: Vec<Point>,
    pub parameters: Parameters,
    sorted: OnceLock<Vec<Point>>,
    query_points: OnceLock<Vec<Point>>,
}

impl Input {
    pub fn new(points: Vec<Point>, parameters: Parameters) -> Self {
        Self { points, parameters, sorted: OnceLock::new(), query_points: OnceLock::new() }
    }

    /// The points in Morton order, which makes queries cache-friendly. Computed at the first use, so that a run of
    /// ropewalk alone does not hold it in memory.
    pub fn sorted(&self) -> &[Point] {
        self.sorted.get_or_init(|| morton_order(&self.points).into_iter().map(|at| self.points[at as usize]).collect())
    }

    /// A position between each point and the next in Morton order, in random order, for single queries. It is at
    /// three tenths of the way, since the midpoint would have both points at the same distance.
    pub fn query_points(&self) -> &[Point] {
        self.query_points.get_or_init(|| {
            let between = |two: &[Point]| std::array::from_fn(|axis| 0.7 * two[0][axis] + 0.3 * two[1][axis]);
            let mut query_points: Vec<Point> = self.sorted().windows(2).map(between).collect();
            // Fisher-Yates shuffle with a linear congruential generator.
            let mut state = 1u64;
            for behind in (1..query_points.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                query_points.swap(behind, (state >> 33) as usize % (behind + 1));
            }
            query_points
        })
    }

    /// Returns a compact fraction 1 / `parts` of the points, which is as dense as the whole.
    pub fn part(&self, parts: usize) -> Self {
        Self::new(self.sorted()[..self.points.len() / parts].to_vec(), self.parameters)
    }
}

/// Returns the side of the cube with a point's share of the bounding box.
pub fn mean_separation(points: &[Point]) -> f64 {
    let (low, high) = bounds(points);
    let volume: f64 = (0..3).map(|axis| f64::from(high[axis] - low[axis])).product();
    (volume / points.len() as f64).cbrt()
}

/// Returns the indices of the points in Morton order with 21 bits per axis.
pub fn morton_order(points: &[Point]) -> Vec<u32> {
    let (low, high) = bounds(points);
    let side = (0..3).map(|axis| high[axis] - low[axis]).fold(f32::MIN_POSITIVE, f32::max);
    let scale = ((1 << 21) - 1) as f32 / side;
    let code =
        |point: &Point| (0..3).fold(0, |code, axis| code | spread(((point[axis] - low[axis]) * scale) as u64) << axis);
    let mut keys: Vec<(u64, u32)> = points.par_iter().enumerate().map(|(at, point)| (code(point), at as u32)).collect();
    keys.par_sort_unstable();
    keys.into_par_iter().map(|(_, at)| at).collect()
}

/// Inserts two zero bits before each of 21 bits.
fn spread(x: u64) -> u64 {
    let x = x & 0x1f_ffff;
    let x = (x | x << 32) & 0x1f_0000_0000_ffff;
    let x = (x | x << 16) & 0x1f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

fn bounds(points: &[Point]) -> (Point, Point) {
    points.iter().fold(([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]), |(low, high), point| {
        (
            std::array::from_fn(|axis| low[axis].min(point[axis])),
            std::array::from_fn(|axis| high[axis].max(point[axis])),
        )
    })
}
