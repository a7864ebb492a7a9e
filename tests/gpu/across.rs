//! Groups of points across ranks with devices, compared with one process. Here all ranks use the same device.

use common::clouds::{self, Cloud};
use common::ranks::clusters::owned_are;
use common::ranks::distributions::{Distribution, distributions};
use ropewalk::distributed::{Communicator, DomainOptions, on_threads};
use ropewalk::gpu::{self, Bvh, Coordinate, Device};
use ropewalk::halo::Overdensity;
use ropewalk::{ErrorKind, Fof};
use ropewalk_io::{Masses, Points, Snapshot, Table};
use ropewalk_pipeline::{CenterKind, LinkingLength, Options, Pipeline};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

fn compare<S: Coordinate, const D: usize>(ranks: &dyn Communicator, cloud: &Cloud<S, D>, shares: &[Distribution]) {
    let n = cloud.points.len();
    for &radius in &cloud.radii {
        for space in [None, Some(cloud.side)].into_iter().filter(|side| side.is_none_or(|side| side >= 2.0 * radius)) {
            let expected = Fof::new(radius).min_members(3).periodic(space).run(&cloud.points).unwrap();
            let of = |indices: &mut dyn Iterator<Item = u64>| -> Vec<i32> {
                indices.map(|index| expected.labels().as_slice()[index as usize]).collect()
            };
            let fof = gpu::Fof::new(radius).min_members(3);
            for share in shares {
                let range = share.of(n, ranks);
                let points = &cloud.points[range.clone()];
                let context = format!("{}, radius {radius}, {space:?}, {share:?}, {} ranks", cloud.name, ranks.size());
                let halos = fof.run_across(ranks, points, space, device()).unwrap();
                let own = of(&mut range.map(|index| index as u64));
                assert!(halos.labels().as_slice().iter().copied().eq(own.into_iter().map(i64::from)), "{context}");
                owned_are(ranks, &halos, &expected, &context);
                for domain in [
                    DomainOptions::new().periodic(space).distribute(ranks, points).unwrap(),
                    DomainOptions::new().periodic(space).in_place().distribute(ranks, points).unwrap(),
                ] {
                    let own = match space {
                        None => gpu::Points::new(domain.points(), device()),
                        Some(side) => gpu::Points::new_periodic(domain.points(), side, device()),
                    };
                    let labels = fof
                        .labels_on_domain(&domain, &Bvh::from_points(&own.unwrap()).unwrap())
                        .unwrap()
                        .read()
                        .unwrap();
                    assert_eq!(labels.as_slice(), of(&mut domain.indices().iter().copied()), "{context}");
                    assert_eq!(labels.n_clusters(), expected.labels().n_clusters(), "{context}");
                }
            }
        }
    }
}

#[test]
#[ignore = "wide"]
fn wide_groups_across_ranks() {
    on_threads(7, |ranks| {
        compare(ranks, &clouds::clustered::<f32, 2>(), &[Distribution::Even]);
        Ok(())
    })
    .unwrap();
    on_threads(3, |ranks| {
        for cloud in clouds::small::<f32, 3>() {
            compare(ranks, &cloud, &[Distribution::Uneven]);
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn groups_of_one_and_two_ranks() {
    for size in [1, 2] {
        on_threads(size, |ranks| {
            let shares = if size == 2 { &distributions()[..] } else { &[Distribution::Even] };
            compare(ranks, &clouds::clustered::<f32, 2>(), shares);
            Ok(())
        })
        .unwrap();
    }
}

#[test]
#[ignore = "wide"]
fn wide_groups_in_f64() {
    on_threads(2, |ranks| {
        compare(ranks, &clouds::clustered::<f64, 3>(), &[Distribution::Even]);
        Ok(())
    })
    .unwrap();
}

/// The catalogue of a snapshot, with most bound particles and with spheres.
#[test]
fn halos_of_a_snapshot() {
    let cloud: Cloud<f32, 3> = clouds::clustered();
    let part = |range: std::ops::Range<usize>| {
        let points = Points::F32(Table::new(3, cloud.points[range].concat()).unwrap());
        let mut part = Snapshot::new(points);
        (part.box_size, part.masses) = (Some(cloud.side), Masses::Equal(1.0));
        part
    };
    let mut options = Options::default();
    (options.linking_length, options.min_members) = (LinkingLength::Length(cloud.radii[0]), 2);
    options.universe.units.length = Some("Mpc/h".parse().unwrap());
    options.universe.units.mass = Some("1e10 Msun/h".parse().unwrap());
    (options.universe.omega_m, options.universe.redshift) = (Some(0.3), Some(0.5));
    for overdensities in [vec![], vec![Overdensity::Mean(2.0)]] {
        options.overdensities = overdensities;
        let expected = ropewalk_pipeline::run(&part(0..cloud.points.len()), &options).unwrap();
        let found = on_threads(3, |ranks| {
            let part = part(Distribution::Even.of(cloud.points.len(), ranks));
            let pipeline = Pipeline::across(ranks, &part, &options)?;
            let found = pipeline.find_on(device())?;
            pipeline.gather(&found, &pipeline.measure(&found)?)
        })
        .unwrap();
        assert!(!expected.catalog.halos().is_empty());
        // Compared as text, since NaN is not equal to itself.
        assert_eq!(format!("{:?}", found[0].as_ref().unwrap().catalog), format!("{:?}", expected.catalog));
    }
}

/// The same in units whose squares leave the range of `f32`, on one rank and on several, with most bound particles.
#[test]
fn halos_in_other_units() {
    let unit = 2f32.powi(80);
    let cloud: Cloud<f32, 3> = clouds::clustered();
    let part = |range: std::ops::Range<usize>| {
        let points: Vec<f32> = cloud.points[range].as_flattened().iter().map(|x| unit * x).collect();
        let mut part = Snapshot::new(Points::F32(Table::new(3, points).unwrap()));
        (part.box_size, part.masses) = (Some(f64::from(unit) * cloud.side), Masses::Equal(1.0));
        part
    };
    let mut options = Options::default();
    options.linking_length = LinkingLength::Length(f64::from(unit) * cloud.radii[0]);
    (options.min_members, options.center) = (2, Some(CenterKind::MostBound));
    let expected = ropewalk_pipeline::run(&part(0..cloud.points.len()), &options).unwrap();
    assert!(expected.catalog.halos().len() > 2);
    // With all points on one of two ranks, the other has none to convert.
    for (size, share) in [(1, Distribution::Even), (2, Distribution::Even), (2, Distribution::First)] {
        let found = on_threads(size, |ranks| {
            let part = part(share.of(cloud.points.len(), ranks));
            let pipeline = Pipeline::across(ranks, &part, &options)?;
            let found = pipeline.find_on(device())?;
            pipeline.gather(&found, &pipeline.measure(&found)?)
        })
        .unwrap();
        let found = &found[0].as_ref().unwrap().catalog;
        assert_eq!(format!("{found:?}"), format!("{:?}", expected.catalog), "{size} ranks, {share:?}");
    }
}

#[test]
fn a_tree_of_other_points_is_refused() {
    let refused = |of: &(dyn Fn(usize) -> usize + Sync), side: Option<f64>| {
        on_threads(2, |ranks| {
            let domain = DomainOptions::new().in_place().distribute(ranks, &[[1.0f32, 1.0], [2.0, 2.0]])?;
            let points = &domain.points()[..of(ranks.rank())];
            let own = side.map_or_else(
                || gpu::Points::new(points, device()),
                |side| gpu::Points::new_periodic(points, side, device()),
            );
            let found = gpu::Fof::new(1.0).labels_on_domain(&domain, &Bvh::from_points(&own?)?);
            Ok(found.map(drop).unwrap_err().kind())
        })
        .unwrap()
    };
    // An error on one of the two ranks, and errors on all ranks for another space.
    assert_eq!(refused(&|rank| 2 - rank, None), [ErrorKind::Parameter; 2]);
    assert_eq!(refused(&|_| 2, Some(9.0)), [ErrorKind::Parameter; 2]);
}
