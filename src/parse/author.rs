//! Who wrote a part of a conversation, which part the model says now, and whether that was cut off.
//!
//! Only what the model says now has calls. What users, tools and systems wrote has none, whatever stands in it, and a call with
//! an answer after it was made before: in a list, everything up to the last part of others is over.

use serde_json::{Map, Value};

use super::input::{Opening, ReadContext};
use super::keys::{ARGUMENT_KEYS, NAME_KEYS};
use toolhub_text::has_word;

/// Roles of the model; every other role is one of others.
const MODEL_ROLES: &[&str] = &["assistant", "model", "ai", "chatbot", "bot"];
/// Roles that the templates and the APIs give to others, beside [answers](is_answer) of tools. Where it is certain that a word is a
/// role, every other one is of others, too.
const OTHER_ROLES: &str =
    "human user prompter system developer tool function ipython observation environment context document";
/// Keys of parts that answer a call.
const ANSWER_KEYS: &[&str] = &["functionResponse", "function_response", "toolResult"];
/// Keys that say why an answer ended.
const ENDING_KEYS: &[&str] = &["finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason"];
/// Reasons to end an answer because the model had said all, in small letters. With every other reason it was cut off, filtered or
/// refused: the families keep adding some.
const ENDED: &str = "stop end_turn stop_sequence eos eos_token tool_use tool_call tool_calls function_call complete \
    completed success";

/// True for a role of the model.
pub(super) fn is_model_role(role: &str) -> bool {
    MODEL_ROLES.iter().any(|known| known.eq_ignore_ascii_case(role))
}

/// True for a role that others are known to have: `tool`, `tools`.
pub(super) fn is_role_of_others(role: &str) -> bool {
    let role = role.strip_suffix('s').unwrap_or(role);
    has_word(OTHER_ROLES, role) || is_answer(role)
}

/// True for `tool_result`, `function_response` and so on.
fn is_answer(kind: &str) -> bool {
    let what = kind.strip_prefix("tool_").or_else(|| kind.strip_prefix("function_"));
    what.is_some_and(|what| matches!(what, "response" | "result" | "output"))
}

/// Who wrote a message or a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PartAuthor {
    Model,
    Others,
    /// It does not say: it is a part of what stands around it.
    Unsaid,
}

/// Who wrote a message or a block, by its role or by its type.
pub(super) fn author_of(map: &Map<String, Value>) -> PartAuthor {
    if let Some(role) = map.get("role") {
        let is_model = role.as_str().is_some_and(is_model_role);
        return if is_model { PartAuthor::Model } else { PartAuthor::Others };
    }
    let kind = map.get("type").and_then(Value::as_str).unwrap_or_default();
    let has = |key: &&str| map.get(*key).is_some_and(|value| !value.is_null());
    // A call may have such a type, too.
    let is_message = || map.contains_key("content") && !map.contains_key("function") && !is_call(map);
    match kind {
        "ai" if is_message() => PartAuthor::Model,
        kind if is_role_of_others(kind) && is_message() => PartAuthor::Others,
        kind if is_answer(kind) || kind.ends_with("_call_output") => PartAuthor::Others,
        _ if ANSWER_KEYS.iter().any(has) => PartAuthor::Others,
        _ => PartAuthor::Unsaid,
    }
}

/// True for an object that is a call itself, with its name and its arguments.
pub(super) fn is_call(map: &Map<String, Value>) -> bool {
    NAME_KEYS.iter().any(|key| map.get(*key).is_some_and(Value::is_string))
        && ARGUMENT_KEYS.iter().any(|key| map.contains_key(*key))
}

/// What the model says now in a list of messages or blocks: what follows the last part of others. Of several messages, the
/// last one; the items of a response are one message.
pub(super) fn said_now(items: &[Value]) -> &[Value] {
    let author = |item: &Value| item.as_object().map_or(PartAuthor::Unsaid, author_of);
    let last_of_others = items.iter().rposition(|item| author(item) == PartAuthor::Others);
    let now = &items[last_of_others.map_or(0, |last| last + 1)..];
    let are_messages = now.iter().all(|item| author(item) == PartAuthor::Model && !is_item(item));
    if are_messages { &now[now.len().saturating_sub(1)..] } else { now }
}

/// True for a message that is one of the items of a response.
fn is_item(value: &Value) -> bool {
    let is_said = |block: &Value| matches!(block["type"].as_str(), Some("output_text" | "refusal"));
    value["type"] == "message"
        && value["content"].as_array().is_some_and(|blocks| !blocks.is_empty() && blocks.iter().all(is_said))
}

/// True if a response, or an item of it, says that it ended before the model had said all.
pub(super) fn was_cut(map: &Map<String, Value>) -> bool {
    // As the APIs write them, and as the SDKs do: `STOP`, `tool-calls`, `FinishReason.STOP`.
    let is_cut = |reason: &str| {
        let reason = reason.rsplit('.').next().unwrap_or_default().to_ascii_lowercase().replace('-', "_");
        !reason.is_empty() && !has_word(ENDED, &reason)
    };
    let says = |key: &str| map.get(key).and_then(Value::as_str).is_some_and(is_cut);
    // Other objects may have a status of another kind.
    let has_status = map.contains_key("output") || map.contains_key("type");
    ENDING_KEYS.iter().any(|key| says(key))
        || (has_status && says("status"))
        || map.get("response_metadata").and_then(Value::as_object).is_some_and(was_cut)
}

/// True for a call of Gemini whose arguments go on in a later part of the stream.
pub(super) fn goes_on(map: &Map<String, Value>) -> bool {
    let calls = ["functionCall", "function_call"].into_iter().filter_map(|key| map.get(key));
    let says = |call: &Value| {
        ["willContinue", "will_continue"].iter().any(|key| call[key] == true)
            || ["partialArgs", "partial_args"].iter().any(|key| call[key].is_array())
    };
    calls.into_iter().any(says)
}

/// True if a message, or a part of it, declines to answer.
pub(super) fn declines(map: &Map<String, Value>) -> bool {
    map.get("refusal").is_some_and(|why| !matches!(why, Value::Null) && why != "")
        || map.get("type").is_some_and(|kind| kind == "refusal")
}

// The marks that begin a turn in the templates of the families, and how each says whose turn it is.

/// A mark, and where its role stands.
pub(super) struct TurnMark {
    pub text: &'static str,
    role: RoleAt,
}

enum RoleAt {
    /// The word after it: `<|im_start|>user`.
    Next,
    /// Its own name, up to this end: `<|user|>`. Other tokens are spelt like it, so only a known role makes it a turn.
    UpTo(&'static str),
    /// The line before it, if that is a known role: `user<|role_sep|>`.
    Before,
    /// It is never the model's, whose turn begins with this: `[INST]`.
    Others(&'static str),
}

/// Longer words are not roles.
const LONGEST_ROLE: usize = 64;
/// What may stand around a role in the name of a token: `<|im_user|>`, `<|USER_TOKEN|>`, `<|user_start|>`.
const AROUND_ROLE: &[&str] = &["im_", "hy_", "message_", "_token", "_start", "prompt"];

const fn mark(text: &'static str, role: RoleAt) -> TurnMark {
    TurnMark { text, role }
}

pub(super) static TURN_MARKS: &[TurnMark] = &[
    // ChatML: Qwen, Hermes, InternLM, OLMo and many more.
    mark("<|im_start|>", RoleAt::Next),
    // Llama 3 and 4.
    mark("<|start_header_id|>", RoleAt::Next),
    mark("<|header_start|>", RoleAt::Next),
    // Gemma, up to 3 and from 4 on.
    mark("<start_of_turn>", RoleAt::Next),
    mark("<|turn>", RoleAt::Next),
    // gpt-oss, whose reader looks at whole messages first.
    mark("<|start|>", RoleAt::Next),
    // Granite, and one that is made up like it.
    mark("<|start_of_role|>", RoleAt::Next),
    mark("<|role_start|>", RoleAt::Next),
    // Step 3, Seed-OSS, MiniMax, Solar, Kimi K3, Nemotron.
    mark("<|BOT|>", RoleAt::Next),
    mark("<seed:bos>", RoleAt::Next),
    mark("]~b]", RoleAt::Next),
    mark("<|begin|>", RoleAt::Next),
    mark("<|open|>message role=\"", RoleAt::Next),
    mark("<SPECIAL_10>", RoleAt::Next),
    mark("<SPECIAL_11>", RoleAt::Next),
    mark("<extra_id_0>", RoleAt::Next),
    mark("<extra_id_1>", RoleAt::Next),
    // GigaChat.
    mark("<|role_sep|>", RoleAt::Before),
    // Phi, GLM, Zephyr, Command R, Kimi K2, Apertus, Inkling; DeepSeek and Hunyuan; EXAONE; Ling.
    mark("<|", RoleAt::UpTo("|>")),
    mark("<｜", RoleAt::UpTo("｜>")),
    mark("[|", RoleAt::UpTo("|]")),
    mark("<role>", RoleAt::UpTo("</role>")),
    // Mistral and Llama 2.
    mark("[INST]", RoleAt::Others("[/INST]")),
    mark("[SYSTEM_PROMPT]", RoleAt::Others("[/INST]")),
    mark("[AVAILABLE_TOOLS]", RoleAt::Others("[/INST]")),
    mark("<<SYS>>", RoleAt::Others("[/INST]")),
    // Claude 2, at the start of a line.
    mark("Human:", RoleAt::Others("\n\nAssistant:")),
];

/// The turn of gpt-oss, whose reader looks at whole messages first.
pub(super) static HARMONY_TURN: &TurnMark = &mark("<|start|>", RoleAt::Next);

impl TurnMark {
    /// The mark with which the turn of the model begins after this one.
    pub fn of_model(&self) -> &'static str {
        match self.role {
            RoleAt::Others(model) => model,
            _ => self.text,
        }
    }

    /// Whether the turn that this mark begins is the model's, and the position after the mark and its role; `None` if it is another
    /// token.
    pub async fn turn(&self, cx: &ReadContext, opening: Opening) -> Option<(bool, usize)> {
        match self.role {
            RoleAt::Next => {
                let from = cx.skip_space(opening.after).await;
                let in_role = |byte: u8| !byte.is_ascii_whitespace() && !b"<\":".contains(&byte);
                let after = cx.skip_most(from, LONGEST_ROLE, in_role).await;
                Some((cx.with(from, after, is_model_role), after))
            }
            RoleAt::UpTo(end) => {
                let in_role = |byte: u8| byte != end.as_bytes()[0] && !byte.is_ascii_whitespace();
                let to = cx.skip_most(opening.after, LONGEST_ROLE, in_role).await;
                cx.literal(to, &[end]).await?;
                Some((cx.with(opening.after, to, is_model_token)?, to + end.len()))
            }
            RoleAt::Before => {
                let state = cx.state();
                let role = str::from_utf8(state.line_before(opening.start)).ok()?;
                Some((is_model_token(role.trim())?, opening.after))
            }
            RoleAt::Others(_) => Some((false, opening.after)),
        }
    }
}

/// Whether the name of a token has the role of the model, or that of somebody else; `None` if it has none.
fn is_model_token(name: &str) -> Option<bool> {
    let mut name = name.to_lowercase();
    for affix in AROUND_ROLE {
        let inner = name.strip_prefix(affix).or_else(|| name.strip_suffix(affix)).map(str::to_owned);
        name = inner.unwrap_or(name);
    }
    match is_model_role(&name) {
        true => Some(true),
        false => is_role_of_others(&name).then_some(false),
    }
}
