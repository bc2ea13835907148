//! The options of one server: the object under `toolhub`.

use super::fields::{Fields, Notes};
use super::variables::Variables;
use serde_json::{Map, Value};
use std::time::Duration;
use toolhub_text::pattern::PatternList;
use toolhub_types::error::clip;
use toolhub_types::model::{Trust, tags};

/// The options of one server. Times are written as seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerOptions {
    /// For one call; `None` takes the hub's.
    pub timeout: Option<Duration>,
    /// For starting or reaching the server, up to its first answer.
    pub startup_timeout: Duration,
    /// Retries when the request certainly did not run.
    pub retries: u32,
    /// Calls at the same time; `None` for no limit.
    pub max_concurrency: Option<usize>,
    /// Patterns of the tools to offer; empty for all.
    pub include: Vec<String>,
    /// Patterns of the tools to leave out; they win.
    pub exclude: Vec<String>,
    /// Put before the names of the tools.
    pub prefix: Option<String>,
    /// Patterns of the tools that are candidates of the tools of their names, where those are too.
    pub candidates: Vec<String>,
    /// Added to the capabilities of each tool.
    pub capabilities: Vec<String>,
    /// Whether the tools change something, whatever their names and annotations say.
    pub effects: Option<bool>,
    /// Take tools for harmless that neither their annotations nor their names say to act.
    pub assume_read_only: bool,
    /// How far the server's own hints about its tools count.
    pub trust: Trust,
    /// Refuse a tool whose definition has changed until it is accepted.
    pub pin: bool,
    /// The longest message that is taken from the server.
    pub max_message_bytes: usize,
    /// Disconnect after this time without a call.
    pub idle_timeout: Option<Duration>,
    /// Folders or URIs that are announced to the server as roots.
    pub roots: Vec<String>,
    /// Let the server ask the configured model.
    pub allow_sampling: bool,
    /// Environment variables that a child process inherits in addition to the minimal ones.
    pub inherit_env: Vec<String>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        read_nothing().0
    }
}

/// All keys of `toolhub`: those that are read.
pub fn server_options() -> Vec<&'static str> {
    read_nothing().1
}

fn read_nothing() -> (ServerOptions, Vec<&'static str>) {
    let (nothing, mut notes) = (Map::new(), Notes::new(None, None));
    let variables = Variables::new(None, &|_| None);
    let mut fields = Fields::new(&nothing, &variables, &mut notes);
    let options = ServerOptions::read(&mut fields);
    (options, fields.known())
}

impl ServerOptions {
    /// Whether a tool of the server is to be offered.
    pub fn wants(&self, tool: &str) -> bool {
        (self.include.is_empty() || allows(&self.include, tool)) && !allows(&self.exclude, tool)
    }

    /// Whether the user says that a tool is a candidate of other servers' tools of its name.
    pub fn is_candidate(&self, tool: &str) -> bool {
        allows(&self.candidates, tool)
    }

    /// Offers only what is listed under a key. An empty list is a list: it lets nothing through.
    fn offer_only(&mut self, fields: &mut Fields<'_, '_>, key: &'static str) {
        let Some(patterns) = fields.texts(key) else { return };
        if patterns.is_empty() {
            fields.warn(key, "is empty, so no tool of this server is offered; leave it out to offer all.");
            self.exclude.push("*".to_owned());
        }
        self.include.extend(patterns);
    }

    /// Takes what the object says; the rest is as if nothing was configured.
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let mut options = Self {
            timeout: fields.seconds("timeout"),
            startup_timeout: fields.seconds("startup_timeout").unwrap_or(Duration::from_secs(60)),
            retries: fields.whole("retries", 0, 100).map_or(3, |n| n as u32),
            max_concurrency: fields.whole("max_concurrency", 1, 1_000_000).map(|n| n as usize),
            include: Vec::new(),
            exclude: fields.texts("exclude").unwrap_or_default(),
            prefix: fields.text("prefix").map(str::to_owned),
            candidates: fields.texts("candidates").unwrap_or_default(),
            capabilities: tags(fields.texts("capabilities").unwrap_or_default()),
            effects: fields.flag("effects"),
            assume_read_only: fields.flag("assume_read_only").unwrap_or_default(),
            trust: trust(fields).unwrap_or_default(),
            pin: fields.flag("pin").unwrap_or_default(),
            max_message_bytes: fields
                .whole("max_message_bytes", 1024, 4 * 1024 * 1024 * 1024)
                .and_then(|n| usize::try_from(n).ok())
                .unwrap_or(32 * 1024 * 1024),
            idle_timeout: fields.seconds("idle_timeout"),
            roots: fields.expanded_list("roots").unwrap_or_default(),
            allow_sampling: fields.flag("allow_sampling").unwrap_or_default(),
            inherit_env: fields.texts("inherit_env").unwrap_or_default(),
        };
        options.offer_only(fields, "include");
        if options.assume_read_only && options.effects == Some(true) {
            fields.error("assume_read_only", "contradicts `effects`: both are true.");
        }
        options
    }
}

fn trust(fields: &mut Fields<'_, '_>) -> Option<Trust> {
    let word = fields.text("trust")?;
    let known = Trust::ALL.into_iter().find(|trust| trust.name() == word);
    if known.is_none() {
        fields.error("trust", format!("must be 'full', 'hints' or 'none', not '{}'.", clip(word)));
    }
    known
}

fn allows(patterns: &[String], tool: &str) -> bool {
    PatternList::new(patterns.iter().map(String::as_str)).allows_name(tool)
}

// Keys that other clients write. What has a meaning for us is taken over; what would change the tools or
// the access and is not done here is a warning; the rest is their own business.

/// How a client shows a server, what it asks its user, how it starts: nothing to us.
const SILENT: &[&str] = &[
    "alwaysAllow",
    "alwaysLoad",
    "autoApprove",
    "comment",
    "description",
    "dev",
    "displayName",
    "extension",
    "extensionName",
    "gallery",
    "icon",
    "iconPath",
    "keepAlive",
    "keep_alive",
    "name",
    "provider",
    "sandbox",
    "sandboxEnabled",
    "settings",
    "source",
    "sseReadTimeout",
    "sse_read_timeout",
    "tags",
    "title",
    "trust",
    "version",
    "watchPaths",
];

const NOT_DONE: &[&str] = &[
    "authentication",
    "exclude_tags",
    "headersHelper",
    "include_tags",
    "targetAudience",
    "targetServiceAccount",
    "tcp",
];

/// Cline, Roo and Kilo count `timeout` in seconds, and these are their keys.
const OF_THOSE_WITH_SECONDS: &[&str] = &["alwaysAllow", "autoApprove", "disabledTools", "watchPaths"];

/// Whether the entry turns its server off, in the words of any client.
pub(super) fn is_off(fields: &mut Fields<'_, '_>) -> bool {
    let off = fields.flag("disabled") == Some(true);
    let on = ["enabled", "active", "isActive", "is_active"].map(|key| fields.flag(key));
    off || on.contains(&Some(false))
}

pub(super) fn read_foreign(fields: &mut Fields<'_, '_>, options: &mut ServerOptions) {
    timeout(fields, options);
    for key in ["includeTools", "enabledTools"] {
        options.offer_only(fields, key);
    }
    for key in ["excludeTools", "disabledTools"] {
        options.exclude.extend(fields.texts(key).unwrap_or_default());
    }
    match fields.value("tools") {
        // FastMCP: an object that gives tools other names and arguments.
        Some(Value::Object(tools)) if tools.is_empty() => {}
        Some(Value::Object(_)) => fields.warn("tools", NO_EFFECT),
        // Copilot: the tools to offer.
        Some(Value::String(all)) if all == "*" => {}
        _ => options.offer_only(fields, "tools"),
    }
    if fields.text("authProviderType").is_some_and(|provider| provider != "dynamic_discovery") {
        fields.warn("authProviderType", NO_EFFECT);
    }
    for key in NOT_DONE {
        if fields.value(key).is_some() {
            fields.warn(key, NO_EFFECT);
        }
    }
    fields.ignore(SILENT);
}

const NO_EFFECT: &str = "belongs to another client and has no effect here.";

/// `timeout` is in milliseconds for FastMCP, Gemini and Claude Code, and in seconds for Cline and Roo, which
/// allow up to an hour. A timeout below a second is implausible, so a small number always means seconds.
fn timeout(fields: &mut Fields<'_, '_>, options: &mut ServerOptions) {
    let number = fields.value("timeout").and_then(Value::as_f64).unwrap_or_default();
    let theirs = OF_THOSE_WITH_SECONDS.iter().any(|key| fields.has(key));
    let is_in_seconds = (theirs && number <= 3600.0) || number < 1000.0;
    let (unit, seconds_each) = if is_in_seconds { ("seconds", 1.0) } else { ("milliseconds", 0.001) };
    let timeout = fields.duration("timeout", unit, seconds_each);
    if !theirs && timeout.is_some() && number < 1000.0 {
        fields.warn(
            "timeout",
            format!(
                "is taken as {number} s; other clients count milliseconds, `toolhub.timeout` counts seconds."
            ),
        );
    }
    options.timeout = options.timeout.or(timeout);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclude_wins_over_include() {
        let options = |include: &[&str], exclude: &[&str]| ServerOptions {
            include: include.iter().map(ToString::to_string).collect(),
            exclude: exclude.iter().map(ToString::to_string).collect(),
            ..ServerOptions::default()
        };
        assert!(ServerOptions::default().wants("anything"));
        assert!(options(&["read_*", "list"], &[]).wants("read_file"));
        assert!(!options(&["read_*", "list"], &[]).wants("write_file"));
        assert!(!options(&[], &["*_file"]).wants("write_file"));
        assert!(options(&[], &["*_file"]).wants("list"));
        assert!(!options(&["read_*"], &["read_secret"]).wants("read_secret"));
        assert!(!options(&["*", "!write_*"], &[]).wants("write_file"));
        assert!(options(&["[a-m]*"], &[]).wants("list"));
        assert!(!options(&["[a-m]*"], &[]).wants("write_file"));
    }
}
