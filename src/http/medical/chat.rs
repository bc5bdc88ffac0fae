//! Medical consultation.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_clinical::{KnownFacts, NewTurn};
use muster_medical::answer::chat::{Consultation, Paragraph, Part, consultation, joined};
use muster_medical::answer::{Cites, Extracted, common};
use muster_medical::assess::{Assessment, FIELDS, measure_of};
use muster_medical::gate::{Check, FactSheet};
use muster_medical::input::Input;
use muster_medical::languages;
use muster_medical::triage::Level;
use muster_providers::Usage;
use serde::Serialize;

use super::answering::{Answer, Answering};
use super::body::{ConsultationRequest, Lenient};
use super::conversations::{GivenConversation, KeptIn, NoticeBody, not_kept};
use super::described::ConsultationAnswer;
use super::streamed;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{BodyErrors, Medical};
use crate::guard::{MedicalChat, Sent, caller_of};
use crate::medical::ProviderCalls;
use crate::sse::EventBody;

/// Who phrased an answer.
#[derive(Debug, Clone, Serialize)]
pub struct Phrasing {
    by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    /// Checks that a model's text failed.
    rejected: Vec<&'static str>,
}

/// Tokens of language models: none are used for rules.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Tokens {
    prompt: u32,
    completion: u32,
    total: u32,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        Self { prompt: usage.prompt_tokens, completion: usage.completion_tokens, total: usage.total() }
    }
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Consulted {
    #[serde(flatten)]
    pub consultation: Consultation,
    model: String,
    tokens: Tokens,
    phrasing: Phrasing,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_original: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<KeptIn>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notices: Vec<NoticeBody>,
}

/// Medical consultation
///
/// Returns what the rules recognise in a message, the level of care that follows, what may fit with its sources, and up to
/// three questions whose answers would change this most. The call to action is always first. With `stream: true` the response
/// is a stream of server-sent events: `triage`, `delta`, then `done` with the whole answer, or `error`.
#[utoipa::path(post, path = "/api/medical/chat", tag = "medical", operation_id = "medical_chat",
    request_body = ConsultationRequest,
    responses((status = 200, description = "The answer", content(
        (ConsultationAnswer = "application/json"), (EventBody = "text/event-stream"))), BodyErrors<Medical>))]
pub async fn chat(
    request: Sent<MedicalChat, Lenient<ConsultationRequest>>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let answering = Answering::begin(&app, &http)?;
    let owner = caller_of(&http)?.key.id.clone();
    let Lenient { mut body, ignored } = request.body;
    let (streamed, conversation) = (body.stream, body.conversation.take());
    if conversation.is_some() && !app.medical.conversations.kept() {
        return Err(not_kept());
    }
    let calls = ProviderCalls::of(&app, &http)?;
    let mut input = Input::from(body);
    if let Some(GivenConversation::Existing(id)) = &conversation {
        join(&mut input, app.medical.conversations.open(&owner, id).await?.known);
    }
    let draft = Draft::of(&answering, input, ignored)?;
    let keeping = conversation.map(|conversation| Keeping {
        owner: owner.clone(),
        conversation: match conversation {
            GivenConversation::New => None,
            GivenConversation::Existing(id) => Some(id),
        },
        request_id: answering.request_id().to_owned(),
        known: draft.known.clone(),
    });
    let mut draft = draft;
    // A notice that cannot be read now waits for the next answer.
    let notices = app.medical.conversations.take_notices(&owner).await.unwrap_or_default();
    draft.answer.own.notices = notices.into_iter().map(NoticeBody::from).collect();
    let calls = calls.filter(|_| draft.may_be_phrased());
    if streamed {
        answering.finish();
        return Ok(streamed::response(app.clone(), draft, calls, keeping));
    }
    let answer = finished(&app, draft, calls.as_ref(), keeping).await?;
    answering.finish();
    Ok(HttpResponse::Ok().json(answer))
}

/// Phrases and keeps an answer.
///
/// # Errors
/// It cannot be kept.
pub async fn finished(
    app: &App,
    mut draft: Draft,
    calls: Option<&ProviderCalls>,
    keeping: Option<Keeping>,
) -> Result<Answer<Consulted>, HttpError> {
    if let Some(calls) = calls {
        draft.phrase(calls).await;
    }
    if let Some(keeping) = keeping {
        keeping.keep(app, &mut draft).await?;
    }
    Ok(draft.answer)
}

/// An answer of the rules, and what a model would need to phrase it.
#[derive(Debug)]
pub struct Draft {
    pub answer: Answer<Consulted>,
    facts: FactSheet,
    /// The paragraphs in English, if another language is asked.
    english: Option<Vec<Paragraph>>,
    base: &'static muster_medical::base::Base,
    message: String,
    known: KnownFacts,
    ruleset: String,
}

impl Draft {
    fn of(answering: &Answering<'_>, input: Input, ignored: Vec<String>) -> Result<Self, HttpError> {
        let base = answering.base;
        let assessment = answering.assess(&input)?;
        let mut cites = Cites::new(base);
        let common = common(base, &input, &assessment, &answering.setting, &mut cites);
        let number = &answering.setting.emergency_number;
        let consultation_of =
            |input: &Input, cites: &mut Cites<'_>| consultation(base, input, &assessment, number, cites);
        let consulted = consultation_of(&input, &mut cites);
        let english = (input.language != "en").then(|| {
            let input = Input { language: "en".to_owned(), ..input.clone() };
            consultation_of(&input, &mut cites).paragraphs
        });
        let citations = cites.finish();
        let facts = FactSheet::of(base, &input, &assessment, &consulted, &common.triage, &citations);
        let known = known(base, &assessment);
        let own = Consulted {
            consultation: consulted,
            model: "clinical-rules".to_owned(),
            tokens: Tokens::default(),
            phrasing: Phrasing { by: "rules", provider: None, rejected: Vec::new() },
            response_original: None,
            conversation_id: None,
            conversation: None,
            notices: Vec::new(),
        };
        let ignored = answering.ignored(ignored);
        let answer = Answer { head: answering.head(), common, own, citations, ignored };
        let message = input.texts.into_iter().next().unwrap_or_default();
        let ruleset = answering.setting.ruleset.clone();
        Ok(Self { answer, facts, english, base, message, known, ruleset })
    }

    /// Whether a model may be asked: never from `emergency` up, nor where nothing was assessed.
    fn may_be_phrased(&self) -> bool {
        self.facts.may_be_phrased()
    }

    /// Lets a model write the explanation, or translate the body.
    async fn phrase(&mut self, calls: &ProviderCalls) {
        match self.english.take() {
            None => self.explain(calls).await,
            Some(english) => self.translate(calls, &english).await,
        }
    }

    async fn explain(&mut self, calls: &ProviderCalls) {
        let explained = calls.explain(self.base, &self.facts, &self.message).await;
        let own = &mut self.answer.own;
        own.tokens = Tokens::from(explained.usage);
        own.phrasing.rejected = explained.rejected.iter().copied().map(Check::name).collect();
        let Some(text) = explained.text else { return };
        own.phrasing.by = "model";
        own.phrasing.provider = explained.provider;
        own.model = explained.model.unwrap_or_default();
        own.consultation.paragraphs = with_explanation(&own.consultation.paragraphs, text);
        own.consultation.response = joined(&own.consultation.paragraphs);
    }

    async fn translate(&mut self, calls: &ProviderCalls, english: &[Paragraph]) {
        let requested = self.answer.common.language.requested.clone();
        let name =
            languages::LANGUAGES.iter().find(|(code, _)| *code == requested).map_or("English", |(_, name)| *name);
        let body: Vec<&str> = english.iter().filter(|p| !p.part.is_fixed()).map(|p| p.text.as_str()).collect();
        if body.is_empty() {
            return;
        }
        let translated = calls.translate(name, &body).await;
        let own = &mut self.answer.own;
        own.tokens = Tokens::from(translated.usage);
        own.phrasing.rejected = translated.rejected.iter().copied().map(Check::name).collect();
        let Some(texts) = translated.paragraphs else { return };
        own.phrasing.provider = translated.provider;
        own.model = translated.model.unwrap_or_default();
        own.response_original = Some(joined(english));
        own.consultation.paragraphs = with_translation(&own.consultation.paragraphs, texts);
        if let Some(spoken) = self.base.phrases.of(&requested) {
            let note = Paragraph { part: Part::Limits, text: spoken.translated_by_machine().to_owned() };
            own.consultation.paragraphs.push(note);
        }
        own.consultation.response = joined(&own.consultation.paragraphs);
        let language = &mut self.answer.common.language;
        language.translation = "machine";
        language.answered = requested;
    }
}

/// Puts an explanation in place of those of the rules, behind the fixed lines that come before them.
fn with_explanation(paragraphs: &[Paragraph], text: String) -> Vec<Paragraph> {
    let mut text = Some(text);
    let mut out = Vec::new();
    for paragraph in paragraphs {
        if !paragraph.part.explains() {
            out.push(paragraph.clone());
        } else if let Some(text) = text.take() {
            out.push(Paragraph { part: paragraph.part, text });
        }
    }
    out
}

/// Puts translated paragraphs in place of those that are not fixed. There are as many: both are made from one assessment.
fn with_translation(paragraphs: &[Paragraph], texts: Vec<String>) -> Vec<Paragraph> {
    let mut texts = texts.into_iter();
    let replace = |paragraph: &Paragraph| match paragraph.part.is_fixed() {
        true => paragraph.clone(),
        false => Paragraph { part: paragraph.part, text: texts.next().unwrap_or_default() },
    };
    paragraphs.iter().map(replace).collect()
}

/// Joins what a conversation said before.
fn join(input: &mut Input, known: KnownFacts) {
    let before = muster_medical::input::Previous::from(known);
    input.previous.present.extend(before.present);
    input.previous.absent.extend(before.absent);
    input.previous.values.extend(before.values);
}

/// What the conversation says by now, measured values included.
fn known(base: &muster_medical::base::Base, assessment: &Assessment) -> KnownFacts {
    let extracted = Extracted::of(base, assessment);
    let range = |field: &&&str| {
        let measure = measure_of(field)?;
        let values = &assessment.facts.values;
        Some(((**field).to_owned(), (values.low(measure)?, values.high(measure)?)))
    };
    KnownFacts {
        present: extracted.present.into_iter().map(|found| (found.concept, found.onset == Some("sudden"))).collect(),
        absent: extracted.absent.into_iter().map(|found| found.concept).collect(),
        values: FIELDS.iter().filter_map(|field| range(&field)).collect(),
    }
}

/// The conversation that an answer is to be kept in.
#[derive(Debug)]
pub struct Keeping {
    owner: String,
    conversation: Option<String>,
    request_id: String,
    known: KnownFacts,
}

impl Keeping {
    async fn keep(self, app: &App, draft: &mut Draft) -> Result<(), HttpError> {
        let Self { owner, conversation, request_id, known } = self;
        let own = &mut draft.answer.own;
        let receipt = app
            .medical
            .conversations
            .keep(NewTurn {
                owner,
                conversation,
                request_id,
                message: draft.message.clone(),
                response: own.consultation.response.clone(),
                level: draft.answer.common.triage.level.map(Level::id).map(str::to_owned),
                ruleset: draft.ruleset.clone(),
                known,
            })
            .await?;
        own.conversation = Some(KeptIn::from(&receipt));
        own.conversation_id = Some(receipt.id);
        Ok(())
    }
}
