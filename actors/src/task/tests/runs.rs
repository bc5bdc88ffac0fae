//! Running: from the request to the end.

use super::*;

#[test]
fn a_task_runs_its_steps_and_its_result_is_kept() {
    world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let accepted = bench.try_run(json!([{ "do": "ok" }, { "do": "sleep", "ms": 1500 }])).await.unwrap();
        assert_eq!((accepted.status, accepted.estimate.p50_seconds), (Status::Pending, 7), "its agent's own guess");
        let done = bench.is(&accepted.id, Status::Succeeded).await;
        assert_eq!(
            done.result,
            Some(json!({ "agent": "script", "outputs": [{ "n": 0, "said": null }, { "n": 1, "said": null }] }))
        );
        assert_eq!(done.steps.iter().map(|step| step.status).collect::<Vec<_>>(), [StepStatus::Succeeded; 2]);
        assert_eq!((done.progress.percent, done.progress.completed_steps), (Some(100), 2));
        assert_eq!(done.usage, Usage { prompt: 6, completion: 4, cost_nanos: 10 });
        assert!((1_500..1_700).contains(&done.ran_ms), "{}", done.ran_ms);
        let begun = bench.work.begun();
        assert_eq!(begun, [(format!("{}/0/0", done.id), 1), (format!("{}/0/1", done.id), 1)]);
    });
}
