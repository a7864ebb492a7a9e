//! Loops over moving points that must not allocate after warming up. A separate program, with a counting allocator.
#![allow(unsafe_code)] // The allocator is unsafe code.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::random::Random;
use ropewalk::{Aabb, Bounded, Bvh, Csr, Scalar};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each method passes its arguments unchanged to the same method of `System`, and only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`, which is that of `System.alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc_zeroed`, which is that of
        // `System.alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::realloc`, and `at` was allocated by `System`.
        unsafe { System.realloc(at, layout, size) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`, and `at` was allocated by `System`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn steps_of<S: Scalar, const D: usize, T: Bounded<S, D>>(places: &[Vec<T>], side: Option<f64>, radius: f64) {
    let mut tree = Bvh::build_periodic(&places[0], ropewalk::geometry::BoxSize::from(side)).unwrap();
    let (mut counts, mut lists, mut sums) = (vec![], Csr::default(), vec![]);
    let mut step = |points: &[T], radius: f64| {
        tree.rebuild(points).unwrap();
        tree.count_neighbors_into(radius, &mut counts);
        tree.refit(points).unwrap();
        tree.neighbors_into(radius, &mut lists);
        tree.map_neighbors_into(radius, |_, near| near.iter().map(|near| near.distance2).sum::<f64>(), &mut sums);
        assert!(tree.degradation() >= 1.0);
    };
    // A larger radius first, so that the buffers of lists reach their final size.
    step(&places[0], 1.1 * radius);
    step(&places[1], radius);
    let before = ALLOCATIONS.load(Relaxed);
    for points in &places[2..] {
        step(points, radius);
    }
    assert_eq!(ALLOCATIONS.load(Relaxed) - before, 0);
}

fn journey<S: Scalar, const D: usize>(n: usize, step: f64) -> Vec<Vec<[S; D]>> {
    let mut random = Random::new(1);
    let mut points: Vec<[f64; D]> = (0..n).map(|_| std::array::from_fn(|_| random.unit())).collect();
    let mut next = || {
        points.iter_mut().flatten().for_each(|x| *x += step * random.normal());
        points.iter().map(|point| point.map(S::from_f64)).collect()
    };
    (0..8).map(|_| next()).collect()
}

/// The count covers the whole program, so nothing else may run, including the output of a test harness.
fn main() {
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let places = journey::<f32, 3>(20_000, 1e-3);
            steps_of(&places, None, 0.03);
            steps_of(&places, Some(1.0), 0.03);
            let vectors: Vec<Vec<glam::Vec3>> =
                places.iter().map(|points| points.iter().map(|&point| point.into()).collect()).collect();
            steps_of(&vectors, None, 0.02);
            let boxes = |points: &Vec<[f32; 3]>| -> Vec<Aabb<f32, 3>> {
                points.iter().map(|&lo| Aabb { lo, hi: lo.map(|x| x + 0.01) }).collect()
            };
            steps_of(&places.iter().map(boxes).collect::<Vec<_>>(), None, 0.02);
            steps_of(&journey::<f64, 2>(5000, 0.01), Some(1.0), 0.02);
            steps_of(&journey::<f64, 5>(300, 0.01), None, 0.2);
        });
    }
}
