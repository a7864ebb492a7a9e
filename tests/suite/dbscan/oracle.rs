//! The definition of DBSCAN on lists of neighbours, as a plain loop that shares no code with the crate.

/// A label for each point (-1 for noise), and a core flag; no flags if they are unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clusters {
    pub labels: Vec<i32>,
    pub core: Vec<bool>,
}

/// Finds clusters by Ester et al. 1996 with scikit-learn's numbers: clusters are numbered by their smallest core
/// point. A border point joins the cluster with the lowest number near it, or is noise if `star`. `neighbors` include
/// each point itself.
pub fn clusters(neighbors: &[Vec<u32>], min_samples: usize, weights: Option<&[f64]>, star: bool) -> Clusters {
    let weight = |i: u32| weights.map_or(1.0, |weights| weights[i as usize]);
    let is_core = |near: &Vec<u32>| near.iter().map(|&i| weight(i)).sum::<f64>() >= min_samples as f64;
    let core: Vec<bool> = neighbors.iter().map(is_core).collect();

    let mut labels = vec![-1; neighbors.len()];
    let mut next = 0;
    for start in 0..neighbors.len() {
        if !core[start] || labels[start] >= 0 {
            continue;
        }
        labels[start] = next;
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            for near in neighbors[at].iter().map(|&near| near as usize) {
                if core[near] && labels[near] < 0 {
                    labels[near] = next;
                    open.push(near);
                }
            }
        }
        next += 1;
    }

    // Last, so that clusters do not grow from border points.
    if !star {
        for (point, near) in neighbors.iter().enumerate().filter(|&(point, _)| !core[point]) {
            let joined = near.iter().filter(|&&near| core[near as usize]).map(|&near| labels[near as usize]).min();
            labels[point] = joined.unwrap_or(-1);
        }
    }
    Clusters { labels, core }
}

/// By hand: a cluster with two core points and a border point at each end, a border point between two clusters, and a
/// noise point.
#[test]
fn the_oracle_itself() {
    let lists = |pairs: &[(u32, u32)], n: u32| -> Vec<Vec<u32>> {
        let near = |i, j| i == j || pairs.contains(&(i, j)) || pairs.contains(&(j, i));
        (0..n).map(|i| (0..n).filter(|&j| near(i, j)).collect()).collect()
    };
    // 3 - 0 - 1 - 5 - 2 - 4 - 6, and a single point 7.
    let chain = lists(&[(3, 0), (0, 1), (1, 5), (5, 2), (2, 4), (4, 6)], 8);
    assert_eq!(clusters(&chain, 3, None, false).labels, [0, 0, 0, 0, 0, 0, 0, -1]);
    let parted = lists(&[(3, 0), (0, 1), (1, 5), (1, 3), (2, 5), (2, 4), (2, 6)], 8);
    let found = clusters(&parted, 4, None, false);
    assert_eq!(found.core, [false, true, true, false, false, false, false, false]);
    assert_eq!(found.labels, [0, 0, 1, 0, 1, 0, 1, -1]);
    assert_eq!(clusters(&parted, 4, None, true).labels, [-1, 0, 1, -1, -1, -1, -1, -1]);
    let weights = [0.5, 0.0, 0.0, 0.5, 3.0, 0.0, 0.0, 9.0];
    assert_eq!(clusters(&parted, 3, Some(&weights), false).labels, [-1, -1, 0, -1, 0, 0, 0, 1]);
}
