//! The particles of a snapshot by type, without changing their order in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use ropewalk::{Error, Result};

use crate::{Masses, Points, Snapshot, Species, Table, TypeRun};

/// The row ranges of the particles of each type, in ascending order.
pub(super) struct Types(BTreeMap<u8, Vec<Range<usize>>>);

impl Types {
    /// Errors: the number of types, or the length of an array, differs from the number of points.
    pub(super) fn new(snapshot: &Snapshot, path: &Path) -> Result<Self> {
        let n = snapshot.points.len();
        let masses = if let Masses::Each(masses) = &snapshot.masses { masses.len() } else { n };
        let parts = [
            ("velocities", snapshot.velocities.as_ref().map_or(n, Points::len)),
            ("ids", snapshot.ids.as_ref().map_or(n, Vec::len)),
            ("masses", masses),
            ("types", if snapshot.types.is_empty() { n } else { snapshot.types.iter().map(|run| run.count).sum() }),
        ];
        if let Some((what, m)) = parts.into_iter().find(|&(_, m)| m != n) {
            return Err(Error::file(path, format!("cannot be written: there are {n} points, but {m} {what}")));
        }
        let mut types: BTreeMap<u8, Vec<Range<usize>>> = BTreeMap::new();
        let mut start = 0;
        for run in &snapshot.types {
            types.entry(run.particle_type).or_default().push(start..start + run.count);
            start += run.count;
        }
        if types.is_empty() {
            types.entry(TypeRun::DARK).or_default().push(0..n);
        }
        Ok(Self(types))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u8, &[Range<usize>])> {
        self.0.iter().map(|(&kind, stretches)| (kind, stretches.as_slice()))
    }

    /// Returns the type of each particle.
    pub(super) fn each(&self) -> Vec<u8> {
        let all = self.0.values().flatten().map(|rows| rows.end).max().unwrap_or(0);
        let mut kinds = vec![0; all];
        for (kind, stretches) in self.iter() {
            stretches.iter().for_each(|rows| kinds[rows.clone()].fill(kind));
        }
        kinds
    }

    /// Returns the particles of each type, contiguous in memory, with these velocities.
    pub(super) fn gathered<'a>(&self, snapshot: &'a Snapshot, velocities: Option<&'a Points>) -> Vec<Gathered<'a>> {
        let gather = |(particle_type, stretches): (u8, &[Range<usize>])| Gathered {
            particle_type,
            positions: points_of(&snapshot.points, stretches),
            velocities: velocities.map(|velocities| points_of(velocities, stretches)),
            ids: snapshot.ids.as_ref().map(|ids| values_of(ids, 1, stretches)),
            masses: match &snapshot.masses {
                Masses::Each(masses) => {
                    let own = values_of(masses, 1, stretches);
                    one_mass(&own).map_or_else(|| Masses::Each(own.into_owned()), Masses::Equal)
                }
                other => other.clone(),
            },
        };
        self.iter().map(gather).collect()
    }
}

/// The particles of one type. They are copied only if particles of other types lie between them.
pub(super) struct Gathered<'a> {
    particle_type: u8,
    positions: Cow<'a, Points>,
    velocities: Option<Cow<'a, Points>>,
    ids: Option<Cow<'a, [u64]>>,
    masses: Masses,
}

impl Gathered<'_> {
    pub(super) fn species(&self) -> Species<'_> {
        Species {
            particle_type: self.particle_type,
            positions: &self.positions,
            velocities: self.velocities.as_deref(),
            ids: self.ids.as_deref(),
            masses: &self.masses,
        }
    }
}

/// Returns the mass of all particles of a type, if all masses are equal and above 0. Tables of masses have more
/// digits than lists.
pub(super) fn one_mass(masses: &[f64]) -> Option<f64> {
    masses.first().copied().filter(|&first| first > 0.0 && masses.iter().all(|&mass| mass == first))
}

/// Returns the values of these rows, `width` values each, as slices.
pub(super) fn pieces<'a, T>(values: &'a [T], width: usize, stretches: &[Range<usize>]) -> Vec<&'a [T]> {
    stretches.iter().filter_map(|rows| values.get(width * rows.start..width * rows.end)).collect()
}

fn values_of<'a, T: Copy>(values: &'a [T], width: usize, stretches: &[Range<usize>]) -> Cow<'a, [T]> {
    match pieces(values, width, stretches)[..] {
        [one] => Cow::Borrowed(one),
        ref several => Cow::Owned(several.concat()),
    }
}

fn points_of<'a>(points: &'a Points, stretches: &[Range<usize>]) -> Cow<'a, Points> {
    fn of<T: Copy>(table: &Table<T>, stretches: &[Range<usize>]) -> Table<T> {
        Table::from_valid(table.dim(), values_of(table.as_slice(), table.dim(), stretches).into_owned())
    }
    if let [all] = stretches
        && *all == (0..points.len())
    {
        return Cow::Borrowed(points);
    }
    Cow::Owned(match points {
        Points::F32(table) => Points::F32(of(table, stretches)),
        Points::F64(table) => Points::F64(of(table, stretches)),
    })
}
