//! Times ropewalk and its peers with the same points, in the same run, with the same number of threads, and compares
//! their results.

mod answer;
mod data;
mod op;
mod peer;
mod peers;
mod race;
mod report;
mod input;

use std::error::Error;
use std::path::PathBuf;

use clap::Parser;

use crate::input::{Input, Parameters};
use crate::op::Op;
use crate::peer::Peer;
use crate::peers::PEERS;
use crate::race::Limits;

#[derive(Parser)]
struct Options {
    /// Points: .npy of shape (N, 3) in f32, or Gadget-2
    file: PathBuf,
    /// Operations
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "build,range_count,knn,fof,dbscan,emst,mutual_reachability,hdbscan"
    )]
    ops: Vec<Op>,
    /// Libraries [default: all]; the first that supports an operation is the reference
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Radius of range_count [default: eps]
    #[arg(long)]
    radius: Option<f64>,
    /// Linking length of fof, radius of dbscan [default: 0.2 mean separations]
    #[arg(long)]
    eps: Option<f64>,
    /// Points that make a core point of dbscan, and samples of mutual_reachability and hdbscan; all count the point
    /// itself
    #[arg(long, default_value_t = 10)]
    min_pts: usize,
    /// Minimum size of a cluster of hdbscan
    #[arg(long, default_value_t = 10)]
    min_cluster_size: usize,
    #[arg(long, default_value_t = 10)]
    k: usize,
    /// Number of threads, the same for all libraries
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Repetitions after one warm-up
    #[arg(long, default_value_t = 5)]
    reps: usize,
    /// Maximum seconds of one repetition of a peer
    #[arg(long, default_value_t = 60.0)]
    cap: f64,
    /// Write the table as JSON lines
    #[arg(long)]
    json: Option<PathBuf>,
    /// Run one operation of one library for each line of the standard input; for the Python script
    #[arg(long)]
    serve: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let mut peers: Vec<&dyn Peer> = vec![];
    for name in &options.peers {
        let peer = PEERS.iter().find(|peer| peer.name() == name.as_str());
        peers.push(*peer.ok_or_else(|| format!("unknown library {name:?}; known libraries: {}", names().join(", ")))?);
    }
    if peers.is_empty() {
        peers = PEERS.to_vec();
    }
    rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global()?;

    let points = data::read(&options.file).map_err(|error| format!("{}: {error}", options.file.display()))?;
    if points.is_empty() {
        return Err(format!("{}: the file has no points", options.file.display()).into());
    }
    let eps = options.eps.unwrap_or_else(|| 0.2 * input::mean_separation(&points));
    let parameters = Parameters {
        radius: options.radius.unwrap_or(eps),
        eps,
        min_pts: options.min_pts,
        min_cluster_size: options.min_cluster_size,
        k: options.k.min(points.len()),
        threads: options.threads,
    };
    if ![parameters.radius, parameters.eps].iter().all(|&x| x > 0.0 && x.is_finite()) || options.reps == 0 {
        return Err("radius, eps and reps must be positive".into());
    }
    let input = Input::new(points, parameters);

    if options.serve {
        let ([op], [peer]) = (&options.ops[..], &peers[..]) else {
            return Err("--serve requires exactly one operation and one library".into());
        };
        race::serve(*op, *peer, &input);
        return Ok(());
    }

    let limits = Limits { reps: options.reps, cap: options.cap };
    let rows: Vec<_> = options.ops.iter().flat_map(|&op| race::race(op, &peers, &input, &limits)).collect();
    let Parameters { radius, eps, min_pts, min_cluster_size, k, threads } = parameters;
    let file = options.file.file_name().unwrap_or_default().to_string_lossy();
    println!(
        "{file}: {} points, radius {radius}, eps {eps}, min_pts {min_pts}, min_cluster_size {min_cluster_size}, k {k}, \
         threads {threads}\n",
        input.points.len()
    );
    print!("{}", report::markdown(&rows));
    if let Some(path) = &options.json {
        report::write_json(path, &rows)?;
    }
    Ok(())
}

fn names() -> Vec<&'static str> {
    PEERS.iter().map(|peer| peer.name()).collect()
}
