//! Settings of the C library's allocator, which it takes only from the environment of a starting program.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Free memory that may stay at the end of a heap, 1 MiB. By default glibc raises its limits to the size of the largest block
/// that was freed, in each of its heaps: after a few requests of 24 MiB it would keep more than they took.
const SETTINGS: &[(&str, &str)] = &[("MALLOC_TRIM_THRESHOLD_", "1048576")];

/// Becomes the same program, in the same process, with the settings, unless the environment has some already. Returns
/// if it has, or if the program cannot be started again: the server works without.
pub fn become_bounded() {
    if SETTINGS.iter().any(|(name, _)| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| program.clone().into());
    let error = Command::new(program).arg0(name).args(arguments).envs(SETTINGS.iter().copied()).exec();
    tracing::warn!(%error, "freed memory is returned to the system by the allocator's own rules");
}
