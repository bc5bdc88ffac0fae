//! A crash leaves no image of the memory: it would hold what is stored nowhere, such as messages to the medical interface.

use rlimit::Resource;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Forbids core images of this process, in files and through the handler of the kernel's `core_pattern`. What cannot be
/// forbidden is logged: the server works without.
pub fn forbid() {
    if let Err(error) = Resource::CORE.set(0, 0) {
        tracing::warn!(%error, "core images are limited by the system's own setting only");
    }
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "a handler of core images may receive the memory of a crash");
    }
}
