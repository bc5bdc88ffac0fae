//! The present settings and what is built from them, replaced as a whole at a reload.
//!
//! A request takes the present value when it begins and keeps it to its end, so that no request sees parts of two
//! versions.

use std::collections::BTreeSet;
use std::sync::Arc;

use muster_core::audit::{AuditEntry, Outcome};
use muster_gateway::Chain;
use muster_providers::{EMBEDDED_PROVIDER, Registry};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use utoipa::ToSchema;

use crate::app::{App, StartError};
use crate::config::{self, Config, Source};
use crate::provider_setup::{self, ConfiguredProvider};
use crate::telemetry;

/// The values that a reload replaces together.
#[derive(Debug)]
pub struct Live {
    pub config: Config,
    pub(crate) source: Source,
    pub chain: Chain,
    /// Every provider with its adapter, which is reused if its settings do not change.
    pub(crate) served: Vec<ConfiguredProvider>,
}

impl Live {
    pub fn registry(&self) -> &Registry {
        self.chain.registry()
    }

    /// Returns the number of providers of the chain that have their key, without the embedded model.
    pub fn remote_providers(&self) -> usize {
        let registry = self.registry();
        let able = |id: &&str| *id != EMBEDDED_PROVIDER && registry.missing_key(id).is_none();
        registry.chain().filter(able).count()
    }
}

/// Read access to the present value. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LiveReader(pub(crate) watch::Receiver<Arc<Live>>);

impl LiveReader {
    pub fn now(&self) -> Arc<Live> {
        Arc::clone(&self.0.borrow())
    }
}

/// Result of a reload. A file whose content changed is named by its setting, with its path: `agents.files (own.toml)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Reloaded {
    /// Settings that changed and are in effect now, such as `chain.retries`.
    pub reloaded: Vec<String>,
    /// Settings that changed but need a restart; they stay as they were.
    pub needs_restart: Vec<String>,
}

impl Reloaded {
    /// Names every setting that differs: `merged` are the settings in effect from now on, `read` those of the file.
    fn of(old: &Config, merged: &Config, read: &Config) -> Self {
        Self { reloaded: differences(old, merged), needs_restart: differences(merged, read) }
    }
}

impl App {
    /// Reads the settings again and logs what changed.
    ///
    /// # Errors
    /// A setting or file cannot be used, and nothing is changed; or it cannot be logged.
    pub async fn reload_by(&self, actor: &str) -> Result<Reloaded, StartError> {
        let done = self.reload().await;
        let (outcome, details) = match &done {
            Ok(done) => (Outcome::Ok, json!({ "reloaded": done.reloaded, "needs_restart": done.needs_restart })),
            Err(error) => (Outcome::Failed, json!({ "error": error.to_string() })),
        };
        let entry = AuditEntry::new(self.clock.now(), actor, "settings.reloaded", "settings", details);
        let logged = self.audit.append(&entry.with_outcome(outcome)).await;
        logged.map_err(|error| StartError(format!("the settings were read, and this was not logged: {error}")))?;
        if done.is_ok() {
            self.record_reload(actor).await;
        }
        // A key that `muster audit rotate-key` announced is named in the log now.
        if let Err(error) = self.audit.reload_keys().await {
            tracing::error!(%error, "the keys of the audit log were not read again");
        }
        done
    }

    /// Reads the settings again. Open connections, streams and calls continue with the old ones.
    ///
    /// # Errors
    /// A setting or file cannot be used; nothing is changed then.
    pub async fn reload(&self) -> Result<Reloaded, StartError> {
        // Reloads are serialized, or an older file could replace a newer one.
        let _turn = self.reloading.lock().await;
        let old = self.live();
        let refused = |error: &dyn std::fmt::Display| StartError(error.to_string());
        let (read, source) = old.source.reload().map_err(|error| refused(&error))?;
        read.check_reachable().map_err(|error| refused(&error))?;
        let config = merged(&old.config, read.clone());
        let Reloaded { mut reloaded, mut needs_restart } = Reloaded::of(&old.config, &config, &read);
        let registry = Arc::new(provider_setup::registry(&config, &*self.model)?);
        let served = provider_setup::providers(&config, &registry, &self.embedded, &old.served)?;
        if let Some(certificate) = self.certificate.get().and_then(Option::as_ref) {
            reloaded.extend(certificate.reload().map_err(|error| refused(&error))?);
        }
        // The content of a file that is only read at the start, if its name did not change too.
        needs_restart.extend(self.agency.changed_files());
        telemetry::set_level(&config.log).map_err(|error| refused(&error))?;
        let chain = old.chain.replaced(
            registry,
            served.iter().map(|served| served.provider.clone()).collect(),
            provider_setup::options(&config),
            Some(provider_setup::till(&config, &self.ledger, &self.clock)),
        );
        // The file is the policy while there is no quorum, and is compared with it afterwards.
        let policy = &self.oversight.policy;
        policy.take_file(&config.governance.policy()).await.map_err(|error| refused(&error))?;
        policy.freeze(config.governance.freeze);
        provider_setup::warn_of_missing_keys(chain.registry());
        self.live.send_replace(Arc::new(Live { config, source, chain, served }));
        tracing::info!(?reloaded, ?needs_restart, "settings reloaded");
        self.medical.note_settings(&reloaded).await;
        Ok(Reloaded { reloaded, needs_restart })
    }
}

/// Returns the settings from now on: the new value of each setting that is used at run time, and the old value of every
/// other, so that a setting which is not listed here is reported as one that needs a restart.
fn merged(old: &Config, new: Config) -> Config {
    Config {
        server: config::Server {
            trusted_proxies: new.server.trusted_proxies.clone(),
            ..old.server.clone().with_bodies_of(&new.server)
        },
        backup: new.backup,
        log: config::Log { format: old.log.format, ..new.log },
        auth: config::Auth { public_url: new.auth.public_url, ..old.auth.clone() },
        incidents: config::Incidents { public_feed: new.incidents.public_feed, ..old.incidents.clone() },
        agents: config::Agents {
            planner_model: new.agents.planner_model,
            fill_model: new.agents.fill_model,
            ..old.agents.clone()
        },
        provider: new.provider,
        chain: new.chain,
        chat: new.chat,
        alias: new.alias,
        fallback: new.fallback,
        equivalent: new.equivalent,
        budget: new.budget,
        governance: old.governance.reloaded(new.governance),
        images: config::Images { fallback: new.images.fallback, ..old.images.clone() },
        models: new.models,
        medical: old.medical.reloaded(new.medical),
        limits: new.limits,
        ..old.clone()
    }
}

/// Returns the names of all settings that differ, such as `chain.retries`. It compares the serialized settings, so that
/// it cannot miss one. A list is one setting.
fn differences(one: &Config, other: &Config) -> Vec<String> {
    let mut names = Vec::new();
    match (serde_json::to_value(one), serde_json::to_value(other)) {
        (Ok(one), Ok(other)) => compare("", &one, &other, &mut names),
        // Settings are texts, numbers, lists and tables, all of which can be serialized.
        (Err(error), _) | (_, Err(error)) => {
            tracing::error!(%error, "settings cannot be compared");
            names.push("all".to_owned());
        }
    }
    // Keys of providers are not serialized. They come from the environment, which does not change while a program runs.
    names
}

fn compare(name: &str, one: &Value, other: &Value, names: &mut Vec<String>) {
    let (Value::Object(one), Value::Object(other)) = (one, other) else {
        if one != other {
            names.push(name.to_owned());
        }
        return;
    };
    let members: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    for member in members {
        let name = if name.is_empty() { member.clone() } else { format!("{name}.{member}") };
        let of = |settings: &Map<String, Value>| settings.get(member).cloned().unwrap_or_default();
        compare(&name, &of(one), &of(other), names);
    }
}

#[cfg(test)]
mod tests {
    use toml::{Table, Value as Toml};

    use super::*;

    fn reload(old: &Config, new: &Config) -> Reloaded {
        Reloaded::of(old, &merged(old, new.clone()), new)
    }

    #[test]
    fn settings_that_need_a_restart_are_reported_and_unchanged() {
        let old = Config::default();
        let mut new = Config::default();
        new.server.workers = 7;
        new.server.max_body_bytes = 2048;
        new.llm.slots = 2;
        new.memory.shared = vec!["team".to_owned()];
        new.chain.retries = 4;
        let merged = merged(&old, new.clone());
        assert_eq!((merged.server.workers, merged.server.max_body_bytes), (0, 2048));
        assert_eq!((merged.llm.slots, merged.chain.retries), (old.llm.slots, 4));
        assert_eq!(merged.memory, old.memory);
        let Reloaded { reloaded, needs_restart } = reload(&old, &new);
        assert_eq!(reloaded, ["chain.retries", "server.max_body_bytes"]);
        assert_eq!(needs_restart, ["llm.slots", "memory.shared", "server.workers"]);
        assert_eq!(reload(&old, &old), Reloaded { reloaded: Vec::new(), needs_restart: Vec::new() });
    }

    /// Values that a setting may have, one of which differs from its present one.
    fn others(present: &Toml) -> Vec<Toml> {
        let texts = |texts: &[&str]| texts.iter().map(|text| Toml::from(*text)).collect();
        match present {
            Toml::Integer(number) => [number + 1, number - 1, 1, 0, 8, 65_536].map(Toml::from).into(),
            Toml::Float(number) => [number / 2.0, number + 0.1, 0.5].map(Toml::from).into(),
            Toml::Boolean(flag) => vec![Toml::from(!flag)],
            Toml::String(_) => texts(&[
                "other",
                "json",
                "debug",
                "reject",
                "weight",
                "allow",
                "require",
                "off",
                "https://a.example",
                "127.0.0.1:1",
                "911",
                "US",
                "model",
                "none",
                "redacted_text",
            ]),
            Toml::Array(_) => {
                // The public key is the example of RFC 8037.
                let key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
                let lists = [
                    vec!["other"],
                    vec!["10.0.0.0/8"],
                    vec!["https://a.example"],
                    vec![key],
                    // The example of age's manual page.
                    vec!["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"],
                    vec!["chat"],
                    vec!["ocr"],
                    vec!["127.0.0.1:1"],
                    vec!["neural"],
                    vec!["security"],
                ];
                lists.map(Toml::from).into()
            }
            Toml::Table(_) | Toml::Datetime(_) => Vec::new(),
        }
    }

    fn set(table: &mut Table, path: &[String], value: Toml) {
        match path {
            [key] => drop(table.insert(key.clone(), value)),
            [section, rest @ ..] => set(table[section].as_table_mut().unwrap(), rest, value),
            [] => {}
        }
    }

    fn leaves(table: &Table, path: &[String], found: &mut Vec<(Vec<String>, Toml)>) {
        for (key, value) in table {
            let path = [path, std::slice::from_ref(key)].concat();
            match value {
                Toml::Table(section) => leaves(section, &path, found),
                leaf => found.push((path, leaf.clone())),
            }
        }
    }

    /// Every key of the shipped config.toml, changed alone.
    #[test]
    fn a_reload_names_every_changed_key_of_config_toml_once() {
        let shipped: Table = toml::from_str(include_str!("../config.toml")).unwrap();
        let parse = |table: &Table| config::parse(&table.to_string(), "config.toml", std::iter::empty());
        let old = parse(&shipped).unwrap();
        let mut found = Vec::new();
        leaves(&shipped, &[], &mut found);
        assert!(found.len() > 130, "{}", found.len());
        for (path, present) in found {
            let name = path.join(".");
            // A file of a certificate is only accepted with its key.
            let changed = others(&present).into_iter().filter(|other| *other != present).find_map(|other| {
                let mut table = shipped.clone();
                set(&mut table, &path, other);
                if name.starts_with("server.tls.") {
                    set(&mut table, &["server", "tls", "cert"].map(str::to_owned), "a.pem".into());
                    set(&mut table, &["server", "tls", "key"].map(str::to_owned), "b.pem".into());
                }
                // What phrases is a provider that is configured.
                if ["medical.phrasing", "medical.providers", "medical.image_providers", "media.moderation"]
                    .contains(&name.as_str())
                {
                    let provider =
                        "id = \"other\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodels = [\"m\"]";
                    let provider: Table = toml::from_str(provider).unwrap();
                    table.insert("provider".to_owned(), Toml::from(vec![provider]));
                    set(&mut table, &["medical", "providers"].map(str::to_owned), vec!["other"].into());
                }
                if name == "governance.witnesses" {
                    // A cosignature key with the public key of RFC 8037.
                    let witness = "url = \"https://w.example\"\nvkey = \"w.example+4a98ebc3+BNdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea\"";
                    set(&mut table, &path, vec![Toml::from(toml::from_str::<Table>(witness).unwrap())].into());
                }
                parse(&table).ok().filter(|new| *new != old)
            });
            let new = changed.unwrap_or_else(|| panic!("{name}: none of the values is accepted"));
            let Reloaded { reloaded, needs_restart } = reload(&old, &new);
            let named = reloaded.iter().chain(&needs_restart).filter(|other| **other == name).count();
            assert_eq!(named, 1, "{name}: {reloaded:?} {needs_restart:?}");
        }
    }

    #[test]
    fn a_provider_is_named_by_its_list_and_a_model_by_its_key() {
        let old = Config::default();
        let new = "[[provider]]\nid = \"one\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodels = [\"m\"]\n\
                   [budget]\nmodels = { \"m\" = 5.0 }\n[limits.plan_a.enterprise]\nrequests_per_day = 7\n";
        let new = config::parse(new, "config.toml", std::iter::empty()).unwrap();
        let Reloaded { reloaded, needs_restart } = reload(&old, &new);
        assert_eq!(reloaded, ["budget.models.m", "limits.plan_a.enterprise.requests_per_day", "provider"]);
        assert!(needs_restart.is_empty(), "{needs_restart:?}");
    }
}
