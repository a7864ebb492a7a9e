//! Points in spherical shells, each with a value.
//!
//! In: shells with `f64` centres, and a value for each stored point. Out: for each shell the points of all ranks in
//! it, with their squared distances and values, in no particular order.
//! Cost: 24 bytes for each hit, sent once; temporarily three times as much memory.

use crate::csr::Csr;
use crate::distributed::search::Bvh;
use crate::error::Result;
use crate::geometry::{Scalar, Sphere};
use crate::parallel::map;

/// A shell, all `x` with `inner < |x - center| <= outer` (compared by squares), and a ball that encloses it.
#[derive(Clone, Copy, Debug)]
pub struct ShellAbout<S, const D: usize> {
    /// The centre, inside the periodic box if there is one.
    pub center: [f64; D],
    /// A ball that encloses the shell.
    pub ball: Sphere<S, D>,
    /// The squares of the inner and outer radius; a negative inner one includes the centre.
    pub limits: [f64; 2],
}

impl<S: Scalar, const D: usize> Bvh<'_, S, D> {
    /// Finds the points of all ranks in each shell. Returns for each point the bits of the squared distance, the
    /// global index, and the bits of its `value`. Collective.
    #[doc(hidden)]
    pub fn shells(&self, asked: &[ShellAbout<S, D>], value: &(dyn Fn(u32) -> f64 + Sync)) -> Result<Csr<[u64; 3]>> {
        let ranks = self.domain.ranks;
        let (ids, points, space) = (&self.domain.ids, &self.domain.points, &self.domain.space);
        let tree = &self.tree;
        let mut lists = Csr::default();
        self.in_batches(asked.len(), &mut |range| {
            let asked = &asked[range.clone()];
            let (route, balls) = self.send(&asked.iter().map(|shell| shell.ball).collect::<Vec<_>>())?;
            let centers = route.send(ranks, &asked.iter().map(|shell| shell.center).collect::<Vec<_>>())?;
            let limits = route.send(ranks, &asked.iter().map(|shell| shell.limits).collect::<Vec<_>>())?;
            let found: Vec<Vec<[u64; 3]>> = map(balls.len(), 1, &|at| {
                let [inner2, outer2] = limits[at];
                let inside = |row: u32| {
                    let position = space.wrap(points[row as usize]).map(Into::into);
                    let distance2 = space.distance2(&centers[at], &position);
                    (distance2 > inner2 && distance2 <= outer2)
                        .then(|| [distance2.to_bits(), ids[row as usize], value(row).to_bits()])
                };
                tree.query(balls[at]).filter_map(inside).collect()
            });
            let mut offsets = vec![0];
            offsets.extend(found.iter().scan(0, |end, list| {
                *end += list.len();
                Some(*end)
            }));
            let answers = route.answer_lists(ranks, &Csr::from_parts(offsets, found.concat()))?;
            lists.append(&Csr::concatenated_by_row(range.len(), route.rows(), &answers));
            Ok(())
        })?;
        Ok(lists)
    }
}
