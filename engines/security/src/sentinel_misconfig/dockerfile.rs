//! Dockerfiles: CIS Docker Benchmark 1.6, section 4, and hadolint's rules.

use super::audit::{Audit, Violation, is_secret, names_secret, rule};
use super::lines::{at, logical};
use super::tree::unpinned_image;
use crate::verdict::Severity::{High, Low, Medium};

struct Instruction {
    line: usize,
    word: String,
    rest: String,
}

pub(super) fn check(config: &str, audit: &mut Audit) {
    let all: Vec<Instruction> = logical(config)
        .into_iter()
        .filter_map(|(line, text)| {
            let (word, rest) = text.split_once(char::is_whitespace)?;
            Some(Instruction { line, word: word.to_ascii_uppercase(), rest: rest.trim().to_owned() })
        })
        .collect();
    let of = |word: &'static str| all.iter().filter(move |instruction| instruction.word == word);
    let place = |instruction: &Instruction| -> Violation {
        (at(instruction.line), format!("{} {}", instruction.word, instruction.rest))
    };

    let user = of("USER").next_back();
    let root = user.is_none_or(|user| matches!(user.rest.split(':').next(), Some("root" | "0")));
    let end = user.map_or_else(|| ("end of file".to_owned(), "no USER".to_owned()), place);
    audit.enter(
        &rule("CIS-Docker-4.1", High, "the container runs as root (hadolint DL3002)", "USER 10001:10001"),
        root.then_some(end),
    );

    let stages: Vec<&str> = of("FROM")
        .filter_map(|from| from.rest.rsplit_once(" AS ").or_else(|| from.rest.rsplit_once(" as ")))
        .map(|(_, name)| name.trim())
        .collect();
    let image = |from: &&Instruction| {
        let image = from.rest.split_whitespace().find(|word| !word.starts_with("--")).unwrap_or_default();
        image != "scratch" && !stages.contains(&image) && unpinned_image(image)
    };
    audit.enter(
        &rule("DL3007", Medium, "the base image has no fixed version (DL3006, DL3007)", "FROM image:1.2.3@sha256:…"),
        of("FROM").filter(image).map(place),
    );

    let archive = |add: &&Instruction| {
        ![".tar", ".tgz", ".gz", ".xz", ".bz2", ".zip"].iter().any(|end| add.rest.contains(end))
            || add.rest.contains("://")
    };
    audit.enter(
        &rule(
            "CIS-Docker-4.9",
            Medium,
            "ADD fetches or unpacks unseen (hadolint DL3020)",
            "COPY, or RUN curl with a checksum",
        ),
        of("ADD").filter(archive).map(place),
    );

    let secret = |instruction: &&Instruction| {
        let pairs = instruction.rest.split_whitespace().filter_map(|pair| pair.split_once('='));
        let old = instruction.rest.split_once(' ').filter(|(name, _)| instruction.word == "ENV" && !name.contains('='));
        pairs.chain(old).any(|(name, value)| names_secret(name) && is_secret(value))
    };
    let hidden = |instruction: &Instruction| (at(instruction.line), format!("{} …", instruction.word));
    audit.enter(
        &rule("CIS-Docker-4.10", High, "a secret is stored in the image", "RUN --mount=type=secret,id=…"),
        all.iter().filter(|i| matches!(i.word.as_str(), "ENV" | "ARG")).filter(secret).map(hidden),
    );

    let piped = |run: &&Instruction| {
        (run.rest.contains("curl") || run.rest.contains("wget"))
            && ["| sh", "|sh", "| bash", "|bash"].iter().any(|pipe| run.rest.contains(pipe))
    };
    audit.enter(
        &rule("DL4006", High, "a script from the network runs unread", "fetch it, check its SHA-256, then run it"),
        of("RUN").filter(piped).map(place),
    );
    let word = |run: &&Instruction, wanted: &str| {
        run.rest.split(|c: char| c.is_whitespace() || ";&|".contains(c)).any(|word| word == wanted)
    };
    audit.enter(
        &rule("DL3004", Medium, "sudo in a build leads to root unseen", "USER root for that step, then back"),
        of("RUN").filter(|run| word(run, "sudo")).map(place),
    );
    let stale = |run: &&Instruction| run.rest.contains("apt-get update") && !run.rest.contains("install");
    audit.enter(
        &rule(
            "CIS-Docker-4.7",
            Low,
            "a cached `update` alone installs old packages",
            "RUN apt-get update && apt-get install …",
        ),
        of("RUN").filter(stale).map(place),
    );
    let open = |run: &&Instruction| {
        run.rest.contains("chmod") && ["777", "a+w", "o+w"].iter().any(|mode| run.rest.contains(mode))
    };
    audit.enter(
        &rule("CIS-Docker-4.8", Medium, "files that everybody may write", "chmod 0755, or narrower"),
        of("RUN").filter(open).map(place),
    );
    let ssh = |expose: &&Instruction| expose.rest.split_whitespace().any(|port| matches!(port, "22" | "22/tcp"));
    audit.enter(
        &rule("CIS-Docker-5.7", Medium, "sshd within a container", "docker exec"),
        of("EXPOSE").filter(ssh).map(place),
    );
    let healthy = of("HEALTHCHECK").next().is_some();
    audit.enter(
        &rule("CIS-Docker-4.6", Low, "the container has no health check", "HEALTHCHECK CMD …"),
        (!healthy).then(|| ("end of file".to_owned(), String::new())),
    );
}
