//! Errors about units.

use crate::error::{Error, ErrorKind};

/// A name that is not a unit. `known` lists the valid names.
pub(super) fn unknown_unit(what: &'static str, text: &str, known: &'static str) -> Error {
    Error::new(ErrorKind::Parameter, format!("unknown {what} `{text}`; use {known}"))
}

/// A unit that depends on the Hubble constant, which is unknown.
pub(super) fn needs_h(unit: &str) -> Error {
    Error::new(ErrorKind::Parameter, format!("{unit} needs the Hubble constant h, which is unknown; specify h"))
}

/// Two different sets of units that both fit.
pub(super) fn ambiguous(first: impl std::fmt::Display, second: impl std::fmt::Display) -> Error {
    let sentence = format!("ambiguous units: {first} and {second} both fit the mean matter density; specify the units");
    Error::new(ErrorKind::Parameter, sentence)
}

/// No units fit. `ratio` is the mass of the particles over the mass expected in the box, both in `units`.
pub(super) fn no_units(ratio: f64, units: &str, omega_m: f64) -> Error {
    let sentence = format!(
        "no common units fit the mean matter density: in {units} the particles have {} the mass expected for this box with omega_m = \
         {omega_m}; check the side of the box and the masses, or specify the units",
        share(ratio)
    );
    Error::new(ErrorKind::Parameter, sentence)
}

/// Formats a ratio: "1/8 of" if a simple fraction is within one per cent, otherwise a number and "times".
fn share(ratio: f64) -> String {
    let parts = ratio.recip();
    match parts.round() {
        whole if (2.0..=1000.0).contains(&whole) && (parts / whole - 1.0).abs() < 0.01 => format!("1/{whole} of"),
        _ if (0.001..1e6).contains(&ratio) => format!("{ratio:.3} times"),
        _ => format!("{ratio:.2e} times"),
    }
}
