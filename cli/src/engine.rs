//! `muster engine`: list and describe engines, and run them without a server, on JSON lines.

use std::io::{self, BufRead, Write};

use crate::{LocalServer, Settings};

/// Arguments of `muster engine`.
#[derive(Debug, clap::Args)]
pub(super) struct EngineArgs {
    #[command(subcommand)]
    command: EngineCommand,
}

#[derive(Debug, clap::Subcommand)]
enum EngineCommand {
    /// List the engines of this program: number, id, family and what each does.
    List(EngineListArgs),
    /// Describe an engine: its method and the source of it, where it is valid, the schemas of its input and output, an
    /// example.
    Describe(EngineDescribeArgs),
    /// Run an engine on each line of standard input, and print one line for each: the answer, or the failure.
    Run(EngineRunArgs),
    /// Print valid inputs, chosen at random by a seed, one a line.
    Sample(EngineSampleArgs),
}

/// Arguments of `muster engine list`.
#[derive(Debug, clap::Args)]
pub struct EngineListArgs {
    /// Only engines whose id, name or summary contains all these words, in any case.
    pub words: Vec<String>,
    /// Only engines of this family, such as hazard.
    #[arg(long)]
    pub family: Option<String>,
    /// Print a line of JSON for each.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `muster engine describe`.
#[derive(Debug, clap::Args)]
pub struct EngineDescribeArgs {
    /// Number or id of the engine, such as q22 or cold-stress.
    pub engine: String,
}

/// Arguments of `muster engine run`.
#[derive(Debug, clap::Args)]
pub struct EngineRunArgs {
    /// Number or id of the engine, such as q22 or cold-stress.
    pub engine: String,
    /// Whether each answer has its steps, assumptions, references and data.
    #[arg(long)]
    pub explain: bool,
    /// Settings: the folders of models and of the workspace.
    #[command(flatten)]
    pub settings: Settings,
}

/// Arguments of `muster engine sample`.
#[derive(Debug, clap::Args)]
pub struct EngineSampleArgs {
    /// Number or id of the engine, such as q22 or cold-stress.
    pub engine: String,
    /// Number of inputs.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub count: u32,
    /// The same seed gives the same inputs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

pub(super) fn run(args: EngineArgs, server: &impl LocalServer) -> Result<(), String> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    let done = match args.command {
        EngineCommand::List(args) => server.list_engines(&args, &mut output),
        EngineCommand::Describe(args) => server.describe_engine(&args, &mut output),
        EngineCommand::Run(args) => server.run_engine(&args, &mut io::stdin().lock() as &mut dyn BufRead, &mut output),
        EngineCommand::Sample(args) => server.sample_engine(&args, &mut output),
    };
    done.and_then(|()| output.flush().map_err(|error| error.to_string()))
}
