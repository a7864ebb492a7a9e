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

/// The colours of the first categories, distinct from each other, from the grey of noise and from white, also for
/// people with protanopia, deuteranopia or tritanopia. The first six are from Okabe and Ito 2008.
const KINDS: [Rgb; 12] = [
    [0, 114, 178],
    [230, 159, 0],
    [0, 158, 115],
    [213, 94, 0],
    [86, 180, 233],
    [204, 121, 167],
    [0, 0, 0],
    [90, 45, 0],
    [45, 0, 150],
    [180, 180, 105],
    [75, 45, 90],
    [150, 0, 225],
];

/// Returns the colour of category `i`. The first twelve are chosen by hand. After these, the hue advances by the golden
/// angle, which keeps it away from the last few hues, and the lightness cycles.
pub fn category_color(i: usize) -> Rgb {
    if let Some(&color) = KINDS.get(i) {
        return color;
    }
    let turns = ((i - KINDS.len()) as f64 * 0.618_033_988_749_895).fract();
    let lightness = [0.62, 0.5, 0.72][i % 3];
    oklch(lightness, 0.15, turns * std::f64::consts::TAU)
}

/// Returns `true` if white text is more legible on a colour than black text. Source: WCAG 2.2, relative luminance.
pub fn is_dark(color: Rgb) -> bool {
    let [red, green, blue] = color.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179
}

/// Converts a component of sRGB to one that is proportional to the amount of light.
fn linear(part: u8) -> f64 {
    let part = f64::from(part) / 255.0;
    if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
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

    /// Returns CIELAB coordinates of a colour as people see it whose cones a matrix describes.
    fn seen(color: Rgb, cones: [[f64; 3]; 3]) -> [f64; 3] {
        let times = |matrix: [[f64; 3]; 3], at: [f64; 3]| matrix.map(|row| (0..3).map(|k| row[k] * at[k]).sum::<f64>());
        let light = times(cones, color.map(linear)).map(|x| x.clamp(0.0, 1.0));
        let to_xyz = [
            [0.412_456_4, 0.357_576_1, 0.180_437_5],
            [0.212_672_9, 0.715_152_2, 0.072_175],
            [0.019_333_9, 0.119_192, 0.950_304_1],
        ];
        let white = times(to_xyz, [1.0; 3]);
        let xyz = times(to_xyz, light);
        let [x, y, z] = [0, 1, 2].map(|k| xyz[k] / white[k]).map(|t: f64| match t > 0.008_856 {
            true => t.cbrt(),
            false => 7.787 * t + 16.0 / 116.0,
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// Source of the matrices: Machado, Oliveira and Fernandes 2009, table 1, severity 1.
    #[test]
    fn the_first_kinds_differ_for_everybody() {
        let cones = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
            [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
            [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
        ];
        let all: Vec<Rgb> =
            (0..KINDS.len()).map(category_color).chain([crate::cluster_legend::NOISE, [255; 3]]).collect();
        for cones in cones {
            for (i, &a) in all.iter().enumerate() {
                for &b in &all[..i] {
                    let ([l, m, n], [p, q, r]) = (seen(a, cones), seen(b, cones));
                    let distance = ((l - p).powi(2) + (m - q).powi(2) + (n - r).powi(2)).sqrt();
                    assert!(distance > 15.0, "{a:?}, {b:?}: {distance}");
                }
            }
        }
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
