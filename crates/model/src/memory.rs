//! How much memory this process may still take.

/// Bytes that can be allocated without swapping, as the kernel estimates them, and no more than the
/// process's control group may have; `None` where the system does not tell.
#[must_use]
pub fn available_memory() -> Option<u64> {
    let free = available_in(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max");
    let limit = limit.ok().and_then(|limit| limit.trim().parse().ok());
    Some(limit.map_or(free, |limit: u64| limit.min(free)))
}

fn available_in(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_estimate_is_read() {
        let meminfo = "MemTotal:       24 kB\nMemAvailable:   17 kB\n";
        assert_eq!(available_in(meminfo), Some(17 * 1024));
        assert_eq!(available_in("MemTotal: 24 kB"), None);
        assert_eq!(available_in("MemAvailable: many kB"), None);
    }
}
