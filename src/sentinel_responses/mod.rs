//! What follows verdicts of the sentinels (`[[governance.response]]`): in rounds the server examines what it gathers itself,
//! pauses a task at once, and asks people to approve everything else. What was approved it does in the next round.

mod act;
mod gather;
mod memory;

use std::sync::Arc;
use std::time::Duration;

use muster_core::ids::{IdKind, new_id};
use muster_core::upkeep::PeriodicJob;
use muster_core::{Clock, Error};
use muster_governance::Governance;
use muster_identity::keys::Keys;
use muster_identity::{By, Identity};
use muster_network::device::Devices;
use muster_network::incident::Incidents;
use muster_tasks::engine::EngineCaller;
use muster_tasks::sentinel::{Orchestrated, Orchestration};
use muster_tasks::task::{Control, Requester, Tasks, Verb};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use self::gather::Subject;
use self::memory::{Examined, Given, Held, Series};
use crate::agents::{AgentPlatform, WatchedSentinels};
use crate::config::{ResponseAction, ResponseVerdict};
use crate::disaster::Disaster;
use crate::live::LiveReader;

/// Time between two rounds.
const EVERY: Duration = Duration::from_secs(5);
/// Deadline of an examination.
const DEADLINE_MS: u64 = 4_000;
/// Findings that a reason names.
const MAX_FINDINGS: usize = 3;
/// Characters of a reason; an approval takes 500.
const MAX_REASON: usize = 400;

/// What the responses need from the server.
#[derive(Debug)]
struct Parts {
    sentinels: WatchedSentinels,
    tasks: Tasks,
    identity: Identity,
    keys: Keys,
    devices: Devices,
    incidents: Incidents,
    governance: Governance,
    live: LiveReader,
    clock: Clock,
}

/// The responses. Cheap to clone.
#[derive(Debug, Clone)]
struct SentinelResponses(Arc<Parts>);

/// What is remembered between rounds. It is lost with a restart: then everything is examined once more.
#[derive(Debug, Default)]
struct Rounds {
    examined: Examined,
    series: Series,
    given: Given,
}

/// Returns the job that makes the rounds.
pub(crate) fn rounds(
    agency: &AgentPlatform,
    identity: &Identity,
    keys: &Keys,
    disaster: &Disaster,
    governance: &Governance,
    live: &LiveReader,
    clock: &Clock,
) -> PeriodicJob {
    let parts = Parts {
        sentinels: agency.sentinels.clone(),
        tasks: agency.tasks.clone(),
        identity: identity.clone(),
        keys: keys.clone(),
        devices: disaster.devices.clone(),
        incidents: disaster.incidents.clone(),
        governance: governance.clone(),
        live: live.clone(),
        clock: clock.clone(),
    };
    let (responses, rounds) = (SentinelResponses(Arc::new(parts)), Arc::new(Mutex::new(Rounds::default())));
    PeriodicJob::new("sentinel-responses", EVERY, move || {
        let (responses, rounds) = (responses.clone(), Arc::clone(&rounds));
        async move { responses.round(&mut *rounds.lock().await).await.map_err(|error| error.to_string()) }
    })
}

impl SentinelResponses {
    async fn round(&self, rounds: &mut Rounds) -> Result<(), Error> {
        let live = self.0.live.now();
        let responses = &live.config.governance.response;
        if responses.is_empty() {
            return Ok(());
        }
        self.carry_out_approved().await?;
        for subject in self.gather(responses, rounds).await? {
            if let Err(error) = self.examine(&subject, rounds).await {
                tracing::warn!(subject = subject.id, %error, "the sentinels did not examine this");
            }
        }
        Ok(())
    }

    async fn examine(&self, subject: &Subject, rounds: &mut Rounds) -> Result<(), Error> {
        let input = json!({ "subject": subject.input, "mode": "parallel", "deadline_ms": DEADLINE_MS });
        let order = Orchestration::read(input)?;
        let caller = EngineCaller::of(&By::System);
        let answer = self.0.sentinels.orchestrate(order, &subject.input, caller, |_| {}).await?;
        let verdict = match answer.verdict {
            "critical" => ResponseVerdict::Critical,
            "warn" => ResponseVerdict::Warn,
            _ => return Ok(()),
        };
        for response in subject.responses.iter().filter(|response| verdict >= response.verdict) {
            self.respond(response.action, subject, &answer, rounds).await?;
        }
        Ok(())
    }

    /// Pauses the task, or opens an approval for the rest.
    async fn respond(
        &self,
        action: ResponseAction,
        subject: &Subject,
        answer: &Orchestrated,
        rounds: &mut Rounds,
    ) -> Result<(), Error> {
        let resource = match action {
            // A person's task has no key.
            ResponseAction::KeyRevoke => match &subject.key {
                Some(key) => key,
                None => return Ok(()),
            },
            _ => &subject.id,
        };
        match rounds.given.take(action.name(), resource, self.0.clock.now()) {
            Ok(()) => {}
            Err(Held::Repeated) => return Ok(()),
            Err(Held::TooMany) => {
                let action = action.name();
                tracing::warn!(action, resource, "not given: ten responses of sentinels an hour are the limit");
                return Ok(());
            }
        }
        let reason = reason(answer);
        tracing::warn!(action = action.name(), resource, reason, "a response to the sentinels");
        if action == ResponseAction::TaskPause {
            return self.pause(resource, reason).await;
        }
        let found = json!({
            "action": action.name(), "resource": resource, "verdict": answer.verdict, "score": answer.score,
            "findings": answer.findings.iter().take(MAX_FINDINGS).collect::<Vec<_>>(),
        });
        self.request(action, resource, found, reason).await
    }

    async fn pause(&self, task: &str, reason: String) -> Result<(), Error> {
        let control = Control {
            verb: Verb::Pause { now: true },
            request_id: new_id(IdKind::Request),
            if_seq: None,
            reason: Some(reason),
        };
        self.0.tasks.control(task, control, &Requester::of(By::System)).await.map(drop)
    }
}

/// Says for people what was found: the verdict, and the worst findings.
fn reason(answer: &Orchestrated) -> String {
    let text = |finding: &Value, name: &str| finding.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let worst = answer.findings.iter().take(MAX_FINDINGS);
    let worst: Vec<String> =
        worst.map(|finding| format!("{}: {}", text(finding, "rule"), text(finding, "message"))).collect();
    let said = format!("the sentinels say {}: {}", answer.verdict, worst.join("; "));
    let said: String = said.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_REASON).collect();
    said.trim_end().to_owned()
}
