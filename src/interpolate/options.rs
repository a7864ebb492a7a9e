//! The options that all methods share: the neighbours to use, the fallback for targets without neighbours, and the
//! periodic box.

/// Defines the setters for a struct with the fields `reach` (a `Neighborhood` or an `Option<Neighborhood>`), `fallback`
/// and `size`. The doc comments of the first three setters are arguments.
macro_rules! options {
    ($(#[$neighbors:meta])* neighbors, $(#[$radius:meta])* radius, $(#[$fallback:meta])* fallback) => {
        $(#[$neighbors])*
        #[must_use]
        pub fn neighbors(mut self, k: usize) -> Self {
            self.reach = $crate::interpolate::neighborhood::Neighborhood::Neighbors(k).into();
            self
        }

        $(#[$radius])*
        #[must_use]
        pub fn radius(mut self, radius: impl Into<f64>) -> Self {
            self.reach = $crate::interpolate::neighborhood::Neighborhood::Radius(radius.into()).into();
            self
        }

        $(#[$fallback])*
        #[must_use]
        pub fn fallback(mut self, fallback: $crate::interpolate::Fallback) -> Self {
            self.fallback = fallback;
            self
        }

        /// Sets the side of the periodic box, or one side per axis, in the unit of the points; `None` for open space.
        /// Default: open space.
        #[must_use]
        pub fn periodic(mut self, size: impl Into<$crate::geometry::BoxSize>) -> Self {
            self.size = size.into();
            self
        }

        /// Returns the side or sides of the periodic box; none for open space.
        #[doc(hidden)]
        pub fn size(&self) -> &$crate::geometry::BoxSize {
            &self.size
        }
    };
}

pub(super) use options;
