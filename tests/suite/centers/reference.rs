//! The centres of simulated halos, compared with stored ones that were computed without this crate.

use std::path::Path;

use ropewalk::halo::Centers;
use ropewalk::reference::PoissonGrid;
use ropewalk::{Center, Fof, Halos};
use ropewalk_io::{Points, ReadOptions};

use super::search::CenterSearch;

use common::data::{large, root};

struct Snapshot {
    points: Vec<[f32; 3]>,
    ids: Vec<u64>,
    side: f64,
    halos: Halos,
    /// The column names, and a row per halo.
    reference: (Vec<String>, Vec<Vec<String>>),
}

impl Snapshot {
    fn read(snapshot: &Path, reference: &Path, side: f64) -> Self {
        let read = ropewalk_io::read(snapshot, &ReadOptions::default()).unwrap();
        let Points::F32(table) = &read.points else { panic!("positions are f32") };
        let points = table.rows::<3>().unwrap().to_vec();
        let halos = Fof::new(0.1).min_members(20).periodic(side).run(&points).unwrap();
        let text = std::fs::read_to_string(reference).unwrap();
        let split = |line: &str| line.split(',').map(String::from).collect::<Vec<_>>();
        let mut lines = text.lines().map(split);
        let reference = (lines.next().unwrap(), lines.collect());
        Self { points, ids: read.ids.unwrap(), side, halos, reference }
    }

    fn column<T: std::str::FromStr<Err: std::fmt::Debug>>(&self, name: &str) -> Vec<T> {
        let column = self.reference.0.iter().position(|known| known == name).unwrap();
        self.reference.1.iter().map(|row| row[column].parse().unwrap()).collect()
    }

    fn centers(&self, search: impl Into<CenterSearch>) -> Centers {
        search.into().run(|finder| finder.periodic(self.side), &self.points, &self.halos).unwrap()
    }

    /// Returns centres in the order of tags. Halos of equal size are ordered by smallest member here, and by smallest
    /// id in the stored table.
    fn by_tag(&self, centers: &Centers) -> Vec<ropewalk::halo::HaloCenter> {
        let tags: Vec<u64> = self.column("fof_halo_tag");
        let ours: std::collections::HashMap<u64, usize> = self
            .halos
            .iter()
            .enumerate()
            .map(|(halo, members)| (members.iter().map(|&i| self.ids[i as usize]).min().unwrap(), halo))
            .collect();
        tags.iter().map(|tag| centers.as_slice()[ours[tag]]).collect()
    }

    fn assert_most_bound(&self, search: impl Into<CenterSearch>) {
        let centers = self.by_tag(&self.centers(search));
        let ids: Vec<u64> = self.column("mbp_id");
        let sums: Vec<f64> = self.column("mbp_sum_inverse_distance");
        for (halo, ((center, id), sum)) in centers.iter().zip(ids).zip(sums).enumerate() {
            let member = center.member.unwrap() as usize;
            assert_eq!(self.ids[member], id, "{halo}");
            assert_eq!(center.position, self.points[member].map(f64::from));
            assert!(
                (-center.potential.unwrap() - sum).abs() <= 1e-7 * sum,
                "{halo}: {:?}, not {sum}",
                center.potential
            );
        }
    }

    fn assert_all(&self, count: usize) {
        assert_eq!((self.halos.len(), self.reference.1.len()), (count, count));
        self.assert_most_bound(Center::MostBound { softening: 0.0 });
        self.assert_most_bound(Center::MostBoundBrute { softening: 0.0 });
        self.assert_most_bound(CenterSearch::AStar(0.0));

        let connected = self.by_tag(&self.centers(Center::MostConnected { linking_length: 0.1 }));
        let friends: Vec<u32> = self.column("mcp_friends");
        let ties: Vec<u32> = self.column("mcp_ties");
        for (halo, ((center, friends), ties)) in connected.iter().zip(friends).zip(ties).enumerate() {
            assert_eq!((center.friends, center.ties), (Some(friends), Some(ties)), "{halo}");
        }

        let mean = self.by_tag(&self.centers(Center::CenterOfMass));
        let theirs: Vec<Vec<f64>> = ["com_x", "com_y", "com_z"].map(|name| self.column(name)).to_vec();
        for (halo, center) in mean.iter().enumerate() {
            for (&position, theirs) in center.position.iter().zip(&theirs) {
                let d = super::oracle::apart(position, theirs[halo], Some(self.side));
                assert!(d < 1e-6, "{halo}: {:?}", center.position);
            }
        }
    }
}

fn p3m_64() -> Snapshot {
    let reference = root().join("tests/data/p3m_64_fof_b0.2_periodic_halos.csv");
    Snapshot::read(&root().join("data/p3m_64.gadget2"), &reference, 32.0)
}

#[test]
fn centers_of_p3m_64() {
    p3m_64().assert_all(694);
}

#[test]
#[ignore = "needs ROPEWALK_DATA"]
fn centers_of_p3m_128() {
    let (snapshot, reference) = (large("p3m_128.gadget2"), large("p3m_128_fof_b0.2_periodic_halos.csv"));
    Snapshot::read(&snapshot, &reference, 64.0).assert_all(4716);
}

/// The Poisson solver is approximate: it finds the most bound particle in most cases, and never a more bound one.
#[test]
fn poisson_agrees_more_often_than_not() {
    let snapshot = p3m_64();
    let large = Halos::new(snapshot.halos.labels().clone(), 300);
    let run = |search: CenterSearch| search.run(|finder| finder.periodic(32.0), &snapshot.points, &large).unwrap();
    let exact = run(Center::MostBound { softening: 0.0 }.into());
    let poisson = run(CenterSearch::poisson(0.0));
    let mut agreed = 0;
    for (poisson, exact) in poisson.as_slice().iter().zip(exact.as_slice()) {
        assert!(poisson.potential >= exact.potential);
        agreed += usize::from(poisson.member == exact.member);
    }
    eprintln!("Poisson agrees in {agreed} of {} halos", large.len());
    assert!(agreed * 2 > large.len(), "{agreed} of {}", large.len());
}

#[test]
fn threads_do_not_matter() {
    let snapshot = p3m_64();
    for center in [
        CenterSearch::Of(Center::MostBound { softening: 0.0 }),
        CenterSearch::Of(Center::MostBoundBrute { softening: 0.01 }),
        CenterSearch::AStar(0.0),
        CenterSearch::Poisson(0.0, PoissonGrid { cells: 15, search: 1 }),
        CenterSearch::Of(Center::MostConnected { linking_length: 0.1 }),
        CenterSearch::Of(Center::CenterOfMass),
        CenterSearch::Of(Center::shrinking_sphere()),
    ] {
        let [one, two] = [1, 2].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| snapshot.centers(center))
        });
        assert_eq!(one, two, "{center:?}");
    }
}
