//! Halos and centres on a device.

use ropewalk::cluster::Halos;
use ropewalk::gpu::{self, Coordinate, Device};
use ropewalk::{Error, ErrorKind, Result};

use super::group_set::OnDevice;
use super::shared::Processor;
use super::state::with_particles;
use super::{Finder, FoundHalos, Pipeline};

impl<'a> Pipeline<'a> {
    /// Finds the halos on a device. [`Pipeline::measure`] then finds their centres there, too, if they are of
    /// [`CenterKind::MostBound`](super::CenterKind::MostBound) or
    /// [`CenterKind::MostConnected`](super::CenterKind::MostConnected). Collective.
    ///
    /// Each of several ranks has a device, which finds the groups of its region and the centres of the halos that it
    /// owns. Ranks may share a device.
    ///
    /// # Errors
    /// - as [`Pipeline::find`]
    /// - [`Finder::AdaptaHop`], which runs on the CPU only; HOP on several ranks
    /// - a device that fails or has too little memory
    pub fn find_on(&self, device: Device) -> Result<FoundHalos<'a>> {
        if self.ranks.size() > 1 {
            return self.find_across(Processor::Device(device));
        }
        with_particles!(self, |positions, _particles| self.find_rows_on(positions, device))
    }

    fn find_rows_on<S: Coordinate>(&self, positions: &[[S; 3]], device: Device) -> Result<FoundHalos<'a>> {
        let points = gpu::Points::new_periodic(positions, self.whole.period, device)?;
        if !points.exceed_f32() {
            return self.find_among(points);
        }
        let wide = points.widened()?;
        drop(points);
        self.find_among(wide)
    }

    fn find_among<S: Coordinate>(&self, points: gpu::Points<S, 3>) -> Result<FoundHalos<'a>> {
        let (on_device, density) = match &self.options.finder {
            Finder::Hop(hop) => {
                let hop = gpu::Hop::from(self.with_particles_of(hop));
                let chains = hop.chains(&points)?;
                (hop.run_on_chains(&chains)?, Some(chains.density()?.read()?))
            }
            Finder::AdaptaHop { .. } => {
                return Err(Error::new(ErrorKind::Unsupported, "AdaptaHOP runs on the CPU, not on a device"));
            }
            Finder::FriendsOfFriends => {
                let fof = gpu::Fof::new(self.whole.scales.linking_length).min_members(self.options.min_members);
                (fof.run(&points)?, None)
            }
        };
        let halos = on_device.read()?;
        let centers = self.centers_of_groups(points, on_device);
        Ok(FoundHalos { density, on_device: Some(centers), ..FoundHalos::new(halos) })
    }

    /// Returns the function that finds the centres of some halos of the snapshot on a device.
    pub(super) fn centers_on(&self, halos: &Halos, device: Device) -> Result<OnDevice<'a>> {
        with_particles!(self, |positions, _particles| {
            let points = gpu::Points::new_periodic(positions, self.whole.period, device)?;
            let halos = gpu::Halos::upload(halos, device)?;
            if !points.exceed_f32() {
                return Ok(self.centers_of_groups(points, halos));
            }
            // The narrow points are freed here; the centres are found later.
            Ok(self.centers_of_groups(points.widened()?, halos))
        })
    }

    fn centers_of_groups<S: Coordinate>(&self, points: gpu::Points<S, 3>, halos: gpu::Halos) -> OnDevice<'a> {
        let masses = self.masses();
        Box::new(move |center| {
            let mut finder = gpu::CenterFinder::new(center);
            if let Some(masses) = masses {
                finder = finder.masses(masses);
            }
            finder.run(&points, &halos)
        })
    }
}
