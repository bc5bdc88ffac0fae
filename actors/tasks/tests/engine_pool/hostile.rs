//! An engine that tries to leave its process by the door that its input names.
//!
//! System calls without a safe function in a library (ptrace, process_vm_readv, keyctl, bpf, io_uring, kexec,
//! executable memory …) are covered by the tests of `muster-sandbox`, which run its filter for every number.

use std::fs;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use muster_engines::{Context, Engine, Failure, Nature};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Signal, kill_process, pidfd_getfd, pidfd_open, pidfd_send_signal,
};
use serde_json::{Value, json};

use crate::bad::engine_of;

/// In a process that can open no file.
pub static PURE: Engine = engine_of(17, "hostile", Nature::Pure, attempt);
/// In a process that can read the workspace.
pub static WORKSPACE: Engine = engine_of(18, "hostile-workspace", Nature::Workspace, attempt);

/// Goes to a door; returns the error that it met, or `null` if it got through.
fn attempt(input: Value, _: &Context) -> Result<Value, Failure> {
    let input = &input["value"];
    let door = input["door"].as_str().unwrap();
    let result = go(door, input);
    Ok(json!({ "door": door, "error": result.err().map(|error| error.to_string()) }))
}

fn go(door: &str, input: &Value) -> io::Result<()> {
    let text = |name: &str| input[name].as_str().unwrap().to_owned();
    let server = i32::try_from(input["server"].as_u64().unwrap()).unwrap();
    let (server, server_folder) = (Pid::from_raw(server).unwrap(), format!("/proc/{server}"));
    let open_socket = |family| socket(family, SocketType::DGRAM, None).map(drop).map_err(io::Error::from);
    match door {
        "read a file of the workspace" => fs::read(text("inside")).map(drop),
        "read /etc/passwd" => fs::read("/etc/passwd").map(drop),
        "read a file beside the workspace" => fs::read(text("outside")).map(drop),
        "follow a link out of the workspace" => fs::read(text("link")).map(drop),
        "leave the workspace by .." => fs::read(format!("{}/../secret.txt", text("workspace"))).map(drop),
        "list the root folder" => fs::read_dir("/").map(drop),
        "find out whether a file exists" => fs::metadata(text("outside")).map(drop),
        "read the server's environment" => fs::read(format!("{server_folder}/environ")).map(drop),
        "read the server's memory by /proc" => fs::File::open(format!("{server_folder}/mem")).map(drop),
        "read its own environment" => fs::read("/proc/self/environ").map(drop),
        "write a file beside the workspace" => fs::write(text("new_outside"), b""),
        "write a file of the workspace" => fs::write(text("new_inside"), b""),
        "delete a file of the workspace" => fs::remove_file(text("spare")),
        "rename a file of the workspace" => fs::rename(text("spare"), text("new_inside")),
        "truncate a file of the workspace" => {
            fs::File::options().write(true).truncate(true).open(text("spare")).map(drop)
        }
        "make a folder in the workspace" => fs::create_dir(text("new_inside")),
        "open a socket AF_INET" => open_socket(AddressFamily::INET),
        "open a socket AF_INET6" => open_socket(AddressFamily::INET6),
        "open a socket AF_UNIX" => open_socket(AddressFamily::UNIX),
        "open a socket AF_NETLINK" => open_socket(AddressFamily::NETLINK),
        "connect to the server's port" => TcpStream::connect(text("address")).map(drop),
        "start /bin/sh" => Command::new("/bin/sh").args(["-c", "true"]).status().map(drop),
        "become /bin/true" => Err(Command::new("/bin/true").exec()),
        "take a descriptor of the server" => {
            let server = pidfd_open(server, PidfdFlags::empty())?;
            pidfd_getfd(server, 1, PidfdGetfdFlags::empty()).map(drop).map_err(io::Error::from)
        }
        // Harmless where it gets through: the signal is ignored by default.
        "signal the server" => Ok(kill_process(server, Signal::URG)?),
        "signal the server by a descriptor" => {
            Ok(pidfd_send_signal(pidfd_open(server, PidfdFlags::empty())?, Signal::URG)?)
        }
        "mount a file system" => {
            Ok(rustix::mount::mount("tmpfs", text("workspace"), "tmpfs", rustix::mount::MountFlags::empty(), None)?)
        }
        #[allow(deprecated, reason = "its successor is unsafe for the sake of a flag that is not used here")]
        "have a network of its own" => Ok(rustix::thread::unshare(rustix::thread::UnshareFlags::NEWNET)?),
        "make a file in memory" => {
            rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC).map(drop).map_err(io::Error::from)
        }
        "open files without end" => {
            let mut open = Vec::new();
            while open.len() < 10_000 {
                open.push(io::stdin().as_fd().try_clone_to_owned()?);
            }
            Ok(())
        }
        "start threads without end" => {
            for _ in 0..10_000 {
                std::thread::Builder::new().stack_size(16 << 10).spawn(std::thread::park)?;
            }
            Ok(())
        }
        "raise its limit of files" => rlimit::setrlimit(rlimit::Resource::NOFILE, 1 << 20, 1 << 20),
        "raise its limit of memory" => rlimit::setrlimit(rlimit::Resource::AS, rlimit::INFINITY, rlimit::INFINITY),
        "be dumped" => Ok(rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable)?),
        "outlive the server" => Ok(rustix::process::set_parent_process_death_signal(None)?),
        other => panic!("{other} is no door"),
    }
}
