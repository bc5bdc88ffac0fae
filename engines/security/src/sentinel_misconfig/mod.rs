//! q151: misconfiguration.

mod app;
mod audit;
mod compose;
mod dockerfile;
mod kubernetes;
mod lines;
mod nginx;
mod sshd;
mod systemd;
#[cfg(test)]
mod tests;
mod tree;

use self::audit::Audit;
use super::verdict::{Finding, Verdict, score, verdict};
use muster_engine::prelude::*;

/// Maximum size of a configuration, in bytes.
const MAX_CONFIG: usize = 512 * 1024;

#[derive(Input)]
pub struct Input {
    config: String,
    kind: Kind,
    /// Names of rules to skip.
    ignore: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
enum Kind {
    Auto,
    Dockerfile,
    Compose,
    Kubernetes,
    Sshd,
    Nginx,
    Systemd,
    App,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Dockerfile => "dockerfile",
            Self::Compose => "compose",
            Self::Kubernetes => "kubernetes",
            Self::Sshd => "sshd",
            Self::Nginx => "nginx",
            Self::Systemd => "systemd",
            Self::App => "app",
        }
    }
}

#[derive(Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    passed: usize,
    failed: usize,
    kind: String,
}

pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    if input.config.len() > MAX_CONFIG {
        return Err(Failure::too_large(format!("config is over {MAX_CONFIG} bytes")));
    }
    let kind = if input.kind == Kind::Auto { guess(&input.config) } else { input.kind };
    let mut audit = Audit::new(input.ignore);
    let config = input.config.as_str();
    match kind {
        Kind::Dockerfile => dockerfile::check(config, &mut audit),
        Kind::Compose => compose::check(&tree::yaml(config)?, &mut audit),
        Kind::Kubernetes => {
            tree::documents(config)?.iter().for_each(|document| kubernetes::check(document, &mut audit))
        }
        Kind::Sshd => sshd::check(config, &mut audit),
        Kind::Nginx => nginx::check(config, &mut audit),
        Kind::Systemd => systemd::check(config, &mut audit),
        Kind::App | Kind::Auto => app::check(&tree::any(config)?, &mut audit),
    }
    let (findings, passed, failed) = audit.into_parts();
    let kind = kind.name().to_owned();
    Ok(Output { verdict: verdict(&findings), score: score(&findings), findings, passed, failed, kind })
}

/// Guesses the kind of configuration.
fn guess(config: &str) -> Kind {
    let lines = || config.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let starts = |line: &str, words: &[&str]| {
        let first = line.split(|c: char| c.is_whitespace() || c == '=').next().unwrap_or_default();
        words.iter().any(|word| word.eq_ignore_ascii_case(first))
    };
    let first = lines().next().unwrap_or_default();
    if starts(first, &["FROM", "ARG"]) && lines().any(|line| starts(line, &["FROM"])) {
        return Kind::Dockerfile;
    }
    if lines().any(|line| matches!(line, "[Unit]" | "[Service]" | "[Install]" | "[Socket]" | "[Timer]")) {
        return Kind::Systemd;
    }
    let top = |key: &str| config.lines().any(|line| line.starts_with(key));
    if top("apiVersion:") && top("kind:") {
        return Kind::Kubernetes;
    }
    if top("services:") {
        return Kind::Compose;
    }
    let ssh =
        ["PermitRootLogin", "PasswordAuthentication", "HostKey", "AuthorizedKeysFile", "KexAlgorithms", "Subsystem"];
    if lines().any(|line| starts(line, &ssh)) {
        return Kind::Sshd;
    }
    let blocks = ["server", "http", "location", "events", "upstream"];
    if lines().any(|line| line.ends_with('{') && starts(line, &blocks)) && config.contains(';') {
        return Kind::Nginx;
    }
    Kind::App
}
