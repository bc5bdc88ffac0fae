//! Public face of compliance: evaluates controls by what a source finds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use muster_core::{Clock, Error, Kind, Millis};

use super::control::{Control, Evidence, EvidenceKind, controls};
use super::evaluate::{ControlState, Found, evaluate};

const DAY: Duration = Duration::from_secs(86_400);

/// Where evidence is found.
pub trait EvidenceSource: Send + Sync {
    /// Returns [`Found::Entries`]: those of any of the actions, from a time on. The count may be bounded.
    fn entries<'a>(&'a self, actions: Vec<&'a str>, from: Millis) -> BoxFuture<'a, Result<Found, Error>>;

    /// Returns the last result of a module of health, or [`Found::Nothing`].
    fn probe(&self, module: &str) -> Found;

    /// Returns a setting, by its name with its section, or [`Found::Nothing`].
    fn setting(&self, name: &str) -> Found;

    /// Returns a number of records by the name of their kind, or [`Found::Nothing`].
    fn records<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Found, Error>>;

    /// Returns the approvals that except controls, by control.
    fn exceptions(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, Error>>;
}

/// The controls and their evidence. Cheap to clone.
#[derive(Clone)]
pub struct Compliance {
    controls: Arc<[Control]>,
    source: Arc<dyn EvidenceSource>,
    clock: Clock,
}

impl std::fmt::Debug for Compliance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compliance").field("controls", &self.controls.len()).finish_non_exhaustive()
    }
}

impl Compliance {
    /// Reads the controls.
    ///
    /// # Errors
    /// The data file is not valid.
    pub fn new(source: Arc<dyn EvidenceSource>, clock: &Clock) -> Result<Self, String> {
        Ok(Self { controls: controls()?.into(), source, clock: clock.clone() })
    }

    /// Returns every control and its state.
    ///
    /// # Errors
    /// Evidence cannot be read.
    pub async fn list(&self) -> Result<Vec<ControlState>, Error> {
        let exceptions = self.source.exceptions().await?;
        let mut states = Vec::with_capacity(self.controls.len());
        for control in self.controls.iter() {
            states.push(self.state(control, &exceptions).await?);
        }
        Ok(states)
    }

    /// Returns one control and its state.
    ///
    /// # Errors
    /// `NotFound`; evidence cannot be read.
    pub async fn get(&self, id: &str) -> Result<ControlState, Error> {
        let control = self.controls.iter().find(|control| control.id == id);
        let control = control.ok_or_else(|| Error::new(Kind::NotFound, format!("there is no control {id}")))?;
        self.state(control, &self.source.exceptions().await?).await
    }

    async fn state(&self, control: &Control, exceptions: &BTreeMap<String, String>) -> Result<ControlState, Error> {
        let now = self.clock.now();
        let window = DAY.saturating_mul(control.window_days);
        let from = Millis(now.0.saturating_sub(u64::try_from(window.as_millis()).unwrap_or(u64::MAX)));
        let mut found = Vec::with_capacity(control.evidence.len());
        for Evidence { kind, reference, .. } in &control.evidence {
            found.push(match kind {
                EvidenceKind::Audit => self.source.entries(reference.split('|').collect(), from).await?,
                EvidenceKind::Probe => self.source.probe(reference),
                EvidenceKind::Setting => self.source.setting(reference),
                EvidenceKind::Record => self.source.records(reference).await?,
            });
        }
        Ok(evaluate(control, found, exceptions.get(&control.id).map(String::as_str), now))
    }
}
