//! Where axes have ticks, and what is written there.

/// The powers of ten within `lo..=hi`, both given as logarithms.
pub fn decades(lo: f64, hi: f64) -> Vec<i32> {
    // Data lie within 1e±308 or so; the limits keep an axis finite whatever it is given.
    ((lo.max(-400.0) - 1e-9).ceil() as i32..=(hi.min(400.0) + 1e-9).floor() as i32).collect()
}

/// The logarithms of 2, 3, .. 9 times the powers of ten within `lo..=hi`.
pub fn between_decades(lo: f64, hi: f64) -> Vec<f64> {
    decades(lo - 1.0, hi)
        .into_iter()
        .flat_map(|power| (2..10).map(move |digit| f64::from(power) + f64::from(digit).log10()))
        .filter(|at| (lo..=hi).contains(at))
        .collect()
}

/// Round values within `lo..=hi`, at most some nine of them, with their labels.
pub fn round_values(lo: f64, hi: f64) -> Vec<(f64, String)> {
    let rough = (hi - lo) / 7.0;
    let power = rough.log10().floor();
    let Some(step) =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * 10f64.powf(power)).find(|&step| step >= rough)
    else {
        return Vec::new();
    };
    let first = (lo / step - 1e-9).ceil();
    let decimals = (-step.log10() - 1e-9).ceil().clamp(0.0, 12.0) as usize;
    (0..10)
        .map(|i| (first + f64::from(i)) * step)
        .take_while(|&at| at <= hi + 1e-9 * step)
        .map(|at| {
            // Not a minus sign before a zero.
            let at = if at == 0.0 { 0.0 } else { at };
            let label = if at.abs() < 1e7 { format!("{at:.decimals$}") } else { format!("{at:.3e}") };
            (at, label.replace('-', "\u{2212}"))
        })
        .collect()
}

/// Values for a logarithmic axis within `lo..=hi`, both positive and given as they are, with their labels: powers of ten, with
/// 2 and 5 times them where there are few; round numbers where even these are too few.
pub fn logarithmic_values(lo: f64, hi: f64) -> Vec<(f64, String)> {
    let (from, to) = (lo.log10(), hi.log10());
    let step = ((to - from) / 8.0).ceil().max(1.0) as i32;
    let label = |value: f64, power: i32| {
        if (-4..=5).contains(&power) {
            format!("{value:.*}", usize::try_from(-power).unwrap_or(0))
        } else {
            power_of_ten(power)
        }
    };
    let values = |digits: &[f64]| -> Vec<(f64, String)> {
        decades(from - 1.0, to)
            .into_iter()
            .filter(|power| power % step == 0)
            .flat_map(|power| digits.iter().map(move |digit| (digit * 10f64.powi(power), power)))
            .filter(|(value, _)| (lo..=hi).contains(value))
            .map(|(value, power)| (value, label(value, power)))
            .collect()
    };
    if to - from < 0.8 {
        return round_values(lo, hi);
    }
    // A label of 2 or 5 times a power would need more than `power_of_ten` can write.
    let plain = from > -4.0 && to < 5.0;
    if plain && to - from < 3.0 { values(&[1.0, 2.0, 5.0]) } else { values(&[1.0]) }
}

/// A number with a comma before every three digits.
pub fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `10` with a raised exponent, in Unicode.
pub fn power_of_ten(power: i32) -> String {
    let raised = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '0' => '⁰',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        _ => '⁹',
    };
    match power {
        0 => "1".into(),
        1 => "10".into(),
        _ => format!("10{}", power.to_string().chars().map(raised).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(lo: f64, hi: f64) -> Vec<String> {
        round_values(lo, hi).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn round_values_are_round() {
        assert_eq!(labels(0.0, 32.0), ["0", "5", "10", "15", "20", "25", "30"]);
        assert_eq!(labels(-0.31, 0.7), ["\u{2212}0.2", "0.0", "0.2", "0.4", "0.6"]);
        assert_eq!(labels(1e8, 3e8), ["1.000e8", "1.500e8", "2.000e8", "2.500e8", "3.000e8"]);
        for broken in [labels(1.0, 1.0), labels(f64::NAN, 1.0), labels(0.0, f64::INFINITY)] {
            assert!(broken.len() <= 10);
        }
    }

    #[test]
    fn logarithmic_axes_have_some_labels() {
        let labels = |lo, hi| logarithmic_values(lo, hi).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(labels(0.015, 0.6), ["0.02", "0.05", "0.1", "0.2", "0.5"]);
        assert_eq!(labels(0.9, 1100.0), ["1", "10", "100", "1000"]);
        assert_eq!(labels(1.0, 1.3).len(), 7);
        assert_eq!(labels(0.5e-9, 2e-8), ["10⁻⁹", "10⁻⁸"]);
        assert!((2..10).contains(&labels(1e-150, 1e150).len()));
    }

    #[test]
    fn decades_are_inside() {
        assert_eq!(decades(-1.2, 2.0), [-1, 0, 1, 2]);
        assert_eq!(between_decades(0.5, 1.1).len(), 6);
        assert_eq!([-12, 0, 1, 3].map(power_of_ten), ["10⁻¹²", "1", "10", "10³"]);
    }
}
