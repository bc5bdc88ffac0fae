//! The ledger under concurrency, faults, kills and calendar changes.

mod budgets;
mod credits;
mod faults;
mod properties;
mod store_faults;
mod sweeps;

use std::path::PathBuf;
use std::sync::Arc;

use actix_rt::Arbiter;
use muster_providers::Usage;
use muster_store::{MemStore, StoreError, StoreHandle};
use tempfile::TempDir;

use super::*;
use muster_core::supervise::Tree;
use muster_core::{Clock, Millis, test_world};

/// The disk and the journal folder, which survive a server.
struct ServerEnv {
    disk: Arc<MemStore>,
    home: TempDir,
}

impl ServerEnv {
    fn new() -> Arc<Self> {
        Arc::new(Self { disk: Arc::default(), home: tempfile::tempdir().unwrap() })
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("ledger")
    }

    /// Starts a ledger, as `ledger/ledger` in the tree.
    async fn start(&self, tree: &Tree) -> Ledger {
        self.start_with(tree, LedgerOptions::default()).await
    }

    async fn start_with(&self, tree: &Tree, options: LedgerOptions) -> Ledger {
        let store: StoreHandle = Arc::clone(&self.disk) as _;
        let (group, clock) = (tree.group("ledger"), Clock::tokio(test_world::START));
        let ledger = Ledger::start(&group, Arbiter::current(), &store, &self.folder(), &clock, options).unwrap();
        ledger.up().await;
        ledger
    }

    /// Makes every further write to the store fail, or succeed again.
    fn fail_commits(&self, error: Option<StoreError>) {
        self.disk.fail_commits(error);
    }

    /// Discards all further writes of this server to the store, as if it had been killed: only the journal is left.
    fn kill(&self) {
        self.fail_commits(Some(StoreError::Io("the server is dead".to_owned())));
    }

    fn revive(&self) {
        self.fail_commits(None);
    }
}

fn entry<'a>(key: &'a str, model: &'a str, cost_nanos: Option<u64>) -> Entry<'a> {
    let usage = Usage { prompt_tokens: 10, completion_tokens: 5, estimated: false };
    let attribution = Attribution::default();
    Entry {
        at: test_world::START,
        key_id: key,
        attribution,
        model_id: model,
        outcome: Outcome::Ok,
        usage,
        images: 0,
        cost_nanos,
    }
}

fn reserve(nanos: u64, key_limit: Option<u64>, model_limit: Option<u64>) -> Reserve {
    Reserve {
        key_id: "key_1".to_owned(),
        key_limit,
        owner: String::new(),
        owner_limit: None,
        team: String::new(),
        team_limit: None,
        model_id: "m".to_owned(),
        model_limit,
        nanos,
    }
}

fn all() -> Query {
    let today = Day::of(test_world::START);
    Query { from_day: today.minus(40), to_day: Day(today.0 + 40), ..Query::default() }
}

/// Returns requests and cost of a key, and what a kill charged it.
async fn sums(ledger: &Ledger, key: &str) -> (u64, u64, u64) {
    let rows = ledger.usage(Query { key_id: Some(key.to_owned()), ..all() }).await.unwrap();
    let sum = |of: fn(&Row) -> u64| rows.iter().map(|found| of(&found.row)).sum::<u64>();
    (sum(|row| row.requests), sum(|row| row.cost_nanos), sum(|row| row.unsettled_nanos))
}

async fn spent(ledger: &Ledger) -> (u64, u64) {
    let key = ledger.budgets("key_1", Some(1_000), "m", None).await.unwrap().key;
    (key.spent_nanos, key.held_nanos)
}

#[test]
fn rows_are_sums_by_key_model_and_day_in_order() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        ledger.post(&entry("key_2", "m", Some(7)), Hold::none());
        ledger.post(&entry("key_1", "n", None), Hold::none());
        ledger.post(&entry("key_1", "m", Some(5)), Hold::none());
        let usage = Usage { prompt_tokens: 1, completion_tokens: 0, estimated: true };
        ledger.post(&Entry { outcome: Outcome::Failed, usage, ..entry("key_1", "m", Some(1)) }, Hold::none());
        ledger.post(&Entry { outcome: Outcome::Cancelled, usage, ..entry("key_1", "m", Some(1)) }, Hold::none());
        let tomorrow = Millis(test_world::START.0 + 86_400_000);
        ledger.post(&Entry { at: tomorrow, ..entry("key_1", "m", Some(2)) }, Hold::none());
        let one = Row { requests: 1, prompt_tokens: 10, completion_tokens: 5, ..Row::default() };
        let row = |day: &str, key: &str, model: &str, row| UsageRow {
            day: Day::parse(day).unwrap(),
            subject: key.to_owned(),
            model_id: model.to_owned(),
            row,
        };
        let busy = Row {
            requests: 3,
            failed: 1,
            cancelled: 1,
            prompt_tokens: 12,
            completion_tokens: 5,
            estimated_requests: 2,
            cost_nanos: 7,
            ..Row::default()
        };
        let expected = vec![
            row("2026-01-01", "key_1", "m", busy),
            row("2026-01-01", "key_1", "n", Row { unpriced_requests: 1, ..one }),
            row("2026-01-01", "key_2", "m", Row { cost_nanos: 7, ..one }),
            row("2026-01-02", "key_1", "m", Row { cost_nanos: 2, ..one }),
        ];
        assert_eq!(ledger.usage(all()).await.unwrap(), expected, "from memory");
        ledger.flush().await.unwrap();
        assert_eq!(ledger.usage(all()).await.unwrap(), expected, "from the store too");
        let of = |key: Option<&str>, model: Option<&str>| Query {
            key_id: key.map(str::to_owned),
            model: model.map(str::to_owned),
            ..all()
        };
        assert_eq!(ledger.usage(of(Some("key_1"), Some("n"))).await.unwrap(), expected[1..2]);
        let today = Query { to_day: Day::of(test_world::START), ..of(None, Some("m")) };
        assert_eq!(ledger.usage(today).await.unwrap(), [expected[0].clone(), expected[2].clone()]);
        let wide = Query { from_day: Day(0), ..all() };
        assert!(ledger.usage(wide).await.is_err(), "400 days at a time");
        let status = ledger.status().await.unwrap();
        assert_eq!((status.unsaved, status.open_holds, status.torn_bytes), (0, 0, 0));
    });
}

#[test]
fn a_row_is_serialized_as_one_flat_object() {
    let row = UsageRow { day: Day(0), subject: "k".to_owned(), model_id: "m".to_owned(), row: Row::default() };
    let json = serde_json::to_value(&row).unwrap();
    assert_eq!((json["day"].as_str(), json["requests"].as_u64()), (Some("1970-01-01"), Some(0)));
}
