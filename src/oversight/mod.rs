//! The server's side of oversight: what runs, the books of the ledger, and evidence of controls.

mod books;
mod evidence;
mod program;

use std::sync::Arc;
use std::time::Duration;

use muster_audit::Audit;
use muster_core::Clock;
use muster_core::event::Publisher;
use muster_core::guard::StandingReader;
use muster_core::health::Health;
use muster_core::upkeep::PeriodicJob;
use muster_governance::compliance::Compliance;
use muster_governance::deploy::Deploys;
use muster_governance::financials::Closes;
use muster_governance::policy::PolicyService;
use muster_limits::ledger::Ledger;
use muster_store::StoreHandle;

use crate::app::{App, StartError, failed};
use crate::live::LiveReader;
use books::Books;
use evidence::{ServerEvidence, Sources};
pub use program::running;

/// Time between two runs that close days.
const CLOSE_EVERY: Duration = Duration::from_secs(600);

/// Oversight as handlers use it.
#[derive(Debug)]
pub struct Oversight {
    pub policy: PolicyService,
    pub deploys: Deploys,
    pub closes: Closes,
    pub compliance: Compliance,
}

/// What oversight needs from the server.
pub(crate) struct Dependencies<'a> {
    pub(crate) store: &'a StoreHandle,
    pub(crate) clock: &'a Clock,
    pub(crate) live: &'a LiveReader,
    pub(crate) health: &'a Health,
    pub(crate) audit: &'a Audit,
    pub(crate) standing: StandingReader,
    pub(crate) governance: &'a muster_governance::Governance,
    pub(crate) policy: PolicyService,
    pub(crate) publisher: Publisher,
}

/// Returns the closes of a ledger.
pub(crate) fn closes(store: &StoreHandle, clock: &Clock, ledger: &Ledger) -> Closes {
    Closes::new(store, clock, Arc::new(Books(ledger.clone())))
}

/// Returns the job that closes days.
pub(crate) fn closing(closes: &Closes) -> PeriodicJob {
    let closes = closes.clone();
    PeriodicJob::new("ledger-close", CLOSE_EVERY, move || {
        let closes = closes.clone();
        async move { closes.close_due().await.map(drop).map_err(|error| error.to_string()) }
    })
}

impl Oversight {
    /// # Errors
    /// The controls, which are part of the program, are not valid.
    pub(crate) fn start(dependencies: Dependencies<'_>, closes: Closes) -> Result<Self, StartError> {
        let Dependencies { store, clock, live, health, audit, standing, governance, policy, publisher } = dependencies;
        let deploys = Deploys::new(store, clock, Some(publisher));
        let sources = Sources {
            live: live.clone(),
            health: health.clone(),
            audit: audit.clone(),
            standing,
            governance: governance.clone(),
            policy: policy.clone(),
            deploys: deploys.clone(),
            closes: closes.clone(),
            clock: clock.clone(),
        };
        let compliance = Compliance::new(Arc::new(ServerEvidence(sources)), clock);
        let compliance = compliance.map_err(|error| failed("the controls of compliance")(&error))?;
        Ok(Self { policy, deploys, closes, compliance })
    }
}

impl App {
    /// Records that this program runs, beside the requests that are served: its file takes a while to hash.
    pub(crate) async fn record_start(&self) {
        // A reload meanwhile is recorded after it.
        let _turn = self.reloading.lock().await;
        let recorded = async {
            let program = running(&self.live().config).await?;
            self.oversight.deploys.start(program, &self.oversight.policy.now().id).await
        };
        if let Err(error) = recorded.await {
            tracing::warn!(%error, "the start was not recorded as a deploy");
        }
    }

    /// Records a reload of the settings.
    pub(crate) async fn record_reload(&self, by: &str) {
        let recorded = async {
            let program = running(&self.live().config).await?;
            self.oversight.deploys.reload(program, &self.oversight.policy.now().id, by).await
        };
        if let Err(error) = recorded.await {
            tracing::warn!(%error, "the reload was not recorded as a deploy");
        }
    }
}
