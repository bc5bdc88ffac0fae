//! `muster signing`: the keys that sign the tokens of logins.

use std::process::ExitCode;

use clap::Subcommand;
use muster_identity::By;
use reqwest::Method;
use serde_json::{Value, json};

use super::session::Device;
use super::users::with_identity;
use super::{Settings, fail};
use crate::http::auth::KeyChange;

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

#[derive(Debug, Clone, Copy, Subcommand)]
enum SigningCommand {
    /// Publish the next key. It begins to sign once every verifier had time to learn of it.
    #[command(after_help = "Example:\n  muster signing rotate")]
    Rotate,
    /// List the public keys that tokens are verified with.
    #[command(after_help = "Example:\n  muster signing list --json")]
    List,
}

pub(super) fn run(args: &SigningArgs) -> ExitCode {
    let done = actix_rt::System::new().block_on(async {
        if args.remote { remote(args.command).await } else { local(&args.settings, args.command).await }
    });
    match done {
        Ok(said) if args.json => println!("{said}"),
        Ok(said) => print_plain(&said),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

async fn local(settings: &Settings, command: SigningCommand) -> Result<Value, String> {
    with_identity(settings, |identity| async move {
        match command {
            SigningCommand::List => identity.jwks().map_err(|error| error.to_string()),
            SigningCommand::Rotate => {
                let changes = identity.rotate_keys(By::System).await.map_err(|error| error.to_string())?;
                Ok(json!({ "changes": changes.into_iter().map(KeyChange::from).collect::<Vec<_>>() }))
            }
        }
    })
    .await
}

async fn remote(command: SigningCommand) -> Result<Value, String> {
    let device = Device::open()?;
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
