//! `muster approvals`: lists, shows and decides approvals with the key of the login.

use std::process::ExitCode;

use clap::Subcommand;
use muster_tlog::canonical::to_canonical;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::connection::TlsArgs;
use crate::session::UserClient;
use crate::{Environment, block_on, fail, prompt};

pub(super) const EXAMPLES: &str = "Examples:\n  muster login --server http://127.0.0.1:8080\n  muster approvals list --state pending\n  muster approvals show apr_01…\n  muster approvals approve apr_01… --role security\n  muster approvals reject apr_01… --role operations --comment \"not now\"";

#[derive(Debug, clap::Args)]
pub(super) struct ApprovalsArgs {
    #[command(flatten)]
    tls: TlsArgs,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ApprovalsCommand,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    /// List the approvals that you may see, newest first.
    #[command(after_help = "Examples:\n  muster approvals list\n  muster approvals list --state pending --json")]
    List {
        /// State: pending, approved, rejected, vetoed, expired, cancelled, revoked or executed.
        #[arg(long)]
        state: Option<String>,
    },
    /// Show an approval with its payload, and check the payload's hash.
    #[command(after_help = "Example:\n  muster approvals show apr_01…")]
    Show {
        /// Identifier, from `muster approvals list`.
        id: String,
    },
    /// Show the payload, check its hash, and sign an approval with the key of the login.
    #[command(
        after_help = "Examples:\n  muster approvals approve apr_01… --role security\n  muster approvals approve apr_01… --role operations --comment \"checked with ops\" --yes"
    )]
    Approve(DecisionArgs),
    /// Show the payload, check its hash, and sign a rejection. One rejection ends the approval.
    #[command(after_help = "Example:\n  muster approvals reject apr_01… --role operations --comment \"not now\"")]
    Reject(DecisionArgs),
}

#[derive(Debug, clap::Args)]
struct DecisionArgs {
    /// Identifier, from `muster approvals list`.
    id: String,
    /// The role for which you decide.
    #[arg(long, value_parser = ["security", "operations"])]
    role: String,
    /// Why, at most 1,000 characters.
    #[arg(long)]
    comment: Option<String>,
    /// Sign without asking.
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(args: ApprovalsArgs, environment: &Environment) -> ExitCode {
    let json = args.json;
    let result = block_on(async {
        let client = UserClient::open(environment, &args.tls)?;
        match args.command {
            ApprovalsCommand::List { state } => list(&client, state.as_deref()).await,
            ApprovalsCommand::Show { id } => shown(&client, &id).await,
            ApprovalsCommand::Approve(args) => decide(&client, "approve", args, json).await,
            ApprovalsCommand::Reject(args) => decide(&client, "reject", args, json).await,
        }
    });
    match result {
        Ok(response) if json => println!("{response}"),
        Ok(response) => print_plain(&response),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

async fn list(client: &UserClient, state: Option<&str>) -> Result<Value, String> {
    let filter = state.map(|state| format!("&state={state}")).unwrap_or_default();
    let (mut approvals, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/v1/governance/approvals?limit=200{filter}{cursor}");
        let page = client.call(Method::GET, &path, None, None).await?;
        approvals.extend(page.get("approvals").and_then(Value::as_array).cloned().unwrap_or_default());
        match page.get("next_cursor").and_then(Value::as_str) {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(json!({ "approvals": approvals, "next_cursor": null })),
        }
    }
}

fn path(id: &str) -> Result<String, String> {
    let known = id.starts_with("apr_") && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    known.then(|| format!("/api/v1/governance/approvals/{id}")).ok_or_else(|| format!("{id} is no approval: apr_…"))
}

/// Returns an approval whose payload has the hash that deciders sign.
async fn shown(client: &UserClient, id: &str) -> Result<Value, String> {
    let approval = client.call(Method::GET, &path(id)?, None, None).await?;
    let payload = approval.get("payload").cloned().unwrap_or_default();
    let canonical = to_canonical(&payload).map_err(|error| format!("the payload: {error}"))?;
    let computed = format!("{:x}", Sha256::digest(canonical));
    let stated = text(&approval, "payload_sha256");
    if computed != stated {
        return Err(format!(
            "the payload has the hash {computed}, but the approval states {stated}: nothing was signed; report this"
        ));
    }
    Ok(approval)
}

async fn decide(client: &UserClient, decision: &str, args: DecisionArgs, json: bool) -> Result<Value, String> {
    let approval = shown(client, &args.id).await?;
    let nonce = approval.pointer("/challenge/nonce").and_then(Value::as_str);
    let nonce = nonce.ok_or_else(|| {
        format!("{} is {}, and there is nothing that you may decide", args.id, text(&approval, "state"))
    })?;
    if !json {
        print_plain(&approval);
    }
    if !args.yes {
        let answer = prompt::line(&format!("{decision} as {}? Type yes to sign", args.role))?;
        if answer.trim() != "yes" {
            return Err("nothing was signed".to_owned());
        }
    }
    let signed = json!({
        "approval_id": approval.get("id"), "action": approval.get("action"), "resource": approval.get("resource"),
        "risk": approval.get("risk"), "payload_sha256": approval.get("payload_sha256"), "decision": decision,
        "role": args.role, "nonce": nonce,
    });
    let bytes = to_canonical(&signed).map_err(|error| error.to_string())?;
    let body = json!({
        "decision": decision, "role": args.role, "comment": args.comment, "nonce": nonce, "kid": client.thumbprint(),
        "signature": client.sign(bytes.as_bytes()),
    });
    let body = without_nulls(body);
    client.call(Method::POST, &format!("{}/decisions", path(&args.id)?), Some(&body), None).await
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    value
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or("-").to_owned()
}

fn print_plain(response: &Value) {
    let line = |approval: &Value| {
        let of = |name| text(approval, name);
        println!("{}  {}  {}  {}  {}", of("id"), of("state"), of("risk"), of("action"), of("resource"));
    };
    if let Some(approvals) = response.get("approvals").and_then(Value::as_array) {
        return approvals.iter().for_each(line);
    }
    line(response);
    let requester = response.pointer("/requester/id").and_then(Value::as_str).unwrap_or("-");
    println!("  requested by {requester}: {}", text(response, "reason"));
    for decision in response.get("decisions").and_then(Value::as_array).into_iter().flatten() {
        println!("  {} by {} for {}", text(decision, "decision"), text(decision, "by"), text(decision, "role"));
    }
    if let Some(payload) = response.get("payload") {
        println!("  payload, SHA-256 {}:", text(response, "payload_sha256"));
        let pretty = serde_json::to_string_pretty(payload).unwrap_or_default();
        pretty.lines().for_each(|line| println!("    {line}"));
    }
}
