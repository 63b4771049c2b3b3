//! Allocator tuning.

/// Makes glibc's allocator keep freed memory for later allocations. A training step allocates and
/// frees gigabytes; returned to the system in between, every page would have to be cleared again,
/// which costs a good part of the step. Does nothing with other allocators.
pub(crate) fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` only sets limits of the allocator, under its own lock.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
    }
}
