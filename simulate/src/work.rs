//! The loop that receives firmware jobs by long poll, executes the steps of the state machine and reports them.

use std::time::Duration;

use serde_json::{Value, json};

use super::api::{Answer, Call};
use super::device::Device;
use super::download::Download;
use super::faults::Fault;
use super::job::{Job, JobReport, Stage};
use super::random::Random;
use super::retry::{Backoff, is_transient};
use super::state::Step;

/// Time between two requests for a job that waits for the server.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Processes jobs while the device is on.
pub(super) async fn jobs(device: &Device) {
    let mut random = device.random(3);
    let mut backoff = Backoff::default();
    let mut taken = None;
    loop {
        device.wait_until_on().await;
        let call = Call::next_job();
        let Some(result) = device.while_on(device.api.send(&call, &device.caller)).await else { continue };
        let retry_after = match result {
            Ok(answer) if answer.ok() => {
                backoff = Backoff::default();
                if let Some(job) = job_in(&answer) {
                    if taken.as_ref() != Some(&(job.id.clone(), job.attempt)) {
                        taken = Some((job.id.clone(), job.attempt));
                        device.api.counts.jobs.increment();
                    }
                    run_job(device, job, &mut random).await;
                }
                continue;
            }
            Ok(answer) => {
                if !is_transient(answer.status) {
                    device.progress.record_rejection("jobs/next", &answer);
                }
                answer.retry_after
            }
            Err(_) => None,
        };
        device.api.counts.retries.increment();
        tokio::time::sleep(backoff.next(retry_after, &mut random)).await;
    }
}

/// Returns the job of a response, if there is one.
fn job_in(answer: &Answer) -> Option<Job> {
    let job = answer.data.get("job").unwrap_or(&answer.data);
    job.get("id")?;
    Job::deserialize_from(job)
}

impl Job {
    fn deserialize_from(value: &Value) -> Option<Self> {
        serde_json::from_value(value.clone()).inspect_err(|error| tracing::warn!(%error, "a job cannot be parsed")).ok()
    }
}

/// Executes a job until it ends or waits for the server.
async fn run_job(device: &Device, mut job: Job, random: &mut Random) {
    let mut download = None;
    loop {
        let step = device.machine().next(&job);
        match step {
            Step::Report(report) => match send_report(device, &job, report, random).await {
                Some(next) => job = next,
                None => return,
            },
            Step::Fetch(until) => fetch(device, &job, &mut download, until, random).await,
            Step::Install => {
                let duration = Duration::from_millis(device.profile.install_ms);
                tokio::time::sleep(random.jitter(duration)).await;
                device.machine().installed(&job);
                device.api.counts.installs.increment();
            }
            Step::Restart => {
                device.restart(Some(&job)).await;
                if job.state == Stage::RollingBack {
                    device.api.counts.rollbacks.increment();
                }
                device.wait_until_on().await;
            }
            Step::Wait => {
                device.heartbeat_now.notify_one();
                tokio::time::sleep(random.jitter(RECHECK_INTERVAL)).await;
                return;
            }
            Step::Done => {
                tokio::time::sleep(random.jitter(RECHECK_INTERVAL)).await;
                return;
            }
        }
        device.progress.notify();
    }
}

/// Sends a report. Returns the job in its new state if there is more to do.
async fn send_report(device: &Device, job: &Job, report: JobReport, random: &mut Random) -> Option<Job> {
    let state = report.state;
    let call = Call::report(&job.id, json!(report));
    let answer = device.api.send_until_final(&call, &device.caller, random).await;
    match answer.status {
        200..300 => {
            device.api.counts.reports.increment();
            if let Some(state) = state {
                device.progress.record_stage(state);
            }
            let next = job_in(&answer)?;
            let unfinished =
                !matches!(next.state, Stage::Succeeded | Stage::Failed | Stage::Rejected | Stage::RolledBack);
            (unfinished && next.state != Stage::Other).then_some(next)
        }
        // The report was sent before and its response lost, or the job timed out or was canceled: the next request
        // returns the present state.
        409 => {
            device.api.counts.stale_reports.increment();
            tokio::time::sleep(random.jitter(Duration::from_millis(100))).await;
            None
        }
        _ => {
            device.progress.record_rejection("report", &answer);
            tokio::time::sleep(random.jitter(RECHECK_INTERVAL)).await;
            None
        }
    }
}

/// Downloads a part of the image, resuming after interruptions.
async fn fetch(device: &Device, job: &Job, download: &mut Option<Download>, until: u64, random: &mut Random) {
    let Some(image) = &job.artifact else { return };
    let faults = device.machine().faults;
    let download = download.get_or_insert_with(|| {
        device.api.counts.downloads.increment();
        Download::new(image, faults)
    });
    let rate = faults.has(Fault::Slow).then_some(device.profile.slow_bytes_per_s);
    download.fetch(&device.api, &device.caller, until, rate, random).await;
    let mut machine = device.machine();
    machine.received(download.received());
    if let Some(content) = download.content() {
        machine.fetched(content);
    }
}
