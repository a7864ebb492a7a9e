//! Point sets without a scale or with copies, on which the work of an algorithm may grow too fast. Benches include
//! this file, too.

/// Creates a generator of pseudo-random numbers in `0..1` (SplitMix64).
pub fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Creates points with uniform directions, and radii 2^-u for u uniform in 0 to `range`.
pub fn exponential<const D: usize>(n: usize, range: f64) -> Vec<[f64; D]> {
    let mut random = random(n as u64 + D as u64);
    let mut normal = move || {
        let radius = (-2.0 * (1.0 - random()).ln()).sqrt();
        (radius * (std::f64::consts::TAU * random()).cos(), random())
    };
    (0..n)
        .map(|_| {
            let direction: [f64; D] = std::array::from_fn(|_| normal().0);
            let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
            let radius = (-range * normal().1).exp2();
            direction.map(|x| x / length * radius)
        })
        .collect()
}

/// Creates points that are log-uniform along one axis.
pub fn along_axis(n: usize) -> Vec<[f64; 3]> {
    let mut random = random(n as u64);
    (0..n).map(|_| [(-300.0 * random()).exp2(), random() * 1e-100, 0.0]).collect()
}

/// Creates `n - 1` copies of one point, and another point.
pub fn copies(n: usize) -> Vec<[f64; 3]> {
    let mut points = vec![[0.25, 0.5, 0.75]; n];
    points[n / 3] = [0.75, 0.5, 0.25];
    points
}

/// Creates many copies of a few points, and a few points between them.
pub fn heaps(n: usize) -> Vec<[f64; 3]> {
    let mut random = random(n as u64);
    (0..n)
        .map(|i| if i % 50 == 0 { [random(), random(), random()] } else { [(i % 7) as f64 / 7.0, 0.3, 0.6] })
        .collect()
}

/// Creates a uniform cloud and a distant point. Trees reject coordinates beyond 1e150.
pub fn outlier(n: usize) -> Vec<[f64; 3]> {
    let mut random = random(n as u64);
    (0..n).map(|i| if i == 5 { [1e100; 3] } else { [random(), random(), random()] }).collect()
}

/// Creates a geometric progression. Squares of distances below 2^-537 underflow to 0, as if points were copies.
pub fn progression(n: usize) -> Vec<[f64; 3]> {
    (0..n).map(|i| [(-500.0 * i as f64 / n as f64).exp2(), 0.0, 0.0]).collect()
}

/// Creates a uniform cloud, for comparison.
pub fn uniform(n: usize) -> Vec<[f64; 3]> {
    let mut random = random(n as u64);
    (0..n).map(|_| [random(), random(), random()]).collect()
}
