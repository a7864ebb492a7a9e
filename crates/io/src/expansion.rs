//! Terms of the expansion rate that snapshots name and that are not used: evolving dark energy, radiation and
//! neutrinos.
//!
//! In: numbers of a header. Out: a note on the terms that matter, with the ratio by which they change the square of
//! the expansion rate. Source: Linder 2003, equation 7 (the density of dark energy with the equation of state w_0 +
//! w_a (1 - a)).

use ropewalk::Result;

use crate::Background;

/// Names of the equation of state of dark energy today, and of its change with the scale factor.
const W_0: [&str; 5] = ["w_0", "w0", "w0_fld", "DarkEnergyW0", "DarkEnergyParam"];
const W_A: [&str; 4] = ["w_a", "wa", "wa_fld", "DarkEnergyWa"];
/// Names of the radiation density today, in units of the critical density.
const RADIATION: [&str; 3] = ["Omega_r", "Omega_Radiation", "dOmegaRad"];
/// Names of the density of massive neutrinos today, which is not included in the matter density.
const NEUTRINOS: [&str; 2] = ["Omega_nu_0", "Omega_Neutrino"];
/// Densities below this fraction of the critical density, and equations of state this close to a cosmological
/// constant, are not noted.
const SMALL: f64 = 1e-4;

/// Terms of the expansion rate besides matter, curvature and a cosmological constant. `None` if a file does not name
/// the term.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Expansion {
    w_0: Option<f64>,
    w_a: Option<f64>,
    radiation: Option<f64>,
    neutrinos: Option<f64>,
}

impl Expansion {
    /// Returns the terms that a header states. `number` looks up a number by one of several names.
    ///
    /// Errors: those of `number`.
    pub(super) fn new(mut number: impl FnMut(&[&str]) -> Result<Option<f64>>) -> Result<Self> {
        Ok(Self {
            w_0: number(&W_0)?,
            w_a: number(&W_A)?,
            radiation: number(&RADIATION)?,
            neutrinos: number(&NEUTRINOS)?,
        })
    }

    /// Returns a note on the terms that are not used; `None` if they make no difference.
    pub(super) fn note(&self, background: &Background, redshift: Option<f64>) -> Option<String> {
        let z = redshift.unwrap_or(0.0);
        let growth = 1.0 + z;
        let [w_0, w_a] = [self.w_0.unwrap_or(-1.0), self.w_a.unwrap_or(0.0)];
        let [radiation, neutrinos] = [self.radiation, self.neutrinos].map(|density| density.unwrap_or(0.0));
        // The same cosmology as the one used for results.
        let densities = background.omega_m.map(|matter| (matter, background.omega_lambda.unwrap_or(1.0 - matter)));
        let used =
            densities.map(|(matter, dark)| matter * growth.powi(3) + (1.0 - matter - dark) * growth * growth + dark);
        // Neutrinos count as matter, which is accurate except at high redshifts.
        let more = radiation * growth.powi(4) + neutrinos * growth.powi(3);
        let ratio = densities.zip(used).map(|((matter, dark), used)| {
            let exponent = 3.0 * (1.0 + w_0 + w_a);
            let fluid = growth.powf(exponent) * (-3.0 * w_a * z / growth).exp();
            let curvature = 1.0 - matter - dark - radiation - neutrinos;
            (matter * growth.powi(3) + more + curvature * growth * growth + dark * fluid) / used
        });
        let critical = used.unwrap_or(1.0);
        let is_used = [
            ("w_0", w_0, (w_0 + 1.0).abs()),
            ("w_a", w_a, w_a.abs()),
            ("Omega_r", radiation, radiation * growth.powi(4) / critical),
            ("Omega_nu_0", neutrinos, neutrinos * growth.powi(3) / critical),
        ];
        let named = is_used.into_iter().filter(|(.., part)| part.is_nan() || part.abs() > SMALL);
        let named: Vec<String> = named.map(|(name, value, _)| format!("{name} = {value}")).collect();
        if named.is_empty() {
            return None;
        }
        let ratio = ratio.map_or(String::new(), |ratio| {
            format!("; with these terms, E(z)^2 at redshift {z} would be {ratio:.6} times as large")
        });
        Some(format!(
            "terms of the cosmology that are not used: {}; spheres, profiles and expected mass functions use the expansion rate E(z) of \
             matter, curvature and a cosmological constant{ratio}",
            named.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(terms: &[(&str, f64)], redshift: f64) -> Option<String> {
        let background = Background { omega_m: Some(0.3), omega_lambda: Some(0.7), h: Some(0.7) };
        let number = |names: &[&str]| Ok(terms.iter().find(|(name, _)| names.contains(name)).map(|(_, value)| *value));
        Expansion::new(number).unwrap().note(&background, Some(redshift))
    }

    #[test]
    fn terms_that_matter() {
        // astropy 7: w0waCDM(70, 0.3, 0.7, w0=-0.8, wa=0.2).efunc(1)**2 / FlatLambdaCDM(70, 0.3).efunc(1)**2
        let said = note(&[("w_0", -0.8), ("w_a", 0.2)], 1.0).unwrap();
        assert!(said.starts_with("terms of the cosmology that are not used: w_0 = -0.8, w_a = 0.2; "), "{said}");
        assert!(said.ends_with("E(z)^2 at redshift 1 would be 1.158506 times as large"), "{said}");
        // At redshift 0, E(z) is 1 for every cosmology.
        assert!(note(&[("w0", -0.9)], 0.0).unwrap().ends_with("E(z)^2 at redshift 0 would be 1.000000 times as large"));
        assert_eq!(note(&[("w_0", -1.0), ("w_a", 0.0), ("Omega_r", 0.0), ("Omega_nu_0", 0.0)], 1.0), None);
        // Towards high redshift, radiation grows faster than matter.
        assert_eq!(note(&[("Omega_r", 9e-5)], 0.0), None);
        assert!(note(&[("Omega_r", 9e-5)], 1.0).unwrap().contains("not used: Omega_r = 0.00009; "));
        assert!(note(&[("Omega_nu_0", 2e-3)], 0.0).unwrap().contains("Omega_nu_0 = 0.002"));
    }
}
