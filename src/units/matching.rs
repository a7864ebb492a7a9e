//! Inference of units: the mass of all matter over the volume of the box must be the mean density of matter.

use crate::error::{Error, Result};
use crate::units::errors;
use crate::units::{CRITICAL_DENSITY, KnownUnits, LengthUnit, MassUnit, Units, VelocityUnit};

/// The maximum deviation of the density ratio from 1; masses and densities have at least three digits. The densities
/// of two pairs of units differ at least by a factor of h.
const TOLERANCE: f64 = 0.01;

/// The units that simulations use.
const LENGTHS: [LengthUnit; 4] = [LengthUnit::MPC_H, LengthUnit::KPC_H, LengthUnit::MPC, LengthUnit::KPC];
const MASSES: [MassUnit; 4] = [MassUnit::MSUN_H_1E10, MassUnit::MSUN_H, MassUnit::MSUN_1E10, MassUnit::MSUN];

impl Units {
    /// Infers the units in which `density` is the mean density of matter.
    ///
    /// `density` is the mass of all particles of all types over the volume of their periodic box. It is compared with
    /// `omega_m` times the critical density today, to one per cent. Candidates are lengths in comoving Mpc/h, kpc/h,
    /// Mpc and kpc, and masses in 1e10 Msun/h, Msun/h, 1e10 Msun and Msun. Units in `known` are used as given. Units
    /// without h are only considered if `h` is given. Velocities cannot be inferred: unless known, they are peculiar
    /// velocities in km/s.
    ///
    /// ```
    /// use ropewalk::units::{KnownUnits, LengthUnit, Units};
    ///
    /// // All matter, in 1e10 Msun/h and comoving kpc/h.
    /// let density = 0.31 * 27.7536627e-9;
    /// let units = Units::matching(density, 0.31, 0.0, Some(0.68), KnownUnits::default())?;
    /// assert_eq!(units.length, LengthUnit::KPC_H);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if no pair of units fits, if several different pairs fit, or if `omega_m` is not positive.
    pub fn matching(density: f64, omega_m: f64, redshift: f64, h: Option<f64>, known: KnownUnits) -> Result<Self> {
        if !(omega_m > 0.0 && omega_m < f64::INFINITY) {
            return Err(Error::parameter_must("omega_m", omega_m, "positive and finite"));
        }
        crate::units::scale_factor(redshift)?;
        let lengths = known.length.as_ref().map_or(&LENGTHS[..], std::slice::from_ref);
        let masses = known.mass.as_ref().map_or(&MASSES[..], std::slice::from_ref);
        let pairs = lengths.iter().flat_map(|&length| masses.iter().map(move |&mass| (length, mass)));
        let (mut found, mut nearest): (Option<Self>, Option<(f64, Self)>) = (None, None);
        for (length, mass) in pairs {
            let units = Self { length, mass, velocity: known.velocity.unwrap_or(VelocityUnit::KM_S) };
            // Skips units without h if h is unknown.
            let Ok(conversion) = units.conversion(redshift, h) else { continue };
            let ratio = density / (omega_m * conversion.critical_density());
            // If no units fit, the error names the nearest ones. Candidates are units in 1/h, or all units if one is
            // known: a factor of h is not the cause.
            let is_usual = known.length.is_some() || known.mass.is_some() || (length.per_h && mass.per_h);
            let distance = |ratio: f64| ratio.ln().abs();
            if is_usual && nearest.as_ref().is_none_or(|(other, _)| distance(ratio) < distance(*other)) {
                nearest = Some((ratio, units));
            }
            // NaN fits no units.
            if ratio.is_nan() || (ratio - 1.0).abs() > TOLERANCE {
                continue;
            }
            match found {
                None => found = Some(units),
                // With h = 1 these units are equivalent.
                Some(first) if first.conversion(redshift, h).is_ok_and(|own| own == conversion) => {}
                Some(first) => {
                    return Err(errors::ambiguous(first, units));
                }
            }
        }
        let gadget = || (density / (omega_m * CRITICAL_DENSITY / 1e10), Self::GADGET);
        found.ok_or_else(|| {
            let (ratio, units) = nearest.unwrap_or_else(gadget);
            errors::no_units(ratio, &format!("{} and {}", units.mass, units.length), omega_m)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OMEGA_M: f64 = 0.31;
    const NOTHING: KnownUnits = KnownUnits { length: None, mass: None, velocity: None };

    #[test]
    fn every_pair_is_found() {
        let h = Some(0.68);
        for length in LENGTHS {
            for mass in MASSES {
                let units = Units { length, mass, velocity: VelocityUnit::KM_S };
                let density = OMEGA_M * units.conversion(0.0, h).unwrap().critical_density();
                assert_eq!(Units::matching(density, OMEGA_M, 0.0, h, NOTHING).unwrap(), units);
                // Comoving densities do not depend on the redshift.
                let known = KnownUnits { length: Some(length), ..NOTHING };
                assert_eq!(Units::matching(1.004 * density, OMEGA_M, 3.0, h, known).unwrap(), units);
            }
        }
    }

    #[test]
    fn physical_lengths() {
        let length: LengthUnit = "pkpc".parse().unwrap();
        let units = Units { length, ..Units::GADGET };
        let density = OMEGA_M * units.conversion(1.0, Some(0.68)).unwrap().critical_density();
        let known = KnownUnits { length: Some(length), ..NOTHING };
        assert_eq!(Units::matching(density, OMEGA_M, 1.0, Some(0.68), known).unwrap(), units);
    }

    #[test]
    fn nothing_is_guessed() {
        let density = OMEGA_M * CRITICAL_DENSITY / 1e10;
        // A sixth of the matter, such as the gas alone, must not fit any units.
        let message = Units::matching(density * 0.157, OMEGA_M, 0.0, Some(0.68), NOTHING).unwrap_err().to_string();
        assert!(message.contains("units") && message.contains("0.31"), "{message}");
        for density in [0.0, f64::INFINITY, f64::NAN, -1.0] {
            assert!(Units::matching(density, OMEGA_M, 0.0, Some(0.68), NOTHING).is_err());
        }
        assert!(Units::matching(density, f64::NAN, 0.0, Some(0.68), NOTHING).is_err());
        assert!(Units::matching(density, OMEGA_M, -1.0, Some(0.68), NOTHING).is_err());
        // With h near 1, units with and without h cannot be distinguished.
        let message = Units::matching(density, OMEGA_M, 0.0, Some(0.997), NOTHING).unwrap_err().to_string();
        assert!(message.contains("both"), "{message}");
        assert_eq!(Units::matching(density, OMEGA_M, 0.0, Some(1.0), NOTHING).unwrap(), Units::GADGET);
        assert_eq!(Units::matching(density, OMEGA_M, 0.0, None, NOTHING).unwrap(), Units::GADGET);
    }
}
