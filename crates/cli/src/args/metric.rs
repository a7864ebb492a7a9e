//! The option `--metric`, which only names the Euclidean distance.

use clap::Arg;

/// The way to angular distances, as the end of a sentence.
pub const UNIT_VECTORS: &str =
    "convert them to unit vectors x, y, z, which have the distance 2 sin(a / 2) at the angle a";

/// Returns the option, which the help does not show: users of other programs may give it.
pub fn metric() -> Arg {
    Arg::new("metric").long("metric").value_name("METRIC").hide(true).value_parser(euclidean)
}

/// Accepts the names of the Euclidean distance.
fn euclidean(name: &str) -> Result<(), String> {
    match name.to_ascii_lowercase().as_str() {
        "euclidean" | "l2" => Ok(()),
        "haversine" => Err(format!("distances are Euclidean; for longitudes and latitudes {UNIT_VECTORS}")),
        _ => Err("distances are Euclidean; scikit-learn has other metrics".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_metrics() {
        assert!(euclidean("euclidean").is_ok() && euclidean("L2").is_ok());
        assert!(euclidean("haversine").is_err_and(|error| error.contains("unit vectors")));
        assert!(euclidean("manhattan").is_err_and(|error| error.contains("scikit-learn")));
    }
}
