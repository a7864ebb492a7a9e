//! `Halos` contains the same information as its labels in another form.

use common::clouds;
use ropewalk::{Fof, Halos, Scalar};

fn rows_agree_with_labels(halos: &Halos, least: usize) {
    let labels = halos.labels();
    let sizes = labels.sizes();
    assert_eq!(sizes.len(), labels.n_clusters());
    assert_eq!(sizes.iter().sum::<usize>() + labels.n_noise(), labels.as_slice().len());

    // Clusters are numbered by their smallest member, so in the order of first occurrence.
    let mut seen = 0;
    for &label in labels.as_slice() {
        assert!(label <= seen, "cluster {label} before cluster {seen}");
        seen += i32::from(label == seen);
    }

    // The largest first, ties by the smallest member. Each row has the members of its cluster, ascending.
    let mut expected: Vec<usize> = (0..sizes.len()).filter(|&cluster| sizes[cluster] >= least).collect();
    expected.sort_by_key(|&cluster| (std::cmp::Reverse(sizes[cluster]), cluster));
    assert!(halos.clusters().iter().map(|&cluster| cluster as usize).eq(expected.iter().copied()));
    assert_eq!((halos.len(), halos.is_empty()), (expected.len(), expected.is_empty()));
    for (halo, &cluster) in expected.iter().enumerate() {
        let members: Vec<u32> =
            (0..).zip(labels.as_slice()).filter(|&(_, &label)| label == cluster as i32).map(|(i, _)| i).collect();
        assert_eq!(halos.members(halo), members);
        assert_eq!(halos.all_members()[halos.offsets()[halo]..halos.offsets()[halo + 1]], members);
    }
    assert!(halos.iter().map(<[u32]>::len).eq(expected.iter().map(|&cluster| sizes[cluster])));
    assert!(halos.members(halos.len()).is_empty());
    assert_eq!(halos.offsets().last(), Some(&halos.all_members().len()));
}

fn over_all_clouds<S: Scalar, const D: usize>() {
    for cloud in clouds::all::<S, D>() {
        for &radius in &cloud.radii {
            let everything = Fof::new(radius).run(&cloud.points).unwrap();
            for least in [0, 2, 3, 20] {
                let halos = Fof::new(radius).min_members(least).run(&cloud.points).unwrap();
                assert_eq!(halos.labels(), everything.labels(), "{}: labels know no least size", cloud.name);
                rows_agree_with_labels(&halos, least.max(2));
            }
        }
    }
}

#[test]
fn rows_of_halos() {
    over_all_clouds::<f32, 2>();
    over_all_clouds::<f64, 3>();
}

/// In a periodic lattice each point has two neighbours along each axis.
#[test]
fn a_tie_at_exactly_eps_is_inside_everywhere() {
    fn ties<S: Scalar, const D: usize>() {
        let cloud = clouds::whole_lattice::<S, D>();
        let n = cloud.points.len();
        let tree = ropewalk::Bvh::build_periodic(&cloud.points, cloud.side).unwrap();
        assert_eq!(tree.count_neighbors(1.0), vec![2 * D as u32 + 1; n]);
        assert_eq!(tree.count_pairs(1.0), (D * n) as u64);
        assert_eq!(tree.count_neighbors(1.0f64.next_down()), vec![1; n]);
        assert_eq!(Fof::new(1.0).run_on(&tree).unwrap().members(0).len(), n);
        assert!(Fof::new(1.0f64.next_down()).run_on(&tree).unwrap().is_empty());
    }
    ties::<f32, 1>();
    ties::<f32, 2>();
    ties::<f32, 3>();
    ties::<f64, 2>();
    ties::<f64, 3>();
}
