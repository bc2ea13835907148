//! Dialects that write the name of the tool, and then its arguments as JSON, each in its own way.

use serde_json::Value;

use crate::input::{Found, Opening, ReadContext};
use crate::lenient::{Notation, Repairs};
use crate::parsed::Draft;
use crate::read::arg_pairs::{self, ArgTags};
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::read::section::SectionHeader;
use crate::read::{common, python};
use crate::schemas::ToolSchemas;

const MISTRAL_ARGS: &[&str] = &["[ARGS]", "{"];

/// The newer form of Mistral: `[TOOL_CALLS]name[ARGS]{…}`, with an id or without.
pub(super) async fn mistral(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let from = cx.skip_space(opening.after).await;
    let to = cx.skip(from, python::in_path).await;
    let name = cx.slice(from, to);
    let mut at = cx.skip_space(to).await;
    let mut id = String::new();
    if let Some(after) = cx.after(at, &["[CALL_ID]"]).await {
        let (end, _) = cx.find(after, MISTRAL_ARGS).await?;
        id = cx.slice(after, end).trim().to_owned();
        at = end;
    }
    match cx.literal(at, MISTRAL_ARGS).await {
        Some(0) => {
            at += MISTRAL_ARGS[0].len();
            let mark = Opening { after: at, ..opening };
            if common::is_mentioned(cx, mark).await || common::is_in_sentence(cx, mark).await {
                return None;
            }
        }
        Some(_) if !name.is_empty() => {}
        _ => return None,
    }
    let named = NamedCall { id, ..NamedCall::new(&name) };
    cx.state().form.format = "mistral_args";
    let stops = CallStops { ends: &["[/TOOL_CALLS]"], next: &["[TOOL_CALLS]"] };
    Some(Found::Block(arguments::read(cx, at, named, stops).await))
}

/// FunctionGemma and Gemma 4: `call:name{key:<escape>text<escape>,n:5}`, each with its own tokens. With many tools at hand the model
/// lapses into parentheses, `call:name(key=5)`, or forgets the word before the name.
pub(super) async fn gemma(
    cx: &ReadContext,
    opening: Opening,
    marks: &[&str],
    [quote, end]: [&'static str; 2],
) -> Option<Found> {
    let at = cx.skip_space(opening.after).await;
    let marked = cx.literal(at, &["call:", ":"]).await;
    let from = at + marked.map_or(0, |index| ["call:", ":"][index].len());
    let Some((to, 0 | 1)) = cx.find(from, &["{", "(", "<", "\n"]).await else { return None };
    let name = cx.slice(from, to).trim().to_owned();
    if marked != Some(0) && (name.is_empty() || !name.bytes().all(python::in_path)) {
        return None;
    }
    // The model puts the server of a tool, or where it comes from, before its name.
    let parts = name.match_indices([':', '.', '/']).map(|(at, _)| &name[at + 1..]);
    let known = match cx.is_known(&name) {
        true => None,
        false => cx.tools.only_known(parts),
    };
    let name = known.unwrap_or(&name);
    let named = NamedCall { notation: Notation::Quoted(quote), ..NamedCall::new(name) };
    let read = arguments::read(cx, to, named, CallStops { ends: &[end], next: marks }).await;
    Some(Found::Block(cx.close_or_repair(read, &[end]).await))
}

const MIRO_CLOSE: &str = "</use_mcp_tool>";
const MIRO_STOPS: CallStops<'_> =
    CallStops { ends: &["</arguments>", MIRO_CLOSE], next: &["<use_mcp_tool>"] };
/// The elements before the arguments: of the server, and of the tool.
const MIRO_NAMES: [(&str, &str); 2] = [("<server_name>", "</server_name>"), ("<tool_name>", "</tool_name>")];

/// MiroThinker, and agents that prompt other models in the same way: `<use_mcp_tool><server_name>…</server_name>
/// <tool_name>…</tool_name><arguments>{…}</arguments></use_mcp_tool>`.
pub(super) async fn mirothinker(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let mut at = cx.skip_space(opening.after).await;
    let mut names = [String::new(), String::new()];
    let mut is_torn = false;
    while let Some(index) = cx.literal(at, &MIRO_NAMES.map(|(open, _)| open)).await {
        let (open, close) = MIRO_NAMES[index];
        let from = at + open.len();
        let Some((to, 0)) = cx.find(from, &[close, "<", "\n\n"]).await else { return None };
        is_torn |= !names[index].is_empty();
        names[index] = cx.slice(from, to).trim().to_owned();
        at = cx.skip_space(to + close.len()).await;
    }
    let [server, tool] = names;
    if tool.is_empty() {
        return None;
    }
    let name = with_server(&*cx.tools, &server, tool);
    let (draft, end) = match cx.literal(at, &["<arguments>", MIRO_CLOSE]).await {
        _ if is_torn => {
            (Draft::unreadable(&name, "a name is given twice"), cx.find_or_end(at, &[MIRO_CLOSE]).await)
        }
        Some(0) => return Some(Found::Block(miro_arguments(cx, at + "<arguments>".len(), &name).await)),
        Some(_) => (Draft::new(&name, Ok(Value::Null), Repairs::default()), at + MIRO_CLOSE.len()),
        None if cx.byte(at).await.is_none() => {
            (Draft::failed(&name, "The text ends before the call does."), at)
        }
        None => return None,
    };
    Some(Found::Block(cx.emit(vec![draft], end)))
}

/// The name of the tool, with that of its server if only so it is known.
fn with_server(tools: &dyn ToolSchemas, server: &str, tool: String) -> String {
    if tools.parameters(&tool).is_some() {
        return tool;
    }
    let joined = [".", "__", "_", "-", "/", ":"].map(|between| [server, between, &tool].concat());
    tools.only_known(joined.iter().map(String::as_str)).map_or(tool, str::to_owned)
}

/// Reads the arguments and the end tags, and returns the position after them.
async fn miro_arguments(cx: &ReadContext, at: usize, name: &str) -> usize {
    let end = arguments::read(cx, at, NamedCall::new(name), MIRO_STOPS).await;
    let inner = cx.after_space(end, &["</arguments>"]).await.unwrap_or(end);
    cx.close_or_repair(inner, &[MIRO_CLOSE]).await
}

const FUNCTIONARY_STOPS: CallStops<'_> = CallStops { ends: &["<|eot_id|>"], next: &[">>>"] };

/// Functionary 3.2: `>>>name` and a JSON object on the next line; `>>>all` is before text. The prompt ends with the first `>>>`, so the
/// name may come first.
///
/// Among all formats, only a tool that is known is meant if tools are known: the mark is also that of a shell. Without the mark,
/// only a known tool is meant.
pub(super) async fn functionary(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let is_marked = opening.after > opening.start;
    let is_asked = cx.asked.is_some();
    // Without tools nothing is a name, and the first word need not wait for its end.
    if !is_marked && !is_asked && cx.tools.is_empty() {
        return None;
    }
    let from = if is_marked { opening.after } else { cx.skip_space(opening.after).await };
    let to = cx.skip(from, python::names).await;
    let name = cx.slice(from, to);
    let is_own = || is_marked && matches!(name.as_str(), "all" | "python");
    let is_plain = is_asked || (is_marked && cx.tools.is_empty());
    if !is_plain && !is_own() && (!cx.is_known(&name) || name == "all") {
        return None;
    }
    if name.is_empty() || !cx.has(to, &["\n"]).await {
        return None;
    }
    if name == "all" {
        // What is said to the user has no calls.
        cx.state().advance(to + 1);
        return Some(cx.as_text_until(to + 1, &FUNCTIONARY_STOPS.all(None)).await);
    }
    let at = cx.skip_space(to).await;
    let named = NamedCall::new(&name);
    Some(Found::Block(match cx.byte(at).await? {
        b'{' => arguments::read(cx, at, named, FUNCTIONARY_STOPS).await,
        _ if name == "python" => arguments::code(cx, to + 1, named, FUNCTIONARY_STOPS).await,
        _ => return None,
    }))
}

/// GLM 4.5 and 4.7: `<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`, with or without line ends. The 5.3
/// Flash model writes `<tool_call>name>{…}` too.
pub(super) async fn glm(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let from = cx.skip_space(opening.after).await;
    let to = cx.skip(from, python::in_path).await;
    let at = arg_pairs::skip_gap(cx, to).await;
    // Without arguments it may be a word between tags that are only mentioned.
    let is_call = to > from
        && !common::follows_quote(cx, opening)
        && cx.byte(opening.after).await != Some(b' ')
        && cx.with(from, to, |name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    let tags = &ArgTags::of("tool_call", "", "");
    let name = cx.slice(from, to);
    match cx.literal(at, &[&tags.key, &tags.close]).await {
        Some(0) if to > from => {}
        Some(1) if is_call => {}
        _ => {
            return match json_at(cx, to).await.filter(|_| is_call) {
                Some(at) => with_json(cx, at, &name, tags).await,
                None => without_key_tag(cx, from, tags).await,
            };
        }
    }
    // The newer form has no line ends.
    cx.state().form.format = if at == to { "glm47" } else { "glm45" };
    Some(Found::Block(arg_pairs::emit(cx, at, &name, None, tags).await))
}

/// Where the object after a name begins, if there is one: `name>{`, or on the next line.
async fn json_at(cx: &ReadContext, to: usize) -> Option<usize> {
    let after = matches!(cx.byte(to).await?, b'>' | b'\n').then_some(to + 1)?;
    let at = cx.skip_space(after).await;
    (cx.byte(at).await == Some(b'{')).then_some(at)
}

async fn with_json(cx: &ReadContext, at: usize, name: &str, tags: &ArgTags) -> Option<Found> {
    let stops = CallStops { ends: &[&tags.close], next: &[&tags.open] };
    cx.state().form.format = "glm47";
    let end = arguments::read(cx, at, NamedCall::new(name), stops).await;
    // The model does not always write the end tag.
    Some(Found::Block(cx.close_with(end, &[&tags.close]).await.unwrap_or(end)))
}

/// Models lose the tag before the first key, or write that of a call in its place. The names of known tools tell where the key
/// begins.
async fn without_key_tag(cx: &ReadContext, from: usize, tags: &ArgTags) -> Option<Found> {
    if cx.tools.is_empty() {
        return None;
    }
    let ends = [tags.key_end.as_str(), &tags.key, &tags.value, &tags.close];
    let Some((end, 0)) = cx.find(from, &ends).await else { return None };
    let (name, key) = cx.with(from, end, |head| tool_and_key(head, tags, cx))?;
    cx.state().form.format = "glm47";
    Some(Found::Block(arg_pairs::emit(cx, end, &name, Some(&key), tags).await))
}

/// A known tool and one of its parameters, out of their names without the tag between them.
fn tool_and_key(head: &str, tags: &ArgTags, cx: &ReadContext) -> Option<(String, String)> {
    let mut found: Option<(String, String)> = None;
    cx.tools.each(&mut |tool, _| {
        let Some(rest) = head.strip_prefix(tool) else { return };
        let key = rest.trim_start();
        let key = key.strip_prefix(tags.open.as_str()).unwrap_or(key).trim();
        let is_longer = found.as_ref().is_none_or(|(name, _)| name.len() < tool.len());
        if is_longer && cx.tools.parameter(tool, key).is_some() {
            found = Some((tool.to_owned(), key.to_owned()));
        }
    });
    found
}

/// The header of a call of Kimi K2: `functions.name:0`.
///
/// It is the id of the call too. After a conversation whose ids another API issued, the model imitates those and leaves
/// the name out: `3`, `call_3`, `toolu_01A`. Such a call is an error: a missing name is never guessed.
pub(super) fn kimi_header(text: &str, tools: &dyn ToolSchemas) -> SectionHeader {
    let id = text.trim();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = id.strip_prefix("functions.").unwrap_or(id);
    let name = match name.rsplit_once(':') {
        Some((name, index)) if is_number(index) => name,
        _ => name,
    };
    let named = |name: &str| SectionHeader::Name { name: name.to_owned(), id: id.to_owned() };
    if tools.parameters(name).is_some() {
        return named(name);
    }
    // `functionsname5`, `functions_name_5`: the model lost the marks between the parts, or wrote others.
    let rest = name.strip_prefix("functions").unwrap_or_default();
    let counted = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    let separated = |text| str::trim_start_matches(text, ['_', '-', ':', '.']);
    let forms = [counted, counted.trim_end_matches(['_', '-', ':', '.']), rest];
    let forms = forms.into_iter().chain(forms.map(separated));
    if let Some(bare) = tools.only_known(forms) {
        return named(bare);
    }
    match is_number(name) || (name == id && is_issued(id)) {
        true => named(""),
        false => named(name),
    }
}

/// True for an id as the chat APIs issue them.
fn is_issued(id: &str) -> bool {
    let issued = |prefix: &str| {
        let rest = id.strip_prefix(prefix)?.trim_start_matches(['_', '-']);
        Some(rest.bytes().any(|byte| byte.is_ascii_digit()) && !rest.contains(['.', ':']))
    };
    ["call", "toolu", "chatcmpl-tool"].iter().find_map(|prefix| issued(prefix)).unwrap_or_default()
}
