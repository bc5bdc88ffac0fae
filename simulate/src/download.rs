//! Downloads an image in ranges, hashes it on the way, and resumes after an interruption.

use std::time::Duration;

use futures::StreamExt;
use reqwest::Method;
use reqwest::header::{CONTENT_RANGE, IF_RANGE, RANGE};
use sha2::{Digest, Sha256};

use super::api::{Api, Caller};
use super::check::Content;
use super::faults::{Fault, Faults};
use super::job::Image;
use super::random::Random;
use super::retry::{Backoff, is_transient};

/// Number of consecutive attempts without data after which the download ends with what was received.
const MAX_EMPTY_ATTEMPTS: u32 = 20;
/// Time without data after which a connection is given up.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);

/// A download in progress.
#[derive(Debug)]
pub(super) struct Download {
    path: String,
    size: u64,
    tag: String,
    hash: Sha256,
    received: u64,
    /// Whether no more data will be requested.
    finished: bool,
    /// Offset at which the connection is cut once, to simulate a fault.
    cut: Option<u64>,
    corrupt: bool,
    /// Whether the last attempt was interrupted.
    interrupted: bool,
}

/// How the request for a range ended.
enum RangeOutcome {
    /// The whole range was received.
    Done,
    Interrupted(Option<Duration>),
    /// The server refused the request for good.
    Rejected,
}

impl Download {
    pub(super) fn new(image: &Image, faults: Faults) -> Self {
        Self {
            path: image.content_url.clone(),
            size: image.size,
            tag: format!("\"{}\"", image.sha256),
            hash: Sha256::new(),
            received: 0,
            finished: false,
            cut: faults.has(Fault::Cuts).then_some(image.size / 2),
            corrupt: faults.has(Fault::BadHash),
            interrupted: false,
        }
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Returns size and hash once the download has ended.
    pub(super) fn content(&self) -> Option<Content> {
        if !self.finished && self.received < self.size {
            return None;
        }
        let mut hash = self.hash.clone();
        if self.corrupt {
            hash.update(b"spoilt");
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Content { size: self.received, sha256 })
    }

    /// Downloads up to the offset `until`, at most `rate` bytes per second.
    pub(super) async fn fetch(
        &mut self,
        api: &Api,
        caller: &Caller,
        until: u64,
        rate: Option<u64>,
        random: &mut Random,
    ) {
        let (mut backoff, mut tries) = (Backoff::default(), 0);
        while self.received < until.min(self.size) {
            let before = self.received;
            match self.fetch_range(api, caller, until, rate).await {
                RangeOutcome::Done => {}
                RangeOutcome::Rejected => {
                    self.finished = true;
                    return;
                }
                RangeOutcome::Interrupted(retry_after) => {
                    self.interrupted = true;
                    tries = if self.received > before { 0 } else { tries + 1 };
                    if tries >= MAX_EMPTY_ATTEMPTS {
                        self.finished = true;
                        return;
                    }
                    api.counts.retries.increment();
                    tokio::time::sleep(backoff.next(retry_after, random)).await;
                }
            }
        }
    }

    async fn fetch_range(&mut self, api: &Api, caller: &Caller, until: u64, rate: Option<u64>) -> RangeOutcome {
        let (from, last) = (self.received, until.min(self.size).saturating_sub(1));
        let mut request = api.request(Method::GET, &self.path, &caller.token());
        request = request.header(RANGE, format!("bytes={from}-{last}")).header(IF_RANGE, &self.tag);
        let response = match tokio::time::timeout(SILENCE_TIMEOUT, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(_)) | Err(_) => return RangeOutcome::Interrupted(None),
        };
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        match response.status().as_u16() {
            206 if begins_at(&response, from) => {}
            // The whole image instead of the range: what was received before is discarded.
            200 => (self.hash, self.received) = (Sha256::new(), 0),
            status if is_transient(status) => return RangeOutcome::Interrupted(retry_after.map(Duration::from_secs)),
            _ => return RangeOutcome::Rejected,
        }
        if std::mem::take(&mut self.interrupted) && self.received > 0 {
            api.counts.downloads_resumed.increment();
        }
        let mut chunks = response.bytes_stream();
        while let Ok(Some(Ok(chunk))) = tokio::time::timeout(SILENCE_TIMEOUT, chunks.next()).await {
            self.hash.update(&chunk);
            self.received += chunk.len() as u64;
            api.counts.bytes.add(chunk.len() as u64);
            if self.cut.is_some_and(|at| self.received >= at) {
                self.cut = None;
                return RangeOutcome::Interrupted(None);
            }
            if let Some(rate) = rate {
                tokio::time::sleep(Duration::from_secs_f64(chunk.len() as f64 / rate as f64)).await;
            }
        }
        if self.received > last { RangeOutcome::Done } else { RangeOutcome::Interrupted(None) }
    }
}

fn begins_at(response: &reqwest::Response, from: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {from}-")))
}
