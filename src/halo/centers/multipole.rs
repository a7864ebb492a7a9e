//! Multipoles of a halo's members on a tree, with error bounds.
//!
//! In: members. Out: a tree over them, with the mass, centre of mass, second moments and extent of each node. Also the
//! coordinates and masses in tree order, in double and in single precision.
//! With R from the centre of mass to a target and rho² = R² + softening², a member of mass m at y contributes
//!
//! ```text
//! m sum over l of |y|^l / rho^(l + 1) P_l,  |P_l| <= 1                                                         (1)
//! ```
//!
//! (the generating function of Legendre polynomials, for four-dimensional vectors whose last component is the
//! softening). Around the centre of mass the dipole, l = 1, vanishes. With B = sum m |y|² and the radius b of the
//! node, the remaining terms are at most
//!
//! ```text
//! after l = 1:  B / (rho² (rho - b))                                                                           (2)
//! after l = 2:  b B / (rho³ (rho - b))                                                                         (3)
//! ```
//!
//! Cost: a build of the tree; 150 bytes per node. Source: Salmon and Warren 1994, section 3.

use crate::bvh::Bvh;
use crate::error::Result;
use crate::geometry::{Aabb, length2};
use crate::halo::centers::members::ScaledMembers;
use crate::halo::centers::pairwise_f32::Source;
use crate::parallel::map;

/// A bound on the rounding of coordinates, which are less than 1, and of centres of mass.
pub(super) const ROUNDING: f64 = 1e-13;

/// The multipole moments of a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    /// The centre of mass.
    pub center: [f64; 3],
    pub mass: f64,
    /// b, an upper bound on the distance of members from the centre of mass.
    pub radius: f64,
    /// B, the trace of the matrix of second moments.
    pub trace: f64,
    /// The second moments, sums of m y y: xx, yy, zz, xy, xz, yz.
    pub second: [f64; 6],
    /// The centre of the node's local expansion, and an upper bound on the distance of members from it.
    pub target_center: [f64; 3],
    pub target_radius: f64,
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
        let (mut radius2, mut middle_radius2) = (0.0f64, 0.0f64);
        for (m, at) in members() {
            let from = |place: &[f64; 3]| -> [f64; 3] { std::array::from_fn(|k| at[k] - place[k]) };
            moments.add(m, from(&moments.center));
            radius2 = radius2.max(length2(from(&moments.center)));
            middle_radius2 = middle_radius2.max(length2(from(&middle)));
        }
        moments.radius = rounded_up(radius2.sqrt());
        moments.choose_center(middle, rounded_up(middle_radius2.sqrt()));
        moments
    }

    fn merged(parts: [&Self; 2], bounds: &Aabb<f64, 3>) -> Self {
        let mut moments = Self { mass: parts[0].mass + parts[1].mass, ..Self::default() };
        moments.center = std::array::from_fn(|k| {
            (parts[0].mass * parts[0].center[k] + parts[1].mass * parts[1].center[k]) / moments.mass
        });
        let corner = |place: &[f64; 3]| {
            length2(std::array::from_fn(|k| (bounds.hi[k] - place[k]).max(place[k] - bounds.lo[k]))).sqrt()
        };
        let middle = bounds.center();
        let (mut radius, mut middle_radius) = (0.0f64, 0.0f64);
        for part in parts {
            let from = |place: &[f64; 3]| -> [f64; 3] { std::array::from_fn(|k| part.center[k] - place[k]) };
            moments.add(part.mass, from(&moments.center));
            moments.trace += part.trace;
            for (own, second) in moments.second.iter_mut().zip(part.second) {
                *own += second;
            }
            radius = radius.max(part.radius + length2(from(&moments.center)).sqrt());
            middle_radius = middle_radius.max(part.radius + length2(from(&middle)).sqrt());
        }
        moments.radius = rounded_up(radius.min(corner(&moments.center)));
        moments.choose_center(middle, rounded_up(middle_radius.min(corner(&middle))));
        moments
    }

    /// Centres the local expansion at the middle of the box or at the centre of mass, whichever has the smaller
    /// radius.
    fn choose_center(&mut self, middle: [f64; 3], radius: f64) {
        (self.target_center, self.target_radius) =
            if radius < self.radius { (middle, radius) } else { (self.center, self.radius) };
    }

    fn add(&mut self, m: f64, [x, y, z]: [f64; 3]) {
        for (own, second) in self.second.iter_mut().zip([x * x, y * y, z * z, x * y, x * z, y * z]) {
            *own += m * second;
        }
        self.trace += m * (x * x + y * y + z * z);
    }
}

/// Rounds a radius up by a bound on its rounding error.
fn rounded_up(radius: f64) -> f64 {
    radius * (1.0 + 1e-12) + ROUNDING
}

/// The members in tree order, with the moments of all nodes.
pub(super) struct Multipoles {
    pub tree: Bvh<f64, 3>,
    pub nodes: Vec<Moments>,
    pub softening2: f64,
    /// The masses in tree order.
    masses: Vec<f64>,
    /// The coordinates and masses in tree order, in single precision.
    sources: Vec<Source>,
}

impl Multipoles {
    pub fn new(members: &ScaledMembers) -> Result<Self> {
        let points: Vec<[f64; 3]> = (0..members.len()).map(|member| members.position(member)).collect();
        let tree = Bvh::build(&points)?;
        drop(points);
        let masses: Vec<f64> = tree.order().iter().map(|&member| members.masses[member as usize]).collect();
        let ([x, y, z], _) = tree.corners();
        let sources = map(masses.len(), 1 << 12, &|i| Source::new([x[i], y[i], z[i]], masses[i]));
        let mut multipoles = Self { nodes: vec![], softening2: members.softening2, masses, sources, tree };
        let tree = &multipoles.tree;
        multipoles.nodes = tree.reduce(
            |leaf| Moments {
                rope: tree.node(leaf).rope,
                ..Moments::of(multipoles.columns(leaf), &tree.node(leaf).bounds)
            },
            |at, parts| Moments { rope: tree.node(at).rope, ..Moments::merged(parts, &tree.node(at).bounds) },
        );
        Ok(multipoles)
    }

    /// Returns the coordinates and masses of a leaf.
    #[inline(always)]
    pub fn columns(&self, leaf: usize) -> [&[f64]; 4] {
        let span = self.tree.span(leaf);
        let ([x, y, z], _) = self.tree.corners();
        [&x[span.clone()], &y[span.clone()], &z[span.clone()], &self.masses[span]]
    }

    /// Returns the coordinates and masses of a leaf, in single precision.
    #[inline(always)]
    pub fn sources(&self, leaf: usize) -> &[Source] {
        &self.sources[self.tree.span(leaf)]
    }

    /// Returns the position and the mass of the member at position `at` in tree order.
    #[inline(always)]
    pub fn member(&self, at: usize) -> ([f64; 3], f64) {
        let ([x, y, z], _) = self.tree.corners();
        ([x[at], y[at], z[at]], self.masses[at])
    }
}
