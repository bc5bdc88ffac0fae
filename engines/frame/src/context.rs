//! Context of an engine call.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;
use crate::language_data::LanguageData;
use crate::need::{Answer, Answered, Need};
use crate::wire::ToValue;

/// Maximum number of warnings per call; further ones are only counted in the last one.
const MAX_WARNINGS: usize = 100;
/// Maximum number of steps and of assumptions that an explanation has.
const MAX_EXPLAINED: usize = 200;
/// Maximum number of needs of one call.
pub const MAX_NEEDS: usize = 4;

/// Receives how far a call has come.
type OnProgress = Box<dyn Fn(Progress<'_>) + Send>;

/// Context of one call.
#[derive(Default)]
pub struct Context {
    workspace: Option<PathBuf>,
    languages: Arc<LanguageData>,
    warnings: RefCell<Vec<String>>,
    explained: Option<RefCell<Explained>>,
    answers: Vec<Answered>,
    asked: Cell<usize>,
    refusal: Option<String>,
    on_stack: Option<Box<dyn Fn(usize) + Send>>,
    on_progress: Option<OnProgress>,
    clock: Option<Box<dyn Fn() -> Duration + Send>>,
}

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress<'a> {
    /// Units of work that are done.
    pub done: u64,
    /// Units of work in this phase; 0 if unknown.
    pub total: u64,
    /// Name of the phase.
    pub phase: &'a str,
}

/// A step of a computation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Name of the quantity.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Its unit; empty for none.
    pub unit: String,
}

/// What an engine reports of the way to its answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// Intermediate results, in order.
    pub steps: Vec<Step>,
    /// What was assumed where the input says nothing.
    pub assumptions: Vec<String>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// Reservation of stack memory; released on drop.
pub(crate) struct StackReservation<'a>(&'a Context);

impl Drop for StackReservation<'_> {
    fn drop(&mut self) {
        self.0.report_stack(0);
    }
}

/// What the caller of an engine sets.
impl Context {
    /// Creates the context of a call that may read files below `root`.
    pub fn with_workspace(root: PathBuf) -> Self {
        Self { workspace: Some(root), ..Self::default() }
    }

    /// Adds the data of languages.
    #[must_use]
    pub fn with_languages(self, languages: Arc<LanguageData>) -> Self {
        Self { languages, ..self }
    }

    /// Keeps steps and assumptions for [`Self::finish`].
    #[must_use]
    pub fn with_explanation(self) -> Self {
        Self { explained: Some(RefCell::default()), ..self }
    }

    /// Adds the answers to the needs of earlier runs of this call, in order.
    #[must_use]
    pub fn with_answers(self, answers: Vec<Answered>) -> Self {
        Self { answers, ..self }
    }

    /// Refuses each need that has no answer yet.
    #[must_use]
    pub fn refusing(self, why: impl Into<String>) -> Self {
        Self { refusal: Some(why.into()), ..self }
    }

    /// Sets a callback for the bytes that the engine's own stack reserves, and 0 when it is freed; used by calls with a
    /// memory limit.
    #[must_use]
    pub fn with_stacks(self, on_stack: impl Fn(usize) + Send + 'static) -> Self {
        Self { on_stack: Some(Box::new(on_stack)), ..self }
    }

    /// Sets a callback for the progress of long calls.
    #[must_use]
    pub fn with_progress(self, on_progress: impl Fn(Progress<'_>) + Send + 'static) -> Self {
        Self { on_progress: Some(Box::new(on_progress)), ..self }
    }

    /// Sets the clock of the engines that measure their parts: the time since the call began.
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> Duration + Send + 'static) -> Self {
        Self { clock: Some(Box::new(clock)), ..self }
    }

    /// Returns the warnings.
    pub fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner()
    }

    /// Returns the warnings and, if it was requested, the explanation.
    pub fn finish(self) -> (Vec<String>, Option<Explained>) {
        (self.warnings.into_inner(), self.explained.map(RefCell::into_inner))
    }
}

/// What an engine uses.
impl Context {
    /// Returns the data of languages; empty if none was fetched.
    pub fn languages(&self) -> &LanguageData {
        &self.languages
    }

    /// Returns the folder that `workspace` engines may read.
    ///
    /// # Errors
    /// `Failure::NoWorkspace` if the operator has not configured one.
    pub fn workspace(&self) -> Result<&Path, Failure> {
        self.workspace.as_deref().ok_or(Failure::NoWorkspace)
    }

    /// Adds a warning about the output. It begins with a stable word and a colon, such as `extrapolated: …`.
    pub fn warn(&self, text: impl Into<String>) {
        let mut warnings = self.warnings.borrow_mut();
        match warnings.len() {
            0..MAX_WARNINGS => warnings.push(text.into()),
            MAX_WARNINGS => warnings.push("more warnings were omitted".to_owned()),
            _ => {}
        }
    }

    /// Adds an intermediate result to the explanation, if one was requested. `unit` is empty for none.
    pub fn step(&self, name: &str, value: impl ToValue, unit: &str) {
        self.explain(|explained| {
            let step = Step { name: name.to_owned(), value: value.to_value(), unit: unit.to_owned() };
            push(&mut explained.steps, step);
        });
    }

    /// Adds an assumption to the explanation, if one was requested.
    pub fn assume(&self, text: impl Into<String>) {
        self.explain(|explained| push(&mut explained.assumptions, text.into()));
    }

    /// Whether an explanation was requested: steps that are costly to compute are left out otherwise.
    pub fn explains(&self) -> bool {
        self.explained.is_some()
    }

    fn explain(&self, add: impl FnOnce(&mut Explained)) {
        if let Some(explained) = &self.explained {
            add(&mut explained.borrow_mut());
        }
    }

    /// Returns the server's answer to a need of a `model` or `state` engine. Needs are asked in the same order in each
    /// run of a call: an engine is a function of its input and the answers so far.
    ///
    /// # Errors
    /// `Failure::Needs` if the call has not brought the answer, which ends this run: return it. `Failure::Internal` if
    /// the need differs from the one that was answered, or is one too many.
    pub fn ask(&self, need: Need) -> Result<Answer, Failure> {
        let at = self.asked.replace(self.asked.get() + 1);
        match self.answers.get(at) {
            Some(answered) if answered.need == need => Ok(answered.answer.clone()),
            Some(answered) => Err(Failure::internal(format!(
                "need {} is {} and was {} with other arguments or kind in the run before",
                at + 1,
                need.name(),
                answered.need.name()
            ))),
            None if at >= MAX_NEEDS => Err(Failure::internal(format!("more than {MAX_NEEDS} needs"))),
            None => match &self.refusal {
                Some(why) => Ok(Answer::Refused { why: why.clone() }),
                None => Err(Failure::Needs { need }),
            },
        }
    }

    /// Reports how far a long call has come. `total` is 0 if it is unknown.
    pub fn progress(&self, done: u64, total: u64, phase: &str) {
        if let Some(on_progress) = &self.on_progress {
            on_progress(Progress { done, total, phase });
        }
    }

    /// Returns the time since the call began; zero where the caller set no clock. Only for what reports durations.
    pub fn elapsed(&self) -> Duration {
        self.clock.as_ref().map_or(Duration::ZERO, |clock| clock())
    }

    pub(crate) fn reserve_stack(&self, bytes: usize) -> StackReservation<'_> {
        self.report_stack(bytes);
        StackReservation(self)
    }

    fn report_stack(&self, bytes: usize) {
        if let Some(on_stack) = &self.on_stack {
            on_stack(bytes);
        }
    }
}

fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() < MAX_EXPLAINED {
        list.push(item);
    }
}
