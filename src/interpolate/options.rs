//! The options that all methods have: how far to look, what to do where that finds nothing, in which box.

/// Their setters, for a struct with the fields `reach` (a `Reach`, or one that may be absent), `fallback` and `size`. What is said of them
/// comes with each.
macro_rules! options {
    ($(#[$neighbors:meta])* neighbors, $(#[$radius:meta])* radius, $(#[$fallback:meta])* fallback) => {
        $(#[$neighbors])*
        #[must_use]
        pub fn neighbors(mut self, k: usize) -> Self {
            self.reach = $crate::interpolate::reach::Reach::Neighbors(k).into();
            self
        }

        $(#[$radius])*
        #[must_use]
        pub fn radius(mut self, radius: impl Into<f64>) -> Self {
            self.reach = $crate::interpolate::reach::Reach::Radius(radius.into()).into();
            self
        }

        $(#[$fallback])*
        #[must_use]
        pub fn fallback(mut self, fallback: $crate::interpolate::Fallback) -> Self {
            self.fallback = fallback;
            self
        }

        /// Distances are those in a periodic box.
        #[must_use]
        pub fn periodic(mut self, size: impl Into<$crate::geometry::BoxSize>) -> Self {
            self.size = size.into();
            self
        }

        /// The periodic box.
        #[doc(hidden)]
        pub fn size(&self) -> &$crate::geometry::BoxSize {
            &self.size
        }
    };
}

pub(super) use options;
