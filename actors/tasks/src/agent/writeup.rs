//! The last step of each task: its result, as generated sections or as prose of a model that was checked.

use std::sync::Arc;

use muster_providers::{Message, Role};
use serde_json::{Map, Value};

use super::agents::Agent;
use super::answer::collect_answer;
use super::executor::AgentOptions;
use super::failure::is_given_up;
use super::ground::{Facts, check};
use super::history::{HistoryStep, encode_result_step};
use super::material::Material;
use super::models::Models;
use super::prompt::{COMMON_RULES, ModelPrompt, cut, gateway_request, task};
use super::render;
use super::steer::SteeredParams;
use crate::task::{Level, StepError, StepOutput, StepRequest, StepSink, Usage};

/// Maximum number of drafts: prose that fails its check is written once more.
const DRAFTS: usize = 2;
/// Maximum number of reasons for a rejection that are reported to the model.
const MAX_REASONS: usize = 12;

/// Prose, or why there is none.
struct Written {
    text: Option<(String, String)>,
    warnings: Vec<String>,
    usage: Usage,
}

pub(super) async fn write(
    agent: &Agent,
    step: &StepRequest,
    past: &[HistoryStep<'_>],
    steered: &SteeredParams,
    models: Arc<dyn Models>,
    options: AgentOptions,
    sink: &StepSink,
) -> Result<StepOutput, StepError> {
    let mut material = Material::gather(agent, &step.view, past, steered);
    let sections = render::text(&material);
    let (text, written_by, usage) = match models.writer() {
        None => (sections, None, Usage::default()),
        Some(model) => {
            let written = prose(agent, step, &material, steered, &sections, (&*models, model), options, sink).await?;
            material.warnings.extend(written.warnings);
            match written.text {
                Some((text, model)) => (text, Some(model), written.usage),
                None => (render::text(&material), None, written.usage),
            }
        }
    };
    let result = render::result(&agent.id, material, text, written_by.as_deref());
    Ok(StepOutput { value: encode_result_step(&agent.id, step.view.instructions.len(), result), usage })
}

#[expect(clippy::too_many_arguments, reason = "each is an independent input of the text")]
async fn prose(
    agent: &Agent,
    step: &StepRequest,
    material: &Material<'_>,
    steered: &SteeredParams,
    sections: &str,
    (models, model): (&dyn Models, String),
    options: AgentOptions,
    sink: &StepSink,
) -> Result<Written, StepError> {
    let facts = Facts::of(agent, material, &steered.params, &step.view.task);
    let mut messages = opening(agent, step, material, &steered.params, sections, options);
    let mut usage = Usage::default();
    let mut reasons = Vec::new();
    for draft in 1..=DRAFTS {
        let prompt = ModelPrompt {
            model: model.clone(),
            messages: messages.clone(),
            tools: Vec::new(),
            max_tokens: options.answer_tokens,
            // The second draft is a different request.
            request_id: if draft == 1 { step.key.to_string() } else { format!("{}/{draft}", step.key) },
        };
        let answer = match collect_answer(models, gateway_request(&step.view, prompt), sink).await {
            Ok(answer) => answer,
            Err(failed) => return without_model(failed, usage, step.attempt),
        };
        add(&mut usage, answer.usage);
        reasons = check(&facts, &answer.text);
        if reasons.is_empty() {
            return Ok(Written { text: Some((answer.text, answer.model_id)), warnings: Vec::new(), usage });
        }
        sink.log(Level::Warn, &format!("draft {draft} is rejected: {}", reasons.join("; ")));
        // Clients have received it already.
        sink.delta("\n\n(refused: the outputs do not bear it out)\n\n");
        let listed: Vec<&str> = reasons.iter().map(String::as_str).take(MAX_REASONS).collect();
        messages.push(Message::text(Role::Assistant, answer.text));
        messages.push(Message::text(
            Role::User,
            format!("The outputs do not bear this out:\n- {}\nWrite it anew without that.", listed.join("\n- ")),
        ));
    }
    let first = reasons.first().map_or("", String::as_str);
    let warning = format!("the text of the model was refused and is replaced by the sections: {first}");
    Ok(Written { text: None, warnings: vec![warning], usage })
}

/// Handles an unavailable model: it is retried for a while, then the sections are used.
fn without_model(failed: StepError, mut usage: Usage, attempt: u32) -> Result<Written, StepError> {
    add(&mut usage, failed.usage);
    if !is_given_up(&failed, attempt) {
        return Err(StepError { usage, ..failed });
    }
    let warning = format!("no model wrote the result, which consists of the sections: {}", failed.detail);
    Ok(Written { text: None, warnings: vec![warning], usage })
}

fn add(usage: &mut Usage, more: Usage) {
    usage.prompt += more.prompt;
    usage.completion += more.completion;
    usage.cost_nanos += more.cost_nanos;
}

fn opening(
    agent: &Agent,
    step: &StepRequest,
    material: &Material<'_>,
    params: &Map<String, Value>,
    sections: &str,
    options: AgentOptions,
) -> Vec<Message> {
    let system = format!(
        "{}\n\nWrite the result of the task from the outputs below, in Markdown, briefly. {COMMON_RULES} In each paragraph name \
         the engine that its figures are from, as `{}`; give figures as they are, or rounded. Where the outputs do not \
         answer the task, say so.",
        agent.system_prompt,
        material.engines().first().map_or("q187 repo-tree", String::as_str),
    );
    let mut messages = vec![Message::text(Role::System, system), task(&step.view, &Value::Object(params.clone()))];
    for instruction in &step.view.instructions {
        let text = format!("The operator redirects you:\n{}", cut(&instruction.text, options.output_bytes));
        messages.push(Message::text(Role::User, text));
    }
    let mut left = options.prompt_bytes;
    let mut outputs = String::new();
    for used in &material.uses {
        let text = match used.engine_step.error {
            Some(error) => format!("error: {error}"),
            None => cut(&used.engine_step.output.to_string(), left.min(options.output_bytes)),
        };
        left = left.saturating_sub(text.len());
        outputs.push_str(&format!("{} as {}:\n{text}\n\n", used.engine_step.label(), used.name));
    }
    messages.push(Message::text(
        Role::User,
        format!("Outputs:\n\n{outputs}The same in sections:\n\n{}", cut(sections, options.output_bytes)),
    ));
    messages
}
