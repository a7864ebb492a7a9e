//! Particle types: their names, their numbers in tables, and the counts of particles per type.
//!
//! In: names, numbers, or runs of particles of one type. Out: types from 0 to 6, numbered as in Gadget. Cost: none.

/// The names by which a caller selects each type. Types 2 and 3 differ between codes, and have no name.
const NAMES: [(u8, &[&str]); 5] = [
    (0, &["gas"]),
    (1, &["dm", "dark", "dark-matter", "halo"]),
    (4, &["stars", "star"]),
    (5, &["bh", "black-hole", "black-holes"]),
    (6, &["neutrinos", "neutrino"]),
];

/// The highest type.
pub(super) const LAST: u8 = 6;
/// Marks a value that is not a particle type.
pub(super) const NO_TYPE: u8 = u8::MAX;

/// Returns the particle type with this name, as accepted by the command line and the Python package: `gas` (0), `dm`
/// (1), `stars` (4), `bh` (5), `neutrinos` (6) and their synonyms. Case is ignored, and words may be joined by
/// hyphens, underscores or spaces. `None` if no type has the name.
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

/// Returns the particle type equal to a number, or [`NO_TYPE`].
pub(super) fn of_number(number: f64) -> u8 {
    if (0.0..=f64::from(LAST)).contains(&number) && number.fract() == 0.0 { number as u8 } else { NO_TYPE }
}

/// Returns the number of particles of each type, ascending by type, for the types that occur in `stretches`.
pub(super) fn counts(stretches: impl Iterator<Item = (u8, u64)>) -> Vec<(u8, u64)> {
    let mut counts = [0u64; u8::MAX as usize + 1];
    stretches.for_each(|(kind, n)| counts[usize::from(kind)] += n);
    (0..=u8::MAX).zip(counts).filter(|(_, n)| *n > 0).collect()
}

/// Returns the kind of matter of a particle type.
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
