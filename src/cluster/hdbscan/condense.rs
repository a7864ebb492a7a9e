//! From a spanning tree to the condensed tree, without the dendrogram between them.
//!
//! In: edges in ascending order. Out: [`CondensedTree`]. Components grow along the edges, those of one weight at once; one below the least
//! size only lists its points. Where a merge has k pieces of at least that size: for k = 0 a cluster begins (seen from above: it ends),
//! for k = 1 it goes on, for k >= 2 the pieces are the children of a new one; the points of all smaller pieces leave it there. So each
//! point is touched once. Cost: one pass with a union-find by size.

use super::Ties;
use super::tree::{CondensedCluster, CondensedTree, lambda};
use crate::cluster::mst::{Edge, SpanningTree};
use crate::phases::mark;

/// No point, and no cluster.
const NONE: u32 = u32::MAX;

/// What the root of a component knows.
#[derive(Clone, Copy)]
struct Component {
    size: u32,
    /// Any point of the circle of those that are in no cluster yet.
    loose: u32,
    /// Any cluster of the circle of those that merge.
    cluster: u32,
}

/// A cluster in the order of creation: children before their parent.
struct Growing {
    parent: u32,
    birth2: f64,
    death2: f64,
    size: u32,
    /// How many merges it goes on through.
    merges: u32,
    /// The next of the circle of those that merge.
    next: u32,
    /// Siblings are ordered by this.
    rank: u32,
}

/// Points, so many, or a cluster of so many, that leave a cluster.
struct Departure {
    cluster: u32,
    size: u32,
    weight2: f64,
}

struct Condenser {
    min_cluster_size: usize,
    ties: Ties,
    parent: Vec<u32>,
    components: Vec<Component>,
    /// The next of the circle of loose points; once they have left, their departure.
    next: Vec<u32>,
    clusters: Vec<Growing>,
    /// Those of one cluster by descending lambda.
    departures: Vec<Departure>,
}

/// The condensed tree of clusters of at least so many points.
pub(super) fn condense(tree: &SpanningTree, min_cluster_size: usize, ties: Ties) -> CondensedTree {
    let (n, edges) = (tree.n_points(), tree.edges());
    if n == 0 {
        return CondensedTree::default();
    }
    let component = |point| Component { size: 1, loose: point, cluster: NONE };
    let points = || 0..n as u32;
    let mut condenser = Condenser {
        min_cluster_size,
        ties,
        parent: points().collect(),
        components: points().map(component).collect(),
        next: points().collect(),
        clusters: vec![],
        departures: vec![],
    };
    match ties {
        Ties::Together => condenser.join_together(edges),
        Ties::Sequential => condenser.join_sequentially(n, edges),
    }
    // Fewer points than a cluster must have are the root nevertheless; a point alone is left at an infinite distance.
    if condenser.clusters.is_empty() {
        let root = condenser.find(0);
        condenser.gather(root, edges.last().map_or(f64::INFINITY, |edge| edge.weight2));
    }
    mark("condense");
    let tree = condenser.finish();
    mark("clusters");
    tree
}

impl Condenser {
    fn join_together(&mut self, edges: &[Edge]) {
        for equal in edges.chunk_by(|a, b| a.weight2 == b.weight2) {
            for edge in equal {
                let (a, b) = (self.find(edge.low), self.find(edge.high));
                self.join(a, b);
            }
            for edge in equal {
                self.settle(edge.low, edge.weight2);
            }
        }
    }

    fn join_sequentially(&mut self, n: usize, edges: &[Edge]) {
        let above = above(n, edges);
        for edge in edges {
            let (a, b) = (self.find(edge.low), self.find(edge.high));
            // The first of two clusters is that with the end nearer to point 0.
            let low_is_near = above[edge.high as usize] == edge.low;
            for (root, rank) in [(a, !low_is_near), (b, low_is_near)] {
                if let Some(cluster) = self.clusters.get_mut(self.components[root as usize].cluster as usize) {
                    cluster.rank = u32::from(rank);
                }
            }
            self.join(a, b);
            self.settle(edge.low, edge.weight2);
        }
    }

    /// The root of a point's component. Each point on the way is made to point to its grandparent.
    fn find(&mut self, mut at: u32) -> u32 {
        loop {
            let parent = self.parent[at as usize];
            if parent == at {
                return at;
            }
            let grandparent = self.parent[parent as usize];
            self.parent[at as usize] = grandparent;
            at = grandparent;
        }
    }

    /// Makes two components one; their circles, too.
    fn join(&mut self, a: u32, b: u32) {
        let sizes = [a, b].map(|root| self.components[root as usize].size);
        let (large, small) = if sizes[0] >= sizes[1] { (a, b) } else { (b, a) };
        self.parent[small as usize] = large;
        let other = self.components[small as usize];
        let own = &mut self.components[large as usize];
        own.size += other.size;
        // Two circles that swap what comes next are one circle.
        if own.loose == NONE {
            own.loose = other.loose;
        } else if other.loose != NONE {
            self.next.swap(own.loose as usize, other.loose as usize);
        }
        if own.cluster == NONE {
            own.cluster = other.cluster;
        } else if other.cluster != NONE {
            let (a, b) = (own.cluster as usize, other.cluster as usize);
            let next = self.clusters[a].next;
            self.clusters[a].next = std::mem::replace(&mut self.clusters[b].next, next);
        }
    }

    /// Makes one cluster of what has come together in a point's component, if it is large enough and that is not done.
    fn settle(&mut self, point: u32, weight2: f64) {
        let root = self.find(point);
        if self.components[root as usize].size as usize >= self.min_cluster_size {
            self.gather(root, weight2);
        }
    }

    /// Makes one cluster of what has come together in a component.
    fn gather(&mut self, root: u32, weight2: f64) {
        let Component { size, loose, cluster } = self.components[root as usize];
        let is_one = cluster != NONE && self.clusters[cluster as usize].next == cluster;
        if is_one && loose == NONE {
            return;
        }
        let owner = if is_one { cluster } else { self.clusters.len() as u32 };
        if is_one {
            self.clusters[cluster as usize].merges += 1;
        } else {
            if cluster != NONE {
                self.give_birth(cluster, owner, weight2);
            }
            let (birth2, death2) = (f64::INFINITY, weight2);
            self.clusters.push(Growing { parent: NONE, birth2, death2, size, merges: 0, next: owner, rank: NONE });
        }
        self.clusters[owner as usize].size = size;
        if loose != NONE {
            self.leave(loose, owner, weight2);
        }
        self.components[root as usize] = Component { size, loose: NONE, cluster: owner };
    }

    /// Makes the clusters of a circle the children of a new one.
    fn give_birth(&mut self, first: u32, parent: u32, weight2: f64) {
        let (mut at, mut rows) = (first, vec![]);
        loop {
            let child = &mut self.clusters[at as usize];
            (child.parent, child.birth2) = (parent, weight2);
            rows.push((child.rank, child.size));
            at = child.next;
            if at == first {
                break;
            }
        }
        // The last comes first, for departures are read from their end.
        rows.sort_unstable_by(|a, b| b.cmp(a));
        match self.ties {
            Ties::Together => {
                let size = rows.iter().map(|row| row.1).sum();
                self.departures.push(Departure { cluster: parent, size, weight2 });
            }
            Ties::Sequential => {
                let departure = |row: (u32, u32)| Departure { cluster: parent, size: row.1, weight2 };
                self.departures.extend(rows.into_iter().map(departure));
            }
        }
    }

    /// The points of a circle leave a cluster.
    fn leave(&mut self, first: u32, cluster: u32, weight2: f64) {
        let (mut at, mut size) = (first, 0);
        loop {
            let next = std::mem::replace(&mut self.next[at as usize], self.departures.len() as u32);
            size += 1;
            if self.ties == Ties::Sequential {
                self.departures.push(Departure { cluster, size: 1, weight2 });
            }
            at = next;
            if at == first {
                break;
            }
        }
        if self.ties == Ties::Together {
            self.departures.push(Departure { cluster, size, weight2 });
        }
    }

    fn finish(mut self) -> CondensedTree {
        let departures = &self.departures;
        let weight2 = self.next.iter().map(|&at| departures[at as usize].weight2).collect();
        let mut cluster: Vec<u32> = self.next.iter().map(|&at| departures[at as usize].cluster).collect();
        if self.ties == Ties::Together {
            rank_by_smallest_member(&mut self.clusters, &cluster);
        }
        let order = breadth_first(&self.clusters);
        let mut number = vec![0; order.len()];
        for (at, &created) in order.iter().enumerate() {
            number[created as usize] = at as u32;
        }
        cluster.iter_mut().for_each(|cluster| *cluster = number[*cluster as usize]);
        let stabilities = self.stabilities();
        let mut clusters: Vec<CondensedCluster> = Vec::with_capacity(order.len());
        for &created in &order {
            let &Growing { parent, birth2, death2, size, .. } = &self.clusters[created as usize];
            let parent = number.get(parent as usize).copied();
            let at = clusters.len() as u32;
            if let Some(parent) = parent {
                let children = &mut clusters[parent as usize].children;
                *children = if children.end == 0 { at..at + 1 } else { children.start..at + 1 };
            }
            clusters.push(CondensedCluster {
                parent,
                children: 0..0,
                birth: lambda(birth2),
                death: lambda(death2),
                size,
                stability: stabilities[created as usize],
                label: None,
                birth2,
                death2,
            });
        }
        CondensedTree { clusters, cluster, weight2, min_cluster_size: self.min_cluster_size }
    }

    /// The stability of each cluster, summed by ascending lambda. Equal lambdas are one term, so that no order of points tells in the
    /// last bit; or for [`Ties::Sequential`] a term a row, as in scikit-learn.
    fn stabilities(&self) -> Vec<f64> {
        let mut stabilities = vec![0.0; self.clusters.len()];
        for departure in self.departures.iter().rev() {
            let birth2 = self.clusters[departure.cluster as usize].birth2;
            // Equal ones differ by 0, infinite ones as well.
            if departure.weight2 < birth2 {
                let gain = lambda(departure.weight2) - lambda(birth2);
                stabilities[departure.cluster as usize] += gain * f64::from(departure.size);
            }
        }
        stabilities
    }
}

/// For each point the next on its way along the tree to point 0.
fn above(n: usize, edges: &[Edge]) -> Vec<u32> {
    // A point with one neighbour left has it as the exclusive or of its neighbours.
    let (mut degree, mut neighbors) = (vec![0u32; n], vec![0; n]);
    for &Edge { low, high, .. } in edges {
        for (end, other) in [(low, high), (high, low)] {
            degree[end as usize] += 1;
            neighbors[end as usize] ^= other;
        }
    }
    for point in 1..n {
        let mut at = point;
        while at != 0 && degree[at] == 1 {
            let up = neighbors[at] as usize;
            degree[at] = 0;
            degree[up] -= 1;
            neighbors[up] ^= at as u32;
            at = up;
        }
    }
    neighbors
}

/// Ranks clusters by the lowest of their points.
fn rank_by_smallest_member(clusters: &mut [Growing], cluster: &[u32]) {
    for (point, &cluster) in cluster.iter().enumerate() {
        let rank = &mut clusters[cluster as usize].rank;
        *rank = (*rank).min(point as u32);
    }
    for at in 0..clusters.len() {
        let Growing { parent, rank, .. } = clusters[at];
        if let Some(parent) = clusters.get_mut(parent as usize) {
            parent.rank = parent.rank.min(rank);
        }
    }
}

/// The clusters in the order in which a breadth-first walk through the dendrogram comes to where they split off, siblings by rank.
fn breadth_first(clusters: &[Growing]) -> Vec<u32> {
    // Children by parent; the root, which is created last, has none.
    let mut children: Vec<u32> = (0..clusters.len() as u32 - 1).collect();
    children.sort_unstable_by_key(|&child| {
        let Growing { parent, rank, .. } = clusters[child as usize];
        (parent, rank)
    });
    let of = |parent: u32| {
        let from = children.partition_point(|&child| clusters[child as usize].parent < parent);
        let to = children.partition_point(|&child| clusters[child as usize].parent <= parent);
        &children[from..to]
    };
    // Depth first, with the depth of each split: splits at one depth are met from the first to the last.
    let root = clusters.len() as u32 - 1;
    let (mut open, mut splits) = (vec![(root, 0)], vec![]);
    while let Some((cluster, depth)) = open.pop() {
        let depth = depth + clusters[cluster as usize].merges;
        let children = of(cluster);
        if !children.is_empty() {
            splits.push((depth, cluster));
            open.extend(children.iter().rev().map(|&child| (child, depth + 1)));
        }
    }
    splits.sort_by_key(|&(depth, _)| depth);
    std::iter::once(root).chain(splits.iter().flat_map(|&(_, parent)| of(parent)).copied()).collect()
}
