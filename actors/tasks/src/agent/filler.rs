//! The step in which a model looks for missing params in the instruction, where no model plans.

use std::sync::Arc;

use muster_providers::{Message, ResponseFormat, Role};
use serde_json::Value;

use super::agents::Agent;
use super::answer::collect_answer;
use super::failure::is_given_up;
use super::fill::by_model;
use super::history::{FilledStep, HistoryStep};
use super::models::Models;
use super::prompt::{ModelPrompt, cut, gateway_request};
use super::steer::{SteeredParams, shown};
use crate::task::{Level, StepError, StepOutput, StepRequest, StepSink, TaskView, Usage};

/// Maximum tokens of an answer.
const MAX_TOKENS: u32 = 512;
/// Length of a value in the log, in bytes.
const MAX_LOGGED: usize = 2_000;

/// Whether a model has yet to look for the params that are missing: once after each instruction.
pub(super) fn is_due(agent: &Agent, view: &TaskView, past: &[HistoryStep<'_>], steered: &SteeredParams) -> bool {
    let is_latest = |past: &HistoryStep<'_>| {
        matches!(past, HistoryStep::Filled(filled)
            if filled.agent == agent.id && filled.instructions >= view.instructions.len())
    };
    !by_model::scalars(&agent.parameters, &steered.missing).is_empty() && !past.iter().any(is_latest)
}

/// Asks the model, and returns what it found and the text bears out. Without an answer nothing is found: the task then waits
/// for the params.
pub(super) async fn fill(
    agent: &Agent,
    step: &StepRequest,
    steered: &SteeredParams,
    models: Arc<dyn Models>,
    sink: &StepSink,
) -> Result<StepOutput, StepError> {
    let view = &step.view;
    let (mut values, mut usage) = (Vec::new(), Usage::default());
    if let Some(model) = models.filler() {
        let wanted = by_model::scalars(&agent.parameters, &steered.missing);
        let text = text(view);
        let prompt = ModelPrompt {
            model,
            messages: vec![
                Message::text(Role::System, "You find values in texts. A value that the text does not give is null."),
                Message::text(Role::User, by_model::question(&wanted, &text)),
            ],
            tools: Vec::new(),
            max_tokens: MAX_TOKENS,
            request_id: step.key.to_string(),
        };
        let mut request = gateway_request(view, prompt);
        let chat = Arc::make_mut(&mut request.request);
        chat.format = ResponseFormat::answer(by_model::schema(&wanted));
        // The same instruction has the same params, as far as the model does so.
        chat.sampling.temperature = Some(0.0);
        match collect_answer(&*models, request, sink).await {
            Ok(answer) => {
                usage = answer.usage;
                let found = by_model::read(&agent.parameters, &wanted, &answer.text, &text);
                values = found.iter().map(|filled| shown(filled, &text)).collect();
                let said = cut(&Value::from(values.clone()).to_string(), MAX_LOGGED);
                sink.log(Level::Info, &format!("{} found {said}", answer.model_id));
            }
            Err(failed) if !is_given_up(&failed, step.attempt) => return Err(failed),
            Err(failed) => {
                usage = failed.usage;
                sink.log(Level::Warn, &format!("no model looked for the params: {}", failed.detail));
            }
        }
    }
    let row = FilledStep { agent: agent.id.clone(), instructions: view.instructions.len(), values };
    Ok(StepOutput { value: row.encoded(), usage })
}

/// The instruction, and those of redirects.
fn text(view: &TaskView) -> String {
    let texts = std::iter::once(view.task.as_str()).chain(view.instructions.iter().map(|it| it.text.as_str()));
    texts.collect::<Vec<_>>().join("\n\n")
}
