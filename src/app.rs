//! The application: starts all parts of the server in order and holds them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix_rt::Arbiter;
use muster_audit::{Audit, LogProbe};
use muster_core::guard::{StandingPublisher, StandingReader};
use muster_core::health::Health;
use muster_core::supervise::Tree;
use muster_core::upkeep;
use muster_core::{Clock, Millis};
use muster_feed::{AGENTS, DISASTER, Feed};
use muster_gateway::Chain;
use muster_governance::Governance;
use muster_governance::policy::PolicyService;
use muster_identity::keys::{KeyActorOptions, Keys};
use muster_identity::{DeviceDirectory, Identity, IdentityOptions, Independence};
use muster_limits::ledger::{Ledger, LedgerOptions};
use muster_limits::{Options as LimiterOptions, RateLimiter};
use muster_models::{ChatModel, LocalEmbedder, LocalModel};
use muster_network::device::Devices;
use muster_network::firmware::Firmwares;
use muster_network::geofence::Geofences;
use muster_network::incident::{CriticalIncidents, Incidents};
use muster_providers::EmbeddedAdapter;
use muster_store::{SledStore, StoreHandle};
use muster_tasks::engine::{Engines, SandboxMode, SandboxStatus};
use tokio::sync::{Mutex, Semaphore, watch};

use crate::agents::{AgentCommands, AgentPlatform, ControlledTasks, Dependencies as AgentDependencies};
use crate::audit_log::{self, CountedRequests};
use crate::backup::COPIES;
use crate::body::BodyBudget;
use crate::config::{Config, Source};
use crate::disaster::{Dependencies, Disaster, DisasterCommands};
use crate::engine_effects::ServerEffects;
use crate::governance::{self, GovernanceDependencies};
use crate::images::Images;
pub use crate::initial::{InitialCredentials, StartError, StoreRef};
pub(crate) use crate::initial::{failed, first_key};
use crate::live::{Live, LiveReader};
use crate::media::MediaParts;
use crate::media::translate::Translators;
use crate::medical::{Dependencies as MedicalDependencies, Medical};
use crate::memory::{Dependencies as MemoryDependencies, MemoryParts};
use crate::otel::Otel;
use crate::oversight::{self, Oversight};
use crate::part_options::{embed_options, feed_options};
pub use crate::part_options::{identity_options, model_options, store_options};
use crate::system_events::{EventSources, SystemEvents};
use crate::telemetry::Metrics;
use crate::tls::Certificate;
use crate::ws::{FeedAuthenticator, Sockets};
use crate::{private_files, probes, provider_setup, sentinel_responses, snapshots};

/// The shared state of all request handlers.
#[derive(Debug)]
pub struct App {
    pub(crate) live: watch::Sender<Arc<Live>>,
    pub clock: Clock,
    pub tree: Tree,
    pub store: StoreRef,
    pub audit: Audit,
    pub(crate) counted: Arc<CountedRequests>,
    pub keys: Keys,
    pub identity: Identity,
    pub governance: Governance,
    pub oversight: Oversight,
    /// By which guarded commands are decided that no actor owns.
    pub(crate) standing: StandingReader,
    pub feed: Feed,
    pub sockets: Arc<Sockets>,
    pub incidents: Incidents,
    pub geofences: Geofences,
    pub devices: Devices,
    pub firmware: Firmwares,
    /// Finds devices by their identifier and key.
    pub device_directory: Arc<dyn DeviceDirectory>,
    pub engines: Engines,
    pub agency: AgentPlatform,
    pub memory: MemoryParts,
    pub images: Images,
    pub medical: Medical,
    pub media: MediaParts,
    pub translators: Translators,
    pub limiter: RateLimiter,
    pub ledger: Ledger,
    pub model: Arc<dyn ChatModel>,
    pub embedder: Arc<LocalEmbedder>,
    pub(crate) embedded: Arc<EmbeddedAdapter>,
    /// Bytes of request bodies held at present.
    pub bodies: BodyBudget,
    /// Turns to parse a large body.
    pub(crate) parsing: Arc<Semaphore>,
    pub health: Health,
    pub metrics: Metrics,
    /// `None` if nothing is exported.
    pub otel: Option<Otel>,
    pub started_at: Millis,
    /// The TLS certificate, once it is known whether there is one.
    pub(crate) certificate: OnceLock<Option<Arc<Certificate>>>,
    /// Serializes reloads.
    pub(crate) reloading: Mutex<()>,
    /// The first key of an empty store, until it is printed.
    pub first_key: Option<String>,
    /// The random password of an empty store's administrator, until it is printed.
    pub first_password: Option<String>,
    draining: AtomicBool,
    local: Arc<LocalModel>,
    pub(crate) sled: Arc<SledStore>,
    /// Permits one backup at a time.
    pub(crate) backing_up: Semaphore,
    /// Permits some encrypted copies of backups at one time.
    pub(crate) backup_copies: Arc<Semaphore>,
    arbiters: Vec<Arbiter>,
}

impl App {
    /// Starts every part. The embedded model continues to load after this returns.
    ///
    /// # Errors
    /// A part cannot start; the error says which, why and how to fix it.
    pub async fn start(config: Config, source: Source, first: InitialCredentials) -> Result<Self, StartError> {
        let clock = Clock::system();
        let sandbox = examine_sandbox(&config).await?;
        private_files::restrict_and_report(&config.store.path);
        let sled = open_store(&config)?;
        let store: StoreHandle = Arc::clone(&sled) as _;
        let log = audit_log::open(&config, &store, &clock, first.accept_rollback.clone()).await;
        let log = log.map_err(|error| failed("the audit log")(&error))?;
        // Actors that decide for requests run on arbiters of their own, apart from the HTTP workers and each other.
        let arbiters: Vec<Arbiter> = (0..2).map(|_| Arbiter::new()).collect();
        let handles: Vec<_> = arbiters.iter().map(Arbiter::handle).collect();
        let one = || handles.first().cloned().unwrap_or_else(Arbiter::current);
        let tree = Tree::new(Arbiter::current(), clock.clone());

        let standing = StandingPublisher::new();
        let key_options =
            KeyActorOptions { store: Arc::clone(&store), clock: clock.clone(), standing: standing.reader() };
        let keys = Keys::start(&tree.group("keys"), one(), key_options);
        let channels = DISASTER.iter().chain(AGENTS).copied().collect();
        let feed = Feed::start(&tree.group("feed"), one(), feed_options(&config, &store, &clock), channels)
            .map_err(|error| failed("the feed's journal")(&error))?;
        // The follower reads, hashes and syncs, so it shares its arbiter with no other actor.
        let following = Arbiter::new();
        let audit = log.start(&tree.group("audit"), following.handle(), Some(feed.publisher()));
        let counted = Arc::new(CountedRequests::start(audit.clone(), clock.clone()));
        let people = IdentityOptions {
            publisher: Some(feed.publisher()),
            standing: standing.reader(),
            ..identity_options(&config, &clock)
        };
        let identity = Identity::start(&tree.group("identity"), one(), &store, people)
            .map_err(|error| failed("identity")(&error))?;
        let file = config.governance.policy();
        let policy = PolicyService::open(&store, &clock, standing.clone(), Some(feed.publisher()), &file)
            .map_err(|error| failed("the governance policy")(&error))?;
        policy.freeze(config.governance.freeze);
        let critical = CriticalIncidents::default();
        let parts = GovernanceDependencies {
            tree: &tree,
            arbiter: one(),
            store: &store,
            clock: &clock,
            feed: &feed,
            identity: &identity,
            standing: &standing,
            audit: &audit,
            policy: &policy,
            critical: &critical,
        };
        let governance = governance::start(parts);
        let socket_options = config.feed.options(&config.server.cors_origins);
        let arbiter_of = |nth: usize| handles.get(nth).cloned().unwrap_or_else(Arbiter::current);
        let other = arbiter_of(1);
        let dependencies = Dependencies {
            tree: &tree,
            arbiters: [one(), other],
            store: &store,
            clock: &clock,
            feed: &feed,
            standing: &standing.reader(),
            independence: &Independence::new(identity.people(), standing.reader()),
            critical: &critical,
        };
        let disaster = Disaster::start(&config, &dependencies)?;
        let devices = disaster.devices.directory().clone();
        let authenticator =
            FeedAuthenticator { people: identity.clone(), keys: keys.clone(), devices, clock: clock.clone() };
        let sockets = Sockets::new(feed.clone(), clock.clone(), Arc::new(authenticator), socket_options);
        sockets.commands.register(Arc::new(DisasterCommands(disaster.clone())));
        // The engine actor reads and writes large documents, so it shares its arbiter with no other actor.
        let apart = Arbiter::new();
        let effects = ServerEffects::default();
        let engine_options =
            config.engines.options(&config.workspace, &config.llm.cache, &store, &clock, Arc::new(effects.clone()));
        let engines = Engines::start(&tree.group("engines"), apart.handle(), engine_options, sandbox);
        let limiter = RateLimiter::start(&tree.group("limits"), &handles, &store, &clock, &LimiterOptions::default());

        let local = LocalModel::start(model_options(&config));
        let model: Arc<dyn ChatModel> = Arc::clone(&local) as _;
        let registry = Arc::new(provider_setup::registry(&config, &*model)?);
        let embedder = LocalEmbedder::start(embed_options(&config));
        let embedded = Arc::new(EmbeddedAdapter::new(Arc::clone(&model)).with_embeddings(Arc::clone(&embedder) as _));
        provider_setup::warn_of_missing_keys(&registry);
        let served = provider_setup::providers(&config, &registry, &embedded, &[])?;
        let folder = config.store.path.join("ledger");
        let ledger_options = LedgerOptions::default();
        let ledger = Ledger::start(&tree.group("ledger"), one(), &store, &folder, &clock, ledger_options)
            .map_err(|error| failed("the ledger's journal")(&error))?;
        let till = provider_setup::till(&config, &ledger, &clock);
        let chain = Chain::start(
            &tree.group("providers"),
            &handles,
            registry,
            served.iter().map(|served| served.provider.clone()).collect(),
            Arc::new(provider_setup::Counter(Arc::clone(&model))),
            provider_setup::options(&config),
            &clock,
            Some(till),
        );

        let metrics = Metrics::new(&config.telemetry.tag_labels).map_err(|error| failed("metrics")(&error))?;
        let otel = Otel::new(&config.telemetry).map_err(|error| failed("telemetry")(&error))?;
        let (snapshots, store_path) = (snapshots::job(&config, &sled), config.store.path.clone());
        let (live, watched) = watch::channel(Arc::new(Live { config, source, chain, served }));
        let (config, watched) = (live.borrow().config.clone(), LiveReader(watched));
        let translators = Translators::start(&config, &watched, &metrics);
        let dependencies = MemoryDependencies { tree: &tree, store: &store, clock: &clock, embedder: &embedder };
        let memory = MemoryParts::start(&config, &dependencies);
        let dependencies = AgentDependencies {
            tree: &tree,
            arbiter: arbiter_of(1),
            store: &store,
            clock: &clock,
            feed: &feed,
            engines: &engines,
            live: &watched,
            keys: &keys,
            metrics: &metrics,
            ledger: &ledger,
            limiter: &limiter,
            standing: standing.reader(),
            effects: &effects,
            translators: &translators,
            memory: &memory.entries,
        };
        let agency = AgentPlatform::start(&config, &dependencies)?;
        let medical_dependencies = MedicalDependencies {
            tree: &tree,
            arbiter: arbiter_of(1),
            store: &store,
            clock: &clock,
            metrics: &metrics,
        };
        let images = Images::start(&config, &tree, arbiter_of(1), &store, &clock)?;
        let medical = Medical::start(&config.medical, medical_dependencies)?;
        let media = MediaParts::start(&config)?;
        let controlled =
            ControlledTasks { tasks: agency.tasks.clone(), limiter: limiter.clone(), live: watched.clone() };
        sockets.commands.register(Arc::new(AgentCommands(Arc::new(controlled))));
        let parts = probes::ProbeTargets {
            data: store_path,
            live: watched.clone(),
            clock: clock.clone(),
            tree: tree.clone(),
            store: Arc::clone(&store),
            audit_log: Arc::new(LogProbe::new(audit.clone(), clock.clone())),
            keys: keys.clone(),
            limiter: limiter.clone(),
            ledger: ledger.clone(),
            vectors: Arc::clone(&embedder) as _,
            model: Arc::clone(&model),
            metrics: metrics.clone(),
            engines: engines.clone(),
            agents: agency.agents.clone(),
            tasks: agency.tasks.clone(),
            sentinels: agency.sentinels.sentinels.clone(),
            memory: memory.entries.clone(),
            search_index: memory.search_index(),
            medical: medical.clone(),
            media: media.clone(),
            translators: translators.clone(),
            images: images.clone(),
            identity: identity.clone(),
            governance: governance.clone(),
            policy: policy.clone(),
            feed: feed.clone(),
            sockets: Arc::clone(&sockets),
            network: disaster.clone(),
        };

        let up = async {
            tokio::join!(
                audit.up(),
                keys.up(),
                feed.up(),
                identity.up(),
                governance.up(),
                disaster.up(),
                limiter.up(),
                ledger.up()
            );
            tokio::join!(engines.up(), agency.tasks.up(), memory.up(), images.pictures.up(), medical.up())
        };
        tokio::time::timeout(Duration::from_secs(30), up).await.map_err(|_| {
            StartError(
                "keys, people, the disaster network, limits and ledger could not be read within 30 s: see the log, then run `muster doctor`"
                    .to_owned(),
            )
        })?;
        let first_key = first_key(&keys, first.key).await?;
        let first_password = identity.create_first(first.password).await;
        let first_password = first_password.map_err(|error| failed("the first administrator")(&error))?;
        let closes = oversight::closes(&store, &clock, &ledger);
        upkeep::start(
            &tree.group("upkeep"),
            one(),
            agency
                .upkeep(&feed, &clock, &watched)
                .into_iter()
                .chain([
                    snapshots,
                    counted.counting(),
                    governance::comparing(&governance, &disaster),
                    oversight::closing(&closes),
                    sentinel_responses::rounds(&agency, &identity, &keys, &disaster, &governance, &watched, &clock),
                    memory.upkeep(),
                    medical.upkeep(),
                    medical.sweeping(),
                ])
                .collect(),
        );
        // While there is no quorum the settings file is the policy; whether there is one is known by now.
        policy.take_file(&file).await.map_err(|error| failed("the governance policy")(&error))?;
        let breakers = live.borrow().chain.changes();
        let health = Health::start(&tree.group("health"), one(), probes::all(parts), clock.clone());
        let dependencies = oversight::Dependencies {
            store: &store,
            clock: &clock,
            live: &watched,
            health: &health,
            audit: &audit,
            standing: standing.reader(),
            governance: &governance,
            policy,
            publisher: feed.publisher(),
        };
        let oversight = Oversight::start(dependencies, closes)?;
        let events = SystemEvents { store: Arc::clone(&store), publisher: feed.publisher(), clock: clock.clone() };
        events.publish_from(EventSources { breakers, restarts: tree.restarts(), health: health.changes() });
        Ok(Self {
            started_at: clock.now(),
            live,
            clock,
            tree,
            store: StoreRef(store),
            audit,
            counted,
            keys,
            identity,
            governance,
            oversight,
            standing: standing.reader(),
            feed,
            sockets,
            device_directory: Arc::new(disaster.devices.directory().clone()),
            incidents: disaster.incidents,
            geofences: disaster.geofences,
            devices: disaster.devices,
            firmware: disaster.firmware,
            engines,
            agency,
            memory,
            images,
            medical,
            media,
            translators,
            limiter,
            ledger,
            model,
            embedder,
            embedded,
            bodies: BodyBudget::default(),
            parsing: Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from))),
            health,
            metrics,
            otel,
            certificate: OnceLock::new(),
            reloading: Mutex::new(()),
            first_key,
            first_password,
            draining: AtomicBool::new(false),
            local,
            sled,
            backing_up: Semaphore::new(1),
            backup_copies: Arc::new(Semaphore::new(COPIES)),
            arbiters: arbiters.into_iter().chain([apart, following]).collect(),
        })
    }

    /// Returns the present settings and what is built from them.
    pub fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live.borrow())
    }

    /// Returns whether the server is shutting down and accepts no new work.
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Begins the shutdown: readiness fails, and actors finish their present work. The grace period of tasks begins
    /// now, in parallel with the requests that are still served.
    pub fn drain(&self) {
        if self.draining.swap(true, Ordering::AcqRel) {
            return;
        }
        self.sockets.end();
        self.agency.tasks.begin_drain(self.live().config.server.shutdown_grace());
        self.tree.drain();
    }

    /// Stops the actors, then closes the store. Everything acknowledged is on disk afterwards.
    pub async fn stop(&self) {
        self.stop_within(self.live().config.server.shutdown_grace()).await;
    }

    /// Stops like [`App::stop`]. Running steps get `grace` at most, and no longer than the grace period that began with
    /// the drain.
    pub async fn stop_within(&self, grace: Duration) {
        self.drain();
        if let Err(error) = self.agency.tasks.drain(grace).await {
            tracing::warn!(%error, "tasks did not end in order: steps in flight count as lost by a crash");
        }
        match tokio::time::timeout(grace, self.memory.save()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "memory's index was not saved: the next start takes longer"),
            Err(_) => tracing::warn!("memory's index was not saved within the grace: the next start takes longer"),
        }
        if let Err(error) = self.ledger.flush().await {
            tracing::warn!(%error, "the ledger is not all in the store: its journal holds the rest");
        }
        if let Some(otel) = &self.otel {
            otel.stop().await;
        }
        if let Err(error) = self.oversight.deploys.stop().await {
            tracing::warn!(%error, "the stop was not recorded: the next start takes this one for killed");
        }
        self.tree.stop().await;
        let sled = Arc::clone(&self.sled);
        // An error here would be a panic inside `close`; the store is closed by its drop in any case.
        let _ = tokio::task::spawn_blocking(move || sled.close()).await;
        self.memory.end();
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
    }

    /// Makes the thread of the embedded model panic, for fault-injection tests.
    pub fn inject_model_panic(&self) {
        self.local.inject_panic();
    }
}

/// Opens the store.
///
/// # Errors
/// The store is locked, damaged or cannot be written.
pub fn open_store(config: &Config) -> Result<Arc<SledStore>, StartError> {
    let opened = SledStore::open(store_options(config)).map_err(|error| failed("the store")(&error))?;
    if let Some(what) = &opened.quarantined {
        tracing::error!(%what, "the store was corrupt and was set aside");
    }
    for migrated in &opened.migrated {
        tracing::info!(?migrated, "stored records were brought up to date");
    }
    Ok(opened.store)
}

/// Finds out which restrictions the kernel puts on the processes of engines, by starting one.
async fn examine_sandbox(config: &Config) -> Result<SandboxStatus, StartError> {
    let mode = config.engines.sandbox;
    let status = SandboxStatus::examine(&config.engines.worker(&config.workspace, &config.llm.cache), mode).await;
    match status.problem() {
        Some(problem) if mode == SandboxMode::Require => Err(StartError(format!(
            "{problem}, and engines.sandbox is \"require\": run on Linux 5.13 or later with landlock among the security \
             modules and seccomp permitted, or set engines.sandbox = \"prefer\""
        ))),
        Some(problem) => {
            tracing::warn!(%problem, "engines are not fully restricted");
            Ok(status)
        }
        None => Ok(status),
    }
}
