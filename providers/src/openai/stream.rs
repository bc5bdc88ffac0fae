//! The streamed answer: events as they arrive, and a clock for each phase.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout_at};

use super::assemble::{Assembler, Broken, Step};
use super::body::Mode;
use super::complete::read_reply;
use super::origin::{Origin, Reporter};
use super::send::send;
use crate::sse::{SseEvent, SseParser};
use crate::{Call, ChatEvent, ChatStream, Fault, Phase, Timeouts};

/// How long a finished answer waits for its usage and for the end marker; then it is delivered without.
const USAGE_WAIT: Duration = Duration::from_secs(2);

/// Opens the stream and reads on to its first delta, or to a proper end.
pub(super) async fn open(origin: Arc<Origin>, call: Call) -> Result<ChatStream, Fault> {
    let reporter = Reporter::new(origin.clone(), call.request.clone());
    let response = send(&origin, &reporter, &call, Mode::Streamed).await?;
    match form(&response) {
        Form::Events => {}
        Form::Json => return whole(reporter, response, call.timeouts).await,
        Form::Page => {
            return Err(reporter.transient(Phase::FirstDelta, "answered with a page, not with a chat: check base_url"));
        }
    }
    let mut reader = Reader {
        deadline: Instant::now() + call.timeouts.first_delta,
        response,
        reporter,
        parser: SseParser::default(),
        events: VecDeque::new(),
        answer: Assembler::default(),
        timeouts: call.timeouts,
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
async fn following(reader: Option<Reader>) -> Option<(Item, Option<Reader>)> {
    let mut reader = reader?;
    reader.deadline = Instant::now() + reader.timeouts.between_deltas;
    let item = reader.next().await;
    let goes_on = matches!(item, Ok(ChatEvent::Delta(_)));
    Some((item, goes_on.then_some(reader)))
}

/// What the server sends for a stream, by its `Content-Type`.
enum Form {
    Events,
    /// It does not stream, or reports an error under a status of success.
    Json,
    Page,
}

fn form(response: &Response) -> Form {
    let kind =
        response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
    if kind.contains("json") && !kind.contains("ndjson") {
        Form::Json
    } else if kind.contains("html") {
        Form::Page
    } else {
        // Some proxies lose the type, or call it plain text.
        Form::Events
    }
}

/// A server that answers in one piece although a stream was asked for.
async fn whole(reporter: Reporter, response: Response, timeouts: Timeouts) -> Result<ChatStream, Fault> {
    let phase = Phase::FirstDelta;
    let reply = read_reply(&reporter, response, timeouts.first_delta, phase).await?;
    let text = Some(reply.content).filter(|t| !t.is_empty());
    let done = ChatEvent::Done { finish: reply.finish, usage: reply.usage };
    let events = text.map(ChatEvent::Delta).into_iter().chain([done]);
    Ok(futures::stream::iter(events.map(Ok)).boxed())
}

/// Reads one answer. Owns the connection: dropping it closes that at once.
struct Reader {
    response: Response,
    reporter: Reporter,
    parser: SseParser,
    events: VecDeque<SseEvent>,
    answer: Assembler,
    timeouts: Timeouts,
    /// When the next delta is due. Runs only while the caller waits, so a slow caller is not the provider's fault.
    deadline: Instant,
    /// Why the bytes after the queued events are of no use.
    broken: Option<Broken>,
    /// The marker or the body's end was seen.
    over: bool,
}

impl Reader {
    /// The next delta, or the end. Ready at once while read events are left.
    async fn next(&mut self) -> Item {
        loop {
            while let Some(event) = self.events.pop_front() {
                match self.answer.accept(&event).map_err(|e| self.fault(e))? {
                    Step::Nothing => {}
                    Step::Text(text) => return Ok(ChatEvent::Delta(text)),
                    Step::End => self.over = true,
                }
                if self.over {
                    break;
                }
            }
            if self.over {
                return self.answer.end().map_err(|e| self.fault(e));
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
        if self.answer.has_text() { Phase::BetweenDeltas } else { Phase::FirstDelta }
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
            Broken::Cut if self.answer.has_text() => self.reporter.transient(phase, "ended its answer in the middle"),
            Broken::Cut => self.reporter.transient(phase, "ended its answer before the first text"),
        }
    }
}
