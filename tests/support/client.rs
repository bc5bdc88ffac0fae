//! A client that bounds every wait and reads event streams incrementally.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

/// Upper bound of every wait in the tests: a hang fails the test.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A client of one server with one key, or with none.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    key: Option<String>,
}

/// A complete response.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub name: Option<String>,
    pub data: String,
}

/// A response that is being read as events.
pub struct Events {
    pub status: u16,
    pub headers: HeaderMap,
    response: Response,
    text: String,
    /// Events that were read and are returned again.
    kept: VecDeque<Event>,
    /// The connection ended as HTTP requires.
    pub whole: bool,
}

impl Client {
    pub fn new(base: impl Into<String>) -> Self {
        muster_providers::install_tls();
        // Under TLS it trusts nobody: the machine's root certificates take longer to read than most tests.
        let builder = reqwest::Client::builder().no_proxy().timeout(TEST_TIMEOUT).tls_certs_only([]);
        let http = builder.build().unwrap();
        Self { http, base: base.into(), key: None }
    }

    /// A client that trusts this certificate and no other.
    pub fn trusting(base: impl Into<String>, pem: &str) -> Self {
        muster_providers::install_tls();
        let certificate = reqwest::Certificate::from_pem(pem.as_bytes()).unwrap();
        let http =
            reqwest::Client::builder().no_proxy().timeout(TEST_TIMEOUT).tls_certs_only([certificate]).build().unwrap();
        Self { http, base: base.into(), key: None }
    }

    /// The same client, and its connections, with this key.
    pub fn with(&self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self.clone() }
    }

    /// The same key at another address, for example after a restart.
    pub fn at(&self, base: impl Into<String>) -> Self {
        Self { base: base.into(), ..self.clone() }
    }

    pub fn without_key(&self) -> Self {
        Self { key: None, ..self.clone() }
    }

    /// A request that can be changed before it is sent by [`answer`].
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    pub fn post_request(&self, path: &str, body: &Value) -> RequestBuilder {
        self.request(Method::POST, path).header("content-type", "application/json").body(body.to_string())
    }

    pub async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        answer(self.request(Method::DELETE, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        answer(self.post_request(path, body)).await
    }

    /// Logs in. Returns a client with the token, and the response.
    pub async fn login(&self, email: &str, password: &str) -> (Self, Answer) {
        let got = self.post("/api/v1/auth/login", &json!({ "email": email, "password": password })).await;
        assert_eq!(got.status, 200, "{}", got.text);
        (self.with(got.json()["data"]["token"].as_str().unwrap()), got)
    }

    /// Posts a body and reads the response as events.
    pub async fn stream(&self, path: &str, body: &Value) -> Events {
        Events::of(self.post_request(path, body).send().await.unwrap())
    }

    /// Reads a path as events.
    pub async fn follow(&self, path: &str) -> Events {
        let request = self.request(Method::GET, path).header("accept", "text/event-stream");
        Events::of(request.send().await.unwrap())
    }

    /// Creates a key and returns its text.
    pub async fn make_key(&self, body: &Value) -> String {
        let made = self.post("/api/v1/keys", body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        made.json()["key"].as_str().unwrap().to_owned()
    }
}

/// Sends a request and reads the complete response.
pub async fn answer(request: RequestBuilder) -> Answer {
    try_answer(request).await.unwrap()
}

/// The same for a server that may be gone.
pub async fn try_answer(request: RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Ok(Answer { status, headers, text: response.text().await? })
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {:?}", self.text))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The value of a header that is an integer.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.header(name).map(|value| value.parse().unwrap_or_else(|_| panic!("{name}: {value}")))
    }
}

impl Events {
    /// Reads a response as events.
    pub fn of(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, response, text: String::new(), kept: VecDeque::new(), whole: false }
    }

    /// The next event; `None` at the end, complete or not (see `whole`).
    pub async fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.kept.pop_front() {
            return Some(event);
        }
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                if let Some(event) = Event::parse(&block) {
                    return Some(event);
                }
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.text.push_str(std::str::from_utf8(&bytes).unwrap()),
                Ok(None) => {
                    self.whole = true;
                    return None;
                }
                Err(error) => {
                    assert!(!error.is_timeout(), "the stream hangs after {:?}", self.text);
                    return None;
                }
            }
        }
    }

    /// Waits for an event that contains `what`; all events can still be read.
    pub async fn wait_for(&mut self, what: &str) {
        let mut seen = VecDeque::new();
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("{what:?} is not in {seen:?}"));
            let found = event.data.contains(what);
            seen.push_back(event);
            if found {
                break;
            }
        }
        self.kept = seen;
    }

    /// Waits until this text has arrived, also in a comment; all events can still be read.
    pub async fn wait_for_text(&mut self, what: &str) {
        while !self.text.contains(what) {
            let bytes =
                self.response.chunk().await.unwrap().unwrap_or_else(|| panic!("{what:?} is not in {:?}", self.text));
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// Reads all remaining events.
    pub async fn rest(&mut self) -> Vec<Event> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }
}

impl Event {
    /// A comment alone is not an event.
    fn parse(block: &str) -> Option<Self> {
        let field = |name: &str| {
            let values: Vec<_> = block.lines().filter_map(|line| line.strip_prefix(name)).collect();
            (!values.is_empty()).then(|| values.join("\n"))
        };
        Some(Self { name: field("event: "), data: field("data: ")? })
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {:?}", self.data))
    }
}
