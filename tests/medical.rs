//! The medical interface: access, input, streams, kept conversations, what a model may do, and privacy.

mod access;
mod cli;
mod conversations;
mod crash;
mod input;
mod phrasing;
mod privacy;
mod random;
mod status;
mod streams;

use crate::support;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use support::KEY;
use support::client::{Answer, Client, Events, answer};
use support::server::Muster;

const CHAT: &str = "/api/medical/chat";
const PROTOCOLS: &str = "/api/medical/clinical-protocols";
const CONVERSATIONS: &str = "/api/medical/conversations";

/// Tests send more than a client may.
const UNLIMITED: &str = "[limits]\nmedical = \"unlimited\"\n";

/// A message of the level `consultation_24`, one statement of which is cited.
const MILD: &str = "sudden hearing loss in my right ear";
/// A message of the level `emergency_ambulance`.
const GRAVE: &str = "BP 70/40 and HR 140, very unwell";
const CALL: &str = "See a doctor within 24 hours. If it gets worse, go to an emergency department or call 112.";

/// A client of the medical interface with a key.
#[derive(Clone)]
struct Medical {
    client: Client,
    key: String,
}

impl Medical {
    fn of(muster: &Muster) -> Self {
        Self::at(muster.client())
    }

    /// The interface of a client's server, with the tests' first key.
    fn at(client: Client) -> Self {
        Self { client: client.without_key(), key: KEY.to_owned() }
    }

    fn with(&self, key: &str) -> Self {
        Self { key: key.to_owned(), ..self.clone() }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, path).header("x-api-key", &self.key)
    }

    fn post_request(&self, path: &str, body: &Value) -> RequestBuilder {
        self.request(Method::POST, path).header("content-type", "application/json").body(body.to_string())
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        answer(self.post_request(path, body)).await
    }

    async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    /// Sends a message that must be answered.
    async fn chat(&self, body: Value) -> Value {
        let answered = self.post(CHAT, &body).await;
        assert_eq!(answered.status, 200, "{}", answered.text);
        answered.json()
    }

    async fn stream(&self, body: &Value) -> Events {
        // The key of a medical client is in a header of its own.
        Events::of(self.post_request(CHAT, body).send().await.unwrap())
    }
}

/// A key with the scope `medical`.
async fn key(muster: &Muster, body: Value) -> String {
    let mut wanted = json!({ "name": "clinic", "owner": "clinic", "scopes": ["medical"], "plan_a": "pro" });
    for (name, value) in body.as_object().unwrap() {
        wanted[name] = value.clone();
    }
    muster.client().make_key(&wanted).await
}

/// The rank of a level, lowest first.
fn rank(answer: &Value) -> usize {
    let levels = ["self_care", "consultation", "consultation_24", "emergency", "emergency_ambulance"];
    let level = answer["triage"]["level"].as_str().unwrap_or_else(|| panic!("{answer}"));
    levels.iter().position(|known| *known == level).unwrap()
}
