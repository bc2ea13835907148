//! ReAct: `Action: name` and `Action Input: {…}` on the next line, or both in one JSON object. The model makes up what follows an observation, so that is text.

use serde_json::{Map, Value};

use crate::lenient::{self, MissingClosers};
use crate::notation::Notation;
use crate::parsed_call::{CUT, Draft};
use crate::read::arguments::{self, CallStops, FENCES, NamedCall, skip_fence};
use crate::read::bare_json::{self, BareJson};
use crate::reader::{Opening, ReadContext, ReadOutcome};
use crate::repair::Repairs;
use crate::schemas::{self, ToolSchemas};

const INPUT: &str = "Action Input:";
const OBSERVATION: &str = "Observation:";
const STOPS: CallStops<'_> = CallStops { ends: &[OBSERVATION], next: &["\nAction:"] };

pub(super) async fn read(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    let Some((line_end, _)) = cx.find(opening.after, &["\n"]).await else { return ReadOutcome::No };
    let (blob, fence) = skip_fence(cx, cx.skip_space(opening.after).await).await;
    if cx.byte(blob).await == Some(b'{') {
        return structured(cx, blob, fence.unwrap_or(FENCES[0])).await;
    }
    let name = cx.slice(opening.after, line_end).trim().trim_matches('`').to_owned();
    // Words of a plan: no tool has such a name.
    let is_known = || cx.tools.is_empty() || cx.is_known(&name);
    if cx.asked.is_none() && name.contains(' ') && !is_known() {
        return ReadOutcome::No;
    }
    let input = cx.skip_space(line_end).await;
    if name.is_empty() || cx.literal(input, &[INPUT]).await.is_none() {
        return ReadOutcome::No;
    }
    let from = cx.skip_blanks(input + INPUT.len()).await;
    let (inside, fence) = skip_fence(cx, cx.skip_space(from).await).await;
    let end = if fence.is_some() || cx.byte(inside).await == Some(b'{') {
        let named = NamedCall { fences: true, ..NamedCall::new(&name, "react") };
        arguments::read(cx, from, named, STOPS).await
    } else {
        words(cx, from, &name).await
    };
    finish(cx, end).await
}

/// Stops at an observation: the model makes up what follows. With nothing after it, the word ends the turn.
async fn finish(cx: &ReadContext, end: usize) -> ReadOutcome {
    let next = cx.skip_space(end).await;
    if cx.literal(next, &[OBSERVATION]).await.is_some() {
        cx.stop();
        let after = cx.skip_space(next + OBSERVATION.len()).await;
        if cx.byte(after).await.is_none() {
            return ReadOutcome::Block(after);
        }
    }
    ReadOutcome::Block(end)
}

/// The other form: `{"action": name, "action_input": {…}}`, in a fence.
async fn structured(cx: &ReadContext, at: usize, fence: &str) -> ReadOutcome {
    let end = match bare_json::value(cx, at, Some(fence), "react").await {
        BareJson::No => return ReadOutcome::No,
        BareJson::Data(end) => return ReadOutcome::Text(end),
        BareJson::Calls(end) => end,
    };
    let close = cx.close_with(end, &[fence]).await;
    finish(cx, close.unwrap_or(end)).await
}

/// Input that is not JSON is the value of the only parameter.
async fn words(cx: &ReadContext, from: usize, name: &str) -> usize {
    let end = cx.find_or_end(from, &["\n"]).await;
    let text = unquoted(cx.slice(from, end).trim());
    let draft = match lenient::read(&text, Notation::Json, MissingClosers::NONE) {
        Ok(lenient::LenientValue { value: arguments @ Value::Object(_), whole: true, repairs, .. }) => {
            Draft::new(name, Ok(arguments), repairs)
        }
        // An object whose opening bracket is missing.
        _ if text.ends_with('}') && !text.contains('{') => {
            Draft::failed(name, "The arguments cannot be read: there is no JSON object.")
        }
        _ if text.is_empty() && is_cut(cx, end, name).await => Draft::failed(name, CUT),
        _ => {
            let given = (only_parameter(&*cx.tools, name), text.clone().into());
            let arguments = Some(given).filter(|_| !text.is_empty()).into_iter().collect();
            Draft::new(name, Ok(Value::Object(arguments)), Repairs::default())
        }
    };
    cx.emit(vec![draft], end, "react");
    end
}

/// True if the text ends where the input should be, and the tool takes one.
async fn is_cut(cx: &ReadContext, at: usize, tool: &str) -> bool {
    let is_last = cx.byte(cx.skip_space(at).await).await.is_none();
    is_last && !(cx.tools.are_given() && schemas::is_whole(&*cx.tools, tool, &Map::new()))
}

/// The text without its quotation marks or backticks.
fn unquoted(text: &str) -> String {
    let code = text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    let text = code.filter(|code| !code.contains('`')).unwrap_or(text);
    serde_json::from_str(text).unwrap_or_else(|_| text.trim_matches('"').to_owned())
}

fn only_parameter(tools: &dyn ToolSchemas, name: &str) -> String {
    let schema = tools.parameters(name);
    let required = schema.and_then(|schema| schema.get("required")?.get(0)?.as_str());
    let first = || schema?.get("properties")?.as_object()?.keys().next().map(String::as_str);
    required.or_else(first).unwrap_or("input").to_owned()
}
