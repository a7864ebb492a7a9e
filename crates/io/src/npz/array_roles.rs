//! The roles of the arrays of a NumPy archive, by their names.
//!
//! | arrays | use |
//! |---|---|
//! | `positions` and other names; `X` or `data` of shape (N, D), as in scikit-learn; `x`, `y`, `z` of shape (N,); velocities, ids and masses likewise | read; it is an error if they cannot be |
//! | `types` | read if they are particle types; if they are not, and types are requested, it is an error |
//! | `box_size`, `redshift`, `omega_m`, `omega_lambda`, `h` | one number each, or three equal ones; other values are errors. With one value per particle (more than three): not used |
//! | others, and members that are not arrays | named in a note |

use ropewalk::{Error, Result};

use crate::array_names::{BOX, COSMOLOGY, IDS, MASSES, POSITIONS, REDSHIFT, TYPES, VELOCITIES};
use crate::contents::Role;
use crate::npz::archive::Archive;
use crate::reading::Reading;
use crate::table_columns::choose;

/// The maximum number of values of an array that applies to the whole archive.
pub(super) const MAX_NUMBERS: u64 = 3;
/// The maximum number of names in a note.
const MAX_NAMES: usize = 20;

/// The arrays of each role.
#[derive(Default)]
pub(super) struct ArrayRoles {
    pub positions: Vec<usize>,
    pub velocities: Vec<usize>,
    pub ids: Option<usize>,
    pub masses: Option<usize>,
    pub types: Option<usize>,
    pub box_size: Option<usize>,
    pub redshift: Option<usize>,
    /// The arrays with the names in [`COSMOLOGY`].
    pub cosmology: [Option<usize>; 3],
}

/// Returns the first array named `name` that is a matrix with one row per point.
fn matrix(archive: &Archive<'_>, name: &str) -> Option<usize> {
    let is_matrix = |&array: &usize| archive.header(array).is_ok_and(|header| header.is_matrix);
    (0..archive.arrays.len()).filter(is_matrix).find(|&array| archive.arrays[array].name.eq_ignore_ascii_case(name))
}

/// Returns the matrix `X`, unless it has one column and there is also a matrix `y`.
fn matrix_x(archive: &Archive<'_>) -> Option<usize> {
    let x = matrix(archive, "x")?;
    let is_wide = archive.header(x).is_ok_and(|header| header.dim > 1);
    (is_wide || matrix(archive, "y").is_none()).then_some(x)
}

/// Returns the arrays of two or three axes.
fn axes(archive: &Archive<'_>, names: [&str; 3]) -> Option<Vec<usize>> {
    let two = [archive.find(&names[..1])?, archive.find(&names[1..2])?];
    Some(two.into_iter().chain(archive.find(&names[2..])).collect())
}

/// Returns the arrays that are positions if no columns are chosen.
pub(super) fn own_positions(archive: &Archive<'_>) -> Option<Vec<usize>> {
    let one = |array| vec![array];
    let has_axis = |array: &usize| archive.header(*array).map_or(true, |header| header.dim == 1);
    let coordinates = || {
        let arrays = axes(archive, ["x", "y", "z"])?;
        let (axes, others): (Vec<usize>, Vec<usize>) = arrays.into_iter().partition(has_axis);
        // A matrix `z` is not a coordinate.
        (axes.len() > 1 && others.iter().all(|&array| archive.arrays[array].name.eq_ignore_ascii_case("z")))
            .then_some(axes)
    };
    let only = || (archive.arrays.len() == 1).then(|| vec![0]);
    let own = archive.find(&POSITIONS).or_else(|| matrix_x(archive)).map(one);
    own.or_else(coordinates).or_else(|| matrix(archive, "data").map(one)).or_else(only)
}

impl ArrayRoles {
    pub(super) fn new(archive: &Archive<'_>, reading: &Reading<'_>) -> Result<Self> {
        let chosen = &reading.options.columns[..];
        let refuse = |message: String| Error::file(archive.path, message);
        let names = || {
            let names: Vec<String> =
                archive.arrays.iter().take(20).map(|array| array.name.escape_debug().to_string()).collect();
            if names.is_empty() { "none".to_string() } else { names.join(", ") }
        };
        let positions = if chosen.is_empty() && reading.reads_fields {
            archive.longest()?
        } else if chosen.is_empty() {
            own_positions(archive).ok_or_else(|| {
                refuse(format!(
                    "is a zip archive without an array named positions (pos, coordinates, points), a matrix X or data, or arrays x and y of one axis; its arrays: {}; choose those \
                     that are coordinates (ReadOptions::columns)",
                    names()
                ))
            })?
        } else {
            let names: Vec<String> = archive.arrays.iter().map(|array| array.name.clone()).collect();
            choose(chosen, &names, names.len()).map_err(refuse)?
        };
        if reading.reads_fields {
            return Self { positions, ..Self::default() }.check(archive, reading);
        }
        let rest = |array: &usize| !positions.contains(array);
        // An array with one value per particle, such as smoothing lengths `h`, is not a number of the whole archive.
        let rows = |array: usize| archive.header(array).ok().map(|header| header.points);
        let particles = positions.first().and_then(|&array| rows(array)).filter(|&rows| rows > MAX_NUMBERS);
        let is_of_all = |&array: &usize| particles.is_none() || rows(array) != particles;
        let has_more = !reading.options.coordinates_only;
        let of_particles = |names: &[&str]| archive.find(names).filter(rest).filter(|_| has_more);
        let velocities = of_particles(&VELOCITIES)
            .map(|array| vec![array])
            .or_else(|| axes(archive, ["vx", "vy", "vz"]).filter(|_| has_more));
        let choice = Self {
            velocities: velocities.filter(|all| all.iter().all(rest)).unwrap_or_default(),
            ids: of_particles(&IDS),
            masses: of_particles(&MASSES),
            types: match archive.find(&TYPES).filter(rest).filter(|_| has_more || !reading.options.types.is_empty()) {
                // Values that are not numbers have another meaning.
                Some(array) if archive.header(array).is_err() && reading.options.types.is_empty() => None,
                array => array,
            },
            box_size: archive.find(&BOX).filter(rest).filter(is_of_all),
            redshift: archive.find(&REDSHIFT).filter(rest).filter(is_of_all),
            cosmology: COSMOLOGY.map(|name| archive.find(&[name]).filter(rest).filter(is_of_all)),
            positions,
        };
        choice.check(archive, reading)
    }

    /// Checks that all arrays have the same number of rows, and that velocities have as many components as positions.
    fn check(mut self, archive: &Archive<'_>, reading: &Reading<'_>) -> Result<Self> {
        let Some(&first) = self.positions.first() else {
            let message = if reading.reads_fields { "has no arrays of numbers" } else { "has no positions" };
            return Err(Error::file(archive.path, message));
        };
        let rows = archive.header(first)?.points;
        let width =
            |arrays: &[usize]| arrays.iter().map(|&array| Ok(archive.header(array)?.dim)).sum::<Result<usize>>();
        let dim = width(&self.positions)?;
        if !(1..=10).contains(&dim) && !reading.reads_fields {
            return Err(archive.error(first, format!("and others have {dim} coordinates; points must have 1 to 10")));
        }
        let speeds = width(&self.velocities)?;
        if speeds != dim && !reading.options.columns.is_empty() {
            self.velocities.clear();
        } else if speeds != dim && speeds != 0 {
            return Err(Error::file(
                archive.path,
                format!("has {dim} coordinates per point, but {speeds} components of velocities"),
            ));
        }
        for &array in
            self.positions.iter().chain(&self.velocities).chain(&self.ids).chain(&self.masses).chain(&self.types)
        {
            let found = archive.header(array)?.points;
            // A single mass applies to all particles.
            if found != rows && !(self.masses == Some(array) && found == 1) {
                let first =
                    archive.arrays.get(first).map_or_else(String::new, |array| array.name.escape_debug().to_string());
                return Err(archive.error(array, format!("has {found} rows, but array {first} has {rows}")));
            }
        }
        for &array in self.ids.iter().chain(&self.masses).chain(&self.types) {
            let dim = archive.header(array)?.dim;
            if dim != 1 {
                return Err(archive.error(array, format!("has rows of {dim} values; they must have one")));
            }
        }
        Ok(self)
    }

    /// Returns notes about arrays and members that are not used.
    pub(super) fn notes(&self, archive: &Archive<'_>) -> Vec<String> {
        let scalars = self.cosmology.iter().flatten().chain(&self.box_size).chain(&self.redshift);
        let used: Vec<usize> = scalars.copied().collect();
        let is_used = |&place: &usize| used.contains(&place) || self.role(place) != Role::Other;
        let unused: Vec<String> = (0..archive.arrays.len())
            .filter(|place| !is_used(place))
            .map(|place| archive.arrays[place].name.escape_debug().to_string())
            .collect();
        let mut notes = vec![];
        for (what, names) in [("arrays", &unused), ("members that are not arrays", &archive.others)] {
            if !names.is_empty() {
                let more = if names.len() > MAX_NAMES { ", .." } else { "" };
                let names: Vec<&str> = names.iter().take(MAX_NAMES).map(String::as_str).collect();
                notes.push(format!("{what} that are not used: {}{more}", names.join(", ")));
            }
        }
        notes
    }

    /// Returns the names of the arrays that are positions.
    pub(super) fn names(&self, archive: &Archive<'_>) -> Vec<String> {
        self.positions.iter().map(|&array| archive.arrays[array].name.clone()).collect()
    }

    /// Returns the name of each value in a row of fields: the name of its array, with a number if the array has
    /// several columns.
    pub(super) fn fields(&self, archive: &Archive<'_>) -> Result<Vec<String>> {
        let mut names = vec![];
        for &array in &self.positions {
            let (name, dim) = (&archive.arrays[array].name, archive.header(array)?.dim);
            match dim {
                1 => names.push(name.clone()),
                _ => names.extend((0..dim).map(|place| format!("{name}{place}"))),
            }
        }
        Ok(names)
    }

    pub(super) fn role(&self, array: usize) -> Role {
        let roles = [
            (Role::Position, &self.positions[..]),
            (Role::Velocity, &self.velocities),
            (Role::Id, self.ids.as_slice()),
            (Role::Mass, self.masses.as_slice()),
            (Role::Type, self.types.as_slice()),
        ];
        Role::from_column(array, &roles)
    }
}
