//! The machine: processor, memory, disk. Its speed is measured in `speed`.

use std::path::Path;

use ken_model::available_memory;
use ken_model::kernels::InstructionSet;
use serde::Serialize;

/// The machine that `ken` runs on.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct Machine {
    pub(in crate::commands) system: &'static str,
    pub(in crate::commands) architecture: &'static str,
    /// How many threads this process may use at once.
    pub(in crate::commands) cores: usize,
    /// The vector instructions that speed up arithmetic here.
    pub(in crate::commands) features: Vec<&'static str>,
    /// The instruction set by which quantized weights are multiplied.
    pub(in crate::commands) kernels: String,
    pub(in crate::commands) memory_bytes: Option<u64>,
    pub(in crate::commands) memory_free_bytes: Option<u64>,
}

/// Looks at the machine.
pub(in crate::commands) fn look() -> Machine {
    // Only Linux reports its memory as a file; elsewhere it stays unknown.
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    Machine {
        system: std::env::consts::OS,
        architecture: std::env::consts::ARCH,
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        features: features(),
        kernels: InstructionSet::detected().to_string(),
        memory_bytes: total_bytes(&meminfo),
        memory_free_bytes: available_memory(),
    }
}

/// The free space of the disk that holds a path, or that would.
pub(in crate::commands) fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|folder| folder.exists())?;
    fs4::available_space(existing).ok()
}

fn total_bytes(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

fn features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let known = [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("f16c", is_x86_feature_detected!("f16c")),
        ("avxvnni", is_x86_feature_detected!("avxvnni")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512vnni", is_x86_feature_detected!("avx512vnni")),
    ];
    #[cfg(target_arch = "aarch64")]
    let known = [
        ("neon", std::arch::is_aarch64_feature_detected!("neon")),
        (
            "dotprod",
            std::arch::is_aarch64_feature_detected!("dotprod"),
        ),
        ("fp16", std::arch::is_aarch64_feature_detected!("fp16")),
        ("i8mm", std::arch::is_aarch64_feature_detected!("i8mm")),
    ];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let known: [(&str, bool); 0] = [];
    let present = known.into_iter().filter(|(_, is_present)| *is_present);
    present.map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let meminfo = "MemTotal:       16384 kB\nMemFree: 1 kB\n";
        assert_eq!(total_bytes(meminfo), Some(16_777_216));
        assert_eq!(total_bytes("MemFree: 1 kB"), None);
        assert_eq!(total_bytes("MemTotal: many"), None);
    }

    #[test]
    fn a_folder_that_is_not_there_yet_lies_on_some_disk() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(&folder.path().join("a/b")).is_some());
    }
}
