//! Reading: lists, journals, logs, the feed and its snapshots.

use std::sync::Mutex;

use super::*;
use muster_core::page::PageParams;
use muster_core::principal::Viewer;
use muster_core::principal::{Permission, Permissions};
use muster_feed::{Denied, SnapshotReply, SnapshotRequest, SnapshotSource, StateItem};

#[test]
fn lists_contain_live_and_ended_tasks_newest_first() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let mut ids = Vec::new();
        for n in 0..30 {
            let live = n % 3 == 0 && n >= 9;
            let id = fixture.run(json!([{ "do": if live { "hang" } else { "ok" } }])).await;
            if !live {
                fixture.reaches(&id, Status::Succeeded).await;
            }
            ids.push(id);
            test_world::after(Duration::from_millis(1_000)).await;
        }
        fixture.tasks.run(new(json!([])), &key("key_other"), None).await.unwrap();
        ids.reverse();
        let all = |filter: Filter, limit| {
            let fixture = &fixture;
            async move {
                let (mut found, mut after) = (Vec::new(), None);
                for _ in 0..100 {
                    let page = PageParams { limit, after };
                    let page = fixture.tasks.list(filter.clone(), page, &fixture.owner).await.unwrap();
                    assert!(page.items.len() <= limit);
                    found.extend(page.items);
                    after = page.next;
                    if after.is_none() {
                        return found;
                    }
                }
                panic!("the list has no end")
            }
        };
        let found: Vec<String> = all(Filter::default(), 7).await.into_iter().map(|record| record.id).collect();
        assert_eq!(found, ids);
        let ended = Filter { status: vec![Status::Succeeded], ..Filter::default() };
        assert!(all(ended, 4).await.iter().all(|record| record.status == Status::Succeeded));
        let (from, to) = (fixture.get(&ids[19]).await.created_at, fixture.get(&ids[10]).await.created_at);
        let span = Filter { from: Some(from), to: Some(to), ..Filter::default() };
        let found: Vec<String> = all(span, 3).await.into_iter().map(|record| record.id).collect();
        assert_eq!(found, ids[11..20], "from is within, to is not");
        let auditor = Requester { reads: Reach::All, ..key("key_auditor") };
        let page =
            fixture.tasks.list(Filter::default(), PageParams { limit: 200, after: None }, &auditor).await.unwrap();
        assert_eq!(page.items.len(), 31);
        let none = fixture.tasks.list(Filter::default(), PageParams::default(), &key("key_nobody")).await.unwrap();
        assert!(none.items.is_empty());
    });
}

#[test]
fn the_journal_and_the_feed_contain_every_change_in_order() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "ok" }])).await;
        let done = fixture.reaches(&id, Status::Succeeded).await;
        let events = fixture.tasks.events(&id, &fixture.owner, 0, 100).await.unwrap();
        assert_eq!(events.iter().map(|entry| entry.seq).collect::<Vec<_>>(), (1..=done.seq).collect::<Vec<_>>());
        let outcome = |event: &JournalEntry| match event.event.as_str() {
            "task.state" => format!("{} {}", event.data["from"], event.data["to"]).replace('"', ""),
            other => format!("{other} {}", event.data["status"]).replace('"', ""),
        };
        let expected = [
            "null pending",
            "pending queued",
            "queued running",
            "task.step running",
            "task.step succeeded",
            "running succeeded",
            "task.end succeeded",
        ];
        assert_eq!(events.iter().map(outcome).collect::<Vec<_>>(), expected);
        for after in 0..done.seq {
            let rest = fixture.tasks.events(&id, &fixture.owner, after, 2).await.unwrap();
            assert_eq!(rest[0].seq, after + 1);
        }
        assert!(fixture.tasks.events(&id, &key("key_other"), 0, 10).await.is_err());
        let published = fixture.feed.take();
        let kept: Vec<_> =
            published.iter().filter(|event| event.name != "task.progress").map(|event| event.name.as_str()).collect();
        assert_eq!(kept, events.iter().map(|entry| entry.event.as_str()).collect::<Vec<_>>());
        assert!(published.iter().all(|event| event.traits.owner.as_deref() == Some("key_me")));
        let of_agents: Vec<_> =
            published.iter().filter(|event| event.channels.contains(&"agents".to_owned())).collect();
        assert!(of_agents.iter().all(|event| ["task.state", "task.progress"].contains(&event.name.as_str())));
    });
}

#[test]
fn a_steps_output_is_published_and_its_lines_can_be_read() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "stream", "text": "hello" }])).await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        test_world::after(Duration::from_millis(200)).await;
        let published = fixture.feed.take();
        let of = |name: &str| {
            published
                .iter()
                .find(|event| event.name == name)
                .map(|event| (event.channels.clone(), event.data.get().to_owned()))
        };
        let (channels, data) = of("task.delta").unwrap();
        assert_eq!(channels, [format!("tasks:{id}")]);
        assert_eq!(serde_json::from_str::<Value>(&data).unwrap()["text"], "hello");
        let (channels, data) = of("log").unwrap();
        assert_eq!(channels, [format!("tasks:{id}:logs")]);
        assert_eq!(serde_json::from_str::<Value>(&data).unwrap()["n"], 1);
        let lines = fixture.tasks.logs(&id, &fixture.owner, 0, 10).await.unwrap();
        assert_eq!(lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["wrote"]);
        fixture.control(&id, Verb::Kill).await.unwrap();
        assert_eq!(fixture.tasks.logs(&id, &fixture.owner, 0, 10).await.unwrap().len(), 1, "also when it has ended");
    });
}

#[test]
fn a_wait_ends_with_the_next_change_or_with_its_time() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "gate" }])).await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        let seen = fixture.get(&id).await;
        let before = tokio::time::Instant::now();
        let same = fixture.tasks.wait(&id, &fixture.owner, Some(seen.seq), Duration::from_secs(10)).await.unwrap();
        assert_eq!((same.seq, before.elapsed().as_secs()), (seen.seq, 10));
        let missed =
            fixture.tasks.wait(&id, &fixture.owner, Some(seen.seq - 1), Duration::from_secs(10)).await.unwrap();
        assert_eq!(
            (missed.seq, before.elapsed().as_secs()),
            (seen.seq, 10),
            "an earlier change is returned immediately"
        );
        fixture.executor.open();
        let done = fixture.tasks.wait(&id, &fixture.owner, None, Duration::from_secs(10)).await.unwrap();
        assert_eq!(done.status, Status::Succeeded);
        let ended = fixture.tasks.wait(&id, &fixture.owner, None, Duration::from_secs(10)).await.unwrap();
        assert_eq!((ended.seq, before.elapsed().as_secs()), (done.seq, 10));
    });
}

async fn state(
    fixture: &TaskFixture,
    channel: &str,
    viewer: &str,
    permissions: &[Permission],
) -> Result<Vec<StateItem>, Denied> {
    let (to, from) = tokio::sync::oneshot::channel();
    let to = Mutex::new(Some(to));
    let reply = SnapshotReply::new(move |state| to.lock().unwrap().take().unwrap().send(state).unwrap());
    let viewer = Viewer { id: viewer.into(), permissions: Permissions::of(permissions) };
    fixture.tasks.request(SnapshotRequest { channel: channel.to_owned(), viewer, reply });
    from.await.unwrap()
}

#[test]
fn snapshots_contain_what_the_viewer_may_read() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let mine = fixture.run(json!([{ "do": "stream", "text": "x" }])).await;
        let other = fixture.tasks.run(new(json!([{ "do": "hang" }])), &key("key_other"), None).await.unwrap().id;
        let done = fixture.run(json!([])).await;
        fixture.reaches(&done, Status::Succeeded).await;
        test_world::until(|| fixture.executor.begun().len() == 2).await;
        let ids = |items: Vec<StateItem>| items.into_iter().map(|item| item.id).collect::<Vec<_>>();
        assert_eq!(ids(state(&fixture, "agents", "key_me", &[]).await.unwrap()), std::slice::from_ref(&mine));
        let all = state(&fixture, "agents", "usr_1", &[Permission::AgentsRead]).await.unwrap();
        assert_eq!(ids(all), [other.clone(), mine.clone()]);
        let one = state(&fixture, &format!("tasks:{done}"), "key_me", &[]).await.unwrap();
        let data: Value = serde_json::from_str(one[0].data.get()).unwrap();
        assert_eq!(
            (&data["status"], &data["ended"], &data["task_id"]),
            (&json!("succeeded"), &json!(true), &json!(done))
        );
        for channel in [format!("tasks:{other}"), "tasks:task_none".to_owned(), format!("tasks:{other}:logs")] {
            assert_eq!(state(&fixture, &channel, "key_me", &[]).await.unwrap_err(), Denied::NotFound, "{channel}");
        }
        let lines = state(&fixture, &format!("tasks:{mine}:logs"), "key_me", &[]).await.unwrap();
        assert_eq!(lines.len(), 1);
    });
}

#[test]
fn large_params_and_results_are_stored_beside_the_record_and_read_back() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let text = "x".repeat(50_000);
        let id = fixture.run(json!([{ "do": "ok", "echo": text }, { "do": "gate" }])).await;
        test_world::until(|| fixture.executor.begun().len() == 2).await;
        let fixture = fixture.restart().await;
        fixture.executor.open();
        let done = fixture.reaches(&id, Status::Succeeded).await;
        assert_eq!(done.result.as_ref().unwrap()["outputs"][0]["echo"], json!(text));
        let fixture = fixture.restart().await;
        assert_eq!(fixture.get(&id).await, done);
    });
}

#[test]
fn ended_tasks_are_deleted_after_their_retention_with_everything_stored_for_them() {
    test_world::run(|tree| async move {
        let keep_ended = Duration::from_secs(60);
        let fixture = TaskFixture::new(&tree, TaskSettings { keep_ended, ..TaskSettings::default() }).await;
        let id = fixture.run(json!([{ "do": "ok" }])).await;
        fixture.reaches(&id, Status::Succeeded).await;
        assert_eq!(fixture.tasks.sweep().await, Ok(0));
        test_world::after(fixture.settings.keep_ended).await;
        assert_eq!(fixture.tasks.sweep().await, Ok(1));
        assert!(fixture.tasks.get(&id, &fixture.owner).await.is_err());
        let left = muster_store::Store::verify(&*fixture.store).unwrap().records;
        assert_eq!(left, 1, "the average duration of its agent");
    });
}
