//! The marks that begin a turn in the templates of the families, and how each says whose turn it is. Only the model's own turn has
//! calls: a turn of anybody else is not the model's text, whoever wrote it.

use super::context::ReadContext;
use super::marker::Opening;
use super::turn;

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

pub(super) const TURN_MARKS: &[TurnMark] = &[
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

/// A turn that a mark begins.
pub(super) struct BegunTurn {
    pub is_model: bool,
    /// The position after the mark and its role.
    pub after: usize,
}

impl TurnMark {
    pub fn of(text: &str) -> Option<&'static Self> {
        TURN_MARKS.iter().find(|mark| mark.text == text)
    }

    /// The mark with which the turn of the model begins after this one.
    pub fn of_model(&self) -> &'static str {
        match self.role {
            RoleAt::Others(model) => model,
            _ => self.text,
        }
    }

    /// The turn that this mark begins where it stands; `None` if it is another token.
    pub async fn turn(&self, cx: &ReadContext, opening: Opening) -> Option<BegunTurn> {
        match self.role {
            RoleAt::Next => {
                let from = cx.input.skip_space(opening.after).await;
                let ends = |byte: u8| byte.is_ascii_whitespace() || b"<\":".contains(&byte);
                let after = word_end(cx, from, ends).await;
                let is_model = cx.input.with(from, after, turn::is_model_role);
                Some(BegunTurn { is_model, after })
            }
            RoleAt::UpTo(end) => {
                let ends = |byte: u8| byte == end.as_bytes()[0] || byte.is_ascii_whitespace();
                let to = word_end(cx, opening.after, ends).await;
                cx.input.literal(to, &[end]).await?;
                let is_model = cx.input.with(opening.after, to, is_model_token)?;
                Some(BegunTurn { is_model, after: to + end.len() })
            }
            RoleAt::Before => {
                let role = |line: &[u8]| is_model_token(str::from_utf8(line).ok()?.trim());
                let is_model = cx.input.with_line_before(opening.start, role)?;
                Some(BegunTurn { is_model, after: opening.after })
            }
            RoleAt::Others(_) => Some(BegunTurn { is_model: false, after: opening.after }),
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
    match turn::is_model_role(&name) {
        true => Some(true),
        false => turn::is_role_of_others(&name).then_some(false),
    }
}

/// The end of the word at `at`.
async fn word_end(cx: &ReadContext, at: usize, ends: impl Fn(u8) -> bool) -> usize {
    cx.input
        .wait(|view| {
            let rest = view.from(at);
            let length = rest.len().min(LONGEST_ROLE);
            let end = rest[..length].iter().position(|byte| ends(*byte));
            let is_whole = end.is_some() || length == LONGEST_ROLE || view.ended;
            is_whole.then(|| at + end.unwrap_or(length))
        })
        .await
}
