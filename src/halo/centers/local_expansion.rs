//! What acts on the members of a leaf, found for groups of leaves at once.
//!
//! In: a field and a tolerance. Out: for each leaf of the tree an expansion of what is far from it, with its error, and the
//! leaves that are near.
//! Two trees are walked against each other: a node of sources that is far from a node of targets is expanded once for all of
//! them; of two that are near to each other the larger is opened. With R the way from the middle of the targets, x the offset
//! of one, at most a, and otherwise as in `field`, the sum is a series in y - x. Its terms up to the second order are
//! kept; the rest is at most (a + b) (B + M a²) / (rho³ (rho - a - b)), as the cross term of sum m |y - x|² vanishes.
//! Cost: O(n log n) at most; 100 bytes a leaf and 4 for each near one. Source: Dehnen 2002, section 2 (both sides expanded);
//! the bound as in Salmon and Warren 1994.

use std::ops::Range;

use crate::halo::centers::multipole::{Field, Moments, ROUNDING};

/// Groups with fewer targets than this are finished by one thread.
const SEQUENTIAL: usize = 1024;

/// A sum over far members as a function of the place, about a node's middle.
#[derive(Clone, Copy, Debug, Default)]
struct Expansion {
    value: f64,
    slope: [f64; 3],
    /// Half the second derivatives: xx, yy, zz, xy, xz, yz.
    curve: [f64; 6],
    /// By how much it may be wrong, at most, for any member of the leaf.
    error: f64,
    /// How many nodes were expanded.
    nodes: u64,
}

impl Expansion {
    #[inline(always)]
    fn at(&self, [x, y, z]: [f64; 3]) -> f64 {
        let [xx, yy, zz, xy, xz, yz] = self.curve;
        let square = x * (xx * x + 2.0 * (xy * y + xz * z)) + y * (yy * y + 2.0 * yz * z) + zz * z * z;
        self.value + (self.slope[0] * x + self.slope[1] * y + self.slope[2] * z + square)
    }

    /// The same about another place.
    fn moved(&self, by: [f64; 3]) -> Self {
        let ([x, y, z], [xx, yy, zz, xy, xz, yz]) = (by, self.curve);
        let turn = [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z];
        Self { value: self.at(by), slope: std::array::from_fn(|k| self.slope[k] + 2.0 * turn[k]), ..*self }
    }
}

/// What acts on the members of a leaf.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    pub leaf: u32,
    /// Which of the targets asked for are its members.
    pub targets: Range<usize>,
    far: Expansion,
    center: [f64; 3],
    /// ParticleInSphere leaves, the leaf itself among them.
    pub near: Vec<u32>,
}

impl Surroundings {
    /// The sum over far members at a member of the leaf.
    #[inline(always)]
    pub fn far(&self, at: [f64; 3]) -> f64 {
        self.far.at([at[0] - self.center[0], at[1] - self.center[1], at[2] - self.center[2]])
    }

    /// Its error, at most.
    #[inline(always)]
    pub fn error(&self) -> f64 {
        self.far.error
    }

    /// How many nodes were expanded for the leaf, those for groups that it belongs to among them.
    pub fn nodes(&self) -> u64 {
        self.far.nodes
    }
}

/// The surroundings of the leaves that hold targets, which are ascending positions in tree order, with an error of at most
/// `tolerance` for each node that is expanded.
pub(super) fn surroundings(field: &Field, targets: &[u32], tolerance: f64) -> Vec<Surroundings> {
    let mut found = vec![];
    if !targets.is_empty() {
        let walk = Walk { field, targets, tolerance };
        walk.descend(0, 0..targets.len(), &[0], Expansion::default(), &mut found);
    }
    found
}

struct Walk<'a> {
    field: &'a Field,
    targets: &'a [u32],
    tolerance: f64,
}

impl Walk<'_> {
    /// Goes down from a node that holds some of the targets, with the sources that are still to be settled for it.
    fn descend(
        &self,
        at: usize,
        asked: Range<usize>,
        sources: &[u32],
        inherited: Expansion,
        found: &mut Vec<Surroundings>,
    ) {
        let nodes = &self.field.nodes;
        let targets = &nodes[at];
        let is_leaf = targets.rope as usize == at + 1;
        let mut far = inherited;
        let mut near = Vec::with_capacity(sources.len() + 32);
        let mut stack = Vec::with_capacity(32);
        for &source in sources {
            stack.push(source);
            while let Some(other) = stack.pop() {
                let source = &nodes[other as usize];
                let is_apart = source.rope as usize <= at || targets.rope <= other;
                if is_apart && self.expand(targets, source, &mut far) {
                    continue;
                }
                if source.rope != other + 1 && (is_leaf || source.radius >= targets.reach) {
                    stack.push(nodes[other as usize + 1].rope);
                    stack.push(other + 1);
                } else {
                    near.push(other);
                }
            }
        }
        if is_leaf {
            found.push(Surroundings { leaf: at as u32, targets: asked, far, center: targets.middle, near });
            return;
        }
        let right = nodes[at + 1].rope as usize;
        let end = self.field.tree.span(at + 1).end;
        let middle = asked.start + self.targets[asked.clone()].partition_point(|&target| (target as usize) < end);
        let below = |child: usize, asked: Range<usize>, found: &mut Vec<Surroundings>| {
            if !asked.is_empty() {
                let by = std::array::from_fn(|k| nodes[child].middle[k] - targets.middle[k]);
                self.descend(child, asked, &near, far.moved(by), found);
            }
        };
        if asked.len() < SEQUENTIAL {
            below(at + 1, asked.start..middle, found);
            below(right, middle..asked.end, found);
        } else {
            let mut others = vec![];
            rayon::join(|| below(at + 1, asked.start..middle, found), || below(right, middle..asked.end, &mut others));
            found.append(&mut others);
        }
    }

    /// Adds a node of sources to the expansion, if it is far enough.
    #[inline(always)]
    fn expand(&self, targets: &Moments, source: &Moments, far: &mut Expansion) -> bool {
        let way: [f64; 3] = std::array::from_fn(|k| source.center[k] - targets.middle[k]);
        let rho2 = way[0] * way[0] + way[1] * way[1] + way[2] * way[2] + self.field.softening2;
        let rho = rho2.sqrt();
        let reach = source.radius + targets.reach;
        let beyond = rho - reach;
        let spread = reach * (source.trace + source.mass * targets.reach * targets.reach);
        let rho3 = rho2 * rho;
        // Not so near that the difference to the radii is all rounding.
        if beyond < 1e-3 * rho || spread > self.tolerance * rho3 * beyond {
            return false;
        }
        let ([x, y, z], [xx, yy, zz, xy, xz, yz]) = (way, source.second);
        let by_both = 1.0 / (rho3 * beyond);
        let by_rho3 = by_both * beyond;
        let by_rho2 = rho * by_rho3;
        let square = x * (xx * x + 2.0 * (xy * y + xz * z)) + y * (yy * y + 2.0 * yz * z) + zz * z * z;
        far.value += source.mass * rho2 * by_rho3 + 0.5 * by_rho3 * (3.0 * square * by_rho2 - source.trace);
        let slope = source.mass * by_rho3;
        for (own, way) in far.slope.iter_mut().zip(way) {
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
        for (own, curve) in far.curve.iter_mut().zip(curves) {
            *own += curve;
        }
        far.error += spread * by_both + ROUNDING * source.mass * by_rho2;
        far.nodes += 1;
        true
    }
}
