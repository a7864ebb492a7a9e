//! The projection of particles that are distributed over ranks.

use ropewalk::distributed::{Communicator, Reduction, Term, agree, agree_on};
use ropewalk::geometry::Boundary;
use ropewalk::halo::Particles;
use ropewalk::{Result, Scalar};
use ropewalk_table::Catalog;

use crate::projection::{ProjectedDensity, Projection};
use crate::slab::Slab;
use crate::style::Style;

/// Draws the picture of [`projection`](crate::projection) for the particles of all ranks, byte for byte. Returns it
/// on each rank that passes the catalogue. Collective.
///
/// `part` holds the particles of this rank. All ranks pass the same slab and resolution; the title is taken from
/// ranks with a catalogue. Cost: that of one process for a rank's own particles, and reductions of 17 MB plus 8 bytes
/// per pixel.
///
/// ```
/// use ropewalk::distributed::{Communicator, on_threads};
/// use ropewalk_plot::{PictureFormat, Projection, projection, projection_across};
/// use ropewalk_table::Catalog;
/// use ropewalk::halo::Particles;
/// use ropewalk::Fof;
///
/// let points = [[0.5f32, 5.0, 5.0], [9.75, 5.0, 5.0], [4.0, 2.0, 1.0]];
/// let particles = Particles::new(&points).periodic(10.0);
/// let catalog = Catalog::new(&Fof::new(1.0).periodic(10.0).run(&points)?, &particles)?;
/// let shown = Projection { title: "three particles".into(), ..Default::default() };
/// let pictures = on_threads(2, |ranks| {
///     let own = if ranks.rank() == 0 { &points[..1] } else { &points[1..] };
///     let catalog = (ranks.rank() == 0).then_some(&catalog);
///     projection_across(ranks, &Particles::new(own).periodic(10.0), catalog, &shown, PictureFormat::Png)
/// })?;
/// assert_eq!(pictures, [Some(projection(&particles, &catalog, &shown, PictureFormat::Png)?), None]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails on all ranks as [`projection`](crate::projection) does, or if slabs or resolutions differ.
pub fn projection_across<S: Scalar>(
    ranks: &dyn Communicator,
    part: &Particles<S>,
    catalog: Option<&Catalog>,
    shown: &Projection,
    style: impl Into<Style>,
) -> Result<Option<Vec<u8>>> {
    let style = style.into();
    let slab = shown.slab.as_ref();
    let (dpi, boundary) = agree(ranks, style.resolution().and_then(|dpi| Ok((dpi, known(part, catalog)?))))?;
    let [from, to] = slab.map_or([0.0; 2], Slab::ends);
    let axis = ("slab axis (3: no slab)", Term::Whole(slab.map_or(3, |slab| slab.axis() as u64)));
    let ends = [("start of the slab", Term::Real(from)), ("end of the slab", Term::Real(to))];
    let sight = ("line of sight", Term::Whole(shown.axis() as u64));
    agree_on(ranks, 0, &[("dpi", Term::Real(dpi)), axis, ends[0], ends[1], sight])?;

    // The periodic box, if any rank knows it.
    let mut sides = [0; 3];
    if let Boundary::Periodic(own) = &boundary {
        sides.iter_mut().zip(own).for_each(|(side, own)| *side = own.to_bits());
    }
    ranks.all_reduce(&mut sides, Reduction::Max)?;
    let of_all =
        if sides == [0; 3] { Boundary::Unknown } else { Boundary::Periodic(sides.map(f64::from_bits).to_vec()) };
    let spaces = [("the particles of other ranks are in", &of_all), ("the particles are in", &boundary)];
    let space = agree(ranks, Boundary::common(&spaces).and_then(|all| all.space()))?;

    let seen = ProjectedDensity::new(part, part.extent_across(ranks)?.into(), &space, shown, style, ranks)?;
    let picture = catalog.map(|catalog| seen.draw(catalog, shown, style)).transpose();
    agree(ranks, picture)
}

/// Returns the space that a rank knows.
fn known<S: Scalar>(part: &Particles<S>, catalog: Option<&Catalog>) -> Result<Boundary> {
    let said = part.boundary()?;
    let measured = catalog.map_or(&Boundary::Unknown, Catalog::boundary);
    Boundary::common(&[("the halos were measured in", measured), ("the particles are in", &said)])
}

#[cfg(test)]
mod tests {
    use ropewalk::Fof;
    use ropewalk::distributed::on_threads;

    use super::*;
    use crate::{LineOfSight, PictureFormat, projection};

    const POINTS: [[f64; 3]; 4] = [[0.5, 5.0, 5.0], [9.75, 5.0, 5.0], [4.0, 2.0, 1.0], [4.5, 2.0, 1.0]];

    fn catalog() -> Catalog {
        let halos = Fof::new(1.0).periodic(10.0).run(&POINTS).unwrap();
        Catalog::new(&halos, &Particles::new(&POINTS)).unwrap()
    }

    /// Some ranks have no particles, and only the catalogue knows the box.
    #[test]
    fn what_one_rank_knows() {
        let (catalog, shown) = (catalog(), Projection::default());
        let style = Style::new(PictureFormat::Png).dpi(20.0);
        for (points, last) in [(&POINTS[..], 1), (&POINTS[..], 3), (&[], 0)] {
            let one = projection(&Particles::new(points), &catalog, &shown, style).unwrap();
            let pictures = on_threads(4, |ranks| {
                let own = if ranks.rank() == last { points } else { &[] };
                projection_across(ranks, &Particles::new(own), (ranks.rank() == 1).then_some(&catalog), &shown, style)
            });
            assert!(pictures.unwrap() == [None, Some(one), None, None]);
        }
    }

    #[test]
    fn what_differs_is_refused() {
        let refused = |side: [Option<f64>; 2], dpi: [f64; 2], slab: [&str; 2]| {
            let error = on_threads(2, |ranks| {
                let rank = ranks.rank();
                let shown = Projection { slab: slab[rank].parse().ok(), ..Projection::default() };
                let style = Style::new(PictureFormat::Png).dpi(dpi[rank]);
                projection_across(ranks, &Particles::new(&POINTS).periodic(side[rank]), None, &shown, style)
            });
            error.unwrap_err().to_string()
        };
        let (sides, dpi) = ([Some(10.0); 2], [20.0; 2]);
        let error = refused([Some(10.0), Some(20.0)], dpi, [""; 2]);
        assert!(error.contains("a periodic box of 20") && error.contains("a periodic box of 10"), "{error}");
        assert!(refused(sides, [20.0, 30.0], [""; 2]).contains("dpi is 30 on rank 1 and 20 on rank 0"));
        assert!(refused(sides, [20.0, 3.0], [""; 2]).contains("dpi is 3"));
        assert!(refused(sides, dpi, ["", "z:1..2"]).contains("slab axis (3: no slab) is 2 on rank 1 and 3 on rank 0"));
        let sights = on_threads(2, |ranks| {
            let axis = [LineOfSight::X, LineOfSight::Z][ranks.rank()];
            let (shown, style) =
                (Projection { axis, ..Projection::default() }, Style::new(PictureFormat::Png).dpi(20.0));
            projection_across(ranks, &Particles::new(&POINTS), None, &shown, style)
        });
        assert!(sights.unwrap_err().to_string().contains("line of sight is 2 on rank 1 and 0 on rank 0"));
        assert!(refused(sides, dpi, ["z:1..3", "z:1..2"]).contains("end of the slab is 2 on rank 1 and 3 on rank 0"));
    }
}
