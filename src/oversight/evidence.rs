//! Evidence of controls on this server.

use std::collections::BTreeMap;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_audit::{Audit, AuditFilter};
use muster_core::guard::StandingReader;
use muster_core::health::{Health, ModuleStatus};
use muster_core::page::PageParams;
use muster_core::{Clock, Error, Millis};
use muster_governance::Governance;
use muster_governance::compliance::{EvidenceSource, Found};
use muster_governance::deploy::Deploys;
use muster_governance::financials::Closes;
use muster_governance::policy::{PolicyService, PolicySource};
use muster_limits::ledger::Day;
use serde_json::Value;

use crate::approved;
use crate::live::LiveReader;

/// Pages of entries that are counted for one action: a count of 2,000 is as good as any larger one.
const MAX_PAGES: usize = 10;
const PAGE: usize = 200;
/// Days whose closes are compared with the ledger.
const CLOSES: u32 = 31;
/// Deploys that are searched for an approved one.
const DEPLOYS: usize = 50;
/// Action of an approval that excepts the control which is its resource.
const EXCEPTION: &str = "compliance.except";

/// Where evidence is.
pub(super) struct Sources {
    pub(super) live: LiveReader,
    pub(super) health: Health,
    pub(super) audit: Audit,
    pub(super) standing: StandingReader,
    pub(super) governance: Governance,
    pub(super) policy: PolicyService,
    pub(super) deploys: Deploys,
    pub(super) closes: Closes,
    pub(super) clock: Clock,
}

pub(super) struct ServerEvidence(pub(super) Sources);

/// Number, places and time of the entries found so far.
#[derive(Default)]
struct Entries {
    count: u64,
    first_seq: Option<u64>,
    last_seq: Option<u64>,
    at: Option<Millis>,
}

impl Sources {
    async fn entries(&self, actions: Vec<&str>, from: Millis) -> Result<Found, Error> {
        let mut found = Entries::default();
        for action in actions {
            let filter = AuditFilter { action: Some(action.to_owned()), from: Some(from), ..AuditFilter::default() };
            let mut after = None;
            for _ in 0..MAX_PAGES {
                let page = self.audit.list(filter.clone(), PageParams { limit: PAGE, after }).await?;
                for entry in page.items {
                    found.count += 1;
                    found.first_seq = Some(found.first_seq.map_or(entry.seq, |first| first.min(entry.seq)));
                    found.last_seq = Some(found.last_seq.map_or(entry.seq, |last| last.max(entry.seq)));
                    found.at = found.at.max(Some(entry.entry.at));
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        let Entries { count, first_seq, last_seq, at } = found;
        Ok(Found::Entries { count, first_seq, last_seq, at })
    }

    async fn records(&self, name: &str) -> Result<Found, Error> {
        let policy = self.policy.now();
        let count = match name {
            "deciders" => self.standing.get().deciders.len() as u64,
            "policy-by-approval" => u64::from(policy.source == PolicySource::Store && policy.approval.is_some()),
            "policy-unlike-file" => u64::from(!policy.like_file),
            "audit-copies" => {
                let view = self.audit.view();
                let copy = !self.live.now().config.governance.checkpoint_copy.as_os_str().is_empty();
                view.witnesses.len() as u64 + u64::from(copy)
            }
            "approved-deploys" => {
                let page = self.deploys.list(PageParams { limit: DEPLOYS, after: None }).await?;
                let approvals = approved::releases(&self.governance).await?;
                let is =
                    |deploy: &&muster_governance::deploy::Deploy| approvals.contains_key(&deploy.program.binary_sha256);
                page.items.iter().filter(is).count() as u64
            }
            "closes-unlike-ledger" => {
                let to = Day::of(self.clock.now());
                let states = self.closes.list(&to.minus(CLOSES).to_string(), &to.to_string()).await?;
                states.iter().filter(|state| !state.matches).count() as u64
            }
            _ => return Ok(Found::Nothing),
        };
        Ok(Found::Records(count))
    }
}

impl EvidenceSource for ServerEvidence {
    fn entries<'a>(&'a self, actions: Vec<&'a str>, from: Millis) -> BoxFuture<'a, Result<Found, Error>> {
        self.0.entries(actions, from).boxed()
    }

    fn probe(&self, module: &str) -> Found {
        let report = self.0.health.report();
        let module = report.modules.get(module).filter(|module| module.status != ModuleStatus::Starting);
        match module.and_then(|module| Some((module.status, module.checked_at?))) {
            Some((status, at)) => Found::Probe { status: status.name().to_owned(), at },
            None => Found::Nothing,
        }
    }

    fn setting(&self, name: &str) -> Found {
        let settings = serde_json::to_value(&self.0.live.now().config).unwrap_or_default();
        let value = name.split('.').try_fold(&settings, |value: &Value, part| value.get(part));
        value.map_or(Found::Nothing, |value| Found::Setting(value.clone()))
    }

    fn records<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Found, Error>> {
        self.0.records(name).boxed()
    }

    fn exceptions(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, Error>> {
        approved::by_resource(&self.0.governance, EXCEPTION).boxed()
    }
}
