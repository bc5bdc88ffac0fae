//! The rules of the house, as a table. A new one needs a row here and a sample that breaks it in `samples.rs`.

/// A rule, and why it stands.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) why: &'static str,
    pub(crate) looks: Looks,
}

/// Where a rule looks, and for what. Files are globs (a leading `!` leaves out), targets are path patterns.
#[derive(Debug)]
pub(crate) enum Looks {
    /// Product code in these files, and direct dependencies of these packages, must not name these paths.
    Arrow { from: &'static [&'static str], to: &'static [&'static str] },
    /// As `Arrow`, for files that are pure state machines: `state.rs`, and those whose header has the word `Pure`.
    Pure { to: &'static [&'static str] },
    /// The children of a module must not name one another; what is shared stands in the parent itself, or is named here.
    Siblings { folder: &'static str, module: &'static [&'static str], shared: &'static [&'static str] },
    /// No feature of the actors names the `state` module of another.
    ForeignState,
    /// No string literal in these files is a path that ends so.
    FilePath { from: &'static [&'static str], ends: &'static str },
    /// No Rust file, test or not, has this keyword.
    Keyword(&'static str),
    /// Nothing in a test calls this.
    CallInTest(&'static [&'static str]),
    /// Lines at most before the tests of these files.
    Length { of: &'static [&'static str], lines: usize },
    /// Every package takes the lints of the workspace.
    WorkspaceLints,
}

const EDGE: &[&str] = &["src/http/**", "src/http.rs", "src/ws/**", "src/ws.rs"];

pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "no-server-below-the-edge",
        why: "what the actors and the crates below them do is served over any wire, from any command line",
        looks: Looks::Arrow {
            from: &["{actors,engines,models,store,providers,auth,cap,geo}/**"],
            to: &["actix_web", "actix_web_actors", "actix_http", "actix_server", "http", "utoipa", "clap"],
        },
    },
    Rule {
        name: "state-is-pure",
        why: "a state machine is tested by traces: events and the time come as arguments",
        looks: Looks::Pure {
            to: &[
                "actix",
                "actix_rt",
                "actix_web",
                "tokio",
                "tokio_util",
                "muster_core::Clock",
                "muster_core::clock::Clock",
                "*::Instant::now",
                "*::SystemTime::now",
                "*::OffsetDateTime::now_utc",
                "*::OffsetDateTime::now_local",
            ],
        },
    },
    Rule {
        name: "routes-do-not-know-each-other",
        why: "a route is read, changed and removed alone",
        looks: Looks::Siblings { folder: "src/http/", module: &["muster", "http"], shared: &[] },
    },
    Rule {
        name: "sockets-do-not-know-routes",
        why: "one folder changes where the socket library goes",
        looks: Looks::Arrow { from: &["src/ws/**", "src/ws.rs"], to: &["muster::http"] },
    },
    Rule {
        name: "the-edge-speaks-to-actors",
        why: "models answer through the provider actors, which bound, count and break",
        looks: Looks::Arrow { from: EDGE, to: &["muster_models"] },
    },
    Rule {
        name: "handlers-do-not-store",
        why: "an actor owns the order of its writes",
        looks: Looks::Arrow { from: EDGE, to: &["muster_store", "sled"] },
    },
    Rule {
        name: "only-the-store-knows-sled",
        why: "the engine behind the port can be exchanged",
        looks: Looks::Arrow { from: &["**", "!store/**"], to: &["sled"] },
    },
    Rule {
        name: "below-the-task",
        why: "tasks use providers, memory, limits and keys; those serve many others",
        looks: Looks::Arrow {
            from: &[
                "actors/src/provider/**",
                "actors/src/memory/**",
                "actors/src/limits/**",
                "actors/src/keys/**",
                "actors/src/{provider,memory,limits,keys}.rs",
            ],
            to: &["muster_tasks::task"],
        },
    },
    Rule {
        name: "environment-is-read-in-config",
        why: "every setting is in config.toml, has one name, and is checked once; the rest gets typed options",
        looks: Looks::Arrow {
            from: &[
                "**",
                "!src/config/**",
                "!src/config.rs",
                "!src/cli/**",
                "!src/cli.rs",
                "!src/main.rs",
                "!**/build.rs",
                "!**/src/bin/**",
            ],
            to: &["std::env"],
        },
    },
    Rule {
        name: "settings-are-read-in-config",
        why: "one place knows where settings stand",
        looks: Looks::FilePath {
            from: &["**", "!src/config/**", "!src/config.rs", "!src/cli/**", "!src/cli.rs", "!src/main.rs"],
            ends: "config.toml",
        },
    },
    Rule {
        name: "feed-knows-no-feature",
        why: "features publish into the feed, so a new one changes nothing there",
        looks: Looks::Arrow {
            from: &["actors/src/feed/**", "actors/src/feed.rs"],
            to: &[
                "muster_actors::{session,task,agent,provider,memory,limits,keys,governance,audit,device,incident,alert,firmware,geofence,ledger,health}",
            ],
        },
    },
    Rule {
        name: "no-lock-over-domain-state",
        why: "an actor's state is its own: others ask. Only supervision, the clock, and steps while they run share memory",
        looks: Looks::Arrow {
            from: &["actors/**", "!actors/src/supervise/**", "!actors/src/clock.rs", "!actors/src/task/{slot,tray}.rs"],
            to: &["*::Mutex", "*::RwLock", "parking_lot", "dashmap"],
        },
    },
    Rule { name: "no-foreign-state", why: "an actor knows another by its messages", looks: Looks::ForeignState },
    Rule {
        name: "actors-stand-below-the-server",
        why: "actors run in any process",
        looks: Looks::Arrow { from: &["actors/**"], to: &["muster"] },
    },
    Rule {
        name: "engines-stand-alone",
        why: "engines are functions",
        looks: Looks::Arrow {
            from: &["engines/**"],
            to: &["muster", "muster_actors", "muster_store", "muster_providers", "actix", "actix_rt", "reqwest"],
        },
    },
    Rule {
        name: "store-stands-alone",
        why: "the store knows bytes, and nobody",
        looks: Looks::Arrow {
            from: &["store/**"],
            to: &[
                "muster",
                "muster_actors",
                "muster_models",
                "muster_providers",
                "muster_engines",
                "actix",
                "actix_rt",
            ],
        },
    },
    Rule {
        name: "models-stand-alone",
        why: "inference knows nobody",
        looks: Looks::Arrow {
            from: &["models/**"],
            to: &["muster", "muster_actors", "muster_store", "muster_providers", "muster_engines", "actix", "actix_rt"],
        },
    },
    Rule {
        name: "auth-stands-alone",
        why: "tokens, proofs and hashes are functions of bytes and a time: who may do what is decided above them",
        looks: Looks::Arrow {
            from: &["auth/**"],
            to: &[
                "{muster,muster_actors,muster_store,muster_models,muster_providers,muster_engines,muster_cap,muster_geo}",
                "{actix,actix_rt,actix_web,tokio,reqwest}",
            ],
        },
    },
    Rule {
        name: "cap-stands-alone",
        why: "a document is read, checked and written by anybody, without a server",
        looks: Looks::Arrow {
            from: &["cap/**"],
            to: &[
                "{muster,muster_actors,muster_store,muster_models,muster_providers,muster_engines,muster_auth,muster_geo}",
                "{actix,actix_rt,actix_web,tokio,reqwest}",
            ],
        },
    },
    Rule {
        name: "geo-stands-alone",
        why: "geometry knows no device and no incident",
        looks: Looks::Arrow {
            from: &["geo/**"],
            to: &[
                "{muster,muster_actors,muster_store,muster_models,muster_providers,muster_engines,muster_auth,muster_cap}",
                "{actix,actix_rt,actix_web,tokio,reqwest}",
            ],
        },
    },
    Rule {
        name: "retrieval-stands-alone",
        why: "ranking is a function of entries, a query and a time: who owns them, where they are kept and what makes vectors is decided above it",
        looks: Looks::Arrow {
            from: &["retrieval/src/**"],
            to: &[
                "{muster,muster_actors,muster_store,muster_models,muster_providers,muster_engines,muster_auth,muster_cap,muster_geo}",
                "{actix,actix_rt,actix_web,tokio,reqwest}",
            ],
        },
    },
    Rule {
        name: "providers-stand-below-the-actors",
        why: "an adapter translates; the chain and the breakers stand above",
        looks: Looks::Arrow {
            from: &["providers/**"],
            to: &["muster", "muster_actors", "muster_store", "muster_engines", "actix", "actix_rt"],
        },
    },
    Rule { name: "no-unsafe", why: "memory safety is the compiler's word, not ours", looks: Looks::Keyword("unsafe") },
    Rule {
        name: "workspace-lints",
        why: "a crate without them is a crate that nobody checks",
        looks: Looks::WorkspaceLints,
    },
    Rule { name: "short-files", why: "a file is about one thing", looks: Looks::Length { of: &["**"], lines: 500 } },
    Rule {
        name: "short-main",
        why: "main parses, builds, runs: what it would decide belongs elsewhere, where it can be tested",
        looks: Looks::Length { of: &["src/main.rs"], lines: 60 },
    },
    Rule {
        name: "no-sleep-in-tests",
        why: "a test waits for the event: a sleep is too short on a busy machine, and too long on all others",
        looks: Looks::CallInTest(&["sleep", "sleep_until"]),
    },
];
