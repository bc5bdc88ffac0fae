//! Digests of everything that the answer of a request depends on.

use std::fmt::Write;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::messages::GatewayChatRequest;

/// SHA-256.
pub(crate) type Digest = [u8; 32];

/// Form in which the answer is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    Stream,
}

/// Members of a request that do not reach the model.
const ASIDE: [&str; 3] = ["stream", "stream_options", "metadata"];

/// Hashes what is formatted into it.
struct Hashed(Sha256);

impl Write for Hashed {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// Returns the digest of a request in a scope.
pub(crate) fn digest(scope: &str, request: &GatewayChatRequest, form: Form) -> Digest {
    let mut hashed = Hashed(Sha256::new());
    let rules = request.spend.as_ref().map(|spend| &spend.models);
    // Hashing cannot fail. The debug format quotes texts, so that no two lists are written alike.
    let _ = write!(hashed, "{scope:?} {form:?} {:?} {rules:?} ", request.models);
    let chat = &*request.request;
    let sent = chat.verbatim.as_ref().and_then(|sent| serde_json::from_slice::<Value>(sent).ok());
    let _ = match sent {
        // Members that the internal form does not have count too. The limits may be this server's own.
        Some(sent) => write_sorted(&sent, true, &mut hashed)
            .and_then(|()| write!(hashed, " {:?} {:?} {:?}", chat.max_tokens, chat.sampling, chat.defaults)),
        None => write!(hashed, "{chat:?}"),
    };
    hashed.0.finalize().into()
}

/// Writes JSON with sorted members, so that their order makes no difference. The depth of a request is bounded.
fn write_sorted(value: &Value, whole: bool, out: &mut Hashed) -> std::fmt::Result {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.retain(|(name, _)| !(whole && ASIDE.contains(&name.as_str())));
            members.sort_unstable_by_key(|(name, _)| *name);
            out.write_char('{')?;
            for (name, value) in members {
                write!(out, "{name:?}:")?;
                write_sorted(value, false, out)?;
                out.write_char(',')?;
            }
            out.write_char('}')
        }
        Value::Array(items) => {
            out.write_char('[')?;
            for item in items {
                write_sorted(item, false, out)?;
                out.write_char(',')?;
            }
            out.write_char(']')
        }
        plain => write!(out, "{plain}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use muster_providers::{ChatRequest, Message, ModelRules, Role, Sampling};

    use super::*;
    use crate::messages::Spend;

    fn request(sent: Option<&'static str>) -> GatewayChatRequest {
        let chat = ChatRequest {
            messages: vec![Message::text(Role::User, "hi")],
            sampling: Sampling { temperature: Some(0.0), ..Sampling::default() },
            verbatim: sent.map(|sent| Bytes::from_static(sent.as_bytes())),
            ..ChatRequest::default()
        };
        GatewayChatRequest {
            models: vec!["m".to_owned()],
            request: Arc::new(chat),
            request_id: "req_1".to_owned(),
            spend: Some(Spend::default()),
            ..GatewayChatRequest::default()
        }
    }

    #[test]
    fn the_order_of_members_and_what_does_not_reach_the_model_make_no_difference() {
        let one = request(Some(r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":false}"#));
        let other = request(Some(
            r#"{ "metadata": {"tags":["a"]}, "messages": [{"content":"hi","role":"user"}], "model": "m" }"#,
        ));
        assert_eq!(digest("key_1", &one, Form::Whole), digest("key_1", &other, Form::Whole));
    }

    #[test]
    fn everything_else_does() {
        let base = || request(Some(r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#));
        let mut digests = vec![
            digest("key_1", &base(), Form::Whole),
            digest("key_2", &base(), Form::Whole),
            digest("key_1", &base(), Form::Stream),
            digest(
                "key_1",
                &request(Some(r#"{"model":"m","messages":[{"role":"user","content":"ho"}]}"#)),
                Form::Whole,
            ),
            digest("key_1", &request(Some(r#"{"model":"m","messages":[],"seed":1}"#)), Form::Whole),
            digest("key_1", &request(None), Form::Whole),
        ];
        let other_model = GatewayChatRequest { models: vec!["n".to_owned()], ..base() };
        digests.push(digest("key_1", &other_model, Form::Whole));
        let rules = ModelRules::of([&["m".to_owned()][..]]);
        let bound = GatewayChatRequest { spend: Some(Spend { models: rules, ..Spend::default() }), ..base() };
        digests.push(digest("key_1", &bound, Form::Whole));
        let mut chat = ChatRequest::clone(&base().request);
        chat.max_tokens = Some(9);
        digests.push(digest("key_1", &GatewayChatRequest { request: Arc::new(chat.clone()), ..base() }, Form::Whole));
        chat.defaults.max_tokens = Some(9);
        digests.push(digest("key_1", &GatewayChatRequest { request: Arc::new(chat), ..base() }, Form::Whole));
        let count = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), count);
    }
}
