//! Streamed answers: events as they arrive, and a time limit for each phase.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use serde_json::Value;
use tokio::time::{Instant, Sleep, sleep_until};

use super::origin::Reporter;
use super::peek::Peeked;
use super::pump::Pump;
use crate::sse::{SseEvent, SseParser};
use crate::{ChatEvent, ChatStream, Delta, Fault, Phase, Timeouts};

/// How long a finished answer waits for its usage and the end marker; then it is delivered without them.
const USAGE_WAIT: Duration = Duration::from_secs(2);

/// Whether more events are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    GoOn,
    /// The end marker of the protocol.
    End,
}

/// Why an answer is broken.
#[derive(Debug, PartialEq)]
pub(crate) enum Broken {
    /// The provider reported an error.
    Reported(Value),
    Malformed(String),
    /// It ended without a reason, before or within the text.
    Cut,
}

/// Assembles the events of one streamed answer. Pure: no socket, no clock. Accepts nothing after an error or after
/// `End`.
pub(crate) trait Events: Send + 'static {
    /// Processes the next event and appends its deltas to `out`. Once the answer is finished nothing can break it: a
    /// provider that fails to report usage has still answered.
    fn accept(&mut self, event: &SseEvent, out: &mut VecDeque<Delta>) -> Result<Flow, Broken>;

    /// Whether content was delivered: from then on another provider cannot take over.
    fn has_content(&self) -> bool;

    /// Whether the answer is complete; only usage and the end marker may follow.
    fn is_finished(&self) -> bool;

    /// Ends the stream: by the marker, by the end of the body, or because the wait for usage has expired.
    fn end(&mut self) -> Result<ChatEvent, Broken>;
}

/// Reads up to the first delta, or to a proper end; then returns the rest as a stream.
pub(crate) async fn follow<E: Events>(
    reporter: Reporter,
    peeked: Peeked,
    timeouts: Timeouts,
    answer: E,
) -> Result<ChatStream, Fault> {
    let Peeked { first, response, since } = peeked;
    let mut reader = Box::pin(Reader {
        pump: Some(Pump::start(response)),
        reporter,
        parser: SseParser::default(),
        events: VecDeque::new(),
        deltas: VecDeque::new(),
        answer,
        timeouts,
        first: None,
        read_state: ReadState::Now { deadline: since + timeouts.first_delta },
        alarm: None,
        broken: None,
        over: false,
    });
    reader.parse(&first);
    let first = poll_fn(|cx| reader.poll_item(cx)).await?;
    reader.first = Some(first);
    Ok(reader)
}

type Item = Result<ChatEvent, Fault>;

/// Reads one answer. Owns the connection: dropping it closes the connection immediately.
struct Reader<E> {
    /// Dropped together with the last item.
    pump: Option<Pump>,
    reporter: Reporter,
    parser: SseParser,
    events: VecDeque<SseEvent>,
    /// Read and not yet returned.
    deltas: VecDeque<Delta>,
    answer: E,
    timeouts: Timeouts,
    /// Read before the stream was returned.
    first: Option<ChatEvent>,
    read_state: ReadState,
    /// Timer set at or before the deadline; it is not moved with every delta.
    alarm: Option<Pin<Box<Sleep>>>,
    /// Why the bytes after the queued events are useless.
    broken: Option<Broken>,
    /// The marker or the end of the body was seen.
    over: bool,
}

/// The deadline runs only while the caller polls, so that a slow caller is not blamed on the provider.
#[derive(Debug, Clone, Copy)]
enum ReadState {
    Not,
    Now {
        /// When the next delta is due.
        deadline: Instant,
    },
}

/// Nothing in it is structurally pinned.
impl<E> Unpin for Reader<E> {}

impl<E: Events> Stream for Reader<E> {
    type Item = Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let reader = self.get_mut();
        if let Some(first) = reader.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if reader.pump.is_none() {
            return Poll::Ready(None);
        }
        reader.poll_item(cx).map(Some)
    }
}

impl<E: Events> Reader<E> {
    /// Returns the next delta or the end. Does not read the clock while queued events are left.
    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Item> {
        let item = loop {
            if let Some(item) = self.ready() {
                break item;
            }
            if let Err(fault) = ready!(self.poll_read(cx)) {
                break Err(fault);
            }
        };
        self.read_state = ReadState::Not;
        match item {
            Ok(ChatEvent::Delta(_)) => {}
            Ok(ChatEvent::Done { .. }) => {
                if let Some(pump) = self.pump.take() {
                    pump.finish();
                }
            }
            Err(_) => self.pump = None,
        }
        Poll::Ready(item)
    }

    /// Returns the next item of what was read; `None` if more must be read first.
    fn ready(&mut self) -> Option<Item> {
        loop {
            if let Some(delta) = self.deltas.pop_front() {
                return Some(Ok(ChatEvent::Delta(delta)));
            }
            if self.over {
                return Some(self.answer.end().map_err(|e| self.fault(e)));
            }
            if let Some(event) = self.events.pop_front() {
                match self.answer.accept(&event, &mut self.deltas) {
                    Ok(flow) => self.over = flow == Flow::End,
                    Err(broken) => return Some(Err(self.fault(broken))),
                }
                continue;
            }
            match self.broken.take() {
                Some(_) if self.answer.is_finished() => self.over = true,
                Some(broken) => return Some(Err(self.fault(broken))),
                None => return None,
            }
        }
    }

    /// Reads the next bytes or the end of the body. Comments and empty deltas do not move the deadline.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let now = Instant::now();
        let deadline = self.deadline(now);
        let Some(pump) = &mut self.pump else {
            self.over = true;
            return Poll::Ready(Ok(()));
        };
        // A server that sends without pause would never let the timer fire.
        if now >= deadline {
            return Poll::Ready(self.end_of_body(|reader| reader.late()));
        }
        match pump.poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => {
                self.parse(&bytes);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(None) => {
                self.over = true;
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Some(Err(error))) => {
                Poll::Ready(self.end_of_body(|reader| reader.reporter.transport(reader.phase(), &error)))
            }
            Poll::Pending => {
                ready!(self.poll_alarm(deadline, cx));
                Poll::Ready(self.end_of_body(|reader| reader.late()))
            }
        }
    }

    /// Queues the events of these bytes.
    fn parse(&mut self, bytes: &Bytes) {
        // A parser error is reported after the events before it.
        if let Err(error) = self.parser.push(bytes, &mut self.events) {
            self.broken = Some(Broken::Malformed(error.to_string()));
        }
    }

    /// Deadline of the next delta, counted from when it was requested.
    fn deadline(&mut self, now: Instant) -> Instant {
        let mut deadline = match self.read_state {
            ReadState::Now { deadline } => deadline,
            ReadState::Not => now + self.timeouts.between_deltas,
        };
        if self.answer.is_finished() {
            deadline = deadline.min(now + USAGE_WAIT);
        }
        self.read_state = ReadState::Now { deadline };
        deadline
    }

    /// Ready when the deadline has passed. The timer of an earlier deadline is kept and reset when it fires, so that
    /// most deltas need no timer operation.
    fn poll_alarm(&mut self, deadline: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if alarm.deadline() > deadline {
            alarm.as_mut().reset(deadline);
        }
        loop {
            ready!(alarm.as_mut().poll(cx));
            if alarm.deadline() >= deadline {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(deadline);
        }
    }

    /// Handles the end of the body: end of a finished answer, a fault otherwise.
    fn end_of_body(&mut self, fault: impl FnOnce(&Self) -> Fault) -> Result<(), Fault> {
        if !self.answer.is_finished() {
            return Err(fault(self));
        }
        self.over = true;
        Ok(())
    }

    fn phase(&self) -> Phase {
        if self.answer.has_content() { Phase::BetweenDeltas } else { Phase::FirstDelta }
    }

    fn late(&self) -> Fault {
        let (phase, limit) = match self.phase() {
            Phase::BetweenDeltas => (Phase::BetweenDeltas, self.timeouts.between_deltas),
            _ => (Phase::FirstDelta, self.timeouts.first_delta),
        };
        self.reporter.transient(phase, format_args!("sent no text within {limit:?}"))
    }

    fn fault(&self, broken: Broken) -> Fault {
        let phase = self.phase();
        match broken {
            Broken::Reported(body) => self.reporter.reported(phase, &body),
            Broken::Malformed(why) => self.reporter.transient(phase, format_args!("sent a malformed stream: {why}")),
            Broken::Cut if self.answer.has_content() => {
                self.reporter.transient(phase, "ended its answer in the middle")
            }
            Broken::Cut => self.reporter.transient(phase, "ended its answer before the first text"),
        }
    }
}
