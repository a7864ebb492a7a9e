//! The most bound particle of random halos, compared with a reference. Cases include copies of a few positions,
//! coarse grids, distant origins, any unit, softening, masses, both precisions, open and periodic space.
//!
//! An ordinary test run covers a few cases.
//! `ROPEWALK_CASES=6000 cargo test --release --test suite centers::many -- --ignored` covers 6000, starting from the
//! seed `ROPEWALK_SEED` (default 0). A failure reports its seed.

use ropewalk::halo::CenterFinder;
use ropewalk::{Center, Scalar};

use super::definition::whole;
use super::{oracle, shapes};
use common::random::Random;

struct Case {
    name: String,
    points: Vec<[f64; 3]>,
    masses: Option<Vec<f64>>,
    softening: f64,
    side: Option<f64>,
    is_single: bool,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let random = &mut random;
        // From 1500 members on, branch and bound is used.
        let n = if random.below(4) == 0 { 1 + random.below(1500) } else { 1400 + random.below(2600) };
        let cloud = |random: &mut Random, n: usize| match random.below(3) {
            0 => (0..n).map(|_| [0; 3].map(|_| random.unit())).collect(),
            1 => shapes::cusp(random, n),
            _ => shapes::plummer(random, n),
        };
        let (shape, points) = match random.below(4) {
            0 => {
                // One to three thousand copies of a few positions, and some single points.
                let places = 1 + random.below(8);
                let alone = random.below(200);
                let mut points = cloud(random, places + alone);
                let copies = 1 + random.below(n);
                points.extend((0..copies).map(|_| points[random.below(places)]).collect::<Vec<_>>());
                ("copies", points)
            }
            1 => {
                let step = 10f64.powf(-2.0 * random.unit());
                let round = |x: f64| (x / step).round() * step;
                ("grid", cloud(random, n).into_iter().map(|point: [f64; 3]| point.map(round)).collect())
            }
            2 => {
                let mut points: Vec<[f64; 3]> = cloud(random, n);
                // Some copies among other points.
                for _ in 0..random.below(n) {
                    points[random.below(n)] = points[random.below(n)];
                }
                ("some copies", points)
            }
            _ => ("cloud", cloud(random, n)),
        };
        let is_single = random.below(2) == 0;
        let extent = points.iter().flatten().fold(0.0f64, |most, x| most.max(x.abs())).max(1e-3);
        let far = if random.below(2) == 0 { 0.0 } else { extent * 10f64.powf(9.0 * random.unit()) };
        let offset = [0; 3].map(|_| far * (2.0 * random.unit() - 1.0));
        // The squares must stay in the range of `f32`.
        let decades = if is_single { 20.0 } else { 30.0 };
        let scale = if random.below(3) == 0 { 1.0 } else { 10f64.powf(decades * (2.0 * random.unit() - 1.0)) };
        let side = (random.below(3) == 0).then(|| 2.0 * extent * (2.2 + 8.0 * random.unit()) * scale);
        let stored = |x: f64| if is_single { f64::from(x as f32) } else { x };
        let points: Vec<[f64; 3]> = points
            .iter()
            .map(|point| {
                std::array::from_fn(|k| {
                    let x = (point[k] + offset[k]) * scale;
                    stored(side.map_or(x, |side| x.rem_euclid(side)))
                })
            })
            .collect();
        let softening = match random.below(4) {
            0 => 0.0,
            1 => extent * scale * 10f64.powf(-20.0 * random.unit()),
            _ => extent * scale * 10f64.powf(4.0 * random.unit() - 3.0),
        };
        let masses = (random.below(3) == 0).then(|| {
            let (spread, unit) = (8.0 * random.unit(), 10f64.powf(60.0 * random.unit() - 30.0));
            points.iter().map(|_| unit * 10f64.powf(spread * random.unit())).collect()
        });
        let name = format!(
            "seed {seed}: {shape} of {}, {}, scale {scale:e}, {far:e} away, softening {softening:e}, masses {}, side {side:?}",
            points.len(),
            if is_single { "f32" } else { "f64" },
            masses.is_some()
        );
        Self { name, points, masses, softening, side, is_single }
    }

    fn check(&self) {
        if self.is_single {
            let points: Vec<[f32; 3]> = self.points.iter().map(|point| point.map(|x| x as f32)).collect();
            self.check_of(&points);
        } else {
            self.check_of(&self.points);
        }
    }

    fn check_of<S: Scalar>(&self, points: &[[S; 3]]) {
        let halos = whole(points.len());
        let find = |center| {
            let mut finder = CenterFinder::new(center);
            if let Some(side) = self.side {
                finder = finder.periodic(side);
            }
            if let Some(masses) = &self.masses {
                finder = finder.masses(masses);
            }
            finder.run(points, &halos).unwrap_or_else(|error| panic!("{}: {error}", self.name)).as_slice()[0]
        };
        let softening = self.softening;
        let (ours, brute) = (find(Center::MostBound { softening }), find(Center::MostBoundBrute { softening }));
        assert_eq!((ours.member, ours.potential), (brute.member, brute.potential), "{}", self.name);
        let member = ours.member.unwrap_or_else(|| panic!("{}: no member", self.name)) as usize;
        let equal = vec![1.0; points.len()];
        let masses = self.masses.as_deref().unwrap_or(&equal);
        let potentials = oracle::potentials_by_place(&self.points, masses, softening, self.side);
        let lowest = potentials.iter().copied().fold(0.0, f64::min);
        assert!(
            potentials[member] <= lowest * (1.0 - 1e-9),
            "{}: member {member} at {}, where {lowest} is possible",
            self.name,
            potentials[member]
        );
        let found = ours.potential.unwrap_or(f64::NAN);
        assert!((found - lowest).abs() <= 1e-9 * lowest.abs(), "{}: {found}, should be {lowest}", self.name);
        assert_eq!(ours.position, points[member].map(Into::into), "{}", self.name);
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is {text}, no number")))
}

#[test]
fn some_random_halos() {
    (0..20).for_each(|seed| Case::new(seed).check());
}

/// Runs the number of cases in ROPEWALK_CASES.
#[test]
#[ignore = "wide"]
fn wide_random_halos() {
    let first = number("ROPEWALK_SEED", 0);
    for seed in first..first + number("ROPEWALK_CASES", 1000) {
        Case::new(seed).check();
    }
}

/// Copies of a position in several leaves of the tree attract each other, and other members, with their whole mass.
#[test]
fn copies_in_several_leaves() {
    let mut random = Random::new(1);
    let mut points = vec![[10.5; 3]; 1520];
    points.extend((0..80).map(|_| [0; 3].map(|_| 10.0 + random.unit())));
    let case = |points: Vec<[f64; 3]>, softening, name: &str| Case {
        name: name.into(),
        points,
        masses: None,
        softening,
        side: None,
        is_single: false,
    };
    case(points, 0.1, "copies").check();
    let grid = (0..4000).map(|_| [0; 3].map(|_| 10.0 + (random.normal()).round() * 0.1)).collect();
    case(grid, 1.0, "grid").check();
    let mut points = vec![[0.5; 3]; 3000];
    points.extend((0..100).map(|_| [0; 3].map(|_| random.unit())));
    case(points, 10.0, "wide softening").check();
}

/// A softening whose square underflows in `f64` still has an effect.
#[test]
fn the_least_softening() {
    for n in [10, 1000, 2000] {
        let mut points = shapes::plummer(&mut Random::new(3), n);
        points.extend([[0.25; 3], [0.5; 3], [0.5; 3], [0.5; 3], [0.25; 3]]);
        let softening = 1e-170;
        for center in [Center::MostBound { softening }, Center::MostBoundBrute { softening }] {
            let found = super::definition::center(&points, center, None);
            assert_eq!(found.member, Some(n as u32 + 1), "{n}, {center:?}");
            assert!((found.potential.unwrap() / -2e170 - 1.0).abs() < 1e-12, "{n}, {found:?}");
        }
    }
}
