//! Kubernetes objects: the Pod Security Standards and the CIS Kubernetes Benchmark 1.9, section 5.

use serde_json::Value;

use super::audit::{Audit, Rule, Violation, is_secret, names_secret, rule};
use super::tree::{is_true, text, texts, unpinned_image};
use crate::verdict::Severity::{Critical, High, Low, Medium};

pub(super) fn check(object: &Value, audit: &mut Audit) {
    let kind = text(object.get("kind"));
    let name = format!("{kind}/{}", object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("?"));
    match kind {
        "ClusterRole" | "Role" => roles(object, &name, audit),
        "ClusterRoleBinding" | "RoleBinding" => {
            let admin = object.pointer("/roleRef/name").and_then(Value::as_str) == Some("cluster-admin");
            audit.enter(
                &rule(
                    "CIS-K8s-5.1.1",
                    High,
                    "cluster-admin is granted",
                    "bind a role with only the required permissions",
                ),
                admin.then(|| (name.clone(), String::new())),
            );
        }
        _ => {
            let places = ["/spec/template/spec", "/spec/jobTemplate/spec/template/spec"];
            let pod = places
                .iter()
                .find_map(|path| object.pointer(path))
                .or_else(|| object.get("spec").filter(|_| kind == "Pod"));
            if let Some(pod) = pod {
                self::pod(pod, &name, audit);
                containers(pod, &name, audit);
            }
        }
    }
}

fn roles(object: &Value, name: &str, audit: &mut Audit) {
    let rules = object.get("rules").and_then(Value::as_array);
    let wild =
        |rule: &&Value| ["resources", "verbs"].iter().any(|key| texts(rule.get(*key)).iter().any(|item| item == "*"));
    let found = rules.into_iter().flatten().filter(wild).map(|_| (name.to_owned(), "*".to_owned()));
    audit.enter(
        &rule("CIS-K8s-5.1.3", High, "a role with wildcards", "name resources and verbs"),
        found.collect::<Vec<_>>(),
    );
}

fn pod(pod: &Value, name: &str, audit: &mut Audit) {
    for (id, key) in [("CIS-K8s-5.2.3", "hostPID"), ("CIS-K8s-5.2.4", "hostIPC"), ("CIS-K8s-5.2.5", "hostNetwork")] {
        let shared = is_true(pod.get(key)).then(|| (name.to_owned(), format!("{key}: true")));
        audit.enter(&rule(id, High, "a namespace of the host is shared (PSS baseline)", "remove the line"), shared);
    }
    let volumes = pod.get("volumes").and_then(Value::as_array);
    let host = volumes.into_iter().flatten().filter_map(|volume| volume.pointer("/hostPath/path")?.as_str());
    let host = host.map(|path| (name.to_owned(), format!("hostPath: {path}")));
    audit.enter(
        &rule("CIS-K8s-5.2.12", High, "a folder of the host is mounted (PSS baseline)", "a persistent volume claim"),
        host.collect::<Vec<_>>(),
    );
    let token = pod.get("automountServiceAccountToken") != Some(&Value::Bool(false));
    audit.enter(
        &rule("CIS-K8s-5.1.6", Low, "the service account's token is mounted", "automountServiceAccountToken: false"),
        token.then(|| (name.to_owned(), String::new())),
    );
}

fn containers(pod: &Value, name: &str, audit: &mut Audit) {
    let lists = ["containers", "initContainers", "ephemeralContainers"];
    let all: Vec<(String, &Value)> = lists
        .iter()
        .flat_map(|list| pod.get(*list).and_then(Value::as_array).into_iter().flatten())
        .map(|container| (format!("{name}/{}", text(container.get("name"))), container))
        .collect();
    let mut each = |rule: &Rule, broken: &dyn Fn(&Value) -> Option<String>| {
        let places = all.iter().filter_map(|(place, container)| Some((place.clone(), broken(container)?)));
        audit.enter(rule, places.collect::<Vec<Violation>>());
    };
    let shared = pod.get("securityContext");
    let context = |container: &Value, key: &str| container.pointer(&format!("/securityContext/{key}")).cloned();
    let either =
        |container: &Value, key: &str| context(container, key).or_else(|| shared.and_then(|s| s.get(key)).cloned());

    each(
        &rule(
            "CIS-K8s-5.2.2",
            Critical,
            "the container is privileged (PSS baseline)",
            "securityContext.privileged: false",
        ),
        &|c| is_true(context(c, "privileged").as_ref()).then(|| "privileged: true".to_owned()),
    );
    each(
        &rule(
            "CIS-K8s-5.2.6",
            Medium,
            "a process may gain privileges (PSS restricted)",
            "allowPrivilegeEscalation: false",
        ),
        &|c| (context(c, "allowPrivilegeEscalation") != Some(Value::Bool(false))).then(String::new),
    );
    each(
        &rule("CIS-K8s-5.2.7", Medium, "the container may run as root (PSS restricted)", "runAsNonRoot: true"),
        &|c| {
            let zero = either(c, "runAsUser").and_then(|user| user.as_u64()) == Some(0);
            (zero || !is_true(either(c, "runAsNonRoot").as_ref())).then(String::new)
        },
    );
    each(
        &rule("CIS-K8s-5.2.9", Medium, "capabilities are added (PSS baseline)", "capabilities: {drop: [ALL]}"),
        &|c| texts(c.pointer("/securityContext/capabilities/add")).into_iter().find(|cap| cap != "NET_BIND_SERVICE"),
    );
    each(
        &rule(
            "CIS-K8s-5.7.2",
            Low,
            "no filter of system calls (PSS restricted)",
            "seccompProfile: {type: RuntimeDefault}",
        ),
        &|c| either(c, "seccompProfile").is_none().then(String::new),
    );
    each(
        &rule("PSS-read-only-root", Low, "the container may write its own programs", "readOnlyRootFilesystem: true"),
        &|c| (!is_true(context(c, "readOnlyRootFilesystem").as_ref())).then(String::new),
    );
    each(
        &rule(
            "CIS-K8s-5.4.1",
            Medium,
            "a secret stands in the environment",
            "a mounted Secret, or valueFrom.secretKeyRef",
        ),
        &|c| {
            let env = c.get("env").and_then(Value::as_array);
            let secret = |entry: &&Value| names_secret(text(entry.get("name"))) && is_secret(text(entry.get("value")));
            env.into_iter().flatten().find(secret).map(|entry| format!("{}=…", text(entry.get("name"))))
        },
    );
    each(&rule("DL3007", Medium, "the image has no fixed version", "image: name:1.2.3@sha256:…"), &|c| {
        Some(text(c.get("image"))).filter(|image| !image.is_empty() && unpinned_image(image)).map(str::to_owned)
    });
    each(&rule("K8s-limits", Low, "no bound of memory", "resources: {limits: {memory: 512Mi}}"), &|c| {
        c.pointer("/resources/limits/memory").is_none().then(String::new)
    });
}
