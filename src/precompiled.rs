//! Expensive functions, compiled once in this library for common points: `f32` and `f64`, in two and three
//! dimensions.
//!
//! Generic code is compiled in each program that uses it, again after each edit, and without optimization in debug
//! builds. A precompiled function calls a copy that is compiled in the library for common points, and the generic
//! function for others.
#![allow(unsafe_code)] // Casts of slices, after the types are compared.

use std::any::{Any, TypeId};

/// Returns `a` as a `B`. `A` and `B` must be the same type.
#[inline(always)]
pub(crate) fn same<A: 'static, B: 'static>(a: A) -> B {
    let mut a = Some(a);
    match (&mut a as &mut dyn Any).downcast_mut::<Option<B>>().and_then(Option::take) {
        Some(b) => b,
        None => unreachable!("the types are equal"),
    }
}

/// Returns `a` as a reference to `B`. `A` and `B` must be the same type.
#[inline(always)]
pub fn same_ref<A: Any, B: Any>(a: &A) -> &B {
    match (a as &dyn Any).downcast_ref() {
        Some(b) => b,
        None => unreachable!("the types are equal"),
    }
}

/// Returns `a` as a mutable reference to `B`. `A` and `B` must be the same type.
#[inline(always)]
pub(crate) fn same_mut<A: Any, B: Any>(a: &mut A) -> &mut B {
    match (a as &mut dyn Any).downcast_mut() {
        Some(b) => b,
        None => unreachable!("the types are equal"),
    }
}

/// Returns a slice of points as a slice of `B`, which must be the same type as `A`.
#[inline(always)]
pub(crate) fn same_points<A: bytemuck::Pod, B: bytemuck::Pod>(a: &[A]) -> &[B] {
    bytemuck::cast_slice(a)
}

/// Returns a slice of a type that is not [`bytemuck::Pod`], such as rays, as a slice of `B`, which must be the same
/// type as `A`.
#[inline(always)]
pub(crate) fn same_slice<A: Any, B: Any>(a: &[A]) -> &[B] {
    assert_eq!(TypeId::of::<A>(), TypeId::of::<B>(), "the types are equal");
    // SAFETY: `A` and `B` are the same type, asserted in the line before, so pointer and length are valid for `B`.
    unsafe { std::slice::from_raw_parts(a.as_ptr().cast(), a.len()) }
}

/// Returns an argument unchanged: one whose type does not depend on that of the points.
#[inline(always)]
pub(crate) fn keep<T>(value: T) -> T {
    value
}

/// `precompiled! { fn name = generic(tree: same_ref &Bvh<S, D>, radius: keep f64) -> R }` defines a function `name<S,
/// D>` that does what `generic` does. The word before the type of an argument is the function that converts it to the
/// type for common points.
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

/// Like `precompiled!`, for functions that are generic over the scalar type only, such as those of three-dimensional
/// meshes: defines `name<S>`.
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

/// Returns the result of the copy for one scalar type and dimension, if the points have these.
macro_rules! precompiled_for {
    ($scalar:ty, $dim:literal, $generic:ident($($arg:ident: $convert:ident $type:ty),*) -> $result:ty) => {
        // Other branches are not compiled at all. Unit tests skip the copies, so that they compile fast.
        if const { !cfg!(test) && S::IS_F32 == <$scalar as $crate::geometry::ScalarOps>::IS_F32 && D == $dim } {
            let result = {
                type S = $scalar;
                #[allow(dead_code)] // Functions in three dimensions only do not use it.
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
