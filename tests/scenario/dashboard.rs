//! A dashboard: one socket, several channels, everything that it received; when disconnected, it resumes from its
//! positions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Map, Value, json};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::support::described::event_differs;

/// Upper bound of every wait of the scenario.
const TEST_TIMEOUT: Duration = Duration::from_secs(90);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
/// Offset, identifier and name.
pub(super) type Event = (u64, String, String);

/// Publications received on one channel.
#[derive(Debug, Default, Clone)]
struct Track {
    position: Option<(String, u64)>,
    events: Vec<Event>,
}

/// The publications that a dashboard received.
#[derive(Debug, Default)]
pub(super) struct DashboardView {
    tracks: BTreeMap<String, Track>,
    resumed: u32,
    /// Violations: gaps, duplicates, lost continuity.
    faults: Vec<String>,
}

impl DashboardView {
    pub(super) fn names(&self, channel: &str) -> impl Iterator<Item = &str> {
        self.tracks.get(channel).into_iter().flat_map(|track| &track.events).map(|(_, _, name)| name.as_str())
    }

    pub(super) fn count(&self, channel: &str) -> usize {
        self.tracks.get(channel).map_or(0, |track| track.events.len())
    }

    /// The reply to a subscription.
    fn answered(&mut self, channel: &str, sub: &Value) {
        let epoch = sub["epoch"].as_str().unwrap_or_default().to_owned();
        let offset = sub["offset"].as_u64().unwrap_or_default();
        let recovered = sub["recovered"] == true;
        let track = self.tracks.entry(channel.to_owned()).or_default();
        match &track.position {
            // Missed publications follow, up to the offset.
            Some(_) if recovered => self.resumed += 1,
            Some(since) => self.faults.push(format!("{channel}: not recovered from {since:?}: {sub}")),
            None => track.position = Some((epoch, offset)),
        }
    }

    fn pushed(&mut self, frame: &Value) {
        let (Some(channel), Some(off)) = (frame["ch"].as_str(), frame["off"].as_u64()) else { return };
        let Some(track) = self.tracks.get_mut(channel) else { return };
        let text = |name: &str| frame[name].as_str().unwrap_or_default().to_owned();
        let Some((_, at)) = &mut track.position else {
            return self.faults.push(format!("{channel}: {off} was received before the reply"));
        };
        if off != *at + 1 {
            self.faults.push(format!("{channel}: {off} ({}) after {at}", text("ev")));
        }
        *at = off;
        if let Some(difference) = event_differs(frame) {
            self.faults.push(difference);
        }
        track.events.push((off, text("eid"), text("ev")));
    }
}

struct Shared {
    seen: Mutex<DashboardView>,
    changes: watch::Sender<u64>,
    /// Disconnected by the scenario.
    cut: watch::Sender<bool>,
    /// Channels to subscribe to.
    channels: watch::Sender<Vec<String>>,
}

pub(super) struct Dashboard {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Dashboard {
    /// Opens a dashboard and waits until it is subscribed to every channel.
    pub(super) async fn open(address: watch::Receiver<String>, token: String, channels: &[&str]) -> Self {
        let channels = channels.iter().map(|channel| (*channel).to_owned()).collect();
        let shared = Arc::new(Shared {
            seen: Mutex::default(),
            changes: watch::Sender::new(0),
            cut: watch::Sender::new(false),
            channels: watch::Sender::new(channels),
        });
        let task = tokio::spawn(live(Arc::clone(&shared), address, token));
        let dashboard = Self { shared, task };
        dashboard.wait_until_subscribed().await;
        dashboard
    }

    /// Subscribes to one more channel and waits for the subscription.
    pub(super) async fn follow(&self, channel: &str) {
        self.shared.channels.send_modify(|channels| channels.push(channel.to_owned()));
        self.wait_until_subscribed().await;
    }

    async fn wait_until_subscribed(&self) {
        let channels = self.shared.channels.borrow().clone();
        let wait_until_subscribed =
            |seen: &DashboardView, channel: &String| seen.tracks.get(channel).is_some_and(|t| t.position.is_some());
        self.wait_until("the subscriptions are active", |seen| {
            channels.iter().all(|channel| wait_until_subscribed(seen, channel))
        })
        .await;
    }

    pub(super) async fn wait_until(&self, description: &str, condition: impl Fn(&DashboardView) -> bool) {
        let mut changes = self.shared.changes.subscribe();
        let wait = async {
            while !condition(&self.shared.seen.lock().unwrap()) {
                changes.changed().await.unwrap();
            }
        };
        if tokio::time::timeout(TEST_TIMEOUT, wait).await.is_err() {
            let seen = self.shared.seen.lock().unwrap();
            let last: Vec<_> =
                seen.tracks.iter().map(|(channel, track)| (channel, track.events.len(), track.events.last())).collect();
            panic!("timed out waiting until {description}: {last:?}, {:?}", seen.faults);
        }
    }

    pub(super) fn count(&self, channel: &str) -> usize {
        self.shared.seen.lock().unwrap().count(channel)
    }

    pub(super) fn resumed(&self) -> u32 {
        self.shared.seen.lock().unwrap().resumed
    }

    pub(super) fn events(&self, channel: &str) -> Vec<Event> {
        self.shared.seen.lock().unwrap().tracks.get(channel).map_or_else(Vec::new, |track| track.events.clone())
    }

    fn faults(&self) -> Vec<String> {
        self.shared.seen.lock().unwrap().faults.clone()
    }

    pub(super) fn cut(&self) {
        self.shared.cut.send_replace(true);
    }

    pub(super) fn mend(&self) {
        self.shared.cut.send_replace(false);
    }
}

/// Both received the same publications in the same order, without gaps or duplicates, as far as both have read.
pub(super) fn same(one: &Dashboard, two: &Dashboard, channel: &str) {
    for dashboard in [one, two] {
        assert_eq!(dashboard.faults(), [""; 0]);
    }
    let (mut a, mut b) = (one.events(channel), two.events(channel));
    // They started within the same moment, and one may be a frame ahead at the end.
    let first = a.first().map(|event| event.0).max(b.first().map(|event| event.0)).unwrap_or_default();
    let last = a.last().map(|event| event.0).min(b.last().map(|event| event.0)).unwrap_or_default();
    for events in [&mut a, &mut b] {
        events.retain(|event| (first..=last).contains(&event.0));
    }
    assert!(!a.is_empty(), "{channel}: nothing was received");
    assert_eq!(a, b, "{channel}");
    let ids: std::collections::HashSet<_> = a.iter().map(|event| &event.1).collect();
    assert_eq!(ids.len(), a.len(), "{channel}: an event was received twice");
}

/// Connects repeatedly, resuming from the last positions, until the dashboard is dropped.
async fn live(shared: Arc<Shared>, mut address: watch::Receiver<String>, token: String) {
    let mut cut = shared.cut.subscribe();
    loop {
        if cut.wait_for(|cut| !*cut).await.is_err() {
            return;
        }
        let url = address.borrow_and_update().clone();
        tokio::select! {
            () = watching(&shared, &url, &token) => {}
            _ = cut.wait_for(|cut| *cut) => continue,
        }
        // The server is gone until it runs at another address, or for a moment.
        let _ = tokio::time::timeout(Duration::from_millis(200), address.changed()).await;
    }
}

async fn watching(shared: &Shared, url: &str, token: &str) {
    let Ok(mut socket) = open(url, token).await else { return };
    let mut wanted = shared.channels.subscribe();
    let mut requested = wanted.borrow_and_update().clone();
    if send(&mut socket, connect(shared, &requested)).await.is_err() {
        return;
    }
    let mut replies = BTreeMap::new();
    loop {
        tokio::select! {
            message = socket.next() => {
                let Some(Ok(message)) = message else { return };
                let Message::Text(text) = message else { continue };
                if text.as_str() == "{}" {
                    if send(&mut socket, json!({})).await.is_err() {
                        return;
                    }
                    continue;
                }
                take(shared, &replies, &serde_json::from_str(&text).unwrap());
            }
            _ = wanted.changed() => {
                let channels = wanted.borrow_and_update().clone();
                for channel in channels.iter().filter(|channel| !requested.contains(channel)) {
                    let id = 100 + replies.len() as u64;
                    replies.insert(id, channel.clone());
                    if send(&mut socket, json!({ "id": id, "subscribe": { "ch": channel } })).await.is_err() {
                        return;
                    }
                }
                requested = channels;
            }
        }
    }
}

async fn open(url: &str, token: &str) -> Result<Socket, ()> {
    let address = url.strip_prefix("http://").unwrap();
    let mut request = format!("ws://{address}/api/v1/realtime").into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request.headers_mut().insert("sec-websocket-protocol", "muster.v1.json".parse().unwrap());
    connect_async(request).await.map(|(socket, _)| socket).map_err(|_| ())
}

async fn send(socket: &mut Socket, frame: Value) -> Result<(), ()> {
    socket.send(Message::text(frame.to_string())).await.map_err(|_| ())
}

fn connect(shared: &Shared, channels: &[String]) -> Value {
    let seen = shared.seen.lock().unwrap();
    let mut subs = Map::new();
    for channel in channels {
        let since = seen.tracks.get(channel).and_then(|track| track.position.as_ref());
        let options = match since {
            Some((epoch, offset)) => json!({ "since": { "epoch": epoch, "offset": offset } }),
            None => json!({}),
        };
        subs.insert(channel.clone(), options);
    }
    json!({ "id": 1, "connect": { "client": "scenario", "subs": subs } })
}

fn take(shared: &Shared, replies: &BTreeMap<u64, String>, frame: &Value) {
    {
        let mut seen = shared.seen.lock().unwrap();
        match frame["id"].as_u64() {
            Some(1) => match frame["ok"]["subs"].as_object() {
                Some(subs) => subs.iter().for_each(|(channel, sub)| seen.answered(channel, sub)),
                None => seen.faults.push(format!("connect: {frame}")),
            },
            Some(id) => match (replies.get(&id), frame.get("ok")) {
                (Some(channel), Some(sub)) => seen.answered(channel, sub),
                _ => seen.faults.push(format!("subscribe: {frame}")),
            },
            None => seen.pushed(frame),
        }
    }
    shared.changes.send_modify(|changes| *changes += 1);
}
