//! MiroThinker, and agents that prompt other models in the same way: `<use_mcp_tool><server_name>…</server_name>
//! <tool_name>…</tool_name><arguments>{…}</arguments></use_mcp_tool>`.

use serde_json::Value;

use crate::lenient::Repairs;
use crate::parsed::Draft;
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::reader::{Opening, ReadContext, ReadOutcome};
use crate::schemas::{self, ToolSchemas};

const FORMAT: &str = "mirothinker";
const CLOSE: &str = "</use_mcp_tool>";
const STOPS: CallStops<'_> = CallStops { ends: &["</arguments>", CLOSE], next: &["<use_mcp_tool>"] };
/// The elements before the arguments: of the server, and of the tool.
const NAMES: [(&str, &str); 2] = [("<server_name>", "</server_name>"), ("<tool_name>", "</tool_name>")];

pub(super) async fn read(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    let mut at = cx.skip_space(opening.after).await;
    let mut names = [String::new(), String::new()];
    let mut is_torn = false;
    while let Some(index) = cx.literal(at, &NAMES.map(|(open, _)| open)).await {
        let (open, close) = NAMES[index];
        let from = at + open.len();
        let Some((to, 0)) = cx.find(from, &[close, "<", "\n\n"]).await else { return ReadOutcome::No };
        is_torn |= !names[index].is_empty();
        names[index] = cx.slice(from, to).trim().to_owned();
        at = cx.skip_space(to + close.len()).await;
    }
    let [server, tool] = names;
    if tool.is_empty() {
        return ReadOutcome::No;
    }
    let name = known(&*cx.tools, &server, tool);
    let (draft, end) = match cx.literal(at, &["<arguments>", CLOSE]).await {
        _ if is_torn => {
            (Draft::unreadable(&name, "a name is given twice"), cx.find_or_end(at, &[CLOSE]).await)
        }
        Some(0) => return ReadOutcome::Block(with_arguments(cx, at + "<arguments>".len(), &name).await),
        Some(_) => (Draft::new(&name, Ok(Value::Null), Repairs::default()), at + CLOSE.len()),
        None if cx.byte(at).await.is_none() => {
            (Draft::failed(&name, "The text ends before the call does."), at)
        }
        None => return ReadOutcome::No,
    };
    cx.emit(vec![draft], end, FORMAT);
    ReadOutcome::Block(end)
}

/// The name of the tool, with that of its server if only so it is known.
fn known(tools: &dyn ToolSchemas, server: &str, tool: String) -> String {
    if tools.parameters(&tool).is_some() {
        return tool;
    }
    let joined = [".", "__", "_", "-", "/", ":"].map(|between| [server, between, &tool].concat());
    schemas::only_known(tools, joined.iter().map(String::as_str)).map_or(tool, str::to_owned)
}

/// Reads the arguments and the end tags, and returns the position after them.
async fn with_arguments(cx: &ReadContext, at: usize, name: &str) -> usize {
    let end = arguments::read(cx, at, NamedCall::new(name, FORMAT), STOPS).await;
    let inner = cx.after_space(end, &["</arguments>"]).await.unwrap_or(end);
    let close = cx.after_space(inner, &[CLOSE]).await;
    cx.state().close(close.unwrap_or(inner), close.is_some());
    close.unwrap_or(inner)
}
