//! Eight lanes at a time, with the widest instructions this processor has.
//!
//! The arithmetic is plain loops over `[S; LANES]`, which the compiler turns into vector instructions; two primitives it does
//! not do by itself stand here: choosing the instruction set at run time, and packing eight comparisons into a bit mask.
//!
//! Hot code is generic over a [`Isa`], marked `#[inline(always)]` down to the loops, and entered through [`dispatch!`].
#![allow(unsafe_code)] // Measured in benches/README.md: AVX2 is twice as fast as SSE2 on a range count.

use std::sync::LazyLock;

/// Points tested at once. Coordinate arrays are padded by this many values, so that a block may be read past its end.
pub(crate) const LANES: usize = 8;

/// What [`Isa`]s compare.
pub(crate) type Lanes<S> = [S; LANES];

/// An instruction set that this processor is known to have.
pub(crate) trait Isa: Copy + Send + Sync {
    /// Whether the tests of a leaf are compiled once, and called: for the instruction set that few processors run with.
    const OUTLINED: bool;

    /// Bit `l` is set where `values[l] <= limit`; never where either is NaN.
    fn at_most_f32(self, values: &Lanes<f32>, limit: f32) -> u32;
    /// The same for `f64`.
    fn at_most_f64(self, values: &Lanes<f64>, limit: f64) -> u32;
    /// The values whose bits are set in `mask`, which has eight, in their order; what follows them is any of the values.
    fn compress_u32(self, values: &Lanes<u32>, mask: u32) -> Lanes<u32>;

    /// The same for `f32`.
    #[inline(always)]
    fn compress_f32(self, values: &Lanes<f32>, mask: u32) -> Lanes<f32> {
        bytemuck::cast(self.compress_u32(&bytemuck::cast(*values), mask))
    }

    /// The same for `f64`.
    #[inline(always)]
    fn compress_f64(self, values: &Lanes<f64>, mask: u32) -> Lanes<f64> {
        compress(values, mask)
    }
}

/// Eight numbers from `first` on.
#[inline(always)]
pub(crate) fn numbers(first: u32) -> Lanes<u32> {
    std::array::from_fn(|l| first.wrapping_add(l as u32))
}

/// Adds eight to each: what a loop carries along costs one addition, where [`numbers`] takes sixteen instructions.
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
    // Without branches: what is not asked for is written over.
    for (l, &value) in values.iter().enumerate() {
        packed[len % LANES] = value;
        len += (mask >> l & 1) as usize;
    }
    packed
}

/// What the target is compiled for: SSE2 on x86-64, NEON on AArch64; or more, where it is inlined into what is compiled for more.
#[derive(Clone, Copy)]
pub(crate) struct Baseline<const OUTLINED: bool>;

/// The fallback, which few x86-64 processors run with.
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

/// AVX2 with the bit instructions that come with it (x86-64-v3).
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

    /// Runs `task` compiled for it: what is inlined into it uses its instructions.
    #[inline(always)]
    pub(crate) fn run<R>(self, task: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        fn compiled<R>(task: impl FnOnce() -> R) -> R {
            task()
        }
        // SAFETY: `self` exists only where `detect` found all of these features.
        unsafe { compiled(task) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Isa for Avx2 {
    const OUTLINED: bool = false;

    #[inline(always)]
    fn at_most_f32(self, values: &Lanes<f32>, limit: f32) -> u32 {
        use std::arch::x86_64::{_CMP_LE_OQ, _mm256_cmp_ps, _mm256_movemask_ps, _mm256_set1_ps};
        // SAFETY: `self` exists only where AVX2 was found.
        unsafe {
            _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(bytemuck::cast(*values), _mm256_set1_ps(limit))) as u32
        }
    }

    #[inline(always)]
    fn at_most_f64(self, values: &Lanes<f64>, limit: f64) -> u32 {
        use std::arch::x86_64::{__m256d, _CMP_LE_OQ, _mm256_cmp_pd, _mm256_movemask_pd, _mm256_set1_pd};
        let [low, high]: [__m256d; 2] = bytemuck::cast(*values);
        // SAFETY: `self` exists only where AVX2 was found.
        unsafe {
            let limit = _mm256_set1_pd(limit);
            (_mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(low, limit))
                | _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(high, limit)) << 4) as u32
        }
    }

    #[inline(always)]
    fn compress_u32(self, values: &Lanes<u32>, mask: u32) -> Lanes<u32> {
        use std::arch::x86_64::_mm256_permutevar8x32_epi32;
        /// For each mask the lanes whose bits are set, then lane 7.
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
        // SAFETY: `self` exists only where AVX2 was found.
        unsafe { bytemuck::cast(_mm256_permutevar8x32_epi32(bytemuck::cast(*values), bytemuck::cast(lanes))) }
    }
}

/// The environment variable that names the instruction set.
pub(crate) const VARIABLE: &str = "ROPEWALK_ISA";
/// Its one value: the fallback, so that tests reach it on any processor.
pub(crate) const BASELINE: &str = "baseline";

/// The value of [`VARIABLE`], unless it is empty.
fn forced() -> Option<&'static str> {
    static FORCED: LazyLock<Option<String>> = LazyLock::new(|| {
        let value = std::env::var_os(VARIABLE)?;
        Some(value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
    });
    FORCED.as_deref()
}

/// The value of [`VARIABLE`], if it is unknown. Trees and meshes are not built then.
pub(crate) fn unknown_choice() -> Option<&'static str> {
    forced().filter(|&value| value != BASELINE)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn is_fallback_forced() -> bool {
    static FORCED: LazyLock<bool> = LazyLock::new(|| forced() == Some(BASELINE));
    *FORCED
}

/// The name of the instruction set that searches run with.
pub fn instruction_set() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if Avx2::detect().is_some() {
        return "avx2";
    }
    "baseline"
}

/// Asks for a value to be brought into the cache, where the processor can be asked.
#[inline(always)]
pub(crate) fn prefetch<T>(value: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about an address; it reads nothing, and may be about any.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(value.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// `dispatch!(isa => body)`: evaluates `body` with the best [`Isa`] bound to `isa`, compiled for it. Loops in the body
/// are `for` loops: a closure of its own would be compiled apart, without its instructions.
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

    /// What the processor has and the fallback pack the same.
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
