//! Gathers the profiles of the largest halos of all ranks on rank 0.
//!
//! In: on each rank the profiles of its halos. Out: all profiles, in the order of the catalogue.
//! Cost: a profile is sent once.

use ropewalk::Result;
use ropewalk::halo::{NfwFit, Profile, Shell};
use ropewalk::internals::distributed::gather;

use crate::{HaloName, Largest, LargestProfiles, Pipeline};

impl Pipeline<'_> {
    /// Gathers the profiles of the largest halos of all ranks on rank 0, from the results of [`Pipeline::profiles`]
    /// on each rank. The other ranks get `None`. Collective.
    ///
    /// # Errors
    /// If a rank has ended.
    pub fn gather_profiles(&self, largest: &Largest, profiles: Vec<Profile>) -> Result<Option<LargestProfiles>> {
        if self.ranks.size() == 1 {
            let Largest { names, r200c, .. } = largest.clone();
            return Ok(Some(LargestProfiles { names, r200c, profiles }));
        }
        let Largest { names, r200c, places, count, .. } = largest;
        let rows = places.iter().zip(names).zip(r200c.iter().zip(&profiles));
        let packed: Vec<u64> =
            rows.flat_map(|((&place, name), (&r200c, profile))| packed(place, name.tag, r200c, profile)).collect();
        let (_, all) = gather(self.ranks, &packed, 0)?.into_parts();
        if self.ranks.rank() != 0 {
            return Ok(None);
        }
        let mut found = LargestProfiles {
            names: vec![HaloName::default(); *count],
            r200c: vec![None; *count],
            profiles: vec![Profile::default(); *count],
        };
        let mut rest = &all[..];
        while let Some((place, tag, r200c, profile)) = unpacked(&mut rest) {
            // Across ranks there are no subhalos between the halos of the catalogue.
            found.names[place] = HaloName { row: place, tag };
            (found.r200c[place], found.profiles[place]) = (r200c, profile);
        }
        Ok(Some(found))
    }
}

/// The number of words of a profile before its shells, and of a shell.
const HEAD: usize = 14;
const SHELL: usize = 6;

/// Encodes a profile as words: number of shells, place, tag, R200c, resolved radius, fit, and shells.
fn packed(place: usize, tag: u64, r200c: Option<f64>, profile: &Profile) -> Vec<u64> {
    let fit = profile.fit.map(|fit| {
        let NfwFit { radius, radius_error, density, density_error, concentration, concentration_error, chi2, shells } =
            fit;
        let numbers = [radius, radius_error, density, density_error, concentration, concentration_error, chi2];
        (numbers.map(f64::to_bits), shells as u64 + 1)
    });
    let (numbers, fitted) = fit.unwrap_or(([0; 7], 0));
    let radius = r200c.unwrap_or(f64::NAN).to_bits();
    let mut words = vec![profile.shells.len() as u64, place as u64, tag, radius, profile.resolved.to_bits(), fitted];
    words.extend(numbers);
    words.push(u64::from(r200c.is_some()));
    for Shell { inner, outer, count, mass, density, enclosed } in &profile.shells {
        words.extend([inner, outer].map(|x| x.to_bits()));
        words.push(*count as u64);
        words.extend([mass, density, enclosed].map(|x| x.to_bits()));
    }
    words
}

/// Decodes the next profile, if there is one.
fn unpacked(rest: &mut &[u64]) -> Option<(usize, u64, Option<f64>, Profile)> {
    let head = rest.split_off(..HEAD)?;
    let number = |at: usize| f64::from_bits(head[at]);
    let fit = (head[5] > 0).then(|| NfwFit {
        radius: number(6),
        radius_error: number(7),
        density: number(8),
        density_error: number(9),
        concentration: number(10),
        concentration_error: number(11),
        chi2: number(12),
        shells: head[5] as usize - 1,
    });
    let shells = rest.split_off(..SHELL * head[0] as usize)?.chunks_exact(SHELL);
    let shell = |words: &[u64]| {
        let number = |at: usize| f64::from_bits(words[at]);
        let (count, density) = (words[2] as usize, number(4));
        Shell { inner: number(0), outer: number(1), count, mass: number(3), density, enclosed: number(5) }
    };
    let profile = Profile { shells: shells.map(shell).collect(), resolved: number(4), fit };
    Some((head[1] as usize, head[2], (head[13] > 0).then_some(number(3)), profile))
}
