//! An earthquake, from its first reports to its end, while firmware is rolled out to 200 devices, fails and is
//! rolled back; the server is killed twice meanwhile. The program itself, real HTTP, two dashboards, simulated devices.

mod dashboard;
mod earthquake;
mod rollout;
mod world;

use crate::support;

use world::ScenarioWorld;

const CHANNELS: [&str; 4] = ["incidents", "alerts", "firmware", "devices"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earthquake_and_a_bad_firmware_survive_two_kills_and_a_cut_dashboard() {
    let mut world = ScenarioWorld::start().await;
    let (one, two) = (world.dashboard(&CHANNELS).await, world.dashboard(&CHANNELS).await);
    let fleet = world.fleet(200).await;

    let quake = earthquake::reported(&world, &fleet).await;
    for dashboard in [&one, &two] {
        dashboard.follow(&format!("incidents:{quake}")).await;
    }
    let alert = earthquake::proposed(&world, &quake).await;
    world.kill_and_restart(&fleet).await;
    earthquake::confirmed(&world, &quake, &alert).await;
    earthquake::ended(&world, &quake).await;

    let job = rollout::made(&world, &fleet).await;
    let channel = format!("firmware:{job}");
    for dashboard in [&one, &two] {
        dashboard.follow(&channel).await;
    }
    rollout::approved(&world, &job).await;
    fleet.wait_until(|fleet| fleet.summary().totals.installs >= 5).await;
    world.kill_and_restart(&fleet).await;

    one.wait_until("the second group has started", |seen| {
        seen.names("firmware").filter(|name| *name == STARTED).count() >= 2
    })
    .await;
    two.cut();
    let missed = one.count(&channel) + 40;
    one.wait_until("the other dashboard has missed enough", |seen| seen.count(&channel) >= missed).await;
    let before = two.count(&channel);
    two.mend();
    one.wait_until("the job is paused", |seen| seen.names("firmware").any(|name| name == "firmware.job.paused")).await;
    rollout::taken_back(&world, &job).await;
    for dashboard in [&one, &two] {
        dashboard
            .wait_until("the job is over", |seen| seen.names("firmware").any(|name| name == "firmware.job.completed"))
            .await;
    }
    assert!(two.count(&channel) > before, "the dashboard that was cut has what it missed");

    rollout::is_unchanged(&world, &fleet, &job).await;
    earthquake::is_published_once(&world, &quake).await;
    let own = [format!("incidents:{quake}"), channel];
    for channel in CHANNELS.into_iter().chain(own.iter().map(String::as_str)) {
        dashboard::same(&one, &two, channel);
    }
    // Five channels at the first kill, six at the second, and six at the cut.
    assert!(one.resumed() >= 11 && two.resumed() >= 17, "{} and {}", one.resumed(), two.resumed());
    eprintln!("{}", fleet.summary().line());
    fleet.stop().await.unwrap();
}

const STARTED: &str = "firmware.job.group_started";
