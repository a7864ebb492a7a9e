//! Moving least squares on a device: times, and comparison of the coefficients with the CPU.
//!
//!     cargo bench -p ropewalk-benches --features cuda --bench device_values -- [SOURCES] [TARGETS]
//!
//! Degree 2 with 20 neighbours, uniform points in the unit cube, as in `peers/values_peers.py`.

use std::error::Error;
use std::time::Instant;

use ropewalk::gpu::{self, Bvh, Coordinate, Device, DeviceVec};
use ropewalk::interpolate::MovingLeastSquares;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The number of repetitions of each measurement. The shortest time counts.
const TURNS: usize = 7;

fn main() -> Result<()> {
    // Cargo passes `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |text| text.parse());
    let (n, targets) = (number(1_000_000)?, number(1_000_000)?);
    println!("{:?}, {n} sources, {targets} targets", Device::first()?);
    measure::<f32>("f32", n, targets)?;
    measure::<f64>("f64", n, targets)
}

fn measure<S: Coordinate>(name: &str, n: usize, targets: usize) -> Result<()> {
    let device = Device::first()?;
    let (sources, targets) = (cube::<S>(n, 1), cube::<S>(targets, 2));
    let options = MovingLeastSquares::new(2).neighbors(20);
    let began = Instant::now();
    let expected = options.prepare(&sources, &targets)?;
    let on_cpu = began.elapsed().as_secs_f64();
    let on_device = gpu::MovingLeastSquares::from(options);
    let bvh = Bvh::build(&sources, device)?;
    let is_equal = on_device.prepare_on(&bvh, &targets)?.read()? == expected;
    println!("{name}: coefficients equal those of the CPU: {is_equal}");
    let build = least(&|| Ok(Bvh::build(&sources, device)?.wait()?))?;
    let whole = least(&|| Ok(on_device.prepare_on(&bvh, &targets)?.wait()?))?;
    let near = least(&|| Ok(bvh.nearest_all(&targets, 20)?.wait()?))?;
    let interpolator = on_device.prepare_on(&bvh, &targets)?;
    let field = DeviceVec::new(&(0..n).map(|i| (i % 1000) as f64).collect::<Vec<_>>(), device)?;
    let apply = least(&|| Ok(interpolator.apply(&field)?.wait()?))?;
    println!(
        "{name}, ms: upload of sources and tree {:.2}, coefficients {:.2}, including {:.2} for upload of targets and neighbours; one field {:.2}; tree and coefficients on the CPU {:.0}",
        1e3 * build,
        1e3 * whole,
        1e3 * near,
        1e3 * apply,
        1e3 * on_cpu
    );
    Ok(())
}

fn least(work: &dyn Fn() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..TURNS {
        let began = Instant::now();
        work()?;
        least = least.min(began.elapsed().as_secs_f64());
    }
    Ok(least)
}

fn cube<S: Coordinate>(n: usize, seed: u64) -> Vec<[S; 3]> {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        S::from_f64((state >> 11) as f64 / (1u64 << 53) as f64)
    };
    (0..n).map(|_| std::array::from_fn(|_| random())).collect()
}
