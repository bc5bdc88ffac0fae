//! Settings of agents and their tasks.

use std::path::PathBuf;
use std::time::Duration;

use muster_tasks::agent::{AgentOptions, CatalogueFile};
use muster_tasks::task::TaskSettings;
use serde::{Deserialize, Serialize};

use super::ConfigError;

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Agents {
    /// Largest number of running tasks.
    pub slots: usize,
    /// Largest number of running tasks of one key or user.
    pub per_key: usize,
    /// Largest number of waiting tasks of one key or user.
    pub queue_per_key: usize,
    /// Largest number of unfinished tasks in total.
    pub max_live: usize,
    /// Longest time that a task waits for a slot, in seconds.
    pub queue_timeout_seconds: u64,
    /// Number of retries of a failed step.
    pub retries: u32,
    /// Model that plans and writes. Empty: the first model of the chain that supports tool calls; if there is none, the
    /// fixed plan is used. `none`: always the fixed plan.
    pub planner_model: String,
    /// Model that looks for missing params in the instruction where no model plans. Empty: none does, and the task waits
    /// for them.
    pub fill_model: String,
    /// Largest number of steps of a task that a model plans.
    pub max_steps: usize,
    /// Largest number of open event streams of tasks of one key or user.
    pub streams_per_key: usize,
    /// Days that a finished task can be read.
    pub keep_days: u64,
    /// Number of threads that run steps; 0 means one per core.
    pub threads: usize,
    /// Files with agents of the operator, in the format of the built-in catalogue.
    pub files: Vec<PathBuf>,
}

impl Default for Agents {
    fn default() -> Self {
        let (tasks, agents) = (TaskSettings::default(), AgentOptions::default());
        Self {
            slots: tasks.slots,
            per_key: tasks.per_key,
            queue_per_key: tasks.queue_per_key,
            max_live: tasks.max_live,
            queue_timeout_seconds: tasks.queue_timeout.as_secs(),
            retries: tasks.retries,
            planner_model: String::new(),
            fill_model: String::new(),
            max_steps: agents.max_steps,
            streams_per_key: 16,
            keep_days: tasks.keep_ended.as_secs() / 86_400,
            threads: 0,
            files: Vec::new(),
        }
    }
}

impl Agents {
    pub fn tasks(&self) -> TaskSettings {
        TaskSettings {
            slots: self.slots,
            per_key: self.per_key,
            queue_per_key: self.queue_per_key,
            max_live: self.max_live,
            queue_timeout: Duration::from_secs(self.queue_timeout_seconds),
            retries: self.retries,
            keep_ended: Duration::from_secs(self.keep_days * 86_400),
            ..TaskSettings::default()
        }
    }

    pub fn options(&self) -> AgentOptions {
        AgentOptions { max_steps: self.max_steps, ..AgentOptions::default() }
    }

    /// Reads the operator's files.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read_files(&self) -> Result<Vec<CatalogueFile>, ConfigError> {
        let read = |file: &PathBuf| {
            let name = file.display().to_string();
            let why = |error: std::io::Error| format!("{name} cannot be read: {error}");
            let text = std::fs::read_to_string(file)
                .map_err(|error| ConfigError::Bad { setting: "agents.files".to_owned(), why: why(error) })?;
            Ok(CatalogueFile { name, text })
        };
        self.files.iter().map(read).collect()
    }

    /// # Errors
    /// A value is out of its range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bounds = [
            ("slots", self.slots as u64, 1, 100_000),
            ("per_key", self.per_key as u64, 1, 100_000),
            ("queue_per_key", self.queue_per_key as u64, 1, 1_000_000),
            ("max_live", self.max_live as u64, 1, 10_000_000),
            ("queue_timeout_seconds", self.queue_timeout_seconds, 1, 30 * 86_400),
            ("retries", self.retries.into(), 0, 100),
            ("max_steps", self.max_steps as u64, 1, 200),
            ("streams_per_key", self.streams_per_key as u64, 1, 10_000),
            ("keep_days", self.keep_days, 1, 3_650),
            ("threads", self.threads as u64, 0, 256),
        ];
        for (name, value, least, most) in bounds {
            if !(least..=most).contains(&value) {
                let why = format!("takes {least} to {most}");
                return Err(ConfigError::Bad { setting: format!("agents.{name}"), why });
            }
        }
        Ok(())
    }
}
