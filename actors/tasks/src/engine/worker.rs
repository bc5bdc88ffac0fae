//! The process side: restricts itself, then serves calls sequentially, each within bounds.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use muster_engines::{Context, Engine, Failure, LanguageData, Progress};
use muster_sandbox::Policy;
use rlimit::Resource;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

use super::job::Job;
use super::runner::EngineProgress;
use super::sandbox::SandboxMode;
use super::wire::{self, CallOptions, Greeting, Head};

/// Parsers are recursive, and their input may be nested arbitrarily.
const STACK: usize = 64 << 20;
/// Maximum stack size of a thread started by an engine.
const OWN_STACK: u64 = muster_engines::stack::STACK as u64;
/// Memory of a thread beside its stack: guard pages, thread-local storage.
const OF_A_THREAD: u64 = 1 << 20;
/// Maximum size of an output, in bytes.
const MAX_OUTPUT: usize = 8 << 20;
/// Maximum output of a job: the pixels of a picture of 2,048 by 2,048, and what precedes them.
const MAX_JOB_OUTPUT: usize = 16 << 20;
/// Maximum size of an explanation, in bytes.
const MAX_EXPLAINED: usize = 1 << 20;
/// Time between two reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum length of the name of a phase, in characters.
const MAX_PHASE: usize = 60;
/// Maximum number of open files; a traversal of the workspace keeps a folder open for each entry that it has ahead.
const OPEN_FILES: u64 = 4_096;

/// Bounds of a process.
#[derive(Debug, Clone)]
pub struct WorkerLimits {
    /// Memory limit of a call.
    pub memory_mib: u64,
    /// CPU time of the process; it is replaced when it has used three quarters of it.
    pub cpu_seconds: u64,
    /// The folder that `workspace` engines may read, if any.
    pub workspace: Option<PathBuf>,
    /// Whether the process restricts itself.
    pub sandbox: SandboxMode,
    /// Data of languages. The files are opened before the process restricts itself, and stay open.
    pub languages: LanguageFiles,
}

/// Files with data of languages; one that does not exist is absent.
#[derive(Debug, Clone, Default)]
pub struct LanguageFiles {
    /// Table of language detection.
    pub table: Option<PathBuf>,
    /// Names of things in many languages.
    pub names: Option<PathBuf>,
}

/// What a process can run.
#[derive(Clone, Copy)]
pub struct Programs {
    /// Finds an engine by its number.
    pub engines: fn(u16) -> Option<&'static Engine>,
    /// Jobs.
    pub jobs: &'static [&'static Job],
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Programs").field("jobs", &self.jobs).finish_non_exhaustive()
    }
}

/// A received call.
struct WorkerCall {
    number: u16,
    options: CallOptions,
    input: Vec<u8>,
}

/// Where answers are written: by the calls, and during a call by its progress.
type Output<W> = Arc<Mutex<BufWriter<W>>>;

/// Restricts the process, and serves calls until the input closes; then the whole process exits, even during a call.
/// Must be called first thing, while the process has one thread.
///
/// # Errors
///
/// A restriction is required and missing, or a thread cannot be started.
pub fn run_worker(
    limits: WorkerLimits,
    programs: Programs,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    // Opened while it can be.
    let usage = Usage { status: File::open("/proc/self/status").ok(), cpu_seconds: limits.cpu_seconds };
    let workspace_is_there = limits.workspace.as_deref().is_none_or(Path::is_dir);
    let open = |path: &Option<PathBuf>| path.as_ref().and_then(|path| File::open(path).ok());
    let (table, names) = (open(&limits.languages.table), open(&limits.languages.names));
    let own = [usage.status.is_some(), table.is_some(), names.is_some()].into_iter().filter(|open| *open).count();
    let languages = Arc::new(LanguageData::of_files(table, names));
    let readable = limits.workspace.clone();
    let policy = Policy { readable, cpu_seconds: limits.cpu_seconds, open_files: OPEN_FILES };
    let sandbox = match limits.sandbox {
        SandboxMode::Off => muster_sandbox::limit(&policy).map(|()| None).map_err(io::Error::other)?,
        SandboxMode::Require | SandboxMode::Prefer => Some(muster_sandbox::enter(&policy, own)),
    };
    let checked = limits.sandbox.check(sandbox.as_ref());
    wire::write(&mut output, &serde_json::to_vec(&Greeting { sandbox })?)?;
    output.flush()?;
    checked.map_err(io::Error::other)?;

    let (calls_to, calls) = sync_channel(1);
    let (up, reader_is_up) = sync_channel(1);
    thread::Builder::new().name("calls".to_owned()).spawn(move || {
        let mut input = BufReader::new(input);
        if up.send(()).is_err() {
            return;
        }
        while let Ok(call) = read_call(&mut input) {
            if calls_to.send(call).is_err() {
                break;
            }
        }
        // The server has exited, so no caller waits for a reply.
        process::exit(0);
    })?;
    let engine = thread::Builder::new().name("engine".to_owned()).stack_size(STACK);
    let engine = engine.spawn(move || {
        // Memory allocated at the start of the thread exists before the process is measured and limited.
        reader_is_up.recv().map_err(io::Error::other)?;
        let bounds = CallBounds { limits: &limits, languages, usage: &usage, workspace_is_there };
        serve(&bounds, programs, &calls, output)
    })?;
    engine.join().unwrap_or_else(|_| Err(io::Error::other("the engines' thread panicked")))
}

fn read_call(input: &mut impl Read) -> io::Result<WorkerCall> {
    let head = wire::read(input)?;
    let (number, options) = head.split_first_chunk::<2>().ok_or_else(|| io::Error::other("no number of an engine"))?;
    let options = if options.is_empty() { CallOptions::default() } else { serde_json::from_slice(options)? };
    Ok(WorkerCall { number: u16::from_be_bytes(*number), options, input: wire::read(input)? })
}

/// What every call of a process has.
struct CallBounds<'a> {
    limits: &'a WorkerLimits,
    languages: Arc<LanguageData>,
    usage: &'a Usage,
    workspace_is_there: bool,
}

fn serve<W: Write + Send + 'static>(
    bounds: &CallBounds<'_>,
    programs: Programs,
    calls: &Receiver<WorkerCall>,
    output: BufWriter<W>,
) -> io::Result<()> {
    let output: Output<W> = Arc::new(Mutex::new(output));
    let &CallBounds { limits, usage, workspace_is_there, .. } = bounds;
    let allowed = limits.memory_mib << 20;
    // On this thread, so that its stack is included.
    let base = usage.size();
    let memory = Memory { most: base.map(|base| base + allowed) };
    memory.bound(0)?;
    for call in calls {
        let (mut head, out) = match programs.jobs.iter().find(|job| job.number == call.number) {
            Some(job) => {
                let ran = run_job(job, &call.input);
                drop(call);
                ran
            }
            None => {
                let engine = (programs.engines)(call.number);
                run_engine(bounds, memory, engine, call, report_to(Arc::clone(&output)))
            }
        };
        let grown = usage.size().zip(base).is_some_and(|(now, base)| now > base + allowed / 4);
        head.retire |= grown || usage.is_out_of_time() || !workspace_is_there;
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        wire::write(&mut *output, &serde_json::to_vec(&head)?)?;
        wire::write(&mut *output, &out)?;
        output.flush()?;
    }
    Ok(())
}

/// Returns the callback that writes a call's progress, at most four times a second.
fn report_to<W: Write + Send + 'static>(output: Output<W>) -> impl Fn(Progress<'_>) + Send + 'static {
    let last = Cell::new(None::<Instant>);
    move |progress| {
        if last.get().is_some_and(|last| last.elapsed() < PROGRESS_INTERVAL) {
            return;
        }
        last.set(Some(Instant::now()));
        let phase = progress.phase.chars().take(MAX_PHASE).collect();
        let progress = EngineProgress { done: progress.done, total: progress.total, phase };
        let head = Head { progress: Some(progress), ..Head::default() };
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        // If the server is gone, reading the next call ends the process.
        if let Ok(head) = serde_json::to_vec(&head) {
            drop(wire::write(&mut *output, &head).and_then(|()| output.flush()));
        }
    }
}

/// What this process has used so far.
struct Usage {
    /// `/proc/self/status`.
    status: Option<File>,
    cpu_seconds: u64,
}

impl Usage {
    /// Returns the size of the address space in bytes; `None` if the system does not report it.
    fn size(&self) -> Option<u64> {
        let mut status = [0; 4_096];
        let read = self.status.as_ref()?.read_at(&mut status, 0).ok()?;
        let status = std::str::from_utf8(status.get(..read)?).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
        line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib << 10)
    }

    /// Returns whether three quarters of the CPU time are used, so that the next call might not end within the rest.
    fn is_out_of_time(&self) -> bool {
        let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(u64::MAX);
        used >= self.cpu_seconds / 4 * 3
    }
}

/// The limit of this process's address space.
#[derive(Clone, Copy)]
struct Memory {
    /// Limit without an engine's own stack; `None` if the system does not report the size of a process.
    most: Option<u64>,
}

impl Memory {
    /// Adjusts the limit for an engine's own stack of this size beside the call's memory; 0 for none. The stack is
    /// reserved as a whole when its thread starts, so that nothing else can use the space.
    fn bound(self, stack: u64) -> io::Result<()> {
        let Some(most) = self.most else { return Ok(()) };
        let extra = if stack > 0 { stack.min(OWN_STACK) + OF_A_THREAD } else { 0 };
        Resource::AS.set(most + extra, most + OWN_STACK + OF_A_THREAD)
    }
}

fn failed(failure: Failure, retire: bool) -> (Head, Vec<u8>) {
    (Head { failure: Some(failure), retire, ..Head::default() }, Vec::new())
}

/// Runs the job; returns the head of the answer and the output.
fn run_job(job: &Job, input: &[u8]) -> (Head, Vec<u8>) {
    let begun = Instant::now();
    let ran = catch_unwind(AssertUnwindSafe(|| (job.run)(input)));
    let took_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    match ran {
        Ok(Ok(output)) if output.len() <= MAX_JOB_OUTPUT => (Head { took_us, ..Head::default() }, output),
        Ok(Ok(_)) => failed(Failure::too_large("the output of a job is too large"), false),
        Ok(Err(failure)) => failed(failure, false),
        Err(_) => failed(Failure::internal("panicked"), true),
    }
}

/// Runs the engine; returns the head of the answer and the output.
fn run_engine(
    bounds: &CallBounds<'_>,
    memory: Memory,
    engine: Option<&'static Engine>,
    call: WorkerCall,
    on_progress: impl Fn(Progress<'_>) + Send + 'static,
) -> (Head, Vec<u8>) {
    let WorkerCall { options, input, .. } = call;
    let Some(engine) = engine else {
        return failed(Failure::internal("this program does not contain the engine"), false);
    };
    let parsed: serde_json::Result<Value> = serde_json::from_slice(&input);
    drop(input);
    let input = match parsed {
        Ok(input) => input,
        Err(error) => return failed(Failure::internal(error), false),
    };
    let workspace = bounds.limits.workspace.clone();
    let context = workspace.map_or_else(Context::default, Context::with_workspace);
    let context = context.with_languages(Arc::clone(&bounds.languages));
    // If the limit cannot be changed, starting the thread fails, and the engine reports it.
    let context = context.with_stacks(move |bytes| drop(memory.bound(bytes as u64)));
    let context = context.with_answers(options.answers).with_progress(on_progress);
    let context = if options.explain { context.with_explanation() } else { context };
    let begun = Instant::now();
    let context = context.with_clock(move || begun.elapsed());
    // State left behind by a panic is dropped with the call, and the process is not reused.
    let ran = catch_unwind(AssertUnwindSafe(|| engine.run(input, &context)));
    let took_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    let output = match ran {
        Ok(Ok(output)) => output,
        Ok(Err(failure)) => return failed(failure, false),
        Err(_) => return failed(Failure::internal("panicked"), true),
    };
    let mut bounded = Bounded(Vec::new());
    if serde_json::to_writer(&mut bounded, &output).is_err() {
        let most = MAX_OUTPUT >> 20;
        return failed(Failure::too_large(format!("the output is larger than {most} MiB: request less")), false);
    }
    let (mut warnings, explained) = context.finish();
    let explained = explained.filter(|explained| {
        let fits = serde_json::to_vec(explained).is_ok_and(|text| text.len() <= MAX_EXPLAINED);
        if !fits {
            warnings.push("explanation_omitted: the steps are too large".to_owned());
        }
        fits
    });
    (Head { warnings, explained, took_us, ..Head::default() }, bounded.0)
}

/// A writer that accepts a limited number of bytes.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
