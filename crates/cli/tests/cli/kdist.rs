//! The guarantee of `ropewalk kdist`: exactly the points with a distance of at most eps are core with
//! `min_samples = k + 1`.

use std::fs;

use npyz::NpyFile;
use ropewalk::{Dbscan, Scalar};
use ropewalk_io::{Points, Table, write_npy};

use crate::program::{Scratch, run};

/// Returns a fixed sequence of numbers from 0 to 1.
fn random(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    })
}

/// Checks the distances that the program writes: each of them, as eps of DBSCAN, must give the expected core points.
fn check<S: Scalar, const D: usize>(
    scratch: &Scratch,
    points: &[[S; D]],
    wrap: fn(Vec<S>) -> Points,
    k: usize,
    period: Option<f64>,
) {
    let (file, out) = (scratch.path("points.npy"), scratch.path("kdist.npy"));
    write_npy(&file, &wrap(points.as_flattened().to_vec())).unwrap();
    let [file, out, k_text] = [file.display().to_string(), out.display().to_string(), k.to_string()];
    let mut arguments = vec!["kdist", &file, "--k", &k_text, "--out", &out];
    let side = period.map(|side| side.to_string());
    if let Some(side) = &side {
        arguments.extend(["--periodic", side.as_str()]);
    }
    let printed = run(&arguments).success();
    let distances: Vec<f64> = NpyFile::new(&fs::read(&out).unwrap()[..]).unwrap().into_vec().unwrap();
    assert_eq!(distances.len(), points.len());
    assert!(distances.is_sorted());
    let n_core = |eps: f64| {
        let dbscan = Dbscan::new(eps, k + 1);
        let dbscan = if let Some(side) = period { dbscan.periodic(side) } else { dbscan };
        let labels = dbscan.run(points).unwrap();
        (0..points.len()).filter(|&i| labels.is_core(i)).count()
    };
    for &eps in distances.iter().step_by(2).filter(|&&eps| period.is_none_or(|side| 2.0 * eps <= side)) {
        let promised = distances.partition_point(|&distance| distance <= eps);
        assert_eq!(n_core(eps), promised, "eps {eps}, k {k}");
        let below = eps.next_down();
        assert_eq!(n_core(below), distances.partition_point(|&distance| distance <= below), "eps {below}, k {k}");
    }
    // The guarantee holds for the printed digits of eps.
    if let Some(line) = printed.lines().find(|line| line.starts_with("eps to try") && !line.contains("none")) {
        let eps: f64 = line["eps to try".len()..].trim().split(',').next().unwrap().parse().unwrap();
        let share = format!(" {:.1}% of the points are core", 100.0 * n_core(eps) as f64 / points.len() as f64);
        assert!(line.contains(&share), "{line}, not {share}");
    }
}

#[test]
fn the_promise_holds() {
    let scratch = Scratch::new();
    let wide: Vec<[f64; 3]> = random(1).take(900).collect::<Vec<_>>().as_chunks().0.to_vec();
    let table = |data: Vec<f64>| Points::F64(Table::new(3, data).unwrap());
    check(&scratch, &wide, table, 4, None);
    check(&scratch, &wide, table, 40, None);
    check(&scratch, &wide, table, 4, Some(1.0));

    // Points on all sides of a boundary of the box.
    let table = |data: Vec<f32>| Points::F32(Table::new(2, data).unwrap());
    let narrow: Vec<[f32; 2]> =
        random(2).take(600).map(|x| (10.0 * x - 5.0) as f32).collect::<Vec<_>>().as_chunks().0.to_vec();
    check(&scratch, &narrow, table, 4, None);
    check(&scratch, &narrow, table, 4, Some(10.0));
    check(&scratch, &narrow, table, 35, Some(10.0));
}

/// The maximum number of neighbours needs no more memory than a few.
#[test]
fn many_neighbours() {
    let scratch = Scratch::new();
    let file = scratch.path("points.npy");
    let points: Vec<f64> = random(3).take(4000).collect();
    write_npy(&file, &Points::F64(Table::new(2, points).unwrap())).unwrap();
    let printed = run(["kdist".as_ref(), file.as_os_str(), "--k".as_ref(), "1999".as_ref()]).success();
    let line = printed.lines().find(|line| line.starts_with("neighbours")).unwrap();
    // A `Csr` of all neighbours would take 61 MiB.
    let mebibytes: f64 = line.split_whitespace().rev().nth(1).unwrap().parse().unwrap();
    assert!(mebibytes < 10.0, "{line}");
}
