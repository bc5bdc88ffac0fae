//! Load for the feed: one thread that holds many WebSocket subscribers and counts what reaches them.
//!
//! Uses `muster.v1.json` with the server, and the subset that `raw_hub` supports with that. Publications are requested
//! on the server's control port (`COUNT SIZE` a line). Prints one JSON line.
//!
//! `cargo run --release --example feed_load -- port=8080 control=8081 n=1000 pids=1,2 [token=…] [rate=20] [secs=5]
//!  [window=16] [size=200] [stall=0] [subs=incidents,alerts,devices] [cert=FILE]`
//!
//! With `cert`, connections are under TLS and trust this certificate.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use serde_json::json;

/// A clock tick of /proc/…/stat: 100 a second on every known Linux.
const TICK: f64 = 0.01;

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Handshake,
    /// Replies to subscriptions that are pending.
    Subscribing(usize),
    Live,
}

struct Subscriber {
    stream: TcpStream,
    tls: Option<Box<ClientConnection>>,
    stage: Stage,
    left: Vec<u8>,
    dead: bool,
}

impl Subscriber {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.stream.read(buffer) };
        loop {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
            tls.read_tls(&mut self.stream)?;
            tls.process_new_packets().map_err(io::Error::other)?;
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return self.stream.write_all(bytes) };
        tls.writer().write_all(bytes)?;
        while tls.wants_write() {
            tls.write_tls(&mut self.stream)?;
        }
        Ok(())
    }
}

/// The arguments of the command line.
struct Plan {
    port: u16,
    tls: Option<Arc<ClientConfig>>,
    count: usize,
    token: Option<String>,
    subs: Vec<String>,
    pids: Vec<u32>,
    rate: f64,
    secs: f64,
    window: u64,
    size: usize,
    stall: usize,
}

struct Load {
    plan: Plan,
    poll: Poll,
    events: Events,
    subscribers: Vec<Subscriber>,
    control: std::net::TcpStream,
    delivered: u64,
    reads: u64,
    live: usize,
    /// In nanoseconds; only while latencies are measured.
    latencies: Option<Vec<u64>>,
    buffer: Vec<u8>,
}

/// CPU time and memory of the server's processes.
#[derive(Clone, Copy)]
struct Used {
    cpu_seconds: f64,
    rss_kib: f64,
}

fn used(pids: &[u32]) -> Used {
    let read = |pid: &u32, file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let cpu = |pid: &u32| {
        let stat = read(pid, "stat");
        let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        after.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<f64>().ok()).sum::<f64>() * TICK
    };
    let rss = |pid: &u32| {
        let status = read(pid, "status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
    };
    Used { cpu_seconds: pids.iter().map(cpu).sum(), rss_kib: pids.iter().map(rss).sum() }
}

/// A masked text frame (the mask is all zeros: the server does the same work).
fn masked(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u16::try_from(text.len()) {
        Ok(short @ 0..=125) => frame.push(0x80 | u8::try_from(short).unwrap_or(125)),
        Ok(long) => {
            frame.push(0x80 | 126);
            frame.extend(long.to_be_bytes());
        }
        Err(_) => return Vec::new(),
    }
    frame.extend([0; 4]);
    frame.extend_from_slice(text.as_bytes());
    frame
}

impl Load {
    fn open(plan: Plan, control: u16) -> io::Result<Self> {
        let control = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, control))?;
        control.set_nodelay(true)?;
        Ok(Self {
            plan,
            poll: Poll::new()?,
            events: Events::with_capacity(1024),
            subscribers: Vec::new(),
            control,
            delivered: 0,
            reads: 0,
            live: 0,
            latencies: None,
            buffer: vec![0; 256 << 10],
        })
    }

    fn publish(&mut self, count: u64) -> io::Result<()> {
        let line = format!("{count} {}\n", self.plan.size);
        self.control.write_all(line.as_bytes())
    }

    /// Opens connections up to this number, at most 200 ahead of those that are live.
    fn connect(&mut self, wanted: usize) -> io::Result<()> {
        let started = Instant::now();
        while self.live < wanted {
            while self.subscribers.len() < wanted && self.subscribers.len() < self.live + 200 {
                self.dial()?;
            }
            self.turn(Duration::from_millis(5))?;
            if started.elapsed() > Duration::from_secs(120) {
                let live = self.live;
                return Err(io::Error::other(format!("{live} of {wanted} connections are live after 120 s")));
            }
        }
        Ok(())
    }

    fn dial(&mut self) -> io::Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.plan.port));
        let mut stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut tls = match &self.plan.tls {
            None => None,
            Some(config) => {
                let name = ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST));
                Some(Box::new(ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?))
            }
        };
        let credential = self.plan.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
        let request = format!(
            "GET /api/v1/realtime HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Protocol: muster.v1.json\r\n{}\r\n",
            credential.unwrap_or_default()
        );
        match &mut tls {
            None => stream.write_all(request.as_bytes())?,
            Some(tls) => rustls::Stream::new(&mut **tls, &mut stream).write_all(request.as_bytes())?,
        }
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        self.poll.registry().register(&mut stream, Token(self.subscribers.len()), Interest::READABLE)?;
        self.subscribers.push(Subscriber { stream, tls, stage: Stage::Handshake, left: Vec::new(), dead: false });
        Ok(())
    }

    /// Reads available data, waiting up to this long for the first of it.
    fn turn(&mut self, wait: Duration) -> io::Result<()> {
        self.poll.poll(&mut self.events, Some(wait))?;
        let ready: Vec<usize> = self.events.iter().map(|event| event.token().0).collect();
        ready.into_iter().for_each(|at| self.read(at));
        Ok(())
    }

    fn read(&mut self, at: usize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(subscriber) = self.subscribers.get_mut(at).filter(|subscriber| !subscriber.dead) {
            match subscriber.read(&mut buffer) {
                Ok(0) => subscriber.dead = true,
                Ok(got) => {
                    self.reads += 1;
                    let mut bytes = std::mem::take(&mut subscriber.left);
                    bytes.extend_from_slice(buffer.get(..got).unwrap_or_default());
                    let used = self.consume(at, &bytes);
                    bytes.drain(..used);
                    if let Some(subscriber) = self.subscribers.get_mut(at) {
                        subscriber.left = bytes;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => subscriber.dead = true,
            }
        }
        self.buffer = buffer;
    }

    /// Removes the complete frames from the buffer; returns their length.
    fn consume(&mut self, at: usize, bytes: &[u8]) -> usize {
        let mut used = 0;
        if self.stage(at) == Some(Stage::Handshake) {
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return 0 };
            if !bytes.starts_with(b"HTTP/1.1 101") {
                eprintln!("feed_load: {}", String::from_utf8_lossy(bytes).lines().next().unwrap_or_default());
                return bytes.len();
            }
            used = end + 4;
            let subs = if self.plan.token.is_some() { self.plan.subs.clone() } else { Vec::new() };
            for (number, channel) in subs.iter().enumerate() {
                let request = json!({ "id": number + 1, "subscribe": { "ch": channel } });
                self.write(at, &masked(&request.to_string()));
            }
            self.enter(at, Stage::Subscribing(subs.len()));
        }
        while let Some((text, length)) = frame(bytes.get(used..).unwrap_or_default()) {
            used += length;
            self.take(at, text);
        }
        used
    }

    fn stage(&self, at: usize) -> Option<Stage> {
        self.subscribers.get(at).map(|subscriber| subscriber.stage)
    }

    fn enter(&mut self, at: usize, stage: Stage) {
        let stage = if stage == Stage::Subscribing(0) { Stage::Live } else { stage };
        if let Some(subscriber) = self.subscribers.get_mut(at) {
            subscriber.stage = stage;
            self.live += usize::from(stage == Stage::Live);
        }
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        if let Some(subscriber) = self.subscribers.get_mut(at) {
            subscriber.dead |= subscriber.write_all(bytes).is_err();
        }
    }

    fn take(&mut self, at: usize, text: &[u8]) {
        if text == b"{}" {
            return self.write(at, &masked("{}"));
        }
        if text.starts_with(b"{\"ch\":") {
            self.delivered += 1;
            if let Some(latencies) = &mut self.latencies
                && let Some(sent) = stamp(text)
            {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
                latencies.push(u64::try_from(now.saturating_sub(sent)).unwrap_or(0));
            }
            return;
        }
        if let Some(Stage::Subscribing(open)) = self.stage(at)
            && text.starts_with(b"{\"id\":")
        {
            if !text.windows(5).any(|word| word == b"\"ok\":") {
                eprintln!("feed_load: {}", String::from_utf8_lossy(text));
            }
            self.enter(at, Stage::Subscribing(open - 1));
        }
    }

    fn run_for(&mut self, secs: f64, mut each: impl FnMut(&mut Self, f64) -> io::Result<()>) -> io::Result<Phase> {
        let (delivered, reads, before, started) = (self.delivered, self.reads, used(&self.plan.pids), Instant::now());
        loop {
            let elapsed = started.elapsed().as_secs_f64();
            if elapsed >= secs {
                break;
            }
            each(self, elapsed)?;
            self.turn(Duration::from_millis(1))?;
        }
        let (after, elapsed) = (used(&self.plan.pids), started.elapsed().as_secs_f64());
        Ok(Phase {
            delivered: self.delivered - delivered,
            reads: self.reads - reads,
            elapsed,
            cpu: after.cpu_seconds - before.cpu_seconds,
        })
    }

    fn run(&mut self) -> io::Result<serde_json::Value> {
        let empty = used(&self.plan.pids);
        let started = Instant::now();
        // Memory that a server freed before, such as a password hash's 19 MiB, is reused by the first connections:
        // the second half shows the cost of one.
        let half = self.plan.count / 2;
        self.connect(half)?;
        self.run_for(1.5, |_, _| Ok(()))?;
        let halfway = used(&self.plan.pids);
        self.connect(self.plan.count)?;
        let connected = started.elapsed().as_secs_f64() - 1.5;
        self.run_for(1.5, |_, _| Ok(()))?;
        let idle = used(&self.plan.pids);
        for at in 0..self.plan.stall {
            if let Some(subscriber) = self.subscribers.get_mut(at) {
                self.poll.registry().deregister(&mut subscriber.stream)?;
            }
        }
        let (rate, window) = (self.plan.rate, self.plan.window);
        let readers = (self.plan.count - self.plan.stall) as u64;

        let mut sent = 0u64;
        self.latencies = Some(Vec::new());
        let paced = self.run_for(self.plan.secs, |load, elapsed| {
            let due = (elapsed * rate).floor().max(0.0);
            while (sent as f64) < due {
                load.publish(1)?;
                sent += 1;
            }
            Ok(())
        })?;
        let mut latencies = self.latencies.take().unwrap_or_default();
        latencies.sort_unstable();
        let quantile = |share: f64| {
            let at = (latencies.len() as f64 * share) as usize;
            latencies.get(at.min(latencies.len().saturating_sub(1))).map(|nanos| *nanos as f64 / 1e6)
        };
        self.run_for(0.5, |_, _| Ok(()))?;

        let (base, mut requested) = (self.delivered, 0u64);
        let full = self.run_for(if window > 0 { self.plan.secs } else { 0.0 }, |load, _| {
            let arrived = (load.delivered - base) / readers.max(1);
            let open = requested.saturating_sub(arrived);
            if open < window {
                load.publish(window - open)?;
                requested += window - open;
            }
            Ok(())
        })?;
        let end = used(&self.plan.pids);
        Ok(json!({
            "connections": self.plan.count,
            "connect_s": connected,
            "kib_per_connection": (idle.rss_kib - halfway.rss_kib) / (self.plan.count - half) as f64,
            "kib_from_the_first": (idle.rss_kib - empty.rss_kib) / self.plan.count as f64,
            "rss_end_kib": end.rss_kib,
            "us_per_delivery": paced.cpu * 1e6 / paced.delivered.max(1) as f64,
            "deliveries_per_s": paced.delivered as f64 / paced.elapsed,
            "p50_ms": quantile(0.5), "p99_ms": quantile(0.99),
            "coalesced_per_cpu_s": if full.cpu > 0.0 { full.delivered as f64 / full.cpu } else { 0.0 },
            "coalesced_per_s": if full.elapsed > 0.0 { full.delivered as f64 / full.elapsed } else { 0.0 },
            "per_read": full.delivered as f64 / full.reads.max(1) as f64,
            "expected": sent * readers, "delivered": paced.delivered,
            "dead": self.subscribers.iter().filter(|subscriber| subscriber.dead).count(),
        }))
    }
}

struct Phase {
    delivered: u64,
    reads: u64,
    elapsed: f64,
    cpu: f64,
}

/// The first whole frame of what was read: its payload and its length. The server never masks.
fn frame(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (head, payload) = match bytes.get(1)? & 0x7f {
        126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, usize::try_from(u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)).ok()?),
        short => (2, usize::from(short)),
    };
    Some((bytes.get(head..head + payload)?, head + payload))
}

/// When an event was made: twenty digits of nanoseconds behind `"t":"`.
fn stamp(text: &[u8]) -> Option<u128> {
    let at = text.windows(5).position(|five| five == b"\"t\":\"")? + 5;
    std::str::from_utf8(text.get(at..at + 20)?).ok()?.parse().ok()
}

/// Returns a configuration that trusts the certificate in a file.
fn tls(certificate: &str) -> Result<ClientConfig, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{certificate}: {error}");
    let mut roots = RootCertStore::empty();
    let pem = CertificateDer::from_pem_file(certificate).map_err(|error| failed(&error))?;
    roots.add(pem).map_err(|error| failed(&error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(versions.map_err(|error| failed(&error))?.with_root_certificates(roots).with_no_client_auth())
}

fn main() -> ExitCode {
    let arguments: HashMap<String, String> = std::env::args()
        .skip(1)
        .filter_map(|word| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect();
    let number = |name: &str, default: f64| arguments.get(name).and_then(|value| value.parse().ok()).unwrap_or(default);
    let list = |name: &str| arguments.get(name).map(String::as_str).unwrap_or_default().split(',').map(str::to_owned);
    let subs = if arguments.contains_key("subs") { list("subs").collect() } else { vec!["incidents".to_owned()] };
    let tls = match arguments.get("cert").map(|path| tls(path)).transpose() {
        Ok(tls) => tls.map(Arc::new),
        Err(error) => {
            eprintln!("feed_load: {error}");
            return ExitCode::FAILURE;
        }
    };
    let plan = Plan {
        port: number("port", 8080.0) as u16,
        tls,
        count: number("n", 100.0) as usize,
        token: arguments.get("token").cloned(),
        subs,
        pids: list("pids").filter_map(|pid| pid.parse().ok()).collect(),
        rate: number("rate", 20.0),
        secs: number("secs", 5.0),
        window: number("window", 16.0) as u64,
        size: number("size", 200.0) as usize,
        stall: number("stall", 0.0) as usize,
    };
    match Load::open(plan, number("control", 8081.0) as u16).and_then(|mut load| load.run()) {
        Ok(found) => {
            println!("{found}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("feed_load: {error}");
            ExitCode::FAILURE
        }
    }
}
