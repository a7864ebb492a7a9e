//! `--device`: where the work is done.

use std::fmt;
use std::str::FromStr;

// What a device can store; without devices, any coordinate.
#[cfg(not(any(feature = "cuda", feature = "vulkan")))]
pub use ropewalk::Scalar as Coordinate;
#[cfg(any(feature = "cuda", feature = "vulkan"))]
pub use ropewalk::gpu::Coordinate;
#[cfg(any(feature = "cuda", feature = "vulkan"))]
use ropewalk::gpu::{self, DeviceVec, Widened};
#[cfg(any(feature = "cuda", feature = "vulkan"))]
use ropewalk::io::Points;

use super::Failure;

/// What the command line asks for, whether or not this build has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Name {
    Cpu,
    Cuda(usize),
    Vulkan(usize),
}

/// What there is.
#[derive(Clone, Copy)]
pub enum Device {
    Cpu,
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    Gpu(gpu::Device),
}

/// Points on a device, of one of the kinds that this program is compiled for.
#[cfg(any(feature = "cuda", feature = "vulkan"))]
pub enum There {
    F32In2(gpu::Points<f32, 2>),
    F32In3(gpu::Points<f32, 3>),
    F64In2(gpu::Points<f64, 2>),
    F64In3(gpu::Points<f64, 3>),
    F64In6(gpu::Points<f64, 6>),
    F64In10(gpu::Points<f64, 10>),
}

#[cfg(any(feature = "cuda", feature = "vulkan"))]
impl There {
    /// Copies points to a device. Those of other kinds become the next wider ones there.
    pub fn new(points: &Points, periodic: Option<f64>, device: gpu::Device) -> ropewalk::Result<Self> {
        match points {
            Points::F32(table) => {
                if let Some(rows) = table.rows::<2>() {
                    return gpu::Points::new_periodic(rows, periodic, device).map(Self::F32In2);
                }
                if let Some(rows) = table.rows::<3>() {
                    return gpu::Points::new_periodic(rows, periodic, device).map(Self::F32In3);
                }
                Self::of(DeviceVec::new(table.as_slice(), device)?.widened(table.dim(), periodic)?)
            }
            Points::F64(table) => {
                if let Some(rows) = table.rows::<2>() {
                    return gpu::Points::new_periodic(rows, periodic, device).map(Self::F64In2);
                }
                if let Some(rows) = table.rows::<3>() {
                    return gpu::Points::new_periodic(rows, periodic, device).map(Self::F64In3);
                }
                if let Some(rows) = table.rows::<6>() {
                    return gpu::Points::new_periodic(rows, periodic, device).map(Self::F64In6);
                }
                if let Some(rows) = table.rows::<10>() {
                    return gpu::Points::new_periodic(rows, periodic, device).map(Self::F64In10);
                }
                Self::of(DeviceVec::new(table.as_slice(), device)?.widened(table.dim(), periodic)?)
            }
        }
    }

    fn of(Widened { coordinates, dim, size }: Widened) -> ropewalk::Result<Self> {
        match dim {
            2 => gpu::Points::of(&coordinates, size).map(Self::F64In2),
            6 => gpu::Points::of(&coordinates, size).map(Self::F64In6),
            _ => gpu::Points::of(&coordinates, size).map(Self::F64In10),
        }
    }
}

/// Evaluates `$work` with the points on a device, whatever their kind.
#[cfg(any(feature = "cuda", feature = "vulkan"))]
macro_rules! with_points_there {
    ($there:expr, $points:ident => $work:expr) => {
        match $there {
            $crate::device::There::F32In2($points) => $work,
            $crate::device::There::F32In3($points) => $work,
            $crate::device::There::F64In2($points) => $work,
            $crate::device::There::F64In3($points) => $work,
            $crate::device::There::F64In6($points) => $work,
            $crate::device::There::F64In10($points) => $work,
        }
    };
}
#[cfg(any(feature = "cuda", feature = "vulkan"))]
pub(super) use with_points_there;

impl Name {
    /// The device that is so many after this one, in turn: for ranks that share a host's.
    #[cfg(feature = "mpi")]
    pub fn after(self, turns: usize) -> Result<Device, Failure> {
        // What there is not is told as without ranks.
        let first = self.find()?;
        let all = |of: &dyn Fn(usize) -> Self| (0..).take_while(|&index| of(index).find().is_ok()).count();
        match self {
            Self::Cpu => Ok(first),
            Self::Cuda(index) => Self::Cuda((index + turns) % all(&Self::Cuda).max(1)).find(),
            Self::Vulkan(index) => Self::Vulkan((index + turns) % all(&Self::Vulkan).max(1)).find(),
        }
    }

    /// Looks for the device.
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

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, index) = match text.split_once(':') {
            Some((kind, index)) => (kind, index.parse().ok()),
            None => (text, Some(0)),
        };
        match (kind, index) {
            ("cpu", _) if text == "cpu" => Ok(Self::Cpu),
            ("cuda", Some(index)) => Ok(Self::Cuda(index)),
            ("vulkan", Some(index)) => Ok(Self::Vulkan(index)),
            _ => Err("a device is cpu, cuda or vulkan, or one of several by its number, as cuda:1".into()),
        }
    }
}

impl fmt::Display for Name {
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
        let parse = |text: &str| text.parse::<Name>().ok();
        assert_eq!(parse("cpu"), Some(Name::Cpu));
        assert_eq!(parse("cuda"), Some(Name::Cuda(0)));
        assert_eq!(parse("vulkan:12"), Some(Name::Vulkan(12)));
        for text in ["", "cpu:0", "cpu:", "cuda:", "cuda:-1", "cuda:x", "Cuda", "gpu"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(Name::Cuda(3).to_string(), "cuda:3");
    }
}
