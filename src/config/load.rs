//! Reads settings: the file, then environment variables that override it. An unknown or invalid setting is an error
//! with its name, its line if there is one, and what is accepted.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use muster_providers::Catalogue;
use serde::Deserialize;
use toml::{Table, Value};

use super::position::positioned;
use super::{Config, Secret};
use crate::telemetry;

/// Beginning of the variables that set settings.
pub(super) const PREFIX: &str = "MUSTER__";

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    #[error("{path} cannot be read: {why}")]
    Unreadable { path: String, why: String },
    #[error("{path}, line {line}: {why}")]
    InFile { path: String, line: usize, why: String },
    #[error("{variable}: {why}")]
    InEnvironment { variable: String, why: String },
    #[error("{setting}: {why}")]
    Bad { setting: String, why: String },
}

/// Where settings were read from, to detect later changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Source {
    /// `None` if there is no file.
    path: Option<PathBuf>,
    text: String,
    flags: Flags,
    fixed: Option<Box<Config>>,
}

/// Command-line options that override settings, at the start and at each reload.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Flags {
    pub listen: Option<SocketAddr>,
    pub data: Option<PathBuf>,
}

impl Source {
    /// Returns the source of settings that the program itself provides; reading them again returns the same.
    pub fn fixed(config: &Config) -> Self {
        Self { fixed: Some(Box::new(config.clone())), ..Self::default() }
    }

    /// Reads the same file again.
    ///
    /// # Errors
    /// Those of [`load`].
    pub fn reload(&self) -> Result<(Config, Self), ConfigError> {
        match &self.fixed {
            Some(config) => Ok((Config::clone(config), self.clone())),
            None => load(self.path.as_deref(), self.flags.clone()),
        }
    }

    /// Returns a message if the file was changed since the start.
    ///
    /// # Errors
    /// The file is no longer valid.
    pub fn changed(&self) -> Result<Option<String>, ConfigError> {
        let Some(path) = &self.path else { return Ok(None) };
        let text = read(path)?;
        if text == self.text {
            return Ok(None);
        }
        let name = path.display().to_string();
        parse(&text, &name, std::env::vars())?;
        Ok(Some(format!(
            "{name} was changed since the start: `muster` takes it up at SIGHUP or POST /api/v1/admin/reload"
        )))
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path)
        .map_err(|error| ConfigError::Unreadable { path: path.display().to_string(), why: error.to_string() })
}

/// Reads settings from a file and the environment. Without a file every setting has its default.
///
/// # Errors
/// A setting is unknown or invalid; the error says which and where.
pub fn load(path: Option<&Path>, flags: Flags) -> Result<(Config, Source), ConfigError> {
    let text = path.map_or_else(|| Ok(String::new()), read)?;
    let name = path.map(|path| path.display().to_string()).unwrap_or_default();
    let mut config = parse(&text, &name, std::env::vars())?;
    let catalogue = Catalogue::embedded().ok();
    for provider in &mut config.provider {
        let known = catalogue.as_ref().and_then(|catalogue| catalogue.provider(&provider.id));
        if let (None, Some(known)) = (&provider.api_key_env, known) {
            provider.api_key_env.clone_from(&known.key_env);
        }
        let key = provider.api_key_env.as_ref().and_then(|variable| std::env::var(variable).ok());
        provider.api_key = key.filter(|key| !key.is_empty()).map(Secret);
    }
    config.medical.key = std::env::var("MUSTER_MEDICAL_KEY").ok().filter(|key| !key.is_empty()).map(Secret);
    if let Some(listen) = flags.listen {
        config.server.listen = listen;
    }
    if let Some(data) = &flags.data {
        config.store.path.clone_from(data);
    }
    Ok((config, Source { path: path.map(Path::to_path_buf), text, flags, fixed: None }))
}

/// Returns the complete first API key for an empty store, from `MUSTER_BOOTSTRAP_KEY`.
pub fn bootstrap_key() -> Option<String> {
    std::env::var("MUSTER_BOOTSTRAP_KEY").ok().filter(|key| !key.is_empty())
}

/// Returns the password for the first administrator, from `MUSTER_ADMIN_PASSWORD`.
pub fn admin_password() -> Option<Secret> {
    std::env::var("MUSTER_ADMIN_PASSWORD").ok().filter(|password| !password.is_empty()).map(Secret)
}

/// Returns what the command line takes from the environment.
pub fn command_line() -> muster_cli::Environment {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    muster_cli::Environment {
        api_key: text("MUSTER_API_KEY"),
        backup_passphrase: text("MUSTER_BACKUP_PASSPHRASE"),
        token: text("MUSTER_TOKEN"),
        config_home: folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config"))),
        temporary: std::env::temp_dir(),
    }
}

/// Returns the settings file in the working directory, if it exists.
pub fn default_file() -> Option<PathBuf> {
    let file = PathBuf::from("config.toml");
    file.exists().then_some(file)
}

/// Parses settings from a text and variables: the pure part of [`load`].
pub fn parse(
    text: &str,
    name: &str,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Config, ConfigError> {
    let in_file = |error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
        let key = text.lines().nth(line - 1).and_then(|text| text.split_once('=')).map(|(key, _)| key.trim());
        let why = match key {
            Some(key) if !error.message().contains(key) => format!("{key}: {}", error.message()),
            _ => error.message().to_owned(),
        };
        ConfigError::InFile { path: name.to_owned(), line, why }
    };
    // The text is parsed alone first, so that errors have line numbers, and again with each variable applied.
    let mut config = toml::from_str::<Config>(text).map_err(in_file)?;
    let mut table = toml::from_str::<Table>(text).map_err(in_file)?;
    let mut variables: Vec<_> = environment.filter(|(name, _)| name.starts_with(PREFIX)).collect();
    variables.sort();
    let names: Vec<String> = variables.iter().map(|(variable, _)| variable.clone()).collect();
    for (variable, value) in variables {
        let wrong = |why: String| ConfigError::InEnvironment { variable: variable.clone(), why };
        overlay(&mut table, &variable, &value).map_err(wrong)?;
        config = Config::deserialize(table.clone()).map_err(|error| wrong(error.message().to_owned()))?;
    }
    check(&config).map_err(|error| positioned(error, text, name, &names))?;
    Ok(config)
}

/// Applies `MUSTER__SECTION__KEY=value`. The value is parsed as TOML if possible, otherwise it is a string.
fn overlay(table: &mut Table, variable: &str, value: &str) -> Result<(), String> {
    let path = variable.trim_start_matches(PREFIX).to_lowercase();
    let mut parts: Vec<&str> = path.split("__").collect();
    let key = parts.pop().filter(|key| !key.is_empty() && !parts.is_empty());
    let key = key.ok_or("has the form MUSTER__SECTION__KEY, such as MUSTER__SERVER__LISTEN")?;
    let mut here = table;
    for part in parts {
        let next = here.entry(part).or_insert_with(|| Value::Table(Table::new()));
        here = next.as_table_mut().ok_or_else(|| format!("{part} is not a section that a variable can set"))?;
    }
    here.insert(key.to_owned(), read_value(value));
    Ok(())
}

fn read_value(text: &str) -> Value {
    let read = toml::from_str::<Table>(&format!("value = {text}")).ok();
    read.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Checks ranges and combinations that types cannot express.
fn check(config: &Config) -> Result<(), ConfigError> {
    let bad = |setting: &str, why: &str| Err(ConfigError::Bad { setting: setting.to_owned(), why: why.to_owned() });
    config.server.check()?;
    let endpoint = &config.telemetry.otlp_endpoint;
    if !endpoint.is_empty() && !reqwest::Url::parse(endpoint).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
    {
        return bad("telemetry.otlp_endpoint", "takes an http or https URL, such as http://127.0.0.1:4318, or nothing");
    }
    if endpoint.trim_end_matches('/').ends_with("/v1/traces") || endpoint.trim_end_matches('/').ends_with("/v1/metrics")
    {
        return bad("telemetry.otlp_endpoint", "takes the collector's address without /v1/traces or /v1/metrics");
    }
    let fits = |tag: &String| (1..=64).contains(&tag.chars().count());
    if config.telemetry.tag_labels.len() > 100 || !config.telemetry.tag_labels.iter().all(fits) {
        return bad("telemetry.tag_labels", "takes at most 100 tags of 1 to 64 characters");
    }
    if config.cache.max_bytes > 16 << 30 {
        return bad("cache.max_bytes", "takes 0 to 17179869184");
    }
    if !(1..=3600).contains(&config.telemetry.interval_seconds) {
        return bad("telemetry.interval_seconds", "takes 1 to 3600");
    }
    if let Err(why) = telemetry::check_level(&config.log) {
        return bad("log.level", &why);
    }
    config.auth.check()?;
    config.backup.check()?;
    config.feed.check()?;
    config.incidents.check()?;
    config.firmware.check()?;
    config.governance.check()?;
    config.devices.check()?;
    config.governance.check()?;
    config.engines.check()?;
    config.agents.check()?;
    config.memory.check()?;
    config.medical.check(&config.provider)?;
    config.media.check(&config.provider)?;
    config.translate.check()?;
    config.images.check()?;
    if !(1..=8760).contains(&config.store.snapshot_hours) {
        return bad("store.snapshot_hours", "takes 1 to 8760");
    }
    if !(1..=64).contains(&config.llm.slots) {
        return bad("llm.slots", "takes 1 to 64");
    }
    if config.llm.context < 256 {
        return bad("llm.context", "takes 256 or more");
    }
    config.chain.check()?;
    config.chat.check()?;
    if config.budget.models.values().any(|usd| !usd.is_finite() || *usd < 0.0) {
        return bad("budget.models", "takes USD, 0 or more, by model");
    }
    if config.budget.owners.values().chain(&config.budget.per_owner_usd).any(|usd| !usd.is_finite() || *usd < 0.0) {
        return bad("budget.owners", "takes USD, 0 or more, by owner");
    }
    config.provider.iter().try_for_each(|provider| provider.check(&config.chain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        parse(text, "config.toml", variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())))
    }

    #[test]
    fn an_empty_file_yields_the_defaults() {
        assert_eq!(read("", &[]), Ok(Config::default()));
    }

    #[test]
    fn the_shipped_file_contains_the_defaults() {
        let shipped = include_str!("../../config.toml");
        assert_eq!(read(shipped, &[]), Ok(Config::default()));
    }

    #[test]
    fn the_shipped_file_names_every_setting() {
        let shipped = include_str!("../../config.toml");
        let sections = [
            "server",
            "server.tls",
            "store",
            "backup",
            "log",
            "auth",
            "feed",
            "incidents",
            "incidents.point_radius_m",
            "firmware",
            "devices",
            "governance",
            "memory",
            "medical",
            "media",
            "translate",
            "telemetry",
            "llm",
            "embeddings",
            "models",
            "chain",
            "chat",
            "[equivalent]",
            "budget",
            "limits",
            "[provider]",
        ];
        for section in sections {
            let refused = read(&format!("[{section}]\nnonsense = 1"), &[]).unwrap_err().to_string();
            let (_, known) = refused.split_once("expected").unwrap_or_else(|| panic!("{section}: {refused}"));
            for name in known.split('`').skip(1).step_by(2) {
                let documented = shipped.lines().any(|line| {
                    line.trim_start_matches("# ").starts_with(&format!("{name} ="))
                        || line.contains(&format!(".{name}"))
                        || line.contains(&format!("{name} = "))
                });
                assert!(documented, "config.toml does not document {section}.{name}");
            }
        }
    }

    #[test]
    fn variables_override_the_file() {
        let config = read(
            "[server]\nworkers = 3",
            &[("MUSTER__SERVER__LISTEN", "127.0.0.1:0"), ("MUSTER__LLM__MODEL", "small")],
        );
        let config = config.unwrap();
        assert_eq!((config.server.listen.port(), config.server.workers, config.llm.model.as_str()), (0, 3, "small"));
    }

    #[test]
    fn unknown_and_invalid_settings_are_reported_with_their_line() {
        let at = |text: &str| match read(text, &[]) {
            Err(ConfigError::InFile { line, why, .. }) => (line, why),
            other => panic!("{other:?}"),
        };
        let (line, why) = at("[server]\nworkers = 1\nlisten_adress = \"x\"");
        assert_eq!(line, 3);
        assert!(why.contains("listen_adress") && why.contains("listen"), "{why}");
        let (line, why) = at("\n[server]\nworkers = \"many\"");
        assert_eq!(line, 3);
        assert!(why.contains("string"), "{why}");
        let refused = read("", &[("MUSTER__SERVER__WORKERS", "many")]).unwrap_err().to_string();
        assert!(refused.starts_with("MUSTER__SERVER__WORKERS: "), "{refused}");
        let refused = read("", &[("MUSTER__NOWHERE__X", "1")]).unwrap_err().to_string();
        assert!(refused.contains("MUSTER__NOWHERE__X") && refused.contains("nowhere"), "{refused}");
        let refused = read("[llm]\nslots = 0", &[]).unwrap_err().to_string();
        assert_eq!(refused, "config.toml, line 2: llm.slots: takes 1 to 64");
    }
}
