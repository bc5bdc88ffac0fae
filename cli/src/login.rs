//! `muster login` and `muster logout`: a login that is bound to a key of this device.

use std::process::ExitCode;

use reqwest::Method;
use serde_json::{Value, json};

use crate::session::{Device, Session};
use crate::{Environment, block_on, fail, prompt};

#[derive(Debug, clap::Args)]
pub(super) struct LoginArgs {
    /// The server to log in to.
    #[arg(long, value_name = "URL", required_unless_present = "status")]
    server: Option<String>,
    /// Whose login; asked for where it is left out. The password is asked for, or read from standard input.
    #[arg(long)]
    email: Option<String>,
    /// Say who is logged in, and where.
    #[arg(long, conflicts_with_all = ["server", "email"])]
    status: bool,
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct LogoutArgs {
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn login(args: &LoginArgs, environment: &Environment) -> ExitCode {
    let done = block_on(async {
        let device = Device::open(environment)?;
        let session = match &args.server {
            Some(server) => {
                let email = args.email.clone().map_or_else(|| prompt::line("e-mail"), Ok)?;
                device.log_in(server, &email, &prompt::read_password("password")?).await?
            }
            None => device.session()?,
        };
        who(&device, &session).await
    });
    match done {
        Ok(said) if args.json => println!("{said}"),
        Ok(said) => {
            let text = |name: &str| said.get(name).and_then(Value::as_str).unwrap_or("-").to_owned();
            println!("{} ({}) at {}, with the device key {}", text("email"), text("role"), text("server"), text("jkt"));
        }
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

/// Who the server says is logged in.
async fn who(device: &Device, session: &Session) -> Result<Value, String> {
    let said = device.ask(Method::GET, "/api/v1/auth/me", None, None).await?;
    let user = said.get("data").cloned().unwrap_or_default();
    let field = |name: &str| user.get(name).cloned().unwrap_or_default();
    Ok(json!({
        "server": session.server, "jkt": device.thumbprint(), "id": field("id"), "email": field("email"),
        "role": field("role"), "permissions": field("permissions"),
    }))
}

pub(super) fn logout(args: &LogoutArgs, environment: &Environment) -> ExitCode {
    let done = block_on(async {
        let device = Device::open(environment)?;
        let session = device.session()?;
        let ended = device.end(&session).await;
        // The tokens are gone from here even where the server cannot be told.
        device.forget()?;
        ended.map(|()| json!({ "success": true, "server": session.server }))
    });
    match done {
        Ok(said) if args.json => println!("{said}"),
        Ok(_) => println!("logged out"),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}
