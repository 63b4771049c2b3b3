//! What becomes of memory that is freed.

/// Has the process keep freed memory for what it allocates next. A step of training allocates and
/// frees gigabytes, and to give them back to the system between any two of them costs as much as a
/// good part of the step, since each page that comes anew is cleared. Does nothing where the
/// allocator is not glibc's.
pub(crate) fn keep() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` only sets limits of the allocator, under the allocator's own lock.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
    }
}
