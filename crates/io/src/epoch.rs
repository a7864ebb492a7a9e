//! The epoch of a snapshot of Gadget or a related code, and whether its run uses comoving coordinates.
//!
//! In: the entries of a header about time. Out: the scale factor, if velocities are stored divided by its square
//! root; the redshift and the doubt that remains. Source: Springel, Users guide for GADGET-2, section 6.3, which
//! AREPO, GIZMO and GADGET-4 follow. `Time` is the scale factor in comoving runs and the time in others. `Redshift`
//! is `1/a - 1` in comoving runs, and 0 in others.

/// The entries of a header about time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EpochEntries {
    /// `Some` if the header states whether the run is comoving.
    pub is_comoving: Option<bool>,
    /// The scale factor, if the header names it.
    pub scale_factor: Option<f64>,
    pub time: Option<f64>,
    pub redshift: Option<f64>,
    /// If `true`, the header has a matter density above 0.
    pub has_matter: bool,
}

/// The epoch that follows from a header.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Epoch {
    /// The scale factor of a comoving run; `None` for other runs.
    pub scale_factor: Option<f64>,
    pub redshift: Option<f64>,
    pub doubt: Option<Doubt>,
}

/// The ambiguity that a header leaves.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Doubt {
    /// The entries of the header contradict each other.
    Conflict(String),
    /// An entry is missing, and its value is assumed.
    Assumed(String),
}

/// Returns `true` if a scale factor and a redshift agree. For a redshift other than 0, which implies a comoving run,
/// the tolerance allows for few digits in the header.
fn agree(scale_factor: f64, redshift: f64) -> bool {
    let most = if redshift == 0.0 { 1e-4 } else { 1e-2 };
    scale_factor > 0.0 && (scale_factor * (1.0 + redshift) - 1.0).abs() < most
}

impl Epoch {
    pub(super) fn new(entries: &EpochEntries) -> Self {
        let none = |redshift| Self { redshift, ..Self::default() };
        let comoving = |a: f64, redshift: Option<f64>| Self {
            scale_factor: Some(a),
            redshift: Some(redshift.unwrap_or(1.0 / a - 1.0)),
            doubt: None,
        };
        let conflict = |redshift, text| Self { doubt: Some(Doubt::Conflict(text)), ..none(redshift) };
        let positive = |a: &f64| *a > 0.0 && *a < f64::INFINITY;
        if entries.is_comoving == Some(false) {
            return none(entries.redshift);
        }
        let must = entries.is_comoving == Some(true);
        if let Some(a) = entries.scale_factor.filter(positive) {
            return match entries.redshift {
                Some(z) if !agree(a, z) => conflict(Some(z), apart("scale factor", a, z)),
                own => comoving(a, own),
            };
        }
        match (entries.time.filter(|time| time.is_finite()), entries.redshift) {
            (Some(a), Some(z)) if agree(a, z) => comoving(a, Some(z)),
            (Some(time), Some(z)) if must || z != 0.0 => conflict(Some(z), apart("time", time, z)),
            (Some(time), Some(z)) => {
                let doubt = entries.has_matter.then(|| {
                    Doubt::Assumed(format!(
                        "its header has time {time} at redshift 0, as in runs that are not comoving: velocities are assumed to be peculiar"
                    ))
                });
                Self { doubt, ..none(Some(z)) }
            }
            (Some(a), None) if must && a > 0.0 => comoving(a, None),
            (Some(a), None) if entries.has_matter && a > 0.0 && a <= 1.0 => {
                let text = format!(
                    "its header has time {a}, matter and no redshift: the time is assumed to be the scale factor a, and velocities to be divided by sqrt(a)"
                );
                Self { doubt: Some(Doubt::Assumed(text)), ..comoving(a, None) }
            }
            (None, Some(z)) if must || z != 0.0 => {
                let doubt = (!must).then(|| {
                    Doubt::Assumed(format!(
                        "its header has redshift {z} and no time: the run is assumed to be comoving, and velocities to be divided by sqrt(a)"
                    ))
                });
                Self { doubt, ..comoving(1.0 / (1.0 + z), Some(z)) }
            }
            (time, None) if must => {
                let time = time.map_or("no time".into(), |time| format!("time {time}"));
                conflict(None, format!("its header is that of a comoving run, but has {time} and no redshift"))
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

    fn of(time: Option<f64>, redshift: Option<f64>) -> EpochEntries {
        EpochEntries { time, redshift, ..EpochEntries::default() }
    }

    #[test]
    fn what_is_certain() {
        let comoving = EpochEntries { is_comoving: Some(true), ..EpochEntries::default() };
        let certain = [
            (of(Some(0.25), Some(3.0)), Some(0.25), Some(3.0)),
            // The scale factor has few digits.
            (of(Some(0.0078), Some(127.0)), Some(0.0078), Some(127.0)),
            (of(Some(1.0), Some(0.0)), Some(1.0), Some(0.0)),
            (of(Some(5.0), Some(0.0)), None, Some(0.0)),
            (of(Some(0.25), None), None, None),
            (of(None, None), None, None),
            (EpochEntries { time: Some(0.25), ..comoving }, Some(0.25), Some(3.0)),
            (EpochEntries { redshift: Some(3.0), ..comoving }, Some(0.25), Some(3.0)),
            (EpochEntries { is_comoving: Some(false), has_matter: true, ..of(Some(0.25), Some(3.0)) }, None, Some(3.0)),
            (EpochEntries { scale_factor: Some(0.5), ..of(Some(1e-3), Some(1.0)) }, Some(0.5), Some(1.0)),
            (EpochEntries { scale_factor: Some(0.5), ..of(Some(1e-3), None) }, Some(0.5), Some(1.0)),
        ];
        for (entries, scale_factor, redshift) in certain {
            assert_eq!(Epoch::new(&entries), Epoch { scale_factor, redshift, doubt: None }, "{entries:?}");
        }
    }

    #[test]
    fn what_is_in_doubt() {
        let comoving = EpochEntries { is_comoving: Some(true), ..EpochEntries::default() };
        for entries in [
            of(Some(5.0), Some(3.0)),
            of(Some(0.0), Some(3.0)),
            EpochEntries { time: Some(0.5), redshift: Some(0.0), ..comoving },
            EpochEntries { time: Some(-1.0), ..comoving },
            comoving,
            EpochEntries { scale_factor: Some(0.5), ..of(Some(0.5), Some(3.0)) },
        ] {
            let epoch = Epoch::new(&entries);
            assert!(matches!(epoch.doubt, Some(Doubt::Conflict(_))) && epoch.scale_factor.is_none(), "{entries:?}");
        }
        let matter = |time, redshift| EpochEntries { has_matter: true, ..of(time, redshift) };
        for (entries, scale_factor) in [
            (matter(Some(0.25), None), Some(0.25)),
            (matter(Some(0.25), Some(0.0)), None),
            (of(None, Some(3.0)), Some(0.25)),
        ] {
            let epoch = Epoch::new(&entries);
            assert!(matches!(epoch.doubt, Some(Doubt::Assumed(_))), "{entries:?}");
            assert_eq!(epoch.scale_factor, scale_factor, "{entries:?}");
        }
    }
}
