//! One who stores, replaces and deletes, and remembers what was acknowledged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use muster_core::Millis;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::support::client::{Answer, Client, try_answer};
use crate::support::dice::Dice;

const KEYS: usize = 8;
/// Past words of each worker that are looked for in the end.
const PAST: usize = 60;

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// What is known to be stored.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    id: String,
    version: u64,
    /// How its value begins: no other value does.
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

/// What was asked for and not answered.
#[derive(Debug, Clone)]
enum Doubt {
    Store { word: String, ends: bool },
    Delete,
}

/// One key, as it must be.
#[derive(Debug, Default)]
struct Key {
    known: Option<Known>,
    doubt: Option<Doubt>,
}

#[derive(Debug)]
pub struct Worker {
    number: usize,
    dice: Dice,
    words: usize,
    keys: Vec<Key>,
    /// Words of values that are not there any more.
    past: Vec<String>,
}

/// What a live server said; `None` where it is gone or ends.
async fn ask(request: RequestBuilder) -> Option<Answer> {
    try_answer(request).await.ok().filter(|got| got.status != 503)
}

impl Worker {
    pub fn new(number: usize) -> Self {
        let keys = (0..KEYS).map(|_| Key::default()).collect();
        Self { number, dice: Dice(1_000 + number as u64), words: 0, keys, past: Vec::new() }
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

    /// Acts until the server is gone.
    pub async fn goes_on(mut self, client: Client, done: Arc<AtomicUsize>) -> Self {
        while self.act(&client).await.is_some() {
            done.fetch_add(1, Ordering::AcqRel);
        }
        self
    }

    async fn act(&mut self, client: &Client) -> Option<()> {
        let at = self.dice.below(KEYS as u64);
        if self.dice.below(4) == 0 {
            return self.delete(client, at).await;
        }
        let ttl = [None, None, None, Some(1), Some(2)][self.dice.below(5)];
        self.words += 1;
        let word = format!("word{}n{}", self.number, self.words);
        let mut body = json!({ "key": self.name(at), "value": format!("{word} of the marmot"),
            "tags": [format!("worker{}", self.number)] });
        if let Some(ttl) = ttl {
            body["ttl_seconds"] = json!(ttl);
        }
        self.keys[at].doubt = Some(Doubt::Store { word: word.clone(), ends: ttl.is_some() });
        let asked = now();
        let got = ask(client.posting("/api/memory/store", &body)).await?;
        assert!([200, 201].contains(&got.status), "{}", got.text);
        let stored = Known::of(&got.json());
        assert_eq!(stored.word, word);
        self.follows(at, &stored, asked);
        self.replace(at, Some(stored));
        Some(())
    }

    async fn delete(&mut self, client: &Client, at: usize) -> Option<()> {
        self.keys[at].doubt = Some(Doubt::Delete);
        let asked = now();
        let got = ask(client.request(Method::DELETE, &format!("/api/memory/{}", self.name(at)))).await?;
        match &self.keys[at].known {
            Some(known) if !known.over(now()) => assert_eq!(got.status, 204, "{}", got.text),
            Some(known) if known.over(asked) => assert_eq!(got.status, 404, "it is over: {}", got.text),
            None => assert_eq!(got.status, 404, "there is none: {}", got.text),
            Some(_) => assert!([204, 404].contains(&got.status), "{}", got.text),
        }
        self.replace(at, None);
        Some(())
    }

    /// The next version of what was there, or the first one of a new entry.
    fn follows(&self, at: usize, stored: &Known, asked: u64) {
        match &self.keys[at].known {
            Some(known) if known.id == stored.id => assert_eq!(stored.version, known.version + 1),
            Some(known) => {
                assert!(known.over(now()), "what was there lives on in its next version: {known:?}, {stored:?}");
                assert_eq!(stored.version, 1);
            }
            None => assert_eq!(stored.version, 1),
        }
        assert!(stored.expires.is_none_or(|expires| expires >= asked + 1_000));
    }

    fn replace(&mut self, at: usize, known: Option<Known>) {
        let old = std::mem::replace(&mut self.keys[at], Key { known, doubt: None });
        self.past.extend(old.known.map(|old| old.word));
    }

    /// Every key is as it was acknowledged; where an act was under way, as before it or after it.
    pub async fn verify(&mut self, client: &Client, round: usize) {
        for at in 0..KEYS {
            let asked = now();
            let got = client.get(&format!("/api/memory/{}", self.name(at))).await;
            let told = now();
            assert!([200, 404].contains(&got.status), "{}", got.text);
            let found = (got.status == 200).then(|| Known::of(&got.json()));
            self.verify_key(at, found, [asked, told], round);
        }
        self.verify_search(client, round).await;
    }

    fn verify_key(&mut self, at: usize, found: Option<Known>, [asked, told]: [u64; 2], round: usize) {
        let Key { known, doubt } = std::mem::take(&mut self.keys[at]);
        let place = format!("round {round}, {}: {known:?}, {doubt:?}, found {found:?}", self.name(at));
        if let Some(found) = &found {
            assert!(!found.over(asked), "what is over is not shown: {place}");
        }
        if let (Some(known), Some(found)) = (&known, &found)
            && known.id == found.id
        {
            assert!(found.version >= known.version, "a version went back: {place}");
        }
        let same = found == known;
        let stored = |word: &String| found.as_ref().is_some_and(|found| found.word == *word);
        let ended = found.is_none() && known.as_ref().is_none_or(|known| known.over(told));
        let fits = match &doubt {
            None => same || ended,
            Some(Doubt::Delete) => same || found.is_none(),
            // What was stored may be over by now.
            Some(Doubt::Store { word, ends }) => same || ended || stored(word) || (*ends && found.is_none()),
        };
        assert!(fits, "{place}");
        if !same {
            self.past.extend(known.map(|known| known.word));
        }
        self.keys[at] = Key { known: found, doubt: None };
    }

    /// A search finds exactly what is there.
    async fn verify_search(&self, client: &Client, round: usize) {
        let path = format!("/api/memory/search?q=marmot&limit=200&mode=text&tags=worker{}", self.number);
        let asked = now();
        let got = client.get(&path).await;
        let told = now();
        assert_eq!(got.status, 200, "{}", got.text);
        let found = got.json();
        if found["index"]["state"] != "ready" {
            // It says that it does not hold everything yet: what it shows must be true all the same.
            assert!(!found["warnings"].as_array().unwrap().is_empty(), "{found}");
        }
        let mut hits: Vec<Known> = found["results"].as_array().unwrap().iter().map(Known::of).collect();
        for known in self.keys.iter().filter_map(|key| key.known.as_ref()) {
            let at = hits.iter().position(|hit| hit == known);
            if let Some(at) = at {
                assert!(!hits.remove(at).over(asked), "what is over is not found");
            } else {
                let missing = known.over(told) || found["index"]["state"] != "ready";
                assert!(missing, "round {round}: {known:?} is not found: {found}");
            }
        }
        assert!(hits.is_empty(), "round {round}: {hits:?} is found and is not there");
    }
}
