//! All layers except the list of system calls.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rlimit::Resource;
use rustix::process::{DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs};

use crate::Policy;

/// Number of threads of the whole account up to which the process may start another, but at most three quarters of the
/// account's own limit. The kernel counts the threads of all processes of an account, so a small number would make the
/// process depend on the load of others; this one leaves the rest to the server. The superuser is exempt from it.
const THREADS_OF_ACCOUNT: u64 = 16_384;
/// Newest version of Landlock whose restrictions are used where the kernel has them.
const LANDLOCK: ABI = ABI::V9;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Checks that no other thread escapes the restrictions.
pub(crate) fn is_single_threaded() -> Result<(), String> {
    match std::fs::read_dir("/proc/self/task").map(Iterator::count) {
        Ok(1) => Ok(()),
        Ok(threads) => Err(format!("{threads} threads are running already")),
        Err(error) => Err(format!("the threads cannot be counted: {error}")),
    }
}

/// Checks that no file was left open by the process that started this one.
pub(crate) fn has_inherited_nothing(own: usize) -> Result<(), String> {
    let listed = std::fs::read_dir("/proc/self/fd").map_err(text)?;
    // Standard input, output and error, and that of the listing itself.
    match listed.count().saturating_sub(4 + own) {
        0 => Ok(()),
        more => Err(format!("{more} were left open by the process that started this one")),
    }
}

/// Sets the resource limits, none above what it was.
pub(crate) fn limit(policy: &Policy) -> Result<(), String> {
    let account = Resource::NPROC.get_hard().map_err(text)?;
    let limits = [
        (Resource::CORE, 0),
        (Resource::FSIZE, 0),
        (Resource::MEMLOCK, 0),
        (Resource::MSGQUEUE, 0),
        (Resource::NOFILE, policy.open_files),
        (Resource::NPROC, THREADS_OF_ACCOUNT.min(account / 4 * 3)),
        (Resource::CPU, policy.cpu_seconds),
    ];
    let failed: Vec<String> = limits
        .into_iter()
        .filter_map(|(resource, most)| {
            let set = resource.get_hard().and_then(|hard| resource.set(most.min(hard), most.min(hard)));
            Some(format!("{}: {}", resource.as_name(), set.err()?))
        })
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join(", ")) }
}

/// Sets the CPU time of a process, and forbids core dumps.
pub(crate) fn limit_cpu(seconds: u64) -> Result<(), String> {
    for (resource, most) in [(Resource::CORE, 0), (Resource::CPU, seconds)] {
        let hard = resource.get_hard().map_err(text)?;
        resource.set(most.min(hard), most.min(hard)).map_err(text)?;
    }
    Ok(())
}

pub(crate) fn set_process_flags() -> Result<(), String> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(text)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(text)
}

pub(crate) fn forbid_new_privileges() -> Result<(), String> {
    set_no_new_privs(true).map_err(text)
}

/// Drops the capabilities. A superuser without any could not read a folder of another account; Landlock confines that
/// one to the folder.
pub(crate) fn drop_capabilities(reads_files: bool) -> Result<(), String> {
    let kept = if reads_files { CapabilitySet::DAC_READ_SEARCH } else { CapabilitySet::empty() };
    let held = capabilities(None).map_err(text)?;
    let sets = CapabilitySets {
        effective: held.effective & kept,
        permitted: held.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets).map_err(text)
}

/// Restricts files to a folder, read only, and shuts TCP, signals and abstract sockets out; returns the version of
/// Landlock in use. On a kernel with an old version, seccomp alone shuts what that version lacks.
pub(crate) fn restrict_files(readable: Option<&Path>) -> Result<u32, String> {
    let status = restrict(readable).map_err(text)?;
    let abi = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => text(effective_abi).parse().unwrap_or(0),
        LandlockStatus::NotEnabled => {
            return Err("it is switched off at boot: add landlock to the parameter lsm".to_owned());
        }
        LandlockStatus::NotImplemented => {
            return Err("this kernel does not have it: Linux 5.13 or later does".to_owned());
        }
    };
    if status.ruleset == RulesetStatus::NotEnforced { Err("the kernel did not enforce it".to_owned()) } else { Ok(abi) }
}

fn restrict(readable: Option<&Path>) -> Result<RestrictionStatus, RulesetError> {
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .handle_access(AccessNet::from_all(LANDLOCK))?
        .scope(Scope::from_all(LANDLOCK))?
        .create()?;
    // A folder that does not exist has no rule, so nothing can be read.
    let folder = readable.and_then(|folder| PathFd::new(folder).ok());
    let rules = match folder {
        Some(folder) => rules.add_rule(PathBeneath::new(folder, AccessFs::ReadFile | AccessFs::ReadDir))?,
        None => rules,
    };
    rules.restrict_self()
}
