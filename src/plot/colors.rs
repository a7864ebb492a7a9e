//! The colour scale: matplotlib's inferno (CC0), which is perceptually uniform and survives printing in grey.

/// A colour, red first.
pub type Rgb = [u8; 3];

/// Equal steps of the scale; between them is interpolated.
const STEPS: [Rgb; 17] = [
    [0, 0, 4],
    [11, 7, 36],
    [33, 12, 74],
    [61, 9, 101],
    [87, 16, 110],
    [113, 25, 110],
    [138, 34, 106],
    [163, 44, 97],
    [188, 55, 84],
    [208, 69, 69],
    [227, 89, 51],
    [241, 113, 31],
    [249, 140, 10],
    [252, 170, 15],
    [249, 201, 50],
    [242, 232, 101],
    [252, 255, 164],
];

/// The colour at `t`, 0 (dark) to 1 (light); what lies beyond takes the ends.
pub fn inferno(t: f64) -> Rgb {
    let at = t.clamp(0.0, 1.0) * (STEPS.len() - 1) as f64;
    let low = (at as usize).min(STEPS.len() - 2);
    mix(STEPS[low], STEPS[low + 1], at - low as f64)
}

/// From `a` at 0 to `b` at 1.
pub fn mix(a: Rgb, b: Rgb, t: f64) -> Rgb {
    std::array::from_fn(|k| (f64::from(a[k]) + (f64::from(b[k]) - f64::from(a[k])) * t).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_beyond() {
        assert_eq!((inferno(-1.0), inferno(0.0)), (STEPS[0], STEPS[0]));
        assert_eq!((inferno(1.0), inferno(f64::INFINITY)), (STEPS[16], STEPS[16]));
        assert_eq!(inferno(1.5 / 16.0), [22, 10, 55]);
    }
}
