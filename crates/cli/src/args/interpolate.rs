//! The arguments of `ropewalk interpolate`.

use std::path::PathBuf;

use super::Points;

/// Write values at places of what is known at others.
///
/// FILE has the places where values are known, VALUES a row of one or more numbers for each, TARGETS the places where they are wanted. mls fits a
/// polynomial to the neighbours of each target (moving least squares), and reproduces polynomials up to its degree; where neighbours lie so
/// that they do not determine it, on a line for example, the degree is lower, and the report says how often. sph is the mean by a
/// smoothing kernel, idw that by inverse distances. scatter shares the value of each source among the nearest targets, so that the sum over all stays the
/// same: for masses and counts.
#[derive(Debug, clap::Args)]
#[command(mut_arg("skip_missing", |arg| arg.hide(true)))]
pub struct Interpolate {
    #[command(flatten)]
    pub points: Points,
    /// The file with the values, as many rows as FILE has: an array of numbers, or a table, of which each column of numbers is a field,
    /// whatever its name
    pub values: PathBuf,
    /// The file with the places where values are wanted; its columns are chosen as those of FILE
    pub targets: PathBuf,
    /// Which columns of VALUES are fields, in an archive which arrays: names or numbers from 1, as rho,T or 2,3. Otherwise all that
    /// hold numbers
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub fields: Vec<String>,
    /// How values are made of others
    #[arg(long, value_enum, default_value_t = Method::Mls)]
    pub method: Method,
    /// The degree of mls: 0, 1 or 2; otherwise 2
    #[arg(long, value_name = "N")]
    pub degree: Option<usize>,
    /// How much neighbours count for mls; otherwise wendland2
    #[arg(long, value_enum)]
    pub weight: Option<Weight>,
    /// The smoothing kernel of sph and scatter; otherwise cubic-spline
    #[arg(long, value_enum)]
    pub kernel: Option<Kernel>,
    /// The power of distances for idw; otherwise 2
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub power: Option<f64>,
    /// How many neighbours count; otherwise twice as many as a polynomial has coefficients for mls, 32 for sph and scatter, 8 for idw
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub k: Option<u32>,
    /// How far neighbours are at most, in the unit of the coordinates, instead of how many
    #[arg(long, value_name = "R", allow_negative_numbers = true, conflicts_with = "k")]
    pub radius: Option<f64>,
    /// What targets get that have no neighbour within the radius; otherwise nan. Not for scatter, which has none
    #[arg(long, value_enum)]
    pub fallback: Option<Fallback>,
    /// Write the values at the targets, by the name's ending: .npy is a NumPy array of f64, .csv a text table with the columns of VALUES; - is
    /// that table on standard output
    #[arg(long, value_name = "OUT.npy|csv")]
    pub out: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Method {
    /// Moving least squares
    Mls,
    /// The mean of neighbours by a smoothing kernel
    Sph,
    /// Values of sources shared among targets
    Scatter,
    /// Inverse-distance weighting
    Idw,
}

/// Choices that the library has by the same names.
macro_rules! choices {
    ($(pub enum $name:ident: $library:ty { $($choice:ident),* $(,)? })*) => {$(
        #[derive(Clone, Copy, Debug, clap::ValueEnum)]
        pub enum $name {
            $($choice),*
        }

        impl From<$name> for $library {
            fn from(choice: $name) -> Self {
                match choice {
                    $($name::$choice => Self::$choice),*
                }
            }
        }
    )*};
}

choices! {
    pub enum Weight: ropewalk::interpolate::Weight {
        Wendland0, Wendland2, Wendland4, Wendland6, Wu2, Wu4, Buhmann2, Buhmann3, Buhmann4, Gaussian,
    }

    pub enum Kernel: ropewalk::interpolate::SmoothingKernel {
        CubicSpline, WendlandC2, WendlandC4, WendlandC6,
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Fallback {
    /// Not a number
    Nan,
    /// The value of the nearest source
    Nearest,
    /// The mean of the eight nearest by inverse squared distances
    Idw,
}

impl From<Fallback> for ropewalk::interpolate::Fallback {
    fn from(fallback: Fallback) -> Self {
        match fallback {
            Fallback::Nan => Self::Nan,
            Fallback::Nearest => Self::Nearest,
            Fallback::Idw => Self::InverseDistance,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::{Kernel, Weight};

    #[test]
    fn all_that_the_library_has() {
        let weights = Weight::value_variants().iter().map(|&weight| ropewalk::interpolate::Weight::from(weight));
        assert!(weights.eq(ropewalk::interpolate::Weight::ALL));
        let kernels =
            Kernel::value_variants().iter().map(|&kernel| ropewalk::interpolate::SmoothingKernel::from(kernel));
        assert!(kernels.eq(ropewalk::interpolate::SmoothingKernel::ALL));
    }
}
