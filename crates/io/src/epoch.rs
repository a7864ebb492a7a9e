//! When a snapshot of Gadget's kind is, and whether its run is in comoving coordinates.
//!
//! In: what a header says of time. Out: the scale factor where velocities are over its root, the redshift, and what is in doubt.
//! Source: Springel, Users guide for GADGET-2, section 6.3, which AREPO, GIZMO and GADGET-4 follow: `Time` is the scale factor in
//! comoving runs and the time in others; `Redshift` is `1/a - 1` in comoving runs, and 0 in others.

/// What a header says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said {
    /// Whether the run is comoving, where the header has a word for it.
    pub is_comoving: Option<bool>,
    /// The scale factor by name.
    pub scale_factor: Option<f64>,
    pub time: Option<f64>,
    pub redshift: Option<f64>,
    /// Whether it has a density of matter.
    pub has_matter: bool,
}

/// What follows from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Epoch {
    /// Of a run in comoving coordinates.
    pub scale_factor: Option<f64>,
    pub redshift: Option<f64>,
    pub doubt: Option<Doubt>,
}

/// What a header does not settle.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Doubt {
    /// What it says cannot all be.
    Conflict(String),
    /// What is taken for so.
    Assumed(String),
}

/// Whether a scale factor and a redshift are one. A redshift other than 0 is of a comoving run, whatever digits a header has.
fn agree(scale_factor: f64, redshift: f64) -> bool {
    let most = if redshift == 0.0 { 1e-4 } else { 1e-2 };
    scale_factor > 0.0 && (scale_factor * (1.0 + redshift) - 1.0).abs() < most
}

impl Epoch {
    pub(super) fn of(said: &Said) -> Self {
        let none = |redshift| Self { redshift, ..Self::default() };
        let comoving = |a: f64, redshift: Option<f64>| Self {
            scale_factor: Some(a),
            redshift: Some(redshift.unwrap_or(1.0 / a - 1.0)),
            doubt: None,
        };
        let conflict = |redshift, text| Self { doubt: Some(Doubt::Conflict(text)), ..none(redshift) };
        let positive = |a: &f64| *a > 0.0 && *a < f64::INFINITY;
        if said.is_comoving == Some(false) {
            return none(said.redshift);
        }
        let must = said.is_comoving == Some(true);
        if let Some(a) = said.scale_factor.filter(positive) {
            return match said.redshift {
                Some(z) if !agree(a, z) => conflict(Some(z), apart("scale factor", a, z)),
                own => comoving(a, own),
            };
        }
        match (said.time.filter(|time| time.is_finite()), said.redshift) {
            (Some(a), Some(z)) if agree(a, z) => comoving(a, Some(z)),
            (Some(time), Some(z)) if must || z != 0.0 => conflict(Some(z), apart("time", time, z)),
            (Some(time), Some(z)) => {
                let doubt = said.has_matter.then(|| {
                    Doubt::Assumed(format!(
                        "its header has time {time} at redshift 0, as runs have that are not comoving: velocities are taken as they are"
                    ))
                });
                Self { doubt, ..none(Some(z)) }
            }
            (Some(a), None) if must && a > 0.0 => comoving(a, None),
            (Some(a), None) if said.has_matter && a > 0.0 && a <= 1.0 => {
                let text = format!(
                    "its header has time {a}, matter and no redshift: the time is taken for the scale factor, and velocities for over its root"
                );
                Self { doubt: Some(Doubt::Assumed(text)), ..comoving(a, None) }
            }
            (None, Some(z)) if must || z != 0.0 => {
                let doubt = (!must).then(|| {
                    Doubt::Assumed(format!(
                        "its header has redshift {z} and no time: the run is taken for comoving, and velocities for over the root of the \
                         scale factor"
                    ))
                });
                Self { doubt, ..comoving(1.0 / (1.0 + z), Some(z)) }
            }
            (time, None) if must => {
                let time = time.map_or("no time".into(), |time| format!("time {time}"));
                conflict(None, format!("its header is of a comoving run, and has {time} and no redshift"))
            }
            (_, redshift) => none(redshift),
        }
    }
}

fn apart(what: &str, value: f64, redshift: f64) -> String {
    let a = 1.0 / (1.0 + redshift);
    format!("its header has {what} {value} and redshift {redshift}, which is scale factor {a}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(time: Option<f64>, redshift: Option<f64>) -> Said {
        Said { time, redshift, ..Said::default() }
    }

    #[test]
    fn what_is_certain() {
        let comoving = Said { is_comoving: Some(true), ..Said::default() };
        let certain = [
            (of(Some(0.25), Some(3.0)), Some(0.25), Some(3.0)),
            // Of few digits.
            (of(Some(0.0078), Some(127.0)), Some(0.0078), Some(127.0)),
            (of(Some(1.0), Some(0.0)), Some(1.0), Some(0.0)),
            (of(Some(5.0), Some(0.0)), None, Some(0.0)),
            (of(Some(0.25), None), None, None),
            (of(None, None), None, None),
            (Said { time: Some(0.25), ..comoving }, Some(0.25), Some(3.0)),
            (Said { redshift: Some(3.0), ..comoving }, Some(0.25), Some(3.0)),
            (Said { is_comoving: Some(false), has_matter: true, ..of(Some(0.25), Some(3.0)) }, None, Some(3.0)),
            (Said { scale_factor: Some(0.5), ..of(Some(1e-3), Some(1.0)) }, Some(0.5), Some(1.0)),
            (Said { scale_factor: Some(0.5), ..of(Some(1e-3), None) }, Some(0.5), Some(1.0)),
        ];
        for (said, scale_factor, redshift) in certain {
            assert_eq!(Epoch::of(&said), Epoch { scale_factor, redshift, doubt: None }, "{said:?}");
        }
    }

    #[test]
    fn what_is_in_doubt() {
        let comoving = Said { is_comoving: Some(true), ..Said::default() };
        for said in [
            of(Some(5.0), Some(3.0)),
            of(Some(0.0), Some(3.0)),
            Said { time: Some(0.5), redshift: Some(0.0), ..comoving },
            Said { time: Some(-1.0), ..comoving },
            comoving,
            Said { scale_factor: Some(0.5), ..of(Some(0.5), Some(3.0)) },
        ] {
            let epoch = Epoch::of(&said);
            assert!(matches!(epoch.doubt, Some(Doubt::Conflict(_))) && epoch.scale_factor.is_none(), "{said:?}");
        }
        let matter = |time, redshift| Said { has_matter: true, ..of(time, redshift) };
        for (said, scale_factor) in [
            (matter(Some(0.25), None), Some(0.25)),
            (matter(Some(0.25), Some(0.0)), None),
            (of(None, Some(3.0)), Some(0.25)),
        ] {
            let epoch = Epoch::of(&said);
            assert!(matches!(epoch.doubt, Some(Doubt::Assumed(_))), "{said:?}");
            assert_eq!(epoch.scale_factor, scale_factor, "{said:?}");
        }
    }
}
