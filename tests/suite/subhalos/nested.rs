//! Structures including substructures as halos, catalogues of them, and results for tables.

use common::random::Random;
use ropewalk::cluster::KernelDensity;
use ropewalk::halo::{Particles, Subhalos};
use ropewalk::{AdaptaHop, ErrorKind, Hop};
use ropewalk_table::Catalog;
use ropewalk_table::columns::Values;
use ropewalk_table::{Points, Table, adaptahop, density, hop};

/// Returns clumps within clumps, in random order.
fn clumps(seed: u64) -> Vec<[f64; 3]> {
    let mut random = Random::new(seed);
    let mut points: Vec<[f64; 3]> = vec![];
    for _ in 0..4 {
        let outer: [f64; 3] = std::array::from_fn(|_| random.unit());
        for width in [0.1, 0.02, 0.02, 0.004] {
            let middle = outer.map(|x| x + 0.7 * width * random.normal());
            points.extend((0..400).map(|_| {
                let r = random.unit();
                middle.map(|x| (x + width * r * random.normal()).rem_euclid(1.0))
            }));
        }
    }
    for i in (1..points.len()).rev() {
        points.swap(i, random.below(i + 1));
    }
    points
}

fn run(points: &[[f64; 3]]) -> Subhalos {
    AdaptaHop::new().density_threshold(4.0).fudge(2.0).fudge_epsilon(0.0).periodic(1.0).run(points).unwrap()
}

#[test]
fn nested_halos_have_all_members() {
    for seed in 1..5 {
        let points = clumps(seed);
        let found = run(&points);
        assert!(found.len() > 8 && found.rows().iter().any(|row| row.level > 2), "{}", found.len());
        let nested = found.nested();
        assert_eq!((nested.len(), nested.boundary()), (found.len(), found.structures().boundary()));
        for at in 0..found.len() {
            assert_eq!(nested.members(at), found.members(at));
            let own =
                nested.labels().as_slice().iter().zip(0..).filter(|(label, _)| **label == nested.clusters()[at] as i32);
            assert_eq!(own.map(|(_, i)| i).collect::<Vec<u32>>(), found.structures().members(at));
        }
        // Numbered by the smallest member.
        let mut firsts: Vec<(u32, u32)> =
            (0..found.len()).map(|at| (nested.clusters()[at], found.structures().members(at)[0])).collect();
        firsts.sort_unstable();
        assert!(firsts.iter().zip(0..).all(|(first, label)| first.0 == label));
        assert!(firsts.windows(2).all(|pair| pair[0].1 < pair[1].1));
    }
    let none: [[f32; 3]; 0] = [];
    assert!(AdaptaHop::new().run(&none).unwrap().nested().is_empty());
}

/// Rows are in catalogue order, and the numbers of parents and hosts refer to rows.
#[test]
fn catalogues_have_trees() {
    let points = clumps(9);
    let found = run(&points);
    let particles = Particles::new(&points).periodic(1.0);
    let mut catalog = Catalog::new(&found.nested(), &particles).unwrap().prefix("group");
    assert!(catalog.subhalos().is_empty() && catalog.is_host(0));
    catalog.add_subhalos(&found).unwrap();
    let (halos, rows) = (catalog.halos(), catalog.subhalos());
    assert!(halos.windows(2).all(|pair| pair[0].count >= pair[1].count));
    for (row, &at) in catalog.order().iter().enumerate() {
        let (row, of) = (rows[row], found.rows()[at as usize]);
        let back = |row: u32| catalog.order()[row as usize];
        assert_eq!((row.parent.map(back), back(row.host)), (of.parent, of.host));
        assert_eq!((row.level, row.peak, row.saddle), (of.level, of.peak, of.saddle));
    }
    for (row, halo) in halos.iter().enumerate() {
        let at = catalog.order()[row] as usize;
        assert_eq!((halo.count, halo.mass), (found.members(at).len(), found.rows()[at].mass));
        assert_eq!(halo.tag, u64::from(found.structures().members(at)[0]));
        assert_eq!(catalog.is_host(row), rows[row].level == 1);
    }
    let column = |name: &str| catalog.columns().iter().find(|column| column.name() == name).unwrap().values().clone();
    let parents: Vec<i64> = rows.iter().map(|row| row.parent.map_or(-1, i64::from)).collect();
    assert_eq!(column("group_parent"), Values::Signed(parents));
    let own: Vec<u64> =
        catalog.order().iter().map(|&at| found.structures().members(at as usize).len() as u64).collect();
    assert_eq!(column("group_own_count"), Values::Integers(own));
    assert!(catalog.columns().iter().all(|column| column.name().starts_with("group_")));

    assert_eq!(catalog.add_subhalos(&found).unwrap_err().kind(), ErrorKind::Input);
    let few = run(&points[..200]);
    let error = Catalog::new(&found.nested(), &particles).unwrap().add_subhalos(&few).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
}

/// Results for a table equal those for its rows in either precision. Kernels exist in two and three dimensions.
#[test]
fn tables() {
    let points = clumps(3);
    let narrow: Vec<[f32; 3]> = points.iter().map(|point| point.map(|x| x as f32)).collect();
    let flat: Vec<[f32; 2]> = narrow.iter().map(|&[x, y, _]| [x, y]).collect();
    let wide = Points::F64(Table::new(3, points.concat()).unwrap());
    let finder = AdaptaHop::new().density_threshold(4.0).fudge(2.0).fudge_epsilon(0.0).periodic(1.0);
    assert_eq!(adaptahop(&wide, &finder).unwrap(), finder.run(&points).unwrap());
    let plane = Points::F32(Table::new(2, flat.concat()).unwrap());
    assert_eq!(adaptahop(&plane, &finder).unwrap(), finder.run(&flat).unwrap());
    let narrow_table = Points::F32(Table::new(3, narrow.concat()).unwrap());
    let (other, kernel) = (Hop::new(4.0).periodic(1.0), KernelDensity::new().periodic(1.0));
    assert_eq!(hop(&narrow_table, &other).unwrap(), other.run(&narrow).unwrap());
    assert_eq!(density(&narrow_table, &kernel).unwrap(), kernel.run(&narrow).unwrap());
    let line = Points::F64(Table::new(1, vec![0.5; 100]).unwrap());
    for kind in [
        adaptahop(&line, &finder).unwrap_err().kind(),
        hop(&line, &other).unwrap_err().kind(),
        density(&line, &kernel).unwrap_err().kind(),
    ] {
        assert_eq!(kind, ErrorKind::Unsupported);
    }
}
