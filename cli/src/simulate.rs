//! `muster simulate`: devices that are not there, against a server that is.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Subcommand};
use muster_auth::PublicKey;
use muster_simulate::{Fleet, NAMES, Operator, Options, Profile, Summary};
use reqwest::Method;

use crate::arguments::Cli;
use crate::session::Device;
use crate::{Environment, fail};

pub(super) const EXAMPLES: &str = "Examples:\n  muster simulate devices --count 200 --profile mixed --register\n  \
                                   muster simulate devices --help";

#[derive(Debug, clap::Args)]
pub(super) struct SimulateArgs {
    #[command(subcommand)]
    command: SimulateCommand,
}

#[derive(Debug, Subcommand)]
enum SimulateCommand {
    /// Run devices: heartbeats, telemetry, commands, firmware jobs, with the faults of a profile.
    ///
    /// They are registered with a person's token (devices:write) from --token-file, MUSTER_TOKEN or the login that
    /// `muster login` stored, and then speak for themselves, each under a key of its own. Progress goes to standard
    /// error, the summary to standard output. A server that goes away is waited for; one that is not there at the start
    /// is an error.
    #[command(after_help = DEVICES)]
    Devices(Box<DevicesArgs>),
}

const DEVICES: &str = "\
Profiles: healthy; mixed (a little of every fault); group2-fails (of a job with groups of 10, 30 and 60 percent the \
second fails its threshold); or a TOML file, in which every line may be left out:
  heartbeat_s = 10            # between heartbeats, give or take a fifth
  telemetry_s = 15            # 0 sends none
  install_ms = 1000
  reboot_ms = 2000            # silent for so long
  slow_bytes_per_s = 16384    # what a slow device fetches
  commands_by_feed = 0.5      # the share that hears of commands on a socket; the others poll
  [faults]                    # shares of devices, 0 to 1
  slow = 0.1
  cuts = 0.1                  # the connection breaks once in each image
  bad_hash = 0.0
  rejects = 0.0
  fails_install = 0.05
  never_comes_back = 0.0
  stale_version = 0.0
  flaky = 0.1
  refuses_commands = 0.0
  [[stretch]]                 # other shares for a part of the fleet, in the order of the devices' ids
  from_pct = 10.0
  to_pct = 40.0
  faults = { fails_install = 0.6 }

Examples:
  muster simulate devices --count 20 --register
  muster simulate devices --count 200 --profile group2-fails --register --state fleet.json
  muster simulate devices --count 200 --state fleet.json --duration 60 --json
  MUSTER_TOKEN=eyJ… muster simulate devices --server http://10.0.0.5:8080 --count 50 --profile faults.toml --register

Exit codes: 0 done, 1 failed, 2 wrong use.";

#[derive(Debug, clap::Args)]
struct DevicesArgs {
    /// The server. Behind https devices hear of commands by long poll only.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080", value_parser = address)]
    server: String,
    /// How many devices.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    count: u32,
    /// How they behave: a name, or a TOML file.
    #[arg(long, value_name = "FILE|NAME", default_value = "healthy", value_parser = profile)]
    profile: Profile,
    /// Register those that the state file does not hold.
    #[arg(long)]
    register: bool,
    /// Where the devices and their keys are kept, to come back as the same ones.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// A file with the token of a person who may register devices.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The same seed draws the same faults.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Stop after so many seconds; without it, at Ctrl-C.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    duration: Option<u64>,
    /// The beginning of their names and serial numbers.
    #[arg(long, default_value = "simulated")]
    name: String,
    /// The group they are in, to aim a job at.
    #[arg(long, default_value = "simulated")]
    group: String,
    /// Their class of hardware, as firmware names it.
    #[arg(long, default_value = "sim-1")]
    hw_class: String,
    /// A public JWK (Ed25519) whose signature on firmware they ask for; without it they compare what was signed.
    #[arg(long, value_name = "FILE", value_parser = public_key)]
    signing_key: Option<PublicKey>,
    /// Say the summary as JSON.
    #[arg(long)]
    json: bool,
}

fn address(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() => Ok(text.to_owned()),
        _ => Err("must begin with http:// or https://, such as http://127.0.0.1:8080".to_owned()),
    }
}

fn profile(text: &str) -> Result<Profile, String> {
    if let Some(profile) = Profile::named(text) {
        return Ok(profile);
    }
    let file = std::fs::read_to_string(text)
        .map_err(|error| format!("is neither one of {} nor a file that can be read: {error}", NAMES.join(", ")))?;
    Profile::parse(&file).map_err(|error| error.to_string())
}

fn public_key(text: &str) -> Result<PublicKey, String> {
    let file = std::fs::read(text).map_err(|error| error.to_string())?;
    let jwk = serde_json::from_slice(&file).map_err(|error| format!("is no JSON: {error}"))?;
    PublicKey::from_jwk(&jwk).map_err(|error| error.to_string())
}

pub(super) fn run(args: SimulateArgs, environment: &Environment) -> ExitCode {
    let SimulateCommand::Devices(args) = args.command;
    if !args.register && args.state.is_none() {
        let why = "say --register to register new devices, or --state FILE with those of an earlier run";
        Cli::command().error(clap::error::ErrorKind::MissingRequiredArgument, why).exit();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    let json = args.json;
    match runtime.block_on(drive(*args, environment)) {
        Ok(summary) if json => match serde_json::to_string(&summary) {
            Ok(text) => println!("{text}"),
            Err(error) => return fail(&error),
        },
        Ok(summary) => print_plain(&summary),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

async fn drive(args: DevicesArgs, environment: &Environment) -> Result<Summary, String> {
    let fleet = Fleet::start(options(&args, environment).await?).await.map_err(|error| error.to_string())?;
    if fleet.ids().is_empty() {
        return Err("the state file holds no devices: say --register to make some".to_owned());
    }
    let end = async {
        match args.duration {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            None => drop(tokio::signal::ctrl_c().await),
        }
    };
    tokio::pin!(end);
    let mut every = tokio::time::interval(Duration::from_secs(2));
    every.tick().await;
    loop {
        tokio::select! {
            () = &mut end => break,
            _ = every.tick() => eprintln!("muster: {}", fleet.summary().line()),
        }
    }
    fleet.stop().await.map_err(|error| error.to_string())
}

async fn options(args: &DevicesArgs, environment: &Environment) -> Result<Options, String> {
    Ok(Options {
        operator: operator(args, environment).await?,
        registers: args.register,
        profile: args.profile.clone(),
        seed: args.seed,
        state: args.state.clone(),
        name: args.name.clone(),
        group: args.group.clone(),
        hw_class: args.hw_class.clone(),
        trusted: args.signing_key.clone(),
        ..Options::new(&args.server, args.count as usize)
    })
}

/// Who registers: by the file, else by MUSTER_TOKEN, else by the login that is kept for this server.
async fn operator(args: &DevicesArgs, environment: &Environment) -> Result<Option<Operator>, String> {
    if !args.register {
        return Ok(None);
    }
    let token = match &args.token_file {
        Some(path) => Some(read_token(path)?),
        None => environment.token.clone(),
    };
    match token {
        Some(token) => Ok(Some(Operator::Token(token))),
        None => kept(&args.server, environment).await,
    }
}

/// The login that is kept for this server, refreshed where its token is over.
async fn kept(server: &str, environment: &Environment) -> Result<Option<Operator>, String> {
    let device = Device::open(environment)?;
    if device.bound_to(server)?.is_none() {
        return Ok(None);
    }
    device.ask(Method::GET, "/api/v1/auth/me", None, None).await?;
    Ok(device.bound_to(server)?.map(|(token, key)| Operator::Login { token, key: Box::new(key) }))
}

fn read_token(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    match text.trim() {
        "" => Err(format!("{} is empty: put the token of a login there", path.display())),
        token => Ok(token.to_owned()),
    }
}

fn print_plain(summary: &Summary) {
    println!("{}", summary.line());
    let list = |name: &str, figures: Vec<String>| {
        if !figures.is_empty() {
            println!("  {name}: {}", figures.join(", "));
        }
    };
    list("faults", summary.faults.iter().map(|(name, count)| format!("{name} {count}")).collect());
    list("ends of jobs", summary.outcomes.iter().map(|(name, count)| format!("{name} {count}")).collect());
    let totals = serde_json::to_value(&summary.totals).unwrap_or_default();
    let totals = totals.as_object().into_iter().flatten().filter(|(_, count)| count.as_u64() != Some(0));
    list("totals", totals.map(|(name, count)| format!("{name} {count}")).collect());
    if let Some(refusal) = &summary.last_refusal {
        println!("  last refusal: {refusal}");
    }
}
