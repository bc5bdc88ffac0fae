//! Available memory of the machine.

/// Returns the bytes that can be allocated without swapping; `None` where the system does not report it.
pub(crate) fn available() -> Option<u64> {
    parse_available(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::parse_available;

    #[test]
    fn reads_the_line_of_the_kernel() {
        // Shape from proc_meminfo(5).
        let text = "MemTotal:       24683920 kB\nMemFree:        21975040 kB\nMemAvailable:   23245824 kB\n";
        assert_eq!(parse_available(text), Some(23_245_824 * 1024));
        assert_eq!(parse_available("MemTotal: 1 kB\n"), None);
        assert_eq!(parse_available("MemAvailable: many kB\n"), None);
    }
}
