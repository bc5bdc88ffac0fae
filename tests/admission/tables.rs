//! Tables that clients fill by what they send: one fills its share, and no other's.

use futures::FutureExt;
use muster::ws::Command;
use muster::ws::protocol::{CommandRequest, FaultKind};
use muster_identity::By;
use serde_json::json;

use crate::support::KEY;
use crate::support::server::Muster;
use crate::support::socket::Socket;

fn command(by: &str, name: &str, idem: String) -> Command {
    let request = CommandRequest { name: name.to_owned(), target: None, args: None, idem: Some(idem) };
    Command { by: By::Device(by.into()), request }
}

#[tokio::test]
async fn commands_of_one_subject_leave_room_for_those_of_others() {
    let local = tokio::task::LocalSet::new();
    local.run_until(flood()).await;
}

async fn flood() {
    let muster = Muster::start("");
    let (commands, now) = (&muster.app.sockets.commands, muster.app.clock.now());
    // Unknown names: more than the table ever held.
    for n in 0..66_500 {
        let fault = commands.run(command("dev_unknown", "no.such", n.to_string()), now).now_or_never().unwrap();
        assert_eq!(fault.unwrap_err().kind, FaultKind::UnknownCommand);
    }
    // A known name, until the subject's share is full.
    let mut full = None;
    for n in 0..66_500 {
        if let Some(Err(fault)) = commands.run(command("dev_known", "device.ack", n.to_string()), now).now_or_never()
            && fault.kind == FaultKind::Unavailable
        {
            full = Some(n);
            break;
        }
    }
    assert_eq!(full, Some(4_096), "one subject's share");
    let other = commands.run(command("dev_other", "device.ack", "1".to_owned()), now).await;
    assert_eq!(other.unwrap_err().kind, FaultKind::BadRequest, "it was executed");

    // The same over a socket: an unknown name and a known one, each once.
    let mut socket =
        Socket::handshake(&muster, "/api/v1/realtime", &[("authorization", &format!("Bearer {KEY}"))]).await.unwrap();
    let unknown = socket.request(json!({ "command": { "name": "no.such", "idem": "a" } })).await;
    assert_eq!(unknown["error"]["reason"], "unknown_command", "{unknown}");
    let kill = json!({ "command": { "name": "agent.kill", "target": "task_none", "idem": "a" } });
    let killed = socket.request(kill).await;
    assert_eq!(killed["error"]["reason"], "not_found", "{killed}");
}
