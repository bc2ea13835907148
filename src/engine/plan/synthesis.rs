//! What a model is asked when several answers were merged.

use crate::hub::{PlannedRun, part};
use serde_json::Value;
use toolhub_context::synthesize;
use toolhub_text::invisible::visible;
use toolhub_text::message::Message;
use toolhub_types::kind::ToolKind;
use toolhub_types::model::Part;

/// Arguments that usually carry the question, the likeliest first.
const QUESTIONS: [&str; 7] = ["query", "question", "q", "input", "prompt", "text", "task"];

/// The question behind a call: the argument that carries it, or all of them.
pub fn question(args: &Value) -> String {
    let carried = QUESTIONS.iter().find_map(|name| args.get(name)?.as_str().filter(|text| !text.is_empty()));
    match (carried, args) {
        (Some(text), _) => text.to_owned(),
        (None, Value::Null) => String::new(),
        (None, Value::String(text)) => text.clone(),
        (None, other) => other.to_string(),
    }
}

/// What the answers of a run are about: the capabilities of all candidates that answered decide.
pub fn answer_kind(planned: &PlannedRun) -> ToolKind {
    let answered = planned.run.winners().map(|slot| planned.candidates[slot].spec());
    let tags: Vec<&str> = answered.flat_map(|spec| spec.capabilities.iter().map(|tag| &**tag)).collect();
    synthesize::answer_kind(&tags)
}

/// The prompt for these answers (label and text of each), or the reason why no model is asked.
pub fn synthesis_prompt(
    question: &str,
    answers: impl IntoIterator<Item = (String, String)>,
    kind: ToolKind,
) -> Result<String, Message> {
    let answers: Vec<(String, String)> =
        answers.into_iter().map(|(label, text)| (label, visible(&text).into_owned())).collect();
    let limit = synthesize::limit(kind, answers.len());
    let parts: Vec<Part<'_>> = answers.iter().map(|(label, text)| part(label.clone(), text, limit)).collect();
    match synthesize::too_much(&parts) {
        Some(reason) => Err(reason),
        None => Ok(synthesize::prompt(question, &parts)),
    }
}
