//! The conversation with a model that plans, rebuilt from the finished steps.

use muster_providers::{Content, Message, Role, ToolCall};
use serde_json::Value;

use super::calls::{Verdict, verdict};
use crate::agent::agents::Agent;
use crate::agent::executor::AgentOptions;
use crate::agent::history::{EngineStep, HistoryStep, ModelStep};
use crate::agent::prompt::{COMMON_RULES, cut, task};
use crate::agent::steer::SteeredParams;
use crate::task::TaskView;

/// Maximum number of bytes of an instruction that a model sees.
const MAX_INSTRUCTION: usize = 16 * 1024;

pub(super) fn build(
    agent: &Agent,
    view: &TaskView,
    past: &[HistoryStep<'_>],
    steered: &SteeredParams,
    options: AgentOptions,
    steps_left: usize,
) -> Vec<Message> {
    let mut conversation = Conversation {
        agent,
        view,
        messages: vec![
            Message::text(Role::System, system(agent, steps_left)),
            task(view, &Value::Object(steered.params.clone())),
        ],
        round: None,
        included: 0,
        texts: outputs(past, options),
    };
    for (at, past) in past.iter().enumerate() {
        match past {
            HistoryStep::Model(model_step) if model_step.agent == agent.id => {
                conversation.close();
                conversation.instructions(at);
                conversation.round =
                    Some(Round { model_step: model_step.clone(), answers: vec![None; model_step.calls.len()] });
            }
            HistoryStep::Engine(engine_step) if engine_step.agent == agent.id => conversation.answer(at, engine_step),
            HistoryStep::Engine(engine_step) => conversation.inherit(at, engine_step),
            HistoryStep::Model(_) | HistoryStep::Filled(_) | HistoryStep::Result(_) => {}
        }
    }
    conversation.close();
    conversation.instructions(usize::MAX);
    conversation.messages
}

fn system(agent: &Agent, steps_left: usize) -> String {
    let plan: Vec<&str> = agent.plan.iter().map(|step| step.engine.id).collect();
    format!(
        "{}\n\nYou are {}: {} Work on the task with your tools; they are engines that compute. They are often called in \
         this order: {}. {COMMON_RULES} You have {steps_left} steps left, a call of a tool being one. Once you have what the \
         task needs, call `finish`.",
        agent.system_prompt,
        agent.name,
        agent.summary,
        plan.join(", "),
    )
}

struct Conversation<'a> {
    agent: &'a Agent,
    view: &'a TaskView,
    messages: Vec<Message>,
    /// The model's last answer, until all its calls are answered.
    round: Option<Round>,
    /// Number of instructions included so far.
    included: usize,
    /// The text for each finished step's output, by its index.
    texts: Vec<Option<String>>,
}

struct Round {
    model_step: ModelStep,
    answers: Vec<Option<String>>,
}

impl Conversation<'_> {
    fn text(&mut self, at: usize) -> String {
        self.texts.get_mut(at).and_then(Option::take).unwrap_or_default()
    }

    fn answer(&mut self, at: usize, engine_step: &EngineStep<'_>) {
        let text = self.text(at);
        let round = self
            .round
            .as_mut()
            .filter(|round| engine_step.call.is_some_and(|call| call.step == round.model_step.index));
        let slot = round.and_then(|round| round.answers.get_mut(engine_step.call?.call));
        match slot {
            Some(slot) => *slot = Some(text),
            None => self.note(engine_step, &text),
        }
    }

    fn inherit(&mut self, at: usize, engine_step: &EngineStep<'_>) {
        self.close();
        let text = self.text(at);
        self.note(engine_step, &text);
    }

    fn note(&mut self, engine_step: &EngineStep<'_>, text: &str) {
        let note = format!(
            "Finished before by {}: {} ({}) gave\n{text}",
            engine_step.agent,
            engine_step.name,
            engine_step.label()
        );
        self.messages.push(Message::text(Role::User, note));
    }

    /// Adds the model's answer followed by the results of its calls: providers accept them only together.
    fn close(&mut self) {
        let Some(Round { model_step, answers }) = self.round.take() else { return };
        if model_step.text.is_empty() && model_step.calls.is_empty() {
            return;
        }
        let mut turn = Message::text(Role::Assistant, model_step.text);
        turn.tool_calls.clone_from(&model_step.calls);
        self.messages.push(turn);
        for (call, answer) in model_step.calls.iter().zip(answers) {
            let text = answer.unwrap_or_else(|| self.unanswered(call));
            self.messages.push(Message {
                content: Content::Text(text),
                tool_call_id: Some(call.id.clone()),
                ..Message::text(Role::Tool, "")
            });
        }
    }

    fn unanswered(&self, call: &ToolCall) -> String {
        match verdict(self.agent, call) {
            Verdict::Refused(why) => format!("error: {why}"),
            Verdict::Finish => "finished".to_owned(),
            Verdict::Runs(..) => "not called: an operator redirected the task first".to_owned(),
        }
    }

    /// Adds the instructions applied when this many steps were finished.
    fn instructions(&mut self, finished: usize) {
        while let Some(instruction) = self.view.instructions.get(self.included) {
            let joined = instruction.joined_after.and_then(|after| usize::try_from(after).ok());
            if joined.unwrap_or(self.view.done.len()) > finished {
                return;
            }
            let text = format!("The operator redirects you:\n{}", cut(&instruction.text, MAX_INSTRUCTION));
            self.messages.push(Message::text(Role::User, text));
            self.included += 1;
        }
    }
}

/// Returns the text of each output, each within its limit, the newest first within the total limit.
fn outputs(past: &[HistoryStep<'_>], options: AgentOptions) -> Vec<Option<String>> {
    let mut left = options.prompt_bytes;
    let mut texts: Vec<Option<String>> = past
        .iter()
        .rev()
        .map(|past| {
            let HistoryStep::Engine(engine_step) = past else { return None };
            let whole = match engine_step.error {
                Some(error) => format!("error: {error}"),
                None => engine_step.output.to_string(),
            };
            let text = cut(&whole, left.min(options.output_bytes));
            left = left.saturating_sub(text.len());
            Some(text)
        })
        .collect();
    texts.reverse();
    texts
}
