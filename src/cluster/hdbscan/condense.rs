//! From a spanning tree to the condensed tree, without the dendrogram between them.
//!
//! In: edges in ascending order. Out: [`CondensedTree`]. Components grow along the edges, those of one weight at once; one below the least
//! size only lists its points. Where a merge has k pieces of at least that size: for k = 0 a cluster begins (seen from above: it ends),
//! for k = 1 it goes on, for k >= 2 the pieces are the children of a new one; the points of all smaller pieces leave it there. So each
//! point is touched once. Cost: one pass with a union-find by size.

use super::Ties;
use super::tree::{CondensedCluster, CondensedTree, lambda};
use crate::cluster::mst::{AHEAD, Edge, SpanningTree, look_ahead};
use crate::phases::mark;

/// No point, and no cluster.
const NONE: u32 = u32::MAX;

/// A point; all that a merge asks of it is in one place of the memory.
#[derive(Clone, Copy)]
struct Node {
    /// Towards the root of its component; the root's is itself.
    parent: u32,
    /// The next of the circle of points that are in no cluster yet; once it has left, its departure.
    next: u32,
    /// Of a root: how many points its component has, and any cluster of the circle of those that merge. Without one the root is in no
    /// cluster itself.
    size: u32,
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
    /// The next of the circle of those that merge, and any point of their component that is in no cluster yet.
    next: u32,
    loose: u32,
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
    nodes: Vec<Node>,
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
    let node = |point| Node { parent: point, next: point, size: 1, cluster: NONE };
    let mut condenser = Condenser {
        min_cluster_size,
        ties,
        nodes: (0..n as u32).map(node).collect(),
        clusters: vec![],
        departures: vec![],
    };
    match ties {
        Ties::Together => condenser.join_together(edges),
        Ties::Sequential => condenser.join_sequentially(edges),
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
        let mut at = 0;
        let mut seen = 0;
        for equal in edges.chunk_by(|a, b| a.weight2 == b.weight2) {
            if at >= seen {
                seen = self.look_ahead(edges, at);
            }
            at += equal.len();
            for edge in equal {
                let (a, b) = (self.find(edge.low), self.find(edge.high));
                self.join(a, b);
            }
            for edge in equal {
                self.settle(edge.low, edge.weight2);
            }
        }
    }

    fn join_sequentially(&mut self, edges: &[Edge]) {
        let above = above(self.nodes.len(), edges);
        for (at, edge) in edges.iter().enumerate() {
            if at.is_multiple_of(AHEAD) {
                self.look_ahead(edges, at);
            }
            let (a, b) = (self.find(edge.low), self.find(edge.high));
            // The first of two clusters is that with the end nearer to point 0.
            let [low, high] = [a, b].map(|root| self.nodes[root as usize].cluster);
            if low != NONE && high != NONE {
                let low_is_near = above[edge.high as usize] == edge.low;
                self.clusters[low as usize].rank = u32::from(!low_is_near);
                self.clusters[high as usize].rank = u32::from(low_is_near);
            }
            self.join(a, b);
            self.settle(edge.low, edge.weight2);
        }
    }

    /// Asks for what the next edges need. Returns how far it has looked.
    fn look_ahead(&self, edges: &[Edge], from: usize) -> usize {
        let to = edges.len().min(from + AHEAD);
        look_ahead(&edges[from..to], |point| self.nodes[point as usize].parent);
        to
    }

    /// The root of a point's component. Each second point on the way is made to point to its grandparent.
    fn find(&mut self, mut at: u32) -> u32 {
        loop {
            let parent = self.nodes[at as usize].parent;
            if parent == at {
                return at;
            }
            let grandparent = self.nodes[parent as usize].parent;
            if grandparent != parent {
                self.nodes[at as usize].parent = grandparent;
            }
            at = grandparent;
        }
    }

    /// Any point of a root's component that is in no cluster yet.
    fn loose(&self, root: u32) -> u32 {
        self.clusters.get(self.nodes[root as usize].cluster as usize).map_or(root, |cluster| cluster.loose)
    }

    /// Makes two components one; their circles, too.
    fn join(&mut self, a: u32, b: u32) {
        let sizes = [a, b].map(|root| self.nodes[root as usize].size);
        let (large, small) = if sizes[0] >= sizes[1] { (a, b) } else { (b, a) };
        let loose = [large, small].map(|root| self.loose(root));
        let [own, other] = [large, small].map(|root| self.nodes[root as usize].cluster);
        self.nodes[small as usize].parent = large;
        self.nodes[large as usize].size = sizes[0] + sizes[1];
        // Two circles that swap what comes next are one circle.
        if loose.iter().all(|&point| point != NONE) {
            let [a, b] = loose.map(|point| point as usize);
            (self.nodes[a].next, self.nodes[b].next) = (self.nodes[b].next, self.nodes[a].next);
        }
        if own != NONE && other != NONE {
            let [a, b] = [own as usize, other as usize];
            (self.clusters[a].next, self.clusters[b].next) = (self.clusters[b].next, self.clusters[a].next);
        }
        // No number is larger than that of none.
        let cluster = if own == NONE { other } else { own };
        self.nodes[large as usize].cluster = cluster;
        if let Some(cluster) = self.clusters.get_mut(cluster as usize) {
            cluster.loose = loose[0].min(loose[1]);
        }
    }

    /// Makes one cluster of what has come together in a point's component, if it is large enough and that is not done.
    fn settle(&mut self, point: u32, weight2: f64) {
        let root = self.find(point);
        if self.nodes[root as usize].size as usize >= self.min_cluster_size {
            self.gather(root, weight2);
        }
    }

    /// Makes one cluster of what has come together in a component.
    fn gather(&mut self, root: u32, weight2: f64) {
        let Node { size, cluster, .. } = self.nodes[root as usize];
        let loose = self.loose(root);
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
            let circle =
                Growing { parent: NONE, birth2, death2, size, merges: 0, next: owner, loose: NONE, rank: NONE };
            self.clusters.push(circle);
        }
        let own = &mut self.clusters[owner as usize];
        (own.size, own.loose) = (size, NONE);
        self.nodes[root as usize].cluster = owner;
        if loose != NONE {
            self.leave(loose, owner, weight2);
        }
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
            let next = std::mem::replace(&mut self.nodes[at as usize].next, self.departures.len() as u32);
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
        let departures = self.nodes.iter().map(|node| &self.departures[node.next as usize]);
        let (mut cluster, weight2): (Vec<u32>, Vec<f64>) = departures.map(|own| (own.cluster, own.weight2)).unzip();
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

    /// The stability of each cluster, summed by ascending lambda. Points of one lambda are one term, so that no order of points tells in the
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
    // How many neighbours a point has left, and their exclusive or: of one that is itself.
    let mut left = vec![(0u32, 0); n];
    for &Edge { low, high, .. } in edges {
        for (end, other) in [(low, high), (high, low)] {
            let (count, neighbors) = &mut left[end as usize];
            *count += 1;
            *neighbors ^= other;
        }
    }
    for point in 1..n {
        let mut at = point;
        while let (1, up) = left[at]
            && at != 0
        {
            left[at].0 = 0;
            let (count, neighbors) = &mut left[up as usize];
            *count -= 1;
            *neighbors ^= at as u32;
            at = up as usize;
        }
    }
    left.into_iter().map(|(_, up)| up).collect()
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
    // The children of each, one list after the other: where they begin, and the lists.
    let root = clusters.len() - 1;
    let mut begin = vec![0; clusters.len() + 1];
    clusters[..root].iter().for_each(|child| begin[child.parent as usize + 1] += 1);
    (0..clusters.len()).for_each(|at| begin[at + 1] += begin[at]);
    let (mut filled, mut children) = (begin.clone(), vec![0; root]);
    for (at, child) in clusters[..root].iter().enumerate() {
        let place = &mut filled[child.parent as usize];
        children[*place] = at as u32;
        *place += 1;
    }
    for own in begin.windows(2) {
        children[own[0]..own[1]].sort_unstable_by_key(|&child| clusters[child as usize].rank);
    }
    let of = |parent: u32| &children[begin[parent as usize]..begin[parent as usize + 1]];
    // Depth first, with the depth of each split: splits at one depth are met from the first to the last.
    let (mut open, mut splits) = (vec![(root as u32, 0)], vec![]);
    while let Some((cluster, depth)) = open.pop() {
        let depth = depth + clusters[cluster as usize].merges;
        if !of(cluster).is_empty() {
            splits.push((depth, cluster));
            open.extend(of(cluster).iter().rev().map(|&child| (child, depth + 1)));
        }
    }
    splits.sort_by_key(|&(depth, _)| depth);
    std::iter::once(root as u32).chain(splits.iter().flat_map(|&(_, parent)| of(parent)).copied()).collect()
}
