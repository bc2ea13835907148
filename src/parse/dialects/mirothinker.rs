//! MiroThinker, and agents that prompt other models in the same way: `<use_mcp_tool><server_name>…</server_name>
//! <tool_name>…</tool_name><arguments>{…}</arguments></use_mcp_tool>`.

use serde_json::Value;

use crate::context::ReadContext;
use crate::draft::Draft;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::read::common;
use crate::repair::Repairs;
use crate::schemas::{self, ToolSchemas};

pub(super) const MIROTHINKER: CallDialect =
    CallDialect { name: FORMAT, markers: &[Marker::new(OPEN, read), Marker::new(CLOSE, common::leftover)] };

const FORMAT: &str = "mirothinker";
const TORN: &str = "The call cannot be read: a name is given twice.";
const OPEN: &str = "<use_mcp_tool>";
const CLOSE: &str = "</use_mcp_tool>";
const ARGUMENTS: &str = "<arguments>";
const ARGUMENTS_END: &str = "</arguments>";
const STOPS: CallStops<'_> = CallStops { ends: &[ARGUMENTS_END, CLOSE], next: &[OPEN] };
/// The elements before the arguments: of the server, and of the tool.
const NAMES: [(&str, &str); 2] = [("<server_name>", "</server_name>"), ("<tool_name>", "</tool_name>")];

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let mut at = cx.input.skip_space(opening.after).await;
        let mut names = [String::new(), String::new()];
        let mut is_torn = false;
        while let Some(index) = cx.input.literal(at, &NAMES.map(|(open, _)| open)).await {
            let (open, close) = NAMES[index];
            let from = at + open.len();
            let Some((to, 0)) = cx.input.find(from, &[close, "<", "\n\n"]).await else {
                return ReadOutcome::No;
            };
            is_torn |= !names[index].is_empty();
            names[index] = cx.input.slice(from, to).trim().to_owned();
            at = cx.input.skip_space(to + close.len()).await;
        }
        let [server, tool] = names;
        if tool.is_empty() {
            return ReadOutcome::No;
        }
        if is_torn {
            let end = cx.input.find(at, &[CLOSE]).await.map_or_else(|| cx.input.end_so_far(), |(end, _)| end);
            cx.emit(vec![Draft::failed(&tool, TORN)], end, FORMAT);
            return ReadOutcome::Block(end);
        }
        let name = known(&*cx.tools, &server, tool);
        match cx.input.literal(at, &[ARGUMENTS, CLOSE]).await {
            Some(0) => ReadOutcome::Block(with_arguments(cx, at + ARGUMENTS.len(), &name).await),
            Some(_) => {
                let end = at + CLOSE.len();
                cx.emit(vec![Draft::new(&name, Ok(Value::Null), Repairs::default())], end, FORMAT);
                ReadOutcome::Block(end)
            }
            None if cx.input.byte(at).await.is_none() => {
                cx.emit(vec![Draft::failed(&name, "The text ends before the call does.")], at, FORMAT);
                ReadOutcome::Block(at)
            }
            None => ReadOutcome::No,
        }
    })
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
    let mut end = arguments::read(cx, at, NamedCall::new(name, FORMAT), STOPS).await;
    let mut is_closed = false;
    for tag in [ARGUMENTS_END, CLOSE] {
        let next = cx.input.skip_space(end).await;
        is_closed = cx.input.literal(next, &[tag]).await.is_some();
        if is_closed {
            end = next + tag.len();
        }
    }
    cx.close(end, is_closed);
    end
}
