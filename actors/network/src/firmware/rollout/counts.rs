//! Counts of executions by state.

use std::collections::BTreeMap;

use crate::firmware::execution::ExecState;

/// Number of executions in each state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionCounts([u32; ExecState::ALL.len()]);

impl ExecutionCounts {
    pub fn of(&self, state: ExecState) -> u32 {
        self.0.get(state as usize).copied().unwrap_or(0)
    }

    /// Returns how many are in a state for which `holds` is true.
    pub fn count(&self, holds: impl Fn(ExecState) -> bool) -> u32 {
        ExecState::ALL.into_iter().filter(|state| holds(*state)).map(|state| self.of(state)).sum()
    }

    /// Returns the number of executions.
    #[cfg(test)]
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    /// Returns the number that thresholds refer to: all but removed and canceled ones.
    pub fn counted(&self) -> u32 {
        self.count(|state| !matches!(state, ExecState::Removed | ExecState::Canceled))
    }

    /// Returns the number of failures, including executions that are being rolled back.
    pub fn failures(&self) -> u32 {
        self.count(|state| state.is_failure() || state == ExecState::RollingBack)
    }

    pub fn successes(&self) -> u32 {
        self.count(ExecState::is_success)
    }

    /// Returns the number of unfinished executions.
    pub fn open(&self) -> u32 {
        self.count(|state| !state.is_terminal())
    }

    /// Returns the count of every state by its name.
    pub fn named(&self) -> BTreeMap<&'static str, u32> {
        ExecState::ALL.into_iter().map(|state| (state.name(), self.of(state))).collect()
    }

    pub(super) fn add(&mut self, state: ExecState) {
        if let Some(count) = self.0.get_mut(state as usize) {
            *count += 1;
        }
    }

    pub(super) fn transfer(&mut self, from: ExecState, to: ExecState) {
        if let Some(count) = self.0.get_mut(from as usize) {
            *count = count.saturating_sub(1);
        }
        self.add(to);
    }
}
