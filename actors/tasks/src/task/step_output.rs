//! Output of running steps: log lines and model output. Collected outside of the actor, so that a step with much output
//! does not slow down others.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::executor::{Level, StepEvent};
use crate::engine::EngineProgress;
use muster_core::Millis;

/// Maximum number of lines kept per task: the newest.
const MAX_LINES: usize = 2_000;
/// Maximum length of a line, in bytes; the rest is truncated.
const MAX_LINE: usize = 4 << 10;
/// Maximum size of the lines kept per task, in bytes.
const MAX_LINES_BYTES: usize = 1 << 20;
/// Maximum size of the partial text, in bytes.
const MAX_PARTIAL: usize = 256 << 10;
/// Maximum number of lines published per task and batch: the newest; their numbers show the gap.
const MAX_PUBLISHED: usize = 20;
/// Number of ended tasks whose lines remain readable.
const MAX_RETIRED: usize = 1_000;

/// A line of a task's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// Counts from 1 within the task; a gap means that lines were dropped. Restarts at 1 after a restart of the server.
    pub n: u64,
    /// Index of the step.
    pub step: u32,
    /// Level of the line.
    pub level: Level,
    /// The line, at most 4 KiB.
    pub text: String,
    /// Time at which it was written.
    pub at: Millis,
}

/// Output since the last publication.
#[derive(Debug, Default)]
pub(super) struct UnpublishedOutput {
    pub(super) delta: String,
    pub(super) lines: Vec<LogLine>,
    /// The step, and how far its engine has come.
    pub(super) progress: Option<(u32, EngineProgress)>,
}

#[derive(Debug, Default)]
struct BufferState {
    step: u32,
    open: bool,
    lines: VecDeque<LogLine>,
    lines_bytes: usize,
    last: u64,
    published_count: u64,
    partial: String,
    /// Number of bytes of `partial` that were published.
    partial_published: usize,
    /// The latest progress of the step, if it was not published.
    progress: Option<EngineProgress>,
    /// Whether the task is in the list of those with unpublished output.
    listed: bool,
}

/// Output of one task's steps.
#[derive(Debug)]
pub(super) struct StepOutputBuffer {
    pub(super) id: Arc<str>,
    pub(super) owner: Arc<str>,
    state: Mutex<BufferState>,
}

/// Truncates a text to at most this many bytes, between characters.
fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

impl StepOutputBuffer {
    fn state(&self) -> MutexGuard<'_, BufferState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an attempt of a step and clears the partial text of the previous one.
    pub(super) fn open(&self, step: u32) {
        let mut state = self.state();
        state.step = step;
        state.open = true;
        state.partial.clear();
        state.partial_published = 0;
        state.progress = None;
    }

    /// Ends the attempt; returns its partial text. Later output is ignored.
    pub(super) fn close(&self) -> String {
        let mut state = self.state();
        state.open = false;
        state.partial.clone()
    }

    /// Removes and returns the unpublished output.
    pub(super) fn unpublished(&self) -> UnpublishedOutput {
        let mut state = self.state();
        state.listed = false;
        let delta = state.partial.get(state.partial_published..).unwrap_or_default().to_owned();
        state.partial_published = state.partial.len();
        let unpublished_lines =
            usize::try_from(state.last - state.published_count).unwrap_or(usize::MAX).min(MAX_PUBLISHED);
        let lines = state.lines.range(state.lines.len().saturating_sub(unpublished_lines)..).cloned().collect();
        state.published_count = state.last;
        let progress = state.progress.take().map(|progress| (state.step, progress));
        UnpublishedOutput { delta, lines, progress }
    }

    /// Returns at most `limit` lines after the one with this number.
    pub(super) fn lines(&self, after: u64, limit: usize) -> Vec<LogLine> {
        let state = self.state();
        state.lines.iter().filter(|line| line.n > after).take(limit).cloned().collect()
    }

    /// Adds output; returns whether the task must be added to the list of those with unpublished output.
    fn take(&self, event: StepEvent<'_>, now: Millis) -> bool {
        let mut state = self.state();
        if !state.open {
            return false;
        }
        match event {
            StepEvent::Delta(text) => {
                let left = MAX_PARTIAL - state.partial.len().min(MAX_PARTIAL);
                state.partial.push_str(cut(text, left));
            }
            StepEvent::Log(level, text) => state.line(level, cut(text, MAX_LINE), now),
            StepEvent::Progress(progress) => state.progress = Some(progress.clone()),
        }
        !std::mem::replace(&mut state.listed, true)
    }
}

impl BufferState {
    fn line(&mut self, level: Level, text: &str, at: Millis) {
        self.last += 1;
        self.lines_bytes += text.len();
        self.lines.push_back(LogLine { n: self.last, step: self.step, level, text: text.to_owned(), at });
        while self.lines.len() > MAX_LINES || self.lines_bytes > MAX_LINES_BYTES {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.lines_bytes -= oldest.text.len();
        }
    }
}

/// Outputs of live and recently ended tasks.
#[derive(Debug, Default)]
pub(super) struct OutputBuffers {
    known: Mutex<KnownBuffers>,
    /// Tasks with unpublished output.
    listed: crossbeam_queue::SegQueue<Arc<StepOutputBuffer>>,
    /// Notified when there is unpublished output.
    pub(super) wake: tokio::sync::Notify,
}

#[derive(Debug, Default)]
struct KnownBuffers {
    buffers: HashMap<Arc<str>, Arc<StepOutputBuffer>>,
    retired: VecDeque<Arc<str>>,
}

impl OutputBuffers {
    fn known(&self) -> MutexGuard<'_, KnownBuffers> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the output of a task, creating it if necessary.
    pub(super) fn of(&self, id: &Arc<str>, owner: &Arc<str>) -> Arc<StepOutputBuffer> {
        let made = || StepOutputBuffer { id: Arc::clone(id), owner: Arc::clone(owner), state: Mutex::default() };
        Arc::clone(self.known().buffers.entry(Arc::clone(id)).or_insert_with(|| Arc::new(made())))
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<StepOutputBuffer>> {
        self.known().buffers.get(id).cloned()
    }

    /// Marks a task as ended: its lines are kept for a while.
    pub(super) fn retire(&self, id: &Arc<str>) {
        let mut known = self.known();
        if !known.buffers.contains_key(id) {
            return;
        }
        known.retired.push_back(Arc::clone(id));
        if known.retired.len() > MAX_RETIRED
            && let Some(oldest) = known.retired.pop_front()
        {
            known.buffers.remove(&oldest);
        }
    }

    /// Adds output of a step.
    pub(super) fn add(&self, buffer: &Arc<StepOutputBuffer>, event: StepEvent<'_>, now: Millis) {
        if buffer.take(event, now) {
            self.listed.push(Arc::clone(buffer));
            self.wake.notify_one();
        }
    }

    /// Removes and returns at most `most` tasks with unpublished output.
    pub(super) fn listed(&self, most: usize) -> Vec<Arc<StepOutputBuffer>> {
        std::iter::from_fn(|| self.listed.pop()).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer() -> (OutputBuffers, Arc<StepOutputBuffer>) {
        let buffers = OutputBuffers::default();
        let buffer = buffers.of(&Arc::from("task_1"), &Arc::from("key_1"));
        buffer.open(0);
        (buffers, buffer)
    }

    #[test]
    fn the_last_two_thousand_lines_are_kept_and_gaps_are_visible() {
        let (buffers, buffer) = buffer();
        for n in 0..3_000 {
            buffers.add(&buffer, StepEvent::Log(Level::Info, &format!("line {n}")), Millis(n));
        }
        let kept = buffer.lines(0, usize::MAX);
        assert_eq!((kept.len(), kept[0].n, kept[1_999].n), (2_000, 1_001, 3_000));
        assert_eq!(buffer.lines(2_998, 10).len(), 2);
        let unpublished = buffer.unpublished();
        assert_eq!(
            unpublished.lines.iter().map(|line| line.n).collect::<Vec<_>>(),
            (2_981..=3_000).collect::<Vec<_>>()
        );
        assert!(buffer.unpublished().lines.is_empty(), "published once");
        assert_eq!(buffers.listed(10).len(), 1, "listed once, however much it has");
    }

    #[test]
    fn partial_text_is_bounded_and_closed_buffers_ignore_output() {
        let (buffers, buffer) = buffer();
        (0..200_000).for_each(|_| buffers.add(&buffer, StepEvent::Delta("ä€"), Millis(0)));
        let partial = buffer.close();
        assert!(partial.len() <= MAX_PARTIAL && partial.len() > MAX_PARTIAL - 5, "{}", partial.len());
        buffers.add(&buffer, StepEvent::Delta("late"), Millis(0));
        assert_eq!(buffer.close(), partial);
        assert_eq!(buffer.unpublished().delta, partial, "the remaining text is published");
        buffer.open(1);
        assert_eq!(buffer.close(), "");
    }

    #[test]
    fn the_latest_progress_is_published_once_and_not_that_of_an_attempt_before() {
        let (buffers, buffer) = buffer();
        let progress = |done| EngineProgress { done, total: 9, phase: "search".to_owned() };
        for done in 1..4 {
            buffers.add(&buffer, StepEvent::Progress(&progress(done)), Millis(0));
        }
        assert_eq!(buffers.listed(10).len(), 1);
        assert_eq!(buffer.unpublished().progress, Some((0, progress(3))));
        assert_eq!(buffer.unpublished().progress, None);
        buffers.add(&buffer, StepEvent::Progress(&progress(4)), Millis(0));
        buffer.open(1);
        assert_eq!(buffer.unpublished().progress, None);
    }

    #[test]
    fn lines_are_truncated_and_bounded_in_bytes() {
        let (buffers, buffer) = buffer();
        (0..1_000).for_each(|_| buffers.add(&buffer, StepEvent::Log(Level::Warn, &"x".repeat(10_000)), Millis(0)));
        let lines = buffer.lines(0, usize::MAX);
        assert!(lines.iter().all(|line| line.text.len() == MAX_LINE));
        assert_eq!(lines.len(), MAX_LINES_BYTES / MAX_LINE);
    }
}
