//! The type of functions that all ranks call, and lists of such functions by name.

use ropewalk::distributed::Communicator;

/// A function that all ranks call.
pub type Scenario = fn(&dyn Communicator);

/// Lists functions with their names.
macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        pub const SCENARIOS: &[(&str, $crate::ranks::scenario::Scenario)] = &[$((stringify!($name), $name)),*];
    };
}
pub(super) use scenarios;
