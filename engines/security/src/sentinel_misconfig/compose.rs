//! Compose files: CIS Docker Benchmark 1.6, section 5.

use serde_json::{Map, Value};

use super::audit::{Audit, Rule, Violation, holds_password, is_secret, names_secret, rule};
use super::tree::{is_true, text, texts, unpinned_image};
use crate::verdict::Severity::{Critical, High, Low, Medium};

type Service<'a> = (&'a String, &'a Map<String, Value>);

pub(super) fn check(config: &Value, audit: &mut Audit) {
    let services = config.get("services").and_then(Value::as_object);
    let services: Vec<Service<'_>> =
        services.into_iter().flatten().filter_map(|(name, s)| Some((name, s.as_object()?))).collect();
    let mut each = |rule: &Rule, broken: &dyn Fn(&Map<String, Value>) -> Option<String>| {
        let places = services.iter().filter_map(|(name, service)| Some((format!("services.{name}"), broken(service)?)));
        audit.enter(rule, places.collect::<Vec<Violation>>());
    };
    let whole = |text: &str| Some(text.to_owned());

    each(
        &rule(
            "CIS-Docker-5.5",
            Critical,
            "the container is privileged: it owns the host",
            "remove privileged; add single capabilities",
        ),
        &|s| is_true(s.get("privileged")).then(|| "privileged: true".to_owned()),
    );
    each(
        &rule(
            "CIS-Docker-5.32",
            Critical,
            "who reaches the Docker socket is root on the host",
            "remove the mount of docker.sock",
        ),
        &|s| mounts(s).into_iter().find(|mount| mount.contains("docker.sock")),
    );
    each(
        &rule("CIS-Docker-5.6", High, "a system folder of the host is mounted", "mount only what the service needs"),
        &|s| {
            let system = ["/", "/boot", "/dev", "/etc", "/lib", "/proc", "/sys", "/usr", "/root"];
            mounts(s).into_iter().find(|mount| {
                system.contains(&mount.split(':').next().unwrap_or_default().trim_end_matches('/'))
                    || mount.starts_with("/:")
            })
        },
    );
    each(
        &rule(
            "CIS-Docker-5.4",
            High,
            "capabilities that lead to root",
            "cap_drop: [ALL], then the single ones that are needed",
        ),
        &|s| {
            let strong = ["ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "DAC_READ_SEARCH", "NET_ADMIN"];
            texts(s.get("cap_add"))
                .into_iter()
                .find(|cap| strong.contains(&cap.trim_start_matches("CAP_").to_ascii_uppercase().as_str()))
        },
    );
    for (id, key, what) in [
        ("CIS-Docker-5.10", "network_mode", "the host's network is shared"),
        ("CIS-Docker-5.16", "pid", "the host's processes are shared"),
        ("CIS-Docker-5.17", "ipc", "the host's shared memory is shared"),
        ("CIS-Docker-5.31", "userns_mode", "the host's users are shared"),
    ] {
        each(&rule(id, High, what, "remove the line"), &|s| {
            (text(s.get(key)) == "host").then(|| format!("{key}: host"))
        });
    }
    each(
        &rule(
            "CIS-Docker-5.22",
            High,
            "the filter of system calls or AppArmor is off",
            "remove the `unconfined` option",
        ),
        &|s| texts(s.get("security_opt")).into_iter().find(|option| option.contains("unconfined")),
    );
    each(
        &rule(
            "CIS-Docker-4.10",
            High,
            "a secret stands in the file",
            "secrets: with a file, and …_FILE in the environment",
        ),
        &|s| {
            environment(s)
                .into_iter()
                .find(|(name, value)| (names_secret(name) && is_secret(value)) || holds_password(value))
                .map(|(name, _)| format!("{name}=…"))
        },
    );
    each(&rule("DL3007", Medium, "the image has no fixed version", "image: name:1.2.3@sha256:…"), &|s| {
        Some(text(s.get("image"))).filter(|image| !image.is_empty() && unpinned_image(image)).and_then(whole)
    });
    each(&rule("CIS-Docker-4.1", Medium, "the container runs as root", "user: \"10001:10001\""), &|s| {
        let user = s.get("user").map(|user| user.as_str().map_or_else(|| user.to_string(), str::to_owned))?;
        matches!(user.split(':').next(), Some("root" | "0")).then_some(user)
    });
    each(&rule("CIS-Docker-5.14", Low, "a port is open on every address of the host", "127.0.0.1:8080:8080"), &|s| {
        texts(s.get("ports")).into_iter().find(|port| port.matches(':').count() == 1 || port.starts_with("0.0.0.0:"))
    });
    each(
        &rule("CIS-Docker-5.26", Low, "a process may gain privileges", "security_opt: [\"no-new-privileges:true\"]"),
        &|s| {
            (!texts(s.get("security_opt")).iter().any(|option| option.contains("no-new-privileges"))).then(String::new)
        },
    );
    each(&rule("CIS-Docker-5.13", Low, "the container may write its own programs", "read_only: true"), &|s| {
        (!is_true(s.get("read_only"))).then(String::new)
    });
    each(&rule("CIS-Docker-5.11", Low, "no bound of memory", "mem_limit: 512m"), &|s| {
        let deployed = s.get("deploy").and_then(|deploy| deploy.pointer("/resources/limits/memory"));
        (s.get("mem_limit").is_none() && deployed.is_none()).then(String::new)
    });
}

fn mounts(service: &Map<String, Value>) -> Vec<String> {
    let volumes = service.get("volumes").and_then(Value::as_array);
    let mount = |volume: &Value| match volume {
        Value::String(text) => Some(text.clone()),
        Value::Object(object) => Some(format!("{}:{}", text(object.get("source")), text(object.get("target")))),
        _ => None,
    };
    volumes.into_iter().flatten().filter_map(mount).collect()
}

fn environment(service: &Map<String, Value>) -> Vec<(String, String)> {
    let display = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match service.get("environment") {
        Some(Value::Object(object)) => object.iter().map(|(name, value)| (name.clone(), display(value))).collect(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.as_str()?.split_once('='))
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .collect(),
        _ => Vec::new(),
    }
}
