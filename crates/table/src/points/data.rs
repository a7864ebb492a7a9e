//! The values of a table: owned, or in memory of another owner.
//!
//! In: a vector, or an owner. Out: a slice. Cost: values are not copied, unless shared values are moved out or
//! changed.
//! `AsRef` may return different slices for the same object. So no slice is stored: each use calls `as_ref` again. If
//! the length no longer fits, there are no values instead of wrong ones.

use ropewalk::internals::memory::copy_of;
use std::fmt;
use std::sync::Arc;

/// An owner of values.
type Owner<S> = Arc<dyn AsRef<[S]> + Send + Sync>;

#[derive(Clone)]
pub(super) enum Storage<S> {
    Own(Vec<S>),
    /// The first `len` values of the owner.
    Shared {
        owner: Owner<S>,
        len: usize,
    },
}

impl<S> Storage<S> {
    pub fn shared(owner: Owner<S>) -> Self {
        let len = (*owner).as_ref().len();
        Self::Shared { owner, len }
    }

    pub fn values(&self) -> &[S] {
        match self {
            Self::Own(values) => values,
            Self::Shared { owner, len } => (**owner).as_ref().get(..*len).unwrap_or_default(),
        }
    }
}

impl<S: Clone> Storage<S> {
    pub fn into_vec(self) -> Vec<S> {
        match self {
            Self::Own(values) => values,
            Self::Shared { .. } => copy_of(self.values()),
        }
    }

    /// Returns the values as an owned vector; copies shared ones first.
    pub fn own(&mut self) -> &mut Vec<S> {
        if let Self::Shared { .. } = self {
            *self = Self::Own(copy_of(self.values()));
        }
        match self {
            Self::Own(values) => values,
            Self::Shared { .. } => unreachable!("they have just been copied"),
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Storage<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&ropewalk::internals::brief::Brief(self.values()), f)
    }
}

impl<S: PartialEq> PartialEq for Storage<S> {
    fn eq(&self, other: &Self) -> bool {
        self.values() == other.values()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use ropewalk::ErrorKind;

    use super::*;
    use crate::points::Table;

    /// An owner that shows a variable number of values.
    struct Changing {
        values: Vec<f32>,
        shown: AtomicUsize,
    }

    impl AsRef<[f32]> for Changing {
        fn as_ref(&self) -> &[f32] {
            &self.values[..self.shown.load(Relaxed)]
        }
    }

    #[test]
    fn an_owner_that_changes_its_length() {
        let owner = Arc::new(Changing { values: vec![1.0; 8], shown: AtomicUsize::new(6) });
        let table = Table::shared(3, owner.clone()).unwrap();
        for (shown, rows) in [(6, 2), (8, 2), (5, 0), (3, 0), (0, 0), (6, 2)] {
            owner.shown.store(shown, Relaxed);
            assert_eq!((table.len(), table.is_empty(), table.as_slice().len()), (rows, rows == 0, 3 * rows));
            assert_eq!(table.rows::<3>().map(<[_]>::len), Some(rows));
            assert_eq!(table.clone().into_vec().len(), 3 * rows);
        }
    }

    #[test]
    fn shared_values_are_copied_when_they_change() {
        let values = Arc::new(vec![1.0f64, 2.0, 3.0, 4.0]);
        let table = Table::shared(2, values.clone()).unwrap();
        let mut other = table.clone();
        assert_eq!(Arc::strong_count(&values), 3);
        other.values_mut()[0] = 9.0;
        assert_eq!(Arc::strong_count(&values), 2);
        assert_eq!((table.as_slice(), other.as_slice()), (&values[..], &[9.0, 2.0, 3.0, 4.0][..]));
        assert_ne!(table, other);
        let own = Table::new(2, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((&table, format!("{table:?}")), (&own, format!("{own:?}")));
        assert_ne!(table, Table::new(1, values.to_vec()).unwrap());
        // An owned vector is returned without a copy.
        let place = own.as_slice().as_ptr();
        let vec = own.into_vec();
        assert_eq!(vec.as_ptr(), place);
        drop(table);
        assert_eq!(Arc::strong_count(&values), 1);
    }

    #[test]
    fn what_is_no_table() {
        for (dim, n) in [(0, 4), (11, 11), (3, 4)] {
            assert!(Table::shared(dim, Arc::new(vec![0u32; n])).is_err());
        }
        assert_eq!(Table::shared(3, Arc::new(vec![0u8; 4])).unwrap_err().kind(), ErrorKind::Parameter);
        assert_eq!(Table::shared(3, Arc::new(Vec::<f32>::new())).unwrap().len(), 0);
    }
}
