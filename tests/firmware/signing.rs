//! `muster firmware keygen` and `sign`: what they write is what the server verifies.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use super::*;

fn run(folder: &Path, args: &[&str]) -> Output {
    program(folder).arg("firmware").args(args).output().unwrap()
}

fn printed(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn failed(output: &Output) -> String {
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(1), true), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

const FIELDS: [&str; 10] =
    ["--name", "siren", "--version", "2.0.0", "--sequence", "2", "--vendor", "acme", "--hw-class", "siren-2"];

#[tokio::test]
async fn a_manifest_that_the_command_line_signs_is_verified_by_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let public = printed(&run(at, &["keygen", "--key", "release.jwk", "--name", "release 2026"]));
    let key = at.join("release.jwk");
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(failed(&run(at, &["keygen", "--key", "release.jwk"])).contains("exists"), "a key is never replaced");
    assert!(public["public_key"]["d"].is_null(), "the private half is in the file only: {public}");

    let content = content();
    std::fs::write(at.join("siren.img"), &content).unwrap();
    let sign = [&["sign", "siren.img", "--key", "release.jwk"][..], &FIELDS].concat();
    let expires = [&sign[..], &["--expires", "2099-01-01T00:00:00Z", "--hw-revision", "b"]].concat();
    let signed = printed(&run(at, &expires));

    let muster = Muster::start(NO_APPROVAL);
    let admin = muster.admin().await;
    let trusted = admin.post("/api/v1/firmware/keys", &public).await;
    assert_eq!((trusted.status, &trusted.json()["data"]["kid"]), (201, &signed["kid"]), "{}", trusted.text);
    let made = admin.post(ARTIFACTS, &signed["artifact"]).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    assert_eq!(put(&admin, &id, None, content).await.status, 200);
    let body = json!({ "manifest_jws": signed["manifest_jws"] });
    let verified = admin.post(&format!("{ARTIFACTS}/{id}/verify"), &body).await;
    assert_eq!(verified.json()["data"]["state"], "ready", "{}", verified.text);
    assert_eq!(verified.json()["data"]["hw_revisions"], json!(["b"]));

    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(failed(&run(at, &sign)).contains("chmod 600"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let bad: Vec<&str> = sign.iter().map(|arg| if *arg == "2.0.0" { "two" } else { *arg }).collect();
    assert!(failed(&run(at, &bad)).contains("semantic version"));
    assert!(
        failed(&run(at, &[&["sign", "none.img", "--key", "release.jwk"][..], &FIELDS].concat())).contains("none.img")
    );
}
