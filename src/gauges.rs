//! Gauges of `/metrics`, read from all parts when metrics are requested.

use crate::app::App;
use crate::report::public_path;

impl App {
    /// Updates the gauges of `/metrics`.
    pub async fn refresh_gauges(&self) {
        let set = |part: &str, name: &str, value: u64| {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            self.metrics.gauges.with_label_values(&[part, name]).set(value);
        };
        let store = self.store.stats();
        set("store", "bytes_on_disk", store.bytes_on_disk);
        set("store", "queue_depth", store.queue_depth as u64);
        set("store", "commits", store.commits);
        set("store", "groups", store.groups);
        set("store", "poisoned", u64::from(store.poisoned.is_some()));
        let journal = self.ledger.journal();
        set("ledger", "lines_waiting", journal.waiting as u64);
        set("ledger", "lines_lost", journal.lost);
        let model = self.model.stats();
        set("model", "active", model.active as u64);
        set("model", "waiting", model.waiting as u64);
        set("model", "restarts", model.restarts);
        set("sockets", "connections", self.sockets.counts.total() as u64);
        set("sockets", "evicted", self.sockets.evicted());
        // Left as it was while the actor does not answer.
        if let Ok(drifted) = self.devices.drifted().await {
            set("devices", "drifted", drifted as u64);
        }
        let engines = self.engines.stats();
        set("engines", "processes", engines.processes as u64);
        set("engines", "running", engines.running as u64);
        set("engines", "waiting", engines.waiting as u64);
        set("engines", "calls", engines.calls);
        set("engines", "timed_out", engines.timed_out);
        set("engines", "broken", engines.broken);
        let tasks = self.agency.tasks.stats();
        set("tasks", "queued", (tasks.pending + tasks.queued) as u64);
        set("tasks", "running", tasks.running as u64);
        set("tasks", "paused", tasks.paused as u64);
        set("tasks", "waiting", tasks.waiting as u64);
        set("tasks", "retrying", tasks.retrying as u64);
        set("tasks", "oldest_seconds", tasks.oldest_seconds);
        set("tasks", "p50_ms", tasks.p50_ms);
        set("tasks", "p99_ms", tasks.p99_ms);
        let (memory, lag) = self.memory.stats().await;
        set("memory", "entries", memory.entries);
        set("memory", "vectors", memory.vectors);
        set("memory", "pending", memory.pending);
        set("memory", "bytes", memory.bytes);
        set("memory", "lag", lag);
        set("memory", "embedded_texts", memory.embedding.texts);
        set("memory", "embedding_failures", memory.embedding.failures);
        self.translators.each_model(|pair, stats| {
            let part = format!("translate/{pair}");
            set(&part, "ready", u64::from(stats.state.name() == "ready"));
            set(&part, "failed", u64::from(stats.state.name() == "failed"));
            set(&part, "calls", stats.calls as u64);
            set(&part, "served", stats.served);
            set(&part, "stopped", stats.stopped);
        });
        self.media.vision.each(|id, present, stats| {
            let part = format!("vision/{id}");
            set(&part, "present", u64::from(present));
            set(&part, "ready", u64::from(stats.state.name() == "ready"));
            set(&part, "failed", u64::from(stats.state.name() == "failed"));
            set(&part, "calls", stats.calls as u64);
            set(&part, "served", stats.served);
            set(&part, "stopped", stats.stopped);
        });
        let waiting = crate::media::picture::QUEUE.saturating_sub(self.media.decodes.available_permits());
        set("pictures", "decoding", waiting as u64);
        set("health", "score", self.health.report().score.into());
        if let Some(otel) = &self.otel {
            set("telemetry", "dropped_spans", otel.dropped());
        }
        // Those of sessions come and go, and their names are nobody's business.
        for actor in self.tree.snapshot().into_iter().filter(|actor| public_path(&actor.path) == actor.path) {
            set(&actor.path, "mailbox_depth", actor.mailbox_depth as u64);
            set(&actor.path, "restarts", actor.restarts);
            set(&actor.path, "refused", actor.refused);
        }
    }
}
