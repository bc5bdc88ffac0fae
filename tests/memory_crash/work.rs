//! A client that stores, replaces and deletes entries and records what was acknowledged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use muster_core::Millis;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::support::client::{Answer, Client, try_answer};
use crate::support::rng::SplitMix64;

const KEYS: usize = 8;
/// Number of replaced words of each worker that are searched for at the end.
const PAST: usize = 60;

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// A stored entry as it was acknowledged.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    id: String,
    version: u64,
    /// A word at the beginning of its value that no other value has.
    word: String,
    expires: Option<u64>,
}

impl Known {
    fn of(entry: &Value) -> Self {
        let expires = entry["expires_at"].as_str().map(|at| Millis::parse_rfc3339(at).unwrap().0);
        Self {
            id: entry["id"].as_str().unwrap().to_owned(),
            version: entry["version"].as_u64().unwrap(),
            word: entry["value"].as_str().unwrap().split(' ').next().unwrap().to_owned(),
            expires,
        }
    }

    fn over(&self, at: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= at)
    }
}

/// The request in flight, if it was not answered.
#[derive(Debug, Clone)]
enum Doubt {
    Store { word: String, ends: bool },
    Delete,
}

/// The expected state of one key.
#[derive(Debug, Default)]
struct Key {
    known: Option<Known>,
    doubt: Option<Doubt>,
}

#[derive(Debug)]
pub struct Worker {
    number: usize,
    rng: SplitMix64,
    words: usize,
    keys: Vec<Key>,
    /// Words of values that no longer exist.
    past: Vec<String>,
}

/// Response of a live server; `None` where it is gone or stops.
async fn send(request: RequestBuilder) -> Option<Answer> {
    try_answer(request).await.ok().filter(|got| got.status != 503)
}

impl Worker {
    pub fn new(number: usize) -> Self {
        let keys = (0..KEYS).map(|_| Key::default()).collect();
        Self { number, rng: SplitMix64(1_000 + number as u64), words: 0, keys, past: Vec::new() }
    }

    pub fn doubts(&self) -> usize {
        self.keys.iter().filter(|key| key.doubt.is_some()).count()
    }

    pub fn past(&self) -> impl Iterator<Item = String> + '_ {
        self.past.iter().rev().take(PAST).cloned()
    }

    fn name(&self, at: usize) -> String {
        format!("w{}k{at}", self.number)
    }

    /// Sends requests until the server is gone.
    pub async fn goes_on(mut self, client: Client, done: Arc<AtomicUsize>) -> Self {
        while self.step(&client).await.is_some() {
            done.fetch_add(1, Ordering::AcqRel);
        }
        self
    }

    async fn step(&mut self, client: &Client) -> Option<()> {
        let at = self.rng.below(KEYS as u64);
        if self.rng.below(4) == 0 {
            return self.delete(client, at).await;
        }
        let ttl = [None, None, None, Some(1), Some(2)][self.rng.below(5)];
        self.words += 1;
        let word = format!("word{}n{}", self.number, self.words);
        let mut body = json!({ "key": self.name(at), "value": format!("{word} of the marmot"),
            "tags": [format!("worker{}", self.number)] });
        if let Some(ttl) = ttl {
            body["ttl_seconds"] = json!(ttl);
        }
        self.keys[at].doubt = Some(Doubt::Store { word: word.clone(), ends: ttl.is_some() });
        let sent_at = now();
        let got = send(client.post_request("/api/memory/store", &body)).await?;
        assert!([200, 201].contains(&got.status), "{}", got.text);
        let stored = Known::of(&got.json());
        assert_eq!(stored.word, word);
        self.follows(at, &stored, sent_at);
        self.replace(at, Some(stored));
        Some(())
    }

    async fn delete(&mut self, client: &Client, at: usize) -> Option<()> {
        self.keys[at].doubt = Some(Doubt::Delete);
        let sent_at = now();
        let got = send(client.request(Method::DELETE, &format!("/api/memory/{}", self.name(at)))).await?;
        match &self.keys[at].known {
            Some(known) if !known.over(now()) => assert_eq!(got.status, 204, "{}", got.text),
            Some(known) if known.over(sent_at) => assert_eq!(got.status, 404, "it is over: {}", got.text),
            None => assert_eq!(got.status, 404, "there is none: {}", got.text),
            Some(_) => assert!([204, 404].contains(&got.status), "{}", got.text),
        }
        self.replace(at, None);
        Some(())
    }

    /// Checks that an acknowledged version follows the previous one, or is the first one of a new entry.
    fn follows(&self, at: usize, stored: &Known, sent_at: u64) {
        match &self.keys[at].known {
            Some(known) if known.id == stored.id => assert_eq!(stored.version, known.version + 1),
            Some(known) => {
                assert!(known.over(now()), "the next version has the same id: {known:?}, {stored:?}");
                assert_eq!(stored.version, 1);
            }
            None => assert_eq!(stored.version, 1),
        }
        assert!(stored.expires.is_none_or(|expires| expires >= sent_at + 1_000));
    }

    fn replace(&mut self, at: usize, known: Option<Known>) {
        let old = std::mem::replace(&mut self.keys[at], Key { known, doubt: None });
        self.past.extend(old.known.map(|old| old.word));
    }

    /// Checks that every key has its acknowledged state; with a request in flight, the state before or after it.
    pub async fn verify(&mut self, client: &Client, round: usize) {
        for at in 0..KEYS {
            let sent_at = now();
            let got = client.get(&format!("/api/memory/{}", self.name(at))).await;
            let answered_at = now();
            assert!([200, 404].contains(&got.status), "{}", got.text);
            let found = (got.status == 200).then(|| Known::of(&got.json()));
            self.verify_key(at, found, [sent_at, answered_at], round);
        }
        self.verify_search(client, round).await;
    }

    fn verify_key(&mut self, at: usize, found: Option<Known>, [sent_at, answered_at]: [u64; 2], round: usize) {
        let Key { known, doubt } = std::mem::take(&mut self.keys[at]);
        let place = format!("round {round}, {}: {known:?}, {doubt:?}, found {found:?}", self.name(at));
        if let Some(found) = &found {
            assert!(!found.over(sent_at), "an expired entry is not returned: {place}");
        }
        if let (Some(known), Some(found)) = (&known, &found)
            && known.id == found.id
        {
            assert!(found.version >= known.version, "a version went back: {place}");
        }
        let same = found == known;
        let stored = |word: &String| found.as_ref().is_some_and(|found| found.word == *word);
        let ended = found.is_none() && known.as_ref().is_none_or(|known| known.over(answered_at));
        let fits = match &doubt {
            None => same || ended,
            Some(Doubt::Delete) => same || found.is_none(),
            // The stored entry may have expired.
            Some(Doubt::Store { word, ends }) => same || ended || stored(word) || (*ends && found.is_none()),
        };
        assert!(fits, "{place}");
        if !same {
            self.past.extend(known.map(|known| known.word));
        }
        self.keys[at] = Key { known: found, doubt: None };
    }

    /// A search finds exactly the expected entries.
    async fn verify_search(&self, client: &Client, round: usize) {
        let path = format!("/api/memory/search?q=marmot&limit=200&mode=text&tags=worker{}", self.number);
        let sent_at = now();
        let got = client.get(&path).await;
        let answered_at = now();
        assert_eq!(got.status, 200, "{}", got.text);
        let found = got.json();
        if found["index"]["state"] != "ready" {
            // A warning reports that the index is incomplete; every hit must be correct all the same.
            assert!(!found["warnings"].as_array().unwrap().is_empty(), "{found}");
        }
        let mut hits: Vec<Known> = found["results"].as_array().unwrap().iter().map(Known::of).collect();
        for known in self.keys.iter().filter_map(|key| key.known.as_ref()) {
            let at = hits.iter().position(|hit| hit == known);
            if let Some(at) = at {
                assert!(!hits.remove(at).over(sent_at), "an expired entry is not found");
            } else {
                let missing = known.over(answered_at) || found["index"]["state"] != "ready";
                assert!(missing, "round {round}: {known:?} is not found: {found}");
            }
        }
        assert!(hits.is_empty(), "round {round}: {hits:?} is found and is not there");
    }
}
