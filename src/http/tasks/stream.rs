//! The events of a task as server-sent events, from a position to the end of the task.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use muster_core::{Error, Kind};
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

use super::events::Reader;
use crate::ws::{Admitted, Close, Connected, Watch};

/// Maximum delay of new log lines.
const LINES_EVERY: Duration = Duration::from_secs(1);
/// Interval of comment lines, which keep an idle stream open through proxies.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Maximum duration of a stream. The client then reconnects and authenticates again.
const MAX_STREAM: Duration = Duration::from_secs(600);

/// A stream, its place among the caller's open streams, and the state of the caller's session or key.
pub(super) struct Stream {
    reader: Reader,
    watch: Watch,
    _place: Connected,
    until: Instant,
    quiet_since: Instant,
    ready: VecDeque<Bytes>,
    over: bool,
}

impl Stream {
    /// # Errors
    /// `RateLimited` if the caller has the maximum number of open streams.
    pub(super) fn open(reader: Reader, caller: Admitted) -> Result<Self, Error> {
        let Admitted { client, watch } = caller;
        let place = reader.app.agency.streams.known(&client.subject).ok_or_else(|| {
            let message = "you have as many event streams of tasks open as may be (agents.streams_per_key): close one \
                           first, or follow all tasks on one socket (/api/q62/dashboard/agents)";
            Error::new(Kind::RateLimited, message).coded("connection_limit").retry_in(Duration::from_secs(10))
        })?;
        let (now, left) = (Instant::now(), client.exp.since(reader.app.clock.now()));
        let until = now + left.min(MAX_STREAM);
        Ok(Self { reader, watch, _place: place, until, quiet_since: now, ready: VecDeque::new(), over: false })
    }

    pub(super) async fn next(mut self) -> Option<(Result<Bytes, actix_web::Error>, Self)> {
        loop {
            if self.over && self.ready.is_empty() {
                return None;
            }
            if !self.over && (Instant::now() >= self.until || self.reader.app.draining()) {
                return None;
            }
            let ended = tokio::select! {
                biased;
                close = ended(&mut self.watch), if !self.over => Some(close),
                () = std::future::ready(()) => None,
            };
            if let Some(close) = ended {
                self.close(close);
                continue;
            }
            if let Some(frame) = self.ready.pop_front() {
                self.quiet_since = Instant::now();
                return Some((Ok(frame), self));
            }
            if self.quiet_since.elapsed() >= KEEP_ALIVE {
                self.ready.push_back(Bytes::from_static(b": still here\n\n"));
                continue;
            }
            self.fill().await;
        }
    }

    /// Closes the stream and discards what was read and not sent.
    fn close(&mut self, close: Close) {
        let why = json!({ "code": close.code(), "reason": close.name() });
        self.ready = VecDeque::from([Bytes::from(format!("event: close\ndata: {why}\n\n"))]);
        self.over = true;
    }

    /// Reads new events until the caller's access ends.
    async fn fill(&mut self) {
        let Self { reader, watch, ready, .. } = self;
        let read = tokio::select! {
            biased;
            close = ended(watch) => Err(close),
            read = read(reader, ready) => Ok(read),
        };
        match read {
            Err(close) => self.close(close),
            Ok(Ok(End::NotYet)) => {}
            Ok(Ok(End::Sent)) => self.over = true,
            Ok(Err(error)) => {
                let detail = json!({ "detail": error.message });
                self.ready.push_back(framed("error", self.reader.after, self.reader.line, &detail));
                self.over = true;
            }
        }
    }
}

/// Resolves once the caller may not read any more: the session or key ended, or its rights changed, so that the client
/// has to reconnect.
async fn ended(watch: &mut Watch) -> Close {
    let Watch { revoked, grant } = watch;
    let changed = async {
        if let Some(grant) = grant
            && grant.changed().await.is_ok()
        {
            return;
        }
        // The session has ended, or the caller has none; the other branch detects its end.
        std::future::pending().await
    };
    tokio::select! {
        biased;
        () = revoked => Close::SessionRevoked,
        () = changed => Close::Rebalance,
    }
}

/// Whether the end of the task was sent.
enum End {
    Sent,
    NotYet,
}

/// Reads new events, or waits for a change if there are none.
async fn read(reader: &mut Reader, ready: &mut VecDeque<Bytes>) -> Result<End, Error> {
    let (mut seq, mut n) = (reader.after, reader.line);
    // Read the state first, so that the events of a reached end are in the journal.
    let ended = reader.tasks().get(&reader.id, &reader.requester).await?.status.ended();
    let page = reader.page().await?;
    for line in &page.logs {
        n = line.n;
        ready.push_back(framed("log", seq, n, line));
    }
    for event in &page.events {
        seq = event.seq;
        ready.push_back(framed(&event.event, seq, n, event));
    }
    match (ready.is_empty(), ended) {
        (true, true) => return Ok(End::Sent),
        (true, false) => {
            reader.tasks().wait(&reader.id, &reader.requester, Some(reader.after), LINES_EVERY).await?;
        }
        (false, _) => {}
    }
    Ok(End::NotYet)
}

fn framed(name: &str, seq: u64, n: u64, data: &impl Serialize) -> Bytes {
    // Serializing our own types into memory cannot fail.
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("id: {seq}-{n}\nevent: {name}\ndata: {data}\n\n").into()
}
