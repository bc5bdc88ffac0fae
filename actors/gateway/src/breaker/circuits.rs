//! The circuits of one provider, as a pure state machine: one breaker for the provider as a whole, and one for each of
//! its models.
//!
//! A fault counts where it belongs: a refused connection, a rejected key and a limit of the account against the
//! provider; an unknown name, an error status, a time-out and a malformed answer against the model that was called. A
//! broken model thus leaves the provider's other models in service.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use muster_providers::FaultScope;

use super::state::{Admission, Breaker, BreakerOptions, BreakerState, Grant, Outcome, Reason};
use super::window::{Tally, Window};

/// Maximum number of models of a provider that have a breaker: clients may name any model where the settings accept `*`.
const MAX_MODELS: usize = 256;

/// The breakers of one provider.
#[derive(Debug, Clone)]
pub struct Circuits {
    options: BreakerOptions,
    provider: Breaker,
    models: HashMap<Arc<str>, ModelCircuit>,
    /// Calls of all models, for status.
    all: Window,
}

#[derive(Debug, Clone, Copy)]
struct ModelCircuit {
    breaker: Breaker,
    used: Duration,
}

/// Admission of one call by both breakers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircuitGrant {
    provider: Grant,
    model: Grant,
    /// Name of the model at the provider.
    pub name: Arc<str>,
}

impl CircuitGrant {
    /// Returns whether the call is a probe of one of the breakers, or passes an open one: its outcome may change a state
    /// that is not closed.
    pub fn decides(&self) -> bool {
        [self.provider, self.model].into_iter().any(|grant| grant.probe || grant.forced)
    }
}

/// Decision about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CircuitAdmission {
    /// The call may be made.
    Granted(CircuitGrant),
    /// The call must not be made.
    Refused {
        /// When to try again.
        retry_in: Duration,
        /// Why the refusing breaker is open.
        reason: Reason,
    },
}

/// A model's breaker, for status.
#[derive(Debug, Clone, Copy)]
pub struct ModelView<'a> {
    /// Name of the model at the provider.
    pub name: &'a str,
    /// Its breaker.
    pub breaker: &'a Breaker,
}

impl Circuits {
    /// Creates closed breakers.
    pub fn new(options: BreakerOptions) -> Self {
        Self { options, provider: Breaker::new(options), models: HashMap::new(), all: Window::new(options.window) }
    }

    /// Returns the breaker of the provider as a whole.
    pub fn provider(&self) -> &Breaker {
        &self.provider
    }

    /// Returns the breaker of a model, if one of its calls was counted.
    pub fn model(&self, name: &str) -> Option<&Breaker> {
        self.models.get(name).map(|circuit| &circuit.breaker)
    }

    /// Returns the state of a model's breaker; closed for a model without one.
    pub fn model_state(&self, name: &str) -> BreakerState {
        self.model(name).map_or(BreakerState::Closed, Breaker::state)
    }

    /// Returns the models whose breaker is not closed, by name.
    pub fn troubled(&self) -> Vec<ModelView<'_>> {
        let views = self.models.iter().map(|(name, circuit)| ModelView { name, breaker: &circuit.breaker });
        let mut troubled: Vec<_> = views.filter(|view| view.breaker.state() != BreakerState::Closed).collect();
        troubled.sort_unstable_by_key(|view| view.name);
        troubled
    }

    /// Returns the calls and failures of the current window, over all models.
    pub fn tally(&self, now: Duration) -> Tally {
        self.all.tally(now)
    }

    /// Returns how long a caller of this model has to wait; `None` if a call would be admitted now.
    pub fn wait(&self, model: &str, now: Duration) -> Option<Duration> {
        let waits = [self.provider.wait(now), self.model(model).and_then(|breaker| breaker.wait(now))];
        waits.into_iter().flatten().max()
    }

    /// Admits a call without a state change, which only closed breakers allow; `None` if [`admit`](Self::admit) must
    /// decide.
    pub fn admit_closed(&self, model: &str) -> Option<CircuitGrant> {
        let provider = self.provider.admit_closed()?;
        let (name, grant) = match self.models.get_key_value(model) {
            Some((name, circuit)) => (Arc::clone(name), circuit.breaker.admit_closed()?),
            None => (Arc::from(model), Grant::first()),
        };
        Some(CircuitGrant { provider, model: grant, name })
    }

    /// Decides whether a call of this model may be made.
    pub fn admit(&mut self, model: &str, now: Duration) -> CircuitAdmission {
        // Neither breaker becomes half-open for a call that the other one refuses.
        if let Some(refused) = self.refusal(model, now) {
            return refused;
        }
        let Admission::Granted(provider) = self.provider.admit(now) else { return refusal(&self.provider, now) };
        let (name, grant) = match self.models.get_key_value(model).map(|(name, _)| Arc::clone(name)) {
            None => (Arc::from(model), Grant::first()),
            Some(name) => match self.models.get_mut(model) {
                None => (name, Grant::first()),
                Some(circuit) => match circuit.breaker.admit(now) {
                    Admission::Granted(grant) => (name, grant),
                    Admission::Refused { .. } => return refusal(&circuit.breaker, now),
                },
            },
        };
        CircuitAdmission::Granted(CircuitGrant { provider, model: grant, name })
    }

    /// Decides whether a call may be made although a breaker is open, because no other provider could answer: one call
    /// in [`PANIC_EVERY`](super::state::PANIC_EVERY) is let through, unless the provider announced when to come back.
    pub fn admit_despite_open(&mut self, model: &str, now: Duration) -> CircuitAdmission {
        let Some(refused) = self.refusal(model, now) else { return self.admit(model, now) };
        let provider_waits = self.provider.wait(now).is_some();
        // Only a breaker that refuses counts this call; one that does not may admit it as its probe, and is asked last.
        let forced = if provider_waits { self.provider.admit_despite_open(now) } else { None };
        if provider_waits && forced.is_none() {
            return refused;
        }
        let (name, grant) = match self.models.get_key_value(model).map(|(name, _)| Arc::clone(name)) {
            None => (Arc::from(model), Some(Grant::first())),
            Some(name) => {
                let circuit = self.models.get_mut(model);
                (name, circuit.map_or(Some(Grant::first()), |circuit| circuit.breaker.admit_despite_open(now)))
            }
        };
        let (Some(model), Some(provider)) = (grant, forced.or_else(|| self.provider.admit_despite_open(now))) else {
            return refused;
        };
        CircuitAdmission::Granted(CircuitGrant { provider, model, name })
    }

    fn refusal(&self, model: &str, now: Duration) -> Option<CircuitAdmission> {
        let refusing = |breaker: &Breaker| breaker.wait(now).map(|_| refusal(breaker, now));
        refusing(&self.provider).or_else(|| self.model(model).and_then(refusing))
    }

    /// Applies the outcome of a call. `scope` is whose failure it is.
    pub fn report(&mut self, now: Duration, grant: &CircuitGrant, outcome: Outcome, scope: FaultScope, jitter: f64) {
        match outcome {
            Outcome::Success => self.all.record(now, 0),
            Outcome::Failure { .. } | Outcome::Throttled { .. } | Outcome::Hard => self.all.record(now, 1),
            Outcome::Alive | Outcome::ClientFault | Outcome::Cancelled => {}
        }
        let failed = matches!(outcome, Outcome::Failure { .. } | Outcome::Throttled { .. } | Outcome::Hard);
        let (provider, model) = match scope {
            // What the provider refuses says nothing about the model.
            FaultScope::Provider if failed => (outcome, Outcome::Cancelled),
            // A provider that answers for a model is alive.
            FaultScope::Model if failed => (Outcome::ClientFault, outcome),
            FaultScope::Provider | FaultScope::Model => (outcome, outcome),
        };
        self.provider.report(now, grant.provider, provider, jitter);
        if model == Outcome::Cancelled && !self.models.contains_key(&grant.name) {
            return;
        }
        if let Some(circuit) = self.circuit(&grant.name, now) {
            circuit.used = now;
            circuit.breaker.report(now, grant.model, model, jitter);
        }
    }

    /// Returns a model's circuit, which is created for its first report. `None` if there are too many that must be kept.
    fn circuit(&mut self, name: &Arc<str>, now: Duration) -> Option<&mut ModelCircuit> {
        if !self.models.contains_key(name) {
            if self.models.len() >= MAX_MODELS {
                let closed = self.models.iter().filter(|(_, it)| it.breaker.state() == BreakerState::Closed);
                let oldest = closed.min_by_key(|(_, it)| it.used).map(|(name, _)| Arc::clone(name))?;
                self.models.remove(&oldest);
            }
            let circuit = ModelCircuit { breaker: Breaker::new(self.options), used: now };
            self.models.insert(Arc::clone(name), circuit);
        }
        self.models.get_mut(name)
    }
}

fn refusal(breaker: &Breaker, now: Duration) -> CircuitAdmission {
    CircuitAdmission::Refused { retry_in: breaker.wait(now).unwrap_or_default(), reason: breaker.reason() }
}

#[cfg(test)]
#[path = "circuits_tests.rs"]
mod tests;
