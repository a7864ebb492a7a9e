//! The field of a halo's members from far away: multipoles on the tree, with error bounds.
//!
//! In: members. Out: a tree over them; for each node its mass, centre of mass and second moments; for a box of targets, the
//! nodes that are far enough and the members that are not.
//! About the centre of mass the dipole vanishes. With R the way from there to the target and rho² = R² + softening², a member
//! at y adds m sum over l of |y|^l / rho^(l + 1) P_l, |P_l| <= 1 (the generating function of Legendre polynomials, for vectors
//! of four dimensions the last of which is the softening). What follows after l = 1 is at most B / (rho² (rho - b)), after
//! l = 2 at most b B / (rho³ (rho - b)), where B = sum m |y|² and b is the radius of the node.
//! Cost: the build of the tree; 150 bytes a node. Source: Salmon and Warren 1994, section 3.

use rayon::prelude::*;

use super::members::{Members, NOWHERE};
use crate::error::Result;
use crate::geometry::Aabb;
use crate::simd::LANES;
use crate::tree::Bvh;

/// What the rounding of coordinates, which are less than 1, and of centres of mass amounts to, at most.
const ROUNDING: f64 = 1e-13;

/// What a node is from far away.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    pub center: [f64; 3],
    pub mass: f64,
    /// The largest distance of a member from the centre.
    pub radius: f64,
    /// B, the trace of the matrix of second moments.
    pub trace: f64,
    /// The sums of m y y: xx, yy, zz, xy, xz, yz.
    pub second: [f64; 6],
}

impl Moments {
    /// Of members in whole lanes.
    fn of(bodies: &Bodies) -> Self {
        let sources = bodies.slices();
        let mut moments = Self::default();
        let mut sum = [0.0; 3];
        for i in 0..bodies.len() {
            let m = sources[3][i];
            moments.mass += m;
            for k in 0..3 {
                sum[k] += m * sources[k][i];
            }
        }
        moments.center = sum.map(|sum| sum / moments.mass);
        let mut radius2 = 0.0f64;
        for i in 0..bodies.len() {
            let y: [f64; 3] = std::array::from_fn(|k| sources[k][i] - moments.center[k]);
            moments.add(sources[3][i], y);
            radius2 = radius2.max(y[0] * y[0] + y[1] * y[1] + y[2] * y[2]);
        }
        moments.radius = grown(radius2.sqrt());
        moments
    }

    fn of_two(parts: [&Self; 2], bounds: &Aabb<f64, 3>) -> Self {
        let mut moments = Self { mass: parts[0].mass + parts[1].mass, ..Self::default() };
        moments.center = std::array::from_fn(|k| {
            (parts[0].mass * parts[0].center[k] + parts[1].mass * parts[1].center[k]) / moments.mass
        });
        let corner = (0..3).map(|k| (bounds.hi[k] - moments.center[k]).max(moments.center[k] - bounds.lo[k]));
        let corner = corner.map(|x| x * x).sum::<f64>().sqrt();
        let mut radius = 0.0f64;
        for part in parts {
            let y: [f64; 3] = std::array::from_fn(|k| part.center[k] - moments.center[k]);
            moments.add(part.mass, y);
            moments.trace += part.trace;
            for (own, second) in moments.second.iter_mut().zip(part.second) {
                *own += second;
            }
            radius = radius.max(part.radius + (y[0] * y[0] + y[1] * y[1] + y[2] * y[2]).sqrt());
        }
        moments.radius = grown(radius.min(corner));
        moments
    }

    fn add(&mut self, m: f64, [x, y, z]: [f64; 3]) {
        for (own, second) in self.second.iter_mut().zip([x * x, y * y, z * z, x * y, x * z, y * z]) {
            *own += m * second;
        }
        self.trace += m * (x * x + y * y + z * z);
    }

    /// How far from the centre the error is at most `tolerance`, squared.
    fn open2(&self, tolerance: f64) -> f64 {
        // rho³ (rho - b) is convex there: Newton's way from above stays above.
        let (b, c) = (self.radius, self.radius * self.trace / tolerance);
        let mut rho = b + c.sqrt().sqrt();
        for _ in 0..3 {
            let rho2 = rho * rho;
            rho -= (rho2 * rho * (rho - b) - c) / (rho2 * (4.0 * rho - 3.0 * b));
        }
        // Not so near that b / (rho - b) is all rounding.
        let rho = rho.max(1.05 * b);
        rho * rho
    }
}

fn grown(radius: f64) -> f64 {
    radius * (1.0 + 1e-12) + ROUNDING
}

/// Members to sum over, in whole lanes.
#[derive(Clone, Debug, Default)]
pub(super) struct Bodies {
    axes: [Vec<f64>; 3],
    masses: Vec<f64>,
    len: usize,
}

impl Bodies {
    pub fn clear(&mut self) {
        self.len = 0;
        self.axes.iter_mut().for_each(Vec::clear);
        self.masses.clear();
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn push(&mut self, field: &Field, span: std::ops::Range<usize>) {
        self.len += span.len();
        for (axis, from) in self.axes.iter_mut().zip(field.tree.lo()) {
            axis.extend_from_slice(&from[span.clone()]);
        }
        self.masses.extend_from_slice(&field.masses[span]);
    }

    /// Call it after the last one.
    pub fn pad(&mut self) {
        let padded = self.len.next_multiple_of(LANES);
        self.axes.iter_mut().for_each(|axis| axis.resize(padded, NOWHERE));
        self.masses.resize(padded, 0.0);
    }

    pub fn slices(&self) -> [&[f64]; 4] {
        [&self.axes[0], &self.axes[1], &self.axes[2], &self.masses]
    }
}

/// Members in tree order with the moments of all nodes.
pub(super) struct Field {
    pub tree: Bvh<f64, 3>,
    /// In tree order.
    pub masses: Vec<f64>,
    pub moments: Vec<Moments>,
    /// The leaves' nodes.
    pub leaves: Vec<u32>,
    pub softening2: f64,
}

impl Field {
    pub fn new(members: &Members) -> Result<Self> {
        let points: Vec<[f64; 3]> = (0..members.len()).map(|member| members.position(member)).collect();
        let tree = Bvh::build(&points)?;
        let masses = tree.order().iter().map(|&member| members.masses[member as usize]).collect();
        let leaves: Vec<u32> = (0..tree.end()).filter(|&at| tree.is_leaf(at)).map(|at| at as u32).collect();
        let mut field = Self { masses, moments: vec![], leaves, softening2: members.softening2, tree };
        let of_leaves: Vec<Moments> = field
            .leaves
            .par_iter()
            .with_min_len(64)
            .map_init(Bodies::default, |bodies, &leaf| {
                bodies.clear();
                bodies.push(&field, field.tree.span(leaf as usize));
                Moments::of(bodies)
            })
            .collect();
        field.moments = vec![Moments::default(); field.tree.end()];
        let mut of_leaves = of_leaves.into_iter().rev();
        for at in (0..field.tree.end()).rev() {
            field.moments[at] = if field.tree.is_leaf(at) {
                of_leaves.next().unwrap_or_default()
            } else {
                let right = field.tree.node(at + 1).rope as usize;
                Moments::of_two([&field.moments[at + 1], &field.moments[right]], &field.tree.node(at).bounds)
            };
        }
        Ok(field)
    }

    pub fn position(&self, at: usize) -> [f64; 3] {
        std::array::from_fn(|k| self.tree.lo()[k][at])
    }

    /// What a leaf's members may amount to at a target, judged by their box.
    #[inline(always)]
    pub fn share_at_most(&self, leaf: usize, target: [f64; 3]) -> f64 {
        let bounds = &self.tree.node(leaf).bounds;
        let mut rho2 = self.softening2;
        for k in 0..3 {
            let gap = (bounds.lo[k] - target[k]).max(target[k] - bounds.hi[k]).max(0.0);
            rho2 += gap * gap;
        }
        self.moments[leaf].mass / rho2.sqrt()
    }

    /// When to open each node, for an error of at most `tolerance` a node that is not opened.
    pub fn opening(&self, tolerance: f64) -> Vec<Opening> {
        let opening = |at: usize| {
            let moments = &self.moments[at];
            Opening { center: moments.center, open2: moments.open2(tolerance), rope: self.tree.node(at).rope }
        };
        (0..self.tree.end()).into_par_iter().with_min_len(1024).map(opening).collect()
    }

    /// Finds what acts on targets in a box of a leaf: nodes that are far enough from all of it, and leaves that are not. The
    /// targets' own leaf is among these, also where softening makes everything far.
    pub fn walk(
        &self,
        opening: &[Opening],
        own: usize,
        targets: &Aabb<f64, 3>,
        far: &mut Vec<u32>,
        near: &mut Vec<u32>,
    ) {
        far.clear();
        near.clear();
        let mut at = 0;
        while let Some(node) = opening.get(at) {
            let mut rho2 = self.softening2;
            for k in 0..3 {
                let gap = (targets.lo[k] - node.center[k]).max(node.center[k] - targets.hi[k]).max(0.0);
                rho2 += gap * gap;
            }
            let holds_own = at <= own && own < node.rope as usize;
            if rho2 > node.open2 && !holds_own {
                far.push(at as u32);
                at = node.rope as usize;
            } else {
                at += 1;
                if node.rope as usize == at {
                    near.push(at as u32 - 1);
                }
            }
        }
    }
}

/// A node as a walk sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    center: [f64; 3],
    /// A node is opened unless rho² is more.
    open2: f64,
    rope: u32,
}

/// Nodes to sum over, one array for each of the moments, in whole lanes.
#[derive(Clone, Debug, Default)]
pub(super) struct Poles {
    columns: [Vec<f64>; COLUMNS],
}

/// Centre, mass, radius, trace, second moments.
const COLUMNS: usize = 12;

impl Poles {
    pub fn gather(&mut self, field: &Field, nodes: &[u32]) {
        let padded = nodes.len().next_multiple_of(LANES);
        let nowhere = Moments { center: [NOWHERE; 3], ..Moments::default() };
        self.columns.iter_mut().for_each(|column| column.clear());
        self.columns.iter_mut().for_each(|column| column.reserve(padded));
        let moments = nodes.iter().map(|&node| &field.moments[node as usize]);
        for moments in moments.chain(std::iter::repeat_n(&nowhere, padded - nodes.len())) {
            let Moments { center, mass, radius, trace, second } = *moments;
            let values = [
                center[0], center[1], center[2], mass, radius, trace, second[0], second[1], second[2], second[3],
                second[4], second[5],
            ];
            for (column, value) in self.columns.iter_mut().zip(values) {
                column.push(value);
            }
        }
    }

    pub fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// For any target in a box: the largest sum that the nodes may amount to, and the error of [`Poles::at`].
    #[inline(always)]
    pub fn most(&self, targets: &Aabb<f64, 3>, softening2: f64) -> (f64, f64) {
        let (mut most, mut error) = ([0.0; LANES], [0.0; LANES]);
        let columns = self.columns.each_ref().map(|column| column.as_chunks::<LANES>().0);
        for i in 0..columns[0].len() {
            let [x, y, z, mass, radius, trace, ..] = columns.map(|column| &column[i]);
            for l in 0..LANES {
                let mut rho2 = softening2;
                for (k, c) in [x[l], y[l], z[l]].into_iter().enumerate() {
                    let (below, above) = (targets.lo[k] - c, c - targets.hi[k]);
                    let gap = if below > above { below } else { above };
                    let gap = if gap > 0.0 { gap } else { 0.0 };
                    rho2 += gap * gap;
                }
                let rho = rho2.sqrt();
                let beyond = rho - radius[l];
                // All quotients by one division.
                let inverse = 1.0 / (rho2 * beyond);
                let tail = trace[l] * inverse;
                let slip = ROUNDING * mass[l] * beyond * inverse;
                let monopole = rho * beyond * inverse;
                most[l] += mass[l] * monopole + tail + slip;
                error[l] += tail * radius[l] * monopole + slip;
            }
        }
        (most.iter().sum(), error.iter().sum())
    }

    /// The sum at a target up to the quadrupoles.
    #[inline(always)]
    pub fn at(&self, target: [f64; 3], softening2: f64) -> f64 {
        let mut sum = [0.0; LANES];
        let columns = self.columns.each_ref().map(|column| column.as_chunks::<LANES>().0);
        for i in 0..columns[0].len() {
            let [x, y, z, mass, _, trace, xx, yy, zz, xy, xz, yz] = columns.map(|column| &column[i]);
            for l in 0..LANES {
                let (dx, dy, dz) = (x[l] - target[0], y[l] - target[1], z[l] - target[2]);
                let rho2 = dx * dx + dy * dy + dz * dz + softening2;
                let inverse = 1.0 / rho2.sqrt();
                let inverse2 = inverse * inverse;
                let square = dx * (xx[l] * dx + 2.0 * (xy[l] * dy + xz[l] * dz))
                    + dy * (yy[l] * dy + 2.0 * yz[l] * dz)
                    + zz[l] * dz * dz;
                let quadrupole = 0.5 * inverse2 * (3.0 * square * inverse2 - trace[l]);
                sum[l] += inverse * (mass[l] + quadrupole);
            }
        }
        sum.iter().sum()
    }
}
