//! Expected numbers of halos: the linear power spectrum of a universe, and fits to the mass functions of simulations.
//!
//! Lengths are in comoving Mpc/h, masses in Msun/h.
//! Cost: a few thousand evaluations for each variance.
//! Source: Eisenstein and Hu 1998, section 4.2 (transfer function without wiggles). Heath 1977 (growth). Warren et al.
//! 2006, equation 5. Tinker et al. 2008, equations 2 to 8 and table 2.

use std::f64::consts::{E, PI};

use crate::error::{Error, Result};
use crate::units::{CRITICAL_DENSITY, check_h};

/// The temperature of the microwave background, in units of 2.7 K.
const THETA: f64 = 2.7255 / 2.7;
/// The natural logarithms of the smallest and largest wavenumber of integrals over the power spectrum, and the number
/// of steps.
const WAVES: (f64, f64, usize) = (-11.5, 9.2, 2000);
/// The natural logarithm of a mass that no halo reaches.
const NONE: f64 = 38.0;
/// The step of integrals over the logarithm of the mass.
const STEP: f64 = 0.05;

/// A universe of matter, a cosmological constant, and curvature for the rest. To create one, start from
/// [`Cosmology::flat`] or [`Cosmology::default`] and set fields.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Cosmology {
    /// The density of matter today, in units of the critical density.
    pub omega_m: f64,
    /// The density of the cosmological constant, in units of the critical density.
    pub omega_lambda: f64,
    /// The density of baryons, which are included in matter, in units of the critical density.
    pub omega_b: f64,
    /// The Hubble constant, in 100 km/s/Mpc.
    pub h: f64,
    /// The standard deviation of the linear density today in spheres of 8 Mpc/h.
    pub sigma_8: f64,
    /// The spectral index of the primordial power spectrum.
    pub n_s: f64,
    /// The redshift.
    pub redshift: f64,
}

impl Default for Cosmology {
    /// Values close to Planck Collaboration 2020, at redshift 0: flat, `omega_m` 0.31, `omega_b` 0.049, `h` 0.68,
    /// `sigma_8` 0.82, `n_s` 0.965.
    fn default() -> Self {
        Self { omega_m: 0.31, omega_lambda: 0.69, omega_b: 0.049, h: 0.68, sigma_8: 0.82, n_s: 0.965, redshift: 0.0 }
    }
}

/// A fit to the mass functions of simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum MassFunction {
    /// Friends-of-friends halos with a linking length of 0.2 mean separations: Warren et al. 2006.
    Warren2006,
    /// Spherical overdensities of 200 times the mean density: Tinker et al. 2008.
    Tinker2008,
}

impl MassFunction {
    /// The fraction of mass in halos per unit of `ln(1 / sigma)`.
    fn fraction(self, sigma: f64, redshift: f64) -> f64 {
        match self {
            Self::Warren2006 => 0.7234 * (sigma.powf(-1.625) + 0.2538) * (-1.1982 / (sigma * sigma)).exp(),
            Self::Tinker2008 => {
                let growth = 1.0 + redshift;
                let alpha = 10f64.powf(-(0.75 / (200f64 / 75.0).log10()).powf(1.2));
                let amplitude = 0.186 * growth.powf(-0.14);
                let (a, b, c) = (1.47 * growth.powf(-0.06), 2.57 * growth.powf(-alpha), 1.19);
                amplitude * ((sigma / b).powf(-a) + 1.0) * (-c / (sigma * sigma)).exp()
            }
        }
    }
}

impl Cosmology {
    /// Creates a flat universe with the given density of matter, in units of the critical density. Other parameters are
    /// as in [`Cosmology::default`], but `omega_b` is at most `omega_m`.
    pub fn flat(omega_m: f64) -> Self {
        let usual = Self::default();
        Self { omega_m, omega_lambda: 1.0 - omega_m, omega_b: usual.omega_b.min(omega_m), ..usual }
    }

    /// Returns the same universe at another redshift.
    #[must_use]
    pub fn at(self, redshift: f64) -> Self {
        Self { redshift, ..self }
    }

    /// The squared expansion rate at `1 + z = growth`, in units of today's.
    pub(crate) fn expansion2(&self, growth: f64) -> f64 {
        let curvature = 1.0 - self.omega_m - self.omega_lambda;
        self.omega_m * growth.powi(3) + curvature * growth * growth + self.omega_lambda
    }

    /// Computes the number of halos per (Mpc/h)^3 with at least the mass of each of `masses`, in Msun/h and ascending.
    ///
    /// # Errors
    /// - Masses that are not positive or do not ascend.
    /// - An `omega_m`, `sigma_8` or `1 + redshift` that is not positive and finite.
    /// - An `h` that is not above 0 and below 10.
    /// - An `omega_b` that is not from 0 to `omega_m`.
    /// - Another parameter that is not finite.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::halo::{Cosmology, MassFunction};
    ///
    /// let clusters = Cosmology::default().halos_above(&[1e14, 1e15], MassFunction::Tinker2008)?;
    /// assert!((2e-5..5e-5).contains(&clusters[0]) && clusters[1] < 1e-6);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn halos_above(&self, masses: &[f64], function: MassFunction) -> Result<Vec<f64>> {
        self.check()?;
        let spectrum = Spectrum::new(self);
        let mut before = 0.0;
        for &mass in masses {
            if !(mass > before && mass < f64::INFINITY) {
                return Err(Error::parameter_must(
                    "a mass",
                    mass,
                    "positive, finite and greater than the mass before it",
                ));
            }
            before = mass;
        }
        let Some(&last) = masses.last() else { return Ok(vec![]) };
        // Integrates downwards from a mass that no halo reaches, with trapezoids over `ln(1 / sigma)`, so that no
        // derivative is needed.
        let each = |ln_mass: f64| {
            let mass = ln_mass.exp();
            let sigma = spectrum.sigma(mass);
            (sigma.ln(), function.fraction(sigma, self.redshift) * spectrum.density() / mass)
        };
        let mut ln_mass = last.ln().max(NONE);
        let mut upper = each(ln_mass);
        let mut above = 0.0;
        let mut numbers = Vec::with_capacity(masses.len());
        for &mass in masses.iter().rev() {
            while ln_mass > mass.ln() {
                ln_mass = (ln_mass - STEP).max(mass.ln());
                let lower = each(ln_mass);
                above += 0.5 * (upper.1 + lower.1) * (lower.0 - upper.0);
                upper = lower;
            }
            numbers.push(above);
        }
        numbers.reverse();
        Ok(numbers)
    }

    /// Computes the standard deviation of the linear density in spheres whose mean mass is `mass`, in Msun/h.
    ///
    /// # Errors
    /// As for [`Cosmology::halos_above`], for the parameters.
    ///
    /// # Example
    ///
    /// ```
    /// let cosmology = ropewalk::halo::Cosmology::default();
    /// // The mean mass within 8 Mpc/h.
    /// let mass = 4.0 / 3.0 * std::f64::consts::PI * 512.0 * 0.31 * 2.77536627e11;
    /// assert!((cosmology.sigma(mass)? - 0.82).abs() < 1e-6);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn sigma(&self, mass: f64) -> Result<f64> {
        self.check()?;
        Ok(Spectrum::new(self).sigma(mass))
    }

    pub(crate) fn check(&self) -> Result<()> {
        let positive = [("omega_m", self.omega_m), ("sigma_8", self.sigma_8), ("1 + redshift", 1.0 + self.redshift)];
        for (name, value) in positive {
            if !(value > 0.0 && value < f64::INFINITY) {
                return Err(Error::parameter_must(name, value, "positive and finite"));
            }
        }
        check_h(self.h)?;
        for (name, value) in [("omega_lambda", self.omega_lambda), ("n_s", self.n_s)] {
            if !value.is_finite() {
                return Err(Error::parameter_must(name, value, "finite"));
            }
        }
        if !(0.0..=self.omega_m).contains(&self.omega_b) {
            return Err(Error::parameter_must("omega_b", self.omega_b, "from 0 to omega_m"));
        }
        Ok(())
    }

    /// The linear growth factor at the redshift, in units of today's.
    fn growth(&self) -> f64 {
        let to = |a_end: f64| {
            let expansion = |a: f64| self.expansion2(1.0 / a).sqrt();
            // Near 0 the integrand is proportional to a^(3/2).
            let integral = simpson(0.0, a_end, 2000, |a| if a > 0.0 { (a * expansion(a)).powi(-3) } else { 0.0 });
            expansion(a_end) * integral
        };
        to(1.0 / (1.0 + self.redshift)) / to(1.0)
    }

    /// The transfer function at a wavenumber in h/Mpc; it approaches 1 on large scales.
    fn transfer(&self, k: f64) -> f64 {
        let (matter, baryons) = (self.omega_m * self.h * self.h, self.omega_b * self.h * self.h);
        let part = self.omega_b / self.omega_m;
        let sound = 44.5 * (9.83 / matter).ln() / (1.0 + 10.0 * baryons.powf(0.75)).sqrt();
        let alpha = 1.0 - 0.328 * (431.0 * matter).ln() * part + 0.38 * (22.3 * matter).ln() * part * part;
        let shape = self.omega_m * self.h * (alpha + (1.0 - alpha) / (1.0 + (0.43 * k * self.h * sound).powi(4)));
        let q = k * THETA * THETA / shape;
        let l = (2.0 * E + 1.8 * q).ln();
        let c = 14.2 + 731.0 / (1.0 + 62.5 * q);
        l / (l + c * q * q)
    }
}

/// The normalised power spectrum at the redshift of its cosmology.
struct Spectrum<'a> {
    cosmology: &'a Cosmology,
    /// Wavenumbers, each with the power times k^3 / (2 pi^2).
    waves: Vec<[f64; 2]>,
}

impl<'a> Spectrum<'a> {
    fn new(cosmology: &'a Cosmology) -> Self {
        let (from, to, steps) = WAVES;
        let wave = |i: usize| {
            let k = (from + (to - from) * i as f64 / steps as f64).exp();
            [k, k.powf(3.0 + cosmology.n_s) * cosmology.transfer(k).powi(2)]
        };
        let mut spectrum = Self { cosmology, waves: (0..=steps).map(wave).collect() };
        let scale = (cosmology.sigma_8 * cosmology.growth() / spectrum.deviation(8.0)).powi(2);
        spectrum.waves.iter_mut().for_each(|[_, power]| *power *= scale);
        spectrum
    }

    /// The standard deviation of the linear density in spheres of a radius.
    fn deviation(&self, radius: f64) -> f64 {
        let window = |x: f64| if x < 1e-3 { 1.0 - 0.1 * x * x } else { 3.0 * (x.sin() - x * x.cos()) / x.powi(3) };
        let (from, to, steps) = WAVES;
        let sum: f64 = self
            .waves
            .iter()
            .enumerate()
            .map(|(i, &[k, power])| simpson_weight(i, steps) * power * window(k * radius).powi(2))
            .sum();
        (sum * (to - from) / (3.0 * steps as f64)).sqrt()
    }

    fn density(&self) -> f64 {
        self.cosmology.omega_m * CRITICAL_DENSITY
    }

    fn sigma(&self, mass: f64) -> f64 {
        self.deviation((3.0 * mass / (4.0 * PI * self.density())).cbrt())
    }
}

/// The weights of Simpson's rule: 1, 4, 2, 4, ..., 4, 1.
fn simpson_weight(i: usize, steps: usize) -> f64 {
    if i == 0 || i == steps {
        1.0
    } else if i % 2 == 1 {
        4.0
    } else {
        2.0
    }
}

fn simpson(from: f64, to: f64, steps: usize, of: impl Fn(f64) -> f64) -> f64 {
    let step = (to - from) / steps as f64;
    (0..=steps).map(|i| simpson_weight(i, steps) * of(from + step * i as f64)).sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() < tolerance, "{found}, should be {expected}");
    }

    fn at(redshift: f64) -> Cosmology {
        Cosmology { redshift, ..Cosmology::default() }
    }

    /// Expected values are from a separate program: the same formulas with scipy's adaptive quadrature.
    #[test]
    fn deviations() {
        let expected = [
            (1e10, 3.737686190, 2.274034932),
            (1e12, 2.114552706, 1.286508946),
            (1e14, 0.939105730, 0.571358623),
            (1e15, 0.539197864, 0.328051826),
        ];
        for (mass, today, at_1) in expected {
            near(at(0.0).sigma(mass).unwrap(), today, 1e-4);
            near(at(1.0).sigma(mass).unwrap(), at_1, 1e-4);
        }
        near(at(1.0).growth(), 0.608407131, 1e-5);
    }

    #[test]
    fn numbers_of_halos() {
        use MassFunction::{Tinker2008, Warren2006};
        let expected = [
            (Warren2006, 0.0, [4.23427396e-3, 3.24850647e-5]),
            (Warren2006, 1.0, [3.85444990e-3, 3.71298107e-6]),
            (Tinker2008, 0.0, [4.58630982e-3, 3.29180008e-5]),
            (Tinker2008, 1.0, [3.49643417e-3, 2.96454669e-6]),
        ];
        for (function, redshift, expected) in expected {
            let found = at(redshift).halos_above(&[1e12, 1e14], function).unwrap();
            near(found[0], expected[0], 2e-3);
            near(found[1], expected[1], 2e-3);
        }
    }

    /// With matter alone, the growth factor equals the scale factor.
    #[test]
    fn growth_of_matter_alone() {
        for redshift in [0.5, 1.0, 9.0] {
            let cosmology = Cosmology { omega_m: 1.0, omega_lambda: 0.0, redshift, ..Cosmology::default() };
            near(cosmology.growth(), 1.0 / (1.0 + redshift), 1e-4);
        }
    }

    #[test]
    fn the_transfer_function_ends_at_one() {
        near(at(0.0).transfer(1e-5), 1.0, 1e-3);
        assert!(at(0.0).transfer(10.0) < 1e-3);
    }

    #[test]
    fn bad_parameters() {
        let refused = |cosmology: Cosmology, name: &str| {
            let message = cosmology.sigma(1e12).unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
        };
        refused(Cosmology { omega_m: 0.0, ..at(0.0) }, "omega_m");
        refused(Cosmology { h: f64::NAN, ..at(0.0) }, "h is NaN");
        refused(Cosmology { h: 70.0, ..at(0.0) }, "h is 70; it must be above 0 and below 10");
        refused(Cosmology { sigma_8: -1.0, ..at(0.0) }, "sigma_8");
        refused(Cosmology { omega_b: 0.5, ..at(0.0) }, "omega_b");
        for masses in [&[0.0][..], &[-1.0], &[f64::NAN], &[2.0, 1.0], &[f64::INFINITY]] {
            assert!(at(0.0).halos_above(masses, MassFunction::Warren2006).is_err(), "{masses:?}");
        }
        assert!(at(0.0).halos_above(&[], MassFunction::Warren2006).unwrap().is_empty());
        refused(at(-1.0), "redshift");
        refused(Cosmology { n_s: f64::INFINITY, ..at(0.0) }, "n_s");
    }
}
