//! OpenTelemetry export: what a collector gets of a request, what it never gets, and the cost of a failing collector.

use crate::support;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::KEY;
use support::client::{Client, TEST_TIMEOUT, answer};
use support::process::{Launch, Process};
use support::upstream::{Upstream, UpstreamAction, refused_provider};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Requests to the collector: path and body.
type Posted = Vec<(String, Value)>;

/// A collector that stores its requests, or accepts connections and never answers.
struct Collector {
    address: SocketAddr,
    posted: Arc<Mutex<Posted>>,
    count: watch::Sender<usize>,
}

impl Collector {
    async fn start(answers: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (posted, count) = (Arc::new(Mutex::new(Posted::new())), watch::Sender::new(0));
        let collector =
            Self { address: listener.local_addr().unwrap(), posted: Arc::clone(&posted), count: count.clone() };
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (posted, count) = (Arc::clone(&posted), count.clone());
                tokio::spawn(async move {
                    let mut buffer = Vec::new();
                    while let Some((path, body)) = request(&mut stream, &mut buffer).await {
                        posted.lock().unwrap().push((path, body));
                        count.send_modify(|count| *count += 1);
                        if !answers {
                            std::future::pending::<()>().await;
                        }
                        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
                    }
                });
            }
        });
        collector
    }

    fn posted(&self, path: &str) -> Vec<Value> {
        let posted = self.posted.lock().unwrap();
        posted.iter().filter(|(at, _)| at == path).map(|(_, body)| body.clone()).collect()
    }

    fn spans(&self) -> Vec<Value> {
        let of = |body: &Value| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
        self.posted("/v1/traces").iter().flat_map(of).collect()
    }

    /// The latest data points of a metric.
    fn points(&self, name: &str) -> Vec<Value> {
        let last = self.posted("/v1/metrics").pop().expect("figures were sent");
        let metrics = last["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap().clone();
        let metric = metrics.iter().find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("no {name}"));
        let data = ["sum", "gauge", "histogram"].iter().find_map(|kind| metric.get(*kind)).unwrap();
        data["dataPoints"].as_array().unwrap().clone()
    }
}

async fn request(stream: &mut tokio::net::TcpStream, buffer: &mut Vec<u8>) -> Option<(String, Value)> {
    loop {
        if let Some(head) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&buffer[..head]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            let end = head + 4 + length.unwrap_or(0);
            if buffer.len() >= end {
                let path = text.split(' ').nth(1).unwrap().to_owned();
                assert!(text.contains("content-type: application/json"), "{text}");
                let body = serde_json::from_slice(&buffer[head + 4..end]).unwrap();
                buffer.drain(..end);
                return Some((path, body));
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

fn attributes(span: &Value) -> Value {
    let plain = |value: &Value| match value {
        Value::Object(value) if value.contains_key("arrayValue") => {
            let values = value["arrayValue"]["values"].as_array().unwrap();
            json!(values.iter().map(|value| value["stringValue"].clone()).collect::<Vec<_>>())
        }
        Value::Object(value) => value.values().next().unwrap().clone(),
        _ => panic!("{value}"),
    };
    let pairs = span["attributes"].as_array().unwrap().iter();
    pairs
        .map(|pair| (pair["key"].as_str().unwrap().to_owned(), plain(&pair["value"])))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn launch(folder: &std::path::Path, providers: &str, collector: &Collector) -> Process {
    std::fs::write(folder.join("config.toml"), providers).unwrap();
    let launch = Launch::new(folder).with("MUSTER__LIMITS__AGENT__HEALTH", "1000000");
    launch.with("MUSTER__TELEMETRY__OTLP_ENDPOINT", &format!("\"http://{}\"", collector.address)).start()
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SECRET_WORDS: &str = "whisper-of-the-prompt";

fn request_body(streamed: bool) -> Value {
    json!({ "model": "alpha", "stream": streamed, "messages": [{ "role": "user", "content": SECRET_WORDS }] })
}

async fn end(mut process: Process) -> Duration {
    let begun = Instant::now();
    process.signal("TERM");
    assert_eq!(process.ended().code(), Some(0));
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_a_span_under_its_callers_with_the_chat_below_and_no_words_of_it() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), Collector::start(true).await);
    let upstream = Upstream::start(UpstreamAction::Answer(&["answer-", "nobody-hears"]));
    let down = refused_provider("down", "alpha");
    let process = launch(folder.path(), &(down + &upstream.provider("one", "alpha")), &collector);
    let client = Client::new(&process.url).with(KEY);
    let sent = client.post_request("/v1/chat/completions", &request_body(false));
    let got = answer(sent.header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"))).await;
    assert_eq!(got.status, 200, "{}", got.text);
    // A caller that opts out is not recorded.
    let unsampled = client.post_request("/v1/chat/completions", &request_body(false));
    let got = answer(unsampled.header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")).await;
    assert_eq!(got.status, 200);
    let events = client.stream("/v1/chat/completions", &request_body(true)).await.rest().await;
    assert!(!events.is_empty());
    end(process).await;

    let spans = collector.spans();
    let of_trace: Vec<_> = spans.iter().filter(|span| span["traceId"] == TRACE).collect();
    let server = of_trace.iter().find(|span| span["kind"] == 2).expect("the server's span");
    assert_eq!(
        (&server["parentSpanId"], &server["name"]),
        (&json!("00f067aa0ba902b7"), &json!("POST /v1/chat/completions"))
    );
    let about = attributes(server);
    assert_eq!((&about["http.response.status_code"], &about["url.scheme"]), (&json!("200"), &json!("http")));
    let chat = of_trace.iter().find(|span| span["parentSpanId"] == server["spanId"]).expect("the chat's span");
    assert_eq!((&chat["kind"], &chat["name"]), (&json!(3), &json!("chat alpha")));
    let about = attributes(chat);
    for (name, value) in [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("one")),
        ("gen_ai.request.model", json!("alpha")),
        ("gen_ai.response.model", json!("alpha")),
        ("gen_ai.usage.input_tokens", json!("7")),
        ("gen_ai.usage.output_tokens", json!("2")),
        ("gen_ai.response.finish_reasons", json!(["stop"])),
    ] {
        assert_eq!(about[name], value, "{name} of {about}");
    }
    let tried: Vec<_> = of_trace.iter().filter(|span| span["parentSpanId"] == chat["spanId"]).collect();
    let attempts: Vec<_> = tried.iter().map(|span| attributes(span)).collect();
    assert_eq!(attempts.len(), 2, "{attempts:?}");
    assert_eq!(
        (&attempts[0]["gen_ai.provider.name"], &attempts[0]["error.type"]),
        (&json!("down"), &json!("transient"))
    );
    assert_eq!((&attempts[1]["gen_ai.provider.name"], attempts[1].get("error.type")), (&json!("one"), None));
    assert_eq!(tried[0]["status"]["code"], 2);
    for span in &spans {
        let nanos = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"));
        assert_ne!(span["traceId"], "0af7651916cd43dd8448eb211c80319c");
    }
    assert_eq!(
        spans.iter().filter(|span| span["name"] == "chat alpha" && span["parentSpanId"] != chat["spanId"]).count(),
        4
    );
    let streamed = spans.iter().filter(|span| span["traceId"] != TRACE && span["kind"] == 3);
    let usage: Vec<_> =
        streamed.filter_map(|span| attributes(span).get("gen_ai.usage.output_tokens").cloned()).collect();
    assert_eq!(usage, [json!("2")]);

    let requests = collector.points("http.server.request.duration");
    assert!(
        requests.iter().any(|point| attributes(point)["http.route"] == "/v1/chat/completions" && point["count"] == "3")
    );
    let tokens = collector.points("gen_ai.client.token.usage");
    let output = tokens.iter().find(|point| attributes(point)["gen_ai.token.type"] == "output").unwrap();
    assert_eq!((&output["count"], &output["sum"]), (&json!("3"), &json!(6.0)));
    assert!(!collector.points("gen_ai.client.operation.duration").is_empty());
    assert!(!collector.points("muster_http_requests_total").is_empty(), "and what /metrics has");

    let everything = format!("{:?}", collector.posted.lock().unwrap());
    for words in [SECRET_WORDS, "nobody-hears", KEY] {
        assert!(!everything.contains(words), "{words} was exported");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_provider_request_carries_the_span() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), Collector::start(true).await);
    // The upstream is a collector too and keeps only bodies, so the header is read by a real listener.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let provider = format!(
        "[[provider]]\nid = \"one\"\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\nmodels = [\"alpha\"]\n",
        listener.local_addr().unwrap()
    );
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|four| four == b"\r\n\r\n") {
            assert!(stream.read_buf(&mut head).await.unwrap() > 0);
        }
        stream.write_all(b"HTTP/1.1 400 Bad\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}").await.unwrap();
        let head = String::from_utf8_lossy(&head).to_lowercase();
        head.lines().find_map(|line| line.strip_prefix("traceparent: ")).map(str::to_owned)
    });
    let process = launch(folder.path(), &provider, &collector);
    let sent = Client::new(&process.url).with(KEY);
    let sent = sent.post_request("/v1/chat/completions", &request_body(false));
    let got = answer(sent.header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"))).await;
    assert_eq!(got.status, 400, "{}", got.text);
    let attempts = heard.await.unwrap().expect("a traceparent");
    end(process).await;
    let spans = collector.spans();
    let chat = spans.iter().find(|span| span["kind"] == 3).unwrap();
    assert_eq!(attempts, format!("00-{TRACE}-{}-01", chat["spanId"].as_str().unwrap()));
    assert_eq!(attributes(chat)["error.type"], "client");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_hangs_slows_no_request_and_no_end() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), Collector::start(false).await);
    let process = launch(folder.path(), "", &collector);
    let client = Client::new(&process.url).with(KEY);
    let mut slowest = Duration::ZERO;
    let timed_get = |path: &'static str| {
        let client = client.clone();
        async move {
            let begun = Instant::now();
            assert_eq!(client.get(path).await.status, 200);
            begun.elapsed()
        }
    };
    // The queue, the batch that the exporter is sending, and more.
    for _ in 0..60 {
        let took = futures::future::join_all((0..64).map(|_| timed_get("/api/health/live"))).await;
        slowest = took.into_iter().fold(slowest, Duration::max);
    }
    assert!(slowest < TEST_TIMEOUT / 4, "{slowest:?}");
    let metrics = client.get("/metrics").await.text;
    let dropped = metrics.lines().find(|line| line.contains("dropped_spans")).expect("drops are counted").to_owned();
    assert!(dropped.rsplit(' ').next().unwrap().parse::<u64>().unwrap() > 0, "{dropped}");
    assert!(end(process).await < Duration::from_secs(20));
    assert!(*collector.count.borrow() > 0);
}
