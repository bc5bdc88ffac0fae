//! Dependencies between the crates of the workspace, as `cargo metadata` lists them.

use std::process::Command;

use serde::Deserialize;

/// The output of `cargo metadata --no-deps`: the packages of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: String,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// The name of the package, also where the dependency is renamed.
    pub(crate) name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

impl Workspace {
    /// Runs Cargo on this repository.
    pub(crate) fn load() -> Self {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The dependencies that one crate may have on others of the workspace.
struct Allowed {
    package: &'static str,
    normal: &'static [&'static str],
    /// Beyond the normal ones, in tests and benches only.
    dev: &'static [&'static str],
}

const fn allowed(package: &'static str, normal: &'static [&'static str]) -> Allowed {
    Allowed { package, normal, dev: &[] }
}

/// What every family of engines may use.
const FAMILY: &[&str] = &["muster-engine", "engines/kernel/*"];

/// Every crate of the workspace has a row. `crates/*` covers all libraries, `actors/*` all actor crates.
const ALLOWED: &[Allowed] = &[
    // The server.
    Allowed {
        package: "muster",
        normal: &["actors/*", "crates/*", "muster-engines", "muster-cli"],
        dev: &["muster-simulate"],
    },
    // The command line reads the store offline and creates keys and people with the types of their crates.
    allowed("muster-cli", &["muster-core", "muster-audit", "muster-identity", "muster-simulate", "crates/*"]),
    allowed("muster-simulate", &["crates/*"]),
    // Actors, one crate for each domain.
    allowed("muster-core", &["muster-store", "muster-tlog"]),
    allowed("muster-audit", &["muster-core", "crates/*"]),
    allowed("muster-identity", &["muster-core", "crates/*"]),
    allowed("muster-limits", &["muster-core", "muster-identity", "crates/*"]),
    allowed("muster-feed", &["muster-core", "muster-identity", "crates/*"]),
    allowed("muster-network", &["muster-core", "muster-identity", "muster-feed", "crates/*"]),
    allowed("muster-gateway", &["muster-core", "muster-limits", "crates/*"]),
    allowed(
        "muster-tasks",
        &[
            "muster-core",
            "muster-identity",
            "muster-feed",
            "muster-gateway",
            "muster-limits",
            "muster-engines",
            // Plan and fusion of the sentinels.
            "muster-engines-security",
            // Numbers, places and days in the text of a task.
            "muster-kernel-words",
            "crates/*",
        ],
    ),
    allowed("muster-memory", &["muster-core", "muster-identity", "crates/*"]),
    // The closes are tested on a real ledger.
    Allowed {
        package: "muster-governance",
        normal: &["muster-core", "muster-identity", "crates/*"],
        dev: &["muster-limits"],
    },
    allowed("muster-clinical", &["muster-core", "crates/*"]),
    // Threads of models, whose work the server gives; stored pictures.
    allowed("muster-imaging", &["muster-core", "crates/*"]),
    // Engines are functions of their input: a family knows the frame, kernels and what is listed here, never another family.
    allowed("muster-engines", &["muster-engine", "engines/*", "muster-media", "muster-names", "muster-medical"]),
    // Its own tests run with what it provides for tests.
    Allowed {
        package: "muster-engine",
        normal: &["muster-engine-derive", "muster-media", "muster-names"],
        dev: &["muster-engine"],
    },
    allowed("muster-engine-derive", &[]),
    allowed("muster-kernel-choice", &["muster-kernel-numeric"]),
    allowed("muster-kernel-earth", &["muster-kernel-numeric"]),
    allowed("muster-kernel-numeric", &[]),
    allowed("muster-kernel-schema", &[]),
    allowed("muster-kernel-places", &["muster-kernel-earth"]),
    allowed("muster-kernel-words", &["muster-kernel-earth"]),
    allowed("muster-engines-code", FAMILY),
    allowed("muster-engines-crypto", FAMILY),
    allowed("muster-engines-data", &["muster-engine", "engines/kernel/*", "muster-names"]),
    // Pictures are recognised, decoded and measured by media.
    allowed("muster-engines-docs", &["muster-engine", "engines/kernel/*", "muster-media"]),
    allowed("muster-engines-finance", FAMILY),
    allowed("muster-engines-geo", &["muster-engine", "engines/kernel/*", "muster-geo"]),
    allowed("muster-engines-hazard", FAMILY),
    // Translation and detection read the language tables of media.
    allowed("muster-engines-llm", &["muster-engine", "engines/kernel/*", "muster-media", "muster-retrieval"]),
    allowed("muster-engines-logistics", FAMILY),
    // Its scores are those of the medical crate.
    allowed("muster-engines-medical", &["muster-engine", "engines/kernel/*", "muster-medical"]),
    allowed("muster-engines-network", FAMILY),
    allowed("muster-engines-platform", FAMILY),
    allowed("muster-engines-security", FAMILY),
    allowed("muster-engines-stats", FAMILY),
    allowed("muster-engines-text", &["muster-engine", "engines/kernel/*", "muster-cap", "muster-media"]),
    // Libraries: they know nothing of the product, and of one another only what is listed here.
    allowed("muster-auth", &[]),
    allowed("muster-cap", &[]),
    allowed("muster-geo", &[]),
    allowed("muster-media", &[]),
    // Headers of pictures are read before they are assessed.
    // The header of a backup names the keys of the audit log and its checkpoint.
    allowed("muster-backup", &["muster-tlog"]),
    allowed("muster-medical", &["muster-media"]),
    // The neural translator serves the segments of media.
    allowed("muster-models", &["muster-media"]),
    allowed("muster-names", &[]),
    // Alone in knowing the language of veto rules; has facts of its own.
    allowed("muster-policy", &[]),
    // The embedded model is one of the providers.
    allowed("muster-providers", &["muster-models"]),
    allowed("muster-request", &["muster-names", "muster-request-derive"]),
    allowed("muster-request-derive", &[]),
    // The quality bench embeds its corpus.
    Allowed { package: "muster-retrieval", normal: &[], dev: &["muster-models"] },
    allowed("muster-sandbox", &[]),
    allowed("muster-seal", &[]),
    allowed("muster-store", &[]),
    allowed("muster-tlog", &[]),
];

/// External packages that some crates must not depend on, outside tests.
struct Banned {
    rule: &'static str,
    reason: &'static str,
    /// Folders of the workspace; one that begins with `!` is exempt.
    folders: &'static [&'static str],
    packages: &'static [&'static str],
}

const BANNED: &[Banned] = &[
    Banned {
        rule: "no-server-below-src",
        reason: "actors, engines and libraries serve any transport and any command line",
        folders: &["actors/", "engines", "crates/"],
        packages: &["actix-web", "actix-web-actors", "actix-http", "actix-server", "http", "clap"],
    },
    Banned {
        rule: "no-api-description-below-src",
        reason: "only the definitions of requests are described, and the server's own types",
        folders: &["actors/", "engines", "crates/", "!crates/request"],
        packages: &["utoipa"],
    },
    Banned {
        rule: "libraries-have-no-actors",
        reason: "a library is usable without an actor system",
        folders: &["crates/"],
        packages: &["actix", "actix-rt"],
    },
    Banned {
        rule: "pure-libraries",
        reason: "these are functions of bytes, shapes and times: no runtime, no network",
        folders: &["crates/auth", "crates/backup", "crates/cap", "crates/geo", "crates/retrieval", "crates/tlog"],
        packages: &["tokio", "reqwest"],
    },
    Banned {
        rule: "pure-engines",
        reason: "engines are functions: no actor, no network",
        folders: &["engines"],
        packages: &["actix", "actix-rt", "tokio", "reqwest", "hyper"],
    },
    Banned {
        rule: "only-the-store-uses-sled",
        reason: "the storage engine behind the port can be exchanged",
        folders: &["", "!crates/store"],
        packages: &["sled"],
    },
    Banned {
        rule: "no-lock-crates-in-actors",
        reason: "an actor owns its state; other actors send messages",
        folders: &["actors/"],
        packages: &["parking_lot", "dashmap"],
    },
];

/// Every dependency that the tables above do not allow, one message for each.
pub(crate) fn violations(workspace: &Workspace) -> Vec<String> {
    let members: Vec<&str> = workspace.packages.iter().map(|package| package.name.as_str()).collect();
    let folder_of = |name: &str| workspace.packages.iter().find(|package| package.name == name).map(Package::folder);
    let mut found = Vec::new();
    for package in &workspace.packages {
        let Some(row) = ALLOWED.iter().find(|row| row.package == package.name) else {
            found.push(format!("{}: no row in the table of allowed dependencies", package.name));
            continue;
        };
        for dependency in &package.dependencies {
            let (name, dev) = (dependency.name.as_str(), dependency.kind.as_deref() == Some("dev"));
            if members.contains(&name) {
                let matches = |allowed: &&str| match allowed.strip_suffix('*') {
                    Some(folder) => folder_of(name).is_some_and(|found| found.starts_with(folder)),
                    None => *allowed == name,
                };
                let permitted = row.normal.iter().any(matches) || (dev && row.dev.contains(&name));
                if !permitted {
                    found.push(format!("{} must not depend on {name}", package.name));
                }
            } else if !dev {
                let bans =
                    BANNED.iter().filter(|ban| ban.applies_to(&package.folder()) && ban.packages.contains(&name));
                found.extend(
                    bans.map(|ban| format!("{} must not depend on {name}: {}: {}", package.name, ban.rule, ban.reason)),
                );
            }
        }
    }
    found
}

impl Package {
    /// The folder of the crate inside the repository: `actors/core`; empty for the root package.
    fn folder(&self) -> String {
        let folder = self.manifest_path.strip_suffix("Cargo.toml").unwrap_or(&self.manifest_path);
        let inside = folder.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(folder);
        inside.trim_matches('/').to_owned()
    }
}

impl Banned {
    fn applies_to(&self, folder: &str) -> bool {
        let exempt = self.folders.iter().filter_map(|entry| entry.strip_prefix('!'));
        let included = self.folders.iter().filter(|entry| !entry.starts_with('!'));
        included.into_iter().any(|entry| folder.starts_with(entry)) && !exempt.into_iter().any(|entry| folder == entry)
    }
}

#[test]
fn the_workspace_has_only_allowed_dependencies() {
    let workspace = Workspace::load();
    let found = violations(&workspace);
    assert!(found.is_empty(), "{}", found.join("\n"));
    for row in ALLOWED {
        let exists = workspace.packages.iter().any(|package| package.name == row.package);
        assert!(exists, "{} is in the table and not in the workspace", row.package);
    }
}

/// One package with one dependency, beside the crates that it may name.
fn sample(package: &str, dependency: &str, kind: Option<&str>) -> Workspace {
    let folders = [
        ("muster", ""),
        ("muster-core", "actors/core/"),
        ("muster-feed", "actors/feed/"),
        ("muster-limits", "actors/limits/"),
        ("muster-tasks", "actors/tasks/"),
        ("muster-engines", "engines/"),
        ("muster-auth", "crates/auth/"),
        ("muster-models", "crates/models/"),
        ("muster-request", "crates/request/"),
        ("muster-retrieval", "crates/retrieval/"),
        ("muster-store", "crates/store/"),
        ("muster-new", "crates/new/"),
        ("muster-engine", "engines/frame/"),
        ("muster-engines-geo", "engines/geo/"),
        ("muster-engines-hazard", "engines/hazard/"),
        ("muster-geo", "crates/geo/"),
        ("muster-kernel-numeric", "engines/kernel/numeric/"),
    ];
    let used = |name: &str| name == package || name == dependency;
    let packages = folders.iter().filter(|(name, _)| used(name)).map(|(name, folder)| Package {
        name: (*name).to_owned(),
        manifest_path: format!("{}/{folder}Cargo.toml", env!("CARGO_MANIFEST_DIR")),
        dependencies: (*name == package)
            .then(|| Dependency { name: dependency.to_owned(), kind: kind.map(str::to_owned) })
            .into_iter()
            .collect(),
    });
    Workspace { packages: packages.collect() }
}

#[test]
fn a_forbidden_dependency_is_reported() {
    for (package, dependency, kind) in [
        ("muster-core", "muster-feed", None),
        ("muster-core", "muster-auth", None),
        ("muster-feed", "muster-limits", None),
        ("muster-limits", "muster-tasks", None),
        ("muster-limits", "muster-tasks", Some("dev")),
        ("muster-tasks", "muster", None),
        ("muster-engines", "muster-core", None),
        ("muster-engines", "muster-store", None),
        ("muster-auth", "muster-store", None),
        ("muster-models", "muster-core", None),
        ("muster-retrieval", "muster-models", None),
        ("muster-new", "serde", None),
        ("muster-limits", "actix-web", None),
        ("muster-store", "clap", None),
        ("muster-engines", "utoipa", None),
        ("muster-limits", "utoipa", None),
        ("muster-store", "utoipa", None),
        ("muster-request", "actix-web", None),
        ("muster-request", "muster-core", None),
        ("muster-store", "actix", None),
        ("muster-auth", "tokio", None),
        ("muster-retrieval", "tokio", None),
        ("muster-engines", "reqwest", None),
        ("muster-engines", "tokio", None),
        ("muster-core", "sled", None),
        ("muster", "sled", None),
        ("muster", "sled", Some("build")),
        ("muster-core", "dashmap", None),
        ("muster-engines-geo", "muster-engines-hazard", None),
        ("muster-engines-hazard", "muster-geo", None),
        ("muster-engines-geo", "muster-engines", None),
        ("muster-engine", "muster-engines-geo", None),
        ("muster-kernel-numeric", "muster-engine", None),
        ("muster-engines-geo", "tokio", None),
    ] {
        let found = violations(&sample(package, dependency, kind));
        assert_eq!(found.len(), 1, "{package} depends on {dependency} ({kind:?}): {found:?}");
    }
}

#[test]
fn an_allowed_dependency_is_not_reported() {
    for (package, dependency, kind) in [
        ("muster", "muster-feed", None),
        ("muster", "muster-models", None),
        ("muster", "actix-web", None),
        ("muster-core", "muster-store", None),
        ("muster-feed", "muster-core", Some("dev")),
        ("muster-feed", "muster-auth", None),
        ("muster-tasks", "muster-engines", None),
        ("muster-retrieval", "muster-models", Some("dev")),
        ("muster-retrieval", "tokio", Some("dev")),
        ("muster-models", "tokio", None),
        ("muster-request", "utoipa", None),
        ("muster-limits", "actix-web", Some("dev")),
        ("muster-store", "sled", None),
        ("muster-core", "dashmap", Some("dev")),
        ("muster-engines", "muster-engines-geo", None),
        ("muster-engines-geo", "muster-geo", None),
        ("muster-engines-hazard", "muster-kernel-numeric", None),
    ] {
        let found = violations(&sample(package, dependency, kind));
        assert!(found.is_empty(), "{package} depends on {dependency} ({kind:?}): {found:?}");
    }
}
