//! `muster engine-worker`: a process of the server's pool that runs engines. Nobody's to call by hand.

use std::io::{stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use muster_tasks::engine::{Bounds, work};

use super::fail;

#[derive(Debug, clap::Args)]
pub(super) struct EngineWorkerArgs {
    /// For one call.
    #[arg(long, value_name = "MIB")]
    memory_mib: u64,
    /// The folder that engines may read.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

pub(super) fn run(args: EngineWorkerArgs) -> ExitCode {
    let bounds = Bounds { memory_mib: args.memory_mib, workspace: args.workspace };
    match work(bounds, muster_engines::by_number, stdin(), stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}
