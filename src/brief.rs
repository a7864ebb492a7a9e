//! Debug output of types that hold long lists: the first few values and their number, so that `{:?}` of a tree fits a
//! terminal.

use std::fmt;

/// The maximum length of lists that are printed in full.
const SHORT: usize = 16;
/// The number of values printed of longer lists.
const FIRST: usize = 3;

/// Debug output of a list: all values of a short one; the first values and the length of a long one.
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

/// Implements `Debug` for a struct: fields that are lists as [`Brief`], others by their own `Debug`.
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
