//! The traffic between ranks, compared with the necessary minimum.

use common::clouds::{self, Cloud};
use ropewalk::Fof;
use ropewalk::distributed::{Communicator, DomainOptions, Measured, on_threads};

/// Returns the octant of a unit cube that contains a point.
fn octant(point: &[f32; 3]) -> usize {
    point.iter().rev().fold(0, |octant, &x| 2 * octant + usize::from(x >= 0.5))
}

/// Returns the number of points within a radius of an octant: the ghosts of a rank with that region.
fn ghosts(points: &[[f32; 3]], of: usize, radius: f64) -> u64 {
    let beyond = |(axis, &x): (usize, &f32)| {
        let is_upper = of >> axis & 1 == 1;
        let beyond = if is_upper { 0.5 - f64::from(x) } else { f64::from(x) - 0.5 };
        beyond.max(0.0).powi(2)
    };
    let is_near = |point: &&[f32; 3]| point.iter().enumerate().map(beyond).sum::<f64>() <= radius * radius;
    points.iter().filter(is_near).count() as u64
}

/// Friends of friends for points that stay in their regions. The traffic, without the boxes of ranks, is compared
/// with the positions of the ghosts alone, counted at each border on the side with fewer.
#[test]
fn groups_send_the_surface() {
    let n = 80_000;
    let separation = (1.0 / n as f64).cbrt();
    let Cloud { points, .. } = clouds::uniform::<f32, 3>("uniform", n, 0.0, 1.0, &[separation], 1.0);
    let shares: Vec<Vec<[f32; 3]>> =
        (0..8).map(|rank| points.iter().copied().filter(|point| octant(point) == rank).collect()).collect();
    for (radius, most) in [(0.5 * separation, 2.5), (1.5 * separation, 1.8)] {
        let pairs = (0..8).flat_map(|a| (0..a).map(move |b| (a, b)));
        let least: u64 =
            pairs.map(|(a, b)| ghosts(&shares[a], b, radius).min(ghosts(&shares[b], a, radius)) * 12).sum();
        let sent = on_threads(8, |ranks| {
            let measured = Measured::new(ranks);
            let domain = DomainOptions::new().in_place().distribute(&measured, &shares[ranks.rank()])?;
            let before = measured.traffic().bytes;
            Fof::new(1e-9).run_on_domain(&domain)?;
            let fixed = measured.traffic().bytes - before;
            Fof::new(radius).min_members(n).run_on_domain(&domain)?;
            Ok((measured.traffic().bytes - before - fixed).saturating_sub(fixed))
        });
        let sent: u64 = sent.unwrap().into_iter().sum();
        println!("radius {:.1} separations: {sent} bytes sent beside boxes, {least} at least", radius / separation);
        assert!(least > 0 && sent >= least, "{sent} of {least}");
        assert!((sent as f64) < most * least as f64, "{sent} of {least}");
    }
}
