//! The `muster` program.

use std::alloc::System;
use std::process::ExitCode;

use muster::commands::Server;
use muster::config;
use zeroizing_alloc::ZeroAlloc;

/// Overwrites memory when it is freed: an image of the running process holds no message that has been answered.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<System> = ZeroAlloc(System);

fn main() -> ExitCode {
    muster_cli::run(&config::command_line(), &Server)
}
