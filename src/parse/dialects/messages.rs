//! Dialects of messages that say what they are: a call, text, or reasoning, which is not meant for the user.
//!
//! gpt-oss: `<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`.
//!
//! Inkling: `<|message_model|>name<|content_invoke_tool_json|>{"name": …, "args": {…}}<|end_message|>`.
//!
//! In gpt-oss, channels and recipients decide. Other messages are text, whatever stands in them, except in the channel `analysis`: that is
//! reasoning, not meant for the user.

use super::between;
use super::json::DOCUMENT;
use crate::author;
use crate::input::{Found, Opening, ReadContext};
use crate::parsed::Draft;
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::read::json_body::{self, JsonBlock};
use crate::read::{common, python};
use crate::schemas::ToolSchemas;

const START: &str = "<|start|>";
const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";
const STOPS: CallStops<'_> = CallStops {
    ends: &["<|call|>", "<|end|>", "<|return|>", "<|eom|>"],
    next: &["<|start|>", "<|channel|>"],
};
/// Longer headers are text.
const LONGEST_HEADER: usize = 512;

/// Between two messages. The first message may have begun in the prompt: nobody receives it, so it is reasoning.
pub(super) async fn message_end(cx: &ReadContext, opening: Opening) -> Option<Found> {
    if cx.state().held.undecided {
        let next = cx.skip_space(opening.after).await;
        if cx.has(next, &["<|start|>"]).await {
            cx.state().discard_until(opening.start);
        }
    }
    Some(Found::Block(opening.after))
}

pub(super) async fn harmony(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let body = header_end(cx, opening.after).await?;
    let header = cx.slice(opening.after, body - MESSAGE.len());
    // A header that another one follows was cut off.
    let channels = cx.with(opening.start, body, |text| text.matches(CHANNEL).count());
    if channels > 1 || ["<|start|>", "<|call|>", "<|end|>"].iter().any(|token| header.contains(token)) {
        return None;
    }
    // From here on each message says whether it is reasoning.
    if cx.state().held.undecided {
        cx.state().discard_until(opening.start);
        let held = &mut cx.state().held;
        (held.undecided, held.first) = (false, None);
    }
    let named = |rest: &'_ str| first_word(rest).to_owned();
    let mut recipients: Vec<_> = header.split("to=").skip(1).map(named).collect();
    recipients.retain(|name| !name.is_empty());
    recipients.dedup();
    let recipient = recipients.first().map(String::as_str);
    // A header that begins with its channel is of the model.
    let begins = cx.with(opening.start, opening.after, |mark| mark == START);
    let channel = header.split_once(CHANNEL).map(|(_, rest)| rest).or((channels > 0).then_some(&header));
    let channel = channel.map(|rest| first_word(rest.trim_start()));
    if begins && recipient != Some("assistant") && !author::is_model_role(first_word(header.trim_start())) {
        return match cx.is_first(opening.start) {
            // The prompt: its messages end with a token, whatever stands in them.
            true => said(cx, body, STOPS.ends).await,
            false => common::turn(cx, opening, author::HARMONY_TURN).await,
        };
    }
    match recipient {
        Some(name) if recipients.len() > 1 => {
            let end = cx.find_or_end(body, &STOPS.all(None)).await;
            let draft = Draft::unreadable(name, "its message has two recipients");
            Some(Found::Block(cx.emit(vec![draft], end)))
        }
        // A message to the model is a result that it made up.
        Some("assistant" | "user") => said(cx, body, STOPS.ends).await,
        Some(_) if channel.is_some_and(|channel| !CALLING.contains(&channel)) => {
            said(cx, body, STOPS.ends).await
        }
        // Muse writes its thoughts to itself, and its calls as elements.
        Some("self") => thought(cx, body, &STOPS.all(None)).await,
        Some(_) if cx.has(cx.skip_space(body).await, &["<atem:"]).await => Some(Found::Block(body)),
        Some(recipient) => {
            let name = known(&*cx.tools, recipient.strip_prefix("functions.").unwrap_or(recipient));
            Some(Found::Block(call(cx, body, name).await))
        }
        None if channel == Some("analysis") => thought(cx, body, &STOPS.all(None)).await,
        // A document, such as a plan, may be said to the user.
        None if channels > 0 && cx.asked != Some(DOCUMENT) => said(cx, body, STOPS.ends).await,
        None => Some(Found::Block(body)),
    }
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
    tools.only_known(without_type).unwrap_or(name)
}

/// Reasoning that is not meant for the user.
async fn thought(cx: &ReadContext, body: usize, ends: &[&str]) -> Option<Found> {
    cx.state().advance(body);
    Some(Found::Block(cx.find_or_end(body, ends).await))
}

/// What is said to the user: it has no calls. Only a token that ends the message ends it, since a text may show the others.
async fn said(cx: &ReadContext, body: usize, ends: &[&str]) -> Option<Found> {
    cx.state().advance(body);
    Some(cx.as_text_until(body, ends).await)
}

/// The channel of reasoning, as it is left at the start of a text when a server drops the tokens.
const LEAKED: &str = "analysis";

/// Passes reasoning whose tokens a server has dropped: `analysisWe could …assistantfinalNo.`
async fn leaked(cx: &ReadContext, start: usize) -> Option<Found> {
    let after = start + LEAKED.len();
    let is_glued = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    if !cx.byte(after).await.is_some_and(is_glued) {
        return None;
    }
    Some(Found::Text(common::pass_reasoning(cx, after).await.unwrap_or_else(|| cx.end_so_far())))
}

/// The prompt may end with the start of the header: then the text begins with the rest of it.
pub(super) async fn first_of_harmony(cx: &ReadContext, start: usize) -> Option<Found> {
    let start = cx.space_as_text(start).await;
    match cx.literal(start, &["to=", LEAKED]).await {
        Some(0) if cx.is_first(start) => harmony(cx, Opening { start, after: start }).await,
        Some(1) if cx.is_first(start) => leaked(cx, start).await,
        _ => None,
    }
}

/// The position after `<|message|>`, if it comes within the limit.
async fn header_end(cx: &ReadContext, at: usize) -> Option<usize> {
    cx.wait(|view| {
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
    let at = cx.skip_space(body).await;
    let end = if name == "python" && cx.byte(at).await != Some(b'{') {
        arguments::code(cx, body, NamedCall::new(name), STOPS).await
    } else {
        arguments::read(cx, at, NamedCall::new(name), STOPS).await
    };
    cx.close_or_repair(end, &["<|call|>", "<|end|>", "<|return|>"]).await
}

const INVOKE: &str = "<|content_invoke_tool_json|>";
/// What a message of Inkling is.
const KINDS: &[&str] = &[INVOKE, "<|content_text|>", "<|content_thinking|>"];
/// End reasoning, and the first two a message. The model may call without closing its reasoning.
const INKLING_ENDS: &[&str] =
    &["<|end_message|>", "<|content_model_end_sampling|>", "<|message_model|>", INVOKE];

const INKLING_CALL: JsonBlock =
    JsonBlock { next: &["<|message_model|>"], ..between(&[INVOKE], &["<|end_message|>"]) };

pub(super) async fn inkling(cx: &ReadContext, opening: Opening) -> Option<Found> {
    if cx.after_space(opening.after, &["{"]).await.is_some() {
        settle(cx, opening.start);
    }
    json_body::read(cx, opening, &INKLING_CALL).await
}

/// The first message that says what it is: what is before it began in the prompt, as reasoning or text, and was not a call.
fn settle(cx: &ReadContext, at: usize) {
    let state = &mut *cx.state();
    if !std::mem::replace(&mut state.has_message, true) && state.held.undecided {
        state.discard_until(at);
    }
}

/// What has no calls: reasoning, or what is said to the user.
pub(super) async fn inkling_words(cx: &ReadContext, opening: Opening, are_thought: bool) -> Option<Found> {
    match common::is_mentioned(cx, opening).await {
        true => None,
        false if are_thought => thought(cx, opening.after, INKLING_ENDS).await,
        false => said(cx, opening.after, &INKLING_ENDS[..2]).await,
    }
}

/// The name of the tool is in the JSON too, so the header is not needed.
pub(super) async fn inkling_header(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let from = cx.skip_space(opening.after).await;
    let to = cx.skip(from, python::names).await;
    if !cx.has(to, KINDS).await {
        return Some(Found::Block(opening.after));
    }
    settle(cx, opening.start);
    Some(Found::Block(to))
}
