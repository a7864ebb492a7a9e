//! Every algorithm finds the halos of the definition.

use common::clouds::{self, Cloud};
use common::data::root;
use common::oracle;
use common::random::Random;
use ropewalk::reference::{fof_all_pairs, fof_bins};
use ropewalk::{Aabb, Bvh, Fof, Halos, Scalar, Sphere};

fn fof(eps: f64, side: oracle::Side) -> Fof {
    let fof = Fof::new(eps);
    if let Some(side) = side { fof.periodic(side) } else { fof }
}

fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// Checks that every algorithm finds the same halos, from points and from a tree, with any number of threads.
fn agrees<S: Scalar, const D: usize>(cloud: &Cloud<S, D>, eps: f64, side: oracle::Side) -> Halos {
    let expected = fof(eps, side).run(&cloud.points).unwrap();
    let tree = match side {
        None => Bvh::build(&cloud.points),
        Some(side) => Bvh::build_periodic(&cloud.points, side),
    }
    .unwrap();
    let fof = fof(eps, side);
    let what = format!("{}, {D} dimensions, eps {eps}, side {side:?}", cloud.name);
    for threads in [1, 2, 5] {
        let bins = in_pool(threads, || fof_bins(&fof, &cloud.points)).unwrap();
        assert_eq!(bins, expected, "{what}, bins, {threads} threads");
    }
    for threads in [1, 5] {
        let pairs = in_pool(threads, || fof_all_pairs(&fof, &cloud.points)).unwrap();
        assert_eq!(pairs, expected, "{what}, all pairs, {threads} threads");
    }
    assert_eq!(fof.run_on(&tree).unwrap(), expected, "{what}, on a tree");
    expected
}

fn over_all_clouds<S: Scalar, const D: usize>() {
    for cloud in clouds::all::<S, D>() {
        // Includes bins that are far narrower and far wider than the distances of points.
        let radii = cloud.radii.iter().copied().chain([0.0, 1e-300, cloud.side / 2.0]);
        for eps in radii {
            let halos = agrees(&cloud, eps, None);
            if cloud.points.len() < 500 {
                let components = oracle::components(&oracle::neighbors(&cloud.points, eps, None));
                assert_eq!(halos.labels().as_slice(), components, "{}, eps {eps}", cloud.name);
            }
            if cloud.side >= 2.0 * eps {
                agrees(&cloud, eps, Some(cloud.side));
            }
        }
        agrees(&cloud, 1e300, None);
    }
}

#[test]
fn clouds_on_a_line() {
    over_all_clouds::<f32, 1>();
}

#[test]
fn clouds_in_the_plane() {
    over_all_clouds::<f32, 2>();
    over_all_clouds::<f64, 2>();
}

#[test]
fn clouds_in_space_f32() {
    over_all_clouds::<f32, 3>();
}

#[test]
fn clouds_in_space_f64() {
    over_all_clouds::<f64, 3>();
}

/// One to four bins per axis or more, and lengths that fill the bins exactly.
#[test]
fn few_bins_around_a_periodic_box() {
    let mut random = Random::new(11);
    let points = (0..60).map(|_| std::array::from_fn(|_| 0.125 * random.below(65) as f32)).collect();
    let cloud = Cloud::<f32, 3> { name: "eighths", points, radii: vec![], side: 8.0 };
    for eps in [4.0, 3.9, 8.0 / 3.0, 2.5, 2.0, 1.9, 1.6, 1.0] {
        let expected = oracle::components(&oracle::neighbors(&cloud.points, eps, Some(8.0)));
        assert_eq!(agrees(&cloud, eps, Some(8.0)).labels().as_slice(), expected, "eps {eps}");
    }
}

/// Chains with links of exactly eps across neighbouring bins, in every order of the points.
#[test]
fn chains_cross_bins() {
    for scale in [0.1, 1.0, 3.0e-5, 7.0e6] {
        for stride in [1, 37, 599] {
            let points: Vec<[f64; 3]> = (0..600)
                .map(|i| f64::from(i * stride % 600) * scale)
                .map(|along| [along, 0.5 * along, -along])
                .collect();
            let eps = 1.5 * scale;
            let expected = oracle::components(&oracle::neighbors(&points, eps, None));
            let cloud = Cloud { name: "chain", points, radii: vec![], side: 1e5 * scale };
            assert_eq!(agrees(&cloud, eps, None).labels().as_slice(), expected);
            agrees(&cloud, eps, Some(cloud.side));
            // More bins than an axis may have, so that bins are wider than eps.
            agrees(&cloud, 1e-7 * scale, None);
        }
    }
}

/// Reads the numbers of a stored array.
fn stored_labels(name: &str) -> Vec<i32> {
    let file = std::fs::read(root().join("tests/data").join(name)).unwrap();
    let header = 10 + u16::from_le_bytes([file[8], file[9]]) as usize;
    assert!(String::from_utf8_lossy(&file[..header]).contains("'<i4'"));
    file[header..].chunks(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn bins_find_the_stored_labels_of_p3m_64() {
    let file = std::fs::read(root().join("data/p3m_64.gadget2")).unwrap();
    let side = f64::from_le_bytes(file[132..140].try_into().unwrap());
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
    let points: Vec<[f32; 3]> = file[4 + 256 + 4 + 4..][..12 * 64 * 64 * 64]
        .chunks(12)
        .map(|particle| std::array::from_fn(|k| number(&particle[4 * k..4 * k + 4])))
        .collect();
    let separation = (side.powi(3) / points.len() as f64).cbrt();
    for (name, b, side) in
        [("b0.2_periodic", 0.2, Some(side)), ("b0.2_open", 0.2, None), ("b0.168_periodic", 0.168, Some(side))]
    {
        let expected = stored_labels(&format!("p3m_64_fof_{name}.npy"));
        let fof = fof(b * separation, side);
        for threads in [1, 2] {
            let halos = in_pool(threads, || fof_bins(&fof, &points)).unwrap();
            assert!(halos.labels().as_slice() == expected, "{name}, {threads} threads");
        }
    }
}

#[test]
fn brute_force_takes_boxes_and_any_dimension() {
    let mut random = Random::new(12);
    let balls: Vec<Sphere<f32, 3>> =
        (0..300).map(|_| Sphere::new(std::array::from_fn(|_| random.unit() as f32), 0.02 * random.unit())).collect();
    for fof in [Fof::new(0.02), Fof::new(0.02).periodic(1.0)] {
        let all = fof_all_pairs(&fof, &balls).unwrap();
        assert_eq!(all, fof.run(&balls).unwrap());
    }
    let cloud = clouds::clustered::<f64, 7>();
    let expected = Fof::new(0.05).run(&cloud.points).unwrap();
    assert_eq!(fof_all_pairs(&Fof::new(0.05), &cloud.points).unwrap(), expected);
}

#[test]
fn what_bins_refuse() {
    let fof = Fof::new(0.1);
    let message = fof_bins(&fof, &[[0.0f32; 4]; 2]).unwrap_err().to_string();
    assert!(message.contains("got 4") && message.contains("1 to 3 dimensions"), "{message}");
    let message = fof_bins(&fof, &[Aabb::point([0.0f32; 2])]).unwrap_err().to_string();
    assert!(message.contains("extent"), "{message}");
    let points = [[0.0f64, 1.0], [f64::NAN, 2.0]];
    for find in [fof_bins::<[f64; 2], f64, 2>, fof_all_pairs] {
        let refused = |fof: Fof, points: &[[f64; 2]]| find(&fof, points).unwrap_err().to_string();
        assert!(refused(Fof::new(0.1), &points).contains("point 1: coordinate 0 is NaN"));
        assert!(refused(Fof::new(-0.1), &points[..1]).contains("linking_length is -0.1"));
        assert!(refused(Fof::new(f64::NAN), &points[..1]).contains("linking_length is NaN"));
        assert!(refused(Fof::new(0.6).periodic(1.0), &points[..1]).contains("twice linking_length"));
    }
    assert!(fof_bins(&fof, &[[0.0f32; 0]; 3]).is_err() && fof_bins(&fof, &[[0.0f32; 11]; 3]).is_err());
    assert!(fof_all_pairs(&fof, &[[0.0f32; 0]; 3]).is_err() && fof_all_pairs(&fof, &[[0.0f32; 11]; 3]).is_err());
}
