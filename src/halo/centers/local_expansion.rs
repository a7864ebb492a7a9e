//! The potential around each leaf: a local expansion of far nodes, and the list of near leaves.
//!
//! In: multipoles and a tolerance. Out: [`LeafInteractions`] for each leaf that holds targets.
//! A dual tree walk compares source nodes with target nodes. A source node that is far from a target node is expanded
//! once for all targets below (multipole to local, M2L). Expansions are translated to the children (local to local,
//! L2L). If two nodes are near to each other, the larger one is opened.
//!
//! Let R be the vector from the expansion centre of the targets to the centre of mass of the sources, and rho² = R² +
//! softening². Let x be the offset of a target, |x| <= a, and y that of a source, |y| <= b. The sum over sources is a
//! series in y - x:
//!
//! ```text
//! sum m / sqrt(|R + y - x|² + softening²) = sum m sum over l of |y - x|^l / rho^(l + 1) P_l                    (1)
//! ```
//!
//! Terms with l <= 2 are kept. The dipole of the sources vanishes, so the cross term of sum m |y - x|² = B + M |x|²
//! vanishes, too. With B = sum m |y|² the remaining terms are at most
//!
//! ```text
//! (a + b) (B + M a²) / (rho³ (rho - a - b))                                                                    (2)
//! ```
//!
//! Cost: at most O(n log n); 100 bytes per leaf and 4 per near leaf. Source: Dehnen 2002, section 2 (expansion on both
//! sides); the bound as in Salmon and Warren 1994.

use std::ops::Range;

use crate::geometry::length2;
use crate::halo::centers::multipole::{Moments, Multipoles, ROUNDING};
use crate::parallel::join;

/// Groups of fewer targets are processed by one thread.
const SEQUENTIAL: usize = 1024;

/// A sum over far members as a quadratic function of the offset from a node's expansion centre.
#[derive(Clone, Copy, Debug, Default)]
struct LocalExpansion {
    value: f64,
    gradient: [f64; 3],
    /// Half the second derivatives: xx, yy, zz, xy, xz, yz.
    hessian: [f64; 6],
    /// A bound on the error for every member of the node: the sum of the bounds (2).
    error: f64,
    /// The number of expanded nodes.
    nodes: u64,
}

impl LocalExpansion {
    #[inline(always)]
    fn evaluate(&self, [x, y, z]: [f64; 3]) -> f64 {
        let [xx, yy, zz, xy, xz, yz] = self.hessian;
        let quadratic = x * (xx * x + 2.0 * (xy * y + xz * z)) + y * (yy * y + 2.0 * yz * z) + zz * z * z;
        self.value + (self.gradient[0] * x + self.gradient[1] * y + self.gradient[2] * z + quadratic)
    }

    /// The same function around another centre (L2L); exact except for rounding.
    fn translated(&self, by: [f64; 3]) -> Self {
        let ([x, y, z], [xx, yy, zz, xy, xz, yz]) = (by, self.hessian);
        let product = [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z];
        let gradient = std::array::from_fn(|k| self.gradient[k] + 2.0 * product[k]);
        Self { value: self.evaluate(by), gradient, ..*self }
    }
}

/// The interactions of a leaf's members with all other members.
#[derive(Clone, Debug)]
pub(super) struct LeafInteractions {
    pub leaf: u32,
    /// The targets in the leaf, as a range of the list of targets.
    pub targets: Range<usize>,
    far: LocalExpansion,
    center: [f64; 3],
    /// The leaves that are not in the expansion, including this one.
    pub near: Vec<u32>,
}

impl LeafInteractions {
    /// Returns the sum over far members at the position `at` in the leaf.
    #[inline(always)]
    pub fn far(&self, at: [f64; 3]) -> f64 {
        self.far.evaluate([at[0] - self.center[0], at[1] - self.center[1], at[2] - self.center[2]])
    }

    /// Returns a bound on the error of [`LeafInteractions::far`].
    #[inline(always)]
    pub fn error(&self) -> f64 {
        self.far.error
    }

    /// Returns the number of nodes that were expanded for the leaf and for its ancestors.
    pub fn nodes(&self) -> u64 {
        self.far.nodes
    }
}

/// The interactions of the leaves that hold targets. `targets` are ascending positions in tree order. The error of
/// each expanded node is at most `tolerance`.
pub(super) fn leaf_interactions(multipoles: &Multipoles, targets: &[u32], tolerance: f64) -> Vec<LeafInteractions> {
    let mut leaves = vec![];
    if !targets.is_empty() {
        let walk = DualWalk { multipoles, targets, tolerance };
        walk.descend(0, 0..targets.len(), &[0], LocalExpansion::default(), &mut leaves);
    }
    leaves
}

struct DualWalk<'a> {
    multipoles: &'a Multipoles,
    targets: &'a [u32],
    tolerance: f64,
}

impl DualWalk<'_> {
    /// Descends from a node that holds some of the targets, with the source nodes that are not yet expanded for it.
    fn descend(
        &self,
        at: usize,
        asked: Range<usize>,
        sources: &[u32],
        inherited: LocalExpansion,
        leaves: &mut Vec<LeafInteractions>,
    ) {
        let nodes = &self.multipoles.nodes;
        let targets = &nodes[at];
        let is_leaf = targets.rope as usize == at + 1;
        let mut far = inherited;
        let mut near = Vec::with_capacity(sources.len() + 32);
        let mut stack = Vec::with_capacity(32);
        for &source in sources {
            stack.push(source);
            while let Some(other) = stack.pop() {
                let source = &nodes[other as usize];
                let is_disjoint = source.rope as usize <= at || targets.rope <= other;
                if is_disjoint && self.expand(targets, source, &mut far) {
                    continue;
                }
                if source.rope != other + 1 && (is_leaf || source.radius >= targets.target_radius) {
                    stack.push(nodes[other as usize + 1].rope);
                    stack.push(other + 1);
                } else {
                    near.push(other);
                }
            }
        }
        if is_leaf {
            let center = targets.target_center;
            leaves.push(LeafInteractions { leaf: at as u32, targets: asked, far, center, near });
            return;
        }
        let right = nodes[at + 1].rope as usize;
        let end = self.multipoles.tree.span(at + 1).end;
        let middle = asked.start + self.targets[asked.clone()].partition_point(|&target| (target as usize) < end);
        let below = |child: usize, asked: Range<usize>, leaves: &mut Vec<LeafInteractions>| {
            if !asked.is_empty() {
                let by = std::array::from_fn(|k| nodes[child].target_center[k] - targets.target_center[k]);
                self.descend(child, asked, &near, far.translated(by), leaves);
            }
        };
        if asked.len() < SEQUENTIAL {
            below(at + 1, asked.start..middle, leaves);
            below(right, middle..asked.end, leaves);
        } else {
            let mut others = vec![];
            join(&mut || below(at + 1, asked.start..middle, leaves), &mut || {
                below(right, middle..asked.end, &mut others)
            });
            leaves.append(&mut others);
        }
    }

    /// Adds a source node to the expansion (M2L) if the bound (2) is within the tolerance. Returns `true` if it was
    /// added.
    #[inline(always)]
    fn expand(&self, targets: &Moments, source: &Moments, far: &mut LocalExpansion) -> bool {
        let way: [f64; 3] = std::array::from_fn(|k| source.center[k] - targets.target_center[k]);
        let rho2 = length2(way) + self.multipoles.softening2;
        let rho = rho2.sqrt();
        let radii = source.radius + targets.target_radius;
        let gap = rho - radii;
        let spread = radii * (source.trace + source.mass * targets.target_radius * targets.target_radius);
        let rho3 = rho2 * rho;
        // A smaller gap would be dominated by rounding.
        if gap < 1e-3 * rho || spread > self.tolerance * rho3 * gap {
            return false;
        }
        let ([x, y, z], [xx, yy, zz, xy, xz, yz]) = (way, source.second);
        let by_both = 1.0 / (rho3 * gap);
        let by_rho3 = by_both * gap;
        let by_rho2 = rho * by_rho3;
        let quadratic = x * (xx * x + 2.0 * (xy * y + xz * z)) + y * (yy * y + 2.0 * yz * z) + zz * z * z;
        far.value += source.mass * rho2 * by_rho3 + 0.5 * by_rho3 * (3.0 * quadratic * by_rho2 - source.trace);
        let slope = source.mass * by_rho3;
        for (own, way) in far.gradient.iter_mut().zip(way) {
            *own += slope * way;
        }
        let (curve, plain) = (1.5 * slope * by_rho2, 0.5 * slope);
        let curves = [
            curve * x * x - plain,
            curve * y * y - plain,
            curve * z * z - plain,
            curve * x * y,
            curve * x * z,
            curve * y * z,
        ];
        for (own, curve) in far.hessian.iter_mut().zip(curves) {
            *own += curve;
        }
        far.error += spread * by_both + ROUNDING * source.mass * by_rho2;
        far.nodes += 1;
        true
    }
}
