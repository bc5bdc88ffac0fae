//! Executions counted by their states.

use std::collections::BTreeMap;

use crate::firmware::execution::ExecState;

/// How many executions are in each state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally([u32; ExecState::ALL.len()]);

impl Tally {
    pub fn of(&self, state: ExecState) -> u32 {
        self.0.get(state as usize).copied().unwrap_or(0)
    }

    /// How many are in a state for which `holds`.
    pub fn count(&self, holds: impl Fn(ExecState) -> bool) -> u32 {
        ExecState::ALL.into_iter().filter(|state| holds(*state)).map(|state| self.of(state)).sum()
    }

    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    /// All but those that left the target or were told to stop: what thresholds are shares of.
    pub fn counted(&self) -> u32 {
        self.count(|state| !matches!(state, ExecState::Removed | ExecState::Canceled))
    }

    /// On their way back counts as failed: it is not waited for.
    pub fn failures(&self) -> u32 {
        self.count(|state| state.is_failure() || state == ExecState::RollingBack)
    }

    pub fn successes(&self) -> u32 {
        self.count(ExecState::is_success)
    }

    /// Not at an end.
    pub fn open(&self) -> u32 {
        self.count(|state| !state.is_terminal())
    }

    /// Every state's count, by its name.
    pub fn named(&self) -> BTreeMap<&'static str, u32> {
        ExecState::ALL.into_iter().map(|state| (state.name(), self.of(state))).collect()
    }

    pub(super) fn add(&mut self, state: ExecState) {
        if let Some(count) = self.0.get_mut(state as usize) {
            *count += 1;
        }
    }

    pub(super) fn shift(&mut self, from: ExecState, to: ExecState) {
        if let Some(count) = self.0.get_mut(from as usize) {
            *count = count.saturating_sub(1);
        }
        self.add(to);
    }
}
