//! The circles, numbers and legend of the halos in a projection.

use ropewalk::internals::format::counted;
use ropewalk_table::{Catalog, Halo};

use crate::axis::{FAINT, PAPER};
use crate::canvas::Align;
use crate::chart::{Chart, Rect, meet};
use crate::colors::Rgb;
use crate::font::{HIGH, width};
use crate::window::{LETTERS, PLOT, SIDE, Window};

/// The numbers of halos with circles, of halos with numbers, and of subhalos with circles.
const CIRCLED: usize = 25;
const NUMBERED: usize = 10;
const SUBHALOS: usize = 100;
/// The width of circles, and the minimum radii of halos and subhalos. A smaller circle would hide its contents.
const LINE: f64 = 2.6;
const LEAST: [f64; 2] = [7.0, 4.0];
/// The distances of numbers from their circles to try, and that from which on a line connects both.
const DISTANCES: [f64; 7] = [3.0, 8.0, 16.0, 28.0, 44.0, 64.0, 90.0];
const CONNECTED: f64 = 12.0;
/// The directions to try, beginning at the upper right.
const DIRECTIONS: u32 = 16;
/// The colour of subhalo circles, which is not part of the density scale.
const CYAN: Rgb = [80, 235, 255];
/// The background of circles in the legend.
const NIGHT: Rgb = [33, 12, 74];

/// The halos and subhalos with circles, largest first.
pub struct Circles<'a> {
    /// The rows of the halos.
    halos: Vec<usize>,
    subhalos: Vec<usize>,
    all: &'a [Halo],
    /// The numbers of halos and subhalos in the visible part of space.
    visible: [u64; 2],
    /// `true` if the catalogue has subhalos. Its halos are extended, so their circles do not enclose the farthest
    /// member.
    nested: bool,
    /// `true` if the picture shows a slab.
    in_slab: bool,
    /// `true` if the subhalos of the circled halos are too many for a circle each.
    omits_subhalos: bool,
}

/// A circle on the page: its centre, and its radius.
type Ring = ([f64; 2], f64);

impl<'a> Circles<'a> {
    /// Selects the largest halos of a catalogue whose centre is shown, and their largest subhalos.
    /// `in_slab` is for the legend.
    pub fn new(catalog: &'a Catalog, in_slab: bool, is_shown: impl Fn([f64; 3]) -> bool) -> Self {
        let all = catalog.halos();
        let shown = |row: &usize| is_shown(all[*row].center);
        let mut halos: Vec<usize> = (0..all.len()).filter(|&row| catalog.is_host(row)).filter(shown).collect();
        let mut subhalos: Vec<usize> = (0..catalog.subhalos().len()).filter(|&row| !catalog.is_host(row)).collect();
        subhalos.retain(shown);
        let visible = [halos.len() as u64, subhalos.len() as u64];
        halos.truncate(CIRCLED);
        subhalos.retain(|&row| halos.binary_search(&(catalog.subhalos()[row].host as usize)).is_ok());
        let omits_subhalos = subhalos.len() > SUBHALOS;
        subhalos.truncate(SUBHALOS);
        let nested = !catalog.subhalos().is_empty();
        Self { halos, subhalos, all, visible, nested, in_slab, omits_subhalos }
    }

    /// Describes the numbers of visible halos and subhalos.
    pub fn counts(&self) -> String {
        let [halos, subhalos] = self.visible;
        let subhalos = if self.nested { format!(", {}", counted(subhalos, "subhalo")) } else { String::new() };
        format!("{}{subhalos}", counted(halos, "halo"))
    }

    /// Draws all circles, and the rows of the largest halos.
    pub fn draw(&self, chart: &mut Chart, window: &Window) {
        let mut rings: Vec<Ring> = vec![];
        for &row in self.subhalos.iter().rev() {
            let halo = &self.all[row];
            circle(chart, window, halo.center, on_page(window, halo.rms_radius, LEAST[1]), CYAN, &mut rings);
        }
        let radius = |halo: &Halo| if self.nested { halo.rms_radius } else { halo.max_radius };
        for &row in self.halos.iter().rev() {
            let halo = &self.all[row];
            circle(chart, window, halo.center, on_page(window, radius(halo), LEAST[0]), PAPER, &mut rings);
        }
        // The numbers of larger halos take precedence: later ones that would overlap them move, or are omitted.
        let mut taken: Vec<Rect> = vec![];
        for &row in self.halos.iter().take(NUMBERED) {
            let (halo, label) = (&self.all[row], row.to_string());
            let [x, y] = window.pixel(halo.center);
            let own = ([PLOT[0][0] + x, PLOT[0][1] + y], on_page(window, radius(halo), LEAST[0]));
            if let Some((place, edge)) = room_for(&label, own, &rings, &taken) {
                if let Some([from, to]) = edge {
                    chart.line(vec![from, to], LINE, PAPER);
                }
                chart.text_outlined(&label, [place[0][0], place[1][1]], LETTERS, [PAPER, [0; 3]]);
                taken.push(place);
            }
        }
    }

    /// Names the halos with circles: `the 25 largest halos of the slab`.
    fn circled_halos(&self) -> String {
        let of = if self.in_slab { " of the slab" } else { "" };
        match (self.halos.len(), self.visible[0] as usize) {
            (1, _) => format!("the halo{of}"),
            (circled, all) if circled == all => format!("the {circled} halos{of}"),
            (circled, _) => format!("the {circled} largest halos{of}"),
        }
    }

    /// Names the subhalos with circles: `their 100 largest subhalos`.
    fn circled_subhalos(&self) -> String {
        match (self.subhalos.len(), self.omits_subhalos) {
            (0, _) => "no subhalos".into(),
            (1, _) => "their subhalo".into(),
            (circled, false) => format!("their {circled} subhalos"),
            (circled, true) => format!("their {circled} largest subhalos"),
        }
    }

    /// Draws the two lines below the title, centred.
    pub fn legend(&self, chart: &mut Chart, [middle, line]: [f64; 2]) {
        let circled = self.halos.len();
        let numbers = if circled == 1 { "number: row of the catalogue" } else { "numbers: rows of the catalogue" };
        let radius = if self.nested { "root mean square distance of members" } else { "farthest member" };
        if circled == 0 {
            return chart.heading("no halos", [middle, line], LETTERS, FAINT);
        }
        chart.heading(&format!("radius: {radius}; {numbers}"), [middle, line + 1.3 * LETTERS], LETTERS, FAINT);
        if !self.nested {
            let circles = if circled == 1 { "circle" } else { "circles" };
            return chart.heading(&format!("{circles}: {}", self.circled_halos()), [middle, line], LETTERS, FAINT);
        }
        let entries = [(PAPER, self.circled_halos()), (CYAN, self.circled_subhalos())];
        let step = |name: &str| width(name, LETTERS) + 84.0;
        let mut x = middle - 0.5 * entries.iter().map(|(_, name)| step(name)).sum::<f64>() + 20.0;
        for (color, name) in entries {
            let at = [x + 14.0, line - 0.35 * LETTERS];
            chart.fill([at.map(|x| x - 17.0), at.map(|x| x + 17.0)], NIGHT);
            chart.ring(at, 10.0, LINE, color);
            chart.text(name.as_str(), [x + 44.0, line], LETTERS, Align::Left, FAINT);
            x += step(&name);
        }
    }
}

/// Returns the radius of a circle on the page, at least `least`.
fn on_page(window: &Window, radius: f64, least: f64) -> f64 {
    (radius * SIDE as f64 / window.side).clamp(least, SIDE as f64)
}

/// Draws a circle at all of its periodic images that the picture shows, and appends them to `rings`.
fn circle(chart: &mut Chart, window: &Window, center: [f64; 3], radius: f64, color: Rgb, rings: &mut Vec<Ring>) {
    let scale = SIDE as f64 / window.side;
    let at = window.pixel(center);
    let shifts = |k: usize| match window.period {
        Some(period) => vec![0.0, -period[window.axes[k]] * scale, period[window.axes[k]] * scale],
        None => vec![0.0],
    };
    let sees = |x: f64| (-radius - 1.0..=SIDE as f64 + radius + 1.0).contains(&x);
    for dy in shifts(1) {
        for dx in shifts(0) {
            if sees(at[0] + dx) && sees(at[1] + dy) {
                let place = [PLOT[0][0] + at[0] + dx, PLOT[0][1] + at[1] + dy];
                chart.ring(place, radius, LINE, color);
                rings.push((place, radius));
            }
        }
    }
}

/// Returns the rectangle of a number beside its circle, at the upper right if there is room. Otherwise it is the first
/// place inside the picture that is on no circle and overlaps none of the `taken` rectangles. A place at a distance also has the ends of a
/// line from the circle. Returns `None` if no place is free.
fn room_for(
    label: &str,
    (center, radius): Ring,
    rings: &[Ring],
    taken: &[Rect],
) -> Option<(Rect, Option<[[f64; 2]; 2]>)> {
    let half = [0.5 * width(label, LETTERS), 0.5 * HIGH * LETTERS];
    let mut places = DISTANCES.iter().flat_map(|&distance| {
        (0..DIRECTIONS).map(move |i| {
            // To the right and to the left of the upper right in turn.
            let turn = f64::from(i.div_ceil(2)) * if i % 2 == 0 { 1.0 } else { -1.0 };
            let (sine, cosine) = (std::f64::consts::TAU * (0.125 + turn / f64::from(DIRECTIONS))).sin_cos();
            let direction = [cosine, -sine];
            // The rectangle touches the circle of radius plus distance.
            let support = half[0] * direction[0].abs() + half[1] * direction[1].abs();
            let middle = [0, 1].map(|k| center[k] + (radius + distance + support) * direction[k]);
            let place = [[0, 1].map(|k| middle[k] - half[k]), [0, 1].map(|k| middle[k] + half[k])];
            let line = [radius, radius + distance - 3.0].map(|at| [0, 1].map(|k| center[k] + at * direction[k]));
            (place, (distance > CONNECTED).then_some(line))
        })
    });
    let is_free = |place: &Rect| {
        let [lo, hi] = place;
        let inside = (0..2).all(|k| lo[k] > PLOT[0][k] + 3.0 && hi[k] < PLOT[1][k] - 3.0);
        let is_taken = taken.iter().any(|other| meet(place, other, 3.0));
        inside && !is_taken && !rings.iter().any(|ring| distance_to(ring.0, *place) < ring.1 + 2.0)
    };
    places.find(|(place, _)| is_free(place))
}

/// Returns the distance from a point to a rectangle, 0 inside.
fn distance_to(at: [f64; 2], [lo, hi]: Rect) -> f64 {
    let beyond = [0, 1].map(|k| (lo[k] - at[k]).max(at[k] - hi[k]).max(0.0));
    beyond[0].hypot(beyond[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random circles, some crowded: numbers stand on no circle and on no other number, and inside the picture.
    #[test]
    fn numbers_stand_apart() {
        let mut state = 3u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1u32 << 24)
        };
        let mut placed = 0;
        for crowd in [1.0, 0.5, 0.2] {
            let rings: Vec<Ring> = (0..60)
                .map(|_| {
                    (
                        [PLOT[0][0] + 960.0 * (0.5 + crowd * (next() - 0.5)), PLOT[0][1] + 960.0 * next()],
                        4.0 + 40.0 * next(),
                    )
                })
                .collect();
            let mut taken = vec![];
            for (row, ring) in rings.iter().enumerate() {
                let Some((place, _)) = room_for(&row.to_string(), *ring, &rings, &taken) else { continue };
                assert!(rings.iter().all(|ring| distance_to(ring.0, place) >= ring.1));
                assert!((0..2).all(|k| place[0][k] > PLOT[0][k] && place[1][k] < PLOT[1][k]));
                let apart = |other: &Rect| (0..2).any(|k| place[0][k] > other[1][k] || other[0][k] > place[1][k]);
                assert!(taken.iter().all(apart));
                taken.push(place);
            }
            placed += taken.len();
        }
        assert!(placed > 120, "{placed}");
        // At the upper right if that is free.
        let ([lo, _], line) = room_for("1", ([600.0, 600.0], 20.0), &[], &[]).unwrap();
        assert!(lo[0] > 600.0 && lo[1] < 600.0 && line.is_none());
    }
}
