//! The feed without sockets: history, presence, server-sent events.

use reqwest::Method;
use serde_json::{Value, json};

use super::world::{publish, server};
use crate::support::client::answer;
use crate::support::server::Muster;
use crate::support::socket::{Socket, admin_token, with_timeout};

/// An event stream with the ids, which the test client of chats does not read.
struct Listener {
    response: reqwest::Response,
    text: String,
}

impl Listener {
    async fn open(muster: &Muster, query: &str, last: Option<&str>) -> Self {
        let client = muster.admin().await;
        let mut request = client.request(Method::GET, &format!("/api/v1/realtime/sse?{query}"));
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/event-stream"));
        Self { response, text: String::new() }
    }

    /// The next event: its id and its data.
    async fn next(&mut self) -> (Option<String>, Value) {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                if let Some(data) = field("data: ") {
                    return (field("id: "), serde_json::from_str(&data).unwrap());
                }
            }
            let chunk = with_timeout(self.response.chunk()).await.unwrap().expect("the stream continues");
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

#[tokio::test]
async fn a_stream_of_several_channels_resumes_each_by_the_last_id() {
    let muster = server("");
    let mut stream = Listener::open(&muster, "ch=system&ch=incidents", None).await;
    let (mut replies, mut offsets) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (_, reply) = stream.next().await;
        replies.push(reply["ok"]["ch"].as_str().unwrap().to_owned());
        offsets.push(reply["ok"]["offset"].as_u64().unwrap());
    }
    replies.sort_unstable();
    assert_eq!(replies, ["incidents", "system"]);
    publish(&muster, &["system"], "a", json!({ "n": 1 }));
    publish(&muster, &["incidents"], "a", json!({ "n": 2 }));
    let (_, first) = stream.next().await;
    let (id, second) = stream.next().await;
    let id = id.unwrap();
    assert_eq!((&first["data"]["n"], &second["data"]["n"]), (&json!(1), &json!(2)));
    assert_eq!(id.split(',').count(), 2, "{id}");
    drop(stream);
    publish(&muster, &["system"], "a", json!({ "n": 3 }));
    publish(&muster, &["incidents"], "a", json!({ "n": 4 }));
    let mut stream = Listener::open(&muster, "ch=system&ch=incidents", Some(&id)).await;
    let mut missed = Vec::new();
    while missed.len() < 2 {
        let (_, event) = stream.next().await;
        match event["ok"]["recovered"].as_bool() {
            Some(recovered) => assert!(recovered, "{event}"),
            None => missed.push(event["data"]["n"].as_u64().unwrap()),
        }
    }
    missed.sort_unstable();
    assert_eq!(missed, [3, 4]);
}

#[tokio::test]
async fn what_cannot_be_streamed_is_refused_in_the_dialect() {
    let muster = server("");
    let client = muster.admin().await;
    assert_eq!(client.without_key().get("/api/v1/realtime/sse?ch=system").await.status, 401);
    for wrong in ["", "?ch=incidents:*"] {
        let refused = client.get(&format!("/api/v1/realtime/sse{wrong}")).await;
        assert_eq!((refused.status, &refused.json()["success"]), (400, &json!(false)), "{wrong}");
    }
    let two = client.request(Method::GET, "/api/v1/realtime/sse?ch=system&ch=alerts").header("last-event-id", "k-1");
    assert_eq!(answer(two).await.status, 400);
}

#[tokio::test]
async fn a_logout_ends_the_stream() {
    let muster = server("");
    let mut stream = Listener::open(&muster, "ch=system", None).await;
    stream.next().await;
    assert_eq!(muster.admin().await.post("/api/v1/auth/logout-all", &json!({})).await.status, 200);
    let (_, close) = stream.next().await;
    assert_eq!(close, json!({ "code": 4011, "reason": "session_revoked" }));
    assert!(with_timeout(stream.response.chunk()).await.unwrap().is_none());
}

#[tokio::test]
async fn history_and_presence_over_http_are_those_of_the_socket() {
    let muster = server("");
    let (client, token) = (muster.admin().await, admin_token(&muster).await);
    let mut socket = Socket::connect(&muster, &token).await;
    socket.subscribe(json!({ "ch": "incidents:inc_1" })).await;
    let mut pushes = Vec::new();
    for n in 1..=3 {
        publish(&muster, &["incidents:inc_1"], "a", json!({ "n": n }));
        pushes.push(socket.frame().await);
    }
    let path = "/api/v1/realtime/channels/incidents:inc_1";
    let all = client.get(&format!("{path}/history")).await;
    assert_eq!(all.status, 200, "{}", all.text);
    let page = &all.json()["data"];
    assert_eq!(page["publications"], json!(pushes), "a page holds the frames that sockets got");
    let since = format!("{}-{}", page["epoch"].as_str().unwrap(), pushes[1]["off"]);
    let rest = client.get(&format!("{path}/history?since={since}")).await.json();
    assert_eq!(rest["data"]["publications"], json!([pushes[2]]));
    let present = client.get(&format!("{path}/presence")).await.json();
    assert_eq!(present["data"]["present"][0]["connections"], 1, "{present}");
    for (path, status) in [
        ("/api/v1/realtime/channels/incidents:none/history", 404),
        ("/api/v1/realtime/channels/no.such/presence", 404),
        ("/api/v1/realtime/channels/system/history?since=x", 400),
        ("/api/v1/realtime/channels/system/history?limit=0", 400),
    ] {
        assert_eq!(client.get(path).await.status, status, "{path}");
    }
    let viewer = muster.person("vera", "viewer").await;
    let denied = viewer.get("/api/v1/realtime/channels/incidents.restricted/history").await;
    assert_eq!((denied.status, &denied.json()["error"]["code"]), (403, &json!("permission_denied")));
}

#[tokio::test]
async fn a_plain_request_is_rejected_with_how_to_connect() {
    let muster = server("");
    let got = muster.client().without_key().get("/api/v1/realtime").await;
    assert_eq!(got.status, 426);
    assert_eq!(got.header("upgrade"), Some("websocket"));
    let body = got.json();
    assert!(body["message"].as_str().unwrap().contains("muster.v1.json"), "{body}");
}
