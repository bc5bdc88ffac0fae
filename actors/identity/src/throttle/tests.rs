use proptest::prelude::*;

use super::*;

const NOW: Millis = Millis(1_767_225_600_000);
const OPEN: LoginRates = LoginRates { per_address: usize::MAX / 100, of_all: usize::MAX / 100 };

fn at(seconds: u64) -> Millis {
    NOW.plus(Duration::from_secs(seconds))
}

fn account(name: &str) -> Option<AccountKey> {
    AccountKey::of(&format!("{name}@example.org"))
}

fn from(address: &str) -> LoginSource {
    LoginSource::new(Some(address.parse().unwrap()), None)
}

/// The nth address of 198.18.0.0/15, the block for benchmarks (RFC 2544), each in a network of its own.
fn stranger(n: u32) -> LoginSource {
    from(&format!("198.{}.{}.1", 18 + n / 256 % 2, n % 256))
}

/// An attempt from somewhere that the account does not know.
fn attempt(throttle: &mut Throttle, name: &str, source: LoginSource, now: Millis) -> Verdict {
    throttle.attempt(account(name), source, Acquaintance::None, now)
}

fn allowed(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Allowed(_))
}

#[test]
fn the_sixth_failure_locks_for_a_second_and_each_further_one_twice_as_long() {
    let mut throttle = Throttle::new(OPEN);
    let mut now = NOW;
    for _ in 0..5 {
        assert!(allowed(attempt(&mut throttle, "ann", stranger(1), now)));
    }
    for doubling in 0..5 {
        assert!(allowed(attempt(&mut throttle, "ann", stranger(1), now)), "doubling {doubling}");
        let lock = Duration::from_secs(1 << doubling);
        assert_eq!(attempt(&mut throttle, "ann", stranger(1), Millis(now.plus(lock).0 - 1)), Verdict::Locked);
        now = now.plus(lock);
    }
    assert!(allowed(attempt(&mut throttle, "bob", stranger(1), now)), "no other account is locked");
    assert!(allowed(attempt(&mut throttle, "ann", stranger(2), now)), "nor any other source");
}

#[test]
fn failures_are_forgotten_after_a_success_and_over_time() {
    let mut throttle = Throttle::new(OPEN);
    for _ in 0..5 {
        attempt(&mut throttle, "ann", stranger(1), NOW);
    }
    let Verdict::Allowed(right) = attempt(&mut throttle, "ann", stranger(1), NOW) else { panic!() };
    assert_eq!(attempt(&mut throttle, "ann", stranger(1), NOW), Verdict::Locked);
    throttle.succeeded(&right);
    assert!(allowed(attempt(&mut throttle, "ann", stranger(1), NOW)));
    for _ in 0..6 {
        attempt(&mut throttle, "bob", stranger(2), NOW);
    }
    for _ in 0..5 {
        assert!(allowed(attempt(&mut throttle, "bob", stranger(2), at(3600))), "an hour forgets six failures");
    }
}

#[test]
fn addresses_are_counted_by_network() {
    let mut throttle = Throttle::new(LoginRates { per_address: 2, of_all: 1000 });
    let mut n = 0;
    let mut refused = |address: &str, seconds| {
        n += 1;
        let verdict = attempt(&mut throttle, &format!("n{n}"), from(address), at(seconds));
        matches!(verdict, Verdict::TooMany(_))
    };
    // Addresses of RFC 3849's documentation prefix: two in one /64 network, and another.
    assert!(!refused("2001:db8::1", 0) && !refused("2001:db8::2", 0) && refused("2001:db8::3", 0));
    assert!(!refused("2001:db8:0:1::1", 0));
    assert!(!refused("203.0.113.7", 1) && !refused("::ffff:203.0.113.7", 1) && refused("203.0.113.7", 1));
    // Ten of one /24, less a share of a fifth, because nobody there has logged in before; two were counted.
    let taken = (8..18).filter(|last| !refused(&format!("203.0.113.{last}"), 1)).count();
    assert_eq!(taken, 6);
    assert!(!refused("203.0.112.8", 1), "another network");
    assert!(!refused("2001:db8::1", 60), "a minute later");
}

#[test]
fn a_name_that_no_account_can_have_is_stored_nowhere() {
    let name = "a".repeat(1 << 20);
    assert_eq!(AccountKey::of(&name), None);
    assert_eq!((AccountKey::of(&name[..254]).is_some(), AccountKey::of(&name[..255])), (true, None), "RFC 5321");
    let mut throttle = Throttle::new(OPEN);
    for _ in 0..100 {
        assert_eq!(throttle.attempt(None, stranger(1), Acquaintance::None, NOW), Verdict::Locked);
    }
    assert_eq!((throttle.sources.sizes(), throttle.accounts.sizes()), ((0, 0), (0, 0)));
    let mut throttle = Throttle::new(LoginRates::default());
    let refused = |throttle: &mut Throttle| {
        matches!(throttle.attempt(None, stranger(1), Acquaintance::None, NOW), Verdict::TooMany(_))
    };
    assert_eq!((0..100).filter(|_| !refused(&mut throttle)).count(), 20, "its address is counted");
}

#[test]
fn made_up_names_and_addresses_leave_the_tables_bounded() {
    let mut throttle = Throttle::new(OPEN);
    for n in 0..3 * CAPACITY as u32 {
        let source = from(&format!("{}.{}.{}.1", 1 + n / 65_536, n / 256 % 256, n % 256));
        attempt(&mut throttle, &format!("guess-{n}"), source, NOW);
    }
    let full = (CAPACITY, CAPACITY);
    assert_eq!((throttle.sources.sizes(), throttle.accounts.sizes()), (full, full));
    assert_eq!((throttle.addresses.sizes(), throttle.networks.sizes()), (full, full));
}

#[test]
fn one_address_cannot_drive_another_ones_counters_out() {
    let mut throttle = Throttle::new(LoginRates::default());
    for _ in 0..20 {
        attempt(&mut throttle, "ann", stranger(1), NOW);
    }
    for n in 0..10_500 {
        attempt(&mut throttle, &format!("made-up-{n}"), stranger(2), NOW);
    }
    assert!(matches!(attempt(&mut throttle, "ann", stranger(1), NOW), Verdict::TooMany(_)));
    assert!(throttle.sources.sizes().0 <= 40, "{:?}", throttle.sources.sizes());
}

#[test]
fn known_sources_follow_from_logins_and_expire() {
    let mut known = KnownSources::default();
    let office = LoginSource::new(Some("203.0.113.7".parse().unwrap()), Some("key-1"));
    known.insert("usr_1", office, at(100));
    let of = |source, seconds| known.acquaintance("usr_1", &source, at(seconds));
    assert_eq!(of(from("203.0.113.7"), 0), Acquaintance::Address);
    assert_eq!(of(from("203.0.113.8"), 0), Acquaintance::Network);
    assert_eq!(of(from("203.0.114.7"), 0), Acquaintance::None);
    let elsewhere = |key| LoginSource::new(Some("198.51.100.1".parse().unwrap()), Some(key));
    assert_eq!((of(elsewhere("key-1"), 0), of(elsewhere("key-2"), 0)), (Acquaintance::Device, Acquaintance::None));
    assert_eq!(of(from("203.0.113.7"), 100), Acquaintance::None, "when its session would have ended");
    assert_eq!(known.acquaintance("usr_2", &office, NOW), Acquaintance::None);
    for n in 0..100 {
        known.insert("usr_1", stranger(n), at(200 + u64::from(n)));
    }
    let kept = (0..100).filter(|n| known.acquaintance("usr_1", &stranger(*n), NOW) == Acquaintance::Address).count();
    assert_eq!(kept, 32, "the latest");
    let nowhere = LoginSource::new(None, None);
    known.insert("usr_3", nowhere, at(100));
    assert_eq!(known.acquaintance("usr_3", &nowhere, NOW), Acquaintance::None);
    assert_eq!(known.acquaintance("usr_3", &LoginSource::of_session("ses_1"), NOW), Acquaintance::Device);
}

/// One login of the owner: up to two tries a second apart. Returns whether one was admitted.
fn owner_logs_in(throttle: &mut Throttle, source: LoginSource, acquaintance: Acquaintance, now: Millis) -> bool {
    (0..2).any(|second| {
        let now = now.plus(Duration::from_secs(second));
        match throttle.attempt(account("owner"), source, acquaintance, now) {
            Verdict::Allowed(right) => {
                throttle.succeeded(&right);
                true
            }
            Verdict::Locked | Verdict::TooMany(_) => false,
        }
    })
}

/// An attack on one account for ten minutes, ten attempts a second from `addresses`, beside logins of its owner.
/// Returns how many of 100 logins from known and from new addresses succeed, and how many guesses were compared.
fn attacked(rates: LoginRates, addresses: u32, in_one_network: bool) -> (usize, usize, usize) {
    let mut throttle = Throttle::new(rates);
    let (mut from_known, mut from_new, mut guesses) = (0, 0, 0);
    for tick in 0..6_000_u32 {
        let now = Millis(NOW.0 + u64::from(tick) * 100);
        let n = tick % addresses;
        let source = if in_one_network { from(&format!("198.18.0.{n}")) } else { stranger(n) };
        guesses += usize::from(allowed(attempt(&mut throttle, "owner", source, now)));
        if tick % 60 == 30 {
            let home = from("203.0.113.7");
            from_known += usize::from(owner_logs_in(&mut throttle, home, Acquaintance::Address, now));
            let third = tick / 60;
            let new = if in_one_network {
                from(&format!("198.18.0.{}", 100 + third))
            } else {
                from(&format!("192.0.{third}.1"))
            };
            from_new += usize::from(owner_logs_in(&mut throttle, new, Acquaintance::None, now));
        }
    }
    (from_known, from_new, guesses)
}

#[test]
fn an_owner_under_attack_logs_in_from_known_and_from_new_addresses() {
    for (addresses, in_one_network) in [(1, false), (10, false), (10, true), (20, true), (50, false)] {
        let (known, new, guesses) = attacked(LoginRates::default(), addresses, in_one_network);
        let seen = format!("{addresses} addresses: {known} known, {new} new, {guesses} guesses");
        println!("{seen}");
        assert_eq!(known, 100, "{seen}");
        assert!(new >= 95, "{seen}");
        // 90 at once, and 780 an hour for ten minutes.
        assert!(guesses <= 220, "{seen}");
    }
}

#[test]
fn owners_log_in_while_made_up_names_use_up_the_rate_of_all() {
    let mut throttle = Throttle::new(LoginRates::default());
    let mut logged_in = 0;
    for tick in 0..6_000_u32 {
        let now = Millis(NOW.0 + u64::from(tick) * 100);
        attempt(&mut throttle, &format!("made-up-{tick}"), stranger(tick % 20), now);
        if tick % 60 == 30 {
            let source = from(&format!("192.0.{}.1", tick / 60));
            logged_in += usize::from(owner_logs_in(&mut throttle, source, Acquaintance::None, now));
        }
    }
    assert_eq!(logged_in, 100);
}

#[derive(Debug, Clone)]
struct AnyAttempt {
    name: u8,
    address: u8,
    acquaintance: Acquaintance,
    succeeds: bool,
    gap: u64,
}

prop_compose! {
    fn any_attempt()(
        name in 0_u8..3,
        address in 0_u8..200,
        acquaintance in prop::sample::select(vec![
            Acquaintance::None, Acquaintance::None, Acquaintance::None, Acquaintance::Network, Acquaintance::Address,
        ]),
        succeeds in prop::bool::weighted(0.1),
        gap in prop_oneof![0_u64..50, 0_u64..5_000, 0_u64..200_000],
    ) -> AnyAttempt {
        AnyAttempt { name, address, acquaintance, succeeds, gap }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any timing of attempts, no source is locked for longer than 15 minutes.
    #[test]
    fn a_lock_lasts_15_minutes_at_most(gaps in prop::collection::vec(0_u64..120_000, 1..300)) {
        let mut throttle = Throttle::new(OPEN);
        let mut now = NOW;
        for gap in gaps {
            now = Millis(now.0 + gap);
            attempt(&mut throttle, "ann", stranger(1), now);
            let failures = throttle.sources.get(&(account("ann").unwrap(), stranger(1).address)).unwrap();
            prop_assert!(failures.locked_until.since(now) <= LONGEST_LOCK);
        }
        prop_assert!(allowed(attempt(&mut throttle, "ann", stranger(1), now.plus(LONGEST_LOCK))));
    }

    /// In any hour at most 870 passwords of one account are compared for strangers, however many they are, and five
    /// at once for one of them.
    #[test]
    fn guesses_of_one_account_are_bounded(attempts in prop::collection::vec((0_u32..5_000, 0_u64..2_000), 1..1_500)) {
        let mut throttle = Throttle::new(OPEN);
        let mut now = NOW;
        let mut compared = Vec::new();
        for (address, gap) in attempts {
            now = Millis(now.0 + gap);
            let source = from(&format!("198.18.{}.{}", address / 250, address % 250));
            if allowed(attempt(&mut throttle, "ann", source, now)) {
                compared.push((now, source));
            }
        }
        for (n, (start, source)) in compared.iter().enumerate() {
            let hour = compared.iter().skip(n).take_while(|(at, _)| at.since(*start) <= Duration::from_secs(3600));
            prop_assert!(hour.clone().count() <= 870 + 3);
            let second = hour.take_while(|(at, _)| at.since(*start) < Duration::from_secs(1));
            prop_assert!(second.filter(|(_, other)| other == source).count() <= 6);
        }
    }

    /// In any minute the attempts of each standing and those below it keep to their share, and all to the rate.
    #[test]
    fn the_shares_hold(attempts in prop::collection::vec(any_attempt(), 1..600)) {
        let rates = LoginRates { per_address: 20, of_all: 40 };
        let mut throttle = Throttle::new(rates);
        let mut now = NOW;
        let mut compared = Vec::new();
        for AnyAttempt { name, address, acquaintance, succeeds, gap } in attempts {
            now = Millis(now.0 + gap);
            let source = from(&format!("198.18.{}.{address}", address % 4));
            if let Verdict::Allowed(counted) = throttle.attempt(account(&name.to_string()), source, acquaintance, now) {
                compared.push((now, counted.standing));
                if succeeds {
                    throttle.succeeded(&counted);
                }
            }
        }
        for (n, (start, _)) in compared.iter().enumerate() {
            let minute: Vec<_> = compared.iter().skip(n).take_while(|(at, _)| at.since(*start).as_secs() < 60).collect();
            for (lowest, most) in
                [(Standing::Known, 40), (Standing::Familiar, 36), (Standing::Fresh, 32), (Standing::Suspect, 10)]
            {
                prop_assert!(minute.iter().filter(|(_, standing)| *standing >= lowest).count() <= most);
            }
        }
    }

    /// Whatever others do, a known source that has not failed itself is admitted, unless known sources alone have used
    /// up the rate of all.
    #[test]
    fn nobody_keeps_a_known_source_out(attempts in prop::collection::vec(any_attempt(), 1..600)) {
        let mut throttle = Throttle::new(LoginRates { per_address: 20, of_all: 200 });
        let mut now = NOW;
        for AnyAttempt { name, address, acquaintance, gap, .. } in attempts {
            now = Millis(now.0 + gap);
            let others = if acquaintance == Acquaintance::Address { Acquaintance::None } else { acquaintance };
            throttle.attempt(account(&name.to_string()), from(&format!("198.18.0.{address}")), others, now);
            let owner = throttle.attempt(account("0"), from("203.0.113.7"), Acquaintance::Address, now);
            match owner {
                Verdict::Allowed(right) => throttle.succeeded(&right),
                Verdict::TooMany(_) => {
                    prop_assert!(throttle.all.count_of(Standing::Known) >= 20, "only its own logins are in the way");
                }
                Verdict::Locked => prop_assert!(false, "locked"),
            }
        }
    }
}
