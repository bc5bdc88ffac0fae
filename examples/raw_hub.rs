//! The floor that the feed is measured against: one thread that holds sockets and writes one shared frame to each.
//!
//! No authentication, no channels, no history: a WebSocket handshake, then every publication of the control port is
//! sent to all sockets. A socket that cannot be written to is closed and excluded from the measurement.
//!
//! `cargo run --release --example raw_hub -- PORT CONTROL_PORT`

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{SystemTime, UNIX_EPOCH};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use sha1::{Digest, Sha1};

const LISTENER: Token = Token(usize::MAX);
const CONTROL: Token = Token(usize::MAX - 1);
/// Bytes that one socket may have queued.
const MOST_WAITING: usize = 1 << 20;

struct Socket {
    stream: TcpStream,
    upgraded: bool,
    read: Vec<u8>,
    waiting: Vec<u8>,
    dead: bool,
}

impl Socket {
    fn write(&mut self, bytes: &[u8]) {
        if !self.waiting.is_empty() {
            self.waiting.extend_from_slice(bytes);
            self.dead |= self.waiting.len() > MOST_WAITING;
            return;
        }
        match self.stream.write(bytes) {
            Ok(taken) => self.waiting.extend_from_slice(bytes.get(taken..).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.waiting.extend_from_slice(bytes),
            Err(_) => self.dead = true,
        }
    }

    fn flush(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        if !waiting.is_empty() {
            self.write(&waiting);
        }
    }

    fn take(&mut self) {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return self.dead = true,
                Ok(_) if self.upgraded => {}
                Ok(got) => self.read.extend_from_slice(buffer.get(..got).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return self.dead = true,
            }
        }
        if !self.upgraded && self.read.ends_with(b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&self.read).into_owned();
            let key = head.lines().find(|line| line.to_lowercase().starts_with("sec-websocket-key:"));
            let key = key.and_then(|line| line.split_once(':')).map_or("", |(_, key)| key.trim());
            let digest = Sha1::new().chain_update(key).chain_update("258EAFA5-E914-47DA-95CA-C5AB0DC85B11").finalize();
            let accept = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, digest);
            self.upgraded = true;
            self.read = Vec::new();
            self.write(
                format!(
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                     Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: muster.v1.json\r\n\r\n"
                )
                .as_bytes(),
            );
        }
    }
}

/// An unmasked text frame.
fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u16::try_from(text.len()) {
        Ok(short @ 0..=125) => frame.push(u8::try_from(short).unwrap_or(125)),
        Ok(long) => {
            frame.push(126);
            frame.extend(long.to_be_bytes());
        }
        Err(_) => {
            frame.push(127);
            frame.extend((text.len() as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(text.as_bytes());
    frame
}

fn event(number: u64, size: usize) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let mut text = format!("{{\"ch\":\"incidents\",\"off\":{number},\"data\":{{\"t\":\"{now:020}\",\"d\":\"");
    let fill = size.saturating_sub(text.len() + 3);
    text.extend(std::iter::repeat_n('x', fill));
    text.push_str("\"}}");
    frame(&text)
}

/// Passes on the publications requested on the control port: `COUNT SIZE` on each line.
fn control(port: u16, sender: Sender<(u64, usize)>, waker: Arc<Waker>) -> io::Result<()> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let mut numbers = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
                if let (Some(count), Some(size)) = (numbers.next(), numbers.next()) {
                    let sent = sender.send((count, usize::try_from(size).unwrap_or(200)));
                    if sent.is_err() || waker.wake().is_err() {
                        return;
                    }
                }
            }
        }
    });
    Ok(())
}

fn serve(port: u16, control_port: u16) -> io::Result<()> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(1024);
    let mut listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (sender, receiver): (_, Receiver<(u64, usize)>) = channel();
    control(control_port, sender, Arc::new(Waker::new(poll.registry(), CONTROL)?))?;
    let (mut sockets, mut number) = (Vec::<Socket>::new(), 0);
    println!("listening on http://127.0.0.1:{port}");
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            match event.token() {
                LISTENER => accept(&listener, &poll, &mut sockets)?,
                CONTROL => {}
                Token(at) => {
                    let Some(socket) = sockets.get_mut(at).filter(|socket| !socket.dead) else { continue };
                    socket.take();
                    socket.flush();
                }
            }
        }
        // One write for all publications requested meanwhile.
        let mut frames = Vec::new();
        while let Ok((count, size)) = receiver.try_recv() {
            for _ in 0..count {
                number += 1;
                frames.extend(event(number, size));
            }
        }
        if !frames.is_empty() {
            sockets
                .iter_mut()
                .filter(|socket| socket.upgraded && !socket.dead)
                .for_each(|socket| socket.write(&frames));
        }
    }
}

fn accept(listener: &TcpListener, poll: &Poll, sockets: &mut Vec<Socket>) -> io::Result<()> {
    loop {
        match listener.accept() {
            Ok((mut stream, _)) => {
                stream.set_nodelay(true)?;
                let token = Token(sockets.len());
                poll.registry().register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
                sockets.push(Socket { stream, upgraded: false, read: Vec::new(), waiting: Vec::new(), dead: false });
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn main() -> ExitCode {
    let ports: Vec<u16> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [port, control_port] = ports[..] else {
        eprintln!("usage: raw_hub PORT CONTROL_PORT");
        return ExitCode::from(2);
    };
    match serve(port, control_port) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("raw_hub: {error}");
            ExitCode::FAILURE
        }
    }
}
