//! Jobs of firmware: taken by long poll, done as the machine says, told.

use std::time::Duration;

use serde_json::{Value, json};

use super::api::{Answer, Call};
use super::device::Device;
use super::download::Download;
use super::faults::Fault;
use super::job::{Job, Report, Stage};
use super::random::Random;
use super::retry::{Backoff, passes};
use super::state::Step;

/// From one look at a job that waits for the server to the next.
const LOOK: Duration = Duration::from_secs(1);

/// Takes jobs while the device is on.
pub(super) async fn jobs(device: &Device) {
    let mut random = device.random(3);
    let mut backoff = Backoff::default();
    let mut taken = None;
    loop {
        device.on().await;
        let call = Call::next_job();
        let Some(asked) = device.while_on(device.api.once(&call, &device.who)).await else { continue };
        let told = match asked {
            Ok(answer) if answer.ok() => {
                backoff = Backoff::default();
                if let Some(job) = job_in(&answer) {
                    if taken.as_ref() != Some(&(job.id.clone(), job.attempt)) {
                        taken = Some((job.id.clone(), job.attempt));
                        device.api.counts.jobs.up();
                    }
                    work(device, job, &mut random).await;
                }
                continue;
            }
            Ok(answer) => {
                if !passes(answer.status) {
                    device.board.refused("jobs/next", &answer);
                }
                answer.retry_after
            }
            Err(_) => None,
        };
        device.api.counts.retries.up();
        tokio::time::sleep(backoff.next(told, &mut random)).await;
    }
}

/// A job in an answer; none, where there is nothing to do.
fn job_in(answer: &Answer) -> Option<Job> {
    let job = answer.data.get("job").unwrap_or(&answer.data);
    job.get("id")?;
    Job::deserialize_from(job)
}

impl Job {
    fn deserialize_from(value: &Value) -> Option<Self> {
        serde_json::from_value(value.clone())
            .inspect_err(|error| tracing::warn!(%error, "a job was told that cannot be read"))
            .ok()
    }
}

/// Does one job as far as it goes; the server is asked again after that.
async fn work(device: &Device, mut job: Job, random: &mut Random) {
    let mut download = None;
    loop {
        let step = device.machine().next(&job);
        match step {
            Step::Tell(report) => match tell(device, &job, report, random).await {
                Some(next) => job = next,
                None => return,
            },
            Step::Fetch(until) => fetch(device, &job, &mut download, until, random).await,
            Step::Install => {
                let takes = Duration::from_millis(device.profile.install_ms);
                tokio::time::sleep(random.about(takes)).await;
                device.machine().installed(&job);
                device.api.counts.installs.up();
            }
            Step::Restart => {
                device.restart(Some(&job)).await;
                if job.state == Stage::RollingBack {
                    device.api.counts.rollbacks.up();
                }
                device.on().await;
            }
            Step::Wait => {
                device.beat.notify_one();
                tokio::time::sleep(random.about(LOOK)).await;
                return;
            }
            Step::Done => {
                tokio::time::sleep(random.about(LOOK)).await;
                return;
            }
        }
        device.board.changed();
    }
}

/// Tells the server; gives the job as it is then, where it is still in hand.
async fn tell(device: &Device, job: &Job, report: Report, random: &mut Random) -> Option<Job> {
    let state = report.state;
    let call = Call::report(&job.id, json!(report));
    let answer = device.api.insist(&call, &device.who, random).await;
    match answer.status {
        200..300 => {
            device.api.counts.reports.up();
            if let Some(state) = state {
                device.board.told(state);
            }
            let next = job_in(&answer)?;
            let going = !matches!(next.state, Stage::Succeeded | Stage::Failed | Stage::Rejected | Stage::RolledBack);
            (going && next.state != Stage::Other).then_some(next)
        }
        // Told before with an answer that was lost, timed out, canceled: what is the case now comes with the next look.
        409 => {
            device.api.counts.stale_reports.up();
            tokio::time::sleep(random.about(Duration::from_millis(100))).await;
            None
        }
        _ => {
            device.board.refused("report", &answer);
            tokio::time::sleep(random.about(LOOK)).await;
            None
        }
    }
}

/// Fetches a part of the image, however often the connection breaks.
async fn fetch(device: &Device, job: &Job, download: &mut Option<Download>, until: u64, random: &mut Random) {
    let Some(image) = &job.artifact else { return };
    let faults = device.machine().faults;
    let download = download.get_or_insert_with(|| {
        device.api.counts.downloads.up();
        Download::new(image, faults)
    });
    let pace = faults.has(Fault::Slow).then_some(device.profile.slow_bytes_per_s);
    download.fetch(&device.api, &device.who, until, pace, random).await;
    let mut machine = device.machine();
    machine.got(download.received());
    if let Some(content) = download.content() {
        machine.fetched(content);
    }
}
