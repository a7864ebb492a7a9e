//! The trait of types that a tree can store.

use crate::geometry::{Aabb, Scalar, Sphere};

/// A type with a bounding box, which a [`Bvh`](crate::Bvh) can store.
///
/// If you implement it for your own type, the tree finds candidates by their boxes. Your code then selects the hits
/// (`bvh.query(..).filter(..)`, see the example `own_geometry`), or a [`ValueBvh`](crate::ValueBvh) selects them by
/// [`Distance`](crate::geometry::Distance) and [`HitBy`](crate::geometry::HitBy). Points, glam vectors, the
/// [shapes](crate::geometry::shapes), and pairs of one of these and a value implement this trait.
///
/// ```
/// use ropewalk::{Aabb, Bounded, Bvh, Sphere};
///
/// struct Street { from: [f64; 2], to: [f64; 2] }
///
/// impl Bounded<f64, 2> for Street {
///     fn bounds(&self) -> Aabb<f64, 2> {
///         Aabb::point(self.from).union(&Aabb::point(self.to))
///     }
/// }
///
/// let streets = [Street { from: [0.0, 0.0], to: [1.0, 0.0] }, Street { from: [5.0, 5.0], to: [5.0, 9.0] }];
/// let bvh = Bvh::build(&streets)?;
/// assert_eq!(bvh.query(Sphere::new([5.0, 7.0], 0.5)).collect::<Vec<_>>(), [1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a tree of `{S}` in {D} dimensions cannot store `{Self}`",
    label = "not a point or box of this tree",
    note = "arrays such as `[f32; 3]`, `Aabb`, `Sphere` and, with the feature `glam`, the vectors of the glam that ropewalk is built \
            with can be stored; rows of unknown length (`Vec<Vec<f64>>`) go through the crate `ropewalk-table`; implement `Bounded` for \
            types of your own"
)]
pub trait Bounded<S, const D: usize>: Sync {
    /// `true` if every value of this type is a point: `bounds().lo == bounds().hi`. The tree then stores only one
    /// corner.
    const IS_POINT: bool = false;

    /// Returns the smallest box that contains the value.
    fn bounds(&self) -> Aabb<S, D>;

    /// Returns the primitives as a slice of points, if that needs no copy.
    #[doc(hidden)]
    fn as_points(_primitives: &[Self]) -> Option<&[[S; D]]>
    where
        Self: Sized,
    {
        None
    }
}

impl<S: Scalar, const D: usize> Bounded<S, D> for [S; D] {
    const IS_POINT: bool = true;

    #[inline(always)]
    fn bounds(&self) -> Aabb<S, D> {
        Aabb::point(*self)
    }

    fn as_points(primitives: &[Self]) -> Option<&[[S; D]]> {
        Some(primitives)
    }
}

impl<S: Scalar, const D: usize> Bounded<S, D> for Aabb<S, D> {
    #[inline(always)]
    fn bounds(&self) -> Aabb<S, D> {
        *self
    }
}

impl<S: Scalar, const D: usize> Bounded<S, D> for Sphere<S, D> {
    fn bounds(&self) -> Aabb<S, D> {
        // Rounded away from the centre, so that the box contains the sphere.
        let corner = |sign: f64| {
            std::array::from_fn(|k| {
                let exact = Into::<f64>::into(self.center[k]) + sign * self.radius;
                S::from_f64(exact + sign * exact.abs() * 2.0 * S::ROUNDING)
            })
        };
        Aabb { lo: corner(-1.0), hi: corner(1.0) }
    }
}

/// A shape paired with a value; its bounds are those of the shape.
impl<S, const D: usize, G: Bounded<S, D>, V: Sync> Bounded<S, D> for (G, V) {
    const IS_POINT: bool = G::IS_POINT;

    #[inline(always)]
    fn bounds(&self) -> Aabb<S, D> {
        self.0.bounds()
    }
}

#[cfg(feature = "glam")]
macro_rules! glam_vector {
    ($($vector:ty: $scalar:ty, $dim:literal;)*) => {$(
        impl Bounded<$scalar, $dim> for $vector {
            const IS_POINT: bool = true;

            #[inline(always)]
            fn bounds(&self) -> Aabb<$scalar, $dim> {
                Aabb::point(self.to_array())
            }
        }
    )*};
}

#[cfg(feature = "glam")]
for_each_glam_vector!(glam_vector);
