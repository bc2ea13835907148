//! What may surround the calls of every dialect: reasoning, code, and the tokens that end a turn.

use crate::author::TurnMark;
use crate::certainty::FenceLine;
use crate::input::{Found, Opening, ReadContext};
use crate::reasoning::{CLOSING, ReasoningTag, is_mention, rest_of_tag};
use toolhub_text::has_word;

/// End the message that a text of gpt-oss begins inside of: the token, and what is left when a server drops the tokens.
const HARMONY_ENDS: &[&str] = &["<|end|>", "assistantfinal", "assistantcommentary"];

/// Special tokens that begin calls, by dialect: the reasoning of these models cannot quote them.
const SECTIONS: &[(&str, &str)] = &[
    ("kimi_k2", "<|tool_calls_section_begin|>"),
    ("kimi_k2", "<|tool_call_section_begin|>"),
    ("k2_horizon", "<ifm|tool_calls>"),
    ("solar_open2", "<|tool_call:start|>"),
];

/// Words after the mark of a fence that may contain a call, as one without a word may. With any other word, it is code.
const DATA: &str = "json jsonc json5 xml tool tools tool_call tool_calls tool_code tool_use function function_call \
    function_calls action";

/// True if a fence with this word after its mark may contain a call.
pub fn holds_data(word: &str) -> bool {
    word.trim().is_empty() || has_word(DATA, &word.trim().to_ascii_lowercase())
}

/// Reasoning, and the answer of a tool that the model repeats or invents, are text, whatever they quote.
pub async fn reasoning_block(cx: &ReadContext, opening: Opening, tag: &ReasoningTag) -> Option<Found> {
    if ends_turn(cx, opening, tag).await {
        return Some(Found::Block(opening.after));
    }
    let mut from = tag_end(cx, opening.after, tag).await?;
    let may_call = |dialect: &str| !tag.is_pair && cx.asked.is_none_or(|asked| asked == dialect);
    let sections = SECTIONS.iter().filter(|(dialect, _)| may_call(dialect)).map(|(_, token)| *token);
    let ends: Vec<&str> = tag.closes.iter().copied().chain(sections).collect();
    while let Some((at, index)) = cx.text_until(from, &ends).await {
        if index >= tag.closes.len() {
            // The model may call without closing its reasoning. If the tag still comes, the calls were only thought of.
            cx.state().held.undecided = true;
            return Some(Found::Text(at));
        }
        from = at + ends[index].len();
        if let Some(end) = tag_end(cx, from, tag).await {
            cx.state().end_reasoning(end);
            return Some(Found::Text(end));
        }
    }
    Some(Found::Text(cx.end_so_far()))
}

/// True if the mark of a tool's answer is the token with which the turn ends after a call.
async fn ends_turn(cx: &ReadContext, opening: Opening, tag: &ReasoningTag) -> bool {
    tag.is_pair && !tag.is_element && !cx.state().calls.is_empty() && is_last(cx, opening).await
}

/// An opening tag in the middle of a line opens reasoning if its closing tag follows; otherwise it is a word about it.
pub async fn mid_line(cx: &ReadContext, opening: Opening, tag: &ReasoningTag) -> Option<Found> {
    if ends_turn(cx, opening, tag).await {
        return Some(Found::Block(opening.after));
    }
    let after = tag_end(cx, opening.after, tag).await?;
    if !is_mentioned(cx, Opening { after, ..opening }).await {
        cx.state().held.opened(tag.key());
    }
    Some(Found::Text(after))
}

/// A closing tag without its opening tag shows that everything before it was reasoning.
pub async fn reasoning_end(cx: &ReadContext, opening: Opening, tag: &ReasoningTag) -> Option<Found> {
    let after = tag_end(cx, opening.after, tag).await?;
    if is_mentioned(cx, Opening { after, ..opening }).await {
        return Some(Found::Text(after));
    }
    let was_opened = cx.state().discard_expected(tag.key(), after);
    if !was_opened && (!cx.state().held.undecided || tag.is_pair) {
        return Some(Found::Text(after));
    }
    if !was_opened {
        cx.state().discard_until(after);
    }
    cx.state().end_reasoning(after);
    Some(Found::Text(after))
}

/// The position after a tag whose mark ends at `at`; `None` if the mark is the start of another tag.
async fn tag_end(cx: &ReadContext, at: usize, tag: &ReasoningTag) -> Option<usize> {
    if !tag.is_element {
        return Some(at);
    }
    cx.wait(|view| rest_of_tag(view.from(at), view.ended)).await.map(|rest| at + rest)
}

/// True if words or the mark of a block quote stand on the same line before a mark, and words right after it.
pub async fn is_in_sentence(cx: &ReadContext, opening: Opening) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80 || *byte == b'>';
    if !cx.state().line_before(opening.start).iter().any(is_word) {
        return false;
    }
    let next = cx.skip_blanks(opening.after).await;
    let first = cx.byte(next).await;
    first.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"*_.,;:!?)".contains(&byte) || byte >= 0x80)
}

/// True if a quote or a parenthesis stands right before a mark.
pub fn follows_quote(cx: &ReadContext, opening: Opening) -> bool {
    cx.byte_before(opening.start).is_some_and(|byte| b"`\"'(".contains(&byte))
}

/// True if a mark stands in quotes.
pub async fn is_mentioned(cx: &ReadContext, opening: Opening) -> bool {
    follows_quote(cx, opening) && is_mention(cx.byte_before(opening.start), cx.byte(opening.after).await)
}

/// Passes the reasoning that a text begins with. Returns the position after it; `None` if it has no end.
pub async fn pass_reasoning(cx: &ReadContext, from: usize) -> Option<usize> {
    let ends: Vec<&str> = CLOSING.iter().chain(HARMONY_ENDS).copied().collect();
    let mut from = from;
    loop {
        let (start, index) = cx.text_until(from, &ends).await?;
        from = start + ends[index].len();
        let after = match ReasoningTag::closed_by(ends[index]) {
            Some(tag) => tag_end(cx, from, tag).await,
            None => Some(from),
        };
        if let Some(after) = after
            && !is_mentioned(cx, Opening { start, after }).await
        {
            cx.state().end_reasoning(after);
            return Some(after);
        }
    }
}

/// A turn of somebody else is text. At the start it is the prompt, and what the model says after it counts; later on a model that
/// goes on past its turn makes it up, and all that follows with it.
pub async fn turn(cx: &ReadContext, opening: Opening, mark: &TurnMark) -> Option<Found> {
    let Some((false, after)) = mark.turn(cx, opening).await else { return None };
    // The end of the model's own turn.
    if is_last(cx, opening).await {
        return None;
    }
    let whole = Opening { after, ..opening };
    let is_word = cx.byte_before(opening.start) == Some(b' ') && is_in_sentence(cx, whole).await;
    if is_word || is_mentioned(cx, opening).await || is_mentioned(cx, whole).await {
        return None;
    }
    if cx.is_first(opening.start)
        && let Some(at) = turn_of_model(cx, mark, after).await
    {
        return Some(Found::Text(at));
    }
    cx.state().is_stopped = true;
    Some(Found::Text(after))
}

/// Passes the turns of others, and returns where the turn of the model begins in the same template.
async fn turn_of_model(cx: &ReadContext, mark: &TurnMark, mut from: usize) -> Option<usize> {
    let sought = mark.of_model();
    loop {
        let (start, _) = cx.text_until(from, &[sought]).await?;
        from = start + sought.len();
        if sought != mark.text {
            return Some(start);
        }
        match mark.turn(cx, Opening { start, after: from }).await {
            Some((true, _)) => return Some(start),
            Some((false, after)) => from = after,
            None => {}
        }
    }
}

/// What a model of the ReAct style made up: it ends with the next part, or with its paragraph.
pub async fn observation(cx: &ReadContext, opening: Opening) -> Option<Found> {
    const ENDS: &[&str] = &["\nThought:", "\nAction:", "\nFinal Answer:", "\n\n", "\n\r\n"];
    Some(cx.as_text_until(cx.skip_space(opening.after).await, ENDS).await)
}

/// The marks of a fence that may hold calls, and the position after the word that follows them.
pub async fn fence_line(cx: &ReadContext, opening: Opening) -> Option<(FenceLine, usize)> {
    let mark = cx.with(opening.start, opening.after, |text| text.as_bytes()[0]);
    let after = cx.skip(opening.after, |byte| byte == mark).await;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_ \t\r".contains(&byte);
    let end = cx.skip(after, is_word).await;
    let word = cx.slice(after, end);
    let line = FenceLine { mark, run: after - opening.start, is_plain: word.trim().is_empty() };
    holds_data(&word).then_some((line, end))
}

/// Code is text, whatever it quotes.
pub async fn code(cx: &ReadContext, opening: Opening) -> Option<Found> {
    if let Some((line, end)) = fence_line(cx, opening).await
        && matches!(cx.byte(end).await, None | Some(b'\n'))
    {
        cx.state().pass_fence(line, end);
        return Some(Found::Text(end));
    }
    let mark = cx.slice(opening.start, opening.after);
    let after = run_end(cx, opening.after, &mark).await;
    let indent = cx.state().indent(opening.start).unwrap_or(0);
    let (line_end, _) = cx.find(after, &["\n", "`"]).await?;
    let language = cx.slice(after, line_end);
    let language = language.trim();
    // Tags and sentences are not a language: these backticks end a fence whose start is missing.
    if language.contains(['<', '{', '[', ' ']) && !language.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Some(Found::Text(after));
    }
    if cx.byte(line_end).await == Some(b'`') {
        return Some(Found::Text(line_end));
    }
    // A fence in a list may be closed with a little more of an indent.
    let farthest = if indent == 0 { 0 } else { indent + 3 };
    let mut from = line_end;
    while let Some((at, _)) = cx.text_until(from, &[&mark]).await {
        from = run_end(cx, at, &mark).await;
        let is_near = cx.state().indent(at).is_some_and(|indent| indent <= farthest);
        if is_near && from - at >= after - opening.start {
            return Some(Found::Text(from));
        }
    }
    Some(Found::Text(cx.end_so_far()))
}

/// The end of a run of the character that the mark of a fence consists of.
async fn run_end(cx: &ReadContext, at: usize, mark: &str) -> usize {
    cx.skip(at, |byte| mark.as_bytes().first() == Some(&byte)).await
}

/// A comment is text, whatever it quotes. In the middle of a line it does not go beyond its paragraph.
pub async fn comment(cx: &ReadContext, opening: Opening) -> Option<Found> {
    if follows_quote(cx, opening) {
        return None;
    }
    let ends = ["-->", "\n\n"];
    let ends = if cx.state().indent(opening.start).is_some() { &ends[..1] } else { &ends[..] };
    // `<!-->` is a comment, too.
    let found = cx.text_until(opening.start + "<!".len(), ends).await;
    Some(Found::Text(found.map_or_else(|| cx.end_so_far(), |(end, index)| end + ends[index].len())))
}

/// A token that ends a turn is dropped once there was a call.
pub fn leftover(cx: &ReadContext, opening: Opening) -> Option<Found> {
    (!cx.state().calls.is_empty()).then_some(Found::Block(opening.after))
}

/// A special token that ends a call, without the call: no text of the model. In quotes it is only mentioned.
pub async fn orphan(cx: &ReadContext, opening: Opening) -> Option<Found> {
    (!is_mentioned(cx, opening).await).then_some(Found::Block(opening.after))
}

/// As [`leftover`], but only at the very end: the token is also an HTML tag.
pub async fn last(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let is_last = is_last(cx, opening).await;
    leftover(cx, opening).filter(|_| is_last)
}

/// True if nothing but white space follows, or the same token again.
async fn is_last(cx: &ReadContext, opening: Opening) -> bool {
    let token = cx.slice(opening.start, opening.after);
    let mut at = cx.skip_space(opening.after).await;
    while cx.has(at, &[&token]).await {
        at = cx.skip_space(at + token.len()).await;
    }
    cx.byte(at).await.is_none()
}
