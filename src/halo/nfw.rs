//! The NFW profile, and its fit to the shells of a halo.
//!
//! In: shells with masses and counts. Out: an [`NfwFit`] with errors. Cost: a one-dimensional search.
//! Source: Navarro, Frenk and White 1997.
//!
//! # The fit
//!
//! For a shell of mass `M_i` the model predicts the mean `mu_i = 4 pi rho_s r_s^3 (m(r_i+1 / r_s) - m(r_i / r_s))` with
//! `m(x) = ln(1 + x) - x / (1 + x)`. The variance is `mu_i m_p` for particles of mass `m_p`. The likelihood of Poisson
//! counts is maximal if `sum (M_i - mu_i) / mu_i dmu_i/dp = 0` for both parameters `p`. There
//! `chi2 = sum (M_i - mu_i)^2 / (mu_i m_p)` is minimal with its variances held fixed. Its curvature there,
//! `F_pq = sum dmu_i/dp dmu_i/dq / (mu_i m_p)`, is the inverse of the covariance.

use std::f64::consts::PI;

use crate::halo::shell::Shell;

/// The range of scale radii of the fit, in units of the outermost radius.
const SCALES: (f64, f64) = (1e-3, 10.0);
/// The maximum number of scoring steps, which refine the result of the search to a zero of the likelihood's slope.
const MAX_SCORING_STEPS: usize = 20;
/// The minimum number of shells with mass for a fit.
const MIN_SHELLS: usize = 3;

/// A fitted NFW profile: `rho(r) = density / ((r / radius) (1 + r / radius)^2)`. Errors are standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NfwFit {
    /// The scale radius, in the unit of the positions.
    pub radius: f64,
    /// The error of the scale radius.
    pub radius_error: f64,
    /// The characteristic density, in units of mass over volume of the particles.
    pub density: f64,
    /// The error of the characteristic density.
    pub density_error: f64,
    /// The outermost radius over the scale radius.
    pub concentration: f64,
    /// The error of the concentration, for a fixed outermost radius.
    pub concentration_error: f64,
    /// The sum over shells of the squared deviation of the mass over its expected variance, with `shells - 2` degrees
    /// of freedom.
    pub chi2: f64,
    /// The number of fitted shells, including empty ones.
    pub shells: usize,
}

impl NfwFit {
    /// Returns the density of the fitted profile at `radius`. Units are those of the fields [`NfwFit::density`] and
    /// [`NfwFit::radius`].
    pub fn density_at(&self, radius: f64) -> f64 {
        let x = radius / self.radius;
        self.density / (x * (1.0 + x) * (1.0 + x))
    }
}

/// The mass within `x` scale radii, in units of `4 pi density radius^3`.
fn within(x: f64) -> f64 {
    if x < 1e-3 { x * x * (0.5 - x * (2.0 / 3.0 - 0.75 * x)) } else { x.ln_1p() - x / (1.0 + x) }
}

/// `x d within / dx`.
fn slope(x: f64) -> f64 {
    (x / (1.0 + x)).powi(2)
}

/// The most likely profile of contiguous shells of a halo that ends at `radius`. `None` if fewer than three shells
/// have mass, or if the scale radius is out of range.
pub(super) fn fit(shells: &[Shell], radius: f64) -> Option<NfwFit> {
    if shells.iter().filter(|shell| shell.mass > 0.0).count() < MIN_SHELLS {
        return None;
    }
    let (first, last) = (shells.first()?, shells.last()?);
    let part = |shell: &Shell, scale: f64| within(shell.outer / scale) - within(shell.inner / scale);
    let all = |scale: f64| within(last.outer / scale) - within(first.inner / scale);
    let likelihood = |ln_scale: f64| {
        let scale = ln_scale.exp();
        let all = all(scale);
        let with_mass = shells.iter().filter(|shell| shell.mass > 0.0);
        with_mass.map(|shell| shell.mass * (part(shell, scale) / all).ln()).sum::<f64>()
    };
    // A grid search, then a golden-section search between the neighbours of the best grid value.
    let (from, to) = ((SCALES.0 * radius).ln(), (SCALES.1 * radius).ln());
    let steps = 60;
    let at = |i: usize| from + (to - from) * i as f64 / steps as f64;
    let best = (0..=steps).max_by(|&a, &b| likelihood(at(a)).total_cmp(&likelihood(at(b))))?;
    if best == 0 || best == steps {
        return None;
    }
    let (mut lo, mut hi) = (at(best - 1), at(best + 1));
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..50 {
        let (a, b) = (hi - golden * (hi - lo), lo + golden * (hi - lo));
        if likelihood(a) < likelihood(b) { lo = a } else { hi = b }
    }
    let mut scale = (0.5 * (lo + hi)).exp();
    let mut state = FitState::new(shells, scale);
    // Near its maximum the likelihood is so flat that its values determine only half of the digits; its slope
    // determines all.
    for _ in 0..MAX_SCORING_STEPS {
        let next = scale * state.step.exp();
        let better = FitState::new(shells, next);
        // A NaN stops the loop, too.
        if !better.step.abs().lt(&state.step.abs()) {
            break;
        }
        (scale, state) = (next, better);
    }
    let FitState { density, errors: [scale_error, density_error], chi2, .. } = state;
    let concentration = radius / scale;
    Some(NfwFit {
        radius: scale,
        radius_error: scale_error * scale,
        density,
        density_error: density_error * density,
        concentration,
        concentration_error: scale_error * concentration,
        chi2,
        shells: shells.len(),
    })
}

/// The state of the fit at a scale radius, with the density that gives the total mass of the shells.
struct FitState {
    density: f64,
    /// The step towards a better logarithm of the scale radius, by Fisher scoring.
    step: f64,
    /// The errors of the logarithms of the scale radius and of the density.
    errors: [f64; 2],
    chi2: f64,
}

impl FitState {
    fn new(shells: &[Shell], scale: f64) -> Self {
        let part = |shell: &Shell| within(shell.outer / scale) - within(shell.inner / scale);
        let mass: f64 = shells.iter().map(|shell| shell.mass).sum();
        let count: usize = shells.iter().map(|shell| shell.count).sum();
        let particle = mass / count as f64;
        let density = mass / (4.0 * PI * scale.powi(3) * shells.iter().map(part).sum::<f64>());
        let (mut by_scales, mut by_both, mut by_densities) = (0.0, 0.0, 0.0);
        let (mut score, mut chi2) = (0.0, 0.0);
        for shell in shells {
            let part = part(shell);
            let mean = 4.0 * PI * density * scale.powi(3) * part;
            let by_scale = 3.0 - (slope(shell.outer / scale) - slope(shell.inner / scale)) / part;
            let weight = mean / particle;
            by_scales += weight * by_scale * by_scale;
            by_both += weight * by_scale;
            by_densities += weight;
            score += (shell.mass - mean) / particle * by_scale;
            chi2 += (shell.mass - mean).powi(2) / (mean * particle);
        }
        let determinant = by_scales * by_densities - by_both * by_both;
        let errors = [by_densities, by_scales].map(|x| (x / determinant).sqrt());
        Self { density, step: score * by_densities / determinant, errors, chi2 }
    }
}
