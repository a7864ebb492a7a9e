//! `--device`: the CPU or the GPUs that do the work.

use std::fmt;
use std::str::FromStr;

use clap::builder::ValueParserFactory;

// The coordinates that a device can store; in builds without devices, any coordinate.
#[cfg(not(feature = "gpu"))]
pub use ropewalk::Scalar as Coordinate;
#[cfg(feature = "gpu")]
use ropewalk::gpu;
#[cfg(feature = "gpu")]
pub use ropewalk::gpu::Coordinate;

use super::failure::Failure;
use super::suggested::{Suggested, suggested};

/// The kinds of devices, which shells complete.
const KINDS: &[&str] = &["cpu", "cuda", "vulkan"];

/// A device on the command line, whether or not this build supports it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeviceArg {
    Cpu,
    Cuda(usize),
    Vulkan(usize),
}

/// A device that is available.
#[derive(Clone, Copy)]
pub enum Device {
    Cpu,
    #[cfg(feature = "gpu")]
    Gpu(gpu::Device),
}

/// One device, or several of one kind that share the work, one rank each. A device that is named twice serves two
/// ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct DevicesArg(Vec<DeviceArg>);

impl DevicesArg {
    /// The CPU alone.
    pub fn cpu() -> Self {
        Self(vec![DeviceArg::Cpu])
    }

    /// Opens all devices.
    pub fn find(&self) -> Result<Vec<Device>, Failure> {
        self.0.iter().map(|name| name.find()).collect()
    }

    /// Returns the device `turns` places after this one, cyclically, for processes that share the devices of a host.
    #[cfg(feature = "mpi")]
    pub fn after(&self, turns: usize) -> Result<Device, Failure> {
        let &[name] = &self.0[..] else {
            let first = self.0.first().map_or(String::new(), |first| format!(", as {first}"));
            let why = "with --mpi the ranks of one host take its devices in turn; give the first one only";
            return Err(format!("--device {self}: {why}{first}").into());
        };
        // A device that does not exist is the same error as without ranks.
        let first = name.find()?;
        let all = |of: &dyn Fn(usize) -> DeviceArg| (0..).take_while(|&index| of(index).find().is_ok()).count();
        match name {
            DeviceArg::Cpu => Ok(first),
            DeviceArg::Cuda(index) => DeviceArg::Cuda((index + turns) % all(&DeviceArg::Cuda).max(1)).find(),
            DeviceArg::Vulkan(index) => DeviceArg::Vulkan((index + turns) % all(&DeviceArg::Vulkan).max(1)).find(),
        }
    }
}

/// Equal if `other` is the only device.
impl PartialEq<DeviceArg> for DevicesArg {
    fn eq(&self, other: &DeviceArg) -> bool {
        self.0 == [*other]
    }
}

impl ValueParserFactory for DevicesArg {
    type Parser = Suggested<fn(&str) -> Result<Self, String>>;

    fn value_parser() -> Self::Parser {
        suggested(KINDS, Self::from_str)
    }
}

impl FromStr for DevicesArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = match text.split_once(':') {
            Some((kind, indices)) => indices.split(',').map(|index| one(&format!("{kind}:{index}"))).collect(),
            None => one(text).map(|name| vec![name]),
        };
        let several = "several by their numbers, as cuda:0,1";
        named.map(Self).ok_or_else(|| format!("a device must be {ONE}, or {several}"))
    }
}

impl fmt::Display for DevicesArg {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (place, name) in self.0.iter().enumerate() {
            match name {
                _ if place == 0 => write!(f, "{name}")?,
                DeviceArg::Cpu => {}
                DeviceArg::Cuda(index) | DeviceArg::Vulkan(index) => write!(f, ",{index}")?,
            }
        }
        Ok(())
    }
}

/// The names of a single device, for messages.
const ONE: &str = "cpu, cuda or vulkan, or one of several by its number, as cuda:1";

/// Parses the name of a single device.
fn one(text: &str) -> Option<DeviceArg> {
    let (kind, index) = match text.split_once(':') {
        Some((kind, index)) => (kind, index.parse().ok()),
        None => (text, Some(0)),
    };
    match (kind, index) {
        ("cpu", _) if text == "cpu" => Some(DeviceArg::Cpu),
        ("cuda", Some(index)) => Some(DeviceArg::Cuda(index)),
        ("vulkan", Some(index)) => Some(DeviceArg::Vulkan(index)),
        _ => None,
    }
}

impl DeviceArg {
    /// Opens the device.
    pub fn find(self) -> Result<Device, Failure> {
        match self {
            Self::Cpu => Ok(Device::Cpu),
            #[cfg(feature = "cuda")]
            Self::Cuda(index) => Ok(Device::Gpu(gpu::Device::cuda(index)?)),
            #[cfg(not(feature = "cuda"))]
            Self::Cuda(_) => Err(self.not_built("CUDA", "cuda")),
            #[cfg(feature = "vulkan")]
            Self::Vulkan(index) => Ok(Device::Gpu(gpu::Device::vulkan(index)?)),
            #[cfg(not(feature = "vulkan"))]
            Self::Vulkan(_) => Err(self.not_built("Vulkan", "vulkan")),
        }
    }

    #[cfg(not(all(feature = "cuda", feature = "vulkan")))]
    fn not_built(self, what: &str, feature: &str) -> Failure {
        format!("--device {self}: this ropewalk was built without {what}; build it with --features {feature}").into()
    }
}

impl ValueParserFactory for DeviceArg {
    type Parser = Suggested<fn(&str) -> Result<Self, String>>;

    fn value_parser() -> Self::Parser {
        suggested(KINDS, Self::from_str)
    }
}

impl FromStr for DeviceArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        one(text).ok_or_else(|| match text.parse::<DevicesArg>() {
            Ok(_) => "only halos and bench support several devices; give one, as cuda:1".into(),
            Err(_) => format!("a device must be {ONE}"),
        })
    }
}

impl fmt::Display for DeviceArg {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
            Self::Vulkan(index) => write!(f, "vulkan:{index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let parse = |text: &str| text.parse::<DeviceArg>().ok();
        assert_eq!(parse("cpu"), Some(DeviceArg::Cpu));
        assert_eq!(parse("cuda"), Some(DeviceArg::Cuda(0)));
        assert_eq!(parse("vulkan:12"), Some(DeviceArg::Vulkan(12)));
        for text in ["", "cpu:0", "cpu:", "cuda:", "cuda:-1", "cuda:x", "Cuda", "gpu"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(DeviceArg::Cuda(3).to_string(), "cuda:3");
    }

    #[test]
    fn names_of_several() {
        let parse = |text: &str| text.parse::<DevicesArg>().ok();
        assert!(parse("cpu").is_some_and(|names| names == DeviceArg::Cpu));
        assert!(parse("cuda").is_some_and(|names| names == DeviceArg::Cuda(0)));
        assert_eq!(
            parse("cuda:2,0,1"),
            Some(DevicesArg(vec![DeviceArg::Cuda(2), DeviceArg::Cuda(0), DeviceArg::Cuda(1)]))
        );
        assert_eq!(parse("vulkan:0,0"), Some(DevicesArg(vec![DeviceArg::Vulkan(0); 2])));
        for text in
            ["", "cpu:0", "cpu,cpu", "cuda,vulkan", "cuda:", "cuda:0,", "cuda:,1", "cuda:0,x", "cuda:0,cuda:1", "0,1"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
        for text in ["cuda:3", "vulkan:0,0,12"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        // Arguments that take a single device refuse several.
        assert!("cuda:0,1".parse::<DeviceArg>().unwrap_err().contains("give one"));
    }
}
