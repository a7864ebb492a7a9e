//! Debug output of types that hold long lists: the number of values and the first few, for `{:?}` of a tree must fit a terminal.

use std::fmt;

/// Lists up to this length are shown as they are.
const SHORT: usize = 16;
/// The number of values shown of a longer one.
const FIRST: usize = 3;

/// The debug output of a list: all values of a short one; of a long one the first values and how many there are.
pub struct Brief<'a, T>(pub &'a [T]);

impl<T: fmt::Debug> fmt::Debug for Brief<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() <= SHORT {
            return f.debug_list().entries(self.0).finish();
        }
        f.debug_list().entries(&self.0[..FIRST]).finish_non_exhaustive()?;
        write!(f, " ({} values)", self.0.len())
    }
}

/// `Debug` of a struct: fields that are lists in [`Brief`], and others as they are.
macro_rules! brief_debug {
    ($name:ident, lists: [$($list:ident),*], others: [$($other:ident),*]) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($list), &$crate::brief::Brief(&self.$list)))*
                    $(.field(stringify!($other), &self.$other))*
                    .finish()
            }
        }
    };
}

pub(crate) use brief_debug;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(format!("{:?}", Brief(&[1, 2])), "[1, 2]");
        assert_eq!(format!("{:?}", Brief(&[7; 1000])), "[7, 7, 7, ..] (1000 values)");
    }
}
