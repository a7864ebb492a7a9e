//! Parses a unit as a product of powers, such as `km s-1` or `10**10 solMass / littleh`.
//!
//! In: the spellings of FITS, VOUnit, CDS, astropy and yt, and informal ones. Out: the number in front, and the names
//! with their powers.
//! Cost: one pass over the text.
//! Source: section 4.3 of the FITS standard 4.0, section 2 of VOUnits 1.1, and section 3.2 of the Standards for
//! Astronomical Catalogues 2.0 (CDS).

const SUPERSCRIPTS: [char; 12] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹', '⁺', '⁻'];
const RAISED: [char; 12] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', '-'];
/// The names of the Hubble constant in units of 100 km/s/Mpc.
const H: [&str; 2] = ["h", "littleh"];

/// A number times powers of named units.
#[derive(Debug, PartialEq)]
pub(super) struct Product {
    /// The number, positive and finite.
    pub scale: f64,
    factors: Vec<(String, i32)>,
}

impl Product {
    /// Parses a unit. Returns `None` if the text is not a product of powers, or if it multiplies after a division, as
    /// `1/h Mpc` does, which is ambiguous.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = plain(text);
        let (scale, mut rest) = number(text.trim());
        let mut factors = vec![];
        let mut divides = false;
        loop {
            let end = rest.find(|letter: char| !letter.is_alphabetic() && letter != '_').unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            let (power, after) = power(after).filter(|_| !name.is_empty())?;
            factors.push((name.to_string(), if divides { -power } else { power }));
            if after.is_empty() {
                return (scale > 0.0 && scale < f64::INFINITY).then_some(Self { scale, factors });
            }
            let is_below = divides;
            (divides, rest) = mark(after)?;
            if is_below && !divides {
                return None;
            }
        }
    }

    /// Removes the factors with these names, and returns the sum of their powers.
    pub(super) fn take(&mut self, names: &[&str]) -> i32 {
        let is_named = |name: &str| names.contains(&name);
        let sum = self.factors.iter().filter(|(name, _)| is_named(name)).map(|(_, power)| power).sum();
        self.factors.retain(|(name, _)| !is_named(name));
        sum
    }

    /// Removes the Hubble constant. Returns `true` if the unit is in units of 1/h, `None` if h has another power than
    /// 0 or -1.
    pub(super) fn take_per_h(&mut self) -> Option<bool> {
        match self.take(&H) {
            0 => Some(false),
            -1 => Some(true),
            _ => None,
        }
    }

    /// Returns the name of the only factor, if its power is 1.
    pub(super) fn only(&self) -> Option<&str> {
        match &self.factors[..] {
            [(name, 1)] => Some(name),
            _ => None,
        }
    }
}

/// Replaces superscripts, the symbol of the Sun and multiplication signs by ASCII characters.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut was_raised = false;
    for letter in text.chars() {
        let raised = SUPERSCRIPTS.iter().position(|&other| other == letter).map(|place| RAISED[place]);
        if raised.is_some() && !was_raised {
            plain.push('^');
        }
        was_raised = raised.is_some();
        match letter {
            '☉' | '⊙' => plain.push_str("_sun"),
            '×' => plain.push('x'),
            '·' | '⋅' => plain.push('*'),
            '−' => plain.push('-'),
            _ => plain.push(raised.unwrap_or(letter)),
        }
    }
    plain
}

/// Splits a text into the number at its start, 1 if there is no number, and the remaining text. Powers of ten are
/// written `1e10`, `10**10`, `10^10`, `10+10`, or as one of the latter after a number and `*` or `x`.
fn number(text: &str) -> (f64, &str) {
    // The longest prefix that is a number: the `e` of `1e10` belongs to it.
    let end = (1..=text.len()).rev().find(|&end| {
        text.get(..end).is_some_and(|start| {
            start.ends_with(|c: char| c.is_ascii_digit() || c == '.') && start.parse::<f64>().is_ok()
        })
    });
    let Some((digits, rest)) = end.map(|end| text.split_at(end)) else { return (1.0, text) };
    let (mantissa, after_ten) = match digits {
        "10" => ("1", Some(rest)),
        _ => {
            let factor = rest.trim_start().strip_prefix(['*', 'x']);
            (digits, factor.and_then(|factor| factor.trim_start().strip_prefix("10")))
        }
    };
    let is_power = |rest: &&str| rest.starts_with(['^', '+', '-']) || rest.starts_with("**");
    let (value, rest) = match after_ten.filter(is_power).and_then(power) {
        Some((power, rest)) => (format!("{mantissa}e{power}").parse(), rest),
        None => (digits.parse(), rest),
    };
    (value.unwrap_or(f64::NAN), rest.trim_start_matches(['*', '.', ' ']))
}

/// Splits a text into the power at its start, 1 if there is no power, and the remaining text. Powers are written
/// `-1`, `**-1`, `^-1`, with optional parentheses or braces. Returns `None` if a power sign is not followed by a
/// number.
fn power(text: &str) -> Option<(i32, &str)> {
    let marked = text.strip_prefix("**").or_else(|| text.strip_prefix('^'));
    let rest = marked.unwrap_or(text);
    let closing = match rest.chars().next() {
        Some('(') => ")",
        Some('{') => "}",
        _ => "",
    };
    let inner = &rest[closing.len()..];
    let sign = usize::from(inner.starts_with(['+', '-']));
    let digits = inner[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return marked.is_none().then_some((1, text));
    }
    let power: i16 = inner[..sign + digits].parse().ok()?;
    Some((power.into(), inner[sign + digits..].strip_prefix(closing)?))
}

/// Splits the separator off the start of a text: a space, `*`, `.` or `/`. Returns `true` for a division, and the
/// remaining text.
fn mark(text: &str) -> Option<(bool, &str)> {
    let bare = text.trim_start();
    match bare.strip_prefix('/') {
        Some(rest) => Some((true, rest.trim_start())),
        None => match bare.strip_prefix(['*', '.']) {
            Some(rest) => Some((false, rest.trim_start())),
            None => (bare.len() < text.len()).then_some((false, bare)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_before_names() {
        for (text, value, name) in [
            ("1e10 Msun", 1e10, "Msun"),
            ("1.989e43g", 1.989e43, "g"),
            ("Mpc", 1.0, "Mpc"),
            ("10*kpc", 10.0, "kpc"),
            ("3 erg", 3.0, "erg"),
            ("10**10 solMass", 1e10, "solMass"),
            ("10^(-3) Mpc", 1e-3, "Mpc"),
            ("10+10solMass", 1e10, "solMass"),
            ("10-3Mpc", 1e-3, "Mpc"),
            ("1.989x10+43g", 1.989e43, "g"),
            ("1.989 * 10^43 g", 1.989e43, "g"),
            ("1e+10solMass", 1e10, "solMass"),
            ("2.5.km", 2.5, "km"),
        ] {
            assert_eq!(number(text), (value, name), "{text}");
        }
    }

    #[test]
    fn powers_and_marks() {
        let same = Product { scale: 1.0, factors: vec![("km".into(), 1), ("s".into(), -1)] };
        for text in [
            "km/s",
            "km / s",
            "km s-1",
            "km.s-1",
            "km s**-1",
            "km*s^-1",
            "km s^(-1)",
            "km s^{-1}",
            "km.s**(-1)",
            "km s(-1)",
            "km s⁻¹",
            "km·s−1",
            "km1 s-1",
            "1 km s-1",
        ] {
            assert_eq!(Product::parse(text).as_ref(), Some(&same), "{text}");
        }
        for text in [
            "",
            "1e10",
            "km s^",
            "km s**",
            "km s^(-1",
            "km (s)",
            "km-s",
            "1/h Mpc",
            "km/s Mpc",
            "/s",
            "km//s",
            "km s-1.5",
            "*",
            "km s-99999",
            "1e5*10^3 km",
            "-1 km",
            "km, s",
            "0 km",
            "1e999 km",
        ] {
            assert_eq!(Product::parse(text), None, "{text}");
        }
    }
}
