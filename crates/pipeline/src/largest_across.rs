//! The largest halos of all ranks: each stays with the rank that owns it, and rank 0 gets their profiles.

use ropewalk::Result;
use ropewalk::distributed::{Communicator, agree};
use ropewalk::halo::{Halos, NfwFit, Profile, Shell};
use ropewalk::internals::distributed::{all_gather_v, gather};

use crate::around::Asked;
use crate::largest::radii_of;
use crate::members_across::{Key, in_catalogue};
use crate::options::CenterKind;
use crate::{Across, Largest, Pipeline};

/// Those of the largest halos of all ranks that this one owns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LargestAcross {
    /// The halos, with members among those of this rank.
    pub own: Largest,
    /// Which of the largest of all each of them is, from 0.
    pub places: Vec<usize>,
    /// How many all ranks have.
    pub count: usize,
}

/// The profiles of the largest halos of all ranks, in the order of the catalogue.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LargestProfiles {
    /// Their tags.
    pub tags: Vec<u64>,
    /// As [`Largest::r200c`].
    pub r200c: Vec<Option<f64>>,
    /// Their profiles.
    pub profiles: Vec<Profile>,
}

impl Across<'_> {
    /// The first `count` halos of the catalogue: on each rank those that it owns, with their most bound particles and R200c, which is not
    /// known unless the options ask for overdensities or profiles. Collective.
    ///
    /// # Errors
    /// As [`Pipeline::largest`].
    pub fn largest(&self, ranks: &dyn Communicator, pipeline: &Pipeline<'_>, count: usize) -> Result<LargestAcross> {
        let owned = self.halos.owned();
        let mut keys = self.sorted_keys(ranks);
        keys.truncate(count);
        let (_, mut all) = all_gather_v(ranks, &keys)?.into_parts();
        all.sort_unstable_by_key(in_catalogue);
        all.truncate(count);

        let is_own = |key: &Key| key[3] == ranks.rank() as u64;
        let (places, own): (Vec<usize>, Vec<Key>) =
            all.iter().copied().enumerate().filter(|(_, key)| is_own(key)).unzip();
        let (mut offsets, mut members) = (vec![0], vec![]);
        for key in &own {
            members.extend_from_slice(owned.members(key[4] as usize));
            offsets.push(members.len());
        }
        let found = Halos::from_lists(self.halos.indices().len(), &offsets, &members)
            .and_then(|halos| Ok((pipeline.centers_of(&halos, CenterKind::MostBound)?, halos)));
        let (centers, halos) = agree(ranks, found)?;
        let r200c = match (pipeline.r200c, &self.around) {
            (Some(threshold), Some(around)) => {
                let (masses, thresholds) = (self.masses_of(&halos), [threshold]);
                let (centers, least) = ((&centers).into(), self.scales.linking_length);
                let asked = Asked { centers, masses: &masses, thresholds: &thresholds, least };
                radii_of(pipeline, &around.spheres(ranks, &asked)?)
            }
            _ => vec![None; halos.len()],
        };
        let tags = own.iter().map(|key| key[1]).collect();
        Ok(LargestAcross { own: Largest { halos, tags, centers, r200c }, places, count: all.len() })
    }

    /// The density profiles of the largest halos, as [`Pipeline::profiles`] has them, on rank 0; `None` on the others, and without
    /// overdensities or profiles in the options. Collective.
    ///
    /// # Errors
    /// As [`Pipeline::profiles`].
    pub fn profiles(
        &self,
        ranks: &dyn Communicator,
        pipeline: &Pipeline<'_>,
        largest: &LargestAcross,
    ) -> Result<Option<LargestProfiles>> {
        let Some(around) = &self.around else { return Ok(None) };
        let LargestAcross { own, places, count } = largest;
        let profiles = around.profiles(ranks, &(&own.centers).into(), &own.radii(), &pipeline.how_profiles())?;
        let rows = places.iter().zip(&own.tags).zip(own.r200c.iter().zip(&profiles));
        let packed: Vec<u64> =
            rows.flat_map(|((&place, &tag), (&r200c, profile))| packed(place, tag, r200c, profile)).collect();
        let (_, all) = gather(ranks, &packed, 0)?.into_parts();
        if ranks.rank() != 0 {
            return Ok(None);
        }
        let mut found = LargestProfiles {
            tags: vec![0; *count],
            r200c: vec![None; *count],
            profiles: vec![Profile::default(); *count],
        };
        let mut rest = &all[..];
        while let Some((place, tag, r200c, profile)) = unpacked(&mut rest) {
            (found.tags[place], found.r200c[place], found.profiles[place]) = (tag, r200c, profile);
        }
        Ok(Some(found))
    }
}

/// Words of a profile before its shells, and of a shell.
const HEAD: usize = 14;
const SHELL: usize = 6;

/// A profile as words: place, tag, R200c, resolved radius, fit, and shells.
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

/// The next profile, if there is one.
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
