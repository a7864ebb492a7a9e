//! Interpolation of scattered data: the temperature measured at stations, with its gradient, and mass deposited on a
//! grid.
//!
//! `cargo run --release --example interpolate`

use ropewalk::interpolate::{Fallback, InverseDistance, MovingLeastSquares, SmoothingKernel, Sph};

/// Returns the position of a station, which is the same on every machine.
fn station(i: u32) -> [f64; 2] {
    [0.618_033_988_75, 0.754_877_666_25].map(|step| 10.0 * (f64::from(i) * step).fract())
}

fn temperature([x, y]: [f64; 2]) -> f64 {
    20.0 + 3.0 * (0.5 * x).sin() * (0.4 * y).cos()
}

fn main() -> ropewalk::Result<()> {
    let stations: Vec<[f64; 2]> = (1..=800).map(station).collect();
    let values: Vec<f64> = stations.iter().map(|&place| temperature(place)).collect();
    let places = [[5.0, 5.0], [2.5, 7.5], [40.0, 5.0]];

    // Fits parabolas to the neighbours within a radius. A place without neighbours gets the value of the fallback, by
    // default NaN.
    let fit = MovingLeastSquares::new(2).radius(1.5).with_gradients(true).fallback(Fallback::Nearest);
    let fit = fit.prepare(&stations, &places)?;
    let (fitted, gradients) = (fit.apply(&values)?, fit.gradient::<2>(&values)?);
    // A simpler and less smooth method.
    let weighted = InverseDistance::new(2.0).neighbors(12).prepare(&stations, &places)?.apply(&values)?;
    for (at, place) in places.into_iter().enumerate() {
        let ([dx, dy], truth) = (gradients[at], temperature(place));
        let (fitted, weighted, degree) = (fitted[at], weighted[at], fit.degrees()[at]);
        println!("{place:?}: {fitted:.3} (degree {degree}), {weighted:.2} by inverse distances, exact {truth:.3}");
        println!("  gradient ({dx:.2}, {dy:.2})");
    }
    println!("{} of {} places have no station within the radius", fit.n_without_neighbors(), fit.len());
    assert!((fitted[0] - temperature(places[0])).abs() < 0.01);

    // The mass of each station is distributed over the cells within its kernel, and the total is conserved.
    let cells: Vec<[f64; 2]> = (0..25).map(|i| [i % 5, i / 5].map(|k| 1.0 + 2.0 * f64::from(k))).collect();
    let cells = Sph::new(SmoothingKernel::CubicSpline).radius(2.0).scatter(&stations, &cells)?;
    let masses = cells.apply(&vec![0.5; stations.len()])?;
    println!("mass {:.3} in {} cells", masses.iter().sum::<f64>(), masses.len());
    assert!((masses.iter().sum::<f64>() - 400.0).abs() < 1e-9);
    Ok(())
}
