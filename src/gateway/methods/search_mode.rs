//! Search mode: a list of three tools instead of thousands, so that the context of a client stays small.
//!
//! `search_tools` finds tools by the ranking of [`Hub::search`], `describe_tool` shows one, `call_tool` calls one. Core tools of
//! the view are listed beside them. In this mode the three names are those of the gateway, also when the hub has a tool of such
//! a name; `call_tool` reaches that one.

use serde_json::{Value, json};
use toolhub_context::search::Search;
use toolhub_engine::hub::{Hub, SearchQuery};
use toolhub_engine::served::{AUTO_SEARCH_ABOVE, Audience, SearchMode, ShownTool, View};
use toolhub_registry::Snapshot;
use toolhub_types::sync::{Arc, Mutex};

const DEFAULT_HITS: u64 = 10;
const MOST_HITS: u64 = 50;
/// What is shown of a description among the hits.
const SHORT_DESCRIPTION: usize = 200;

toolhub_types::named! {
    /// The tools of the gateway itself.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum GatewayTool {
        Search = "search_tools",
        Describe = "describe_tool",
        Call = "call_tool",
    }
}

impl GatewayTool {
    /// As `tools/list` shows it.
    pub fn definition(self) -> Value {
        let name = json!({"type": "string", "description": "The exact name of the tool."});
        let (description, required, properties) = match self {
            GatewayTool::Search => (
                "Finds tools that fit a task. Many more tools exist than are listed here: search before you \
                 say that there is none. Returns names and short descriptions, best first.",
                "query",
                json!({
                    "query": {"type": "string", "description": "What the tool should do, in a few words."},
                    "limit": {
                        "type": "integer", "minimum": 1, "maximum": MOST_HITS, "default": DEFAULT_HITS,
                        "description": "How many tools to return at most.",
                    },
                }),
            ),
            GatewayTool::Describe => (
                "Returns the full definition of one tool: its description and the JSON Schema of its arguments.",
                "name",
                json!({"name": name}),
            ),
            GatewayTool::Call => (
                "Calls a tool that search_tools has found. Read its definition with describe_tool first.",
                "name",
                json!({
                    "name": name,
                    "arguments": {"type": "object", "description": "The arguments of the tool, as its schema asks."},
                }),
            ),
        };
        let schema = json!({
            "type": "object", "properties": properties, "required": [required], "additionalProperties": false,
        });
        let mut definition = json!({"name": self.name(), "description": description, "inputSchema": schema});
        if self != GatewayTool::Call {
            definition["annotations"] = json!({"readOnlyHint": true});
        }
        definition
    }
}

/// Whether the view lists three tools instead of all. Automatically, when it shows more than [`AUTO_SEARCH_ABOVE`].
pub fn is_on(view: &View, snapshot: &Snapshot) -> bool {
    match view.search_mode {
        SearchMode::On => true,
        SearchMode::Off => false,
        SearchMode::Auto => {
            snapshot.len() > AUTO_SEARCH_ABOVE && view.tools(snapshot).nth(AUTO_SEARCH_ABOVE).is_some()
        }
    }
}

/// The tool of the gateway that has this name. It may not be listed in the view at the moment.
pub fn named(name: &str, view: &View) -> Option<GatewayTool> {
    GatewayTool::parse(name).filter(|_| view.search_mode != SearchMode::Off)
}

/// Whether a call of such a name means the tool of the gateway. In automatic mode that does not wait until there are enough tools
/// to list it: a client may know it from another process, so it is hidden only by a tool of the hub that has its name.
pub fn is_meant(tool: GatewayTool, view: &View, snapshot: &Snapshot) -> bool {
    is_on(view, snapshot) || view.tool(snapshot, tool.name()).is_none()
}

/// The core tools of a view that its callers see, in the order and under the names of the configuration: those stay when namesakes
/// come and go.
pub fn core<'a>(view: &'a View, snapshot: &'a Snapshot) -> impl Iterator<Item = ShownTool<'a>> {
    let names = view.core.iter().filter(|name| GatewayTool::parse(name).is_none());
    names.filter_map(|name| view.tool_for(snapshot, name, Audience::Model))
}

/// The tools of a view that fit a query, best first, as `search_tools` returns them.
pub fn search<'a>(
    hub: &Hub,
    indexes: &ViewIndexes,
    view: &Arc<View>,
    query: impl Into<SearchQuery<'a>>,
    limit: Option<u64>,
) -> Value {
    let wanted = limit.unwrap_or(DEFAULT_HITS).clamp(1, MOST_HITS) as usize;
    let snapshot = hub.registry.snapshot();
    let index = indexes.of(view);
    let hits = hub.search_in(index.as_deref(), query, wanted);
    let entry = |name: &str| {
        let tool = view.tool(&snapshot, name)?;
        Some(json!({"name": tool.name, "description": short(&tool.spec().description)}))
    };
    let tools: Vec<Value> = hits.iter().filter_map(|hit| entry(&hit.name)).collect();
    json!({"tools": tools})
}

/// The first lines of a description, cut at a word.
fn short(description: &str) -> String {
    let text = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, _)) = text.char_indices().nth(SHORT_DESCRIPTION) else { return text };
    let cut = &text[..end];
    format!("{}…", cut.rfind(' ').map_or(cut, |space| &cut[..space]))
}

/// Views whose index is kept. Another one is built again when it is searched: some ten milliseconds for 1,000 tools.
const MOST_INDEXES: usize = 32;

/// The views that were searched last, of those that show some of the tools only, have an index each, which follows the registry. The
/// results of such a view must not depend on tools that it hides, so the index of the hub, with the words of all tools, is not for it.
#[derive(Default)]
pub struct ViewIndexes(Mutex<Vec<(Arc<View>, Arc<Search>)>>);

impl ViewIndexes {
    /// The index of a view; `None` if it shows everything, as the index of the hub does.
    pub fn of(&self, view: &Arc<View>) -> Option<Arc<Search>> {
        if view.shows_everything() {
            return None;
        }
        let mut kept = self.0.lock();
        let known = kept.iter().position(|(one, _)| Arc::ptr_eq(one, view));
        let used = match known {
            Some(at) => kept.remove(at),
            None => (view.clone(), Arc::new(Search::of_part(view.clone()))),
        };
        let index = used.1.clone();
        // The last one was used last.
        kept.push(used);
        let oldest = (kept.len() > MOST_INDEXES).then(|| kept.remove(0));
        drop(kept);
        drop(oldest);
        Some(index)
    }
}

#[cfg(test)]
#[path = "search_mode/tests.rs"]
mod tests;
