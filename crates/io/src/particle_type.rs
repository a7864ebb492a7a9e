//! Particle types: their names, the numbers of a table that stand for them, and how many particles have each.
//!
//! In: names, numbers, stretches of particles of one type. Out: types from 0 to 6, as Gadget numbers them. Cost: none.

/// The names of each type by which a caller chooses it. Types 2 and 3 are other matter in every code, and have no name.
const NAMES: [(u8, &[&str]); 5] = [
    (0, &["gas"]),
    (1, &["dm", "dark", "dark-matter", "halo"]),
    (4, &["stars", "star"]),
    (5, &["bh", "black-hole", "black-holes"]),
    (6, &["neutrinos", "neutrino"]),
];

/// The highest type.
pub(super) const LAST: u8 = 6;
/// Stands for a value that is no particle type.
pub(super) const NO_TYPE: u8 = u8::MAX;

/// Returns the particle type of a name, as the command line and the Python package take it: `gas` (0), `dm` (1), `stars` (4), `bh` (5),
/// `neutrinos` (6) and their synonyms, in upper or lower case, with hyphens, underscores or spaces. `None` if no type has the name.
///
/// ```
/// use ropewalk_io::particle_type;
///
/// assert_eq!(["gas", "Dark matter", "black_holes", "wimps"].map(particle_type), [Some(0), Some(1), Some(5), None]);
/// ```
pub fn particle_type(name: &str) -> Option<u8> {
    let name = name.trim().to_lowercase().replace(['_', ' '], "-");
    NAMES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(number, _)| *number)
}

/// The particle type that a number is, or [`NO_TYPE`].
pub(super) fn of_number(number: f64) -> u8 {
    if (0.0..=f64::from(LAST)).contains(&number) && number.fract() == 0.0 { number as u8 } else { NO_TYPE }
}

/// Particles of each type of these stretches, by type; of each that is there.
pub(super) fn counts(stretches: impl Iterator<Item = (u8, u64)>) -> Vec<(u8, u64)> {
    let mut counts = [0u64; u8::MAX as usize + 1];
    stretches.for_each(|(kind, n)| counts[usize::from(kind)] += n);
    (0..=u8::MAX).zip(counts).filter(|(_, n)| *n > 0).collect()
}

/// The kind of matter of a particle type.
pub(super) fn name(kind: u8) -> &'static str {
    match kind {
        0 => "gas",
        1 => "dark matter",
        4 => "stars",
        5 => "black holes or boundary",
        6 => "neutrinos",
        _ => "others",
    }
}
