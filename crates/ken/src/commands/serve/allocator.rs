//! Allocator tuning for a process that runs for months.

/// From how many bytes on a block is mapped by itself, and given back to the system when it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_FROM: libc::c_int = 1 << 20;

/// Makes glibc's allocator return large blocks. By itself it learns from the first large block that is freed to
/// take such blocks from its arenas, of which there are several for each core: with settings read again, corpora
/// compacted and questions answered by turns on many threads, each of them ends up with room for a model's
/// weights that nothing uses. Does nothing with other allocators.
pub(super) fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` only sets limits of the allocator, under its own lock.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM);
    }
}
