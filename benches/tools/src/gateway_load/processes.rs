//! CPU time and resident memory of processes and their descendants, from /proc.

use std::collections::BTreeMap;
use std::io::Result;

/// Clock ticks a second, and bytes a page, of Linux on the machines that are measured.
pub const TICKS: u64 = 100;
const PAGE_KIB: u64 = 4;

/// Sums over the processes.
#[derive(Default)]
pub struct Usage {
    /// User and system time, in ticks.
    pub ticks: u64,
    pub resident_kib: u64,
}

impl Usage {
    pub fn of(pids: &[u32]) -> Result<Self> {
        let mut parents = BTreeMap::new();
        let mut usages = BTreeMap::new();
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            // A process may end meanwhile.
            let Ok(text) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
            // The name in parentheses may contain anything; the fields after it begin with the state.
            let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
            let field = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
            parents.insert(pid, field(1) as u32);
            usages.insert(pid, (field(11) + field(12), field(21) * PAGE_KIB));
        }
        let mut sum = Self::default();
        for (pid, (ticks, resident_kib)) in usages {
            let mut line = std::iter::successors(Some(pid), |pid| parents.get(pid).copied().filter(|pid| *pid > 1));
            if line.any(|pid| pids.contains(&pid)) {
                sum.ticks += ticks;
                sum.resident_kib += resident_kib;
            }
        }
        Ok(sum)
    }
}
