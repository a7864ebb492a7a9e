//! The broad phase of collision detection: overlapping pairs of moving boxes, step by step. The tree is refitted in
//! each step, and rebuilt when the boxes of its nodes have grown by half.
//!
//!     cargo run --release --example broadphase

use ropewalk::{Aabb, Bvh, Result};

const SIDE: i32 = 2000;
const STEPS: usize = 60;

/// A box with integer corners, so that collisions are the same on all machines.
struct Crate {
    corner: [i32; 3],
    size: [i32; 3],
    velocity: [i32; 3],
}

impl Crate {
    /// Moves by one step, and reverses at the walls.
    fn advance(&mut self) {
        for k in 0..3 {
            let (next, end) = (self.corner[k] + self.velocity[k], SIDE - self.size[k]);
            if !(0..=end).contains(&next) {
                self.velocity[k] = -self.velocity[k];
            }
            self.corner[k] += self.velocity[k];
        }
    }

    fn bounds(&self) -> Aabb<f32, 3> {
        let corner = |at: [i32; 3]| at.map(|x| x as f32);
        Aabb::new(corner(self.corner), corner(std::array::from_fn(|k| self.corner[k] + self.size[k])))
    }

    fn overlaps(&self, other: &Self) -> bool {
        (0..3).all(|k| {
            self.corner[k] <= other.corner[k] + other.size[k] && other.corner[k] <= self.corner[k] + self.size[k]
        })
    }
}

fn main() -> Result<()> {
    let mut state = 1u64;
    let mut below = |n: i32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % n as u64) as i32
    };
    let mut crates: Vec<Crate> = (0..5000)
        .map(|_| Crate {
            corner: [0; 3].map(|_| 100 + below(SIDE - 200)),
            size: [0; 3].map(|_| 10 + below(70)),
            velocity: [0; 3].map(|_| below(21) - 10),
        })
        .collect();

    let mut boxes: Vec<Aabb<f32, 3>> = crates.iter().map(Crate::bounds).collect();
    let mut bvh = Bvh::build(&boxes)?;
    let (mut before, mut rebuilds) = (bvh.overlapping_pairs(), 0);
    println!("{} boxes, {} overlapping pairs", boxes.len(), before.len());
    let (mut begun, mut ended) = (0, 0);
    for step in 1..=STEPS {
        crates.iter_mut().for_each(Crate::advance);
        boxes.clear();
        boxes.extend(crates.iter().map(Crate::bounds));
        bvh.refit(&boxes)?;
        if bvh.degradation() > 1.5 {
            bvh.rebuild(&boxes)?;
            rebuilds += 1;
        }
        // Pairs are in ascending order, so that steps can be compared.
        let pairs = bvh.overlapping_pairs();
        begun += pairs.iter().filter(|pair| before.binary_search(pair).is_err()).count();
        ended += before.iter().filter(|pair| pairs.binary_search(pair).is_err()).count();
        if step % 20 == 0 {
            println!("after {step} steps: {} overlapping pairs, {begun} appeared, {ended} disappeared", pairs.len());
        }
        before = pairs;
    }
    println!("{rebuilds} rebuilds");

    // All pairs by brute force.
    let expected: Vec<[u32; 2]> = (0..crates.len())
        .flat_map(|i| (i + 1..crates.len()).map(move |j| [i, j]))
        .filter(|&[i, j]| crates[i].overlaps(&crates[j]))
        .map(|pair| pair.map(|i| i as u32))
        .collect();
    assert_eq!(before, expected);
    Ok(())
}
