//! `muster login` and `muster logout`: a login whose tokens are bound to a key of this device.

use std::process::ExitCode;

use reqwest::Method;
use serde_json::{Value, json};

use crate::connection::TlsArgs;
use crate::session::{Session, UserClient};
use crate::{Environment, block_on, fail, prompt};

#[derive(Debug, clap::Args)]
pub(super) struct LoginArgs {
    /// URL of the server.
    #[arg(long, value_name = "URL", required_unless_present = "status")]
    server: Option<String>,
    /// E-mail of the user [default: prompt]. The password is prompted for, or read from standard input.
    #[arg(long)]
    email: Option<String>,
    /// Print the logged-in user and the server.
    #[arg(long, conflicts_with_all = ["server", "email"])]
    status: bool,
    #[command(flatten)]
    tls: TlsArgs,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct LogoutArgs {
    #[command(flatten)]
    tls: TlsArgs,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn login(args: &LoginArgs, environment: &Environment) -> ExitCode {
    let result = block_on(async {
        let client = UserClient::open(environment, &args.tls)?;
        let session = match &args.server {
            Some(server) => {
                let email = args.email.clone().map_or_else(|| prompt::line("e-mail"), Ok)?;
                client.log_in(server, &email, &prompt::read_password("password").await?).await?
            }
            None => client.session()?,
        };
        describe(&client, &session).await
    });
    match result {
        Ok(response) if args.json => println!("{response}"),
        Ok(response) => {
            let text = |name: &str| response.get(name).and_then(Value::as_str).unwrap_or("-").to_owned();
            println!("{} ({}) at {}, with the device key {}", text("email"), text("role"), text("server"), text("jkt"));
        }
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

/// Returns the logged-in user as the server knows it.
async fn describe(client: &UserClient, session: &Session) -> Result<Value, String> {
    let response = client.call(Method::GET, "/api/v1/auth/me", None, None).await?;
    let user = response.get("data").cloned().unwrap_or_default();
    let field = |name: &str| user.get(name).cloned().unwrap_or_default();
    Ok(json!({
        "server": session.server, "jkt": client.thumbprint(), "id": field("id"), "email": field("email"),
        "role": field("role"), "permissions": field("permissions"),
    }))
}

pub(super) fn logout(args: &LogoutArgs, environment: &Environment) -> ExitCode {
    let result = block_on(async {
        let client = UserClient::open(environment, &args.tls)?;
        let session = client.session()?;
        let ended = client.log_out(&session).await;
        // The tokens are deleted even if the server cannot be reached.
        client.delete_session()?;
        ended.map(|()| json!({ "success": true, "server": session.server }))
    });
    match result {
        Ok(response) if args.json => println!("{response}"),
        Ok(_) => println!("logged out"),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}
