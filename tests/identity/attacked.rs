//! Logins while somebody attacks an account, or all of them. Addresses are those of the documentation blocks (RFC 5737)
//! and of benchmarks (RFC 2544), which a trusted proxy forwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use muster_auth::PrivateKey;
use muster_auth::dpop::sign_proof;
use serde_json::json;

use super::now;
use super::support::client::{Answer, Client, answer};
use super::support::process::Launch;
use super::support::server::Muster;
use super::support::{EMAIL, PASSWORD};

const LOGIN: &str = "/api/v1/auth/login";
/// The limits as they are by default, and a proxy on this machine.
const BEHIND_PROXY: &str = "[server]\ntrusted_proxies = [\"127.0.0.1\"]\n[auth]\nlogins_per_address = 20\nlogins_per_minute = 200\n\
                            [limits]\nlogin = 10\n";

async fn login(client: &Client, address: &str, email: &str, password: &str) -> Answer {
    let body = json!({ "email": email, "password": password });
    answer(client.post_request(LOGIN, &body).header("x-forwarded-for", address)).await
}

/// Wrong passwords without a pause, until it is stopped.
struct Attack {
    over: Arc<AtomicBool>,
    sent: Arc<AtomicUsize>,
    senders: Vec<tokio::task::JoinHandle<()>>,
}

impl Attack {
    /// Starts one sender for each address. `name` makes the e-mail of each attempt.
    fn start(client: &Client, addresses: Vec<String>, name: fn(usize) -> String) -> Self {
        let (over, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let senders = addresses.into_iter().map(|address| {
            let (client, over, sent) = (client.clone(), Arc::clone(&over), Arc::clone(&sent));
            tokio::spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    let nth = sent.fetch_add(1, Ordering::Relaxed);
                    let refused = login(&client, &address, &name(nth), "a guess").await;
                    assert!(matches!(refused.status, 401 | 429 | 503), "{}", refused.text);
                }
            })
        });
        Self { senders: senders.collect(), over, sent }
    }

    /// Waits until that many attempts were sent.
    async fn reached(&self, count: usize) {
        while self.sent.load(Ordering::Relaxed) < count {
            tokio::task::yield_now().await;
        }
    }

    async fn stop(self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        for sender in self.senders {
            sender.await.unwrap();
        }
        self.sent.load(Ordering::Relaxed)
    }
}

/// Logs in from an address with up to two tries. Returns whether one succeeded.
async fn within_two_tries(client: &Client, address: &str) -> bool {
    for _ in 0..2 {
        if login(client, address, EMAIL, PASSWORD).await.status == 200 {
            return true;
        }
    }
    false
}

/// The owner's logins during an attack: from the known address and its network, with a known device, and from new
/// addresses.
async fn owner_gets_in(name: fn(usize) -> String, attackers: Vec<String>) {
    let muster = Muster::start(BEHIND_PROXY);
    let client = muster.client().without_key();
    assert_eq!(login(&client, "203.0.113.7", EMAIL, PASSWORD).await.status, 200);
    let key = PrivateKey::generate().unwrap();
    let by_device = async |address: &str| {
        let url = format!("http://{}/api/v1/auth/cli/login", muster.address);
        let proof = sign_proof(&key, "POST", &url, None, None, now()).unwrap();
        let body = json!({ "email": EMAIL, "password": PASSWORD });
        let request = client.post_request("/api/v1/auth/cli/login", &body);
        answer(request.header("x-forwarded-for", address).header("DPoP", proof)).await.status
    };
    assert_eq!(by_device("203.0.113.9").await, 200);

    let first_attacker = attackers[0].clone();
    let attack = Attack::start(&client, attackers, name);
    attack.reached(300).await;
    let mut known = 0;
    for nth in 0..8 {
        known += usize::from(login(&client, "203.0.113.7", EMAIL, PASSWORD).await.status == 200);
        let neighbour = format!("203.0.113.{}", 100 + nth);
        known += usize::from(login(&client, &neighbour, EMAIL, PASSWORD).await.status == 200);
        // Even from an attacker's own address.
        known += usize::from(by_device(&first_attacker).await == 200);
    }
    let mut new = 0;
    for nth in 0..20 {
        new += usize::from(within_two_tries(&client, &format!("198.51.{}.1", 100 + nth)).await);
    }
    let sent = attack.stop().await;
    println!("{sent} attempts of the attack; {known} of 24 known and {new} of 20 new logins");
    assert_eq!(known, 24, "{new} of 20 new ones");
    assert!(new >= 19, "{new} of 20 new ones");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_of_an_attacked_account_logs_in() {
    owner_gets_in(|_| EMAIL.to_owned(), (1..=10).map(|n| format!("198.18.{n}.1")).collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_logs_in_while_one_network_attacks() {
    owner_gets_in(|_| EMAIL.to_owned(), (1..=10).map(|n| format!("198.18.0.{n}")).collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_log_in_while_made_up_names_are_tried() {
    owner_gets_in(|nth| format!("made-up-{nth}@example.org"), (1..=10).map(|n| format!("198.18.{n}.1")).collect())
        .await;
}

/// However many addresses guess one password, at most 90 are compared at once (`throttle`). Each comparison of a user's
/// password is a hash, and so is each of a locked source, so the refused ones are counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guesses_from_many_networks_are_bounded() {
    let rates = BEHIND_PROXY.replace("logins_per_minute = 200", "logins_per_minute = 100000");
    let muster = Muster::start(&rates);
    let client = muster.client().without_key();
    let mut compared = 0;
    for round in 0..6_usize {
        let answers = join_all((0..50).map(|n| {
            let (client, address) = (client.clone(), format!("198.18.{}.{}", round * 40 + n / 2, n));
            async move { login(&client, &address, EMAIL, "a guess").await }
        }));
        for refused in answers.await {
            assert!(matches!(refused.status, 401 | 429), "{}", refused.text);
            compared += usize::from(refused.status == 401);
            if refused.status == 429 {
                assert!(refused.number("retry-after") >= Some(1) && refused.number("x-ratelimit-limit").is_some());
            }
        }
    }
    // One more every six seconds.
    assert!((60..=90).contains(&compared), "{compared} of 300");
}

#[tokio::test]
async fn what_strangers_say_of_their_address_does_not_count() {
    let muster = Muster::start("[auth]\nlogins_per_address = 5\nlogins_per_minute = 200\n");
    let client = muster.client().without_key();
    let mut statuses = Vec::new();
    for nth in 0..8 {
        statuses
            .push(login(&client, &format!("198.18.{nth}.1"), &format!("n{nth}@example.org"), "a guess").await.status);
    }
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429, 429]);
    let muster = Muster::start(&format!("{BEHIND_PROXY}unauthenticated = 5\n"));
    let client = muster.client().without_key().with("mst_wrong");
    let get = async |address: &str| {
        let request = client.request(reqwest::Method::GET, "/api/v1/status").header("x-forwarded-for", address);
        answer(request).await.status
    };
    for _ in 0..5 {
        assert_eq!(get("198.18.0.1").await, 401);
    }
    assert_eq!((get("198.18.0.1").await, get("198.18.0.2").await), (429, 401), "each address has its own limit");
}

/// 10,500 logins with made-up names pushed the counters of an address out of the table, and its limit started anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn made_up_names_do_not_start_a_limit_anew() {
    let muster = Muster::start(&format!("{BEHIND_PROXY}unauthenticated = 5\n"));
    let client = muster.client().without_key();
    let get = async || {
        let client = client.with("mst_wrong");
        let request = client.request(reqwest::Method::GET, "/api/v1/status").header("x-forwarded-for", "198.18.0.1");
        answer(request).await.status
    };
    for _ in 0..3 {
        while get().await != 429 {}
        let begun = Instant::now();
        join_all((0..32).map(|sender| {
            let client = client.clone();
            async move {
                for nth in 0..329 {
                    login(&client, "198.18.0.2", &format!("made-up-{sender}-{nth}@example.org"), "a guess").await;
                }
            }
        }))
        .await;
        let status = get().await;
        // After a minute the limit does start anew; a machine that is so slow tries again.
        if begun.elapsed() < Duration::from_secs(50) {
            assert_eq!(status, 429);
            return;
        }
    }
    panic!("10,500 logins take longer than the limit's minute");
}

fn resident_mib(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() / 1024
}

/// 60 logins with names of a megabyte kept 355 MiB.
#[tokio::test]
async fn names_that_no_account_can_have_keep_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), BEHIND_PROXY).unwrap();
    let process = Launch::new(folder.path()).start();
    let client = Client::new(&process.url);
    // As long as a login's body may be, and far longer.
    let (name, megabyte) = ("a".repeat(15_000), "a".repeat(1_000_000));
    for nth in 0..4 {
        assert_eq!(login(&client, &format!("198.18.{nth}.1"), &format!("{nth}{name}"), "a guess").await.status, 401);
    }
    let before = resident_mib(process.child.id());
    for nth in 0..60 {
        let refused =
            login(&client, &format!("198.18.{}.1", 10 + nth), &format!("{nth}{name}@example.org"), "a guess").await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (401, &json!("invalid_credentials")));
        let refused = login(&client, &format!("198.19.{nth}.1"), &format!("{nth}{megabyte}"), "a guess").await;
        assert_eq!(refused.status, 413);
    }
    let after = resident_mib(process.child.id());
    println!("{before} MiB before, {after} MiB after 60 names of 15 KB and of a megabyte");
    assert!(after < before + 64, "{before} MiB before, {after} MiB after");
    assert_eq!(login(&client, "203.0.113.7", EMAIL, PASSWORD).await.status, 200);
}

/// A restart forgets no known address: it follows from the stored sessions.
#[tokio::test]
async fn known_addresses_survive_a_restart() {
    let muster = Muster::start(BEHIND_PROXY);
    let client = muster.client().without_key();
    assert_eq!(login(&client, "203.0.113.7", EMAIL, PASSWORD).await.status, 200);
    let muster = Muster::start_in(muster.stop(), BEHIND_PROXY);
    let client = muster.client().without_key();
    // So many new addresses that no further one is admitted.
    join_all((0..120).map(|n| {
        let client = client.clone();
        async move { login(&client, &format!("198.18.{n}.1"), EMAIL, "a guess").await }
    }))
    .await;
    assert_eq!(login(&client, "198.19.0.1", EMAIL, PASSWORD).await.status, 429);
    assert_eq!(login(&client, "203.0.113.7", EMAIL, PASSWORD).await.status, 200);
}
