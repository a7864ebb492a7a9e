//! The names of particle types.

/// The names of each type. Types 2 and 3 are other matter in every code, and have no name.
const NAMES: [(u8, &[&str]); 5] = [
    (0, &["gas"]),
    (1, &["dm", "dark", "dark-matter", "halo"]),
    (4, &["stars", "star"]),
    (5, &["bh", "black-hole", "black-holes"]),
    (6, &["neutrinos", "neutrino"]),
];

/// Returns the particle type of a name, as the command line and the Python package take it: `gas` (0), `dm` (1), `stars` (4), `bh` (5),
/// `neutrinos` (6) and their synonyms, in upper or lower case, with hyphens, underscores or spaces. `None` if no type has the name.
///
/// ```
/// use ropewalk::io::particle_type;
///
/// assert_eq!(["gas", "Dark matter", "black_holes", "wimps"].map(particle_type), [Some(0), Some(1), Some(5), None]);
/// ```
pub fn particle_type(name: &str) -> Option<u8> {
    let name = name.trim().to_lowercase().replace(['_', ' '], "-");
    NAMES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(number, _)| *number)
}
