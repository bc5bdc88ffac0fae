//! What a guard costs a command that is not guarded, and one that needs an approval. Prints nanoseconds a call.
//!
//! `cargo bench -p muster-core --bench guard`

use std::hint::black_box;
use std::time::Instant;

use muster_core::Millis;
use muster_core::guard::{GuardedAction, Need, Requester, Standing, StandingPublisher};

const ROUNDS: u32 = 1_000_000;

fn main() {
    let publisher = StandingPublisher::new();
    publisher.publish(Standing { ready: true, constituted: true, ..Standing::default() });
    let reader = publisher.reader();
    let requester = Requester { id: "usr_01M7ZC2GXH0005F7FKJW5QGHJ6", is_super_admin: true };
    let measure = |name: &str, need: &dyn Fn() -> Option<Need>| {
        let begun = Instant::now();
        for _ in 0..ROUNDS {
            let _ = black_box(reader.get().clear(black_box(need()), requester, None, Millis(1)));
        }
        println!("{name}: {} ns", begun.elapsed().as_nanos() / u128::from(ROUNDS));
    };
    measure("no need", &|| None);
    measure("refused", &|| Some(Need::new(GuardedAction::KeyGrant, "ci")));
}
