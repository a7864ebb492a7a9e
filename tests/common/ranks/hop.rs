//! HOP halos and densities of points distributed over ranks, compared with one process byte for byte.

use std::sync::OnceLock;

use ropewalk::cluster::{DensityKernel, DensityUnit, HopChains};
use ropewalk::distributed::{Communicator, Domain, DomainOptions, Halos};
use ropewalk::{Bvh, Error, Hop, Scalar};

use super::clusters::owned_are;
use super::distributions::{Distribution, distributions};
use super::one_process::one_process_result;
use crate::clouds::{self, Cloud};
use crate::random::Random;

super::scenario::scenarios![
    hop_halos_of_clouds,
    hop_halos_in_f64,
    hop_halos_in_the_plane,
    hop_with_masses_and_other_kernels,
    hop_however_points_are_shared,
    hop_of_few_points,
    hop_of_a_field,
    hop_over_a_ridge_through_all_ranks,
    hop_halos_of_a_snapshot,
    hop_refusals_are_those_of_one_rank,
];

/// The result of one process, with thresholds that exclude some points, chains and boundaries.
struct OneProcess {
    hop: Hop,
    chains: HopChains,
    halos: ropewalk::Halos,
}

impl OneProcess {
    fn new(hop: &dyn Fn(f64) -> Hop, chains: HopChains) -> Self {
        let mut sorted: Vec<f64> = chains.density().iter().copied().filter(|density| density.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let quantile = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied().unwrap_or(0.0).max(0.0);
        let hop = hop(quantile(0.2)).delta_saddle(quantile(0.6)).delta_peak(quantile(0.8)).min_members(3);
        let halos = hop.run_on_chains(&chains).unwrap();
        Self { hop, chains, halos }
    }

    fn is(&self, ranks: &dyn Communicator, found: &Halos, range: std::ops::Range<usize>, context: &str) {
        let bits = |density: &[f64]| density.iter().map(|density| density.to_bits()).collect::<Vec<_>>();
        let expected = bits(&self.chains.density()[range.clone()]);
        assert_eq!(found.density().map(bits), Some(expected), "{context}");
        let own: Vec<i64> = self.halos.labels().as_slice()[range].iter().map(|&label| label.into()).collect();
        assert_eq!(found.labels().as_slice(), own, "{context}");
        assert_eq!(found.labels().n_clusters(), self.halos.labels().n_clusters() as u64, "{context}");
        owned_are(ranks, found, &self.halos, context);
    }
}

/// Finds the halos of distributed points, each with its mass.
fn compare<S: Scalar, const D: usize>(
    ranks: &dyn Communicator,
    points: &[[S; D]],
    masses: Option<&[f64]>,
    hop: &dyn Fn(f64) -> Hop,
    shares: &[Distribution],
    context: &str,
) {
    let with = |range: std::ops::Range<usize>, hop: Hop| match masses {
        Some(masses) => hop.masses(&masses[range]),
        None => hop,
    };
    let found = one_process_result(points, (context, hop(0.0)), || {
        let chains = with(0..points.len(), hop(0.0)).chains(points)?;
        Ok::<_, Error>(OneProcess::new(&|outer| with(0..points.len(), hop(outer)), chains))
    });
    let known = match &*found {
        Ok(known) => known,
        Err(error) => {
            // All ranks have the error of one process.
            let range = Distribution::Even.of(points.len(), ranks);
            let told = with(range.clone(), hop(0.0)).run_across(ranks, &points[range]).unwrap_err().to_string();
            assert!(told == error.to_string() || told == format!("rank 0: {error}"), "{context}: {told}, not {error}");
            return;
        }
    };
    for share in shares {
        let range = share.of(points.len(), ranks);
        let hop = match masses {
            Some(masses) => known.hop.clone().masses(&masses[range.clone()]),
            None => known.hop.clone(),
        };
        let found = hop.run_across(ranks, &points[range.clone()]).unwrap();
        known.is(ranks, &found, range, &format!("{context}, {share:?}"));
    }
}

/// The numbers of neighbours for density, chains and boundaries.
type Counts = (usize, usize, usize);

fn halos<S: Scalar, const D: usize>(
    ranks: &dyn Communicator,
    clouds: &[Cloud<S, D>],
    counts: &[Counts],
    shares: &[Distribution],
) {
    for cloud in clouds {
        for side in [None, Some(cloud.side)] {
            for &(n_density, n_hop, n_merge) in counts {
                let hop = |outer: f64| {
                    Hop::new(outer).n_density(n_density).n_hop(n_hop).n_merge(n_merge).volume(1.0).periodic(side)
                };
                let context = format!("{}, {side:?}, {n_density}, {n_hop}, {n_merge}", cloud.name);
                compare(ranks, &cloud.points, None, &hop, shares, &context);
            }
        }
    }
}

fn hop_halos_of_clouds(ranks: &dyn Communicator) {
    halos::<f32, 3>(ranks, &clouds::small(), &[(16, 16, 4)], &[Distribution::Even]);
}

fn hop_halos_in_f64(ranks: &dyn Communicator) {
    halos::<f64, 3>(ranks, &clouds::small(), &[(7, 9, 2)], &[Distribution::OneEmpty]);
}

fn hop_halos_in_the_plane(ranks: &dyn Communicator) {
    halos::<f32, 2>(ranks, &clouds::small(), &[(20, 1, 8)], &[Distribution::Uneven]);
    halos::<f64, 2>(ranks, &[clouds::whole_lattice(), clouds::clustered()], &[(7, 9, 2)], &[Distribution::First]);
}

fn masses(n: usize) -> Vec<f64> {
    let mut random = Random::new(3);
    (0..n).map(|at| if at % 17 == 0 { 0.0 } else { random.unit() * 10f64.powi(at as i32 % 5) }).collect()
}

fn hop_with_masses_and_other_kernels(ranks: &dyn Communicator) {
    let clouds: [Cloud<f32, 3>; 4] =
        [clouds::whole_lattice(), clouds::clustered(), clouds::plummer(), clouds::thousandfold()];
    for cloud in &clouds {
        let masses = masses(cloud.points.len());
        for kernel in [DensityKernel::Symmetric, DensityKernel::Gather, DensityKernel::TopHat] {
            for (unit, side) in [(DensityUnit::Mean, None), (DensityUnit::Absolute, Some(cloud.side))] {
                for masses in [None, Some(&masses[..])] {
                    let hop = |outer: f64| {
                        let density = ropewalk::cluster::KernelDensity::new().kernel(kernel).unit(unit).periodic(side);
                        Hop::new(outer).density(density.n_density(12)).n_hop(14)
                    };
                    let context = format!("{}, {kernel:?}, {unit:?}, {}", cloud.name, masses.is_some());
                    compare(ranks, &cloud.points, masses, &hop, &[Distribution::Uneven], &context);
                }
            }
        }
    }
}

/// The result does not depend on the distribution of points: by count, by weight, or unchanged.
fn hop_however_points_are_shared(ranks: &dyn Communicator) {
    for cloud in [clouds::clustered::<f32, 3>(), clouds::whole_lattice(), clouds::thousandfold()] {
        let hop = |outer: f64| Hop::new(outer).n_density(12).n_hop(12).volume(1.0).periodic(cloud.side);
        let known = one_process_result(&cloud.points, hop(0.0), || {
            OneProcess::new(&hop, hop(0.0).chains(&cloud.points).unwrap())
        });
        for share in distributions() {
            let range = share.of(cloud.points.len(), ranks);
            let points = &cloud.points[range.clone()];
            let weights: Vec<f64> = range.clone().map(|point| (point % 10) as f64).collect();
            let domains = [
                DomainOptions::new().periodic(cloud.side).distribute(ranks, points),
                DomainOptions::new().periodic(cloud.side).weights(&weights).distribute(ranks, points),
                DomainOptions::new().periodic(cloud.side).in_place().distribute(ranks, points),
            ];
            for (which, domain) in domains.into_iter().enumerate() {
                let found = known.hop.run_on_domain(&domain.unwrap()).unwrap();
                known.is(ranks, &found, range.clone(), &format!("{}, {share:?}, {which}", cloud.name));
            }
        }
    }
}

/// Numbers of points that equal the number of neighbours, or are so small that each rank has fewer.
fn hop_of_few_points(ranks: &dyn Communicator) {
    for n in [0, 1, 2, 5, 11] {
        let cloud: Cloud<f64, 2> = clouds::uniform("few", n, 0.0, 1.0, &[], 1.0);
        for (n_density, n_hop, n_merge) in
            [(1, 1, 0), (1, n, 0), (n.saturating_sub(1), n, n.saturating_sub(1)), (5, 5, 4)]
        {
            for kernel in [DensityKernel::Symmetric, DensityKernel::TopHat] {
                let density = ropewalk::cluster::KernelDensity::new().kernel(kernel).n_density(n_density).volume(1.0);
                let hop = |outer: f64| Hop::new(outer).density(density.clone()).n_hop(n_hop).n_merge(n_merge);
                let context = format!("{n} points, {n_density}, {n_hop}, {n_merge}, {kernel:?}");
                compare(ranks, &cloud.points, None, &hop, &[Distribution::Even, Distribution::First], &context);
            }
        }
    }
}

fn hop_of_a_field(ranks: &dyn Communicator) {
    for cloud in [clouds::clustered::<f32, 3>(), clouds::whole_lattice()] {
        let mut random = Random::new(11);
        // A field with many ties and with negative values.
        let field: Vec<f64> = cloud.points.iter().map(|_| random.below(9) as f64 - 2.0).collect();
        for n_hop in [1, 10, cloud.points.len()] {
            let hop = |outer: f64| Hop::new(outer).n_hop(n_hop).n_merge(5);
            let known = one_process_result(&cloud.points, (&field, hop(0.0)), || {
                let tree = Bvh::build_periodic(&cloud.points, cloud.side).unwrap();
                OneProcess::new(&hop, hop(0.0).chains_with_density(&tree, &field).unwrap())
            });
            let range = Distribution::Uneven.of(cloud.points.len(), ranks);
            let domain =
                DomainOptions::new().periodic(cloud.side).distribute(ranks, &cloud.points[range.clone()]).unwrap();
            let found = known.hop.run_on_domain_with_density(&domain, &field[range.clone()]).unwrap();
            known.is(ranks, &found, range, &format!("{}, {n_hop}", cloud.name));
        }
    }
}

/// A chain that passes through all regions several times: a field that increases along a winding line.
fn hop_over_a_ridge_through_all_ranks(ranks: &dyn Communicator) {
    let n = 3000;
    let at = |i: usize| {
        let (row, column) = (i / 60, i % 60);
        [if row % 2 == 0 { column } else { 59 - column } as f32, row as f32 * 1.5]
    };
    let points: Vec<[f32; 2]> = (0..n).map(|i| at(i * 1013 % n)).collect();
    for period in [n, 700] {
        let field: Vec<f64> = (0..n).map(|i| (i * 1013 % n % period) as f64).collect();
        let hop = |outer: f64| Hop::new(outer).n_hop(3).n_merge(4);
        let known = one_process_result(&points, (period, hop(0.0)), || {
            OneProcess::new(&hop, hop(0.0).chains_with_density(&Bvh::build(&points).unwrap(), &field).unwrap())
        });
        for share in [Distribution::Even, Distribution::OneEmpty] {
            let range = share.of(n, ranks);
            for options in [DomainOptions::new(), DomainOptions::new().in_place()] {
                let domain = options.distribute(ranks, &points[range.clone()]).unwrap();
                let found = known.hop.run_on_domain_with_density(&domain, &field[range.clone()]).unwrap();
                known.is(ranks, &found, range.clone(), &format!("period {period}, {share:?}"));
            }
        }
    }
}

fn hop_halos_of_a_snapshot(ranks: &dyn Communicator) {
    static ONE_PROCESS: OnceLock<(Cloud<f32, 3>, OneProcess)> = OnceLock::new();
    let (cloud, known) = ONE_PROCESS.get_or_init(|| {
        let cloud: Cloud<f32, 3> = clouds::snapshot().unwrap();
        let chains = Hop::new(0.0).chains(&cloud.points).unwrap();
        let known = OneProcess::new(&|outer| Hop::new(outer), chains);
        (cloud, known)
    });
    for share in [Distribution::Even, Distribution::Uneven] {
        let range = share.of(cloud.points.len(), ranks);
        let found = known.hop.run_across(ranks, &cloud.points[range.clone()]).unwrap();
        known.is(ranks, &found, range, "snapshot");
    }
}

fn hop_refusals_are_those_of_one_rank(ranks: &dyn Communicator) {
    let points: Vec<[f64; 2]> = (0..40).map(|i| [f64::from(i), f64::from(i * i % 7)]).collect();
    let range = Distribution::Even.of(40, ranks);
    let own = &points[range.clone()];
    let refused = |hop: &Hop| {
        let one = hop.run(&points).unwrap_err().to_string();
        let told = hop.run_across(ranks, own).unwrap_err().to_string();
        assert!(told == one || told == format!("rank 0: {one}"), "{told}, not {one}");
    };
    let small = Hop::new(1.0).n_density(6).n_hop(6);
    refused(&small.clone().n_hop(0));
    refused(&small.clone().n_hop(41));
    refused(&small.clone().n_merge(40));
    refused(&small.clone().n_density(0));
    refused(&small.clone().n_density(40));
    refused(&small.clone().delta_peak(0.5));
    refused(&small.clone().volume(-1.0));
    refused(&Hop::new(f64::NAN));
    let across = |hop: &Hop| hop.run_across(ranks, own).unwrap_err().to_string();
    assert!(across(&small.clone().masses(vec![1.0; own.len() + 1])).contains("masses"));
    assert!(across(&small.clone().masses(vec![-1.0; own.len()])).contains("mass"));
    assert!(small.run_across(ranks, &own.iter().map(|p| [p[0]]).collect::<Vec<_>>()).is_err());
    let domain = Domain::new(ranks, own).unwrap();
    assert!(small.run_on_domain_with_density(&domain, &vec![f64::NAN; own.len()]).is_err());
    if ranks.size() > 1 {
        let one = if ranks.rank() == 1 { small.clone().n_merge(3) } else { small.clone() };
        assert!(across(&one).contains("n_merge is 3 on rank 1"));
        let one = if ranks.rank() == 1 { small.clone().masses(vec![1.0; own.len()]) } else { small.clone() };
        assert!(across(&one).contains("only some ranks pass masses"));
    }
}
