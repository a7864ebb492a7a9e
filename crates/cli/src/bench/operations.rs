//! The operations that can be timed, and their results.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ropewalk::cluster::{DbscanAlgorithm, Edge, HdbscanClusters, HopChains, KernelDensity, SpanningTree};
use ropewalk::geometry::{BoxSize, Space};
use ropewalk::halo::{CenterFinder, Centers};
use ropewalk::internals::random::mixed;
use ropewalk::reference::{PoissonGrid, fof_all_pairs, fof_bins, most_bound_a_star, most_bound_poisson};
use ropewalk::search::Neighbor;
use ropewalk::{Bvh, Center, Csr, Dbscan, Fof, Halos, Hdbscan, Hop, Labels, MinimumSpanningTree, Scalar};
use ropewalk_table::Points;

use crate::failure::Failure;

/// The points and the parameters that all operations share.
pub struct Case<'a, S, const D: usize> {
    /// The same points as `points`. Algorithms that take a table are compiled once, in `ropewalk_table`.
    pub table: &'a Points,
    pub points: &'a [[S; D]],
    pub space: Space<D>,
    pub size: Option<BoxSize>,
    pub eps: f64,
    pub min_samples: usize,
    /// The minimum size of a cluster of HDBSCAN*.
    pub min_cluster_size: usize,
    pub k: usize,
}

impl<S: Scalar, const D: usize> Case<'_, S, D> {
    fn fof(&self) -> Fof {
        Fof::new(self.eps).periodic(self.size.clone())
    }

    /// Finds the halos whose centres are searched for.
    fn halos(&self) -> ropewalk::Result<Halos> {
        ropewalk_table::fof(self.table, &self.fof().min_members(MIN_MEMBERS))
    }

    fn centers(&self, by: CenterSearch, points: &[[S; 3]], halos: &Halos) -> ropewalk::Result<Centers> {
        let finder = |center| CenterFinder::new(center).periodic(self.size.clone());
        match by {
            CenterSearch::MostBound => finder(MOST_BOUND).run(points, halos),
            CenterSearch::BruteForce => finder(Center::MostBoundBrute { softening: 0.0 }).run(points, halos),
            CenterSearch::AStar => most_bound_a_star(&finder(MOST_BOUND), points, halos),
            CenterSearch::Poisson => most_bound_poisson(&finder(MOST_BOUND), PoissonGrid::default(), points, halos),
        }
    }

    /// Returns the points as points in three dimensions; an error if they have another number of dimensions.
    pub fn points_3(&self, operation: &Operation) -> Result<Vec<[S; 3]>, Failure> {
        if D != 3 {
            return Err(format!("{}: points have {D} dimensions, not 3", operation.name()).into());
        }
        Ok(self.points.iter().map(|point| std::array::from_fn(|k| point[k])).collect())
    }

    fn spanning_tree(&self, min_samples: usize) -> ropewalk::Result<SpanningTree> {
        let options = MinimumSpanningTree::new().min_samples(min_samples).periodic(self.size.clone());
        ropewalk_table::minimum_spanning_tree(self.table, &options)
    }

    /// HDBSCAN* with `min_samples` samples.
    pub fn hdbscan(&self) -> Hdbscan {
        Hdbscan::new(self.min_cluster_size).min_samples(self.min_samples).periodic(self.size.clone())
    }

    pub fn hop(&self) -> Hop {
        Hop::new(80.0).periodic(self.size.clone())
    }

    pub fn build(&self) -> ropewalk::Result<Bvh<S, D>> {
        Bvh::build_periodic(self.points, self.size.clone())
    }

    /// Builds a tree of the points before a small step: each coordinate differs by at most half of `eps`.
    fn build_before(&self) -> ropewalk::Result<Bvh<S, D>> {
        let random = |at: usize| (mixed(at as u64) >> 11) as f64 / (1u64 << 53) as f64;
        let before = |(i, point): (usize, &[S; D])| -> [S; D] {
            std::array::from_fn(|k| S::from_f64(point[k].into() + self.eps * (random(D * i + k) - 0.5)))
        };
        let before: Vec<[S; D]> = self.points.iter().enumerate().map(before).collect();
        Bvh::build_periodic(&before, self.size.clone())
    }
}

/// The operations that can be timed. Clustering, and operations whose names begin with `Build`, include the
/// construction of the tree. Other queries start from a tree, and centres from halos.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    Build,
    /// Rebuilds a tree of points that have moved by a small step, in the memory of the old tree.
    Rebuild,
    Refit,
    RangeCount,
    RangeCsr,
    HalfCount,
    Knn,
    BuildKnn,
    Fof(FofSearch),
    Dbscan(DbscanAlgorithm),
    /// The minimum spanning tree of the distances.
    Emst,
    /// The minimum spanning tree of mutual reachability, with `min_samples` samples.
    MutualReachability,
    /// The clusters of HDBSCAN*, with `min_samples` samples.
    Hdbscan,
    Centers(CenterSearch),
    /// Halos and their most bound particles.
    FofMbp,
    /// The densities of HOP, from an existing tree.
    HopDensity,
    /// The halos of HOP, at 80 times the mean density.
    Hop,
}

/// The algorithm for friends of friends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FofSearch {
    Tree,
    Bins,
    BruteForce,
}

/// The algorithm for most bound particles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CenterSearch {
    MostBound,
    BruteForce,
    AStar,
    Poisson,
}

/// The minimum number of members of a halo that gets a centre.
pub const MIN_MEMBERS: usize = 20;

/// The names on the command line.
const NAMES: [(&str, Operation); 23] = [
    ("build", Operation::Build),
    ("rebuild", Operation::Rebuild),
    ("refit", Operation::Refit),
    ("range_count", Operation::RangeCount),
    ("range_csr", Operation::RangeCsr),
    ("half_count", Operation::HalfCount),
    ("knn", Operation::Knn),
    ("build_knn", Operation::BuildKnn),
    ("fof", Operation::Fof(FofSearch::Tree)),
    ("fof_bins", Operation::Fof(FofSearch::Bins)),
    ("fof_brute", Operation::Fof(FofSearch::BruteForce)),
    ("dbscan_fdbscan", Operation::Dbscan(DbscanAlgorithm::Fdbscan)),
    ("dbscan_densebox", Operation::Dbscan(DbscanAlgorithm::DenseBox)),
    ("emst", Operation::Emst),
    ("mutual_reachability", Operation::MutualReachability),
    ("hdbscan", Operation::Hdbscan),
    ("mbp", Operation::Centers(CenterSearch::MostBound)),
    ("mbp_brute", Operation::Centers(CenterSearch::BruteForce)),
    ("mbp_astar", Operation::Centers(CenterSearch::AStar)),
    ("mbp_poisson", Operation::Centers(CenterSearch::Poisson)),
    ("fof_mbp", Operation::FofMbp),
    ("hop_density", Operation::HopDensity),
    ("hop", Operation::Hop),
];

pub const MOST_BOUND: Center = Center::MostBound { softening: 0.0 };

/// The result of an operation.
pub enum Outcome<S, const D: usize> {
    Tree(Bvh<S, D>),
    /// A tree that was rebuilt or refitted in place: its number of nodes, and its degradation compared with a fresh
    /// one.
    InPlaceTree(usize, f64),
    Counts(Vec<u32>),
    Csr(Csr<u32>),
    Pairs(u64, u64),
    Nearest(Csr<Neighbor>),
    /// Labels, and the minimum number of neighbours of a core point.
    Labels(Labels, usize),
    /// A spanning tree, and its number of samples.
    SpanningTree(SpanningTree, usize),
    Hdbscan(HdbscanClusters),
    Halos(Halos),
    Centers(Centers),
    /// Halos, and their centres.
    HaloCenters(Halos, Centers),
    Densities(Vec<f64>),
    /// Chains, and their halos.
    Hop(HopChains, Halos),
}

/// The data that exist before the clock starts.
pub enum Input<S, const D: usize> {
    Nothing,
    Tree(Bvh<S, D>),
    /// A tree that is changed in place.
    InPlaceTree(Mutex<Bvh<S, D>>),
    /// The points in three dimensions.
    Points(Vec<[S; 3]>),
    /// Halos, and the points that they were found among.
    Halos(Halos, Vec<[S; 3]>),
}

impl Operation {
    pub fn named(name: &str) -> Result<Self, Failure> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation).ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            format!("unknown operation '{name}'; use {}", known.join(", ")).into()
        })
    }

    pub fn name(&self) -> &'static str {
        NAMES.iter().find(|(_, operation)| operation == self).map_or("", |(name, _)| name)
    }

    /// Prepares the data that the operation starts from.
    pub fn prepare<S: Scalar, const D: usize>(&self, case: &Case<'_, S, D>) -> Result<Input<S, D>, Failure> {
        Ok(match self {
            Self::Build
            | Self::BuildKnn
            | Self::Fof(_)
            | Self::Dbscan(_)
            | Self::Emst
            | Self::MutualReachability
            | Self::Hdbscan
            | Self::Hop => Input::Nothing,
            Self::Rebuild | Self::Refit => Input::InPlaceTree(Mutex::new(case.build_before()?)),
            Self::FofMbp => Input::Points(case.points_3(self)?),
            Self::Centers(_) => {
                let points = case.points_3(self)?;
                Input::Halos(case.halos()?, points)
            }
            _ => Input::Tree(case.build()?),
        })
    }

    pub fn run<S: Scalar, const D: usize>(
        &self,
        case: &Case<'_, S, D>,
        prepared: &Input<S, D>,
    ) -> Result<Outcome<S, D>, Failure> {
        Ok(match (self, prepared) {
            (Self::RangeCount, Input::Tree(tree)) => Outcome::Counts(tree.count_neighbors(case.eps)),
            (Self::RangeCsr, Input::Tree(tree)) => Outcome::Csr(tree.neighbors(case.eps)),
            (Self::HalfCount, Input::Tree(tree)) => {
                Outcome::Pairs(tree.count_pairs(case.eps), case.points.len() as u64)
            }
            (Self::Knn, Input::Tree(tree)) => Outcome::Nearest(tree.nearest_neighbors(case.k)),
            (Self::BuildKnn, _) => Outcome::Nearest(case.build()?.nearest_neighbors(case.k)),
            (Self::Fof(FofSearch::Tree), _) => Outcome::Halos(ropewalk_table::fof(case.table, &case.fof())?),
            (Self::Fof(FofSearch::Bins), _) => Outcome::Halos(fof_bins(&case.fof(), case.points)?),
            (Self::Fof(FofSearch::BruteForce), _) => Outcome::Halos(fof_all_pairs(&case.fof(), case.points)?),
            (Self::Dbscan(algorithm), _) => {
                let dbscan = Dbscan::new(case.eps, case.min_samples).algorithm(*algorithm).periodic(case.size.clone());
                Outcome::Labels(ropewalk_table::dbscan(case.table, &dbscan)?, case.min_samples)
            }
            (Self::Emst, _) => Outcome::SpanningTree(case.spanning_tree(1)?, 1),
            (Self::MutualReachability, _) => {
                Outcome::SpanningTree(case.spanning_tree(case.min_samples)?, case.min_samples)
            }
            (Self::Hdbscan, _) => Outcome::Hdbscan(ropewalk_table::hdbscan(case.table, &case.hdbscan())?),
            (Self::HopDensity, Input::Tree(tree)) => Outcome::Densities(KernelDensity::new().run_on(tree)?),
            (Self::Hop, _) => {
                let hop = case.hop();
                let chains = ropewalk_table::hop_chains(case.table, &hop)?;
                let halos = hop.run_on_chains(&chains)?;
                Outcome::Hop(chains, halos)
            }
            (Self::Centers(by), Input::Halos(halos, points)) => Outcome::Centers(case.centers(*by, points, halos)?),
            (Self::FofMbp, Input::Points(points)) => {
                let halos = case.halos()?;
                let centers = case.centers(CenterSearch::MostBound, points, &halos)?;
                Outcome::HaloCenters(halos, centers)
            }
            (Self::Rebuild | Self::Refit, Input::InPlaceTree(tree)) => {
                let mut tree = kept(tree);
                if *self == Self::Refit {
                    tree.refit(case.points)?
                } else {
                    tree.rebuild(case.points)?
                }
                Outcome::InPlaceTree(tree.n_nodes(), tree.degradation())
            }
            _ => Outcome::Tree(case.build()?),
        })
    }
}

/// Locks the tree. If a panic has poisoned the lock, the tree is still empty or complete.
pub fn kept<S, const D: usize>(tree: &Mutex<Bvh<S, D>>) -> MutexGuard<'_, Bvh<S, D>> {
    tree.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: Scalar, const D: usize> Outcome<S, D> {
    /// A value that results of any library should share.
    pub fn check(&self) -> String {
        match self {
            Self::Tree(tree) => format!("{} nodes", tree.n_nodes()),
            Self::InPlaceTree(nodes, degradation) => format!("{nodes} nodes, degradation {degradation:.6}"),
            Self::Counts(counts) => format!("{} neighbours", counts.iter().map(|&count| u64::from(count)).sum::<u64>()),
            Self::Csr(lists) => format!("{} neighbours", lists.values().len()),
            Self::Pairs(pairs, _) => format!("{pairs} pairs"),
            Self::Nearest(lists) => {
                let distances = lists.values().iter().map(ropewalk::search::Neighbor::distance);
                format!("distances {:.8e}", distances.sum::<f64>())
            }
            Self::Centers(centers) | Self::HaloCenters(_, centers) => {
                let potentials: f64 = centers.as_slice().iter().filter_map(|center| center.potential).sum();
                let fraction = centers.evaluated_fraction();
                format!("{} centers, potentials {potentials:.8e}, {fraction:.3e} of all pairs", centers.len())
            }
            Self::Labels(labels, _) => describe(labels),
            Self::Hdbscan(clusters) => {
                let sum: f64 = clusters.probabilities().iter().sum();
                format!("{}, probabilities {sum:.8e}", describe(clusters.labels()))
            }
            Self::SpanningTree(tree, _) => {
                format!("weights {:.10e}", tree.edges().iter().map(Edge::weight).sum::<f64>())
            }
            Self::Halos(halos) => describe(halos.labels()),
            Self::Densities(densities) => format!("densities {:.8e}", densities.iter().sum::<f64>()),
            Self::Hop(chains, halos) => format!("{} chains, {}", chains.peaks().len(), describe(halos.labels())),
        }
    }

    /// The number of pairs for operations on pairs, otherwise the number of points.
    pub fn items(&self, case: &Case<'_, S, D>) -> u64 {
        match self {
            Self::Pairs(pairs, _) => *pairs,
            _ => case.points.len() as u64,
        }
    }
}

fn describe(labels: &Labels) -> String {
    let largest = labels.sizes().into_iter().max().unwrap_or(0);
    format!("{} clusters, {} noise, largest {largest}", labels.n_clusters(), labels.n_noise())
}
