//! Particle types by number or by name.

/// The names of types, each with those that mean the same. Types 2 and 3 are other matter in every code, and have no name.
const NAMES: [(u8, &[&str]); 4] =
    [(0, &["gas"]), (1, &["dm", "dark", "dark-matter", "halo"]), (4, &["stars", "star"]), (5, &["bh", "black-holes"])];

/// A particle type: a number from 0 to 6, or a name.
pub fn particle_type(text: &str) -> Result<u8, String> {
    let lower = text.trim().to_lowercase();
    let named = NAMES.iter().find(|(_, names)| names.contains(&lower.as_str())).map(|(number, _)| *number);
    named
        .or_else(|| lower.parse().ok().filter(|number| *number <= 6))
        .ok_or_else(|| "a particle type is a number from 0 to 6, or a name: gas (0), dm (1), stars (4), bh (5)".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        let types = ["gas", "DM", "dark-matter", "stars", "bh", "0", "6"].map(|text| particle_type(text).ok());
        assert_eq!(types, [0, 1, 1, 4, 5, 0, 6].map(Some));
        for bad in ["7", "-1", "wimps", "", "1.0"] {
            assert!(particle_type(bad).is_err_and(|said| said.contains("stars (4)")), "{bad}");
        }
    }
}
