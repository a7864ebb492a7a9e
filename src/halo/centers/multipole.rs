//! The field of a halo's members from far away: multipoles on the tree, with error bounds.
//!
//! In: members. Out: a tree over them; for each node its mass, centre of mass, second moments and extent; coordinates and masses in
//! tree order, in double and in single precision.
//! About the centre of mass the dipole vanishes. With R the way from there to the target and rho² = R² + softening², a member
//! at y adds m sum over l of |y|^l / rho^(l + 1) P_l, |P_l| <= 1 (the generating function of Legendre polynomials, for vectors
//! of four dimensions the last of which is the softening). What follows after l = 1 is at most B / (rho² (rho - b)), after
//! l = 2 at most b B / (rho³ (rho - b)), where B = sum m |y|² and b is the radius of the node.
//! Cost: the build of the tree; 150 bytes a node. Source: Salmon and Warren 1994, section 3.

use rayon::prelude::*;

use crate::bvh::Bvh;
use crate::error::Result;
use crate::geometry::Aabb;
use crate::halo::centers::members::Members;
use crate::halo::centers::pairwise_f32::Source;

/// What the rounding of coordinates, which are less than 1, and of centres of mass amounts to, at most.
pub(super) const ROUNDING: f64 = 1e-13;

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
    /// A place that is near to all members, and the largest distance of one from there.
    pub middle: [f64; 3],
    pub reach: f64,
    /// The node's rope.
    pub rope: u32,
}

impl Moments {
    fn of([x, y, z, m]: [&[f64]; 4], bounds: &Aabb<f64, 3>) -> Self {
        let mut moments = Self::default();
        let mut sum = [0.0; 3];
        let members = || m.iter().zip(x).zip(y).zip(z).map(|(((&m, &x), &y), &z)| (m, [x, y, z]));
        for (m, at) in members() {
            moments.mass += m;
            for (sum, x) in sum.iter_mut().zip(at) {
                *sum += m * x;
            }
        }
        moments.center = sum.map(|sum| sum / moments.mass);
        let middle = bounds.center();
        let (mut radius2, mut reach2) = (0.0f64, 0.0f64);
        for (m, at) in members() {
            let from = |place: &[f64; 3]| -> [f64; 3] { std::array::from_fn(|k| at[k] - place[k]) };
            moments.add(m, from(&moments.center));
            radius2 = radius2.max(square(from(&moments.center)));
            reach2 = reach2.max(square(from(&middle)));
        }
        moments.radius = grown(radius2.sqrt());
        moments.settle_middle(middle, grown(reach2.sqrt()));
        moments
    }

    fn of_two(parts: [&Self; 2], bounds: &Aabb<f64, 3>) -> Self {
        let mut moments = Self { mass: parts[0].mass + parts[1].mass, ..Self::default() };
        moments.center = std::array::from_fn(|k| {
            (parts[0].mass * parts[0].center[k] + parts[1].mass * parts[1].center[k]) / moments.mass
        });
        let corner = |place: &[f64; 3]| {
            square(std::array::from_fn(|k| (bounds.hi[k] - place[k]).max(place[k] - bounds.lo[k]))).sqrt()
        };
        let middle = bounds.center();
        let (mut radius, mut reach) = (0.0f64, 0.0f64);
        for part in parts {
            let from = |place: &[f64; 3]| -> [f64; 3] { std::array::from_fn(|k| part.center[k] - place[k]) };
            moments.add(part.mass, from(&moments.center));
            moments.trace += part.trace;
            for (own, second) in moments.second.iter_mut().zip(part.second) {
                *own += second;
            }
            radius = radius.max(part.radius + square(from(&moments.center)).sqrt());
            reach = reach.max(part.radius + square(from(&middle)).sqrt());
        }
        moments.radius = grown(radius.min(corner(&moments.center)));
        moments.settle_middle(middle, grown(reach.min(corner(&middle))));
        moments
    }

    fn settle_middle(&mut self, middle: [f64; 3], reach: f64) {
        (self.middle, self.reach) = if reach < self.radius { (middle, reach) } else { (self.center, self.radius) };
    }

    fn add(&mut self, m: f64, [x, y, z]: [f64; 3]) {
        for (own, second) in self.second.iter_mut().zip([x * x, y * y, z * z, x * y, x * z, y * z]) {
            *own += m * second;
        }
        self.trace += m * (x * x + y * y + z * z);
    }
}

fn square([x, y, z]: [f64; 3]) -> f64 {
    x * x + y * y + z * z
}

fn grown(radius: f64) -> f64 {
    radius * (1.0 + 1e-12) + ROUNDING
}

/// Members in tree order with the moments of all nodes.
pub(super) struct Field {
    pub tree: Bvh<f64, 3>,
    pub nodes: Vec<Moments>,
    /// The leaves' nodes.
    pub leaves: Vec<u32>,
    pub softening2: f64,
    /// In tree order.
    masses: Vec<f64>,
    /// Coordinates and masses in single precision.
    sources: Vec<Source>,
}

impl Field {
    pub fn new(members: &Members) -> Result<Self> {
        let points: Vec<[f64; 3]> = (0..members.len()).map(|member| members.position(member)).collect();
        let tree = Bvh::build(&points)?;
        drop(points);
        let leaves: Vec<u32> = (0..tree.end()).filter(|&at| tree.is_leaf(at)).map(|at| at as u32).collect();
        let masses: Vec<f64> = tree.order().iter().map(|&member| members.masses[member as usize]).collect();
        let [x, y, z] = tree.lo();
        let source = |(i, &mass): (usize, &f64)| Source::new([x[i], y[i], z[i]], mass);
        let sources = masses.par_iter().enumerate().with_min_len(1 << 12).map(source).collect();
        let mut field = Self { nodes: vec![], leaves, softening2: members.softening2, masses, sources, tree };
        let of_leaf = |&leaf: &u32| {
            let leaf = leaf as usize;
            Moments::of(field.bodies(leaf), &field.tree.node(leaf).bounds)
        };
        let of_leaves: Vec<Moments> = field.leaves.par_iter().with_min_len(64).map(of_leaf).collect();
        field.nodes = vec![Moments::default(); field.tree.end()];
        let mut of_leaves = of_leaves.into_iter().rev();
        for at in (0..field.tree.end()).rev() {
            field.nodes[at] = if field.tree.is_leaf(at) {
                of_leaves.next().unwrap_or_default()
            } else {
                let right = field.tree.node(at + 1).rope as usize;
                Moments::of_two([&field.nodes[at + 1], &field.nodes[right]], &field.tree.node(at).bounds)
            };
            field.nodes[at].rope = field.tree.node(at).rope;
        }
        Ok(field)
    }

    /// A leaf's coordinates and masses.
    #[inline(always)]
    pub fn bodies(&self, leaf: usize) -> [&[f64]; 4] {
        let span = self.tree.span(leaf);
        let [x, y, z] = self.tree.lo();
        [&x[span.clone()], &y[span.clone()], &z[span.clone()], &self.masses[span]]
    }

    /// The same in single precision.
    #[inline(always)]
    pub fn sources(&self, leaf: usize) -> &[Source] {
        &self.sources[self.tree.span(leaf)]
    }

    /// A member by its position in tree order.
    #[inline(always)]
    pub fn member(&self, at: usize) -> ([f64; 3], f64) {
        let [x, y, z] = self.tree.lo();
        ([x[at], y[at], z[at]], self.masses[at])
    }
}
