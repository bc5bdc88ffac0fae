//! `muster signing`: the keys that sign access tokens.

use std::process::ExitCode;

use clap::Subcommand;
use reqwest::Method;
use serde_json::Value;

use crate::connection::TlsArgs;
use crate::session::UserClient;
use crate::{Environment, LocalServer, Settings, block_on, fail};

#[derive(Debug, clap::Args)]
pub(super) struct SigningArgs {
    #[command(flatten)]
    settings: Settings,
    /// Use the running server of `muster login` [default: use the data directory].
    #[arg(long, global = true)]
    remote: bool,
    #[command(flatten)]
    tls: TlsArgs,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: SigningCommand,
}

/// Subcommands of `muster signing`.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum SigningCommand {
    /// Publish the next key. It signs tokens after the time that verifiers have to fetch it (auth.key_publish_ahead_hours).
    #[command(after_help = "Example:\n  muster signing rotate")]
    Rotate,
    /// List the public keys that verify tokens.
    #[command(after_help = "Example:\n  muster signing list --json")]
    List,
}

pub(super) fn run(args: &SigningArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let result = if args.remote {
        block_on(remote(args.command, &args.tls, environment))
    } else {
        server.signing(&args.settings, args.command)
    };
    match result {
        Ok(response) if args.json => println!("{response}"),
        Ok(response) => print_plain(&response),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

async fn remote(command: SigningCommand, tls: &TlsArgs, environment: &Environment) -> Result<Value, String> {
    let client = UserClient::open(environment, tls)?;
    match command {
        SigningCommand::List => client.call(Method::GET, "/.well-known/jwks.json", None, None).await,
        SigningCommand::Rotate => {
            let response = client.call(Method::POST, "/api/v1/auth/keys/rotate", None, None).await?;
            Ok(response.get("data").cloned().unwrap_or(response))
        }
    }
}

fn print_plain(response: &Value) {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let of = |name: &str| response.get(name).and_then(Value::as_array);
    for key in of("keys").into_iter().flatten() {
        println!("{}  {}", text(key, "kid"), text(key, "alg"));
    }
    match of("changes") {
        Some(changes) if changes.is_empty() => println!("the next key is already published"),
        Some(changes) => {
            changes.iter().for_each(|change| println!("{} {}", text(change, "change"), text(change, "kid")))
        }
        None => {}
    }
}
