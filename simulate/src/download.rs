//! An image is fetched in ranges, hashed as it comes, and gone on with where it was cut.

use std::time::Duration;

use futures::StreamExt;
use reqwest::Method;
use reqwest::header::{CONTENT_RANGE, IF_RANGE, RANGE};
use sha2::{Digest, Sha256};

use super::api::{Api, Who};
use super::check::Content;
use super::faults::{Fault, Faults};
use super::job::Image;
use super::random::Random;
use super::retry::{Backoff, passes};

/// Tries in a row that bring nothing, after which what is here is taken for all.
const TRIES: u32 = 20;
/// A connection that brings nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(30);

/// An image on its way.
#[derive(Debug)]
pub(super) struct Download {
    path: String,
    size: u64,
    tag: String,
    hash: Sha256,
    received: u64,
    /// Nothing more will come.
    over: bool,
    /// Where the connection is to be cut, once.
    cut: Option<u64>,
    spoilt: bool,
    /// The last try broke off.
    broken: bool,
}

/// How a try ended.
enum Tried {
    /// As far as was asked.
    Done,
    Broken(Option<Duration>),
    /// The server will not give it.
    Refused,
}

impl Download {
    pub(super) fn new(image: &Image, faults: Faults) -> Self {
        Self {
            path: image.content_url.clone(),
            size: image.size,
            tag: format!("\"{}\"", image.sha256),
            hash: Sha256::new(),
            received: 0,
            over: false,
            cut: faults.has(Fault::Cuts).then_some(image.size / 2),
            spoilt: faults.has(Fault::BadHash),
            broken: false,
        }
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// The whole of it, once nothing more will come.
    pub(super) fn content(&self) -> Option<Content> {
        if !self.over && self.received < self.size {
            return None;
        }
        let mut hash = self.hash.clone();
        if self.spoilt {
            hash.update(b"spoilt");
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Content { size: self.received, sha256 })
    }

    /// Fetches up to `until` bytes, at most `pace` of them a second.
    pub(super) async fn fetch(&mut self, api: &Api, who: &Who, until: u64, pace: Option<u64>, random: &mut Random) {
        let (mut backoff, mut tries) = (Backoff::default(), 0);
        while self.received < until.min(self.size) {
            let before = self.received;
            match self.one(api, who, until, pace).await {
                Tried::Done => {}
                Tried::Refused => {
                    self.over = true;
                    return;
                }
                Tried::Broken(told) => {
                    self.broken = true;
                    tries = if self.received > before { 0 } else { tries + 1 };
                    if tries >= TRIES {
                        self.over = true;
                        return;
                    }
                    api.counts.retries.up();
                    tokio::time::sleep(backoff.next(told, random)).await;
                }
            }
        }
    }

    async fn one(&mut self, api: &Api, who: &Who, until: u64, pace: Option<u64>) -> Tried {
        let (from, last) = (self.received, until.min(self.size).saturating_sub(1));
        let mut request = api.request(Method::GET, &self.path, &who.token());
        request = request.header(RANGE, format!("bytes={from}-{last}")).header(IF_RANGE, &self.tag);
        let response = match tokio::time::timeout(SILENCE, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(_)) | Err(_) => return Tried::Broken(None),
        };
        let told = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        match response.status().as_u16() {
            206 if begins_at(&response, from) => {}
            // All of it: what came before is thrown away.
            200 => (self.hash, self.received) = (Sha256::new(), 0),
            status if passes(status) => return Tried::Broken(told.map(Duration::from_secs)),
            _ => return Tried::Refused,
        }
        if std::mem::take(&mut self.broken) && self.received > 0 {
            api.counts.downloads_resumed.up();
        }
        let mut chunks = response.bytes_stream();
        while let Ok(Some(Ok(chunk))) = tokio::time::timeout(SILENCE, chunks.next()).await {
            self.hash.update(&chunk);
            self.received += chunk.len() as u64;
            api.counts.bytes.add(chunk.len() as u64);
            if self.cut.is_some_and(|at| self.received >= at) {
                self.cut = None;
                return Tried::Broken(None);
            }
            if let Some(pace) = pace {
                tokio::time::sleep(Duration::from_secs_f64(chunk.len() as f64 / pace as f64)).await;
            }
        }
        if self.received > last { Tried::Done } else { Tried::Broken(None) }
    }
}

fn begins_at(response: &reqwest::Response, from: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {from}-")))
}
