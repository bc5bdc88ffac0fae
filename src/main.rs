//! The `muster` program.

use std::process::ExitCode;

use muster::commands::Server;
use muster::config;

fn main() -> ExitCode {
    muster_cli::run(&config::command_line(), &Server)
}
