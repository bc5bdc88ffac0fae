//! The streamed answer: events as they arrive, and a clock for each phase.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::Stream;
use reqwest::Response;
use serde_json::Value;
use tokio::time::{Instant, Sleep, sleep_until};

use super::origin::Reporter;
use super::pump::Pump;
use crate::sse::{SseEvent, SseParser};
use crate::{ChatEvent, ChatStream, Delta, Fault, Phase, Timeouts};

/// How long a finished answer waits for its usage and for the end marker; then it is delivered without.
const USAGE_WAIT: Duration = Duration::from_secs(2);

/// Whether more is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    GoOn,
    /// The wire's end marker.
    End,
}

/// Why an answer is broken.
#[derive(Debug, PartialEq)]
pub(crate) enum Broken {
    /// The provider says so.
    Reported(Value),
    Malformed(String),
    /// It ended without a reason, and before any text or in the middle of it.
    Cut,
}

/// What the events of one streamed answer add up to. Pure: no socket, no clock. After an error, or after `End`, it
/// takes no more.
pub(crate) trait Events: Send + 'static {
    /// Takes the next event; what it brings goes into `out`. Once the answer is finished nothing can break it any
    /// more: a provider that stumbles over its usage has still answered.
    fn accept(&mut self, event: &SseEvent, out: &mut VecDeque<Delta>) -> Result<Flow, Broken>;

    /// Something has been delivered: from here on the stream cannot be taken over by another provider.
    fn has_content(&self) -> bool;

    /// The answer is whole; only usage and the end marker may follow.
    fn is_finished(&self) -> bool;

    /// The stream is over: by the marker, by the end of the body, or because the wait for usage was long enough.
    fn end(&mut self) -> Result<ChatEvent, Broken>;
}

/// Reads on to the first delta, or to a proper end; then gives the rest as it comes.
pub(crate) async fn follow<E: Events>(
    reporter: Reporter,
    response: Response,
    timeouts: Timeouts,
    answer: E,
) -> Result<ChatStream, Fault> {
    let mut reader = Box::pin(Reader {
        pump: Some(Pump::start(response)),
        reporter,
        parser: SseParser::default(),
        events: VecDeque::new(),
        deltas: VecDeque::new(),
        answer,
        timeouts,
        first: None,
        asked: Asked::Now { deadline: Instant::now() + timeouts.first_delta },
        alarm: None,
        broken: None,
        over: false,
    });
    let first = poll_fn(|cx| reader.poll_item(cx)).await?;
    reader.first = Some(first);
    Ok(reader)
}

type Item = Result<ChatEvent, Fault>;

/// Reads one answer. Owns the connection: dropping it closes that at once.
struct Reader<E> {
    /// Gone together with the last item.
    pump: Option<Pump>,
    reporter: Reporter,
    parser: SseParser,
    events: VecDeque<SseEvent>,
    /// Read and not yet given.
    deltas: VecDeque<Delta>,
    answer: E,
    timeouts: Timeouts,
    /// Read before there was a stream to give it.
    first: Option<ChatEvent>,
    asked: Asked,
    /// Set at or before the deadline; it is not moved with every delta.
    alarm: Option<Pin<Box<Sleep>>>,
    /// Why the bytes after the queued events are of no use.
    broken: Option<Broken>,
    /// The marker or the body's end was seen.
    over: bool,
}

/// The clock runs only while the caller waits, so a slow caller is not the provider's fault.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Not,
    Now {
        /// When the next delta is due.
        deadline: Instant,
    },
}

/// Nothing in it is pinned in place.
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
    /// The next delta, or the end. Ready at once, and without a look at the clock, while read events are left.
    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Item> {
        let item = loop {
            if let Some(item) = self.ready() {
                break item;
            }
            if let Err(fault) = ready!(self.poll_read(cx)) {
                break Err(fault);
            }
        };
        self.asked = Asked::Not;
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

    /// What is to be given of what was read; `None` where more must be read first.
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

    /// Takes the next bytes, or finds that nothing more comes. Comments and empty deltas do not move the deadline.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let now = Instant::now();
        let deadline = self.deadline(now);
        let Some(pump) = &mut self.pump else {
            self.over = true;
            return Poll::Ready(Ok(()));
        };
        // A server that floods without a pause never lets the alarm have its turn.
        if now >= deadline {
            return Poll::Ready(self.no_more(|reader| reader.late()));
        }
        match pump.poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => {
                // What broke the parser is told after the events before it.
                if let Err(error) = self.parser.push(&bytes, &mut self.events) {
                    self.broken = Some(Broken::Malformed(error.to_string()));
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(None) => {
                self.over = true;
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Some(Err(error))) => {
                Poll::Ready(self.no_more(|reader| reader.reporter.transport(reader.phase(), &error)))
            }
            Poll::Pending => {
                ready!(self.poll_alarm(deadline, cx));
                Poll::Ready(self.no_more(|reader| reader.late()))
            }
        }
    }

    /// When the next delta is due, counted from when it was asked for.
    fn deadline(&mut self, now: Instant) -> Instant {
        let mut deadline = match self.asked {
            Asked::Now { deadline } => deadline,
            Asked::Not => now + self.timeouts.between_deltas,
        };
        if self.answer.is_finished() {
            deadline = deadline.min(now + USAGE_WAIT);
        }
        self.asked = Asked::Now { deadline };
        deadline
    }

    /// Ready when the deadline is past. The alarm of an earlier deadline is left as it is and set anew when it goes
    /// off, so that most deltas need no timer of their own.
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

    /// Nothing more comes: the end of a finished answer, a fault of another.
    fn no_more(&mut self, fault: impl FnOnce(&Self) -> Fault) -> Result<(), Fault> {
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
