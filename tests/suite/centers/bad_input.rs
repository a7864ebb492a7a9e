//! Invalid input is an error that names the value and its index.

use ropewalk::halo::CenterFinder;
use ropewalk::{Center, Halos, Labels, Result};

use super::definition::whole;
use super::search::CenterSearch;
use ropewalk::reference::{PoissonGrid, most_bound_a_star, most_bound_poisson};

#[track_caller]
fn refused<T>(result: Result<T>, words: &[&str]) {
    let message = result.err().expect("an error").to_string();
    for word in words {
        assert!(message.contains(word), "'{message}' does not say '{word}'");
    }
}

const MBP: Center = Center::MostBound { softening: 0.0 };
const POINTS: [[f64; 3]; 3] = [[0.5, 1.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 1.0]];

#[test]
fn masses() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for center in [MBP, Center::CenterOfMass, Center::MostConnected { linking_length: 1.0 }] {
            let finder = CenterFinder::new(center);
            let word = format!("mass is {bad};");
            refused(finder.masses(&[1.0, bad, 1.0]).run(&POINTS, &whole(3)), &["particle 1", &word, "positive"]);
        }
    }
    refused(CenterFinder::new(MBP).masses(&[1.0]).run(&POINTS, &whole(3)), &["1 masses", "3 particles"]);
}

#[test]
fn parameters() {
    let refuse = |search: CenterSearch, words: &[&str]| refused(search.centers(&POINTS, &whole(3)), words);
    for softening in [-1.0, f64::NAN, f64::INFINITY] {
        let value = softening.to_string();
        refuse(Center::MostBound { softening }.into(), &["softening", &value]);
        refuse(Center::MostBoundBrute { softening }.into(), &["softening", &value]);
        refuse(CenterSearch::AStar(softening), &["softening", &value]);
        refuse(CenterSearch::poisson(softening), &["softening", &value]);
        refuse(Center::MostConnected { linking_length: softening }.into(), &["linking_length", &value]);
    }
    for cells in [0, 256] {
        refuse(CenterSearch::Poisson(0.0, PoissonGrid { cells, search: 2 }), &["cells", &cells.to_string()]);
    }
    for shrink in [0.0, 1.0, 1.0 - 1e-16, 0.99991, -0.5, f64::NAN] {
        refuse(Center::ShrinkingSphere { shrink, least: 1 }.into(), &["shrink", &shrink.to_string()]);
    }
    refuse(Center::ShrinkingSphere { shrink: 0.5, least: 0 }.into(), &["least", "0"]);
}

/// The alternative searches for the most bound particle accept no other kind of centre.
#[test]
fn another_search_for_another_center() {
    for center in [Center::CenterOfMass, Center::MostConnected { linking_length: 1.0 }, Center::shrinking_sphere()] {
        let (finder, halos) = (CenterFinder::new(center), whole(3));
        let words = [&format!("{center:?}"), "MostBound"];
        refused(most_bound_a_star(&finder, &POINTS, &halos), &words);
        refused(most_bound_poisson(&finder, PoissonGrid::default(), &POINTS, &halos), &words);
    }
}

#[test]
fn points() {
    let mut bad = POINTS;
    bad[2][1] = f64::NAN;
    for center in [MBP, Center::CenterOfMass] {
        refused(whole(3).centers(&bad, center), &["point 2", "coordinate 1", "NaN"]);
        refused(whole(2).centers(&POINTS, center), &["2 labels", "3"]);
    }
}

#[test]
fn periodic_boxes() {
    let wide = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.5, 0.0, 0.0], [1.0, 1.0, 1.0]];
    // The first halo is narrow enough.
    let halos = Halos::from_lists(4, &[0, 1, 4], &[3, 0, 1, 2]).unwrap();
    let poisson = CenterSearch::poisson(0.0);
    for center in [MBP.into(), Center::CenterOfMass.into(), Center::shrinking_sphere().into(), poisson] {
        for side in [8.0, 9.0] {
            let centers = center.run(|finder| finder.periodic(side), &wide, &halos).unwrap();
            let [narrow, wide] = centers.as_slice() else { panic!("two halos") };
            assert_eq!((narrow.missing, narrow.position), (None, [1.0; 3]), "{center:?}");
            let reason = wide.missing.expect("a reason").to_string();
            assert!(["axis 0", "half", &side.to_string()].iter().all(|word| reason.contains(word)), "{reason}");
            assert!(wide.position.iter().all(|x| x.is_nan()) && wide.member.is_none());
        }
        refused(center.run(|finder| finder.periodic(-8.0), &wide, &halos), &["-8"]);
        refused(center.run(|finder| finder.periodic([8.0, 8.0]), &wide, &halos), &["2 sides"]);
        assert!(center.run(|finder| finder.periodic(9.5), &wide, &halos).is_ok());
        assert!(center.centers(&wide, &halos).is_ok());
    }
    // The search for friends does not extend beyond the linking length.
    let connected = CenterFinder::new(Center::MostConnected { linking_length: 2.5 });
    assert!(connected.clone().periodic(8.0).run(&wide, &halos).is_ok());
    refused(connected.periodic([8.0, 4.0, 8.0]).run(&wide, &halos), &["4", "axis 1", "2.5"]);
}

/// Valid input that looks like an edge case.
#[test]
fn no_halos_and_lonely_members() {
    let none = Halos::new(Labels::from_slice(&[-1, -1, -1]).unwrap(), 1);
    let centers = none.centers(&POINTS, MBP).unwrap();
    assert!(centers.is_empty() && centers.evaluated_fraction() == 0.0);
    assert!(Halos::new(Labels::from_slice(&[]).unwrap(), 1).centers::<[f32; 3], _>(&[], MBP).unwrap().is_empty());
    let alone = Halos::from_lists(3, &[0, 1], &[1]).unwrap();
    for center in [
        CenterSearch::Of(MBP),
        CenterSearch::Of(Center::MostBoundBrute { softening: 0.0 }),
        CenterSearch::AStar(1.0),
        CenterSearch::poisson(0.0),
        CenterSearch::Of(Center::MostConnected { linking_length: 0.0 }),
        CenterSearch::Of(Center::CenterOfMass),
        CenterSearch::Of(Center::shrinking_sphere()),
    ] {
        let found = center.centers(&POINTS, &alone).unwrap().as_slice()[0];
        assert_eq!(found.position, POINTS[1]);
        assert!(found.potential.is_none_or(|potential| potential == 0.0));
    }
}
