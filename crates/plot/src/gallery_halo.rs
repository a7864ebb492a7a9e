//! A halo in space, and its panel of a gallery.

use ropewalk::geometry::Space;
use ropewalk::internals::format::{counted, significant};

use crate::axis_units::AxisUnits;
use crate::gallery::{GalleryMembers, GalleryPanel};

/// A halo in space: its name, members, centres and R200c, in the lengths of the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GalleryHalo {
    /// The first line of the caption.
    pub name: String,
    /// The positions of the linked members.
    pub members: Vec<[f64; 3]>,
    /// Particle types of Gadget and the positions of attached members. All halos of a gallery have the same types.
    pub others: Vec<(u8, Vec<[f64; 3]>)>,
    /// The centres. One with a NaN is not drawn.
    pub centers: Vec<[f64; 3]>,
    /// The radius of the sphere around the first centre.
    pub r200c: Option<f64>,
}

impl GalleryHalo {
    /// Projects the halo along the z axis, relative to the middle of its linked members, in the lengths of axes. In a
    /// periodic box it is not split. The lines of the caption are the name, the number of members, and R200c.
    ///
    /// ```
    /// use ropewalk::geometry::Space;
    /// use ropewalk_plot::{AxisUnits, GalleryHalo};
    ///
    /// let name = "halo 7".into();
    /// let halo = GalleryHalo { name, members: vec![[9.5, 1.0, 7.0], [0.5, 3.0, 7.0]], ..GalleryHalo::default() };
    /// let panel = halo.panel(&Space::periodic(Some(10.0))?, &AxisUnits::default());
    /// assert_eq!(panel.members, [[-0.5, -1.0], [0.5, 1.0]]);
    /// assert_eq!(panel.caption, ["halo 7", "2 members", ""]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn panel(&self, space: &Space<3>, units: &AxisUnits) -> GalleryPanel {
        let first = self.members.first().copied().unwrap_or([f64::NAN; 3]);
        let offset = |at: &[f64; 3]| {
            let [x, y, _] = space.offset(&first, at);
            [x, y]
        };
        let mut members: Vec<[f64; 2]> = self.members.iter().map(offset).collect();
        let middle = [0, 1].map(|k| {
            let range = (f64::MAX, f64::MIN);
            let (low, high) = members.iter().fold(range, |(low, high), at| (low.min(at[k]), high.max(at[k])));
            0.5 * (low + high)
        });
        let length = units.length_factor();
        let about = |at: [f64; 2]| [0, 1].map(|k| length * (at[k] - middle[k]));
        members.iter_mut().for_each(|at| *at = about(*at));
        let others = self.others.iter().map(|(kind, positions)| GalleryMembers {
            name: type_name(*kind),
            positions: positions.iter().map(|at| about(offset(at))).collect(),
        });
        let others: Vec<GalleryMembers> = others.collect();
        let count = members.len() + others.iter().map(|others| others.positions.len()).sum::<usize>();
        let radius = self.r200c.map(|radius| length * radius);
        let sphere = radius.map(|radius| format!("R200c {} {}", significant(radius, 3), units.length()));
        GalleryPanel {
            caption: [self.name.clone(), counted(count as u64, "member"), sphere.unwrap_or_default()],
            centers: self.centers.iter().map(|at| about(offset(at))).collect(),
            radius,
            members,
            others,
        }
    }
}

/// Returns the name of a particle type in the legend.
fn type_name(kind: u8) -> String {
    match kind {
        0 => "gas".into(),
        1 => "dark matter".into(),
        4 => "stars".into(),
        5 => "black holes".into(),
        6 => "neutrinos".into(),
        _ => format!("type {kind}"),
    }
}
