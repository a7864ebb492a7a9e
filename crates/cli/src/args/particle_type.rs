//! Particle types by number or by name.

/// Parses a particle type: a number from 0 to 6, or a name.
pub fn particle_type(text: &str) -> Result<u8, String> {
    let number = || text.trim().parse().ok().filter(|number| *number <= 6);
    ropewalk_io::particle_type(text).or_else(number).ok_or_else(|| {
        "a particle type must be a number from 0 to 6, or a name: gas (0), dm (1), stars (4), bh (5), neutrinos (6)"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        let types = ["gas", "DM", "dark-matter", "dark_matter", "stars", "bh", "black holes", "neutrinos", "0", " 6"];
        assert_eq!(types.map(|text| particle_type(text).ok()), [0, 1, 1, 1, 4, 5, 5, 6, 0, 6].map(Some));
        for bad in ["7", "-1", "wimps", "", "1.0"] {
            assert!(particle_type(bad).is_err_and(|said| said.contains("stars (4)")), "{bad}");
        }
    }
}
