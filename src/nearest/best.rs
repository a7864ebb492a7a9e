//! The k best of all that is offered, by their exact distances.

use super::{Nearest, Neighbor};
use crate::geometry::Scalar;

/// The best so far, ascending by distance, then index.
pub(crate) struct Best {
    k: usize,
    radius2: f64,
    /// A squared distance, whose bits are ordered as the number is, and below it the index: one comparison orders both.
    found: Vec<u128>,
}

impl Best {
    pub fn new() -> Self {
        Self { k: 0, radius2: 0.0, found: Vec::new() }
    }

    /// Begins anew. Nothing is ever accepted if `k` is 0 or the radius negative or NaN.
    pub fn start(&mut self, wanted: &Nearest) {
        self.k = wanted.k;
        self.radius2 = if wanted.k > 0 && wanted.radius >= 0.0 { wanted.radius * wanted.radius } else { -1.0 };
        self.found.clear();
    }

    /// What is farther than this is not wanted; negative if nothing is.
    #[inline(always)]
    pub fn limit(&self) -> f64 {
        if self.found.len() < self.k { self.radius2 } else { self.found.last().map_or(-1.0, |&last| distance2(last)) }
    }

    /// Takes a neighbour in, if it is among the best.
    #[inline(always)]
    pub fn offer(&mut self, distance2: f64, index: u32) -> bool {
        let new = u128::from(distance2.to_bits()) << 32 | u128::from(index);
        if self.found.len() < self.k {
            if distance2 > self.radius2 {
                return false;
            }
            self.found.push(new);
        } else {
            match self.found.last_mut() {
                Some(last) if new < *last => *last = new,
                _ => return false,
            }
        }
        // Few are moved: most candidates come late and belong near the end.
        let mut at = self.found.len() - 1;
        while at > 0 && self.found[at - 1] > new {
            self.found[at] = self.found[at - 1];
            at -= 1;
        }
        self.found[at] = new;
        true
    }

    /// How many were found.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    pub fn neighbors<S: Scalar>(&self) -> impl Iterator<Item = Neighbor<S>> {
        self.found.iter().map(|&found| Neighbor { index: found as u32, distance2: S::from_f64(distance2(found)) })
    }
}

#[inline(always)]
fn distance2(found: u128) -> f64 {
    f64::from_bits((found >> 32) as u64)
}
