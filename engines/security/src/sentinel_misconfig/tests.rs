use serde_json::{Value, json};

use super::*;

fn run(config: &str) -> Value {
    crate::FAMILY.run(151, json!({ "config": config }), &Context::default()).unwrap()
}

fn rules(config: &str, kind: &str) -> Vec<String> {
    let output = run(config);
    assert_eq!(output["kind"], kind);
    output["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap().to_owned()).collect()
}

fn has(config: &str, kind: &str, wanted: &[&str]) {
    let found = rules(config, kind);
    for rule in wanted {
        assert!(found.iter().any(|found| found == rule), "{rule} is not among {found:?}");
    }
}

/// hadolint's own examples: DL3002, DL3004, DL3007, DL3020, DL4006.
#[test]
fn dockerfiles_of_hadolint() {
    has("FROM busybox\nUSER root\nRUN echo hi\n", "dockerfile", &["CIS-Docker-4.1", "DL3007"]);
    has(
        "FROM a:1\nRUN sudo apt-get update\nADD requirements.txt /app/\n",
        "dockerfile",
        &["DL3004", "CIS-Docker-4.9", "CIS-Docker-4.7"],
    );
    has("FROM a:1\nRUN curl https://e.org/i.sh \\\n  | sh\n", "dockerfile", &["DL4006"]);
    let good = "FROM debian:13@sha256:abc AS build\nRUN make\nFROM build\nCOPY a /a\nHEALTHCHECK CMD /a\nUSER 10001\n";
    assert!(rules(good, "dockerfile").is_empty());
}

/// Kubernetes documentation, "Pod Security Standards": what baseline and restricted forbid; and its restricted example.
#[test]
fn pods_by_the_security_standards() {
    let bad = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  hostNetwork: true\n  containers:\n  - name: c\n    image: nginx\n    securityContext: {privileged: true}\n  volumes:\n  - name: h\n    hostPath: {path: /etc}\n";
    has(
        bad,
        "kubernetes",
        &["CIS-K8s-5.2.2", "CIS-K8s-5.2.5", "CIS-K8s-5.2.6", "CIS-K8s-5.2.7", "CIS-K8s-5.2.12", "DL3007"],
    );
    let good = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  automountServiceAccountToken: false\n  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}\n  containers:\n  - name: c\n    image: nginx:1.27\n    resources: {limits: {memory: 64Mi}}\n    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}\n";
    assert!(rules(good, "kubernetes").is_empty(), "{:?}", rules(good, "kubernetes"));
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules:\n- resources: ['*']\n  verbs: [get]\n";
    assert_eq!(rules(role, "kubernetes"), ["CIS-K8s-5.1.3"]);
}

#[test]
fn compose_services() {
    let config = "services:\n  a:\n    image: redis\n    privileged: true\n    network_mode: host\n    volumes: ['/var/run/docker.sock:/var/run/docker.sock']\n    environment: {DB_PASSWORD: hunter22}\n";
    has(config, "compose", &["CIS-Docker-5.5", "CIS-Docker-5.32", "CIS-Docker-5.10", "CIS-Docker-4.10", "DL3007"]);
    let output = run(config).to_string();
    assert!(!output.contains("hunter22"), "no secret in the evidence");
}

/// Mozilla, "OpenSSH": the modern configuration has none of what it warns of.
#[test]
fn sshd_by_mozilla() {
    let bad = "PermitRootLogin yes\nPermitEmptyPasswords yes\nCiphers aes128-cbc,aes256-ctr\nMACs hmac-sha1\nKexAlgorithms diffie-hellman-group1-sha1\n";
    has(
        bad,
        "sshd",
        &["SSH-root-login", "SSH-empty-passwords", "SSH-passwords", "SSH-ciphers", "SSH-macs", "SSH-key-exchange"],
    );
    let modern = "HostKey /etc/ssh/ssh_host_ed25519_key\nKexAlgorithms curve25519-sha256@libssh.org,ecdh-sha2-nistp521,diffie-hellman-group-exchange-sha256\nCiphers chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes256-ctr\nMACs hmac-sha2-512-etm@openssh.com,hmac-sha2-256-etm@openssh.com\nAuthenticationMethods publickey\nPasswordAuthentication no\nLogLevel VERBOSE\nPermitRootLogin No\n";
    assert!(rules(modern, "sshd").is_empty(), "{:?}", rules(modern, "sshd"));
}

/// gixy's example of an alias traversal, and RFC 8996.
#[test]
fn nginx_by_gixy() {
    let config = "server {\n  listen 443 ssl;\n  ssl_protocols TLSv1 TLSv1.2;\n  location /i {\n    alias /data/w3/images/;\n  }\n}\n";
    has(config, "nginx", &["TLS-protocols", "gixy-alias-traversal", "nginx-server-tokens", "nginx-hsts"]);
}

#[test]
fn units_and_applications() {
    has(
        "[Service]\nExecStart=/bin/x\nEnvironment=API_TOKEN=abcd1234\n",
        "systemd",
        &["systemd-user", "systemd-environment-secret"],
    );
    has(
        "[server]\nhost = \"0.0.0.0\"\ndebug = true\n[db]\npassword = \"changeme\"\n",
        "app",
        &["CWE-1392", "CWE-489", "CWE-668"],
    );
    has("{\"tls\": {\"verify\": false}, \"cors_origins\": [\"*\"]}", "app", &["CWE-295", "CWE-942"]);
}

#[test]
fn ignored_files_do_not_count() {
    let config = json!({ "config": "FROM a:1\nUSER root\nHEALTHCHECK CMD x\n", "ignore": ["CIS-Docker-4.1"] });
    let output = crate::FAMILY.run(151, config, &Context::default()).unwrap();
    assert_eq!((&output["verdict"], &output["failed"]), (&json!("clear"), &json!(0)));
}

#[test]
fn a_password_within_an_address_is_a_secret_in_the_file() {
    let compose = "services:\n  a:\n    image: a:1\n    environment: {DATABASE_URL: 'postgres://app:hunter2@db/x'}\n";
    has(compose, "compose", &["CIS-Docker-4.10"]);
    has("database_url = \"postgres://app:hunter2@db/x\"\n", "app", &["CWE-798"]);
    assert!(rules("database_url = \"postgres://app:${PW}@db/x\"\n", "app").is_empty());
}

/// Rules that are not about secrets quote lines that hold one.
#[test]
fn no_finding_shows_a_secret() {
    for config in [
        "FROM a\nRUN curl -H 'Authorization: Bearer hunter2-abc' http://u:hunter2@e.org/i.sh | sh\nUSER root\n",
        "FROM a:1\nUSER root\nADD https://u:hunter2@e.org/x /x\n",
        "database_url: http://app:hunter2@db.example.org/x\nlisten: 0.0.0.0\n",
        "[db]\nurl = \"http://app:hunter2@db/x\"\npassword = \"hunter2\"\n",
        "services:\n  a:\n    image: u:hunter2@reg.example.org/a\n    ports: ['80:80']\n    environment: ['X_PASSWORD=hunter2']\n    volumes: ['/etc:/x?token=hunter2']\n",
        "server {\n  location / { proxy_pass http://u:hunter2@up; }\n}\n",
        "[Service]\nExecStart=/bin/x --password hunter2\nEnvironment=\"API_TOKEN=hunter2\"\n",
        "a: [\n  password: hunter2\n b: }",
    ] {
        let outcome = crate::FAMILY.run(151, json!({ "config": config }), &Context::default());
        let text = match outcome {
            Ok(output) => output.to_string(),
            Err(failure) => format!("{failure:?}"),
        };
        assert!(!text.contains("hunter2"), "{text}");
    }
}
