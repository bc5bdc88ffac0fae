//! Gathers what the sentinels examine: from the journals of tasks, the login attempts and the readings of devices. Nothing
//! of it is what a caller sent for examination, who could so move the server against others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use muster_core::page::PageParams;
use muster_core::{Error, Millis};
use muster_identity::{By, RecentLogin};
use muster_network::device::{Device, DeviceFilter, Status as DeviceStatus};
use muster_tasks::agent::call_trace;
use muster_tasks::task::{Filter, Requester, Status, TaskRecord};
use serde_json::{Value, json};

use super::memory::{MAX_SERIES, PlacedReading};
use super::{Rounds, SentinelResponses};
use crate::config::{Gathered, SentinelResponse};

const PAGE: usize = 200;
/// Running tasks that are examined in one round.
const MAX_TASKS: usize = 1_000;
/// Newest journal entries of a task that are read.
const MAX_ENTRIES: usize = 1_000;

/// Something that is examined.
#[derive(Debug)]
pub(super) struct Subject {
    /// Task, account or device.
    pub id: String,
    /// The API key that owns a task.
    pub key: Option<String>,
    /// The subject of q155.
    pub input: Value,
    /// The responses that may follow.
    pub responses: Vec<SentinelResponse>,
}

impl SentinelResponses {
    /// Returns what changed since the last round.
    pub(super) async fn gather(
        &self,
        responses: &[SentinelResponse],
        rounds: &mut Rounds,
    ) -> Result<Vec<Subject>, Error> {
        let on = |on: Gathered| -> Vec<SentinelResponse> {
            responses.iter().filter(|response| response.on == on).cloned().collect()
        };
        let (tasks, logins, telemetry) = (on(Gathered::Tasks), on(Gathered::Logins), on(Gathered::Telemetry));
        let mut found = Vec::new();
        if !tasks.is_empty() {
            self.gather_tasks(&tasks, rounds, &mut found).await?;
        }
        if !logins.is_empty() {
            let recent = self.0.identity.recent_logins().await?;
            found.extend(accounts(&recent, &logins, rounds));
        }
        if !telemetry.is_empty() {
            self.gather_readings(&telemetry, rounds, &mut found).await?;
        }
        Ok(found)
    }

    async fn gather_tasks(
        &self,
        responses: &[SentinelResponse],
        rounds: &mut Rounds,
        found: &mut Vec<Subject>,
    ) -> Result<(), Error> {
        let requester = Requester::of(By::System);
        let (mut after, mut seen) = (None, 0);
        while seen < MAX_TASKS {
            let filter = Filter { status: vec![Status::Running], ..Filter::default() };
            let page = self.0.tasks.list(filter, PageParams { limit: PAGE, after }, &requester).await?;
            seen += page.items.len();
            for task in page.items {
                if rounds.examined.is_new(&task.id, task.seq) {
                    found.extend(self.trace(task, responses, &requester).await?);
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the calls of a task, if it has made any.
    async fn trace(
        &self,
        task: TaskRecord,
        responses: &[SentinelResponse],
        requester: &Requester,
    ) -> Result<Option<Subject>, Error> {
        let steps = self.0.tasks.steps(&task.id, requester).await?;
        let after = task.seq.saturating_sub(MAX_ENTRIES as u64);
        let entries = self.0.tasks.events(&task.id, requester, after, MAX_ENTRIES).await?;
        let of_steps = entries.iter().filter(|entry| entry.event == "task.step");
        // The last entry of a step is that of its end.
        let ended: HashMap<u64, Millis> =
            of_steps.filter_map(|entry| Some((entry.data.get("index")?.as_u64()?, entry.at))).collect();
        let trace = call_trace(&steps, |index| ended.get(&u64::from(index)).copied());
        let key = Some(task.owner.id).filter(|owner| owner.starts_with("key_"));
        Ok((!trace.is_empty()).then(|| Subject {
            id: task.id,
            key,
            input: json!({ "agent_trace": trace }),
            responses: responses.to_vec(),
        }))
    }

    async fn gather_readings(
        &self,
        responses: &[SentinelResponse],
        rounds: &mut Rounds,
        found: &mut Vec<Subject>,
    ) -> Result<(), Error> {
        let (mut after, mut listed) = (None, BTreeSet::new());
        while listed.len() < MAX_SERIES {
            let page = self.0.devices.list(DeviceFilter::default(), PageParams { limit: PAGE, after }).await?;
            for device in page.items {
                let trusted = !matches!(device.status, DeviceStatus::Quarantined | DeviceStatus::Retired);
                if trusted && listed.insert(device.id.to_string()) {
                    self.add_readings(&device, responses, rounds, found).await?;
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        rounds.series.retain(|device| listed.contains(device));
        Ok(())
    }

    async fn add_readings(
        &self,
        device: &Device,
        responses: &[SentinelResponse],
        rounds: &mut Rounds,
        found: &mut Vec<Subject>,
    ) -> Result<(), Error> {
        let telemetry = self.0.devices.telemetry(device.id.to_string()).await?;
        let position = device.location.as_ref().map(|point| (point.lat, point.lon));
        let names: BTreeSet<&str> = responses.iter().map(|response| response.reading.as_str()).collect();
        let mut fresh: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for name in names {
            let Some(reading) = telemetry.readings.get(name) else { continue };
            let Some(value) = reading.value.as_f64() else { continue };
            let placed = PlacedReading { at: reading.at, value, position };
            if let Some(series) = rounds.series.add(&device.id, name, placed) {
                fresh.insert(name, series);
            }
        }
        for response in responses {
            let Some(series) = fresh.get(response.reading.as_str()) else { continue };
            found.push(Subject {
                id: device.id.to_string(),
                key: None,
                input: json!({ "telemetry": series, "limits": response.limits() }),
                responses: vec![response.clone()],
            });
        }
        Ok(())
    }
}

/// Returns the attempts on each account that has a session from the last hour: who only fails to log in moves nothing.
fn accounts(recent: &[RecentLogin], responses: &[SentinelResponse], rounds: &mut Rounds) -> Vec<Subject> {
    let mut by_account: BTreeMap<&str, Vec<&RecentLogin>> = BTreeMap::new();
    for login in recent {
        by_account.entry(&login.user_id).or_default().push(login);
    }
    let mut found = Vec::new();
    for (account, logins) in by_account {
        let succeeded = logins.iter().filter(|login| login.succeeded).count();
        let state = logins.last().map_or(0, |login| login.at.0).wrapping_mul(31).wrapping_add(succeeded as u64);
        if succeeded == 0 || !rounds.examined.is_new(account, state) {
            continue;
        }
        let event = |login: &&RecentLogin| {
            let mut event = json!({
                "time": login.at.rfc3339(), "user": login.user_id, "ip": login.ip.to_string(),
                "success": login.succeeded,
            });
            if let (Some(event), Some(agent)) = (event.as_object_mut(), &login.user_agent) {
                event.insert("user_agent".to_owned(), agent.as_str().into());
            }
            event
        };
        let events: Vec<Value> = logins.iter().map(event).collect();
        found.push(Subject {
            id: account.to_owned(),
            key: None,
            input: json!({ "auth_events": events }),
            responses: responses.to_vec(),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::config::{ResponseAction, ResponseVerdict};

    fn login(at: u64, user: &str, succeeded: bool) -> RecentLogin {
        RecentLogin {
            at: Millis(at),
            user_id: user.to_owned(),
            ip: IpAddr::from([192, 0, 2, 1]),
            succeeded,
            user_agent: succeeded.then(|| "curl".to_owned()),
        }
    }

    #[test]
    fn accounts_without_a_session_are_not_examined_and_others_when_something_is_new() {
        let responses = [SentinelResponse {
            on: Gathered::Logins,
            verdict: ResponseVerdict::Critical,
            action: ResponseAction::SessionRevoke,
            reading: String::new(),
            limits: BTreeMap::new(),
        }];
        let mut rounds = Rounds::default();
        let mut recent = vec![login(1, "usr_a", false), login(2, "usr_b", false), login(3, "usr_a", true)];
        let found = accounts(&recent, &responses, &mut rounds);
        assert_eq!(found.iter().map(|subject| subject.id.as_str()).collect::<Vec<_>>(), ["usr_a"]);
        let expected = json!({ "auth_events": [
            { "time": "1970-01-01T00:00:00.001Z", "user": "usr_a", "ip": "192.0.2.1", "success": false },
            { "time": "1970-01-01T00:00:00.003Z", "user": "usr_a", "ip": "192.0.2.1", "success": true,
              "user_agent": "curl" },
        ] });
        assert_eq!(found[0].input, expected);
        assert!(accounts(&recent, &responses, &mut rounds).is_empty());
        recent.push(login(9, "usr_a", false));
        assert_eq!(accounts(&recent, &responses, &mut rounds).len(), 1);
    }
}
