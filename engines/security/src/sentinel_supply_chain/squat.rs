//! Detects names that imitate others (Vu et al., "Typosquatting and Combosquatting Attacks on the Python Ecosystem",
//! 2020; Taylor et al., "Defending Against Package Typosquatting", 2020).

use super::Ecosystem;

/// Popular packages, which are common targets.
fn popular(ecosystem: Ecosystem) -> &'static [&'static str] {
    match ecosystem {
        Ecosystem::Cargo => &[
            "actix-web",
            "anyhow",
            "axum",
            "base64",
            "bitflags",
            "bytes",
            "chrono",
            "clap",
            "crossbeam",
            "diesel",
            "futures",
            "hyper",
            "itertools",
            "lazy_static",
            "libc",
            "log",
            "once_cell",
            "openssl",
            "parking_lot",
            "proc-macro2",
            "rand",
            "rayon",
            "regex",
            "reqwest",
            "rustls",
            "serde",
            "serde_json",
            "serde_derive",
            "syn",
            "thiserror",
            "tokio",
            "toml",
            "tonic",
            "tower",
            "tracing",
            "url",
            "uuid",
            "wasm-bindgen",
        ],
        Ecosystem::Npm => &[
            "angular",
            "async",
            "axios",
            "babel-core",
            "body-parser",
            "chalk",
            "commander",
            "cross-env",
            "debug",
            "dotenv",
            "electron",
            "eslint",
            "express",
            "jquery",
            "jsonwebtoken",
            "lodash",
            "moment",
            "mongoose",
            "next",
            "node-fetch",
            "prettier",
            "react",
            "react-dom",
            "request",
            "rxjs",
            "socket.io",
            "typescript",
            "underscore",
            "uuid",
            "vite",
            "vue",
            "webpack",
            "winston",
            "yargs",
            "zod",
            "event-stream",
            "ua-parser-js",
        ],
        Ecosystem::PyPI => &[
            "aiohttp",
            "beautifulsoup4",
            "boto3",
            "certifi",
            "click",
            "colorama",
            "cryptography",
            "django",
            "fastapi",
            "flask",
            "jinja2",
            "matplotlib",
            "numpy",
            "openai",
            "pandas",
            "paramiko",
            "pillow",
            "pip",
            "pydantic",
            "pytest",
            "python-dateutil",
            "pytorch",
            "pyyaml",
            "requests",
            "scikit-learn",
            "scipy",
            "selenium",
            "setuptools",
            "six",
            "sqlalchemy",
            "tensorflow",
            "tqdm",
            "urllib3",
            "virtualenv",
            "wheel",
        ],
        Ecosystem::Go => &[
            "github.com/gin-gonic/gin",
            "github.com/gorilla/mux",
            "github.com/spf13/cobra",
            "github.com/stretchr/testify",
            "github.com/sirupsen/logrus",
            "google.golang.org/grpc",
            "github.com/boltdb/bolt",
            "github.com/pkg/errors",
        ],
        Ecosystem::Maven => &[
            "org.apache.logging.log4j:log4j-core",
            "com.google.guava:guava",
            "org.springframework:spring-core",
            "com.fasterxml.jackson.core:jackson-databind",
            "junit:junit",
            "org.apache.commons:commons-lang3",
        ],
        Ecosystem::Debian => &[],
    }
}

/// Packages of their own that are one letter from a popular one. They were found in lockfiles of well-kept projects.
fn established(ecosystem: Ecosystem) -> &'static [&'static str] {
    match ecosystem {
        Ecosystem::Cargo => &["libm", "ulid"],
        Ecosystem::Npm => &["preact", "nuxt"],
        Ecosystem::PyPI => &["boto"],
        Ecosystem::Go | Ecosystem::Maven | Ecosystem::Debian => &[],
    }
}

/// Whether names of this ecosystem are known.
pub(super) fn has_names(ecosystem: Ecosystem) -> bool {
    !popular(ecosystem).is_empty()
}

/// Returns how the name resembles which known one; `None` if it is a known name itself or resembles none.
pub(super) fn find(name: &str, ecosystem: Ecosystem, protected: &[String]) -> Option<(&'static str, String)> {
    let lower = name.to_lowercase();
    let known = || popular(ecosystem).iter().copied().chain(protected.iter().map(String::as_str));
    // PyPI ignores separators, so such a name is the known one itself.
    let same = |other: &str| other == lower || (ecosystem == Ecosystem::PyPI && bare(other) == bare(&lower));
    if known().any(same) || established(ecosystem).contains(&lower.as_str()) || lower.chars().count() > 200 {
        return None;
    }
    known().find_map(|other| likeness(&lower, &other.to_lowercase()).map(|how| (how, other.to_owned())))
}

fn likeness(name: &str, other: &str) -> Option<&'static str> {
    let length = other.chars().count();
    if length < 4 {
        return None;
    }
    if bare(name) == bare(other) {
        return Some("with other separators");
    }
    if look(name) == look(other) {
        return Some("in characters that look alike");
    }
    let most = if length >= 10 { 2 } else { 1 };
    if name.chars().count().abs_diff(length) <= most && strsim::damerau_levenshtein(name, other) <= most {
        return Some("with a typing error");
    }
    let parts = |text: &str| {
        let mut parts: Vec<String> = text.split(['-', '_', '.']).map(str::to_owned).collect();
        parts.sort();
        parts
    };
    (other.contains(['-', '_', '.']) && parts(name) == parts(other)).then_some("with its words in another order")
}

fn bare(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | '.')).collect()
}

/// Visual form: letters that look alike are mapped to one.
fn look(name: &str) -> String {
    let plain = any_ascii::any_ascii(name).to_lowercase();
    plain.replace("rn", "m").replace("vv", "w").replace(['1', 'i', '|'], "l").replace('0', "o").replace('5', "s")
}
