//! The `muster` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    muster::cli::main()
}
