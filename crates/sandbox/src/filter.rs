//! The list of permitted system calls. Everything else fails with `EPERM`, in every thread.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

type Failure = Box<dyn std::error::Error>;
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: TargetArch = TargetArch::aarch64;

/// What computing takes: memory, threads, locks, time, random numbers, open descriptors, the end of the process.
const COMPUTING: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    // Answered by the first program, so that the C library starts threads by `clone`, whose flags can be examined.
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_pread64,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_sysinfo,
    libc::SYS_write,
    libc::SYS_writev,
];

/// What reading the files of a folder takes. Which files is decided by Landlock.
const READING: &[c_long] = &[
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getdents64,
    libc::SYS_newfstatat,
    libc::SYS_readlinkat,
    libc::SYS_statx,
];

/// The older forms of [`READING`], which exist on this architecture only.
#[cfg(target_arch = "x86_64")]
const READING_OLDER: &[c_long] = &[libc::SYS_access, libc::SYS_lstat, libc::SYS_readlink, libc::SYS_stat];
#[cfg(not(target_arch = "x86_64"))]
const READING_OLDER: &[c_long] = &[];

/// Names the memory of an allocator, for `/proc/self/maps`; the C library does this.
const PR_SET_VMA: u64 = 0x5356_4d41;

/// Applies the filter to this thread and those that it starts.
pub(crate) fn apply(reads_files: bool) -> Result<(), String> {
    let programs = programs(reads_files, std::process::id()).map_err(|error| error.to_string())?;
    programs.iter().try_for_each(|program| apply_filter(program)).map_err(|error| match error {
        seccompiler::Error::Seccomp(error) | seccompiler::Error::Prctl(error) => {
            format!("this kernel does not accept a filter: {error}")
        }
        other => other.to_string(),
    })
}

/// Denies sockets other than those of this machine's files, in this process and whatever it starts.
pub(crate) fn deny_network() -> Result<(), String> {
    let program = || -> Result<BpfProgram, Failure> {
        let local = u64::try_from(libc::AF_UNIX)?;
        let rules: Rules = [
            (libc::SYS_socket, vec![all([one(0, Is::Ne, local)?])?]),
            // It opens sockets without that system call.
            (libc::SYS_io_uring_setup, Vec::new()),
        ]
        .into();
        compile(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM.unsigned_abs()))
    };
    let program = program().map_err(|error| error.to_string())?;
    apply_filter(&program).map_err(|error| format!("this kernel does not accept a filter: {error}"))
}

/// Compiles the filter. Of the answers of both programs, the kernel takes the more restrictive one.
fn programs(reads_files: bool, own: u32) -> Result<[BpfProgram; 2], Failure> {
    let not_there: Rules = [(libc::SYS_clone3, Vec::new())].into();
    let not_there = compile(not_there, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS.unsigned_abs()))?;
    let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    Ok([not_there, compile(permitted(reads_files, own)?, denied, SeccompAction::Allow)?])
}

fn compile(rules: Rules, otherwise: SeccompAction, matching: SeccompAction) -> Result<BpfProgram, Failure> {
    let filter = SeccompFilter::new(rules, otherwise, matching, ARCHITECTURE)?;
    Ok(filter.try_into()?)
}

fn permitted(reads_files: bool, own: u32) -> Result<Rules, Failure> {
    let mut rules: Rules = COMPUTING.iter().map(|call| (*call, Vec::new())).collect();
    // Memory is never executable: no engine compiles at run time.
    let not_executable = || one(2, Is::MaskedEq(bits(libc::PROT_EXEC)), 0);
    rules.insert(libc::SYS_mmap, vec![all([not_executable()?])?]);
    rules.insert(libc::SYS_mprotect, vec![all([not_executable()?])?]);
    // Threads of this process; no process, and no namespace.
    let flags = libc::CLONE_THREAD
        | libc::CLONE_VM
        | libc::CLONE_SIGHAND
        | libc::CLONE_VFORK
        | libc::CLONE_PTRACE
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET;
    let thread = bits(libc::CLONE_THREAD | libc::CLONE_VM | libc::CLONE_SIGHAND);
    rules.insert(libc::SYS_clone, vec![all([one(0, Is::MaskedEq(bits(flags)), thread)?])?]);
    // Its own end by `abort`; no signal to others.
    rules.insert(libc::SYS_tgkill, vec![all([one(0, Is::Eq, u64::from(own))?])?]);
    // Its limit of memory, which it may move below the hard limit; the others can only be read.
    let itself = || one(0, Is::Eq, 0);
    rules.insert(
        libc::SYS_prlimit64,
        vec![all([itself()?, one(1, Is::Eq, u64::from(libc::RLIMIT_AS))?])?, all([itself()?, null(2)?])?],
    );
    let prctl = [bits(libc::PR_SET_NAME), bits(libc::PR_GET_NAME), PR_SET_VMA];
    rules.insert(libc::SYS_prctl, alternatives(0, &prctl)?);
    let fcntl = [libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_DUPFD_CLOEXEC].map(bits);
    rules.insert(libc::SYS_fcntl, alternatives(1, &fcntl)?);
    if reads_files {
        rules.extend(READING.iter().chain(READING_OLDER).map(|call| (*call, Vec::new())));
        let writing = bits(libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND);
        let reading = |argument| one(argument, Is::MaskedEq(writing), 0);
        rules.insert(libc::SYS_openat, vec![all([reading(2)?])?]);
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_open, vec![all([reading(1)?])?]);
    }
    Ok(rules)
}

/// The bits of a constant that the C library declares as signed.
fn bits(constant: i32) -> u64 {
    u64::from(constant.cast_unsigned())
}

/// A condition on the lower half of an argument: the kernel ignores the upper half of these.
fn one(argument: u8, operator: Is, value: u64) -> Result<SeccompCondition, Failure> {
    Ok(SeccompCondition::new(argument, Length::Dword, operator, value)?)
}

fn null(argument: u8) -> Result<SeccompCondition, Failure> {
    Ok(SeccompCondition::new(argument, Length::Qword, Is::Eq, 0)?)
}

fn all<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, Failure> {
    Ok(SeccompRule::new(conditions.into())?)
}

fn alternatives(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, Failure> {
    values.iter().map(|value| all([one(argument, Is::Eq, *value)?])).collect()
}

#[cfg(test)]
mod tests;
