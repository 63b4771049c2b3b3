//! Allocator tuning for a process that runs for months.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::time::Duration;

    /// From how many bytes on a block is mapped by itself, and given back to the system when it is freed.
    const MAPPED_FROM: libc::c_int = 1 << 20;

    /// How often smaller ones are given back.
    const PERIOD: Duration = Duration::from_secs(60);

    pub(super) fn map_large_blocks() {
        // SAFETY: `mallopt` only sets limits of the allocator, under its own lock.
        #[allow(unsafe_code)]
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM);
        }
    }

    pub(super) fn trim_for_ever() {
        loop {
            std::thread::sleep(PERIOD);
            // SAFETY: `malloc_trim` only returns pages that nobody uses, under the allocator's own locks.
            #[allow(unsafe_code)]
            unsafe {
                libc::malloc_trim(0);
            }
        }
    }
}

/// Makes glibc's allocator return what is freed to the system: large blocks at once, others within a minute. By
/// itself it learns from the first large block that is freed to take such blocks from its arenas, of which there are
/// several for each core, and returns only the end of an arena: with settings read again, corpora compacted and
/// questions answered by turns on many threads, each of them ends up with room for a model's weights that nothing
/// uses, and after a crowd of clients with room for all of them. Does nothing with other allocators.
pub(super) fn return_what_is_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        glibc::map_large_blocks();
        let trimming = std::thread::Builder::new().name("trim".to_owned());
        // Without the thread, memory is returned later, or not.
        let _ = trimming.spawn(glibc::trim_for_ever);
    }
}
