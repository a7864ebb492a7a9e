//! The sample snapshot, compared with stored results of the published rules. `tests/data/make_subhalo_cases.py`
//! stored them.

use common::random::Random;
use ropewalk::AdaptaHop;
use ropewalk::halo::{AdaptaHopAlgorithm, SubhaloSelection, Subhalos};

use crate::hop::stored::{SIDE, positions, words_in};

fn words<const N: usize>(name: &str) -> Vec<[u8; N]> {
    words_in("p3m_64_subhalos.npz", name)
}

/// A structure, or a node of the tree.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// The peak of the parent structure.
    parent: Option<i32>,
    level: u32,
    saddle: f64,
    mass: f64,
    peak: i32,
    /// The number of own particles, and the sum of hashes of their indices.
    own: usize,
    members: u64,
}

/// Returns the structures of a stored tree, ordered by their peaks.
fn stored(tree: &str, selection: &str) -> Vec<Row> {
    let column = |name: &str| format!("{tree}_{name}");
    let numbers = |name: &str| -> Vec<i32> { words(&column(name)).into_iter().map(i32::from_le_bytes).collect() };
    let small = |name: &str| -> Vec<i16> { words(&column(name)).into_iter().map(i16::from_le_bytes).collect() };
    let (parent, first) = (small("parent"), small(&format!("{selection}_of")));
    let (mass, peak, own) = (numbers("mass"), numbers("peak"), numbers("own"));
    let saddle: Vec<f64> = words(&column("saddle")).into_iter().map(f64::from_le_bytes).collect();
    let members: Vec<u64> = words(&column("members")).into_iter().map(u64::from_le_bytes).collect();
    let mut rows: Vec<Option<Row>> = vec![None; parent.len()];
    // The main child of a node follows the node, so the last peak is that of the structure.
    for node in 0..parent.len() {
        let structure = first[node] as usize;
        let row = rows[structure].get_or_insert_with(|| Row {
            parent: None,
            level: 0,
            saddle: saddle[node],
            mass: f64::from(mass[node]),
            peak: 0,
            own: 0,
            members: 0,
        });
        row.peak = peak[node];
        row.own += own[node] as usize;
        row.members = row.members.wrapping_add(members[node]);
    }
    let up = |structure: usize| usize::try_from(parent[structure]).ok().map(|parent| first[parent] as usize);
    let peaks: Vec<i32> = rows.iter().map(|row| row.as_ref().map_or(0, |row| row.peak)).collect();
    for (structure, row) in rows.iter_mut().enumerate() {
        if let Some(row) = row {
            row.parent = up(structure).map(|parent| peaks[parent]);
            row.level = std::iter::successors(Some(structure), |&structure| up(structure)).count() as u32;
        }
    }
    let mut rows: Vec<Row> = rows.into_iter().flatten().collect();
    rows.sort_by_key(|row| row.peak);
    rows
}

/// Returns the library's structures, ordered by their peaks.
fn found(subhalos: &Subhalos) -> Vec<Row> {
    let of = |at: usize| subhalos.rows()[at];
    let hash = |list: &[u32]| list.iter().fold(0u64, |sum, &index| sum.wrapping_add(Random::new(index.into()).bits()));
    let row = |(at, list): (usize, &[u32])| Row {
        parent: of(at).parent.map(|parent| of(parent as usize).peak as i32),
        level: of(at).level,
        saddle: of(at).saddle,
        mass: of(at).mass,
        peak: of(at).peak as i32,
        own: list.len(),
        members: hash(list),
    };
    let mut rows: Vec<Row> = subhalos.structures().iter().enumerate().map(row).collect();
    rows.sort_by_key(|row| row.peak);
    rows
}

/// Returns finders with the parameters of the script, each with the first letter of its arrays' names.
fn finders() -> [(&'static str, AdaptaHop); 2] {
    let finder = AdaptaHop::new().periodic(SIDE);
    let low = finder.clone().n_density(16).n_hop(12).density_threshold(20.0).fudge(0.8).fudge_epsilon(0.01);
    [("a", finder), ("b", low.alpha(0.5).min_members(12))]
}

#[test]
fn densities_of_a_snapshot() {
    for (name, finder) in finders() {
        let all = finder.run(&positions()).unwrap();
        let stored: Vec<f64> = words(&format!("{name}_density")).into_iter().map(f64::from_le_bytes).collect();
        assert_eq!(stored.len(), all.density().len() / 64);
        let ratio = |(i, stored): (usize, f64)| (all.density()[64 * i] / stored - 1.0).abs();
        let worst = stored.into_iter().enumerate().map(ratio).fold(0.0, f64::max);
        assert!(worst < 1e-13, "{worst:e}");
    }
}

/// Every structure must match.
#[test]
fn structures_of_a_snapshot() {
    let points = positions();
    for (name, finder) in finders() {
        for (tree, algorithm) in [("stepped", AdaptaHopAlgorithm::Stepped), ("exact", AdaptaHopAlgorithm::Exact)] {
            for (by, selection) in [("mass", SubhaloSelection::Mass), ("density", SubhaloSelection::Density)] {
                let subhalos = finder.clone().algorithm(algorithm).selection(selection).run(&points).unwrap();
                let (mut rows, expected) = (found(&subhalos), stored(&format!("{name}_{tree}"), by));
                assert_eq!(rows.len(), expected.len(), "{name} {tree} {by}");
                for (row, expected) in rows.iter_mut().zip(&expected) {
                    assert!(
                        (row.saddle / expected.saddle - 1.0).abs() < 1e-13,
                        "{name} {tree} {by} {row:?} {expected:?}"
                    );
                    row.saddle = expected.saddle;
                    assert_eq!(row, expected, "{name} {tree} {by}");
                }
                // The selection of HOP.
                let halos = expected.iter().filter(|row| row.level == 1).count();
                assert_eq!(subhalos.halos().len(), halos);
                // Without their subhalos, no subhalo is heavier than its parent.
                if selection == SubhaloSelection::Mass {
                    let own = |at: usize| subhalos.structures().members(at).len();
                    let pairs = subhalos.rows().iter().enumerate().filter_map(|(at, row)| Some((at, row.parent?)));
                    assert!(pairs.into_iter().all(|(at, parent)| own(at) <= own(parent as usize)));
                }
            }
        }
    }
}
