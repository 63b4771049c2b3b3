//! Fetching memory that a walk is going to read: its reads are far apart, and it would mostly wait for them.

/// How much of a row is prefetched, in bytes; the processor prefetches the rest by itself.
#[cfg(target_arch = "x86_64")]
const PREFETCHED: usize = 512;

/// The size of a cache line, in bytes.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Prefetches the start of a row.
#[inline(always)]
pub(super) fn prefetch<T>(row: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = row.as_ptr().cast::<i8>();
        for offset in (0..size_of_val(row).min(PREFETCHED)).step_by(LINE) {
            // SAFETY: a hint, which reads nothing; the address is in a slice that is borrowed.
            #[allow(unsafe_code)]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(start.add(offset));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}
