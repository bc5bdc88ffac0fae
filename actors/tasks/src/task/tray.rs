//! Output of running steps: log lines and model output. Collected outside of the actor, so that a step with much output
//! does not slow down others.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::work::{Level, Told};
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
const MAX_TOLD: usize = 20;
/// Number of ended tasks whose lines remain readable.
const MAX_RETIRED: usize = 1_000;

/// A line of a task's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// Counts from 1 within the task; a gap means that lines were dropped. Restarts at 1 after a restart of the server.
    pub n: u64,
    /// Index of the step.
    pub step: u32,
    pub level: Level,
    pub text: String,
    pub at: Millis,
}

/// Output since the last publication.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) delta: String,
    pub(super) lines: Vec<LogLine>,
}

#[derive(Debug, Default)]
struct Inside {
    step: u32,
    open: bool,
    lines: VecDeque<LogLine>,
    lines_bytes: usize,
    last: u64,
    told: u64,
    partial: String,
    /// Number of bytes of `partial` that were published.
    partial_told: usize,
    /// Whether the task is in the list of those with unpublished output.
    listed: bool,
}

/// Output of one task's steps.
#[derive(Debug)]
pub(super) struct Tray {
    pub(super) id: Arc<str>,
    pub(super) owner: Arc<str>,
    inside: Mutex<Inside>,
}

/// Truncates a text to at most this many bytes, between characters.
fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

impl Tray {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an attempt of a step and clears the partial text of the previous one.
    pub(super) fn open(&self, step: u32) {
        let mut inside = self.inside();
        inside.step = step;
        inside.open = true;
        inside.partial.clear();
        inside.partial_told = 0;
    }

    /// Ends the attempt; returns its partial text. Later output is ignored.
    pub(super) fn close(&self) -> String {
        let mut inside = self.inside();
        inside.open = false;
        inside.partial.clone()
    }

    /// Removes and returns the unpublished output.
    pub(super) fn news(&self) -> News {
        let mut inside = self.inside();
        inside.listed = false;
        let delta = inside.partial.get(inside.partial_told..).unwrap_or_default().to_owned();
        inside.partial_told = inside.partial.len();
        let untold = usize::try_from(inside.last - inside.told).unwrap_or(usize::MAX).min(MAX_TOLD);
        let lines = inside.lines.range(inside.lines.len().saturating_sub(untold)..).cloned().collect();
        inside.told = inside.last;
        News { delta, lines }
    }

    /// Returns at most `limit` lines after the one with this number.
    pub(super) fn lines(&self, after: u64, limit: usize) -> Vec<LogLine> {
        let inside = self.inside();
        inside.lines.iter().filter(|line| line.n > after).take(limit).cloned().collect()
    }

    /// Adds output; returns whether the task must be added to the list of those with unpublished output.
    fn take(&self, told: Told<'_>, now: Millis) -> bool {
        let mut inside = self.inside();
        if !inside.open {
            return false;
        }
        match told {
            Told::Delta(text) => {
                let room = MAX_PARTIAL - inside.partial.len().min(MAX_PARTIAL);
                inside.partial.push_str(cut(text, room));
            }
            Told::Log(level, text) => inside.line(level, cut(text, MAX_LINE), now),
        }
        !std::mem::replace(&mut inside.listed, true)
    }
}

impl Inside {
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
pub(super) struct Trays {
    known: Mutex<Known>,
    /// Tasks with unpublished output.
    listed: crossbeam_queue::SegQueue<Arc<Tray>>,
    /// Notified when there is unpublished output.
    pub(super) wake: tokio::sync::Notify,
}

#[derive(Debug, Default)]
struct Known {
    trays: HashMap<Arc<str>, Arc<Tray>>,
    retired: VecDeque<Arc<str>>,
}

impl Trays {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the output of a task, creating it if necessary.
    pub(super) fn of(&self, id: &Arc<str>, owner: &Arc<str>) -> Arc<Tray> {
        let made = || Tray { id: Arc::clone(id), owner: Arc::clone(owner), inside: Mutex::default() };
        Arc::clone(self.known().trays.entry(Arc::clone(id)).or_insert_with(|| Arc::new(made())))
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Tray>> {
        self.known().trays.get(id).cloned()
    }

    /// Marks a task as ended: its lines are kept for a while.
    pub(super) fn retire(&self, id: &Arc<str>) {
        let mut known = self.known();
        if !known.trays.contains_key(id) {
            return;
        }
        known.retired.push_back(Arc::clone(id));
        if known.retired.len() > MAX_RETIRED
            && let Some(oldest) = known.retired.pop_front()
        {
            known.trays.remove(&oldest);
        }
    }

    /// Adds output of a step.
    pub(super) fn tell(&self, tray: &Arc<Tray>, told: Told<'_>, now: Millis) {
        if tray.take(told, now) {
            self.listed.push(Arc::clone(tray));
            self.wake.notify_one();
        }
    }

    /// Removes and returns at most `most` tasks with unpublished output.
    pub(super) fn listed(&self, most: usize) -> Vec<Arc<Tray>> {
        std::iter::from_fn(|| self.listed.pop()).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tray() -> (Trays, Arc<Tray>) {
        let trays = Trays::default();
        let tray = trays.of(&Arc::from("task_1"), &Arc::from("key_1"));
        tray.open(0);
        (trays, tray)
    }

    #[test]
    fn the_last_two_thousand_lines_are_kept_and_a_gap_shows() {
        let (trays, tray) = tray();
        for n in 0..3_000 {
            trays.tell(&tray, Told::Log(Level::Info, &format!("line {n}")), Millis(n));
        }
        let kept = tray.lines(0, usize::MAX);
        assert_eq!((kept.len(), kept[0].n, kept[1_999].n), (2_000, 1_001, 3_000));
        assert_eq!(tray.lines(2_998, 10).len(), 2);
        let news = tray.news();
        assert_eq!(news.lines.iter().map(|line| line.n).collect::<Vec<_>>(), (2_981..=3_000).collect::<Vec<_>>());
        assert!(tray.news().lines.is_empty(), "told once");
        assert_eq!(trays.listed(10).len(), 1, "listed once, however much it has");
    }

    #[test]
    fn partial_text_is_bounded_between_characters_and_closed_trays_hear_nothing() {
        let (trays, tray) = tray();
        (0..200_000).for_each(|_| trays.tell(&tray, Told::Delta("ä€"), Millis(0)));
        let partial = tray.close();
        assert!(partial.len() <= MAX_PARTIAL && partial.len() > MAX_PARTIAL - 5, "{}", partial.len());
        trays.tell(&tray, Told::Delta("late"), Millis(0));
        assert_eq!(tray.close(), partial);
        assert_eq!(tray.news().delta, partial, "what was written is told to the end");
        tray.open(1);
        assert_eq!(tray.close(), "");
    }

    #[test]
    fn a_line_is_cut_and_lines_are_bounded_in_bytes() {
        let (trays, tray) = tray();
        (0..1_000).for_each(|_| trays.tell(&tray, Told::Log(Level::Warn, &"x".repeat(10_000)), Millis(0)));
        let lines = tray.lines(0, usize::MAX);
        assert!(lines.iter().all(|line| line.text.len() == MAX_LINE));
        assert_eq!(lines.len(), MAX_LINES_BYTES / MAX_LINE);
    }
}
