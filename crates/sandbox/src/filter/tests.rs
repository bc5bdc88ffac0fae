//! The filter, run by an interpreter of its program, for every system call by number and for those by name that an
//! attacker would want.

use super::*;

const OWN: u32 = 4_321;
const ALLOWED: u32 = 0x7fff_0000;
const DENIED: u32 = 0x0005_0000 | libc::EPERM.cast_unsigned();
const NOT_THERE: u32 = 0x0005_0000 | libc::ENOSYS.cast_unsigned();
const KILLED: u32 = 0x8000_0000;

/// AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h.
const AUDIT_ARCHITECTURE: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };

/// Runs a classic BPF program on a `struct seccomp_data` (seccomp(2)): number, architecture, instruction pointer, six
/// arguments.
fn run(program: &BpfProgram, architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let mut data = Vec::new();
    data.extend(number.to_le_bytes());
    data.extend(architecture.to_le_bytes());
    data.extend([0; 8]);
    data.extend(arguments.into_iter().flat_map(u64::to_le_bytes));
    let (mut at, mut accumulator) = (0_usize, 0_u32);
    loop {
        let instruction = &program[at];
        at += 1;
        let jump = |holds: bool| usize::from(if holds { instruction.jt } else { instruction.jf });
        match instruction.code {
            0x20 => {
                let offset = instruction.k as usize;
                accumulator = u32::from_le_bytes(data[offset..offset + 4].try_into().unwrap());
            }
            0x54 => accumulator &= instruction.k,
            0x05 => at += instruction.k as usize,
            0x15 => at += jump(accumulator == instruction.k),
            0x25 => at += jump(accumulator > instruction.k),
            0x35 => at += jump(accumulator >= instruction.k),
            0x06 => return instruction.k,
            other => panic!("instruction {other:#x} is unknown to this interpreter"),
        }
    }
}

/// The answer to a system call: of both programs the more restrictive, as the kernel decides. The kinds of answers are
/// ordered by their signed value.
fn answer_of(reads_files: bool, number: u32, arguments: [u64; 6]) -> u32 {
    let both = programs(reads_files, OWN).unwrap().map(|program| run(&program, AUDIT_ARCHITECTURE, number, arguments));
    both.into_iter().min_by_key(|answer| (answer & 0xffff_0000).cast_signed()).unwrap()
}

fn answer(number: c_long, arguments: [u64; 6]) -> u32 {
    answer_of(true, u32::try_from(number).unwrap(), arguments)
}

/// Whatever is added to the kernel later is denied too, as are the numbers of the x32 interface and those of a table
/// of a foreign architecture.
#[test]
fn a_system_call_that_is_not_listed_is_denied() {
    for reads_files in [false, true] {
        let listed = permitted(reads_files, OWN).unwrap();
        for number in (0..2_000).chain(0x4000_0000..0x4000_0400).chain([u32::MAX]) {
            let answer = answer_of(reads_files, number, [0; 6]);
            if !listed.contains_key(&i64::from(number)) {
                assert_eq!(answer, DENIED, "system call {number:#x}");
            }
        }
    }
    let [_, list] = programs(true, OWN).unwrap();
    assert_eq!(run(&list, 0x4000_0003, 0, [0; 6]), KILLED, "the table of 32-bit programs");
}

#[test]
fn no_system_call_that_leaves_the_process_is_permitted() {
    for (name, number) in [
        ("socket", libc::SYS_socket),
        ("socketpair", libc::SYS_socketpair),
        ("connect", libc::SYS_connect),
        ("bind", libc::SYS_bind),
        ("sendto", libc::SYS_sendto),
        ("sendmsg", libc::SYS_sendmsg),
        ("recvmsg", libc::SYS_recvmsg),
        ("execve", libc::SYS_execve),
        ("execveat", libc::SYS_execveat),
        ("ptrace", libc::SYS_ptrace),
        ("process_vm_readv", libc::SYS_process_vm_readv),
        ("process_vm_writev", libc::SYS_process_vm_writev),
        ("kill", libc::SYS_kill),
        ("tkill", libc::SYS_tkill),
        ("rt_sigqueueinfo", libc::SYS_rt_sigqueueinfo),
        ("rt_tgsigqueueinfo", libc::SYS_rt_tgsigqueueinfo),
        ("pidfd_open", libc::SYS_pidfd_open),
        ("pidfd_getfd", libc::SYS_pidfd_getfd),
        ("pidfd_send_signal", libc::SYS_pidfd_send_signal),
        ("mount", libc::SYS_mount),
        ("umount2", libc::SYS_umount2),
        ("open_tree", libc::SYS_open_tree),
        ("move_mount", libc::SYS_move_mount),
        ("fsopen", libc::SYS_fsopen),
        ("pivot_root", libc::SYS_pivot_root),
        ("chroot", libc::SYS_chroot),
        ("unshare", libc::SYS_unshare),
        ("setns", libc::SYS_setns),
        ("keyctl", libc::SYS_keyctl),
        ("add_key", libc::SYS_add_key),
        ("request_key", libc::SYS_request_key),
        ("bpf", libc::SYS_bpf),
        ("perf_event_open", libc::SYS_perf_event_open),
        ("io_uring_setup", libc::SYS_io_uring_setup),
        ("io_uring_enter", libc::SYS_io_uring_enter),
        ("io_uring_register", libc::SYS_io_uring_register),
        ("io_setup", libc::SYS_io_setup),
        ("userfaultfd", libc::SYS_userfaultfd),
        ("memfd_create", libc::SYS_memfd_create),
        ("memfd_secret", 447),
        ("kexec_load", libc::SYS_kexec_load),
        ("init_module", libc::SYS_init_module),
        ("finit_module", libc::SYS_finit_module),
        ("reboot", libc::SYS_reboot),
        ("open_by_handle_at", libc::SYS_open_by_handle_at),
        ("openat2", libc::SYS_openat2),
        ("ioctl", libc::SYS_ioctl),
        ("shmget", libc::SYS_shmget),
        ("msgget", libc::SYS_msgget),
        ("mq_open", libc::SYS_mq_open),
        ("pkey_mprotect", libc::SYS_pkey_mprotect),
        ("personality", libc::SYS_personality),
        ("setuid", libc::SYS_setuid),
        ("capset", libc::SYS_capset),
        ("seccomp", libc::SYS_seccomp),
        ("ftruncate", libc::SYS_ftruncate),
        ("fallocate", libc::SYS_fallocate),
        ("unlinkat", libc::SYS_unlinkat),
        ("renameat2", libc::SYS_renameat2),
        ("mkdirat", libc::SYS_mkdirat),
        ("linkat", libc::SYS_linkat),
        ("symlinkat", libc::SYS_symlinkat),
        ("fchmodat", libc::SYS_fchmodat),
        ("fchownat", libc::SYS_fchownat),
        ("inotify_init1", libc::SYS_inotify_init1),
        ("setpriority", libc::SYS_setpriority),
        ("sched_setaffinity", libc::SYS_sched_setaffinity),
    ] {
        assert_eq!(answer(number, [0; 6]), DENIED, "{name}");
    }
}

#[test]
fn threads_are_permitted_and_processes_and_namespaces_are_not() {
    // The flags of pthread_create in glibc (0x3d0f00) and musl (0x7d0f00).
    for flags in [0x3d_0f00, 0x7d_0f00] {
        assert_eq!(answer(libc::SYS_clone, [flags, 0, 0, 0, 0, 0]), ALLOWED);
        for namespace in [libc::CLONE_NEWUSER, libc::CLONE_NEWNET, libc::CLONE_NEWNS, libc::CLONE_NEWPID] {
            assert_eq!(answer(libc::SYS_clone, [flags | bits(namespace), 0, 0, 0, 0, 0]), DENIED);
        }
    }
    // fork, and vfork as posix_spawn uses it.
    for flags in [bits(libc::SIGCHLD), bits(libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD)] {
        assert_eq!(answer(libc::SYS_clone, [flags, 0, 0, 0, 0, 0]), DENIED);
    }
    assert_eq!(answer(libc::SYS_clone3, [0; 6]), NOT_THERE, "the C library falls back to clone");
    #[cfg(target_arch = "x86_64")]
    for number in [libc::SYS_fork, libc::SYS_vfork] {
        assert_eq!(answer(number, [0; 6]), DENIED);
    }
}

#[test]
fn arguments_are_part_of_the_list() {
    let cases = [
        (libc::SYS_mmap, [0, 4_096, 3, 0x22, 0, 0], ALLOWED),
        (libc::SYS_mmap, [0, 4_096, 7, 0x22, 0, 0], DENIED),
        (libc::SYS_mprotect, [0, 4_096, 3, 0, 0, 0], ALLOWED),
        (libc::SYS_mprotect, [0, 4_096, 5, 0, 0, 0], DENIED),
        (libc::SYS_tgkill, [OWN.into(), 7, 6, 0, 0, 0], ALLOWED),
        (libc::SYS_tgkill, [1, 1, 9, 0, 0, 0], DENIED),
        // Its own limit of memory can be set, every limit be read, and no other be set.
        (libc::SYS_prlimit64, [0, libc::RLIMIT_AS.into(), 0xdead_beef, 0, 0, 0], ALLOWED),
        (libc::SYS_prlimit64, [0, libc::RLIMIT_NOFILE.into(), 0, 0xdead_beef, 0, 0], ALLOWED),
        (libc::SYS_prlimit64, [0, libc::RLIMIT_NOFILE.into(), 0xdead_beef, 0, 0, 0], DENIED),
        (libc::SYS_prlimit64, [0, libc::RLIMIT_NOFILE.into(), 0xdead_beef_0000_0000, 0, 0, 0], DENIED),
        (libc::SYS_prlimit64, [1, libc::RLIMIT_AS.into(), 0xdead_beef, 0, 0, 0], DENIED),
        (libc::SYS_prctl, [bits(libc::PR_SET_NAME), 1, 0, 0, 0, 0], ALLOWED),
        (libc::SYS_prctl, [bits(libc::PR_SET_DUMPABLE), 1, 0, 0, 0, 0], DENIED),
        (libc::SYS_prctl, [bits(libc::PR_SET_PDEATHSIG), 0, 0, 0, 0, 0], DENIED),
        (libc::SYS_fcntl, [0, bits(libc::F_GETFL), 0, 0, 0, 0], ALLOWED),
        (libc::SYS_fcntl, [0, bits(libc::F_SETOWN), 1, 0, 0, 0], DENIED),
        (libc::SYS_openat, [0, 0, bits(libc::O_RDONLY | libc::O_CLOEXEC), 0, 0, 0], ALLOWED),
        (libc::SYS_openat, [0, 0, bits(libc::O_RDWR), 0, 0, 0], DENIED),
        (libc::SYS_openat, [0, 0, bits(libc::O_CREAT), 0, 0, 0], DENIED),
    ];
    #[cfg(target_arch = "x86_64")]
    let cases = cases.into_iter().chain([
        (libc::SYS_open, [0, bits(libc::O_RDONLY | libc::O_DIRECTORY), 0, 0, 0, 0], ALLOWED),
        (libc::SYS_open, [0, bits(libc::O_WRONLY), 0, 0, 0, 0], DENIED),
        (libc::SYS_creat, [0; 6], DENIED),
    ]);
    for (number, arguments, expected) in cases {
        assert_eq!(answer(number, arguments), expected, "system call {number} with {arguments:x?}");
    }
}

#[test]
fn without_a_folder_no_system_call_takes_a_path() {
    for number in READING.iter().chain(READING_OLDER).chain([&libc::SYS_openat]) {
        let number = u32::try_from(*number).unwrap();
        assert_eq!(answer_of(false, number, [0; 6]), DENIED, "system call {number}");
        assert_eq!(answer_of(true, number, [0; 6]), ALLOWED, "system call {number}");
    }
}
