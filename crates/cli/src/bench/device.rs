//! The operations on a device, as `operations` has them for the CPU.
//!
//! Points are on the device before the clock starts, and results stay there.

use std::time::Instant;

use ropewalk::gpu::{
    self, Bvh, CenterFinder, Coordinate, Csr, Dbscan, Device, DeviceVec, Fof, Hdbscan, Hop, HopChains, KernelDensity,
    MinimumSpanningTree, Neighbors, Points,
};
use ropewalk::halo::{Centers, HaloCenter};

use super::operations::{Case, CenterSearch, FofSearch, Input, MIN_MEMBERS, MOST_BOUND, Operation, Outcome};
use super::row::Row;
use super::verify;
use crate::failure::Failure;

/// The maximum number of list entries that are compared with those of the CPU, since a second copy of longer lists
/// might not fit in memory. Of longer lists the lengths are compared, and the entries only at some of the points.
const MOST_COMPARED: usize = 200_000_000;

/// The data on the device before the clock starts.
enum DeviceInput<S, const D: usize> {
    Points(Points<S, D>),
    Tree(Bvh<S, D>),
    /// The points in three dimensions.
    Points3(Points<S, 3>),
    /// Halos, and the points that they were found among.
    Halos(gpu::Halos, Points<S, 3>),
}

/// The result of an operation, on the device.
enum DeviceResult<S, const D: usize> {
    Tree(Bvh<S, D>),
    Counts(DeviceVec<u32>),
    Csr(Csr),
    Pairs(u64),
    Nearest(Neighbors),
    Labels(gpu::Labels),
    /// A spanning tree, and its number of samples.
    SpanningTree(gpu::SpanningTree, usize),
    Hdbscan(gpu::HdbscanClusters),
    Halos(gpu::Halos),
    Centers(Centers),
    HaloCenters(gpu::Halos, Centers),
    Densities(DeviceVec<f64>),
    Hop(Box<HopChains>, gpu::Halos),
}

/// Runs an operation once, checks the result against the definition and the CPU, and times it.
pub fn time<S: Coordinate, const D: usize>(
    operation: &Operation,
    case: &Case<'_, S, D>,
    device: Device,
    reps: usize,
    phases: bool,
) -> Result<Row, Failure> {
    device.release()?;
    let ready = prepare(operation, case, device)?;
    let start = Instant::now();
    let warm = run(operation, case, &ready)?;
    warm.wait()?;
    let first = start.elapsed().as_secs_f64();
    let held = device.memory()?.held;
    let size = warm.size();
    let read = warm.read(case)?;
    drop(warm);
    compare(operation, case, &read)
        .map_err(|wrong| format!("{}: the result is wrong, so it is not timed: {wrong}", operation.name()))?;
    let (check, items) = (read.check(), read.items(case));
    drop(read);

    let mut seconds = Vec::with_capacity(reps);
    for _ in 0..reps.max(1) {
        let start = Instant::now();
        let found = run(operation, case, &ready)?;
        found.wait()?;
        seconds.push(start.elapsed().as_secs_f64());
        let again = found.size();
        if again != size {
            return Err(format!("{}: results of two runs differ: sizes {size} and {again}", operation.name()).into());
        }
    }
    seconds.sort_by(f64::total_cmp);
    // Phases are measured in a separate run, because each phase waits for the device.
    let mut steps = vec![];
    if phases {
        let (found, heard) = ropewalk::phases::timed(|| run(operation, case, &ready));
        found?.wait()?;
        steps = heard.into_iter().map(|(step, time)| (step, time.as_secs_f64())).collect();
    }
    Ok(Row {
        op: operation.name(),
        n: case.points.len(),
        seconds,
        items,
        first: Some(first),
        peak_bytes: usize::try_from(held).unwrap_or(usize::MAX),
        check,
        phases: steps,
    })
}

fn prepare<S: Coordinate, const D: usize>(
    operation: &Operation,
    case: &Case<'_, S, D>,
    device: Device,
) -> Result<DeviceInput<S, D>, Failure> {
    let points_3 = || -> Result<Points<S, 3>, Failure> {
        Ok(Points::new_periodic(&case.points_3(operation)?, case.size.clone(), device)?)
    };
    let points = || Points::new_periodic(case.points, case.size.clone(), device);
    let ready = match operation {
        Operation::Build
        | Operation::BuildKnn
        | Operation::Fof(FofSearch::Tree)
        | Operation::Dbscan(_)
        | Operation::Emst
        | Operation::MutualReachability
        | Operation::Hdbscan
        | Operation::Hop => DeviceInput::Points(points()?),
        Operation::RangeCount | Operation::RangeCsr | Operation::HalfCount | Operation::Knn | Operation::HopDensity => {
            let tree = Bvh::from_points(&points()?)?;
            tree.wait()?;
            DeviceInput::Tree(tree)
        }
        Operation::FofMbp => DeviceInput::Points3(points_3()?),
        Operation::Centers(CenterSearch::MostBound) => {
            let points = points_3()?;
            let halos = Fof::new(case.eps).min_members(MIN_MEMBERS).run(&points)?;
            DeviceInput::Halos(halos, points)
        }
        Operation::Refit | Operation::Rebuild | Operation::Fof(_) | Operation::Centers(_) => {
            return Err(format!("{}: not supported on devices; use --device cpu", operation.name()).into());
        }
    };
    Ok(ready)
}

fn run<S: Coordinate, const D: usize>(
    operation: &Operation,
    case: &Case<'_, S, D>,
    ready: &DeviceInput<S, D>,
) -> Result<DeviceResult<S, D>, Failure> {
    Ok(match (operation, ready) {
        (Operation::BuildKnn, DeviceInput::Points(points)) => {
            DeviceResult::Nearest(Bvh::from_points(points)?.nearest_neighbors(case.k)?)
        }
        (Operation::Fof(_), DeviceInput::Points(points)) => DeviceResult::Halos(Fof::new(case.eps).run(points)?),
        (Operation::Dbscan(algorithm), DeviceInput::Points(points)) => {
            DeviceResult::Labels(Dbscan::new(case.eps, case.min_samples).algorithm(*algorithm).run(points)?)
        }
        (Operation::Emst, DeviceInput::Points(points)) => {
            DeviceResult::SpanningTree(MinimumSpanningTree::new().run(points)?, 1)
        }
        (Operation::MutualReachability, DeviceInput::Points(points)) => {
            let samples = case.min_samples;
            DeviceResult::SpanningTree(MinimumSpanningTree::new().min_samples(samples).run(points)?, samples)
        }
        (Operation::Hdbscan, DeviceInput::Points(points)) => {
            DeviceResult::Hdbscan(Hdbscan::from(case.hdbscan()).run(points)?)
        }
        (Operation::Hop, DeviceInput::Points(points)) => {
            let hop = Hop::from(case.hop());
            let chains = hop.chains(points)?;
            let halos = hop.run_on_chains(&chains)?;
            DeviceResult::Hop(Box::new(chains), halos)
        }
        (_, DeviceInput::Points(points)) => DeviceResult::Tree(Bvh::from_points(points)?),
        (Operation::RangeCount, DeviceInput::Tree(tree)) => DeviceResult::Counts(tree.count_neighbors(case.eps)?),
        (Operation::RangeCsr, DeviceInput::Tree(tree)) => DeviceResult::Csr(tree.neighbors(case.eps)?),
        (Operation::HalfCount, DeviceInput::Tree(tree)) => DeviceResult::Pairs(tree.count_pairs(case.eps)?),
        (Operation::HopDensity, DeviceInput::Tree(tree)) => DeviceResult::Densities(KernelDensity::new().run_on(tree)?),
        (_, DeviceInput::Tree(tree)) => DeviceResult::Nearest(tree.nearest_neighbors(case.k)?),
        (_, DeviceInput::Points3(points)) => {
            let halos = Fof::new(case.eps).min_members(MIN_MEMBERS).run(points)?;
            let centers = CenterFinder::new(MOST_BOUND).run(points, &halos)?;
            DeviceResult::HaloCenters(halos, centers)
        }
        (_, DeviceInput::Halos(halos, points)) => {
            DeviceResult::Centers(CenterFinder::new(MOST_BOUND).run(points, halos)?)
        }
    })
}

impl<S: Coordinate, const D: usize> DeviceResult<S, D> {
    fn wait(&self) -> ropewalk::Result<()> {
        match self {
            Self::Tree(tree) => tree.wait(),
            Self::Counts(counts) => counts.wait(),
            Self::Csr(lists) => lists.wait(),
            Self::Nearest(lists) => lists.wait(),
            Self::Labels(labels) => labels.wait(),
            Self::SpanningTree(tree, _) => tree.wait(),
            Self::Hdbscan(clusters) => clusters.wait(),
            Self::Densities(densities) => densities.wait(),
            // These results are complete when they are returned.
            Self::Pairs(_) | Self::Halos(_) | Self::Centers(_) | Self::HaloCenters(..) | Self::Hop(..) => Ok(()),
        }
    }

    /// Returns a size that is known without reading the result.
    fn size(&self) -> u64 {
        match self {
            Self::Tree(tree) => tree.len() as u64,
            Self::Counts(counts) => counts.len() as u64,
            Self::Csr(lists) => lists.n_values() as u64,
            Self::Pairs(pairs) => *pairs,
            Self::Nearest(lists) => lists.len() as u64,
            Self::Labels(labels) => labels.n_clusters() as u64,
            Self::SpanningTree(tree, _) => tree.n_points() as u64,
            Self::Hdbscan(clusters) => clusters.labels().n_clusters() as u64,
            Self::Halos(halos) | Self::HaloCenters(halos, _) | Self::Hop(_, halos) => halos.len() as u64,
            Self::Densities(densities) => densities.len() as u64,
            Self::Centers(centers) => centers.len() as u64,
        }
    }

    /// Downloads the result.
    fn read(&self, case: &Case<'_, S, D>) -> ropewalk::Result<Outcome<S, D>> {
        Ok(match self {
            Self::Tree(tree) => Outcome::Tree(tree.read()?),
            Self::Counts(counts) => Outcome::Counts(counts.read()?),
            Self::Csr(lists) => Outcome::Csr(lists.read()?),
            Self::Pairs(pairs) => Outcome::Pairs(*pairs, case.points.len() as u64),
            Self::Nearest(lists) => Outcome::Nearest(lists.read()?),
            Self::Labels(labels) => Outcome::Labels(labels.read()?, case.min_samples),
            Self::SpanningTree(tree, samples) => Outcome::SpanningTree(tree.read()?, *samples),
            Self::Hdbscan(clusters) => Outcome::Hdbscan(clusters.read()?),
            Self::Halos(halos) => Outcome::Halos(halos.read()?),
            Self::Centers(centers) => Outcome::Centers(centers.clone()),
            Self::HaloCenters(halos, centers) => Outcome::HaloCenters(halos.read()?, centers.clone()),
            Self::Densities(densities) => Outcome::Densities(densities.read()?),
            Self::Hop(chains, halos) => Outcome::Hop(chains.read()?, halos.read()?),
        })
    }
}

/// Checks a result against the definition and the result of the CPU.
fn compare<S: Coordinate, const D: usize>(
    operation: &Operation,
    case: &Case<'_, S, D>,
    found: &Outcome<S, D>,
) -> Result<(), Failure> {
    let prepared = operation.prepare(case)?;
    verify::check(case, &prepared, found)?;
    if let (Outcome::Csr(lists), Input::Tree(tree)) = (found, &prepared)
        && lists.values().len() > MOST_COMPARED
    {
        let counts = tree.count_neighbors(case.eps);
        let is_same =
            lists.len() == counts.len() && lists.iter().zip(counts).all(|(list, count)| list.len() == count as usize);
        return if is_same { Ok(()) } else { Err("lengths of lists differ from those of the CPU".into()) };
    }
    let is_same = match (found, operation.run(case, &prepared)?) {
        (Outcome::Tree(ours), Outcome::Tree(theirs)) => {
            ours.nodes() == theirs.nodes() && ours.order() == theirs.order()
        }
        (Outcome::Counts(ours), Outcome::Counts(theirs)) => *ours == theirs,
        (Outcome::Csr(ours), Outcome::Csr(theirs)) => *ours == theirs,
        (Outcome::Pairs(ours, _), Outcome::Pairs(theirs, _)) => *ours == theirs,
        (Outcome::Nearest(ours), Outcome::Nearest(theirs)) => *ours == theirs,
        (Outcome::Labels(ours, _), Outcome::Labels(theirs, _)) => *ours == theirs,
        (Outcome::SpanningTree(ours, _), Outcome::SpanningTree(theirs, _)) => *ours == theirs,
        (Outcome::Hdbscan(ours), Outcome::Hdbscan(theirs)) => {
            ours.labels() == theirs.labels() && ours.probabilities() == theirs.probabilities()
        }
        (Outcome::Halos(ours), Outcome::Halos(theirs)) => *ours == theirs,
        (Outcome::Centers(ours), Outcome::Centers(theirs)) => are_equal(ours, &theirs),
        (Outcome::Densities(ours), Outcome::Densities(theirs)) => *ours == theirs,
        (Outcome::Hop(chains, halos), Outcome::Hop(their_chains, theirs)) => {
            *chains == their_chains && *halos == theirs
        }
        (Outcome::HaloCenters(halos, ours), Outcome::HaloCenters(their_halos, theirs)) => {
            *halos == their_halos && are_equal(ours, &theirs)
        }
        _ => false,
    };
    if is_same { Ok(()) } else { Err("the result differs from that of the CPU".into()) }
}

/// Returns `true` if the centres are the same members with the same potentials. The number of evaluated pairs may
/// differ.
fn are_equal(ours: &Centers, theirs: &Centers) -> bool {
    let key = |center: &HaloCenter| (center.member, center.potential.map(f64::to_bits), center.position);
    ours.as_slice().iter().map(key).eq(theirs.as_slice().iter().map(key))
}
