//! Heavy functions, compiled once in this library for the usual points: `f32` and `f64`, in two and three dimensions.
//!
//! What is generic is compiled where it is used: in each program, again after each edit, and without optimization where the
//! program has none. A precompiled function calls a copy that is compiled in the library for the usual points, and the
//! generic function for others.
#![allow(unsafe_code)] // For slices: the types are compared first.

use std::any::{Any, TypeId};

/// Returns `a` as a `B`. Both are one type wherever this is called.
#[inline(always)]
pub(crate) fn same<A: 'static, B: 'static>(a: A) -> B {
    let mut a = Some(a);
    match (&mut a as &mut dyn Any).downcast_mut::<Option<B>>().and_then(Option::take) {
        Some(b) => b,
        None => unreachable!("the types are equal"),
    }
}

/// The same for a reference.
#[inline(always)]
pub fn same_ref<A: Any, B: Any>(a: &A) -> &B {
    match (a as &dyn Any).downcast_ref() {
        Some(b) => b,
        None => unreachable!("the types are equal"),
    }
}

/// The same for one that may be changed.
#[inline(always)]
pub(crate) fn same_mut<A: Any, B: Any>(a: &mut A) -> &mut B {
    match (a as &mut dyn Any).downcast_mut() {
        Some(b) => b,
        None => unreachable!("the types are equal"),
    }
}

/// The same for points.
#[inline(always)]
pub(crate) fn same_points<A: bytemuck::Pod, B: bytemuck::Pod>(a: &[A]) -> &[B] {
    bytemuck::cast_slice(a)
}

/// The same for a slice of what is not [`bytemuck::Pod`], as rays.
#[inline(always)]
pub(crate) fn same_slice<A: Any, B: Any>(a: &[A]) -> &[B] {
    assert_eq!(TypeId::of::<A>(), TypeId::of::<B>(), "the types are equal");
    // SAFETY: `A` and `B` are one type, as the line before checks, so this is the same slice.
    unsafe { std::slice::from_raw_parts(a.as_ptr().cast(), a.len()) }
}

/// What does not depend on the type of the points.
#[inline(always)]
pub(crate) fn keep<T>(value: T) -> T {
    value
}

/// `precompiled! { fn name = generic(tree: same_ref &Bvh<S, D>, radius: keep f64) -> R }` makes a function `name<S, D>` that
/// does what `generic` does. Before its type each argument has the function that turns it into one for the usual points.
macro_rules! precompiled {
    ($(#[$doc:meta])* $vis:vis fn $name:ident = $generic:ident($($arg:ident: $convert:ident $type:ty),* $(,)?) -> $result:ty) => {
        $(#[$doc])*
        #[inline]
        $vis fn $name<S: $crate::geometry::Scalar, const D: usize>($($arg: $type),*) -> $result {
            use $crate::precompiled::precompiled_for;
            precompiled_for!(f32, 2, $generic($($arg: $convert $type),*) -> $result);
            precompiled_for!(f32, 3, $generic($($arg: $convert $type),*) -> $result);
            precompiled_for!(f64, 2, $generic($($arg: $convert $type),*) -> $result);
            precompiled_for!(f64, 3, $generic($($arg: $convert $type),*) -> $result);
            $generic($($arg),*)
        }
    };
}
pub(crate) use precompiled;

/// The same for functions whose only parameter is the scalar type, as those of meshes, which are in space: the function is `name<S>`.
macro_rules! precompiled_in_space {
    ($(#[$doc:meta])* $vis:vis fn $name:ident = $generic:ident($($arg:ident: $convert:ident $type:ty),* $(,)?) -> $result:ty) => {
        $(#[$doc])*
        #[inline]
        $vis fn $name<S: $crate::geometry::Scalar>($($arg: $type),*) -> $result {
            use $crate::precompiled::precompiled_for;
            const D: usize = 3;
            precompiled_for!(f32, 3, $generic($($arg: $convert $type),*) -> $result);
            precompiled_for!(f64, 3, $generic($($arg: $convert $type),*) -> $result);
            $generic($($arg),*)
        }
    };
}
pub(crate) use precompiled_in_space;

/// Returns what the copy for one type and dimension gives, if the points are of that.
macro_rules! precompiled_for {
    ($scalar:ty, $dim:literal, $generic:ident($($arg:ident: $convert:ident $type:ty),*) -> $result:ty) => {
        // The other branch is not even compiled. Unit tests need few kinds of points, and are compiled fast without the copies.
        if const { !cfg!(test) && S::NARROW == <$scalar as $crate::geometry::Lane>::NARROW && D == $dim } {
            let result = {
                type S = $scalar;
                #[allow(dead_code)] // What is always in space does not name it.
                const D: usize = $dim;
                fn copy($($arg: $type),*) -> $result {
                    $generic($($arg),*)
                }
                copy($($crate::precompiled::$convert($arg)),*)
            };
            return $crate::precompiled::same(result);
        }
    };
}
pub(crate) use precompiled_for;
