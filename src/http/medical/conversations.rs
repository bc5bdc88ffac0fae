//! Kept conversations: reading and deleting them.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_clinical::{ConversationView, KnownFacts, Notice, Reader, Receipt, Turn};
use muster_core::{Error, Kind};
use muster_identity::keys::Role;
use muster_medical::answer::INTENDED_USE;
use muster_request::Fields;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{CallErrors, Medical};
use crate::guard::{Guarded, MedicalConversations, caller_of};
use crate::schema::AnyObject;

/// Characters of a reason to read the conversation of another.
const REASON: std::ops::RangeInclusive<usize> = 10..=500;
const BREAK_GLASS: &str = "X-Break-Glass";
/// Characters of an identifier: `con_` and a ULID.
const IDENTIFIER: usize = 30;

/// The conversation that a message belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenConversation {
    New,
    Existing(String),
}

/// Reads `conversationId`.
pub fn conversation_id(fields: &mut Fields<'_>, name: &str) -> Option<GivenConversation> {
    let text = fields.string(name)?;
    if text == "new" {
        return Some(GivenConversation::New);
    }
    let fits = text.len() == IDENTIFIER
        && text.strip_prefix("con_").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    if !fits {
        fields.fail(name, "must be \"new\", or the identifier of a conversation, `con_` and 26 letters and digits");
    }
    fits.then_some(GivenConversation::Existing(text))
}

/// The error of a conversation where none is kept.
pub fn not_kept() -> HttpError {
    let message = "conversations are not kept here: leave it out, and send `extracted` of the last answer as `previous`; the \
                   operator can set medical.keep_hours";
    HttpError(Error::field(Kind::UnsupportedValue, &["body", "conversationId"], message, Value::Null))
}

/// A kept turn.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnBody {
    /// RFC 3339, UTC.
    at: String,
    request_id: String,
    message: String,
    response: String,
    /// Level of care; null where nothing was assessed.
    level: Option<String>,
    /// Hash of the data that the answer followed from.
    ruleset: String,
}

impl From<Turn> for TurnBody {
    fn from(turn: Turn) -> Self {
        let Turn { at, request_id, message, response, level, ruleset } = turn;
        Self { at: at.rfc3339(), request_id, message, response, level, ruleset }
    }
}

/// A kept conversation.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationBody {
    /// Always true.
    success: bool,
    id: String,
    /// Identifier of the key that it belongs to.
    owner: String,
    /// RFC 3339, UTC. It ends then unless it goes on.
    ends_at: String,
    /// Oldest first.
    turns: Vec<TurnBody>,
    /// Number of older turns that were dropped because the conversation became too long.
    dropped_turns: u32,
    /// What its messages said: present and denied concepts, and the lowest and highest value by field.
    #[schema(value_type = AnyObject)]
    extracted: Value,
    /// Whether this was read as an emergency access, of which the owner is told.
    break_glass: bool,
    intended_use: &'static str,
    /// RFC 3339, UTC.
    timestamp: String,
}

/// A conversation was deleted.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConversationDeleted {
    /// Always true.
    success: bool,
    /// RFC 3339, UTC.
    timestamp: String,
}

/// The kept conversation of an answer.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptIn {
    ends_at: String,
    turns: usize,
}

impl From<&Receipt> for KeptIn {
    fn from(receipt: &Receipt) -> Self {
        Self { ends_at: receipt.ends.rfc3339(), turns: receipt.turns }
    }
}

/// A notice in an answer.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoticeBody {
    conversation_id: String,
    at: String,
    by: String,
    reason: String,
}

impl From<Notice> for NoticeBody {
    fn from(Notice { conversation, at, by, reason }: Notice) -> Self {
        Self { conversation_id: conversation, at: at.rfc3339(), by, reason }
    }
}

/// Get a kept medical conversation
///
/// Returns a conversation of the calling key; one of another key is 404. A key with the role `security` reads it in an
/// emergency by the header `X-Break-Glass` with the reason, 10 to 500 characters without anything clinical: the reason is
/// written into the audit log and told to the owner. A conversation that was encrypted with another key of the operator is
/// 409 `conversation_unreadable`.
#[utoipa::path(get, path = "/api/medical/conversations/{id}", tag = "medical", operation_id = "get_medical_conversation",
    params(("id" = String, Path, description = "Identifier of the conversation, `con_…`"),
        ("X-Break-Glass" = Option<String>, Header, description = "Reason of an emergency access to another's conversation")),
    responses((status = 200, description = "The conversation", body = ConversationBody), CallErrors<Medical>,
        (status = 404, description = "There is none of this key", body = crate::error::ErrorA),
        (status = 409, description = "It cannot be decrypted", body = crate::error::ErrorA)))]
pub async fn get(
    _guard: Guarded<MedicalConversations>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let caller = caller_of(&http)?;
    let reason = break_glass(&http)?;
    if reason.is_some() && !caller.key.roles.contains(&Role::Security) {
        let message = "reading another's conversation needs a key with the role `security`";
        return Err(HttpError(Error::new(Kind::Forbidden, message).coded("permission_denied")));
    }
    let (conversations, key) = (&app.medical.conversations, caller.key.id.clone());
    let own = conversations.read(Reader::Owner(key.clone()), &id).await;
    let (view, broken) = match (own, reason) {
        (Err(error), Some(reason)) if error.kind == Kind::NotFound => {
            (conversations.read(Reader::BreakGlass { by: key, reason }, &id).await?, true)
        }
        (own, _) => (own?, false),
    };
    let ConversationView { id, owner, ends, known, turns, dropped } = view;
    Ok(HttpResponse::Ok().json(ConversationBody {
        success: true,
        id,
        owner,
        ends_at: ends.rfc3339(),
        turns: turns.into_iter().map(TurnBody::from).collect(),
        dropped_turns: dropped,
        extracted: extracted(&known),
        break_glass: broken,
        intended_use: INTENDED_USE,
        timestamp: app.clock.now().rfc3339(),
    }))
}

/// Delete a kept medical conversation
///
/// Deletes a conversation of the calling key, whether or not it can still be decrypted; one of another key is 404.
#[utoipa::path(delete, path = "/api/medical/conversations/{id}", tag = "medical",
    operation_id = "delete_medical_conversation",
    params(("id" = String, Path, description = "Identifier of the conversation, `con_…`")),
    responses((status = 200, description = "It was deleted", body = ConversationDeleted), CallErrors<Medical>,
        (status = 404, description = "There is none of this key", body = crate::error::ErrorA)))]
pub async fn delete(
    _guard: Guarded<MedicalConversations>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let key = caller_of(&http)?.key.id.clone();
    app.medical.conversations.delete(&key, &id).await?;
    Ok(HttpResponse::Ok().json(ConversationDeleted { success: true, timestamp: app.clock.now().rfc3339() }))
}

/// Reads the reason of an emergency access.
fn break_glass(http: &HttpRequest) -> Result<Option<String>, HttpError> {
    let Some(value) = http.headers().get(BREAK_GLASS) else { return Ok(None) };
    let text = std::str::from_utf8(value.as_bytes()).map(str::trim).unwrap_or_default();
    if REASON.contains(&text.chars().count()) && !text.chars().any(char::is_control) {
        return Ok(Some(text.to_owned()));
    }
    let message = "must be the reason in 10 to 500 characters, without anything clinical";
    Err(HttpError(Error::field(Kind::Invalid, &["header", BREAK_GLASS], message, Value::Null)))
}

/// What a conversation said.
fn extracted(known: &KnownFacts) -> Value {
    let present: Vec<Value> = known
        .present
        .iter()
        .map(
            |(concept, sudden)| {
                if *sudden { json!({ "concept": concept, "onset": "sudden" }) } else { json!({ "concept": concept }) }
            },
        )
        .collect();
    let absent: Vec<Value> = known.absent.iter().map(|concept| json!({ "concept": concept })).collect();
    let values: Map<String, Value> =
        known.values.iter().map(|(field, (low, high))| (field.clone(), json!([low, high]))).collect();
    json!({ "present": present, "absent": absent, "values": values })
}
