//! How much more memory this process may take.

/// Bytes that can be allocated without swapping, as the kernel estimates, within the limits of the process's control
/// group and address space; `None` if the system does not report it.
pub fn available_memory() -> Option<u64> {
    let read = |path| std::fs::read_to_string(path).ok();
    let free = field(&read("/proc/meminfo")?, "MemAvailable:")?;
    let group = read("/sys/fs/cgroup/memory.max").and_then(|limit| limit.trim().parse().ok());
    let addresses = read("/proc/self/limits")
        .zip(read("/proc/self/status"))
        .and_then(|(limits, status)| addresses_left(&limits, &status));
    [group, addresses].into_iter().flatten().chain([free]).min()
}

/// Bytes of a field that is counted in kilobytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// What the limit of the process's address space (`ulimit -v`) leaves; `None` without a limit.
fn addresses_left(limits: &str, status: &str) -> Option<u64> {
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(field(status, "VmSize:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_estimate_is_read() {
        let meminfo = "MemTotal:       24 kB\nMemAvailable:   17 kB\n";
        assert_eq!(field(meminfo, "MemAvailable:"), Some(17 * 1024));
        assert_eq!(field("MemTotal: 24 kB", "MemAvailable:"), None);
        assert_eq!(field("MemAvailable: many kB", "MemAvailable:"), None);
    }

    #[test]
    fn a_limit_of_addresses_counts_what_is_taken() {
        let status = "VmPeak:\t 9 kB\nVmSize:\t 5 kB\n";
        let limits = |most: &str| {
            format!("Max cpu time  1  2  seconds\nMax address space  {most}  unlimited  bytes\n")
        };
        assert_eq!(addresses_left(&limits("8192"), status), Some(3 * 1024));
        assert_eq!(addresses_left(&limits("1024"), status), Some(0));
        assert_eq!(addresses_left(&limits("unlimited"), status), None);
        assert_eq!(addresses_left("", status), None);
    }
}
