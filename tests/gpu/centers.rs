//! Halos and their centres on a device, compared with the CPU, whose results are tested elsewhere.
//!
//! Each case specifies where its centres are computed, so that no test of the device passes on the CPU.

use common::random::Random;
use ropewalk::gpu::{CenterFinder, Coordinate, Device, Halos, Points};
use ropewalk::halo::Centers;
use ropewalk::sample::Sample;
use ropewalk::{Center, Fof, Labels};
use ropewalk_io::{Masses, Snapshot, Table};
use ropewalk_pipeline::{CenterKind, FoundHalos, LinkingLength, Options, Pipeline};

const MBP: Center = Center::MostBound { softening: 0.0 };

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// Returns the values that must be equal.
fn rows(centers: &Centers) -> Vec<impl PartialEq + std::fmt::Debug> {
    let row = |row: &ropewalk::halo::HaloCenter| {
        let position = row.position.map(f64::to_bits);
        (position, row.missing, row.member, row.potential, row.coincident, row.friends, row.ties)
    };
    centers.as_slice().iter().map(row).collect()
}

/// A grouping of points, in open space or in a periodic box.
struct Case<'a, S> {
    points: &'a [[S; 3]],
    halos: &'a ropewalk::Halos,
    side: Option<f64>,
    masses: Option<&'a [f64]>,
}

impl<S: Coordinate> Case<'_, S> {
    fn there(&self) -> (Points<S, 3>, Halos) {
        let points = match self.side {
            Some(side) => Points::new_periodic(self.points, side, device()).unwrap(),
            None => Points::new(self.points, device()).unwrap(),
        };
        (points, Halos::upload(self.halos, device()).unwrap())
    }

    fn traced(&self, center: Center) -> ropewalk::Result<(Centers, Vec<bool>)> {
        let (points, halos) = self.there();
        let finder = CenterFinder::new(center);
        let finder = if let Some(masses) = self.masses { finder.masses(masses) } else { finder };
        finder.run_traced(&points, &halos).map(|traced| (traced.centers, traced.on_device))
    }

    fn on_device(&self, center: Center) -> ropewalk::Result<Centers> {
        self.traced(center).map(|(centers, _)| centers)
    }

    fn on_host(&self, center: Center) -> ropewalk::Result<Centers> {
        let finder = ropewalk::halo::CenterFinder::new(center);
        let finder = if let Some(side) = self.side { finder.periodic(side) } else { finder };
        let finder = if let Some(masses) = self.masses { finder.masses(masses) } else { finder };
        finder.run(self.points, self.halos)
    }

    /// Returns `true` if a halo may be half as wide as the box: if a member is at least a quarter of it away from the
    /// first one.
    fn may_be_wide(&self, halo: usize) -> bool {
        let position = |&member: &u32| self.points[member as usize].map(Into::<f64>::into);
        let members = self.halos.members(halo);
        let first = position(&members[0]);
        self.side.is_some_and(|side| {
            members.iter().map(position).any(|at| {
                (0..3).any(|k| {
                    let gap = (at[k] - first[k]).abs();
                    gap.min(side - gap) >= 0.25 * side
                })
            })
        })
    }

    /// Asserts that the device computes the centre of every halo, with the CPU's results. Exceptions are most bound
    /// particles of halos that may be too wide.
    #[track_caller]
    fn agree(&self, name: &str, center: Center) {
        let is_bound = matches!(center, Center::MostBound { .. });
        let on_device: Vec<bool> = (0..self.halos.len()).map(|halo| !(is_bound && self.may_be_wide(halo))).collect();
        self.agree_at(name, center, &on_device);
    }

    /// Asserts equal results for numbers that the device leaves to the CPU.
    #[track_caller]
    fn agree_on_host(&self, name: &str, center: Center) {
        self.agree_at(name, center, &vec![false; self.halos.len()]);
    }

    /// Asserts equal results, and that the device computes the centres of the flagged halos.
    #[track_caller]
    fn agree_at(&self, name: &str, center: Center, on_device: &[bool]) {
        match (self.traced(center), self.on_host(center)) {
            (Ok((ours, computed)), Ok(mut theirs)) => {
                assert_eq!(computed, on_device, "{name}, {center:?}: which halos are the device's");
                // With softening, the CPU rules out members before all of their pairs at distance 0 are counted.
                if let Center::MostBound { softening } = center
                    && softening > 0.0
                {
                    theirs = self.on_host(Center::MostBoundBrute { softening }).unwrap();
                }
                for (halo, (ours, theirs)) in rows(&ours).iter().zip(rows(&theirs)).enumerate() {
                    assert_eq!(*ours, theirs, "{name}, halo {halo} of {}, {center:?}", self.halos.members(halo).len());
                }
                assert_eq!(ours.len(), theirs.len());
                assert!(ours.evaluated_fraction() > 0.0 || theirs.evaluated_fraction() == 0.0);
            }
            (ours, theirs) => {
                let message = |error: Option<ropewalk::Error>| error.map(|error| error.to_string());
                assert_eq!(message(ours.err()), message(theirs.err()), "{name}");
            }
        }
    }
}

fn whole(n: usize) -> ropewalk::Halos {
    ropewalk::Halos::new(Labels::from_slice(&vec![0; n]).unwrap(), 1)
}

fn in_f64(points: &[[f32; 3]]) -> Vec<[f64; 3]> {
    points.iter().map(|point| point.map(f64::from)).collect()
}

/// Returns masses over several powers of ten.
fn some_masses(n: usize) -> Vec<f64> {
    let mut random = Random::new(4);
    (0..n).map(|_| 10f64.powf(4.0 * random.unit() - 2.0)).collect()
}

#[test]
fn samples() {
    for spec in ["halos:n=2e4,seed=9", "halos:n=2e4,seed=3,box=100,background=0.1", "nfw:n=3000", "uniform:n=3000"] {
        let sample = Sample::parse(spec).unwrap();
        let points = sample.points().unwrap();
        let doubles = in_f64(&points);
        let masses = some_masses(points.len());
        let length = 0.2 * sample.side() / (points.len() as f64).cbrt();
        for side in [None, Some(sample.side())] {
            let fof = Fof::new(length);
            let fof = if let Some(side) = side { fof.periodic(side) } else { fof };
            let halos = &fof.run(&points).unwrap();
            let case = Case { points: &points, halos, side, masses: None };
            case.agree(spec, MBP);
            case.agree(spec, Center::MostBound { softening: 0.1 * length });
            let doubles = Case { points: &doubles, halos, side, masses: Some(&masses) };
            doubles.agree(spec, MBP);
            doubles.agree(spec, Center::MostBound { softening: 0.1 * length });
            for linking_length in [0.0, length, 0.3 * length, 10.0 * length] {
                case.agree(spec, Center::MostConnected { linking_length });
                doubles.agree(spec, Center::MostConnected { linking_length });
            }
        }
    }
}

#[test]
#[ignore = "wide"]
fn wide_shapes_of_all_sizes() {
    let mut random = Random::new(5);
    for n in [1, 2, 3, 9, 100, 1300] {
        for (shape, points) in crate::shapes::all(&mut random, n) {
            if points.is_empty() {
                continue;
            }
            let halos = &whole(points.len());
            let masses = some_masses(points.len());
            let name = format!("{n} points, {shape}");
            for softening in [0.0, 1e-3, 0.5] {
                for masses in [None, Some(masses.as_slice())] {
                    let case = Case { points: &points, halos, side: None, masses };
                    case.agree(&name, Center::MostBound { softening });
                }
            }
            let case = Case { points: &points, halos, side: None, masses: None };
            for linking_length in [0.0, 0.2, 1.0, 100.0] {
                case.agree(&name, Center::MostConnected { linking_length });
            }
            let singles: Vec<[f32; 3]> = points.iter().map(|point| point.map(|x| x as f32)).collect();
            Case { points: &singles, halos, side: None, masses: None }.agree(&name, MBP);
        }
    }
}

/// Halos across the faces of the box, with sides that `f32` does and does not represent exactly.
#[test]
fn across_the_border() {
    for side in [1.0, 0.7, 3.3] {
        let points = Sample::parse("nfw:n=2000").unwrap().points().unwrap();
        // A clump of a fifth of the box around its corner.
        let around = |point: &[f32; 3]| point.map(|x| ((f64::from(x) - 0.5) * 0.2 * side).rem_euclid(side) as f32);
        let points: Vec<[f32; 3]> = points.iter().map(around).collect();
        let halos = &whole(points.len());
        Case { points: &points, halos, side: Some(side), masses: None }.agree("f32", MBP);
        let doubles = in_f64(&points);
        Case { points: &doubles, halos, side: Some(side), masses: None }.agree("f64", MBP);
        // If the whole periodic box is one halo, it has only a most connected particle.
        let everywhere = points.iter().map(|point| point.map(|x| (3.0 * x).rem_euclid(side as f32)));
        let everywhere: Vec<[f32; 3]> = everywhere.collect();
        for points in [points, everywhere] {
            let case = Case { points: &points, halos, side: Some(side), masses: None };
            for length in [0.01, 0.1, 0.5] {
                case.agree("connected", Center::MostConnected { linking_length: length * side });
            }
        }
    }
}

/// Halos that are not ordered by size, with some ungrouped points.
#[test]
fn halos_from_elsewhere() {
    let points = Sample::parse("uniform:n=5000,seed=2").unwrap().points().unwrap();
    let members: Vec<u32> = (0..4800).map(|i| i * 37 % 5000).collect();
    let halos = &ropewalk::Halos::from_lists(5000, &[0, 3, 1503, 1504, 2000, 4800], &members).unwrap();
    let case = Case { points: &points, halos, side: None, masses: None };
    case.agree("lists", MBP);
    assert_eq!(case.there().1.read().unwrap(), *halos);
    let none = &ropewalk::Halos::new(Labels::from_slice(&[-1; 5000]).unwrap(), 1);
    Case { points: &points, halos: none, side: None, masses: None }.agree("no halos", MBP);
    let empty: &[[f32; 3]] = &[];
    Case { points: empty, halos: &whole(0), side: None, masses: None }.agree("no points", MBP);
}

/// Numbers out of the range of `f32`.
#[test]
fn extreme_numbers() {
    let points = crate::shapes::plummer(&mut Random::new(8), 700);
    let halos = &whole(points.len());
    for scale in [2f64.powi(-400), 1e-40, 1e-20, 1e20, 1e40, 2f64.powi(400)] {
        let points: Vec<[f64; 3]> = points.iter().map(|point| point.map(|x| x * scale)).collect();
        for mass in [1e-200, 1e-20, 1e20, 1e200] {
            let masses: Vec<f64> = some_masses(points.len()).iter().map(|x| x * mass).collect();
            let case = Case { points: &points, halos, side: None, masses: Some(&masses) };
            let fits = [scale, mass].iter().all(|x| (1e-100..1e100).contains(x));
            case.agree_at(&format!("{scale}, {mass}"), MBP, &[fits]);
        }
    }
    let far: Vec<[f64; 3]> = points.iter().map(|point| point.map(|x| x + 4096.0)).collect();
    Case { points: &far, halos, side: None, masses: None }.agree("far away", MBP);
    let mut odd = points.clone();
    odd[5] = [1e-200, 0.0, 0.0];
    odd[6] = [0.0, 5e-324, 0.0];
    odd[7] = [0.0; 3];
    Case { points: &odd, halos, side: None, masses: None }.agree_on_host("denormals", MBP);
    let mut masses = vec![1.0; points.len()];
    masses[3] = 1e-30;
    Case { points: &points, halos, side: None, masses: Some(&masses) }.agree_on_host("light", MBP);
    // The device computes centres if the extent is at most 1e30 times the smallest nonzero coordinate, and within a
    // factor of 1e15 of the softening.
    for (close, fits) in [(1e-100, false), (1e-25, true)] {
        let mut pair = vec![[50.0, 0.0, 0.0], [50.0, 0.0, close], [50.0, 1e-6, 0.0], [50.0, 1e-14, 1e-13]];
        pair.extend(&points);
        for (softening, in_range) in [(0.0, true), (1e-20, false), (1e-3, true), (1e3, true), (1e30, false)] {
            let halos = &whole(pair.len());
            let case = Case { points: &pair, halos, side: None, masses: None };
            case.agree_at(&format!("a pair at {close}"), Center::MostBound { softening }, &[fits && in_range]);
        }
    }
}

#[test]
fn twenty_runs_are_one() {
    let points = Sample::parse("halos:n=20000,seed=9").unwrap().points().unwrap();
    let halos = &Fof::new(0.01).run(&points).unwrap();
    let case = Case { points: &points, halos, side: None, masses: None };
    let (points, halos) = case.there();
    let first = halos.centers(&points, MBP).unwrap();
    assert!(CenterFinder::new(MBP).run_traced(&points, &halos).unwrap().on_device.iter().all(|&there| there));
    for _ in 1..20 {
        assert!(halos.centers(&points, MBP).unwrap() == first);
    }
}

/// The bounds leave few members to sum up.
#[test]
fn few_survive() {
    let points = Sample::parse("nfw:n=2e4").unwrap().points().unwrap();
    let halos = &whole(points.len());
    let case = Case { points: &points, halos, side: None, masses: None };
    case.agree("nfw", MBP);
    let fraction = case.on_device(MBP).unwrap().evaluated_fraction();
    assert!(fraction < 0.25, "{fraction}");
}

#[test]
fn bad_input() {
    let says = |error: ropewalk::Error, words: &[&str]| {
        let message = error.to_string();
        assert!(words.iter().all(|word| message.contains(word)), "'{message}' does not say {words:?}");
    };
    let points = [[0.5f64, 1.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 1.0]];
    fn case<'a>(points: &'a [[f64; 3]], halos: &'a ropewalk::Halos, masses: Option<&'a [f64]>) -> Case<'a, f64> {
        Case { points, halos, side: None, masses }
    }
    let three = &whole(3);
    for mass in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        case(&points, three, Some(&[1.0, mass, 1.0])).agree("masses", MBP);
        says(case(&points, three, Some(&[1.0, mass, 1.0])).on_device(MBP).unwrap_err(), &["particle 1", "positive"]);
    }
    says(case(&points, three, Some(&[1.0])).on_device(MBP).unwrap_err(), &["1 masses", "3 particles"]);
    says(case(&points, &whole(2), None).on_device(MBP).unwrap_err(), &["2 labels", "3"]);
    for softening in [-1.0, f64::NAN, f64::INFINITY] {
        says(case(&points, three, None).on_device(Center::MostBound { softening }).unwrap_err(), &["softening"]);
    }
    for center in [Center::CenterOfMass, Center::shrinking_sphere()] {
        says(case(&points, three, None).on_device(center).unwrap_err(), &["on a device", &format!("{center:?}")]);
    }
    let wide = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.5, 0.0, 0.0], [1.0, 1.0, 1.0]];
    // The first halo is narrow enough.
    let halos = &ropewalk::Halos::from_lists(4, &[0, 1, 4], &[3, 0, 1, 2]).unwrap();
    for side in [8.0, 9.0, 9.5, 20.0] {
        let case = Case { points: &wide, halos, side: Some(side), masses: None };
        case.agree("wide", MBP);
        case.agree("wide", Center::MostConnected { linking_length: 4.3 });
        let found = case.on_device(MBP).unwrap();
        let [narrow, wide] = found.as_slice() else { panic!("two halos") };
        assert_eq!((narrow.missing, wide.missing.is_none()), (None, side > 9.0));
        assert_eq!(case.traced(MBP).unwrap().1, [true, side > 18.0]);
        assert!(wide.missing.is_none_or(|reason| reason.to_string().contains("along axis 0")));
    }
}

/// Halos store the space in which they were found, on the host and on the device.
#[test]
fn halos_know_their_space() {
    let points = [[9.5f32, 5.0, 5.0], [0.25, 5.0, 5.0], [0.5, 5.0, 5.0]];
    let periodic = ropewalk::geometry::Boundary::Periodic(vec![10.0; 3]);
    let there = Points::new_periodic(&points, 10.0, device()).unwrap();
    let halos = ropewalk::gpu::Fof::new(1.0).run(&there).unwrap();
    let read = halos.read().unwrap();
    let theirs = Fof::new(1.0).periodic(10.0).run(&points).unwrap();
    let uploaded = Halos::upload(&theirs, device()).unwrap();
    for boundary in [halos.boundary(), read.boundary(), theirs.boundary(), uploaded.boundary()] {
        assert_eq!(*boundary, periodic);
    }
    assert_eq!(*uploaded.read().unwrap().boundary(), periodic);
    // The two lines of the README give the same result on the host and on the device.
    let centers = halos.centers(&there, MBP).unwrap();
    let expected = theirs.centers(&points, MBP).unwrap();
    assert_eq!(rows(&centers), rows(&expected));
    assert_eq!(*centers.boundary(), periodic);
    for other in [Points::new(&points, device()), Points::new_periodic(&points, 20.0, device())] {
        let message = uploaded.centers(&other.unwrap(), MBP).unwrap_err().to_string();
        assert!(message.contains("a periodic box of 10"), "{message}");
    }
    let open = Fof::new(1.0).run(&points).unwrap();
    let message = Halos::upload(&open, device()).unwrap().centers(&there, MBP).unwrap_err().to_string();
    assert!(message.contains("open space") && message.contains("a periodic box of 10"), "{message}");
}

/// A large halo that fills a periodic box cannot be unwrapped, and the error is that of the CPU. A halo that may be
/// too wide but is not can be unwrapped.
#[test]
fn wide_and_large() {
    for (seed, width) in (0..40).map(|seed| (seed, 1.0)).chain([(40, 0.4), (41, 0.26)]) {
        let mut random = Random::new(seed);
        let points: Vec<[f32; 3]> =
            (0..1500).map(|_| [0; 3].map(|_| ((0.9 + width * random.unit()) % 1.0) as f32)).collect();
        let halos = &whole(points.len());
        let case = Case { points: &points, halos, side: Some(1.0), masses: None };
        case.agree("wide", MBP);
        let missing = case.on_device(MBP).unwrap().as_slice()[0].missing;
        assert_eq!(missing.is_none(), width < 0.5, "{width}");
    }
}

/// Copies of a position that fill several blocks attract each other with their whole mass if there is a softening.
#[test]
#[ignore = "wide"]
fn wide_copies_in_many_blocks() {
    let mut random = Random::new(1);
    let mut copies = vec![[10.5; 3]; 2720];
    copies.extend((0..80).map(|_| [0; 3].map(|_| 10.0 + random.unit())));
    let grid: Vec<[f64; 3]> = (0..3000).map(|_| [0; 3].map(|_| 10.0 + random.normal().round() * 0.125)).collect();
    for points in [copies, grid] {
        let halos = &whole(points.len());
        for softening in [0.0, 1e-12, 0.1, 1.0, 10.0] {
            let case = Case { points: &points, halos, side: None, masses: None };
            case.agree("copies", Center::MostBound { softening });
        }
    }
}

/// Members that are much closer to each other than to the first member, relative to which coordinates are rounded.
#[test]
fn crowded_and_far() {
    for seed in 10..20 {
        let mut random = Random::new(seed);
        let mut points = vec![[1.0f32; 3]];
        points.extend((0..512).map(|i| {
            [i % 8, i / 8 % 8, i / 64].map(|cell| (7.5e-15 * (f64::from(cell) + 0.9 * random.unit() - 4.0)) as f32)
        }));
        let halos = &whole(points.len());
        Case { points: &points, halos, side: None, masses: None }.agree("crowded", MBP);
    }
}

/// A* and the Poisson grid run on the CPU, also for halos that a device has found.
#[test]
fn searches_that_devices_lack() {
    let points: Vec<[f32; 3]> = Sample::parse("halos:n=1000,seed=4").unwrap().points().unwrap();
    let mut snapshot = Snapshot::new(ropewalk_io::Points::F32(Table::new(3, points.concat()).unwrap()));
    snapshot.masses = Masses::Equal(1.0);
    for kind in [CenterKind::MostBoundAStar, CenterKind::MostBoundPoisson] {
        let mut options = Options::default();
        (options.linking_length, options.min_members, options.center) = (LinkingLength::Length(0.02), 20, Some(kind));
        let pipeline = Pipeline::new(&snapshot, &options).unwrap();
        let centers = |found: &FoundHalos<'_>| pipeline.measure(found).unwrap().centers.unwrap();
        let expected = centers(&pipeline.find().unwrap());
        assert!(!expected.as_slice().is_empty());
        assert!(rows(&centers(&pipeline.find_on(device()).unwrap())) == rows(&expected), "{kind:?}");
    }
}
