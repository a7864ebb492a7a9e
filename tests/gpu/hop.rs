//! HOP on a device, compared with the CPU to the last bit: densities, chains, boundaries and halos.

use common::clouds::{self, Cloud};
use common::random::Random;
use ropewalk::cluster::{DensityKernel, DensityUnit, KernelDensity};
use ropewalk::gpu::{self, Coordinate, Device, Points};
use ropewalk::sample::Sample;
use ropewalk::{Bvh, ErrorKind, Hop};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn masses(n: usize) -> Vec<f64> {
    let mut random = Random::new(n as u64);
    (0..n).map(|i| if i % 5 == 0 { 0.0 } else { 0.1 + random.unit() }).collect()
}

fn compare_densities<S: Coordinate, const D: usize>(
    context: &str,
    ours: &gpu::Bvh<S, D>,
    theirs: &Bvh<S, D>,
    options: KernelDensity,
) {
    let found = gpu::KernelDensity::from(options.clone()).run_on(ours).unwrap().read().unwrap();
    let expected = options.run_on(theirs).unwrap();
    let differs = found.iter().zip(&expected).position(|(found, expected)| found.to_bits() != expected.to_bits());
    let first = differs.map(|i| (i, found[i], expected[i]));
    assert!(found.len() == expected.len() && first.is_none(), "{context}: {first:?}, {options:?}");
}

/// Compares chains, and halos for several thresholds.
fn compare_chains(context: &str, ours: &gpu::HopChains, theirs: &ropewalk::cluster::HopChains, options: &Hop) {
    let read = ours.read().unwrap();
    assert!(bits(read.density()) == bits(theirs.density()), "{context}: densities differ, {options:?}");
    assert!(read.chain() == theirs.chain(), "{context}: chains differ");
    assert_eq!(read.peaks(), theirs.peaks(), "{context}");
    assert!(read.boundaries() == theirs.boundaries(), "{context}: boundaries differ");
    assert!(read == *theirs, "{context}");
    assert_eq!((ours.len(), ours.n_chains(), ours.n_boundaries()), {
        (theirs.chain().len(), theirs.peaks().len(), theirs.boundaries().len())
    });
    let mut finite: Vec<f64> = theirs.density().iter().copied().filter(|d| (0.0..f64::INFINITY).contains(d)).collect();
    finite.sort_by(f64::total_cmp);
    let at = |part: usize| finite.get(finite.len() * part / 10).copied().unwrap_or(1.0);
    for (least, [outer, saddle, peak]) in
        [(1, [0.0, 0.0, 0.0]), (10, [at(1), at(5), at(8)]), (1, [at(5), at(9), at(9)]), (1, [at(9), 1e300, 1e305])]
    {
        let [saddle, peak] = [saddle.max(outer), peak.max(saddle).max(outer)];
        let hop = Hop::new(outer).delta_saddle(saddle).delta_peak(peak).min_members(least);
        let halos = gpu::Hop::from(hop.clone()).run_on_chains(ours).unwrap().read().unwrap();
        assert!(halos == hop.run_on_chains(theirs).unwrap(), "{context}: halos differ, {options:?}, {hop:?}");
    }
}

fn compare<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) {
    compare_in(cloud, &[None, Some(cloud.side)]);
}

/// Compares in open space and in periodic boxes of the given sides.
fn compare_in<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>, sides: &[Option<f64>]) {
    let n = cloud.points.len();
    for &side in sides {
        let theirs = Bvh::build_periodic(&cloud.points, side).unwrap();
        let ours = gpu::Bvh::build_periodic(&cloud.points, side, device()).unwrap();
        let context = format!("{}, {D} dimensions, {side:?}", cloud.name);
        let new =
            |n_density: usize| KernelDensity::new().n_density(n_density.min(n.saturating_sub(1)).max(1)).volume(1.0);
        if n != 1 {
            for kernel in [DensityKernel::Symmetric, DensityKernel::Gather, DensityKernel::TopHat] {
                compare_densities(&context, &ours, &theirs, new(12).kernel(kernel));
                compare_densities(&context, &ours, &theirs, new(30).kernel(kernel).masses(masses(n)));
            }
            for (n_density, n_hop, n_merge) in [(64, 64, 4), (12, 5, 1), (128, 16, 7)] {
                let [n_hop, n_merge] = [n_hop.min(n).max(1), n_merge.min(n.saturating_sub(1))];
                let density = new(n_density);
                let options = Hop::new(1.0).density(density).n_hop(n_hop).n_merge(n_merge);
                let chains = gpu::Hop::from(options.clone()).chains_on(&ours).unwrap();
                let context = format!("{context}, {n_density}, {n_hop}, {n_merge}");
                compare_chains(&context, &chains, &options.chains_on(&theirs).unwrap(), &options);
            }
        }
        // A field with many ties. With `n_hop` of n, all points are among the nearest.
        let field: Vec<f64> = (0..n).map(|i| (i * 7919 % 13) as f64 - 3.0).collect();
        for n_hop in [1, 3, n.max(1)] {
            if n_hop <= n.clamp(1, 128) {
                let options = Hop::new(0.0).n_hop(n_hop).n_merge(2.min(n.saturating_sub(1)));
                let chains = gpu::Hop::from(options.clone()).chains_with_density(&ours, &field).unwrap();
                let context = format!("{context}, a field, {n_hop}");
                compare_chains(&context, &chains, &options.chains_with_density(&theirs, &field).unwrap(), &options);
            }
        }
    }
}

/// Each cloud in one of the two spaces; the wide test has both.
#[test]
fn clouds_in_space() {
    for (i, cloud) in clouds::small::<f32, 3>().iter().enumerate() {
        compare_in(cloud, &[[None, Some(cloud.side)][i % 2]]);
    }
}

#[test]
#[ignore = "wide"]
fn wide_clouds() {
    clouds::small::<f32, 3>().iter().for_each(compare);
    clouds::small::<f32, 2>().iter().for_each(compare);
    clouds::small::<f64, 2>().iter().for_each(compare);
    clouds::small::<f64, 3>().iter().for_each(compare);
    compare(&clouds::clustered::<f64, 3>());
}

fn lattice(name: &'static str, n: usize, cells: usize) -> Cloud<f32, 3> {
    let mut random = Random::new(3);
    let points = (0..n).map(|_| std::array::from_fn(|_| random.below(cells) as f32)).collect();
    Cloud { name, points, radii: vec![], side: cells as f64 }
}

/// Ties: more points at equal distance than a thread stores, and copies.
#[test]
#[ignore = "wide"]
fn wide_lattices() {
    let shell = (0..300).map(|i| {
        let angle = i as f32 / 150.0;
        [angle.cos(), angle.sin()]
    });
    let points = shell.chain([[0.0f32; 2]; 3]).collect();
    compare::<f32, 2>(&Cloud { name: "about a centre", points, radii: vec![], side: 8.0 });
    compare(&lattice("lattice with copies", 600, 4));
    compare(&lattice("lattice", 1500, 12));
}

/// More copies than a leaf holds.
#[test]
fn lattices_and_copies() {
    compare(&lattice("crowded lattice", 900, 2));
}

/// From points to halos with default options; two runs are equal.
fn compare_halos(n: usize) {
    let points = Sample::parse(&format!("halos:n={n},seed=3")).unwrap().points().unwrap();
    for side in [None, Some(1.0)] {
        let there = Points::new_periodic(&points, side, device()).unwrap();
        for options in [Hop::new(80.0), Hop::new(20.0).n_hop(16).masses(masses(points.len()))] {
            let theirs = options.clone().periodic(side).run(&points).unwrap();
            assert!(theirs.len() > 5);
            let ours = || gpu::Hop::from(options.clone()).run(&there).unwrap().read().unwrap();
            assert!(ours() == theirs && ours() == theirs, "{side:?}");
            let ours = gpu::Hop::from(options.clone()).chains(&there).unwrap();
            let theirs = options.clone().periodic(side).chains(&points).unwrap();
            compare_chains(&format!("halos, {side:?}"), &ours, &theirs, &options);
        }
        let options = KernelDensity::new().unit(DensityUnit::Absolute);
        let theirs = options.clone().periodic(side).run(&points).unwrap();
        let ours = gpu::KernelDensity::from(options).run(&there).unwrap().read().unwrap();
        assert!(bits(&ours) == bits(&theirs));
    }
}

#[test]
fn halos() {
    compare_halos(5000);
}

#[test]
#[ignore = "wide"]
fn wide_halos() {
    compare_halos(20_000);
}

#[test]
fn bad_input() {
    let line: Vec<[f32; 2]> = (0..200).map(|i| [i as f32, 0.5 * i as f32]).collect();
    let there = Points::new(&line, device()).unwrap();
    let run = |options: Hop| gpu::Hop::from(options).run(&there).unwrap_err();
    for (options, name) in [
        (Hop::new(-1.0), "delta_outer"),
        (Hop::new(1.0).delta_peak(f64::NAN), "delta_peak"),
        (Hop::new(1.0).n_density(0), "n_density"),
        (Hop::new(1.0).n_density(200), "n_density"),
        (Hop::new(1.0).n_density(129), "n_density"),
        (Hop::new(1.0).n_hop(0), "n_hop"),
        (Hop::new(1.0).n_hop(201), "n_hop"),
        (Hop::new(1.0).n_hop(129), "n_hop"),
        (Hop::new(1.0).n_merge(200), "n_merge"),
        (Hop::new(1.0).n_merge(65), "n_merge"),
        (Hop::new(1.0).volume(0.0), "volume"),
        (Hop::new(1.0).masses(vec![0.0; 200]), "masses"),
    ] {
        let error = run(options);
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::Parameter, Some(name)), "{error}");
    }
    assert!(run(Hop::new(1.0).masses([1.0, 2.0])).to_string().contains("masses"));
    let top_hat = KernelDensity::new().kernel(DensityKernel::TopHat).masses(vec![1.0; 200]);
    let error = gpu::KernelDensity::from(top_hat.clone().n_density(65)).run(&there).unwrap_err();
    assert_eq!(error.parameter(), Some("n_density"), "{error}");
    assert!(gpu::KernelDensity::from(top_hat).run(&there).is_ok());
    let bvh = gpu::Bvh::from_points(&there).unwrap();
    assert!(
        gpu::Hop::new(1.0).chains_with_density(&bvh, &[1.0]).unwrap_err().to_string().contains("values of the field")
    );
    let error = gpu::Hop::new(1.0).chains_with_density(&bvh, &[f64::NAN; 200]).unwrap_err();
    assert_eq!(error.index(), Some(0), "{error}");
}
