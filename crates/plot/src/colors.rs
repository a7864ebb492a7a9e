//! Colours: a continuous scale, and distinct colours for any number of categories.
//!
//! The scale is matplotlib's inferno (CC0), which is perceptually uniform and survives printing in grey.
//! Source of OKLab: Björn Ottosson 2020, <https://bottosson.github.io/posts/oklab>.

/// A colour, red first.
pub type Rgb = [u8; 3];

/// Equidistant colours of the scale; colours between them are interpolated.
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

/// Returns the colour at `t`, from 0 (dark) to 1 (light), clamped to that range.
pub fn inferno(t: f64) -> Rgb {
    let at = t.clamp(0.0, 1.0) * (STEPS.len() - 1) as f64;
    let low = (at as usize).min(STEPS.len() - 2);
    mix(STEPS[low], STEPS[low + 1], at - low as f64)
}

/// Interpolates linearly from `a` at 0 to `b` at 1.
pub fn mix(a: Rgb, b: Rgb, t: f64) -> Rgb {
    std::array::from_fn(|k| (f64::from(a[k]) + (f64::from(b[k]) - f64::from(a[k])) * t).round() as u8)
}

/// The colours of the first categories, distinct from each other, from grey and from white.
const KINDS: [Rgb; 10] = [
    [31, 119, 180],
    [230, 97, 1],
    [44, 150, 60],
    [200, 30, 50],
    [128, 82, 190],
    [20, 175, 190],
    [215, 70, 160],
    [140, 86, 50],
    [200, 160, 0],
    [60, 60, 130],
];

/// Returns the colour of category `i`. The first ten are chosen by hand. After these, the hue advances by the golden
/// angle, which keeps it away from the last few hues, and the lightness cycles.
pub fn category_color(i: usize) -> Rgb {
    if let Some(&color) = KINDS.get(i) {
        return color;
    }
    let turns = ((i - KINDS.len()) as f64 * 0.618_033_988_749_895).fract();
    let lightness = [0.62, 0.5, 0.72][i % 3];
    oklch(lightness, 0.15, turns * std::f64::consts::TAU)
}

/// Converts perceived lightness, chroma and hue to RGB; values outside the gamut are clamped.
fn oklch(lightness: f64, chroma: f64, hue: f64) -> Rgb {
    let (a, b) = (chroma * hue.cos(), chroma * hue.sin());
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548 * b).powi(3);
    let linear = [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701 * s,
    ];
    linear.map(|x| {
        let x = x.clamp(0.0, 1.0);
        let encoded = if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 };
        (255.0 * encoded).round() as u8
    })
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

    #[test]
    fn kinds_differ() {
        let far = |a: Rgb, b: Rgb| (0..3).map(|k| a[k].abs_diff(b[k]) as u32).sum::<u32>();
        for i in 0..60usize {
            assert!(
                far(category_color(i), [255; 3]) > 120 && far(category_color(i), [155; 3]) > 60,
                "{i}: {:?}",
                category_color(i)
            );
            for j in i.saturating_sub(5)..i {
                assert!(
                    far(category_color(i), category_color(j)) > 45,
                    "{i} {:?}, {j} {:?}",
                    category_color(i),
                    category_color(j)
                );
            }
        }
    }
}
