//! Halos from other sources than the finders.

use ropewalk::{Center, Fof, Halos, Labels, Result};

#[track_caller]
fn refused<T>(result: Result<T>, words: &[&str]) {
    let message = result.err().expect("an error").to_string();
    for word in words {
        assert!(message.contains(word), "'{message}' does not say '{word}'");
    }
}

/// Halos constructed from labels and from lists equal those of the finder.
#[test]
fn round_trips() {
    let points: Vec<[f32; 3]> =
        (0..300).map(|i| [(i * 7 % 300) as f32 * 0.01 + (i % 3) as f32 * 10.0, 0.0, 0.0]).collect();
    let halos = Fof::new(0.05).run(&points).unwrap();
    assert_eq!(halos.len(), 3);
    assert_eq!(Halos::new(Labels::from_slice(halos.labels().as_slice()).unwrap(), 2), halos);
    let mut shuffled = halos.all_members().to_vec();
    shuffled[..100].reverse();
    let lists = Halos::from_lists(points.len(), halos.offsets(), &shuffled).unwrap();
    assert!(lists.iter().eq(halos.iter()));
    let search = Center::MostBound { softening: 0.0 };
    assert_eq!(lists.centers(&points, search).unwrap(), halos.centers(&points, search).unwrap());
}

#[test]
fn groupings_that_are_none() {
    let lists = |offsets: &[usize], members: &[u32]| Halos::from_lists(4, offsets, members);
    refused(lists(&[], &[]), &["begin with 0", "0 entries"]);
    refused(lists(&[1, 2], &[0, 1]), &["begin with 0", "2 entries"]);
    refused(lists(&[0, 3, 2], &[0, 1]), &["halo 1", "3", "2", "ascend"]);
    refused(lists(&[0, 2, 2], &[0, 1]), &["halo 1", "ascend"]);
    refused(lists(&[0, 3], &[0, 1]), &["3", "2 members"]);
    refused(lists(&[0, 1, 2], &[0, 4]), &["halo 1", "index 4", "4 points"]);
    refused(lists(&[0, 1, 2], &[3, 3]), &["point 3", "halo 0", "halo 1"]);
    refused(lists(&[0, 2], &[3, 3]), &["point 3", "halo 0"]);
    assert!(lists(&[0], &[]).unwrap().is_empty());
    refused(Labels::from_slice(&[0, 1, 3]), &["point 2", "label 3", "3 points"]);
    assert_eq!(Labels::from_slice(&[-5, i32::MIN]).unwrap().as_slice(), [-1, -1]);
    assert!(Labels::from_slice(&[]).unwrap().as_slice().is_empty());
}
