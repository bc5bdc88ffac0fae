//! `muster signing`: the keys that sign the tokens of logins.

use std::process::ExitCode;

use clap::Subcommand;
use reqwest::Method;
use serde_json::Value;

use crate::session::Device;
use crate::{Environment, LocalServer, Settings, block_on, fail};

#[derive(Debug, clap::Args)]
pub(super) struct SigningArgs {
    #[command(flatten)]
    settings: Settings,
    /// Through the running server that `muster login` was made to; without it the data folder itself.
    #[arg(long, global = true)]
    remote: bool,
    /// Say it as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: SigningCommand,
}

/// Subcommands of `muster signing`.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum SigningCommand {
    /// Publish the next key. It begins to sign once every verifier had time to learn of it.
    #[command(after_help = "Example:\n  muster signing rotate")]
    Rotate,
    /// List the public keys that tokens are verified with.
    #[command(after_help = "Example:\n  muster signing list --json")]
    List,
}

pub(super) fn run(args: &SigningArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let done = if args.remote {
        block_on(remote(args.command, environment))
    } else {
        server.signing(&args.settings, args.command)
    };
    match done {
        Ok(said) if args.json => println!("{said}"),
        Ok(said) => print_plain(&said),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

async fn remote(command: SigningCommand, environment: &Environment) -> Result<Value, String> {
    let device = Device::open(environment)?;
    match command {
        SigningCommand::List => device.ask(Method::GET, "/.well-known/jwks.json", None, None).await,
        SigningCommand::Rotate => {
            let said = device.ask(Method::POST, "/api/v1/auth/keys/rotate", None, None).await?;
            Ok(said.get("data").cloned().unwrap_or(said))
        }
    }
}

fn print_plain(said: &Value) {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let of = |name: &str| said.get(name).and_then(Value::as_array);
    for key in of("keys").into_iter().flatten() {
        println!("{}  {}", text(key, "kid"), text(key, "alg"));
    }
    match of("changes") {
        Some(changes) if changes.is_empty() => println!("the next key is published already"),
        Some(changes) => {
            changes.iter().for_each(|change| println!("{} {}", text(change, "change"), text(change, "kid")))
        }
        None => {}
    }
}
