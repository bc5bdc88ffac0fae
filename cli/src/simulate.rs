//! `muster simulate`: drives a server with simulated devices.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Subcommand};
use muster_auth::PublicKey;
use muster_simulate::{Fleet, Operator, Options, PROFILE_NAMES, Profile, SimulateError, Summary};
use reqwest::Method;
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::Cli;
use crate::connection::{self, TlsArgs};
use crate::session::UserClient;
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
    /// Run devices that send heartbeats and telemetry and execute commands and firmware jobs, with the faults of a profile.
    ///
    /// Registering devices needs a user's token (permission devices:write) from --token-file, MUSTER_TOKEN or the login
    /// of `muster login`; afterwards each device authenticates with a key of its own. Progress is printed on standard
    /// error, the summary on standard output. The server must be reachable at the start; when it becomes unreachable
    /// later, devices wait for it.
    #[command(after_help = DEVICES)]
    Devices(Box<DevicesArgs>),
}

const DEVICES: &str = "\
Profiles: healthy; mixed (some devices with each fault); group2-fails (in a job with groups of 10, 30 and 60 percent the \
second group exceeds its failure threshold); or a TOML file with any of these settings:
  heartbeat_s = 10            # between heartbeats, plus or minus a fifth
  telemetry_s = 15            # 0 sends none
  install_ms = 1000
  reboot_ms = 2000            # duration of a restart
  slow_bytes_per_s = 16384    # download rate of a slow device
  commands_by_feed = 0.5      # share of devices that receive commands on a WebSocket; the others poll
  [faults]                    # share of devices with each fault, 0 to 1
  slow = 0.1
  cuts = 0.1                  # the connection is lost once in each download
  bad_hash = 0.0
  rejects = 0.0
  fails_install = 0.05
  never_comes_back = 0.0
  stale_version = 0.0
  flaky = 0.1
  refuses_commands = 0.0
  [[stretch]]                 # other faults for a part of the fleet, in the order of device ids
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
    /// URL of the server. With https, devices receive commands by long poll only.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080", value_parser = address)]
    server: String,
    #[command(flatten)]
    tls: TlsArgs,
    /// Number of devices.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    count: u32,
    /// Profile: a name, or a TOML file.
    #[arg(long, value_name = "FILE|NAME", default_value = "healthy", value_parser = profile)]
    profile: Profile,
    /// Register devices that the state file does not contain.
    #[arg(long)]
    register: bool,
    /// File that stores the devices, their keys and the firmware that they run, so that a later run continues with them.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// File with the token of a user who may register devices.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Seed of the random faults. The same seed gives the same faults.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Duration in seconds [default: until Ctrl-C or SIGTERM].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    duration: Option<u64>,
    /// Prefix of device names and serial numbers.
    #[arg(long, default_value = "simulated")]
    name: String,
    /// Group of the devices, which rollout jobs can target.
    #[arg(long, default_value = "simulated")]
    group: String,
    /// Hardware class, as firmware artifacts name it.
    #[arg(long, default_value = "sim-1")]
    hw_class: String,
    /// File with the public JWK (Ed25519) that devices verify firmware with [default: signatures are not verified].
    #[arg(long, value_name = "FILE", value_parser = public_key)]
    signing_key: Option<PublicKey>,
    /// Print the summary as JSON.
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
        .map_err(|error| format!("is neither a profile ({}) nor a readable file: {error}", PROFILE_NAMES.join(", ")))?;
    Profile::parse(&file).map_err(|error| error.to_string())
}

fn public_key(text: &str) -> Result<PublicKey, String> {
    let file = std::fs::read(text).map_err(|error| error.to_string())?;
    let jwk = serde_json::from_slice(&file).map_err(|error| format!("is not JSON: {error}"))?;
    PublicKey::from_jwk(&jwk).map_err(|error| error.to_string())
}

pub(super) fn run(args: SimulateArgs, environment: &Environment) -> ExitCode {
    let SimulateCommand::Devices(args) = args.command;
    if !args.register && args.state.is_none() {
        let why = "use --register to register new devices, or --state FILE to continue with those of an earlier run";
        Cli::command().error(clap::error::ErrorKind::MissingRequiredArgument, why).exit();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    let json = args.json;
    match runtime.block_on(run_fleet(*args, environment)) {
        Ok(summary) if json => match serde_json::to_string(&summary) {
            Ok(text) => println!("{text}"),
            Err(error) => return fail(&error),
        },
        Ok(summary) => print_plain(&summary),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

async fn run_fleet(args: DevicesArgs, environment: &Environment) -> Result<Summary, String> {
    let fleet = Fleet::start(options(&args, environment).await?).await.map_err(|error| describe(&error))?;
    if fleet.ids().is_empty() {
        return Err("the state file contains no devices: use --register to register some".to_owned());
    }
    let end = async {
        match args.duration {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            None => std::future::pending().await,
        }
    };
    let mut terminated = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let end = async {
        tokio::select! {
            () = end => {}
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated.recv() => {}
        }
    };
    tokio::pin!(end);
    let mut progress = tokio::time::interval(Duration::from_secs(2));
    progress.tick().await;
    loop {
        tokio::select! {
            () = &mut end => break,
            _ = progress.tick() => eprintln!("muster: {}", fleet.summary().line()),
        }
    }
    fleet.stop().await.map_err(|error| describe(&error))
}

fn describe(error: &SimulateError) -> String {
    match error {
        SimulateError::Unreachable { server, error } => connection::unreachable(server, error),
        SimulateError::Rejected(_) | SimulateError::Setup(_) => error.to_string(),
    }
}

async fn options(args: &DevicesArgs, environment: &Environment) -> Result<Options, String> {
    let login = stored_login(args, environment).await?;
    let authorities = match (&args.tls.ca, &login) {
        (Some(authorities), _) => Some(authorities.clone()),
        (None, Some(client)) => client.authorities()?,
        (None, None) => None,
    };
    Ok(Options {
        operator: operator(args, environment, login.as_ref())?,
        registers: args.register,
        profile: args.profile.clone(),
        seed: args.seed,
        state: args.state.clone(),
        name: args.name.clone(),
        group: args.group.clone(),
        hw_class: args.hw_class.clone(),
        trusted: args.signing_key.clone(),
        authorities: authorities.map(|authorities| authorities.certificates),
        ..Options::new(&args.server, args.count as usize)
    })
}

/// Returns who registers devices: the token file, else MUSTER_TOKEN, else the stored login for this server.
fn operator(
    args: &DevicesArgs,
    environment: &Environment,
    login: Option<&UserClient>,
) -> Result<Option<Operator>, String> {
    if !args.register {
        return Ok(None);
    }
    let token = match &args.token_file {
        Some(path) => Some(read_token(path)?),
        None => environment.token.clone(),
    };
    match (token, login) {
        (Some(token), _) => Ok(Some(Operator::Token(token))),
        (None, Some(client)) => {
            let login = client.token_for(&args.server)?;
            Ok(login.map(|(token, key)| Operator::Login { token, key: Box::new(key) }))
        }
        (None, None) => Ok(None),
    }
}

/// Returns the stored login for the server if no token is given, refreshed if its token has expired.
async fn stored_login(args: &DevicesArgs, environment: &Environment) -> Result<Option<UserClient>, String> {
    if !args.register || args.token_file.is_some() || environment.token.is_some() {
        return Ok(None);
    }
    let client = UserClient::open(environment, &args.tls)?;
    if client.token_for(&args.server)?.is_none() {
        return Ok(None);
    }
    client.call(Method::GET, "/api/v1/auth/me", None, None).await?;
    Ok(Some(client))
}

fn read_token(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    match text.trim() {
        "" => Err(format!("{} is empty: it must contain an access token", path.display())),
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
    list("job results", summary.outcomes.iter().map(|(name, count)| format!("{name} {count}")).collect());
    let totals = serde_json::to_value(&summary.totals).unwrap_or_default();
    let totals = totals.as_object().into_iter().flatten().filter(|(_, count)| count.as_u64() != Some(0));
    list("totals", totals.map(|(name, count)| format!("{name} {count}")).collect());
    if let Some(refusal) = &summary.last_refusal {
        println!("  last rejection: {refusal}");
    }
}
