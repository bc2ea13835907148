//! ReAct: `Action: name`, `Action Input: {…}` on the next line, `Action: name ({…})`, `Action: name(x=1)`, `Action: name[words]` as
//! in the paper, or both in one JSON object. The model makes up what follows an observation, so that is text.

use serde_json::{Map, Value};

use super::json;
use crate::input::{Found, Opening, ReadContext};
use crate::lenient::{self, MissingClosers, Notation, Repairs};
use crate::parsed::Draft;
use crate::read::arguments::{self, CallStops, FENCES, NamedCall, skip_fence};
use crate::read::python;
use crate::schemas::ToolSchemas;

const INPUT: &str = "Action Input:";
const OBSERVATION: &str = "Observation:";
const STOPS: CallStops<'_> = CallStops { ends: &[OBSERVATION], next: &["\nAction:"] };

pub(super) async fn read(cx: &ReadContext, opening: Opening) -> Option<Found> {
    if let Some(end) = in_one_line(cx, opening).await {
        return finish(cx, end).await;
    }
    let (line_end, _) = cx.find(opening.after, &["\n"]).await?;
    let (blob, fence) = skip_fence(cx, cx.skip_space(opening.after).await).await;
    if cx.byte(blob).await == Some(b'{') {
        return structured(cx, blob, fence.unwrap_or(FENCES[0])).await;
    }
    let name = cx.slice(opening.after, line_end).trim().trim_matches('`').to_owned();
    // Words of a plan: no tool has such a name.
    let is_known = || cx.tools.is_empty() || cx.is_known(&name);
    if cx.asked.is_none() && name.contains(' ') && !is_known() {
        return None;
    }
    let input = cx.skip_space(line_end).await;
    if name.is_empty() || !cx.has(input, &[INPUT]).await {
        return None;
    }
    let from = cx.skip_blanks(input + INPUT.len()).await;
    let (inside, fence) = skip_fence(cx, cx.skip_space(from).await).await;
    let end = if fence.is_some() || cx.byte(inside).await == Some(b'{') {
        let named = NamedCall { fences: true, ..NamedCall::new(&name) };
        arguments::read(cx, from, named, STOPS).await
    } else {
        words(cx, from, &name).await
    };
    finish(cx, end).await
}

/// Reads the forms in one line, `name ({…})`, `name(x=1)` and `name[words]`, and returns the end.
async fn in_one_line(cx: &ReadContext, opening: Opening) -> Option<usize> {
    let from = cx.skip_blanks(opening.after).await;
    let to = cx.skip(from, python::names).await;
    if to == from {
        return None;
    }
    let name = cx.slice(from, to);
    let open = cx.skip_blanks(to).await;
    let at = cx.skip_space(open + 1).await;
    if cx.byte(open).await == Some(b'(') && cx.byte(at).await == Some(b'{') {
        let end = arguments::read(cx, at, NamedCall::new(&name), STOPS).await;
        return Some(cx.close_with(end, &[")"]).await.unwrap_or(end));
    }
    // Without braces it may be a word of a plan: "Action: wait (if needed)".
    if open != to || (cx.asked.is_none() && cx.tools.are_given() && cx.tools.parameters(&name).is_none()) {
        return None;
    }
    match cx.byte(open).await? {
        b'(' => match python::marked(cx, Opening { after: from, ..opening }, &[]).await? {
            Found::Block(end) => Some(end),
            _ => None,
        },
        b'[' => {
            let end = cx.find_or_end(open, &["\n"]).await;
            let line = cx.slice(open + 1, end);
            let text = line.trim_end().strip_suffix(']')?;
            Some(emit_words(cx, &name, unquoted(text.trim()), end))
        }
        _ => None,
    }
}

/// Stops at an observation: the model makes up what follows. With nothing after it, the word ends the turn.
async fn finish(cx: &ReadContext, end: usize) -> Option<Found> {
    let next = cx.skip_space(end).await;
    if cx.has(next, &[OBSERVATION]).await {
        cx.state().is_stopped = true;
        let after = cx.skip_space(next + OBSERVATION.len()).await;
        if cx.byte(after).await.is_none() {
            return Some(Found::Block(after));
        }
    }
    Some(Found::Block(end))
}

/// The other form: `{"action": name, "action_input": {…}}`, in a fence.
async fn structured(cx: &ReadContext, at: usize, fence: &str) -> Option<Found> {
    let end = match json::value(cx, at, Some(fence)).await {
        Some(Found::Block(end)) => end,
        other => return other,
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
            Draft::new(name, Err("there is no JSON object".into()), Repairs::default())
        }
        _ if text.is_empty() && is_cut(cx, end, name).await => Draft::cut(name),
        _ => return emit_words(cx, name, text, end),
    };
    cx.emit(vec![draft], end)
}

fn emit_words(cx: &ReadContext, name: &str, text: String, end: usize) -> usize {
    let mut arguments = Map::new();
    if !text.is_empty() {
        arguments.insert(only_parameter(&*cx.tools, name), text.into());
    }
    cx.emit(vec![Draft::new(name, Ok(Value::Object(arguments)), Repairs::default())], end)
}

/// True if the text ends where the input should be, and the tool takes one.
async fn is_cut(cx: &ReadContext, at: usize, tool: &str) -> bool {
    let is_last = cx.byte(cx.skip_space(at).await).await.is_none();
    is_last && !(cx.tools.are_given() && cx.tools.is_whole(tool, &Map::new()))
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
