//! Restricts the calling process to computing on what it is sent.
//!
//! After [`enter`], no thread of the process can open a socket, start a program or a process, signal, trace or read
//! another process, write a file, or read one outside of one folder. Each restriction is a layer of the kernel
//! ([`Layer`]); one that the kernel lacks is reported, not skipped silently. Most doors are shut by two layers.
//!
//! Metadata is not covered: a process that may read a folder can learn whether a path outside of it exists, because
//! Landlock does not restrict `stat`. A process without a folder has no system call that takes a path.

#![warn(missing_docs)]

mod filter;
mod layers;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What the restricted process may still do.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// The folder whose files it may read, if any.
    pub readable: Option<PathBuf>,
    /// CPU time that it may use in its life, over all its threads.
    pub cpu_seconds: u64,
    /// Number of files that it may have open.
    pub open_files: u64,
}

/// A restriction by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// No open file descriptors other than standard input, output and error, and those of [`enter`]'s caller.
    Descriptors,
    /// Resource limits: file size 0, no core dumps, CPU time, open files, locked memory, threads of the account.
    Limits,
    /// The process ends with its parent, and cannot be read or traced by others of the same account.
    ProcessFlags,
    /// `no_new_privs`: no program gives it more rights.
    NoNewPrivileges,
    /// Capabilities of the superuser are dropped, except reading files in its folder.
    Capabilities,
    /// Landlock: files of one folder only; no TCP, no signals and no abstract sockets out of the process.
    Landlock,
    /// Seccomp: a list of permitted system calls.
    Seccomp,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "closed descriptors",
            Self::Limits => "resource limits",
            Self::ProcessFlags => "process flags",
            Self::NoNewPrivileges => "no_new_privs",
            Self::Capabilities => "capabilities",
            Self::Landlock => "Landlock",
            Self::Seccomp => "seccomp",
        })
    }
}

/// A layer that could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingLayer {
    /// The layer.
    pub layer: Layer,
    /// Why it could not be applied.
    pub reason: String,
}

impl fmt::Display for MissingLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.layer, self.reason)
    }
}

/// What was applied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the Landlock interface in use; absent if it is not enforced.
    pub landlock_abi: Option<u32>,
    /// Layers that could not be applied. Empty: all were.
    pub missing: Vec<MissingLayer>,
}

impl Report {
    /// Returns the names and reasons of the missing layers, separated by commas; `None` if none is missing.
    pub fn lacks(&self) -> Option<String> {
        let missing: Vec<String> = self.missing.iter().map(ToString::to_string).collect();
        (!missing.is_empty()).then(|| missing.join(", "))
    }
}

/// Marks every file descriptor of this process close-on-exec, except standard input, output and error. Called by a
/// process before it starts one that is to be restricted: a library may have opened files without that mark, and its own
/// parent may have left some open.
pub fn close_on_exec() {
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
}

/// Sets the resource limits of the calling process, and nothing else.
///
/// # Errors
///
/// Which limits could not be set, and why.
pub fn limit(policy: &Policy) -> Result<(), String> {
    layers::limit(policy)
}

/// Takes the network from the calling process and from every program that it starts: no socket but those of files, no new
/// privileges, at most this much CPU time in each process. Must be called while it has one thread.
///
/// # Errors
///
/// What could not be applied.
pub fn without_network(cpu_seconds: u64) -> Result<(), String> {
    layers::is_single_threaded()?;
    layers::limit_cpu(cpu_seconds)?;
    layers::forbid_new_privileges()?;
    filter::deny_network()
}

/// Restricts the calling process for the rest of its life. Must be called while it has one thread, because a
/// restriction applies to the calling thread and those that it starts. Tries every layer; what could not be applied is
/// in the report. `own` is the number of files that the caller has opened itself.
pub fn enter(policy: &Policy, own: usize) -> Report {
    let mut report = Report::default();
    let mut note = |layer, applied: Result<(), String>| {
        report.missing.extend(applied.err().map(|reason| MissingLayer { layer, reason }));
    };
    if let Err(reason) = layers::is_single_threaded() {
        note(Layer::Seccomp, Err(reason));
    }
    note(Layer::Descriptors, layers::has_inherited_nothing(own));
    note(Layer::Limits, layers::limit(policy));
    note(Layer::ProcessFlags, layers::set_process_flags());
    note(Layer::NoNewPrivileges, layers::forbid_new_privileges());
    note(Layer::Capabilities, layers::drop_capabilities(policy.readable.is_some()));
    let landlock = layers::restrict_files(policy.readable.as_deref());
    note(Layer::Landlock, landlock.as_ref().map(|_| ()).map_err(Clone::clone));
    note(Layer::Seccomp, filter::apply(policy.readable.is_some()));
    report.landlock_abi = landlock.ok();
    report
}
