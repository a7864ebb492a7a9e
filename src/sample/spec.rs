//! Parsing and formatting of samples as text: `name:key=value,...`.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::sample::{Lattice, MockHalos, Nfw, Sample, Uniform};

impl Sample {
    /// Parses `name:key=value,...`; all keys are optional:
    ///
    /// | name | keys |
    /// |---|---|
    /// | `uniform` | `n`, `seed`, `box` |
    /// | `lattice` | `n` (a cube), `jitter`, `seed`, `box` |
    /// | `halos` | `n`, `background`, `alpha`, `mmin`, `mmax`, `seed`, `box` |
    /// | `nfw` | `n`, `concentration`, `seed`, `box` |
    ///
    /// The keys correspond to the methods of [`Uniform`], [`Lattice`], [`MockHalos`] and [`Nfw`]. `n` may be written
    /// `1000000`, `1e6` or `100^3`; its default is a million.
    ///
    /// ```
    /// use ropewalk::sample::{MockHalos, Sample};
    ///
    /// let sample = Sample::parse("halos:n=4e6,seed=3,box=100")?;
    /// assert_eq!(sample, Sample::Halos(MockHalos::new(4_000_000).seed(3).side(100.0)));
    /// assert!(Sample::parse("halos:size=3").unwrap_err().to_string().contains("`size`"));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// An unknown name or key, a key given twice, a value that is not a number or out of its range.
    pub fn parse(spec: &str) -> Result<Self> {
        read(spec).map_err(|message| Error::new(ErrorKind::Parameter, format!("sample `{spec}`: {message}")))
    }

    fn keys(&self) -> &'static [&'static str] {
        match self {
            Self::Uniform(_) => &["n", "seed", "box"],
            Self::Lattice(_) => &["n", "jitter", "seed", "box"],
            Self::Nfw(_) => &["n", "concentration", "seed", "box"],
            Self::Halos(_) => &["n", "background", "alpha", "mmin", "mmax", "seed", "box"],
        }
    }

    fn set(&mut self, key: &str, value: &str) -> std::result::Result<(), String> {
        let (seed, side) = match self {
            Self::Uniform(uniform) => (&mut uniform.seed, &mut uniform.side),
            Self::Lattice(lattice) => (&mut lattice.seed, &mut lattice.side),
            Self::Halos(halos) => (&mut halos.seed, &mut halos.side),
            Self::Nfw(halo) => (&mut halo.seed, &mut halo.side),
        };
        match key {
            "seed" => {
                let must = "`seed` must be a whole number from 0 to 2^64 - 1";
                *seed = value.parse().map_err(|_| format!("{must}, not `{value}`"))?;
                return Ok(());
            }
            "box" => {
                *side = real(key, value)?;
                return Ok(());
            }
            _ => {}
        }
        match (&mut *self, key) {
            (Self::Uniform(uniform), "n") => uniform.n = count(key, value)?,
            (Self::Lattice(lattice), "n") => lattice.per_axis = edge(count(key, value)?)?,
            (Self::Lattice(lattice), "jitter") => lattice.jitter = real(key, value)?,
            (Self::Nfw(halo), "n") => halo.n = count(key, value)?,
            (Self::Nfw(halo), "concentration") => halo.concentration = real(key, value)?,
            (Self::Halos(halos), "n") => halos.n = count(key, value)?,
            (Self::Halos(halos), "background") => halos.background = real(key, value)?,
            (Self::Halos(halos), "alpha") => halos.alpha = real(key, value)?,
            (Self::Halos(halos), "mmin") => halos.min_mass = mass(key, value)?,
            (Self::Halos(halos), "mmax") => halos.max_mass = Some(mass(key, value)?),
            _ => return Err(format!("unknown key `{key}`; the keys are {}", self.keys().join(", "))),
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        match self {
            Self::Uniform(uniform) => uniform.check(),
            Self::Lattice(lattice) => lattice.check(),
            Self::Halos(halos) => halos.check(),
            Self::Nfw(halo) => halo.check(),
        }
    }
}

impl FromStr for Sample {
    type Err = Error;

    fn from_str(spec: &str) -> Result<Self> {
        Self::parse(spec)
    }
}

/// The canonical form with all keys, from which [`Sample::parse`] generates the same points.
impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Uniform(Uniform { n, seed, side }) => write!(f, "uniform:n={n},seed={seed},box={side}"),
            Self::Lattice(Lattice { per_axis, jitter, seed, side }) => {
                write!(f, "lattice:n={per_axis}^3,jitter={jitter},seed={seed},box={side}")
            }
            Self::Nfw(Nfw { n, concentration, seed, side }) => {
                write!(f, "nfw:n={n},concentration={concentration},seed={seed},box={side}")
            }
            Self::Halos(halos) => {
                let MockHalos { n, seed, side, background, alpha, min_mass, .. } = halos;
                let max_mass = halos.heaviest();
                write!(f, "halos:n={n},background={background},alpha={alpha},mmin={min_mass},mmax={max_mass}")?;
                write!(f, ",seed={seed},box={side}")
            }
        }
    }
}

fn read(spec: &str) -> std::result::Result<Sample, String> {
    let (name, pairs) = spec.split_once(':').unwrap_or((spec, ""));
    let mut sample = match name.trim() {
        "uniform" => Sample::Uniform(Uniform::new(1_000_000)),
        "lattice" => Sample::Lattice(Lattice::new(100)),
        "halos" => Sample::Halos(MockHalos::new(1_000_000)),
        "nfw" => Sample::Nfw(Nfw::new(1_000_000)),
        name => return Err(format!("unknown sample `{name}`; the samples are uniform, lattice, halos, nfw")),
    };
    let mut seen = Vec::new();
    for pair in pairs.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(format!("`{pair}` is not of the form key=value"));
        };
        let (key, value) = (key.trim(), value.trim());
        if seen.contains(&key) {
            return Err(format!("`{key}` is given twice"));
        }
        seen.push(key);
        sample.set(key, value)?;
    }
    sample.check().map_err(|error| error.to_string())?;
    Ok(sample)
}

fn real(key: &str, value: &str) -> std::result::Result<f64, String> {
    value.parse().map_err(|_| format!("`{key}` must be a number, not `{value}`"))
}

/// Parses a whole number: `1000000`, `1e6` or `100^3`.
fn count(key: &str, value: &str) -> std::result::Result<usize, String> {
    let power = || {
        let (base, exponent) = value.split_once('^')?;
        base.parse::<usize>().ok()?.checked_pow(exponent.parse().ok()?)
    };
    // All whole numbers below 2^53 are exact in `f64`.
    let float = || {
        let x: f64 = value.parse().ok()?;
        (x.fract() == 0.0 && (0.0..9e15).contains(&x)).then_some(x as usize)
    };
    let must = "must be a whole number such as 1000000, 1e6 or 100^3";
    value.parse().ok().or_else(power).or_else(float).ok_or_else(|| format!("`{key}` {must}, not `{value}`"))
}

fn mass(key: &str, value: &str) -> std::result::Result<u32, String> {
    let mass = count(key, value)?;
    u32::try_from(mass).map_err(|_| format!("`{key}` must be at most {}, not {mass}", u32::MAX))
}

/// The edge length of a cube of `n` points.
fn edge(n: usize) -> std::result::Result<usize, String> {
    let edge = libm::cbrt(n as f64).round() as usize;
    match edge.checked_pow(3) {
        Some(cube) if cube == n => Ok(edge),
        _ => {
            let near = edge.max(1);
            Err(format!("`n` of a lattice must be a cube such as {near}^3, not {n}"))
        }
    }
}
