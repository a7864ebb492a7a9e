//! Positions and labels of axis ticks, chosen so that labels do not overlap.
//!
//! In: the ends of an axis, the positions of its values, and the font size. Out: values with labels. If labels are
//! not the values themselves, a note states the conversion: a power of ten to multiply with, a number to add.

use crate::font::width;

/// The number of digits before the decimal point from which on a power of ten is separated.
const DIGITS: i32 = 5;
/// Combinations to try, best first: the number of labels, and the number of digits that labels may have without a
/// note.
const TRIES: [(f64, i32); 10] =
    [(7.0, 5), (5.0, 5), (4.0, 5), (3.0, 5), (7.0, 3), (5.0, 3), (4.0, 3), (3.0, 3), (2.0, 3), (1.0, 3)];

/// The side of a plot on which labels are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    Below,
    Left,
}

/// The space for labels: side, font size, and maximum width.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub side: Side,
    pub size: f64,
    pub widest: f64,
    /// `true` to label logarithmic axes by powers of ten even where plain numbers are short.
    pub powers: bool,
}

impl Room {
    /// Creates the space beside a plot for labels of a font size.
    pub fn new(side: Side, size: f64) -> Self {
        Self { side, size, widest: 3.8 * size, powers: false }
    }

    /// Returns `true` if labels at these values do not overlap.
    fn fits(&self, ticks: &[(f64, String)], at: &dyn Fn(f64) -> f64) -> bool {
        let mut taken: Vec<[f64; 2]> = Vec::with_capacity(ticks.len());
        for (value, label) in ticks {
            let (place, wide) = (at(*value), width(label, self.size));
            let half = match self.side {
                Side::Below => 0.5 * wide + 0.3 * self.size,
                Side::Left if wide > self.widest => return false,
                Side::Left => 0.6 * self.size,
            };
            taken.push([place - half, place + half]);
        }
        taken.sort_by(|a, b| a[0].total_cmp(&b[0]));
        taken.windows(2).all(|pair| pair[0][1] <= pair[1][0])
    }
}

/// Values and their labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ticks {
    pub marks: Vec<(f64, String)>,
    /// The conversion from labels to values, such as `× 10⁸ + 1000`; empty if labels are the values.
    pub note: String,
}

impl Ticks {
    /// Returns the name of an axis, with the note.
    pub fn named(&self, name: &str) -> String {
        if self.note.is_empty() { name.into() } else { format!("{name}  (number {})", self.note) }
    }
}

/// Returns ticks at round values of a linear axis.
pub fn linear([lo, hi]: [f64; 2], at: &dyn Fn(f64) -> f64, room: Room) -> Ticks {
    let mut last = Ticks::default();
    for (count, digits) in TRIES {
        let Some(step) = round_step((hi - lo) / count) else { break };
        let ticks = labelled(multiples(lo, hi, step), step, digits);
        if ticks.marks.is_empty() {
            continue;
        }
        last = ticks;
        if room.fits(&last.marks, at) {
            return last;
        }
    }
    last.marks.truncate(1);
    last
}

/// Returns the smallest of 1, 2, 5 times a power of ten that is at least `rough`.
fn round_step(rough: f64) -> Option<f64> {
    let power = rough.log10().floor();
    if !power.is_finite() {
        return None;
    }
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * 10f64.powf(power)).find(|&step| step >= rough)
}

/// Returns the multiples of a step in `lo..=hi`. Duplicates, from steps below the precision of the values, are
/// removed.
fn multiples(lo: f64, hi: f64, step: f64) -> Vec<f64> {
    let first = (lo / step - 1e-9).ceil();
    let mut values: Vec<f64> = (0..10)
        .map(|i| (first + f64::from(i)) * step)
        .take_while(|&at| at <= hi + 1e-9 * step)
        // Avoids a minus sign before zero.
        .map(|at| if at == 0.0 { 0.0 } else { at })
        .collect();
    values.dedup();
    values
}

/// Returns the power of ten of the first digit.
fn magnitude(x: f64) -> i32 {
    // A step of 0.1 is not represented exactly.
    (x.log10() + 1e-9).floor().clamp(-400.0, 400.0) as i32
}

fn labelled(values: Vec<f64>, step: f64, digits: i32) -> Ticks {
    let largest = |values: &[f64]| values.iter().fold(step, |most, x| most.max(x.abs()));
    let fine = magnitude(step);
    let mut short = values.clone();
    let mut note = String::new();
    let mut offset = String::new();
    if magnitude(largest(&values)) - fine >= digits {
        // The offset: the leading digits that all values share.
        let span = (values.last().copied().unwrap_or(0.0) - values.first().copied().unwrap_or(0.0)).max(step);
        let coarse = magnitude(span) + 1;
        let unit = 10f64.powi(coarse.abs());
        let down = |x: f64| if coarse < 0 { (x * unit).floor() / unit } else { (x / unit).floor() * unit };
        let base = values.first().map_or(0.0, |&first| down(first + 0.5 * step));
        short = values.iter().map(|x| ((x - base) / step).round() * step).collect();
        let sign = if base < 0.0 { '\u{2212}' } else { '+' };
        offset = format!("{sign} {}", plain(base.abs(), -coarse));
    }
    let power = magnitude(largest(&short));
    let mut decimals = -fine;
    // Leading zeros after the decimal point are replaced by a power of ten.
    if !(-3..digits).contains(&power) || (power < 0 && decimals > 3) {
        short.iter_mut().for_each(|x| *x = times_ten_to(*x, -power));
        decimals = power - fine;
        note = format!("× {}", power_of_ten(power));
    }
    let decimals = decimals.clamp(0, 17) as usize;
    let label = |x: &f64| format!("{:.decimals$}", if *x == 0.0 { 0.0 } else { *x }).replace('-', "\u{2212}");
    let labels: Vec<String> = short.iter().map(label).collect();
    let note = [note, offset].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    Ticks { marks: values.into_iter().zip(labels).collect(), note }
}

/// Formats `x` with `decimals` decimals, or with an exponent if it is large.
fn plain(x: f64, decimals: i32) -> String {
    if x < 1e7 {
        return format!("{x:.*}", decimals.clamp(0, 300) as usize);
    }
    let text = format!("{x:e}");
    match text.split_once('e') {
        Some((digits, power)) => format!("{digits} × {}", power_of_ten(power.parse().unwrap_or(0))),
        None => text,
    }
}

/// Multiplies by a power of ten in two steps, since the power itself may be out of range.
fn times_ten_to(x: f64, power: i32) -> f64 {
    let half = power / 2;
    x * 10f64.powi(half) * 10f64.powi(power - half)
}

/// Returns ticks of a logarithmic axis from `lo` to `hi`, both positive. These are powers of ten, with 2 and 5 times
/// these if there are few, or round values if there are still too few.
pub fn logarithmic([lo, hi]: [f64; 2], at: &dyn Fn(f64) -> f64, room: Room) -> Ticks {
    let (from, to) = (lo.log10(), hi.log10());
    let values = |step: i32, digits: &[f64]| -> Vec<(f64, String)> {
        let all: Vec<(f64, i32, f64)> = decades(from - 1.0, to)
            .into_iter()
            .filter(|power| power % step == 0)
            .flat_map(|power| digits.iter().map(move |&digit| (times_ten_to(digit, power), power, digit)))
            .filter(|(value, ..)| (lo..=hi).contains(value))
            .collect();
        // All labels of an axis are of one kind.
        let is_plain = !room.powers && all.iter().all(|&(_, power, _)| (-3..DIGITS).contains(&power));
        all.into_iter().map(|(value, power, digit)| (value, digit_and_power(digit, power, is_plain))).collect()
    };
    let plain = from > -4.0 && to < 5.0;
    let span = to - from;
    let first = ((span / 8.0).ceil().clamp(1.0, 400.0)) as i32;
    let mut tries = vec![];
    if !room.powers && span >= 0.8 && span < if plain { 3.0 } else { 1.5 } {
        tries.push(values(1, &[1.0, 2.0, 5.0]));
        tries.push(values(1, &[1.0, 3.0]));
    }
    if room.powers {
        tries.push(values(1, &[1.0]));
        tries.push(values(1, &[1.0, 3.0]));
    }
    if span >= 0.8 {
        tries.extend((first..first + 4).map(|step| values(step, &[1.0])));
    }
    match tries.into_iter().find(|marks| marks.len() > 1 && room.fits(marks, at)) {
        Some(marks) => Ticks { marks, note: String::new() },
        None => linear([lo, hi], at, room),
    }
}

/// Returns the powers of ten within `lo..=hi`, which are given as logarithms.
fn decades(lo: f64, hi: f64) -> Vec<i32> {
    // Data lie within about 1e±308; the limits keep the result finite for any input.
    ((lo.max(-400.0) - 1e-9).ceil() as i32..=(hi.min(400.0) + 1e-9).floor() as i32).collect()
}

/// Returns 2, 3, .. 9 times the powers of ten within `lo..=hi`; empty for more than 12 decades.
pub fn between_decades([lo, hi]: [f64; 2]) -> Vec<f64> {
    let (from, to) = (lo.log10(), hi.log10());
    if to - from > 12.0 {
        return vec![];
    }
    decades(from - 1.0, to)
        .into_iter()
        .flat_map(|power| (2..10).map(move |digit| times_ten_to(digit.into(), power)))
        .filter(|at| (lo..=hi).contains(at))
        .collect()
}

/// Returns a round length of at most half of `whole`, with its label.
pub fn round_length(whole: f64) -> Option<(f64, String)> {
    let step = round_step(whole / 7.0)?;
    let Ticks { marks, note } = labelled(vec![step], step, DIGITS);
    let (length, label) = marks.into_iter().next()?;
    Some((length, if note.is_empty() { label } else { format!("{label} {note}") }))
}

/// Formats a digit times a power of ten: `0.02` or `500` if plain, otherwise `10⁻⁹` or `2×10¹²`.
fn digit_and_power(digit: f64, power: i32, is_plain: bool) -> String {
    if is_plain {
        return format!("{:.*}", usize::try_from(-power).unwrap_or(0), times_ten_to(digit, power));
    }
    if digit == 1.0 { power_of_ten(power) } else { format!("{digit}×{}", power_of_ten(power)) }
}

/// Formats a power of ten with a Unicode superscript.
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

    /// Returns the ticks of an axis that is 800 units long, and its scale.
    fn on_axis(ends: [f64; 2], side: Side, is_logarithmic: bool) -> (Ticks, impl Fn(f64) -> f64) {
        let at = move |value: f64| {
            let of = |x: f64| if is_logarithmic { x.log10() } else { x };
            800.0 * (of(value) - of(ends[0])) / (of(ends[1]) - of(ends[0]))
        };
        let room = Room::new(side, 20.0);
        (if is_logarithmic { logarithmic(ends, &at, room) } else { linear(ends, &at, room) }, at)
    }

    fn labels(lo: f64, hi: f64) -> (Vec<String>, String) {
        let ticks = on_axis([lo, hi], Side::Below, false).0;
        (ticks.marks.into_iter().map(|(_, label)| label).collect(), ticks.note)
    }

    #[test]
    fn round_values_are_round() {
        assert_eq!(labels(0.0, 32.0).0, ["0", "5", "10", "15", "20", "25", "30"]);
        assert_eq!(labels(-0.31, 0.7).0, ["\u{2212}0.2", "0.0", "0.2", "0.4", "0.6"]);
        assert_eq!(labels(1e8, 3e8), (["1.0", "1.5", "2.0", "2.5", "3.0"].map(String::from).to_vec(), "× 10⁸".into()));
        assert_eq!(labels(0.0, 5e-9).1, "× 10⁻⁹");
        let narrow = ["0.010", "0.012", "0.014", "0.016", "0.018", "0.020"].map(String::from).to_vec();
        assert_eq!(labels(1000.01, 1000.02), (narrow, "+ 1000.0".into()));
        assert_eq!(labels(-2000.02, -2000.01).1, "\u{2212} 2000.1");
        assert_eq!(labels(1e16, 1e16 + 40.0).1, "+ 1 × 10¹⁶");
        for broken in [labels(1.0, 1.0), labels(f64::NAN, 1.0), labels(0.0, f64::INFINITY)] {
            assert!(broken.0.len() <= 10);
        }
    }

    #[test]
    fn logarithmic_axes_have_some_labels() {
        let labels = |lo, hi| {
            let ticks = on_axis([lo, hi], Side::Below, true).0;
            ticks.marks.into_iter().map(|(_, label)| label).collect::<Vec<_>>()
        };
        assert_eq!(labels(0.015, 0.6), ["0.02", "0.05", "0.1", "0.2", "0.5"]);
        assert_eq!(labels(0.9, 1100.0), ["1", "10", "100", "1000"]);
        assert_eq!(labels(1.0, 1.3).len(), 7);
        assert_eq!(labels(0.5e-9, 2e-8), ["10⁻⁹", "10⁻⁸"]);
        assert_eq!(labels(1.1e8, 9e8), ["2×10⁸", "5×10⁸"]);
        // Not 10⁻⁴, 0.001, 0.01.
        assert_eq!(labels(0.9e-4, 0.02), ["10⁻⁴", "10⁻³", "10⁻²"]);
        let room = Room { powers: true, ..Room::new(Side::Below, 20.0) };
        let marks = logarithmic([0.9, 110.0], &|value: f64| 400.0 * value.log10(), room).marks;
        assert_eq!(marks.into_iter().map(|(_, label)| label).collect::<Vec<_>>(), ["1", "10", "10²"]);
        assert!((2..10).contains(&labels(1e-150, 1e150).len()));
    }

    /// Random ranges from 1e-3 to 1e16 of both signs and of all widths, down to the last digits of a number. Labels
    /// must not overlap, must differ from each other, and must give the values together with the note.
    #[test]
    fn labels_never_meet() {
        let mut state = 7u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for i in 0..6000 {
            let size = 10f64.powf(-3.0 + 19.0 * unit());
            let sign = if i % 3 == 0 { -1.0 } else { 1.0 };
            let lo = sign * size;
            let hi = lo + size * 10f64.powf(-12.0 * unit() + if i % 5 == 0 { 12.0 * unit() } else { 1.0 });
            let side = if i % 2 == 0 { Side::Below } else { Side::Left };
            for is_logarithmic in [false, true] {
                if is_logarithmic && lo <= 0.0 {
                    continue;
                }
                let (ticks, at) = on_axis([lo, hi], side, is_logarithmic);
                let what = || format!("{lo:e} to {hi:e} {side:?} {is_logarithmic}: {ticks:?}");
                assert!(!ticks.marks.is_empty(), "{}", what());
                // Bounding boxes of all labels: left, right, top, bottom.
                let boxes: Vec<[f64; 4]> = ticks
                    .marks
                    .iter()
                    .map(|(value, label)| {
                        let (place, wide) = (at(*value), width(label, 20.0));
                        match side {
                            Side::Below => [place - 0.5 * wide, place + 0.5 * wide, 0.0, 20.0],
                            Side::Left => [-wide, 0.0, place - 10.0, place + 10.0],
                        }
                    })
                    .collect();
                for (j, a) in boxes.iter().enumerate() {
                    assert!(side == Side::Below || a[1] - a[0] < 80.0, "{}", what());
                    for b in &boxes[..j] {
                        assert!(a[1] < b[0] || b[1] < a[0] || a[3] < b[2] || b[3] < a[2], "{}", what());
                    }
                }
                for (value, label) in &ticks.marks {
                    let read = read(label, &ticks.note);
                    let near = 1e-9 * (hi - lo).max(1e-6 * value.abs()) + 4.0 * f64::EPSILON * value.abs();
                    assert!((read - value).abs() <= near, "{read:e} is not {value:e}: {}", what());
                }
            }
        }
    }

    /// Reads a label as a person does.
    fn read(label: &str, note: &str) -> f64 {
        let number = |text: &str| -> f64 {
            let digits = |text: &str| -> String {
                text.chars()
                    .map(|c| "⁰¹²³⁴⁵⁶⁷⁸⁹⁻".chars().zip("0123456789-".chars()).find(|p| p.0 == c).map_or(c, |p| p.1))
                    .collect()
            };
            let text = text.replace('\u{2212}', "-").replace(' ', "");
            let (factor, power) = text.split_once('×').unwrap_or(("1", &text));
            let is_power = power.strip_prefix("10").filter(|rest| rest.chars().all(|c| !c.is_ascii()));
            let power = match is_power {
                Some("") => "10".into(),
                Some(rest) => format!("1e{}", digits(rest)),
                None => power.into(),
            };
            // Parsed as one number, so that it is rounded once.
            match power.strip_prefix("1e") {
                Some(exponent) => format!("{factor}e{exponent}").parse().unwrap(),
                None => factor.parse::<f64>().unwrap() * power.parse::<f64>().unwrap(),
            }
        };
        let split = note.find(['+', '\u{2212}']);
        let (factor, offset) = note.split_at(split.unwrap_or(note.len()));
        let factor = factor.trim().strip_prefix('×').map_or(1.0, number);
        let offset = if offset.is_empty() { 0.0 } else { number(offset.trim_start_matches('+')) };
        number(label) * factor + offset
    }

    #[test]
    fn decades_are_inside() {
        assert_eq!(decades(-1.2, 2.0), [-1, 0, 1, 2]);
        assert_eq!(between_decades([3.2, 12.0]).len(), 6);
        assert_eq!([-12, 0, 1, 3].map(power_of_ten), ["10⁻¹²", "1", "10", "10³"]);
        assert_eq!(round_length(1.0).unwrap(), (0.2, "0.2".into()));
    }
}
