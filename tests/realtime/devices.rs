//! Devices on live sockets, authenticated by tokens that they sign themselves.

use std::time::{SystemTime, UNIX_EPOCH};

use muster_auth::{PrivateKey, device};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::client::{Client, answer};
use crate::support::server::Muster;
use crate::support::socket::{Socket, admin_token};

const PATH: &str = "/api/v1/devices";

/// A device with its key.
struct Unit {
    id: String,
    key: PrivateKey,
}

impl Unit {
    async fn register(admin: &Client) -> Self {
        let key = PrivateKey::generate().unwrap();
        let body = json!({ "name": "Siren 7", "kind": "siren", "public_key": key.public().to_jwk() });
        let made = admin.post(PATH, &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        Self { id: made.json()["data"]["device"]["id"].as_str().unwrap().to_owned(), key }
    }

    fn token(&self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        device::sign(&self.key, &self.id, now, 300).unwrap()
    }

    fn path(&self, rest: &str) -> String {
        format!("{PATH}/{}{rest}", self.id)
    }

    fn channel(&self) -> String {
        format!("devices:{}", self.id)
    }

    /// Opens a socket with the device's token at the handshake, and waits for the subscription to its own channel.
    async fn open(&self, muster: &Muster) -> Socket {
        let mut socket = Socket::open(muster, &self.token()).await;
        let reply = socket.request(json!({ "connect": { "subs": { self.channel(): {} } } })).await;
        assert_eq!(reply["ok"]["subs"][self.channel()]["recovered"], json!(false), "{reply}");
        assert_eq!(reply["ok"]["user"], json!(self.id), "{reply}");
        socket
    }
}

async fn frame_named(socket: &mut Socket, name: &str) -> Value {
    loop {
        let frame = socket.frame().await;
        if frame["ev"] == name {
            return frame;
        }
    }
}

#[tokio::test]
async fn a_device_receives_a_command_and_acknowledges_it_on_its_socket() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let unit = Unit::register(&admin).await;
    let mut socket = unit.open(&muster).await;
    // Another device authenticates in its first frame; its own channel is subscribed automatically.
    let mut other = Socket::connect(&muster, &unit.token()).await;
    let own = other.request(json!({ "history": { "ch": unit.channel() } })).await;
    assert!(own["ok"]["publications"].is_array(), "{own}");
    let created = admin.post(&unit.path("/commands"), &json!({ "name": "siren.on" })).await;
    assert_eq!(created.status, 201, "{}", created.text);
    for socket in [&mut socket, &mut other] {
        assert_eq!(frame_named(socket, "device.command_queued").await["ch"], json!(unit.channel()));
    }
    let client = admin.without_key().with(unit.token());
    let next = client.get("/api/v1/device/commands/next?wait_s=0").await;
    assert_eq!(next.status, 200, "{}", next.text);
    let command = created.json()["data"]["id"].clone();
    let ack = json!({ "command": { "name": "device.ack", "target": command, "args": { "ok": true, "result": 7 } } });
    let acked = socket.request(ack).await;
    assert_eq!((&acked["ok"]["state"], &acked["ok"]["result"]), (&json!("acked"), &json!(7)), "{acked}");
    for name in ["device.command", "incident.acknowledge", "nothing"] {
        let refused = socket.request(json!({ "command": { "name": name, "target": unit.id, "args": {} } })).await;
        assert_eq!(refused["error"]["reason"], "unknown_command", "{name}: {refused}");
    }
    let mut person = Socket::connect(&muster, &admin_token(&muster).await).await;
    let foreign = person.request(json!({ "command": { "name": "device.ack", "target": command, "args": {} } })).await;
    assert_eq!(foreign["error"]["reason"], "unknown_command", "no person answers for a device: {foreign}");
}

#[tokio::test]
async fn a39_to_a_device_anothers_channel_looks_like_one_that_is_not_there() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let (unit, other) = (Unit::register(&admin).await, Unit::register(&admin).await);
    let mut socket = unit.open(&muster).await;
    let telemetry = format!("{}:telemetry", unit.channel());
    for request in ["subscribe", "history", "presence"] {
        let absent = socket.request(json!({ request: { "ch": "devices:dev_01JABSENT" } })).await["error"].clone();
        assert_eq!((&absent["code"], &absent["reason"]), (&json!(2403), &json!("permission_denied")), "{absent}");
        for channel in [&other.channel(), "devices", &telemetry, "user:usr_1", "system", "incidents", "nothing"] {
            let refused = socket.request(json!({ request: { "ch": channel } })).await["error"].clone();
            assert_eq!(refused, absent, "{request} {channel}");
        }
    }
    let present = socket.request(json!({ "presence": { "ch": unit.channel() } })).await;
    assert_eq!(present["error"]["code"], 2403, "presence is not visible to devices: {present}");
    let answered = admin.get(&format!("/api/v1/realtime/channels/{}/presence", unit.channel())).await;
    assert_eq!(answered.json()["data"]["present"][0]["user"], json!(unit.id), "{}", answered.text);
}

#[tokio::test]
async fn a_device_is_closed_at_once_when_it_is_quarantined_retired_or_its_key_replaced() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let (quarantined, retired, renewed, graced) = (
        Unit::register(&admin).await,
        Unit::register(&admin).await,
        Unit::register(&admin).await,
        Unit::register(&admin).await,
    );
    let bystander = Unit::register(&admin).await;
    let mut by = bystander.open(&muster).await;
    let mut sockets = Vec::new();
    for unit in [&quarantined, &retired, &renewed, &graced] {
        sockets.push(unit.open(&muster).await);
    }
    let body = json!({ "reason": "stolen" });
    assert_eq!(admin.post(&quarantined.path("/quarantine"), &body).await.status, 200);
    let gone = answer(admin.request(Method::DELETE, &retired.path("")).header("if-match", "*")).await;
    assert_eq!(gone.status, 200, "{}", gone.text);
    for (unit, grace) in [(&renewed, 0), (&graced, 1)] {
        let rotated = admin.post(&unit.path("/rotate-credentials"), &json!({ "grace_s": grace })).await;
        assert_eq!(rotated.status, 200, "{}", rotated.text);
    }
    for socket in &mut sockets {
        assert_eq!(socket.closed().await, 4011);
    }
    for unit in [&quarantined, &retired, &renewed, &graced] {
        let headers = [("authorization", format!("Bearer {}", unit.token()))];
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        let refused = Socket::handshake(&muster, "/api/v1/realtime", &headers).await.err().unwrap();
        assert_eq!(refused.status, 401, "{}", refused.body);
    }
    let own = by.request(json!({ "history": { "ch": bystander.channel() } })).await;
    assert!(own["ok"].is_object(), "others are left alone: {own}");
}

#[tokio::test]
async fn a_device_is_warned_and_refreshed_by_its_own_token_even_of_its_next_key() {
    // Its tokens are valid for 5 minutes: with a warning of 10 it is sent at once.
    let muster = Muster::start("[feed]\nexpiry_warning_ms = 600000\n");
    let admin = muster.admin().await;
    let (unit, other) = (Unit::register(&admin).await, Unit::register(&admin).await);
    let mut socket = unit.open(&muster).await;
    let warning = loop {
        let frame = socket.frame().await;
        if frame["sys"].is_string() {
            break frame;
        }
    };
    assert_eq!(warning["sys"], "auth.expiring", "{warning}");
    assert!((1..=300).contains(&warning["ttl"].as_u64().unwrap()), "{warning}");
    let rotated = admin.post(&unit.path("/rotate-credentials"), &json!({ "grace_s": 3600 })).await.json();
    let key = PrivateKey::from_jwk(&rotated["data"]["private_key"]).unwrap();
    let unit = Unit { id: unit.id, key };
    let refreshed = socket.request(json!({ "refresh": { "token": unit.token() } })).await;
    assert!(refreshed["ok"]["exp"].is_u64(), "{refreshed}");
    // The key of the handshake is replaced; the socket stays open by the key of the refresh.
    let first = PrivateKey::generate().unwrap();
    let again = json!({ "grace_s": 3600, "public_key": first.public().to_jwk() });
    assert_eq!(admin.post(&unit.path("/rotate-credentials"), &again).await.status, 200);
    assert_eq!(frame_named(&mut socket, "device.updated").await["ch"], json!(unit.channel()));
    assert!(socket.request(json!({ "history": { "ch": unit.channel() } })).await["ok"].is_object());
    socket.begin(json!({ "refresh": { "token": other.token() } })).await;
    assert_eq!(socket.closed().await, 4001);
}

#[tokio::test]
async fn a_device_has_two_connections() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let unit = Unit::register(&admin).await;
    let (_one, _two) = (unit.open(&muster).await, unit.open(&muster).await);
    let mut third = Socket::open(&muster, &unit.token()).await;
    assert_eq!(third.closed().await, 4009);
    let mut fourth = Socket::page(&muster).await;
    fourth.begin(json!({ "connect": { "token": unit.token() } })).await;
    assert_eq!(fourth.closed().await, 4009, "nor by its first frame");
}

#[tokio::test]
async fn the_description_names_the_tokens_of_devices() {
    let muster = Muster::start("");
    let described = muster.client().without_key().get("/asyncapi.json").await.json();
    let security = described["servers"]["this"]["security"].as_array().unwrap();
    assert!(security.contains(&json!({ "$ref": "#/components/securitySchemes/device" })), "{security:?}");
    assert!(described["components"]["securitySchemes"]["device"]["description"].is_string());
    assert_eq!(described["x-limits"]["device_connections"], 2);
}
