//! `muster monitor`: the tasks of agents, live, and the four verbs for them.

mod keys;
mod link;
mod model;
mod term;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use muster_core::Clock;
use muster_core::ids::{IdKind, new_id};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::session::Device;
use crate::{Environment, block_on};
use keys::Key;
use link::{Credential, Ended, Link};
use model::{Act, Ask, Model};
use term::Terminal;

pub(super) const EXAMPLES: &str = "\
Keys: j/k or arrows select, p pauses at the next step, P at once, r resumes, x kills (y confirms), d redirects (Tab: \
steer, interrupt or another agent; Enter sends), l shows logs, / filters, Esc ends the filter, q quits.

Who watches: a key with the scope agents in MUSTER_API_KEY, else a token in MUSTER_TOKEN, else the login that \
`muster login` keeps for this server. A key sees its own tasks; with the scope admin, all.

Examples:
  MUSTER_API_KEY=mst_… muster monitor
  muster monitor --server https://muster.example.org
  muster monitor --once
  muster monitor --plain | grep task.state

Exit codes: 0 done, 1 failed or refused, 2 wrong use.";

#[derive(Debug, clap::Args)]
pub(super) struct MonitorArgs {
    /// The server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    server: String,
    /// Print events as lines; so it is, too, where standard output is no terminal.
    #[arg(long)]
    plain: bool,
    /// Print the tasks that there are, and end.
    #[arg(long, conflicts_with = "plain")]
    once: bool,
    /// Print each event, or with --once the snapshot, as the JSON that the server sent.
    #[arg(long)]
    json: bool,
}

/// Waits between tries, in seconds; the last is kept to.
const BACK_OFF: [u64; 5] = [1, 2, 4, 8, 15];

pub(super) fn run(args: &MonitorArgs, environment: &Environment) -> Result<(), String> {
    let server = args.server.trim_end_matches('/').to_owned();
    block_on(async {
        let credential = credential(&server, environment)?;
        if args.once {
            return once(&server, &credential, args.json).await;
        }
        if args.plain || args.json || !std::io::stdout().is_terminal() {
            return plain(&server, &credential, args.json).await;
        }
        watch(&server, &credential).await
    })
}

fn credential(server: &str, environment: &Environment) -> Result<Credential, String> {
    if let Some(token) = environment.api_key.as_ref().or(environment.token.as_ref()) {
        return Ok(Credential::Bearer(token.clone()));
    }
    let device = Device::open(environment)?;
    match device.bound_to(server)? {
        Some(_) => Ok(Credential::Login(Box::new(device))),
        None => {
            Err(format!("set MUSTER_API_KEY to a key with the scope agents, or run `muster login --server {server}`"))
        }
    }
}

/// A connection with its requests that were not answered yet.
struct Session {
    link: Link,
    asked: HashMap<u64, Ask>,
    last: u64,
}

/// What came of a frame.
enum Came {
    Pushed(Value),
    /// A reply, which the model has taken in.
    Answered(Ask, Value),
}

impl Session {
    /// Connects, and waits for nothing.
    async fn open(server: &str, credential: &Credential, model: &Model) -> Result<Self, Ended> {
        let link = Link::open(server, credential).await?;
        let mut session = Self { link, asked: HashMap::new(), last: 0 };
        session.act(model.connect()).await?;
        Ok(session)
    }

    async fn act(&mut self, act: Act) -> Result<(), Ended> {
        let Act::Send(ask, mut frame) = act else { return Ok(()) };
        self.last += 1;
        if let Some(frame) = frame.as_object_mut() {
            frame.insert("id".to_owned(), json!(self.last));
        }
        if let Some(command) = frame.get_mut("command").and_then(Value::as_object_mut) {
            command.insert("idem".to_owned(), json!(new_id(IdKind::Request)));
        }
        self.asked.insert(self.last, ask);
        self.link.send(&frame).await
    }

    /// Takes in the next frame.
    async fn next(&mut self, model: &mut Model) -> Result<Came, Ended> {
        let frame = self.link.frame().await?;
        let asked = frame.get("id").and_then(Value::as_u64).and_then(|id| self.asked.remove(&id));
        let Some(ask) = asked else {
            model.push(&frame, Clock::system().now());
            return Ok(Came::Pushed(frame));
        };
        model.reply(&ask, &frame);
        Ok(Came::Answered(ask, frame))
    }
}

/// How long to wait before the next try; not at all where that is what the end asks for.
///
/// # Errors
/// Where no try would help.
fn delay(ended: Ended, tries: &mut usize, model: &mut Model) -> Result<Duration, String> {
    let (why, seconds) = match ended {
        Ended::Refused(why) => return Err(why),
        Ended::Again(why) if *tries == 0 => (why, 0),
        Ended::Again(why) | Ended::Broken(why) => (why, BACK_OFF.get(*tries).or(BACK_OFF.last()).copied().unwrap_or(1)),
    };
    *tries += 1;
    model.lost(if seconds > 0 { format!("{why}: again in {seconds} s") } else { why });
    Ok(Duration::from_secs(seconds))
}

fn said(ended: Ended) -> String {
    match ended {
        Ended::Broken(why) | Ended::Again(why) | Ended::Refused(why) => why,
    }
}

async fn once(server: &str, credential: &Credential, as_json: bool) -> Result<(), String> {
    let mut model = Model::default();
    let mut session = Session::open(server, credential, &model).await.map_err(said)?;
    loop {
        if let Came::Answered(Ask::Connect, frame) = session.next(&mut model).await.map_err(said)? {
            let state = frame.pointer("/ok/subs/agents/state").ok_or("the server gave no snapshot of its tasks")?;
            let out = if as_json { format!("{state}\n") } else { view::table(&model, Clock::system().now()) };
            return print(&out);
        }
    }
}

/// Events as lines, until the reader or the operator has had enough. A connection that is lost is made again; at the
/// start it has to stand.
async fn plain(server: &str, credential: &Credential, as_json: bool) -> Result<(), String> {
    let (mut model, mut tries) = (Model::default(), 0);
    let mut interrupted = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let mut session = Session::open(server, credential, &model).await.map_err(said)?;
    loop {
        let came = tokio::select! {
            came = session.next(&mut model) => came,
            _ = interrupted.recv() => return Ok(()),
        };
        let ended = match came {
            Ok(Came::Pushed(frame)) => {
                let line = if as_json { Some(frame.to_string()) } else { view::event(&frame) };
                if line.is_some_and(|line| print(&format!("{line}\n")).is_err()) {
                    return Ok(());
                }
                continue;
            }
            Ok(Came::Answered(ask, _)) => {
                tries = if ask == Ask::Connect { 0 } else { tries };
                continue;
            }
            Err(ended) => ended,
        };
        session = tokio::select! {
            session = again(ended, (server, credential), &mut tries, &mut model) => session?,
            _ = interrupted.recv() => return Ok(()),
        };
    }
}

/// Connects again, however often it takes.
async fn again(
    mut ended: Ended,
    (server, credential): (&str, &Credential),
    tries: &mut usize,
    model: &mut Model,
) -> Result<Session, String> {
    loop {
        let delay = delay(ended, tries, model)?;
        eprintln!("muster: {}", model.note);
        tokio::time::sleep(delay).await;
        match Session::open(server, credential, model).await {
            Ok(session) => return Ok(session),
            Err(error) => ended = error,
        }
    }
}

fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| error.to_string())
}

/// The live table, until the operator has had enough or a signal ends it: either way the terminal is as it was.
async fn watch(server: &str, credential: &Credential) -> Result<(), String> {
    // Before the terminal is taken: from then on no signal may end the program where it stands.
    let told = told_to_end().map_err(|error| error.to_string())?;
    let _terminal = Terminal::take().map_err(|error| format!("{error}: use --plain where there is no terminal"))?;
    tokio::select! {
        shown = show(server, credential) => shown,
        () = told => Ok(()),
    }
}

/// Resolves at the first signal that asks the program to end. Keys send none while the terminal is taken; others may, and
/// a terminal that is closed does.
///
/// # Errors
/// The system takes no handler.
fn told_to_end() -> std::io::Result<impl Future<Output = ()>> {
    let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()];
    let mut signals = kinds.map(signal).into_iter().collect::<std::io::Result<Vec<_>>>()?;
    Ok(async move {
        let first = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
        futures::future::select_all(first).await;
    })
}

async fn show(server: &str, credential: &Credential) -> Result<(), String> {
    let (mut model, mut tries, mut pressed) = (Model::default(), 0, term::pressed());
    let mut size = Terminal::size();
    loop {
        draw(&model, size)?;
        let ended = match Session::open(server, credential, &model).await {
            Ok(session) => match drive(session, &mut model, &mut pressed, &mut size, &mut tries).await? {
                Some(ended) => ended,
                None => return Ok(()),
            },
            Err(ended) => ended,
        };
        let delay = delay(ended, &mut tries, &mut model)?;
        draw(&model, size)?;
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            quit = quits(&mut pressed) => if quit { return Ok(()) },
        }
    }
}

/// While there is no connection a key only ends the monitor; any other tries again at once.
async fn quits(pressed: &mut mpsc::Receiver<Key>) -> bool {
    matches!(pressed.recv().await, None | Some(Key::Char('q') | Key::Interrupt))
}

/// Frames, keys and the time, as they come; `None` where the operator quits.
async fn drive(
    mut session: Session,
    model: &mut Model,
    pressed: &mut mpsc::Receiver<Key>,
    size: &mut (usize, usize),
    tries: &mut usize,
) -> Result<Option<Ended>, String> {
    let mut resized = signal(SignalKind::window_change()).map_err(|error| error.to_string())?;
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    let mut frames = tokio::time::interval(Duration::from_millis(100));
    frames.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut stale = true;
    loop {
        let acts = tokio::select! {
            came = session.next(model) => match came {
                Ok(Came::Answered(Ask::Connect, _)) => {
                    *tries = 0;
                    Vec::new()
                }
                Ok(_) => Vec::new(),
                Err(ended) => return Ok(Some(ended)),
            },
            key = pressed.recv() => match key {
                Some(key) => model.key(key),
                None => return Ok(None),
            },
            _ = resized.recv() => {
                *size = Terminal::size();
                Vec::new()
            }
            _ = seconds.tick() => {
                model.tick(Clock::system().now());
                Vec::new()
            }
            _ = frames.tick(), if stale => {
                stale = false;
                draw(model, *size)?;
                continue;
            }
        };
        stale = true;
        for act in acts {
            if act == Act::Quit {
                return Ok(None);
            }
            if let Err(ended) = session.act(act).await {
                return Ok(Some(ended));
            }
        }
    }
}

fn draw(model: &Model, size: (usize, usize)) -> Result<(), String> {
    Terminal::draw(&view::screen(model, size, Clock::system().now())).map_err(|error| error.to_string())
}
