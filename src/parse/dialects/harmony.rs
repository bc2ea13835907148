//! gpt-oss: `<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`.
//!
//! Channels and recipients decide. Other messages are text, whatever stands in them, except in the channel `analysis`: that is
//! reasoning, not meant for the user.

use serde_json::{Value, json};

use super::document::NAME as DOCUMENT_NAME;
use crate::context::ReadContext;
use crate::draft::Draft;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::read::common;
use crate::schemas::{self, ToolSchemas};
use crate::turn;

pub(super) const HARMONY: CallDialect = CallDialect {
    name: "harmony",
    markers: &[
        Marker::new("<|start|>", read),
        Marker::new("<|channel|>", read),
        Marker::new("<|end|>", message_end),
        Marker::new("<|return|>", token),
        Marker::new("<|call|>", token),
    ],
};

const START: &str = "<|start|>";
const CHANNEL: &str = "<|channel|>";
const TWO_RECIPIENTS: &str = "The call cannot be read: its message has two recipients.";
const MESSAGE: &str = "<|message|>";
const ENDS: &[&str] = &["<|call|>", "<|end|>", "<|return|>", "<|start|>", "<|channel|>", "<|eom|>"];
const STOPS: CallStops<'_> = CallStops {
    ends: &["<|call|>", "<|end|>", "<|return|>", "<|eom|>"],
    next: &["<|start|>", "<|channel|>"],
};
/// Longer headers are text.
const LONGEST_HEADER: usize = 512;

pub(super) fn token(_: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move { ReadOutcome::Block(opening.after) })
}

/// Between two messages. The first message may have begun in the prompt: nobody receives it, so it is reasoning.
fn message_end(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        if cx.input.is_undecided() {
            let next = cx.input.skip_space(opening.after).await;
            if cx.input.literal(next, &["<|start|>"]).await.is_some() {
                cx.forget(opening.start);
            }
        }
        ReadOutcome::Block(opening.after)
    })
}

pub(super) fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let Some(body) = header_end(cx, opening.after).await else { return ReadOutcome::No };
        let header = cx.input.slice(opening.after, body - MESSAGE.len());
        // A header that another one follows was cut off.
        let channels = cx.input.with(opening.start, body, |text| text.matches(CHANNEL).count());
        if channels > 1 || ["<|start|>", "<|call|>", "<|end|>"].iter().any(|token| header.contains(token)) {
            return ReadOutcome::No;
        }
        // From here on each message says whether it is reasoning.
        if cx.input.is_undecided() {
            cx.forget(opening.start);
            cx.input.trust();
        }
        let named = |rest: &'_ str| first_word(rest).to_owned();
        let mut recipients: Vec<_> = header.split("to=").skip(1).map(named).collect();
        recipients.retain(|name| !name.is_empty());
        recipients.dedup();
        let recipient = recipients.first().map(String::as_str);
        // A header that begins with its channel is of the model.
        let begins = cx.input.with(opening.start, opening.after, |mark| mark == START);
        let channel = header.split_once(CHANNEL).map(|(_, rest)| rest).or((channels > 0).then_some(&header));
        let channel = channel.map(|rest| first_word(rest.trim_start()));
        if begins && recipient != Some("assistant") && !turn::is_model_role(first_word(header.trim_start())) {
            return match cx.input.is_first(opening.start) {
                // The prompt: its messages end with a token, whatever stands in them.
                true => said(cx, body).await,
                false => common::turn(cx, opening).await,
            };
        }
        match recipient {
            Some(name) if recipients.len() > 1 => {
                let end =
                    cx.input.find(body, ENDS).await.map_or_else(|| cx.input.end_so_far(), |(end, _)| end);
                cx.emit(vec![Draft::failed(name, TWO_RECIPIENTS)], end, "harmony");
                ReadOutcome::Block(end)
            }
            // A message to the model is a result that it made up.
            Some("assistant" | "user") => said(cx, body).await,
            Some(_) if channel.is_some_and(|channel| !CALLING.contains(&channel)) => said(cx, body).await,
            // Muse writes its thoughts to itself, and its calls as elements.
            Some("self") => thought(cx, body).await,
            Some(_) if cx.input.literal(cx.input.skip_space(body).await, &["<atem:"]).await.is_some() => {
                ReadOutcome::Block(body)
            }
            Some(recipient) => {
                let name = known(&*cx.tools, recipient.strip_prefix("functions.").unwrap_or(recipient));
                ReadOutcome::Block(call(cx, body, name).await)
            }
            None if channel == Some("analysis") => thought(cx, body).await,
            // A document, such as a plan, may be said to the user.
            None if channels > 0 && cx.asked != Some(DOCUMENT_NAME) => said(cx, body).await,
            None => ReadOutcome::Block(body),
        }
    })
}

/// The first word of a part of a header: a role, a channel, a recipient.
fn first_word(part: &str) -> &str {
    part.split(|letter: char| letter.is_whitespace() || letter == '<').next().unwrap_or_default()
}

/// The channels of calls: built-in tools are called in the channel of reasoning. Every other one is read by the user.
const CALLING: &[&str] = &["analysis", "commentary"];

/// The name of the tool: the model may lose the mark before the type of the arguments, `shelljson`.
fn known<'a>(tools: &dyn ToolSchemas, name: &'a str) -> &'a str {
    let without_type = name.strip_suffix("json").filter(|_| tools.parameters(name).is_none());
    schemas::only_known(tools, without_type).unwrap_or(name)
}

/// Reasoning that is not meant for the user.
async fn thought(cx: &ReadContext, body: usize) -> ReadOutcome {
    cx.input.drop_to(body);
    match cx.input.find(body, ENDS).await {
        Some((end, _)) => ReadOutcome::Block(end),
        None => ReadOutcome::Block(cx.input.end_so_far()),
    }
}

/// What is said to the user: it has no calls. Only a token that ends the message ends it, since a text may show the others.
async fn said(cx: &ReadContext, body: usize) -> ReadOutcome {
    cx.input.drop_to(body);
    match cx.input.text_until(body, STOPS.ends).await {
        Some((end, _)) => ReadOutcome::Text(end),
        None => ReadOutcome::Text(cx.input.end_so_far()),
    }
}

/// The channel of reasoning, as it is left at the start of a text when a server drops the tokens.
const LEAKED: &str = "analysis";

/// Passes reasoning whose tokens a server has dropped: `analysisWe could …assistantfinalNo.`
async fn leaked(cx: &ReadContext, start: usize) -> ReadOutcome {
    let after = start + LEAKED.len();
    let is_glued = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    if !cx.input.byte(after).await.is_some_and(is_glued) {
        return ReadOutcome::No;
    }
    match common::pass_reasoning(cx, after).await {
        Some(end) => ReadOutcome::Text(end),
        None => ReadOutcome::Text(cx.input.end_so_far()),
    }
}

/// The prompt may end with the start of the header: then the text begins with the rest of it.
pub(super) fn first(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let start = cx.input.space_as_text(opening.start).await;
        match cx.input.literal(start, &["to=", LEAKED]).await {
            Some(0) if cx.input.is_first(start) => read(cx, Opening { start, after: start }).await,
            Some(1) if cx.input.is_first(start) => leaked(cx, start).await,
            _ => ReadOutcome::No,
        }
    })
}

/// The position after `<|message|>`, if it comes within the limit.
async fn header_end(cx: &ReadContext, at: usize) -> Option<usize> {
    cx.input
        .wait(|view| {
            let rest = view.from(at);
            let header = &rest[..rest.len().min(LONGEST_HEADER + MESSAGE.len())];
            match memchr::memmem::find(header, MESSAGE.as_bytes()) {
                Some(found) => Some(Some(at + found + MESSAGE.len())),
                None if header.len() == rest.len() && !view.ended => None,
                _ => Some(None),
            }
        })
        .await
}

async fn call(cx: &ReadContext, body: usize, name: &str) -> usize {
    let at = cx.input.skip_space(body).await;
    let end = if name == "python" && cx.input.byte(at).await != Some(b'{') {
        // The built-in interpreter takes code as it is.
        let end = cx.input.find(body, ENDS).await.map_or_else(|| cx.input.end_so_far(), |(end, _)| end);
        let code: Value = json!({"code": cx.input.slice(body, end)});
        cx.emit(vec![Draft::new(name, Ok(code), Default::default())], end, "harmony");
        end
    } else {
        arguments::read(cx, at, NamedCall::new(name, "harmony"), STOPS).await
    };
    let close = cx.input.skip_space(end).await;
    match cx.input.literal(close, &["<|call|>", "<|end|>", "<|return|>"]).await {
        Some(index) => {
            let end = close + ENDS[index].len();
            cx.input.extend(end, None);
            end
        }
        None => {
            cx.close(end, false);
            end
        }
    }
}
