//! The thread of a model: it loads, runs and drops the model, as the actor requests. Everything here blocks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::oneshot;

use super::call::Call;

/// Loads a model.
pub(super) type Load<M> = Box<dyn Fn() -> Result<M, String> + Send>;

/// Work of the thread. The actor sends one job and waits for its end, so that at most one is in the channel.
pub(super) enum Job<M> {
    /// Loads the model.
    Load(oneshot::Sender<Result<(), String>>),
    /// Runs a call on the loaded model; returns whether the model is still loaded.
    Run(Box<dyn Call<M>>, oneshot::Sender<bool>),
    /// Drops the model.
    Unload(oneshot::Sender<()>),
}

/// Starts the thread. It ends when the sender of jobs is dropped.
pub(super) fn start<M: 'static>(load: Load<M>) -> std::io::Result<Sender<Job<M>>> {
    let (jobs, incoming) = channel();
    std::thread::Builder::new().name("media-model".to_owned()).spawn(move || serve(&load, &incoming))?;
    Ok(jobs)
}

fn serve<M>(load: &Load<M>, jobs: &Receiver<Job<M>>) {
    let mut model: Option<M> = None;
    // An actor that ended waits for no result.
    while let Ok(job) = jobs.recv() {
        match job {
            Job::Load(done) => {
                let loaded = catch_unwind(AssertUnwindSafe(load));
                let loaded = loaded.unwrap_or_else(|_| Err("it panicked while it was loaded".to_owned()));
                drop(done.send(loaded.map(|loaded| model = Some(loaded))));
            }
            Job::Run(call, done) => {
                // What a panic left behind is not used again. A call is sent to a loaded model only.
                if !model.as_mut().is_some_and(|model| call.run(model)) {
                    model = None;
                }
                let _ = done.send(model.is_some());
            }
            Job::Unload(done) => {
                model = None;
                let _ = done.send(());
            }
        }
    }
}
