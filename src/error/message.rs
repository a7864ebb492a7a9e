//! The sentence of each error.

use std::fmt::{Display, Formatter, Result};

use crate::error::{Error, Kind};

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &*self.0 {
            Kind::OfType { particle_type, error } => write!(f, "type {particle_type}: {error}"),
            Kind::NotFinite { index, axis, value } => write!(
                f,
                "point {index}: coordinate {axis} is {value}; coordinates must be finite",
                value = Number(*value)
            ),
            Kind::TooFar { index, axis, value, limit } => write!(
                f,
                "point {index}: coordinate {axis} is {value}; beyond {limit:e} squared distances overflow, so rescale the data",
                value = Number(*value)
            ),
            Kind::Inverted { index, axis, lo, hi } => write!(
                f,
                "item {index}: its box runs from {lo} down to {hi} along axis {axis}; lower corners must not exceed upper ones",
                lo = Number(*lo),
                hi = Number(*hi)
            ),
            #[cfg(feature = "gpu")]
            Kind::NoDevice { what, index, found } => write!(f, "there is no {what} device {index}: {found} were found"),
            #[cfg(feature = "gpu")]
            Kind::DevicePoints => write!(f, "the tree is over boxes; trees on a device are over points"),
            #[cfg(feature = "gpu")]
            Kind::DeviceLists { values } => write!(
                f,
                "{values} neighbours are too many for lists on a device, which hold at most 4294967295; ask for less at a time"
            ),
            #[cfg(feature = "gpu")]
            Kind::DeviceMemory { bytes, most } => write!(
                f,
                "a buffer of {bytes} bytes is needed; this device's have at most {most}. Use less at a time, or the CPU"
            ),
            #[cfg(feature = "gpu")]
            Kind::DeviceRounding => f.write_str(
                "this device's driver rounds sums of products otherwise than the CPU, so that answers would differ; use CUDA for NVIDIA's GPUs, or the CPU",
            ),
            #[cfg(feature = "gpu")]
            Kind::DeviceLoops { what } => write!(
                f,
                "{what} takes longer loops than this device's driver runs; use CUDA, or the CPU"
            ),
            #[cfg(feature = "gpu")]
            Kind::DeviceSmall { value } => write!(
                f,
                "this device's driver takes a coordinate of {value:e} for 0; multiply all coordinates by a power of two, or use CUDA or the CPU"
            ),
            #[cfg(feature = "gpu")]
            Kind::DeviceTies => f.write_str(
                "on a device, edges of equal weight are removed together (Ties::Together), not one after the other",
            ),
            #[cfg(all(feature = "io", feature = "gpu"))]
            Kind::DeviceAdaptaHop => f.write_str("AdaptaHOP runs on the CPU, not on a device"),
            #[cfg(feature = "gpu")]
            Kind::DeviceCenter { center } => write!(
                f,
                "on a device, centres are most bound or most connected particles (MostBound, MostConnected), not {center}"
            ),
            #[cfg(feature = "gpu")]
            Kind::Devices { what: [a, b], on: [one, other] } => {
                write!(f, "{a} are on {one}, {b} on {other}; they must be on the same device")
            }
            #[cfg(feature = "gpu")]
            Kind::DeviceValues { len, n, what } => {
                write!(f, "there are {len} values for {n} {what}; there must be one each")
            }
            #[cfg(feature = "gpu")]
            Kind::DeviceRows { len, dim } => {
                write!(f, "{len} coordinates do not make points of {dim}; their number must be a multiple of {dim}")
            }
            #[cfg(feature = "cuda")]
            Kind::DeviceAddress { address, bytes, index, found } => {
                write!(f, "{bytes} bytes at {address:#x} are to be memory of CUDA device {index}: {found}")
            }
            #[cfg(feature = "gpu")]
            Kind::Device(message) => write!(f, "the device failed: {message}"),
            Kind::TooManyClusters { clusters, max } => write!(
                f,
                "there are {clusters} clusters; labels are 32-bit numbers, so at most {max} can be told apart"
            ),
            Kind::TooMany { n, max } => {
                write!(f, "{n} points are too many: indices are 32 bits, so at most {max} points fit one tree")
            }
            Kind::TooManyFaces { n, max } => write!(f, "{n} faces are too many: at most {max} fit one mesh"),
            Kind::Face { index, vertex, vertices } => write!(
                f,
                "face {index} has vertex {vertex}; there are {vertices} vertices, which are counted from 0"
            ),
            Kind::Dimension { dim } => write!(f, "{dim} dimensions: points may have 1 to 10"),
            Kind::BinsDimension { dim } => write!(
                f,
                "{dim} dimensions: bins are for points of 1 to 3; the tree takes up to 10 (Fof::run)"
            ),
            Kind::BinsExtent => write!(
                f,
                "bins are for points, and these primitives have an extent; the tree takes them (Fof::run)"
            ),
            Kind::HopDimension { dim } => {
                write!(f, "{dim} dimensions: densities and HOP are for points of 2 or 3")
            }
            Kind::FieldValue { index } => {
                write!(f, "the field is NaN at point {index}; it must be a number everywhere")
            }
            Kind::Extent { what } => write!(f, "{what} for points, and these primitives have an extent"),
            Kind::BasisSize { k, basis, degree, dim } => write!(
                f,
                "{k} neighbours are too few: a polynomial of degree {degree} in {dim} dimensions has {basis} coefficients, and twice as many \
         neighbours make a good fit"
            ),
            Kind::FieldLength { len, sources } => {
                write!(f, "the field has {len} values for {sources} sources; there must be one each")
            }
            Kind::SourceValue { index, value } => write!(
                f,
                "source {index}: its value is {value}; values must be finite",
                value = Number(*value)
            ),
            Kind::Volume { index, volume } => write!(
                f,
                "source {index}: its volume is {volume}; volumes must be finite and not negative",
                volume = Number(*volume)
            ),
            Kind::Parameter { name, value, must } => {
                write!(f, "{name} is {value}; it must be {must}", value = Number(*value))
            }
            Kind::BoxDimension { sides, dim } => {
                write!(f, "the periodic box has {sides} sides but the points have {dim} dimensions")
            }
            Kind::BoxSize { axis, size, limit } => write!(
                f,
                "the periodic box is {size} along axis {axis}; it must be positive and at most {limit:e}",
                size = Number(*size)
            ),
            Kind::BoxTooSmall { axis, size, name, length } => write!(
                f,
                "the periodic box is {size} along axis {axis}, less than twice {name} = {length}: a point could meet two images of \
         another",
                size = Number(*size),
                length = Number(*length)
            ),
            Kind::Length { what, len, points } => {
                write!(f, "there are {len} {what} for {points} particles; there must be one each")
            }
            Kind::Refit { len, points } => {
                write!(f, "a tree of {points} cannot be refitted to {len}; it can be rebuilt over any number")
            }
            Kind::Mass { index, mass } => write!(
                f,
                "particle {index}: its mass is {mass}; masses must be finite and not negative",
                mass = Number(*mass)
            ),
            Kind::ColumnLength { name, len, halos } => {
                write!(f, "column {name} has {len} values for {halos} halos; there must be one each")
            }
            Kind::ColumnTaken { name } => write!(f, "there is a column {name} already"),
            Kind::ColumnUnknown { name, known } => write!(f, "there is no column {name}; there are {known}"),
            Kind::Label { point, label, points } => {
                write!(f, "point {point} has the label {label}; of {points} points labels must be less than that")
            }
            Kind::NoOffsets { count } => write!(
                f,
                "the members of halos are told by {count} offsets; there must be one more than there are halos, the first of them 0"
            ),
            Kind::Offsets { halo, start, end } => write!(
                f,
                "halo {halo} begins at member {start} and ends at {end}; offsets must ascend, for each halo has members"
            ),
            Kind::LastOffset { end, members } => write!(f, "the last offset is {end}, but there are {members} members"),
            Kind::Member { halo, point, points } => {
                write!(f, "halo {halo} has point {point} for a member, but there are {points} points, counted from 0")
            }
            Kind::MemberTwice { point, first, halo } => write!(
                f,
                "point {point} is a member of halo {first} and again of halo {halo}; a point has one halo at most"
            ),
            Kind::NoMass { index, mass } => write!(
                f,
                "particle {index}: its mass is {mass}; centres and unbinding take masses that are finite and positive",
                mass = Number(*mass)
            ),
            Kind::Velocity { index, axis, value } => write!(
                f,
                "particle {index}: velocity {axis} is {value}; velocities must be finite",
                value = Number(*value)
            ),
            Kind::Spaces { what, of, other_what, other_of } => {
                write!(f, "{what} {of}, but {other_what} {other_of}: both must be the same space")
            }
            Kind::UnknownOverdensity { text } => write!(
                f,
                "{text:?} is not an overdensity: 200c is 200 times the critical density, 200m the mean one; or vir"
            ),
            #[cfg(feature = "plot")]
            Kind::UnknownSlab { text } => {
                write!(f, "{text:?} is not a slab: an axis and where it begins and ends along it, as z:10..20")
            }
            Kind::Twice { name, value } => write!(f, "{name}: {value} is named twice"),
            Kind::Missing { message, .. } => write!(f, "{message}"),
            Kind::NoSeparation { volume } => write!(
                f,
                "the volume of the particles is {volume}, which gives no mean separation",
                volume = Short(*volume)
            ),
            Kind::HaloDimension { what, dim } => write!(f, "{what} have {dim} coordinates; halos need 3"),
            Kind::BoxTooNarrow { what, side, axis, lo, hi, outside, points } => write!(
                f,
                "the periodic box is {side}, but along axis {axis} the {what} run from {lo} to {hi}, which is {width} wide; {outside} of \
         {points} points lie outside of the box. Give the box that they come from",
                side = Short(*side),
                lo = Short(*lo),
                hi = Short(*hi),
                width = Short(*hi - *lo),
                outside = Grouped(*outside),
                points = Grouped(*points)
            ),
            Kind::UnequalColumns { name, len, first } => {
                write!(f, "column {name} has {len} values, but the first column has {first}")
            }
            Kind::Write { source, .. } => write!(f, "{source}"),
            #[cfg(feature = "plot")]
            Kind::Picture(message) => write!(f, "the picture could not be made: {message}"),
            Kind::WeightCount { weights, n } => {
                write!(f, "there are {weights} weights for {n} points; there must be one each")
            }
            Kind::Weight { index, value } => write!(
                f,
                "the weight of point {index} is {value}; weights must be finite and not negative",
                value = Number(*value)
            ),
            Kind::UnknownUnit { what, text, known } => write!(f, "`{text}` is no unit of {what}; it may be {known}"),
            Kind::UnknownFormat { text, known } => write!(f, "`{text}` is no format; it may be {known}"),
            Kind::UnitNeedsH { unit } => write!(f, "{unit} needs the Hubble constant h, which is not known"),
            Kind::AmbiguousUnits { first, second } => {
                write!(f, "{first} fit the mean density of matter, and so do {second}: both are possible")
            }
            Kind::NoUnits { share, units, omega_m } => write!(
                f,
                "no usual units fit: in {units} the particles have {} the mass expected for this box with omega_m = {omega_m}; check the \
         side of the box and the masses, or name the units",
                Share(*share)
            ),
            Kind::Changed => f.write_str(
                "the points changed while the tree was built; nothing may write to them until the call returns",
            ),
            #[cfg(feature = "distributed")]
            Kind::OnRank { rank, message, .. } => write!(f, "rank {rank}: {message}"),
            #[cfg(feature = "distributed")]
            Kind::AcrossWeights => write!(f, "DBSCAN across ranks takes no weights; run it on one rank"),
            #[cfg(feature = "distributed")]
            Kind::AcrossOption { what } => write!(f, "{what}: not across ranks; run on one rank"),
            #[cfg(feature = "distributed")]
            Kind::AcrossOptions => f.write_str("ranks give differing options; all are to give the same"),
            #[cfg(all(feature = "distributed", feature = "gpu"))]
            Kind::AcrossTree { points, domain } => write!(
                f,
                "the tree of {points} points is not of the {domain} points of the domain, or not in its space; build it of these"
            ),
            #[cfg(feature = "distributed")]
            Kind::AcrossColumn { what } => write!(f, "some ranks have {what}, and others have none"),
            #[cfg(feature = "distributed")]
            Kind::RankGone { rank } => write!(f, "rank {rank} has ended before the others"),
            Kind::Own { sentence, .. } => f.write_str(sentence),
            #[cfg(feature = "mpi")]
            Kind::Mpi(message) => write!(f, "MPI failed: {message}"),
            Kind::Invariant(message) => write!(f, "the tree is broken: {message}"),
            Kind::Radii { len, centers } => {
                write!(f, "there are {len} radii for {centers} centres; there must be one each, or one for all")
            }
            Kind::Radius { index, radius } => write!(
                f,
                "centre {index}: its radius is {radius}; it must be finite and not negative",
                radius = Number(*radius)
            ),
            Kind::Cancelled => f.write_str("the call was cancelled"),
            #[cfg(feature = "sample")]
            Kind::Spec { spec, message } => write!(f, "sample `{spec}`: {message}"),
            Kind::Memory { n, what, bytes } => write!(f, "cannot allocate {bytes} bytes for {n} {what}"),
            Kind::NoMemory { bytes: 0 } => f.write_str("not enough memory for this call"),
            Kind::NoMemory { bytes } => write!(f, "not enough memory for this call: cannot allocate {bytes} bytes"),
            #[cfg(feature = "io")]
            Kind::File { path, message, .. } => write!(f, "{path}: {message}", path = path.display()),
        }
    }
}

/// A number as it stands, or with an exponent where that would take many digits.
struct Number(f64);

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self(x) = *self;
        if x == 0.0 || !x.is_finite() || (1e-5..1e15).contains(&x.abs()) {
            write!(f, "{x}")
        } else {
            write!(f, "{x:e}")
        }
    }
}

/// Six significant digits, no trailing zeros.
struct Short(f64);

impl Display for Short {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let rounded: f64 = format!("{:.5e}", self.0).parse().unwrap_or(self.0);
        if rounded == 0.0 || (1e-4..1e9).contains(&rounded.abs()) {
            write!(f, "{rounded}")
        } else {
            write!(f, "{rounded:e}")
        }
    }
}

/// A number with a comma before every three digits.
struct Grouped(u64);

impl Display for Grouped {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let digits = self.0.to_string();
        for (i, digit) in digits.chars().enumerate() {
            let comma = if i > 0 && (digits.len() - i).is_multiple_of(3) { "," } else { "" };
            write!(f, "{comma}{digit}")?;
        }
        Ok(())
    }
}

/// A part of a whole: a fraction such as 1/8 if it is one to a percent, else a number.
struct Share(f64);

impl Display for Share {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let parts = self.0.recip();
        match parts.round() {
            whole if (2.0..=1000.0).contains(&whole) && (parts / whole - 1.0).abs() < 0.01 => write!(f, "1/{whole} of"),
            _ if (0.001..1e6).contains(&self.0) => write!(f, "{:.3} times", self.0),
            _ => write!(f, "{:.2e} times", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown =
            [-0.2, 0.0, 31.0, 1e14, 1e15, -1e308, 5e-324, f64::NAN, f64::INFINITY].map(|x| Number(x).to_string());
        assert_eq!(shown, ["-0.2", "0", "31", "100000000000000", "1e15", "-1e308", "5e-324", "NaN", "inf"]);
        let error = Error::from(Kind::Mass { index: 3, mass: -5e-324 });
        assert_eq!(error.to_string(), "particle 3: its mass is -5e-324; masses must be finite and not negative");
    }
}
