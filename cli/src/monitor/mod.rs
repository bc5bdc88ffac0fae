//! `muster monitor`: shows the tasks of agents live, and pauses, resumes, redirects or kills them.

mod connection;
mod keys;
mod model;
mod run_form;
mod screen;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use muster_core::Clock;
use muster_core::ids::{IdKind, new_id};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::connection::TlsArgs;
use crate::session::UserClient;
use crate::terminal::termination;
use crate::{Environment, block_on};
use connection::{Connection, Credential, Disconnect, agent_ids, begin, ended_tasks};
use keys::Key;
use model::{Action, ENDED_TASKS_VISIBLE, MonitorModel, Request};
use screen::Screen;

pub(super) const EXAMPLES: &str = "\
Keys: j/k or arrows select a task, p pauses it before its next step, P at once, r resumes, x kills (y confirms), d \
redirects (Tab selects steer, interrupt or agent; Enter sends), n begins a task (Tab completes the agent's id), l shows logs, / filters, Esc clears the filter, q quits.

Needs an API key with the scope agents in MUSTER_API_KEY, or a token in MUSTER_TOKEN, or a login for this server \
(`muster login`). An API key shows its own tasks; with the scope admin, all tasks.

Examples:
  MUSTER_API_KEY=mst_… muster monitor
  muster monitor --server https://muster.example.org
  muster monitor --once
  muster monitor --plain | grep task.state

Exit codes: 0 done, 1 failed or refused, 2 wrong use.";

#[derive(Debug, clap::Args)]
pub(super) struct MonitorArgs {
    /// URL of the server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    server: String,
    #[command(flatten)]
    tls: TlsArgs,
    /// Print events as lines. This is the default if standard output is not a terminal.
    #[arg(long)]
    plain: bool,
    /// Print the present tasks and exit.
    #[arg(long, conflicts_with = "plain")]
    once: bool,
    /// Print each event, or with --once the snapshot, as JSON.
    #[arg(long)]
    json: bool,
}

/// Waiting times between connection attempts, in seconds. The last one is repeated.
const BACKOFF_SECONDS: [u64; 5] = [1, 2, 4, 8, 15];

pub(super) fn run(args: &MonitorArgs, environment: &Environment) -> Result<(), String> {
    let server = args.server.trim_end_matches('/').to_owned();
    block_on(async {
        let credential = credential(&server, &args.tls, environment)?;
        if args.once {
            return once(&server, &credential, args.json).await;
        }
        if args.plain || args.json || !std::io::stdout().is_terminal() {
            return plain(&server, &credential, args.json).await;
        }
        watch(&server, &credential).await
    })
}

fn credential(server: &str, tls: &TlsArgs, environment: &Environment) -> Result<Credential, String> {
    if let Some(token) = environment.api_key.as_ref().or(environment.token.as_ref()) {
        return Ok(Credential::Bearer(token.clone(), tls.ca.clone()));
    }
    let client = UserClient::open(environment, tls)?;
    match client.token_for(server)? {
        Some(_) => Ok(Credential::Login(Box::new(client))),
        None => {
            Err(format!("set MUSTER_API_KEY to a key with the scope agents, or run `muster login --server {server}`"))
        }
    }
}

/// A connection with its unanswered requests.
struct Session {
    connection: Connection,
    pending: HashMap<u64, Request>,
    last: u64,
}

/// A frame after the model has processed it.
enum Incoming {
    Pushed(Value),
    /// The reply to a request.
    Answered(Request, Value),
}

impl Session {
    /// Connects and sends the first request, without waiting for its reply.
    async fn open(server: &str, credential: &Credential, model: &MonitorModel) -> Result<Self, Disconnect> {
        let connection = Connection::open(server, credential).await?;
        let mut session = Self { connection, pending: HashMap::new(), last: 0 };
        session.perform(Request::Connect, model.connect()).await?;
        Ok(session)
    }

    async fn perform(&mut self, request: Request, mut frame: Value) -> Result<(), Disconnect> {
        self.last += 1;
        if let Some(frame) = frame.as_object_mut() {
            frame.insert("id".to_owned(), json!(self.last));
        }
        if let Some(command) = frame.get_mut("command").and_then(Value::as_object_mut) {
            command.insert("idem".to_owned(), json!(new_id(IdKind::Request)));
        }
        self.pending.insert(self.last, request);
        self.connection.send(&frame).await
    }

    /// Receives the next frame and applies it to the model.
    async fn next(&mut self, model: &mut MonitorModel) -> Result<Incoming, Disconnect> {
        let frame = self.connection.frame().await?;
        let request = frame.get("id").and_then(Value::as_u64).and_then(|id| self.pending.remove(&id));
        let Some(request) = request else {
            model.push(&frame, Clock::system().now());
            return Ok(Incoming::Pushed(frame));
        };
        model.reply(&request, &frame);
        Ok(Incoming::Answered(request, frame))
    }
}

/// Returns how long to wait before the next connection attempt.
///
/// # Errors
/// Another attempt would fail too.
fn delay(ended: Disconnect, tries: &mut usize, model: &mut MonitorModel) -> Result<Duration, String> {
    let (why, seconds) = match ended {
        Disconnect::Rejected(why) => return Err(why),
        Disconnect::Reconnect(why) if *tries == 0 => (why, 0),
        Disconnect::Reconnect(why) | Disconnect::Lost(why) => {
            (why, BACKOFF_SECONDS.get(*tries).or(BACKOFF_SECONDS.last()).copied().unwrap_or(1))
        }
    };
    *tries += 1;
    model.lost(if seconds > 0 { format!("{why}: again in {seconds} s") } else { why });
    Ok(Duration::from_secs(seconds))
}

fn message(ended: Disconnect) -> String {
    match ended {
        Disconnect::Lost(why) | Disconnect::Reconnect(why) | Disconnect::Rejected(why) => why,
    }
}

async fn once(server: &str, credential: &Credential, as_json: bool) -> Result<(), String> {
    let mut model = MonitorModel::default();
    let mut session = Session::open(server, credential, &model).await.map_err(message)?;
    loop {
        if let Incoming::Answered(Request::Connect, frame) = session.next(&mut model).await.map_err(message)? {
            let state = frame.pointer("/ok/subs/agents/state").ok_or("the server gave no snapshot of its tasks")?;
            if !as_json {
                model.ended(&ended_tasks(server, credential, ENDED_TASKS_VISIBLE).await.map_err(message)?);
            }
            let out = if as_json { format!("{state}\n") } else { view::table(&model, Clock::system().now()) };
            return print(&out);
        }
    }
}

/// Prints events as lines until the output is closed or the program is interrupted. A lost connection is re-established;
/// the first attempt must succeed.
async fn plain(server: &str, credential: &Credential, as_json: bool) -> Result<(), String> {
    let (mut model, mut tries) = (MonitorModel::default(), 0);
    let mut interrupted = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let mut session = Session::open(server, credential, &model).await.map_err(message)?;
    loop {
        let incoming = tokio::select! {
            incoming = session.next(&mut model) => incoming,
            _ = interrupted.recv() => return Ok(()),
        };
        let ended = match incoming {
            Ok(Incoming::Pushed(frame)) => {
                let line = if as_json { Some(frame.to_string()) } else { view::event(&frame) };
                if line.is_some_and(|line| print(&format!("{line}\n")).is_err()) {
                    return Ok(());
                }
                continue;
            }
            Ok(Incoming::Answered(request, _)) => {
                tries = if request == Request::Connect { 0 } else { tries };
                continue;
            }
            Err(ended) => ended,
        };
        session = tokio::select! {
            session = reconnect(ended, (server, credential), &mut tries, &mut model) => session?,
            _ = interrupted.recv() => return Ok(()),
        };
    }
}

/// Reconnects until it succeeds or the server rejects the connection.
async fn reconnect(
    mut ended: Disconnect,
    (server, credential): (&str, &Credential),
    tries: &mut usize,
    model: &mut MonitorModel,
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

/// Shows the live table until the user quits or a signal arrives. The terminal is restored in both cases.
async fn watch(server: &str, credential: &Credential) -> Result<(), String> {
    // Before the terminal changes its mode: from then on no signal may end the program without restoring it.
    let terminated = termination().map_err(|error| error.to_string())?;
    let _screen = Screen::enter().map_err(|error| format!("{error}: use --plain where there is no terminal"))?;
    tokio::select! {
        result = run_table(server, credential) => result,
        () = terminated => Ok(()),
    }
}

async fn run_table(server: &str, credential: &Credential) -> Result<(), String> {
    let (mut model, mut tries, mut keys) = (MonitorModel::default(), 0, screen::key_events());
    let mut size = Screen::size();
    draw(&model, size)?;
    // Without them the table has the live tasks only; a server that does not answer is reported by the connection.
    if let Ok(ended) = ended_tasks(server, credential, ENDED_TASKS_VISIBLE).await {
        model.ended(&ended);
    }
    // Without them no id is completed.
    model.agents = agent_ids(server, credential).await.unwrap_or_default();
    loop {
        draw(&model, size)?;
        let ended = match Session::open(server, credential, &model).await {
            Ok(session) => match run_session(session, (server, credential), &mut model, &mut keys, &mut size).await? {
                Some(ended) => {
                    tries = if model.online { 0 } else { tries };
                    ended
                }
                None => return Ok(()),
            },
            Err(ended) => ended,
        };
        let delay = delay(ended, &mut tries, &mut model)?;
        draw(&model, size)?;
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            quit = wait_for_quit(&mut keys) => if quit { return Ok(()) },
        }
    }
}

/// Waits for a key while there is no connection. Returns whether it quits; any other key reconnects at once.
async fn wait_for_quit(keys: &mut mpsc::Receiver<Key>) -> bool {
    matches!(keys.recv().await, None | Some(Key::Char('q') | Key::Interrupt))
}

/// Processes frames, keys and time on one connection. Returns why it ended, or `None` if the user quits.
async fn run_session(
    mut session: Session,
    (server, credential): (&str, &Credential),
    model: &mut MonitorModel,
    keys: &mut mpsc::Receiver<Key>,
    size: &mut (usize, usize),
) -> Result<Option<Disconnect>, String> {
    let mut resized = signal(SignalKind::window_change()).map_err(|error| error.to_string())?;
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    let mut frames = tokio::time::interval(Duration::from_millis(100));
    frames.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut stale, mut begun) = (true, FuturesUnordered::new());
    loop {
        let actions = tokio::select! {
            incoming = session.next(model) => match incoming {
                Ok(_) => Vec::new(),
                Err(ended) => return Ok(Some(ended)),
            },
            key = keys.recv() => match key {
                Some(key) => model.key(key),
                None => return Ok(None),
            },
            Some(outcome) = begun.next() => {
                model.note = outcome;
                Vec::new()
            }
            _ = resized.recv() => {
                *size = Screen::size();
                Vec::new()
            }
            // The age of tasks changes.
            _ = seconds.tick() => Vec::new(),
            _ = frames.tick(), if stale => {
                stale = false;
                draw(model, *size)?;
                continue;
            }
        };
        stale = true;
        for action in actions {
            match action {
                Action::Quit => return Ok(None),
                Action::Run(agent, task) => begun.push(async move {
                    match begin(server, credential, &agent, &task).await {
                        Ok(id) => format!("{agent} began {id}"),
                        Err(why) => format!("{agent} did not begin: {why}"),
                    }
                }),
                Action::Send(request, frame) => {
                    if let Err(ended) = session.perform(request, frame).await {
                        return Ok(Some(ended));
                    }
                }
            }
        }
    }
}

fn draw(model: &MonitorModel, size: (usize, usize)) -> Result<(), String> {
    Screen::draw(&view::screen(model, size, Clock::system().now())).map_err(|error| error.to_string())
}
