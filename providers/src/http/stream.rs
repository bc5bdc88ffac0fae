//! The streamed answer: events as they arrive, and a clock for each phase.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use reqwest::Response;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::origin::Reporter;
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
    let mut reader = Reader {
        deadline: Instant::now() + timeouts.first_delta,
        response,
        reporter,
        parser: SseParser::default(),
        events: VecDeque::new(),
        deltas: VecDeque::new(),
        answer,
        timeouts,
        broken: None,
        over: false,
    };
    let first = reader.next().await?;
    if matches!(first, ChatEvent::Done { .. }) {
        return Ok(futures::stream::iter([Ok(first)]).boxed());
    }
    Ok(futures::stream::iter([Ok(first)]).chain(futures::stream::unfold(Some(reader), following)).boxed())
}

type Item = Result<ChatEvent, Fault>;

/// The rest of the stream. The reader, and with it the connection, is gone together with the last item.
async fn following<E: Events>(reader: Option<Reader<E>>) -> Option<(Item, Option<Reader<E>>)> {
    let mut reader = reader?;
    reader.deadline = Instant::now() + reader.timeouts.between_deltas;
    let item = reader.next().await;
    let goes_on = matches!(item, Ok(ChatEvent::Delta(_)));
    Some((item, goes_on.then_some(reader)))
}

/// Reads one answer. Owns the connection: dropping it closes that at once.
struct Reader<E> {
    response: Response,
    reporter: Reporter,
    parser: SseParser,
    events: VecDeque<SseEvent>,
    /// Read and not yet given.
    deltas: VecDeque<Delta>,
    answer: E,
    timeouts: Timeouts,
    /// When the next delta is due. Runs only while the caller waits, so a slow caller is not the provider's fault.
    deadline: Instant,
    /// Why the bytes after the queued events are of no use.
    broken: Option<Broken>,
    /// The marker or the body's end was seen.
    over: bool,
}

impl<E: Events> Reader<E> {
    /// The next delta, or the end. Ready at once while read events are left.
    async fn next(&mut self) -> Item {
        loop {
            if let Some(delta) = self.deltas.pop_front() {
                return Ok(ChatEvent::Delta(delta));
            }
            if self.over {
                return self.answer.end().map_err(|e| self.fault(e));
            }
            if let Some(event) = self.events.pop_front() {
                let flow = self.answer.accept(&event, &mut self.deltas).map_err(|e| self.fault(e))?;
                self.over = flow == Flow::End;
                continue;
            }
            match self.broken.take() {
                Some(_) if self.answer.is_finished() => self.over = true,
                Some(broken) => return Err(self.fault(broken)),
                None => self.read().await?,
            }
        }
    }

    /// Reads until there are events or nothing more comes. Comments and empty deltas do not move the deadline.
    async fn read(&mut self) -> Result<(), Fault> {
        if self.answer.is_finished() {
            self.deadline = self.deadline.min(Instant::now() + USAGE_WAIT);
        }
        // A server that floods without a pause never lets the time-out below have its turn.
        let chunk = if Instant::now() >= self.deadline {
            None
        } else {
            timeout_at(self.deadline, self.response.chunk()).await.ok()
        };
        match chunk {
            Some(Ok(Some(bytes))) => self.take(&bytes),
            Some(Ok(None)) => self.over = true,
            _ if self.answer.is_finished() => self.over = true,
            Some(Err(error)) => return Err(self.reporter.transport(self.phase(), &error)),
            None => return Err(self.late()),
        }
        Ok(())
    }

    /// Queues what the bytes complete; what broke the parser is told after that.
    fn take(&mut self, bytes: &Bytes) {
        if let Err(error) = self.parser.push(bytes, &mut self.events) {
            self.broken = Some(Broken::Malformed(error.to_string()));
        }
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
