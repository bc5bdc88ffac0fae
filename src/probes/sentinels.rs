//! The probe of the sentinels.

use std::sync::Arc;
use std::time::Duration;

use muster_core::health::{Probe, ProbeResult};
use muster_core::{Error, Kind};
use muster_identity::By;
use muster_tasks::engine::EngineCaller;
use muster_tasks::sentinel::{Orchestration, SENTINELS, Sentinels};

use super::agents::Rotation;
use super::{ProbeTargets, SECOND};

/// Deadline of a check, below that of the health actor, so that a busy pool can be distinguished from a blind sentinel.
const DEADLINE: Duration = Duration::from_secs(4);
/// Name of the subject in which there is nothing to find.
const CLEAN: &str = "a harmless text";
/// One for each sentinel, and the harmless one.
const SAMPLES: usize = SENTINELS.len() + 1;

pub(super) fn all(parts: &ProbeTargets) -> Vec<Probe> {
    let (sentinels, rotation) = (parts.sentinels.clone(), Arc::<Rotation>::default());
    let probe = Probe::new("sentinels", 4, 120 * SECOND, move || look(sentinels.clone(), Arc::clone(&rotation)));
    vec![probe]
}

/// Checks one sentinel with its planted sample, or all with a harmless text, in turn.
async fn look(sentinels: Sentinels, rotation: Arc<Rotation>) -> ProbeResult {
    let turn = rotation.turn(1);
    let Some((id, orchestration)) = (0..SAMPLES).find_map(|next| sample((turn + next) % SAMPLES)) else {
        return ProbeResult::Unhealthy("this build has no sentinels".to_owned());
    };
    match sentinels.orchestrate(orchestration, EngineCaller::of(&By::System), |_| {}).await {
        Ok(answer) if !answer.complete && answer.warnings.is_empty() => busy(None),
        Ok(answer) => {
            let alarmed = matches!(answer.verdict, "warn" | "critical");
            let wrong = match (id == CLEAN, alarmed) {
                (false, false) => Some(format!("{id} missed its planted sample: {}", answer.verdict)),
                (true, _) if answer.verdict != "clear" => Some(format!("{CLEAN} was found {}", answer.verdict)),
                _ => None,
            };
            rotation.note(id, wrong);
            rotation.verdict()
        }
        Err(error) if error.kind == Kind::Unavailable => busy(Some(&error)),
        Err(error) => {
            rotation.note(id, Some(format!("{id}: {error}")));
            rotation.verdict()
        }
    }
}

/// What a sentinel must find; behind the last one, what none may. `None` if this build does not have the sentinel.
fn sample(at: usize) -> Option<(&'static str, Orchestration)> {
    match SENTINELS.get(at) {
        Some(sentinel) => Some((sentinel.id, Orchestration::planted(at, DEADLINE)?)),
        None => Some((CLEAN, Orchestration::clean(DEADLINE)?)),
    }
}

fn busy(error: Option<&Error>) -> ProbeResult {
    let why = error.map_or("no answer in 4 s", |error| &error.message);
    ProbeResult::Degraded(format!("the sentinels are busy: {why}"))
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use muster_tasks::engine::{EngineAnswer, EngineCall, EngineRunner};
    use serde_json::json;

    use super::*;

    /// Engines that find everything in everything, or nothing in anything.
    #[derive(Debug)]
    struct Planted {
        verdict: &'static str,
    }

    impl EngineRunner for Planted {
        fn run(&self, _: EngineCall) -> BoxFuture<'static, Result<EngineAnswer, Error>> {
            let output = json!({ "verdict": self.verdict, "score": 0.5, "findings": [] });
            let answer = EngineAnswer { output, ..EngineAnswer::default() };
            Box::pin(std::future::ready(Ok(answer)))
        }
    }

    async fn verdicts(verdict: &'static str, looks: usize) -> Vec<ProbeResult> {
        let sentinels = Sentinels::new(Arc::new(Planted { verdict }), 2);
        let rotation = Arc::<Rotation>::default();
        let mut all = Vec::new();
        for _ in 0..looks {
            all.push(look(sentinels.clone(), Arc::clone(&rotation)).await);
        }
        all
    }

    #[actix_rt::test]
    async fn blind_sentinels_degrade_the_module_and_two_break_it() {
        let looks = verdicts("clear", 2).await;
        assert!(
            matches!(&looks[0], ProbeResult::Degraded(why) if why.contains("sentinel-secrets missed")),
            "{looks:?}"
        );
        assert!(matches!(&looks[1], ProbeResult::Unhealthy(why) if why.contains("; ")), "{looks:?}");
    }

    #[actix_rt::test]
    async fn a_false_alarm_degrades_the_module() {
        let looks = verdicts("warn", SAMPLES).await;
        let (last, before) = looks.split_last().unwrap();
        assert!(before.iter().all(|look| *look == ProbeResult::Healthy), "{looks:?}");
        assert!(matches!(last, ProbeResult::Degraded(why) if why.contains("a harmless text")), "{looks:?}");
    }
}
