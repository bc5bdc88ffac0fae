//! The checks of `muster doctor`.

mod folders;

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::load;
use crate::config::{self, Config};
use crate::medical::record_secret;
use crate::tls::Certificate;
use crate::{app, provider_setup};
use muster_cli::{Finding, Settings};
use muster_identity::keys::Token;
use muster_models::{ChatModel as _, LocalModel, ModelStatus};
use muster_providers::EmbeddedAdapter;
use muster_store::Store as _;
use muster_tasks::engine::{SandboxMode, SandboxStatus};

pub(super) fn diagnose(settings: &Settings) -> Vec<Finding> {
    match load(settings, None) {
        Err(error) => vec![Finding::bad(
            "settings",
            error.to_string(),
            "correct that setting; config.toml lists every one with its default",
        )],
        Ok((config, _)) => {
            let mut findings = vec![Finding::good("settings", "all known, all within bounds")];
            findings.push(address(&config));
            findings.extend(reachable(&config));
            findings.extend(tls(&config));
            findings.extend(telemetry(&config));
            findings.push(folders::permissions(&config.store.path));
            findings.extend(store(&config));
            findings.push(sandbox(&config));
            findings.push(agents(&config));
            findings.extend(workspace(&config));
            findings.extend(first_key());
            findings.extend(fetches(&config));
            findings.extend(kept_conversations(&config));
            let model = LocalModel::start(app::model_options(&config));
            findings.push(match config.llm.model.as_str() {
                "none" if config.provider.is_empty() => Finding::bad(
                    "embedded model",
                    "switched off by llm.model, and no provider is configured: nothing can answer",
                    "set llm.model = \"auto\", or add a [[provider]]",
                ),
                "none" => Finding::good("embedded model", "switched off by llm.model: the providers answer"),
                _ => embedded(&model),
            });
            findings.extend(providers(&config, &model));
            findings
        }
    }
}

/// Warns of addresses that are not public and from which pictures are fetched; `None` if there are none.
fn fetches(config: &Config) -> Option<Finding> {
    let allowed = &config.media.fetch_allow;
    let names = || allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let why = || format!("media.fetch_allow lets clients reach {}, which is meant for tests only", names());
    (!allowed.is_empty()).then(|| Finding::bad("pictures by URL", why(), "set media.fetch_allow = []"))
}

/// Checks the key of kept conversations; `None` where nothing is kept.
fn kept_conversations(config: &Config) -> Option<Finding> {
    let hours = config.medical.keep_hours;
    let good = || Finding::good("medical conversations", format!("kept encrypted for {hours} hours"));
    let mend =
        "set MUSTER_MEDICAL_KEY, for example to the output of `openssl rand -base64 32`, or medical.keep_hours = 0";
    match record_secret(&config.medical) {
        Ok(None) => None,
        Ok(Some(_)) => Some(good()),
        Err(why) => Some(Finding::bad("medical conversations", why, mend)),
    }
}

fn address(config: &Config) -> Finding {
    let listen = config.server.listen;
    match TcpListener::bind(listen) {
        Ok(_) => Finding::good("address", format!("{listen} is free")),
        Err(error) => {
            Finding::bad("address", format!("{listen}: {error}"), "stop what serves there, or set server.listen")
        }
    }
}

/// Checks that the URL of the server is set where it must be; `None` if it need not be.
fn reachable(config: &Config) -> Option<Finding> {
    let listen = config.server.listen;
    let public = &config.auth.public_url;
    match config.check_reachable() {
        Ok(()) if listen.ip().is_loopback() => None,
        Ok(()) => Some(Finding::good("public URL", format!("{listen} is reached as {public}"))),
        Err(error) => {
            let mend = "set auth.public_url, or a loopback address as server.listen";
            Some(Finding::bad("public URL", error.to_string(), mend))
        }
    }
}

/// Checks the certificate; `None` if TLS is off.
fn tls(config: &Config) -> Option<Finding> {
    let mend = "give the PEM files of a certificate and of its own key, readable by this user";
    match Certificate::read(&config.server.tls) {
        Ok(None) => None,
        Ok(Some(_)) => Some(Finding::good("tls", format!("{} and its key fit", config.server.tls.cert.display()))),
        Err(error) => Some(Finding::bad("tls", error.to_string(), mend)),
    }
}

/// Checks whether the collector can be reached; `None` if nothing is exported. The format of its URL is checked with
/// the settings.
fn telemetry(config: &Config) -> Option<Finding> {
    let endpoint = &config.telemetry.otlp_endpoint;
    let url = reqwest::Url::parse(endpoint).ok()?;
    let mend =
        "start the collector, or set telemetry.otlp_endpoint to its address for OTLP over HTTP, usually port 4318";
    let reached = url.socket_addrs(|| None).and_then(|addresses| {
        let address = addresses.first().ok_or_else(|| std::io::Error::other("the name has no address"))?;
        TcpStream::connect_timeout(address, Duration::from_secs(2))
    });
    Some(match reached {
        Ok(_) => Finding::good("telemetry", format!("{endpoint} is reached")),
        Err(error) => Finding::bad("telemetry", format!("{endpoint}: {error}"), mend),
    })
}

fn store(config: &Config) -> Vec<Finding> {
    let path = config.store.path.display();
    let store = match app::open_store(config) {
        Ok(store) => store,
        Err(error) => {
            let mend = "stop the other process, or set store.path to a folder that can be written";
            return vec![Finding::bad("store", format!("{path}: {error}"), mend)];
        }
    };
    let stats = store.stats();
    let mut findings = Vec::new();
    if let Some(what) = stats.quarantined {
        findings.push(Finding::bad(
            "store",
            what,
            "look at the folder that was set aside; restore a backup if it is missed",
        ));
    }
    findings.push(match store.verify() {
        Ok(report) if report.corrupt.is_empty() => Finding::good(
            "store",
            format!("{path}: {} records, {} bytes, every checksum holds", report.records, report.bytes),
        ),
        Ok(report) => Finding::bad(
            "store",
            format!("{path}: {} corrupt records: {}", report.corrupt.len(), report.corrupt.join("; ")),
            "restore a backup",
        ),
        Err(error) => Finding::bad("store", format!("{path}: {error}"), "restore a backup"),
    });
    findings.push(folders::images(&(Arc::clone(&store) as _), &config.store.path));
    findings.push(folders::signing(&config.store.path));
    findings.push(folders::feed(&config.store.path));
    findings.push(folders::ledger(&config.store.path));
    store.close();
    findings
}

/// Checks the agents, those of the operator's files included.
fn agents(config: &Config) -> Finding {
    let what = "agents";
    let mend = "correct the files of agents.files; actors/tasks/src/agent/catalogue/README.md shows the format";
    let files = match config.agents.read_files() {
        Ok(files) => files,
        Err(error) => return Finding::bad(what, error.to_string(), mend),
    };
    match crate::agents::with_own(&files) {
        Ok(agents) => {
            let own = files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ");
            let of_files = if own.is_empty() { String::new() } else { format!(", with those of {own}") };
            Finding::good(what, format!("{} can be run{of_files}", agents.list().len()))
        }
        Err(error) => Finding::bad(what, error.to_string().replace('\n', " "), mend),
    }
}

/// Checks the directory of files for engines and agents; `None` if there is none to be read.
fn workspace(config: &Config) -> Option<Finding> {
    let path = &config.workspace.path;
    if path.as_os_str().is_empty() {
        return None;
    }
    Some(match std::fs::read_dir(path) {
        Ok(_) => Finding::good("workspace", format!("{} can be read", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Finding::good("workspace", format!("{} does not exist: engines and agents read no files", path.display()))
        }
        Err(error) => {
            let mend = "make it a directory that this user may read, or set workspace.path";
            Finding::bad("workspace", format!("{}: {error}", path.display()), mend)
        }
    })
}

/// Checks the first API key of the environment; `None` if there is none.
fn first_key() -> Option<Finding> {
    let wrong = Token::parse(&config::bootstrap_key()?).err()?;
    let mend = "set MUSTER_BOOTSTRAP_KEY to a complete key, or unset it for a random one";
    Some(Finding::bad("first API key", format!("MUSTER_BOOTSTRAP_KEY: {wrong}"), mend))
}

/// Checks which restrictions the kernel puts on the processes of engines, by starting one.
fn sandbox(config: &Config) -> Finding {
    let (worker, mode) = (config.engines.worker(&config.workspace, &config.llm.cache), config.engines.sandbox);
    let status = actix_rt::System::new().block_on(SandboxStatus::examine(&worker, mode));
    let mend = "run on Linux 5.13 or later with landlock among the security modules and seccomp permitted (a container's \
                profile can forbid both); engines.sandbox = \"off\" accepts engines without restrictions";
    match (status.problem(), status.mode) {
        (Some(problem), _) => Finding::bad("engine sandbox", problem, mend),
        (None, SandboxMode::Off) => Finding::good("engine sandbox", "switched off by engines.sandbox"),
        (None, _) => {
            let abi = status.landlock_abi.unwrap_or_default();
            Finding::good("engine sandbox", format!("every restriction is in force (Landlock interface {abi})"))
        }
    }
}

/// Waits until the model is verified and loaded, as the server does.
fn embedded(model: &LocalModel) -> Finding {
    loop {
        match model.status() {
            ModelStatus::Ready => return Finding::good("embedded model", format!("{} is loaded", model.info().name)),
            ModelStatus::Absent { mend } => return Finding::bad("embedded model", "not installed", mend),
            ModelStatus::Failed { why, mend } => return Finding::bad("embedded model", why, mend),
            ModelStatus::Loading { .. } => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn providers(config: &Config, model: &Arc<LocalModel>) -> Vec<Finding> {
    let embedded = Arc::new(EmbeddedAdapter::new(Arc::clone(model) as _));
    let built = provider_setup::registry(config, &**model)
        .and_then(|registry| provider_setup::providers(config, &registry, &embedded, &[]));
    if let Err(error) = built {
        return vec![Finding::bad("providers", error.to_string(), "correct the [[provider]] tables or [chain] order")];
    }
    if config.provider.is_empty() {
        return vec![Finding::good("providers", "none configured: the embedded model answers")];
    }
    config
        .provider
        .iter()
        .map(|provider| match (&provider.api_key_env, &provider.api_key) {
            (Some(variable), None) => Finding::bad(
                &format!("provider {}", provider.id),
                format!("{variable} is not set"),
                format!("export {variable}=…"),
            ),
            _ => Finding::good(
                &format!("provider {}", provider.id),
                provider.base_url.clone().unwrap_or_else(|| provider.kind.clone()),
            ),
        })
        .collect()
}
