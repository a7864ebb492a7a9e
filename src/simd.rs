//! Vectors of eight lanes, with the widest instructions that the processor supports.
//!
//! The arithmetic is plain loops over `[S; LANES]`, which the compiler vectorizes. This module adds what the compiler
//! cannot do by itself: choosing the instruction set at run time, packing eight comparisons into a bit mask, and
//! compressing lanes by a mask.
//!
//! Hot code is generic over an [`Isa`], is `#[inline(always)]` down to the loops, and is entered through
//! [`dispatch!`].
#![allow(unsafe_code)] // Measured in benches/LOG.md: AVX2 is twice as fast as SSE2 on a range count.

use std::sync::LazyLock;

/// The number of points tested at once. Coordinate arrays are padded by this many values, so that a block may be read
/// past their end.
pub(crate) const LANES: usize = 8;

/// A vector of [`LANES`] values.
pub(crate) type Lanes<S> = [S; LANES];

/// An instruction set that this processor supports.
pub(crate) trait Isa: Copy + Send + Sync {
    /// `true` if leaf tests are compiled as one function that is called instead of inlined, to save code for the
    /// rarely used fallback.
    const OUTLINED: bool;

    /// Returns a mask whose bit `l` is set if `values[l] <= limit`; clear if either is NaN.
    fn at_most_f32(self, values: &Lanes<f32>, limit: f32) -> u32;
    /// Returns a mask whose bit `l` is set if `values[l] <= limit`; clear if either is NaN.
    fn at_most_f64(self, values: &Lanes<f64>, limit: f64) -> u32;
    /// Moves the values whose bits are set in the eight-bit `mask` to the front, in order. The lanes after them hold
    /// arbitrary values of the vector.
    fn compress_u32(self, values: &Lanes<u32>, mask: u32) -> Lanes<u32>;

    /// Compresses `f32` lanes like [`Isa::compress_u32`].
    #[inline(always)]
    fn compress_f32(self, values: &Lanes<f32>, mask: u32) -> Lanes<f32> {
        bytemuck::cast(self.compress_u32(&bytemuck::cast(*values), mask))
    }

    /// Compresses `f64` lanes like [`Isa::compress_u32`].
    #[inline(always)]
    fn compress_f64(self, values: &Lanes<f64>, mask: u32) -> Lanes<f64> {
        compress(values, mask)
    }
}

/// Returns eight consecutive numbers, starting at `first`.
#[inline(always)]
pub(crate) fn numbers(first: u32) -> Lanes<u32> {
    std::array::from_fn(|l| first.wrapping_add(l as u32))
}

/// Adds eight to each number. In a loop this costs one addition, whereas [`numbers`] takes sixteen instructions.
#[inline(always)]
pub(crate) fn advance(numbers: &mut Lanes<u32>) {
    for number in numbers {
        *number = number.wrapping_add(LANES as u32);
    }
}

#[inline(always)]
fn compress<T: Copy>(values: &Lanes<T>, mask: u32) -> Lanes<T> {
    let mut packed = *values;
    let mut len = 0;
    // Without branches: values that are not selected are overwritten.
    for (l, &value) in values.iter().enumerate() {
        packed[len % LANES] = value;
        len += (mask >> l & 1) as usize;
    }
    packed
}

/// The instruction set of the compilation target: SSE2 on x86-64, NEON on AArch64. If it is inlined into code
/// compiled for more features, it uses those.
#[derive(Clone, Copy)]
pub(crate) struct Baseline<const OUTLINED: bool>;

/// The fallback, used by few x86-64 processors.
pub(crate) const FALLBACK: Baseline<{ cfg!(target_arch = "x86_64") }> = Baseline;

macro_rules! at_most {
    ($values:expr, $limit:expr) => {{
        let mut mask = 0;
        for l in 0..LANES {
            mask |= u32::from($values[l] <= $limit) << l;
        }
        mask
    }};
}

impl<const OUTLINED: bool> Isa for Baseline<OUTLINED> {
    const OUTLINED: bool = OUTLINED;

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn at_most_f32(self, values: &Lanes<f32>, limit: f32) -> u32 {
        at_most!(values, limit)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn at_most_f32(self, values: &Lanes<f32>, limit: f32) -> u32 {
        use std::arch::x86_64::{__m128, _mm_cmple_ps, _mm_movemask_ps, _mm_set1_ps};
        let [low, high]: [__m128; 2] = bytemuck::cast(*values);
        // SAFETY: SSE2 is part of the x86-64 baseline.
        unsafe {
            let limit = _mm_set1_ps(limit);
            (_mm_movemask_ps(_mm_cmple_ps(low, limit)) | _mm_movemask_ps(_mm_cmple_ps(high, limit)) << 4) as u32
        }
    }

    #[inline(always)]
    fn at_most_f64(self, values: &Lanes<f64>, limit: f64) -> u32 {
        at_most!(values, limit)
    }

    #[inline(always)]
    fn compress_u32(self, values: &Lanes<u32>, mask: u32) -> Lanes<u32> {
        compress(values, mask)
    }
}

/// AVX2 with the bit manipulation instructions of x86-64-v3.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    #[inline]
    pub(crate) fn detect() -> Option<Self> {
        let found = !is_fallback_forced()
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt");
        found.then_some(Self(()))
    }

    /// Runs `task` with these instructions enabled; code inlined into it uses them.
    #[inline(always)]
    pub(crate) fn run<R>(self, task: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        fn compiled<R>(task: impl FnOnce() -> R) -> R {
            task()
        }
        // SAFETY: all features of `compiled` are supported: `self` can only be created by `detect`, which checks
        // them.
        unsafe { compiled(task) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Isa for Avx2 {
    const OUTLINED: bool = false;

    #[inline(always)]
    fn at_most_f32(self, values: &Lanes<f32>, limit: f32) -> u32 {
        use std::arch::x86_64::{_CMP_LE_OQ, _mm256_cmp_ps, _mm256_movemask_ps, _mm256_set1_ps};
        // SAFETY: AVX2 is supported: `self` can only be created by `detect`, which checks it.
        unsafe {
            _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(bytemuck::cast(*values), _mm256_set1_ps(limit))) as u32
        }
    }

    #[inline(always)]
    fn at_most_f64(self, values: &Lanes<f64>, limit: f64) -> u32 {
        use std::arch::x86_64::{__m256d, _CMP_LE_OQ, _mm256_cmp_pd, _mm256_movemask_pd, _mm256_set1_pd};
        let [low, high]: [__m256d; 2] = bytemuck::cast(*values);
        // SAFETY: AVX2 is supported: `self` can only be created by `detect`, which checks it.
        unsafe {
            let limit = _mm256_set1_pd(limit);
            (_mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(low, limit))
                | _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(high, limit)) << 4) as u32
        }
    }

    #[inline(always)]
    fn compress_u32(self, values: &Lanes<u32>, mask: u32) -> Lanes<u32> {
        use std::arch::x86_64::_mm256_permutevar8x32_epi32;
        /// For each mask, the indices of its set bits, then 7.
        static SET: [Lanes<u32>; 1 << LANES] = {
            let mut set = [[LANES as u32 - 1; LANES]; 1 << LANES];
            let mut mask = 0;
            while mask < 1 << LANES {
                let (mut lane, mut len) = (0, 0);
                while lane < LANES {
                    if mask >> lane & 1 == 1 {
                        set[mask][len] = lane as u32;
                        len += 1;
                    }
                    lane += 1;
                }
                mask += 1;
            }
            set
        };
        let lanes = SET[(mask & 0xff) as usize];
        // SAFETY: AVX2 is supported: `self` can only be created by `detect`, which checks it.
        unsafe { bytemuck::cast(_mm256_permutevar8x32_epi32(bytemuck::cast(*values), bytemuck::cast(lanes))) }
    }
}

/// The environment variable that selects the instruction set.
pub(crate) const VARIABLE: &str = "ROPEWALK_ISA";
/// Its only valid value, the fallback, so that tests can run it on any processor.
pub(crate) const BASELINE: &str = "baseline";

/// Returns the value of [`VARIABLE`], `None` if it is unset or empty.
fn forced() -> Option<&'static str> {
    static FORCED: LazyLock<Option<String>> = LazyLock::new(|| {
        let value = std::env::var_os(VARIABLE)?;
        Some(value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
    });
    FORCED.as_deref()
}

/// Returns the value of [`VARIABLE`] if it is invalid. Building a tree or mesh then fails.
pub(crate) fn unknown_choice() -> Option<&'static str> {
    forced().filter(|&value| value != BASELINE)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn is_fallback_forced() -> bool {
    static FORCED: LazyLock<bool> = LazyLock::new(|| forced() == Some(BASELINE));
    *FORCED
}

/// Returns the name of the instruction set that searches use.
pub fn instruction_set() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if Avx2::detect().is_some() {
        return "avx2";
    }
    "baseline"
}

/// Prefetches a value into the cache, if the processor supports that.
#[inline(always)]
pub(crate) fn prefetch<T>(value: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching is a hint that accesses no memory; any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(value.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// `dispatch!(isa => body)` evaluates `body`, compiled for the best [`Isa`], which is bound to `isa`. Loops in `body`
/// must be `for` loops: a closure inside it would be compiled separately, without these instructions.
macro_rules! dispatch {
    ($isa:ident => $body:expr) => {{
        #[cfg(target_arch = "x86_64")]
        {
            match $crate::simd::Avx2::detect() {
                Some($isa) => $isa.run(
                    #[inline(always)]
                    || $body,
                ),
                None => {
                    let $isa = $crate::simd::FALLBACK;
                    $body
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let $isa = $crate::simd::FALLBACK;
            $body
        }
    }};
}
pub(crate) use dispatch;

#[cfg(test)]
mod tests {
    use super::*;

    /// The processor's instruction set and the fallback compress alike.
    #[test]
    fn packed_lanes() {
        let values = numbers(10);
        for mask in 0..1 << LANES {
            let expected: Vec<u32> = values.into_iter().filter(|value| mask >> (value - 10) & 1 == 1).collect();
            let all = dispatch!(isa => [
                isa.compress_u32(&values, mask),
                isa.compress_f32(&values.map(|value| value as f32), mask).map(|value| value as u32),
                isa.compress_f64(&values.map(f64::from), mask).map(|value| value as u32),
                FALLBACK.compress_u32(&values, mask),
            ]);
            assert!(all.iter().all(|packed| packed[..expected.len()] == expected), "{mask:b}");
        }
        let mut later = values;
        advance(&mut later);
        assert_eq!(later, numbers(18));
    }
}
