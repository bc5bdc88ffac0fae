//! Closes over a ledger that is killed, restarted and altered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_rt::Arbiter;
use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::{Clock, Error, Millis, test_world};
use muster_limits::ledger::{Attribution, Day, Entry, Hold, Ledger, LedgerOptions, Outcome, Reserve};
use muster_providers::Usage;
use muster_store::{MemStore, StoreError, StoreHandle};
use tempfile::TempDir;

use super::*;

#[derive(Debug)]
struct Books(Ledger);

impl LedgerDays for Books {
    fn day(&self, day: u32) -> BoxFuture<'_, Result<DayBooks, Error>> {
        let read = async move {
            let day = self.0.day(Day(day)).await?;
            let row = |row: muster_limits::ledger::UsageRow| LedgerRow {
                key: row.subject,
                model: row.model_id,
                requests: row.row.requests,
                cost_nanos: row.row.cost_nanos,
                unsettled_nanos: row.row.unsettled_nanos,
            };
            Ok(DayBooks { rows: day.rows.into_iter().map(row).collect(), settled: day.settled })
        };
        read.boxed()
    }

    fn first(&self) -> BoxFuture<'_, Result<Option<u32>, Error>> {
        async move { Ok(self.0.first_day().await?.map(|day| day.0)) }.boxed()
    }
}

/// What survives a server.
struct Disk {
    store: Arc<MemStore>,
    home: TempDir,
    now: AtomicU64,
}

impl Disk {
    fn new() -> Arc<Self> {
        let now = AtomicU64::new(test_world::START.0);
        Arc::new(Self { store: Arc::default(), home: tempfile::tempdir().unwrap(), now })
    }

    /// Nothing reaches the store any more: only the journal is left.
    fn kill(&self) {
        self.store.fail_commits(Some(StoreError::Io("the server is dead".to_owned())));
    }
}

struct Server {
    disk: Arc<Disk>,
    ledger: Ledger,
    closes: Closes,
    clock: Clock,
}

/// Runs a server, which is killed at the end of the test. The next one begins when it ended.
fn life<Fut: Future<Output = ()>>(disk: &Arc<Disk>, test: impl FnOnce(Arc<Server>) -> Fut) {
    disk.store.fail_commits(None);
    let disk = Arc::clone(disk);
    test_world::run(|tree| async move {
        let store: StoreHandle = Arc::clone(&disk.store) as _;
        let clock = Clock::tokio(Millis(disk.now.load(Ordering::SeqCst)));
        let (group, options) = (tree.group("ledger"), LedgerOptions::default());
        let folder = disk.home.path().join("ledger");
        let ledger = Ledger::start(&group, Arbiter::current(), &store, &folder, &clock, options).unwrap();
        ledger.up().await;
        let closes = Closes::new(&store, &clock, Arc::new(Books(ledger.clone())));
        test(Arc::new(Server { disk: Arc::clone(&disk), ledger, closes, clock: clock.clone() })).await;
        disk.kill();
        disk.now.store(clock.now().0, Ordering::SeqCst);
    });
}

impl Server {
    fn post(&self, nanos: u64, hold: Hold) {
        self.post_at(self.clock.now(), nanos, hold);
    }

    fn post_at(&self, at: Millis, nanos: u64, hold: Hold) {
        let entry = Entry {
            at,
            key_id: "key_1",
            attribution: Attribution::default(),
            model_id: "m",
            outcome: Outcome::Ok,
            usage: Usage { prompt_tokens: 1, completion_tokens: 1, estimated: false },
            images: 0,
            cost_nanos: Some(nanos),
        };
        self.ledger.post(&entry, hold);
    }

    async fn reserve(&self, nanos: u64) -> Hold {
        let request = Reserve {
            key_id: "key_1".to_owned(),
            key_limit: Some(1 << 50),
            owner: String::new(),
            owner_limit: None,
            team: String::new(),
            team_limit: None,
            model_id: "m".to_owned(),
            model_limit: None,
            nanos,
        };
        self.ledger.reserve(request).await.unwrap()
    }

    async fn states(&self) -> Vec<(u64, bool)> {
        let states = self.closes.list("1970-01-01", "2999-12-31").await.unwrap();
        states.into_iter().map(|state| (state.close.totals.nanos, state.matches)).collect()
    }

    /// Everything that the ledger has of a day.
    async fn sum(&self, day: u32) -> u64 {
        let rows = self.ledger.day(Day(day)).await.unwrap().rows;
        rows.iter().map(|row| row.row.cost_nanos + row.row.unsettled_nanos).sum()
    }
}

const DAY: Duration = Duration::from_secs(86_400);

/// The hash of a published example of the format, computed with Python's hashlib and json.
#[test]
fn the_hash_of_a_day_can_be_computed_by_others() {
    let row = |key: &str, model: &str, numbers: [u64; 3]| LedgerRow {
        key: key.to_owned(),
        model: model.to_owned(),
        requests: numbers[0],
        cost_nanos: numbers[1],
        unsettled_nanos: numbers[2],
    };
    let totals = Totals::of(vec![row("key_2", "größe\"", [1, 5, 0]), row("key_1", "m", [3, 1_500_000_000, 7])]);
    assert_eq!((totals.nanos, totals.rows), (1_500_000_012, 2));
    assert_eq!(totals.sha256, "fd47a012bf50738034feefd8a4400dd7ec4b50a7f60dd5a7a30a2f7b2d4554f6");
    // The hash of nothing, as of a day without calls.
    assert_eq!(Totals::of(Vec::new()).sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

#[test]
fn a_day_is_closed_once_when_it_is_over_and_its_rows_agree_with_it() {
    life(&Disk::new(), |server| async move {
        server.post(7, Hold::none());
        assert_eq!(server.closes.close_due().await.unwrap(), [], "the day is not over");
        tokio::time::advance(DAY).await;
        server.post(5, Hold::none());
        assert_eq!(server.closes.close_due().await.unwrap(), [], "calls that ended at midnight may arrive");
        tokio::time::advance(GRACE).await;
        assert_eq!(server.closes.close_due().await.unwrap().len(), 1);
        assert_eq!(server.closes.close_due().await.unwrap(), [], "each day once");
        // Two days without a call are closed too.
        tokio::time::advance(3 * DAY).await;
        assert_eq!(server.closes.close_due().await.unwrap().len(), 3);
        assert_eq!(server.states().await, [(7, true), (5, true), (0, true), (0, true)]);
        let store: StoreHandle = Arc::clone(&server.disk.store) as _;
        let entries = crate::test_entries::of(&store);
        let nanos: Vec<_> = entries.iter().map(|entry| entry.details["nanos"].as_u64().unwrap()).collect();
        assert_eq!(nanos, [7, 5, 0, 0]);
        assert!(entries.iter().all(|entry| entry.action == CLOSE_ACTION));
        // A call that is booked on a closed day afterwards does not change its close.
        server.post_at(test_world::START, 1, Hold::none());
        assert_eq!(server.states().await[0], (7, false));
    });
}

#[test]
fn a_day_with_an_open_hold_waits_because_a_kill_would_charge_it_to_that_day() {
    let disk = Disk::new();
    life(&disk, |server| async move {
        let hold = server.reserve(50).await;
        tokio::time::advance(2 * DAY + GRACE).await;
        assert_eq!(server.closes.close_due().await.unwrap(), [], "the call may still be charged to it");
        // A killed process runs no destructors.
        std::mem::forget(hold);
    });
    // The hold is charged to the day on which it was granted, and only then is the day closed.
    life(&disk, |server| async move {
        assert_eq!(server.closes.close_due().await.unwrap().len(), 2);
        assert_eq!(server.states().await, [(50, true), (0, true)]);
    });
}

mod properties {
    use std::cell::RefCell;
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Post(u64),
        Reserve(u64),
        Settle(u64),
        Hours(u64),
        Close,
        /// What was posted is written to the store.
        Flush,
        /// The store refuses the batch of a close, and everything after it.
        DieInClose,
    }

    /// The steps of some lives, each of which ends with a kill.
    fn lives() -> impl Strategy<Value = Vec<Vec<Step>>> {
        let step = prop_oneof![
            4 => (0..900_u64).prop_map(Step::Post),
            3 => (1..900_u64).prop_map(Step::Reserve),
            2 => (0..900_u64).prop_map(Step::Settle),
            4 => (1..40_u64).prop_map(Step::Hours),
            3 => Just(Step::Close),
            1 => Just(Step::Flush),
            1 => Just(Step::DieInClose),
        ];
        prop::collection::vec(prop::collection::vec(step, 1..10), 1..8)
    }

    async fn act(server: &Server, steps: Vec<Step>) {
        let mut holds = Vec::new();
        for step in steps {
            match step {
                Step::Post(nanos) => server.post(nanos, Hold::none()),
                Step::Reserve(nanos) => holds.push(server.reserve(nanos).await),
                Step::Settle(nanos) => {
                    let hold = holds.pop().unwrap_or_else(Hold::none);
                    server.post(nanos, hold);
                }
                Step::Hours(hours) => tokio::time::advance(Duration::from_secs(hours * 3_600)).await,
                Step::Close => drop(server.closes.close_due().await.unwrap()),
                Step::Flush => server.ledger.flush().await.unwrap(),
                Step::DieInClose => {
                    server.disk.kill();
                    let _ = server.closes.close_due().await;
                    break;
                }
            }
        }
        holds.into_iter().for_each(std::mem::forget);
    }

    fn day(at: Millis) -> u32 {
        u32::try_from(at.0 / 86_400_000).unwrap()
    }

    fn closes_are_the_ledger(lives: Vec<Vec<Step>>) {
        let disk = Disk::new();
        for steps in lives {
            life(&disk, |server| async move { act(&server, steps).await });
        }
        let checked = Rc::new(RefCell::new(false));
        let done = Rc::clone(&checked);
        life(&disk, |server| async move {
            tokio::time::advance(2 * DAY).await;
            server.closes.close_due().await.unwrap();
            let states = server.states().await;
            assert!(states.iter().all(|(_, matches)| *matches), "{states:?}");
            let end = day(Millis(server.clock.now().0 - GRACE.as_millis() as u64));
            let first = day(test_world::START);
            let nanos: Vec<u64> = states.iter().map(|(nanos, _)| *nanos).collect();
            let mut books = Vec::new();
            for day in first..end {
                books.push(server.sum(day).await);
            }
            // Closes begin with the first one that was asked for, or with the first call: nothing was booked before.
            let missing = books.len() - nanos.len();
            assert!(books[..missing].iter().all(|nanos| *nanos == 0), "{books:?} {nanos:?}");
            assert_eq!(books[missing..], nanos, "the closes are the ledger, day by day");
            done.replace(true);
        });
        assert!(*checked.borrow());
    }

    proptest! {
        // Some 3 kills each; PROPTEST_CASES sets the number.
        #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.saturating_div(4).max(1), ..ProptestConfig::default() })]

        #[test]
        fn closes_are_the_ledger_whenever_the_server_is_killed(lives in lives()) {
            closes_are_the_ledger(lives);
        }
    }
}
