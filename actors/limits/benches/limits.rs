//! Measures a rate decision and a supervised call, each beside its floor, in the same run.
//!
//! `cargo bench -p muster-limits --bench limits` prints a table. The store is in memory; the cost of durable writes is
//! measured in the store's own bench.

use std::collections::HashMap;
use std::error::Error;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix::{Actor, Addr, Context, Handler, Message};
use actix_rt::{Arbiter, ArbiterHandle};
use futures::stream::{self, StreamExt};
use muster_core::Clock;
use muster_core::supervise::{ChildSpec, Group, Handle, Tree};
use muster_limits::{
    AdmissionPart, Admit, BucketKey, Category, Decision, Estimate, LimitTable, Options, RateLimiter, Rule, Subject,
    Window,
};
use muster_store::{MemStore, Store};

type Outcome<T> = Result<T, Box<dyn Error>>;

const WARM: usize = 5_000;
const SEQUENTIAL: usize = 100_000;
const IN_FLIGHT: usize = 100;

/// An empty reply: the floor of a call.
struct Empty;

impl Actor for Empty {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "u64")]
struct Ping(u64);

impl Handler<Ping> for Empty {
    type Result = u64;

    fn handle(&mut self, ping: Ping, _: &mut Context<Self>) -> u64 {
        ping.0
    }
}

fn main() -> Outcome<()> {
    actix_rt::System::new().block_on(async {
        let other = Arbiter::new();
        let (here, there) = (Arbiter::current(), other.handle());
        let tree = Tree::new(here.clone(), Clock::system());
        println!("{:<58} {:>12} {:>12} {:>12}", "", "mean", "p50", "p99");
        floor_of_a_map();
        for (place, arbiter) in [("same arbiter", &here), ("other arbiter", &there)] {
            calls(&tree.group(place), place, arbiter).await?;
            decisions(&tree.group(place), place, arbiter).await?;
        }
        tree.stop().await;
        other.stop();
        Ok(())
    })
}

/// A counter in a sharded map behind mutexes: the least that a decision could cost.
fn floor_of_a_map() {
    let shards: Vec<Mutex<HashMap<String, u64>>> = (0..16).map(|_| Mutex::default()).collect();
    let keys: Vec<String> = (0..1_000).map(|n| format!("key_{n}")).collect();
    let start = Instant::now();
    for key in keys.iter().cycle().take(SEQUENTIAL) {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % 16).unwrap_or(0);
        let Some(shard) = shards.get(place) else { continue };
        let mut counts = shard.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(key) {
            Some(count) => *count += 1,
            None => drop(counts.insert(key.clone(), 1)),
        }
    }
    row("floor: counter in a map of 16 mutexes", per_op(start.elapsed(), SEQUENTIAL), None);
}

/// A bare actor call, and one through a supervised handle.
async fn calls(group: &Group, place: &str, arbiter: &ArbiterHandle) -> Outcome<()> {
    let (to, from) = tokio::sync::oneshot::channel();
    arbiter.spawn_fn(move || drop(to.send(Empty.start())));
    let bare: Addr<Empty> = from.await?;
    let handle: Handle<Empty> =
        group.start(ChildSpec::new("empty", arbiter.clone(), |_| std::future::ready(Ok(Empty))).capacity(4_096));
    until_running(|| handle.ask(Ping(0))).await;
    measure(&format!("floor: bare call, {place}"), async |n| bare.send(Ping(n)).await.is_ok()).await;
    measure(&format!("supervised call, {place}"), async |n| handle.ask(Ping(n)).await.is_ok()).await;
    Ok(())
}

/// Decisions of one shard: within a lease, with the lease writes of real plans, and rejections.
async fn decisions(group: &Group, place: &str, arbiter: &ArbiterHandle) -> Outcome<()> {
    let store: Arc<dyn Store> = Arc::new(MemStore::default());
    let limiter =
        RateLimiter::start(group, std::slice::from_ref(arbiter), &store, &Clock::system(), &Options::default());
    let wide: Arc<[Rule]> = Arc::new([Rule::requests(1_000_000_000, Window::Minute)]);
    let one = |rules: &Arc<[Rule]>, id: &str| Admit {
        key: BucketKey { subject: Subject::principal(id), category: Category::Chat },
        rules: Arc::clone(rules),
        part: AdmissionPart::Whole,
        estimate: Estimate::default(),
        hold_for: Duration::from_secs(40),
    };
    let within = one(&wide, "key_wide");
    until_running(|| limiter.admit(within.clone())).await;
    measure(&format!("decision within its lease, {place}"), async |_| {
        matches!(limiter.admit(within.clone()).await, Ok(Decision::Admitted { .. }))
    })
    .await;

    let pro = LimitTable::default().plan_a.pro.rules();
    let keys: Vec<Admit> = (0..4_000).map(|n| one(&pro, &format!("key_{n}"))).collect();
    measure(&format!("4,000 keys of plan pro, 3 rules, leases renewed, {place}"), async |n| {
        let place = usize::try_from(n).unwrap_or(0) % keys.len();
        let Some(admit) = keys.get(place) else { return false };
        matches!(limiter.admit(admit.clone()).await, Ok(Decision::Admitted { .. }))
    })
    .await;

    let none: Arc<[Rule]> = Arc::new([Rule::requests(0, Window::Minute)]);
    let refused = one(&none, "key_none");
    measure(&format!("refusal, {place}"), async |_| {
        matches!(limiter.admit(refused.clone()).await, Ok(Decision::Refused { .. }))
    })
    .await;
    Ok(())
}

async fn until_running<T, E, Fut: Future<Output = Result<T, E>>>(call: impl Fn() -> Fut) {
    while call().await.is_err() {
        tokio::task::yield_now().await;
    }
}

/// Sequential calls, each timed; then a hundred concurrent ones.
async fn measure(name: &str, call: impl AsyncFn(u64) -> bool) {
    let mut failed = 0;
    for n in 0..WARM {
        failed += usize::from(!call(n as u64).await);
    }
    let mut times = Vec::with_capacity(SEQUENTIAL);
    let start = Instant::now();
    for n in 0..SEQUENTIAL {
        let begun = Instant::now();
        failed += usize::from(!call(n as u64).await);
        times.push(begun.elapsed());
    }
    let mean = per_op(start.elapsed(), SEQUENTIAL);
    times.sort_unstable();
    let at = |part: usize| times.get(SEQUENTIAL * part / 100).copied().unwrap_or_default();
    row(name, mean, Some((at(50), at(99))));

    let start = Instant::now();
    let together = stream::iter(0..SEQUENTIAL).map(|n| call(n as u64)).buffer_unordered(IN_FLIGHT);
    failed += together.fold(0, async |failed, passed| failed + usize::from(!passed)).await;
    row(&format!("  … with {IN_FLIGHT} in flight"), per_op(start.elapsed(), SEQUENTIAL), None);
    if failed > 0 {
        println!("  {failed} calls did not return the expected reply: the row is void");
    }
}

fn per_op(took: Duration, times: usize) -> f64 {
    took.as_secs_f64() * 1e9 / times as f64
}

fn row(name: &str, mean_ns: f64, spread: Option<(Duration, Duration)>) {
    let (p50, p99) = spread.map_or_else(Default::default, |(p50, p99)| {
        (format!("{} ns", p50.as_nanos()), format!("{} ns", p99.as_nanos()))
    });
    println!("{name:<58} {:>12} {p50:>12} {p99:>12}", format!("{mean_ns:.0} ns"));
}
