//! ReAct: `Action: name`, `Action Input: {…}` on the next line, or both in one JSON object. What follows an observation
//! is invented: it is text.

use serde_json::{Map, Value};

use super::{Dialect, Marker, Opening, Read, Reading};
use crate::parse::draft::Draft;
use crate::parse::extent::Notation;
use crate::parse::lenient::{self, MayMiss, Repairs};
use crate::parse::machine::Cx;
use crate::parse::options::Tools;
use crate::parse::read::arguments::{self, Named, skip_fence};
use crate::parse::read::bare;

pub(super) const REACT: Dialect =
    Dialect { name: "react", markers: &[Marker::new("Action:", read).at_line().weak()] };

const INPUT: &str = "Action Input:";
const OBSERVATION: &str = "Observation:";

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(async move {
        let Some((line_end, _)) = cx.tape.find(opening.after, &["\n"]).await else { return Read::No };
        let blob = skip_fence(cx, cx.tape.skip_space(opening.after).await).await.0;
        if cx.tape.byte(blob).await == Some(b'{') {
            return structured(cx, blob).await;
        }
        let name = cx.tape.slice(opening.after, line_end).trim().trim_matches('`').to_owned();
        let input = cx.tape.skip_space(line_end).await;
        if name.is_empty() || cx.tape.literal(input, &[INPUT]).await.is_none() {
            return Read::No;
        }
        let from = cx.tape.skip(input + INPUT.len(), |byte| matches!(byte, b' ' | b'\t')).await;
        let (inside, fenced) = skip_fence(cx, cx.tape.skip_space(from).await).await;
        let end = if fenced || cx.tape.byte(inside).await == Some(b'{') {
            let named = Named { fences: true, ..Named::new(&name, "react") };
            arguments::read(cx, from, named, &[OBSERVATION]).await
        } else {
            words(cx, from, &name).await
        };
        finish(cx, end).await
    })
}

/// What follows an observation is invented.
async fn finish(cx: &Cx, end: usize) -> Read {
    let next = cx.tape.skip_space(end).await;
    if cx.tape.literal(next, &[OBSERVATION]).await.is_some() {
        cx.stop();
    }
    Read::Block(end)
}

/// The other form: `{"action": name, "action_input": {…}}`, in a fence.
async fn structured(cx: &Cx, at: usize) -> Read {
    let end = match bare::value(cx, at, &["```"], "react").await {
        bare::Value::No => return Read::No,
        bare::Value::Data(end) => return Read::Text(end),
        bare::Value::Calls(end) => end,
    };
    let close = cx.tape.skip_space(end).await;
    match cx.tape.literal(close, &["```"]).await {
        Some(_) => {
            cx.tape.extend(close + 3, None);
            finish(cx, close + 3).await
        }
        None => finish(cx, end).await,
    }
}

/// Input that is no JSON is the one thing that the tool takes.
async fn words(cx: &Cx, from: usize, name: &str) -> usize {
    let end = cx.tape.find(from, &["\n"]).await.map_or_else(|| cx.tape.end_so_far(), |(end, _)| end);
    let text = unquoted(cx.tape.slice(from, end).trim());
    let draft = match lenient::read(&text, Notation::Json, MayMiss::NONE) {
        Ok(lenient::Reading { value: arguments @ Value::Object(_), whole: true, repairs, .. }) => {
            Draft::new(name, Ok(arguments), repairs)
        }
        _ => {
            let mut arguments = Map::new();
            if !text.is_empty() {
                arguments.insert(only_parameter(&cx.tools, name), text.into());
            }
            Draft::new(name, Ok(Value::Object(arguments)), Repairs::default())
        }
    };
    cx.emit(vec![draft], end, "react");
    end
}

/// What stands between quotation marks or backticks.
fn unquoted(text: &str) -> String {
    let code = text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    let text = code.filter(|code| !code.contains('`')).unwrap_or(text);
    serde_json::from_str(text).unwrap_or_else(|_| text.trim_matches('"').to_owned())
}

fn only_parameter(tools: &Tools, name: &str) -> String {
    let schema = tools.get(name);
    let required = schema.and_then(|schema| schema.get("required")?.get(0)?.as_str());
    let first = || schema?.get("properties")?.as_object()?.keys().next().map(String::as_str);
    required.or_else(first).unwrap_or("input").to_owned()
}
