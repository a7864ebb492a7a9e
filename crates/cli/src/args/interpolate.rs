//! The arguments of `ropewalk interpolate`.

use std::path::PathBuf;

use super::{Points, number};
use crate::grid::{GridCells, parse};

/// Interpolate values given at some points to other points.
///
/// FILE has the source points, VALUES a row of one or more numbers for each of them, and TARGETS the points at which
/// to interpolate. With --values-columns, FILE is a table that also has the values, and VALUES is left out. With
/// --grid, TARGETS is left out.
///
/// The method mls fits a polynomial to the neighbours of each target (moving least squares), and reproduces
/// polynomials up to its degree. If the positions of the neighbours do not determine the polynomial, for example on a
/// line, the degree is reduced, and the report counts these targets. The method sph is the mean weighted by a
/// smoothing kernel, idw the mean weighted by inverse distances. The method scatter distributes the value of each
/// source among its nearest targets and conserves the total, as masses and counts require.
#[derive(Debug, clap::Args)]
#[command(mut_arg("skip_missing", |arg| arg.hide(true)))]
pub struct Interpolate {
    #[command(flatten)]
    pub points: Points,
    /// File with the values, one row per source point
    ///
    /// An array of numbers, or a table, in which each numeric column is a field, whatever its name.
    pub values: Option<PathBuf>,
    /// File with the target points; --coordinates applies to it, too
    pub targets: Option<PathBuf>,
    /// Columns of FILE with the values, as rho,T, instead of the file VALUES
    ///
    /// Names, or numbers from 1. If no coordinates are chosen, these columns are none.
    #[arg(long, value_name = "A,B", value_delimiter = ',', conflicts_with = "fields")]
    pub values_columns: Vec<String>,
    /// Interpolate to the centres of NXxNY or NXxNYxNZ cells instead of TARGETS
    ///
    /// The grid fills the periodic box, or the smallest box around the points of FILE. One number applies to all axes.
    /// The last axis varies fastest in the output. An array (.npy) has the shape of the grid, in the order of the
    /// coordinates.
    #[arg(long, value_name = "NXxNY", value_parser = parse)]
    pub grid: Option<GridCells>,
    /// Fields of VALUES to interpolate, as rho,T or 2,3 [default: all numeric ones]
    ///
    /// Names, or numbers from 1. Fields are the columns of a table, or the arrays of an archive.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub fields: Vec<String>,
    /// Interpolation method
    #[arg(long, value_enum, default_value_t = Method::Mls)]
    pub method: Method,
    /// Degree of mls, from 0 to 4 [default: 2]
    #[arg(long, value_name = "N")]
    pub degree: Option<usize>,
    /// Weight function of mls [default: wendland2]
    #[arg(long, value_enum)]
    pub weight: Option<Weight>,
    /// Smoothing kernel of sph and scatter [default: cubic-spline]
    #[arg(long, value_enum)]
    pub kernel: Option<Kernel>,
    /// Power of the distance in idw [default: 2]
    #[arg(long, value_name = "P", value_parser = number, allow_negative_numbers = true)]
    pub power: Option<f64>,
    /// Number of neighbours
    ///
    /// Default: 32 for sph and scatter, 8 for idw, and twice the number of coefficients of the polynomial for mls.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub k: Option<u32>,
    /// Use all neighbours within this radius instead, in the unit of the coordinates
    #[arg(long, value_name = "R", value_parser = number, allow_negative_numbers = true, conflicts_with = "k")]
    pub radius: Option<f64>,
    /// Value of targets without neighbours within the radius [default: nan]
    ///
    /// Not with scatter, which has no such targets.
    #[arg(long, value_enum)]
    pub fallback: Option<Fallback>,
    /// Write the coordinates of the targets and their values; - is standard output
    ///
    /// By the ending of the name, a table with the coordinates and the fields (.csv, .ecsv, .parquet), or a NumPy
    /// array of f64 with the values alone (.npy). The last axis of an array is that of the fields if there are several.
    /// Standard output is CSV.
    #[arg(long, value_name = "OUT.csv|ecsv|parquet|npy")]
    pub out: Option<PathBuf>,
    /// Draw a map of one field on a grid in two dimensions
    #[arg(long, value_name = "MAP.png|svg|pdf")]
    pub plot: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Method {
    /// Moving least squares
    Mls,
    /// Mean of the neighbours, weighted by a smoothing kernel
    Sph,
    /// Values of the sources, distributed among the targets
    Scatter,
    /// Mean of the neighbours, weighted by inverse distances
    Idw,
}

/// Defines enums with the variant names of library enums, and their conversion.
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
    /// Value of the nearest source
    Nearest,
    /// Mean of the eight nearest sources, weighted by inverse squared distances
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
