//! `muster audit watch`: keeps the checkpoints of a running server outside of it, and notices two histories.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use muster_tlog::{Checkpoint, Hash, VerifierKey, verify_consistency};
use reqwest::Client;
use serde::Deserialize;

use crate::Environment;
use crate::connection::{self, TlsArgs};

#[derive(Debug, clap::Args)]
pub(super) struct WatchArgs {
    /// URL of the server.
    #[arg(long, value_name = "URL")]
    server: String,
    /// Key of the log; can be repeated [default: those that the server names at the beginning].
    #[arg(long, value_name = "VKEY")]
    vkey: Vec<VerifierKey>,
    /// File in which the newest verified checkpoint is kept, best on another machine than the server's.
    #[arg(long, value_name = "FILE")]
    keep: PathBuf,
    /// Seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    interval: u64,
    /// Look once.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    tls: TlsArgs,
}

#[derive(Deserialize)]
struct Keys {
    keys: Vec<String>,
}

#[derive(Deserialize)]
struct Proof {
    path: Vec<String>,
}

struct Watch {
    client: Client,
    base: String,
    key: String,
}

impl Watch {
    async fn get(&self, path: &str, accept: &str) -> Result<String, String> {
        let url = format!("{}/api/v1/governance/audit/{path}", self.base);
        let request = self.client.get(url).bearer_auth(&self.key).header("Accept", accept);
        let response = request.send().await.map_err(|error| connection::unreachable(&self.base, &error))?;
        let status = response.status();
        let text = response.text().await.map_err(|error| connection::causes(&error))?;
        if status.is_success() { Ok(text) } else { Err(format!("{} refused: {status}: {text}", self.base)) }
    }

    async fn keys(&self) -> Result<Vec<VerifierKey>, String> {
        let keys: Keys = parse(&self.get("keys", "application/json").await?)?;
        keys.keys.iter().map(|key| key.parse().map_err(|error| format!("{key}: {error}"))).collect()
    }
}

/// What a look showed: the line to print, and whether all is well.
struct Look {
    line: String,
    ok: bool,
}

fn bad(line: String) -> Look {
    Look { line, ok: false }
}

pub(super) async fn run(args: &WatchArgs, environment: &Environment) -> Result<ExitCode, String> {
    let key = environment.api_key.clone().or_else(|| environment.token.clone());
    let key = key.ok_or("set MUSTER_API_KEY to a key with the role auditor")?;
    let client = connection::client(args.tls.ca.as_ref(), || Client::builder().timeout(Duration::from_secs(30)))?;
    let watch = Watch { client, base: args.server.trim_end_matches('/').to_owned(), key };
    let keys = if args.vkey.is_empty() { watch.keys().await? } else { args.vkey.clone() };
    let mut looks = tokio::time::interval(Duration::from_secs(args.interval));
    loop {
        looks.tick().await;
        let look = match look(&watch, &keys, &args.keep).await {
            Ok(look) => look,
            Err(error) if args.once => return Err(error),
            Err(error) => {
                eprintln!("muster: {error}");
                continue;
            }
        };
        println!("{}", look.line);
        if !look.ok {
            return Ok(ExitCode::FAILURE);
        }
        if args.once {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

async fn look(watch: &Watch, keys: &[VerifierKey], keep: &Path) -> Result<Look, String> {
    let note = watch.get("checkpoint", "text/plain").await?;
    let Some(origin) = keys.first().map(VerifierKey::name) else { return Err("the server names no key".to_owned()) };
    let now = match Checkpoint::open(note.as_bytes(), origin, keys) {
        Ok(opened) => opened.checkpoint,
        Err(error) => return Ok(bad(format!("bad signature: {error}"))),
    };
    let before = match std::fs::read(keep) {
        Ok(kept) => match Checkpoint::open(&kept, origin, keys) {
            Ok(opened) => Some(opened.checkpoint),
            Err(error) => return Ok(bad(format!("bad signature: {}: {error}", keep.display()))),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("{}: {error}", keep.display())),
    };
    if let Some(before) = before {
        if before.size > now.size {
            return Ok(bad(format!("tail missing: {} entries were signed before, now {}", before.size, now.size)));
        }
        let query = format!("consistency?from={}&to={}", before.size, now.size);
        let proof: Proof = parse(&watch.get(&query, "application/json").await?)?;
        let path: Option<Vec<Hash>> = proof.path.iter().map(|hash| Hash::from_base64(hash)).collect();
        let path = path.ok_or("the proof has a hash that is none")?;
        if verify_consistency(before.size, &before.root, now.size, &now.root, &path).is_err() {
            return Ok(bad(format!(
                "fork: the log does not continue the {} entries that were signed before",
                before.size
            )));
        }
    }
    let temporary = keep.with_extension("new");
    let written = std::fs::write(&temporary, &note).and_then(|()| std::fs::rename(&temporary, keep));
    written.map_err(|error| format!("{}: {error}", keep.display()))?;
    Ok(Look { line: format!("ok: {} entries of {}, root {}", now.size, now.origin, now.root), ok: true })
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("the server's answer is not understood: {error}"))
}
