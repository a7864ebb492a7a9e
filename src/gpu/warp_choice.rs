//! The environment variable `ROPEWALK_WARP`, which forces a mode of exchange between the threads of a warp.

use std::sync::OnceLock;

use crate::error::Result;
use crate::gpu::errors;

const VARIABLE: &str = "ROPEWALK_WARP";

/// A mode of exchange within warps that `ROPEWALK_WARP` can force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum WarpChoice {
    Native,
    Emulated,
    None,
}

impl WarpChoice {
    const ALL: [Self; 3] = [Self::Native, Self::Emulated, Self::None];

    /// Returns the value of the environment variable that selects this choice.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Emulated => "emulated",
            Self::None => "none",
        }
    }

    /// Reads the choice from the environment, if it has one.
    ///
    /// Errors: an unknown value of the variable.
    pub fn forced() -> Result<Option<Self>> {
        static FORCED: OnceLock<std::result::Result<Option<WarpChoice>, String>> = OnceLock::new();
        let forced =
            FORCED.get_or_init(|| Self::parse(&std::env::var_os(VARIABLE).unwrap_or_default().to_string_lossy()));
        forced.as_ref().copied().map_err(|value| errors::variable(VARIABLE, value, &Self::ALL.map(Self::name)))
    }

    /// Returns `None` for an empty value, and the value itself as the error if it is unknown.
    fn parse(value: &str) -> std::result::Result<Option<Self>, String> {
        let known = Self::ALL.into_iter().find(|choice| choice.name() == value);
        if known.is_none() && !value.is_empty() { Err(value.into()) } else { Ok(known) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_taken() {
        for choice in WarpChoice::ALL {
            assert_eq!(WarpChoice::parse(choice.name()), Ok(Some(choice)));
        }
        assert_eq!(WarpChoice::parse(""), Ok(None));
        assert_eq!(WarpChoice::parse("emulate"), Err("emulate".into()));
        let error = errors::variable(VARIABLE, "emulate", &WarpChoice::ALL.map(WarpChoice::name)).to_string();
        assert!(
            error.ends_with("ROPEWALK_WARP is 'emulate'; it must be one of native, emulated, none, or not set"),
            "{error}"
        );
    }
}
