//! L2, what makes two calls the same call. It is written here, and nowhere else.
//!
//! ```text
//! CallIdentity ─┬─ key: principal, kind of target, tool, source and server asked for, arguments, meta
//!               └─ definition: what each candidate says of itself, and the program that runs it
//!                  └─ bound values: its code, and what its server gets from the configuration
//! ```
//!
//! Everyone finds by the key: the result cache, single flight, runs, approvals and cassettes. Whether what was found still
//! counts is decided by the definition: with another one the cache and single flight miss, a run and an approval refuse, and
//! a cassette answers with a notice.
//!
//! What is still to happen (a stored approval, a shared call, the next equal effect of a run) counts with its bound values too.
//! What has happened does not: a run gives a result again after a token was renewed or a function was mended. Digests of bound
//! values stay in memory, because short values could be guessed from them; the store keys those that it keeps.
//!
//! A server that has not listed a tool has not defined it. That is a definition of its own (`listed: false`), equal to no
//! other one, so what was kept without a definition does not count for a tool that has one.

use crate::Candidate;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use toolhub_text::canonical::{canonical, canonical_object, digest_of, json_digest, text_digest};
use toolhub_text::{Message, message};
use toolhub_types::blocking::is_large;
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::model::{BoundValue, CallOptions, KeyDigests, Source};

/// Members of `meta` that are new for each request, and say nothing about what is asked for.
const TRANSIENT: [&str; 4] = ["traceparent", "tracestate", "baggage", "progressToken"];
/// The version of a server's program. A replay starts no server and knows none.
const PROGRAM_VERSION: &str = "program_version";
/// The digits of a digest that a person reads.
const DIGITS: usize = 12;

/// Which tool is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallTarget {
    /// By name, as a program calls it.
    Name(Arc<str>),
    /// Every tool with this capability.
    Capability(Arc<str>),
    /// As a model asked: the name, and the `source` of its request.
    Routed { name: Arc<str>, source: Option<Arc<str>> },
}

impl CallTarget {
    /// The name of the tool, or the capability.
    pub fn name(&self) -> &Arc<str> {
        match self {
            CallTarget::Name(name) | CallTarget::Capability(name) | CallTarget::Routed { name, .. } => name,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            CallTarget::Name(_) => "name",
            CallTarget::Capability(_) => "capability",
            CallTarget::Routed { .. } => "routed",
        }
    }
}

/// What a caller sends with a call.
#[derive(Clone, Debug, Default)]
pub struct CallContent {
    pub arguments: Value,
    /// Passed on to the tool's server.
    pub meta: Map<String, Value>,
    /// Values of the caller for the tools that have parameters of these names; `Null` without any.
    pub passed_on: Value,
}

impl CallContent {
    /// What a call sends that passes no values on.
    pub fn of(arguments: &Value, meta: &Map<String, Value>) -> Self {
        CallContent { arguments: arguments.clone(), meta: meta.clone(), passed_on: Value::Null }
    }

    /// Whether it takes a while to make the key.
    pub fn is_large(&self) -> bool {
        [&self.arguments, &self.passed_on].into_iter().chain(self.meta.values()).any(is_large)
    }
}

/// Why arguments have no JSON form.
#[derive(Clone, Debug)]
pub struct NotJson {
    pub sentence: Message,
    /// They have too many values.
    pub too_many: bool,
}

impl NotJson {
    /// The refusal of a call with such arguments.
    pub fn refusal(&self, tool: &str) -> HubError {
        let kind = if self.too_many { ErrorKind::Limit } else { ErrorKind::InvalidArguments };
        let text = message!("Invalid arguments for '{}': {}", clip(tool), self.sentence);
        HubError::new(kind, text).with_outcome(Outcome::NotSent)
    }

    pub fn not_given() -> Self {
        NotJson { sentence: message!("they were not given"), too_many: false }
    }
}

/// By what a call is found.
#[derive(Debug)]
pub struct CallKey {
    parts: Map<String, Value>,
    digests: KeyDigests,
}

impl CallKey {
    /// `options` are those that the caller gave, before a route or permissions narrow them.
    pub fn new(target: &CallTarget, options: &CallOptions, content: CallContent) -> Self {
        let CallContent { arguments, mut meta, passed_on } = content;
        meta.retain(|name, _| !TRANSIENT.contains(&name.as_str()));
        let source = match target {
            CallTarget::Routed { source, .. } => source.as_deref(),
            _ => options.source.map(Source::name),
        };
        let mut parts = Map::new();
        let mut put = |name: &str, value: Value| drop(parts.insert(name.to_owned(), value));
        put("principal", options.principal.as_deref().unwrap_or_default().into());
        put("target", target.kind().into());
        put("tool", target.name().as_ref().into());
        put("source", source.into());
        put("server", options.server.as_deref().into());
        put("arguments", if arguments.is_null() { json!({}) } else { arguments });
        put("meta", Value::Object(meta));
        if !passed_on.is_null() {
            put("passed_on", passed_on);
        }
        CallKey::of(parts)
    }

    /// Of parts that were kept.
    pub fn from_parts(parts: Value) -> Self {
        CallKey::of(if let Value::Object(parts) = parts { parts } else { Map::new() })
    }

    fn of(mut parts: Map<String, Value>) -> Self {
        let arguments = parts.get("arguments").map(json_digest).unwrap_or_default();
        // Large arguments are written and hashed once: in the text of the key their digest stands for them.
        let given =
            parts.get_mut("arguments").map(|given| std::mem::replace(given, arguments.as_str().into()));
        let key = text_digest(&canonical_object(&parts)).into();
        if let (Some(place), Some(given)) = (parts.get_mut("arguments"), given) {
            *place = given;
        }
        CallKey { digests: KeyDigests { key, arguments: arguments.into() }, parts }
    }

    pub fn digest(&self) -> &Arc<str> {
        &self.digests.key
    }

    pub fn digests(&self) -> &KeyDigests {
        &self.digests
    }

    pub fn parts(&self) -> &Map<String, Value> {
        &self.parts
    }
}

/// What one candidate is: what it says of itself, and who runs it.
#[derive(Debug)]
pub struct CandidateDefinition {
    /// Long members are digests. What people compare is there as it is.
    members: Value,
    pub digest: Arc<str>,
    /// Names and digests of the values that it is bound to. Not to be written anywhere.
    bound: Vec<(Option<String>, String)>,
    /// Of `digest` and `bound`. Not to be written anywhere.
    whole: String,
}

impl CandidateDefinition {
    pub fn members(&self) -> &Value {
        &self.members
    }

    pub(crate) fn of(candidate: &Candidate) -> Self {
        let (spec, tool) = (candidate.spec(), &candidate.tool);
        let mut members = json!({
            "tool": &*spec.name,
            "source": candidate.source.name(),
            "server": candidate.server.as_deref(),
            "program": tool.provider(),
            "version": spec.version.as_deref(),
            "listed": tool.is_defined(),
            "description": json_digest(&json!(&*spec.description)),
            "parameters": json_digest(&spec.parameters),
            "annotations": json_digest(&json!(&spec.annotations)),
            "extras": json_digest(&Value::Object(tool.definition_extras())),
        });
        if let Some(version) = tool.program_version() {
            members[PROGRAM_VERSION] = version.into();
        }
        let digest = json_digest(&members);
        let of_parts = |value: BoundValue| {
            (value.name, digest_of(&value.parts.iter().map(String::as_str).collect::<Vec<_>>()))
        };
        let bound: Vec<_> = tool.bound().into_iter().map(of_parts).collect();
        let mut parts = vec![digest.as_str()];
        parts.extend(bound.iter().flat_map(|(name, digest)| [name.as_deref().unwrap_or_default(), digest]));
        CandidateDefinition { whole: digest_of(&parts), digest: digest.as_str().into(), bound, members }
    }
}

/// Whether both are the same tool, run by the same program.
pub fn is_same_tool(one: &Candidate, other: &Candidate) -> bool {
    // A tool of this process is its own program. A server's tool is a new object each time it is published.
    let is_in_process = one.tool.identity().is_some() || other.tool.identity().is_some();
    match is_in_process {
        true => Arc::ptr_eq(&one.tool, &other.tool),
        false => CandidateDefinition::of(one).whole == CandidateDefinition::of(other).whole,
    }
}

/// What the candidates of a call are, whatever their order.
#[derive(Clone, Debug)]
pub struct CallDefinition {
    tools: Vec<Arc<CandidateDefinition>>,
}

impl CallDefinition {
    pub fn new(mut tools: Vec<Arc<CandidateDefinition>>) -> Self {
        tools.sort_by(|one, other| (&one.digest, &one.whole).cmp(&(&other.digest, &other.whole)));
        tools.dedup_by(|one, other| one.whole == other.whole);
        CallDefinition { tools }
    }

    /// With the values that it is bound to: not to be written anywhere.
    pub fn digest(&self) -> String {
        digest_of(&self.tools.iter().map(|tool| tool.whole.as_str()).collect::<Vec<_>>())
    }

    /// Each provider, and a digest of what it is, with the values that it is bound to: not to be written anywhere.
    pub fn by_provider(&self) -> Vec<(String, String)> {
        let mut providers = BTreeMap::<String, String>::new();
        for tool in &self.tools {
            let place =
                ["tool", "source", "server"].map(|name| tool.members[name].as_str().unwrap_or_default());
            // Several functions may stand side by side.
            providers.entry(digest_of(&place)).or_default().push_str(&tool.whole);
        }
        providers.into_iter().collect()
    }

    /// What is kept of it: equal for equal definitions, and enough to say later what has changed.
    pub fn text(&self) -> String {
        let mut tools: Vec<_> = self.tools.iter().collect();
        tools.dedup_by(|one, other| one.digest == other.digest);
        canonical(&Value::Array(tools.into_iter().map(|tool| tool.members.clone()).collect()))
    }

    /// The values that people know by name, with their digests: not to be written anywhere.
    pub fn bound_values(&self) -> Vec<(String, String)> {
        let named = self.tools.iter().flat_map(|tool| {
            let of_tool = tool.bound.iter().filter_map(|(name, digest)| Some((name.as_deref()?, digest)));
            of_tool.map(|(name, digest)| (of_server(&tool.members, name), digest.clone()))
        });
        named.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What has changed since the definition of one tool was kept; `None` if nothing has.
    pub fn change_of(&self, kept: &Value) -> Option<String> {
        let is_it = |tool: &&Arc<CandidateDefinition>| {
            ["tool", "source", "server"].iter().all(|name| tool.members[*name] == kept[*name])
        };
        match self.tools.iter().find(is_it) {
            None => Some("it has no such provider".to_owned()),
            Some(tool) => {
                let mut now = tool.members.clone();
                if let Some(version) =
                    kept.get(PROGRAM_VERSION).filter(|_| now.get(PROGRAM_VERSION).is_none())
                {
                    now[PROGRAM_VERSION] = version.clone();
                }
                (now != *kept).then(|| format!("it differs in {}", changed_members(kept, &now)))
            }
        }
    }

    /// Who runs the candidates, for a person who decides: `bank: python bank.py`.
    pub fn programs(&self) -> Vec<String> {
        let of_tool =
            |tool: &Arc<CandidateDefinition>| Some(of_server(&tool.members, &program(&tool.members)?));
        self.tools.iter().filter_map(of_tool).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// `bank: KEY`, for what belongs to a server.
fn of_server(members: &Value, what: &str) -> String {
    members["server"].as_str().map_or_else(|| what.to_owned(), |server| format!("{server}: {what}"))
}

/// Both definitions, each as [`CallDefinition::text`] has kept it, and what differs.
pub fn definition_change(before: &str, now: &str) -> Message {
    let read = |text: &str| serde_json::from_str::<Vec<Value>>(text).unwrap_or_default();
    let is_equal = before == now;
    let (before, now) = (read(before), read(now));
    let shown = |tools: &[Value]| match tools.is_empty() {
        true => "unknown".to_owned(),
        false => tools.iter().map(shown_tool).collect::<Vec<_>>().join(" and "),
    };
    if is_equal {
        return message!(
            "{}; since then its code, or a value that its server gets, has changed",
            shown(&now)
        );
    }
    let (was, is) = (shown(&before), shown(&now));
    match (before.as_slice(), now.as_slice()) {
        ([one], [other]) => {
            message!("then {}, now {}; it differs in {}", was, is, changed_members(one, other))
        }
        _ => message!("then {}, now {}", was, is),
    }
}

fn changed_members(before: &Value, now: &Value) -> String {
    let names =
        |tool: &'_ Value| tool.as_object().into_iter().flat_map(Map::keys).cloned().collect::<Vec<_>>();
    let gone = names(before).into_iter().filter(|name| now.get(name).is_none());
    let changed = names(now).into_iter().chain(gone).filter(|name| before[name] != now[name]);
    changed.collect::<Vec<_>>().join(", ")
}

/// `mcps:bank (python bank.py, definition 3f2a9c41d0e2)`
fn shown_tool(members: &Value) -> String {
    let text = |name: &str| members[name].as_str().unwrap_or_default();
    let place = match text("server") {
        "" => text("source").to_owned(),
        server => format!("{}:{server}", text("source")),
    };
    let digest = json_digest(members);
    let known = match members["listed"].as_bool() {
        Some(true) => format!("definition {}", &digest["sha256:".len()..][..DIGITS]),
        _ => "not listed".to_owned(),
    };
    match program(members) {
        Some(program) => format!("{place} ({program}, {known})"),
        None => format!("{place} ({known})"),
    }
}

/// A program or an address, in words: `python bank.py with KEY, version 1.2`.
fn program(members: &Value) -> Option<String> {
    let place = place(&members["program"])?;
    let version = members[PROGRAM_VERSION].as_str().map(|version| format!(", version {version}"));
    Some(place + &version.unwrap_or_default())
}

fn place(provider: &Value) -> Option<String> {
    let list = |name: &str| provider[name].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(url) = provider["url"].as_str() {
        return Some(url.to_owned());
    }
    let mut text = provider["command"].as_str()?.to_owned();
    text.extend(list("args").flat_map(|argument| [" ", argument]));
    if let Some(folder) = provider["cwd"].as_str() {
        text.push_str(&format!(" in {folder}"));
    }
    let names = list("env").collect::<Vec<_>>().join(", ");
    if !names.is_empty() {
        text.push_str(&format!(" with {names}"));
    }
    Some(text)
}

/// A call as everyone recognises it.
#[derive(Clone, Debug)]
pub struct CallIdentity {
    pub key: Arc<CallKey>,
    pub definition: CallDefinition,
}

impl CallIdentity {
    /// One digest of both parts, for what is void with another definition. Not to be written anywhere.
    pub fn digest(&self) -> Arc<str> {
        digest_of(&[self.key.digest(), &self.definition.digest()]).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(target: &CallTarget, options: &CallOptions, arguments: Value, meta: Value) -> Arc<str> {
        let Value::Object(meta) = meta else { panic!("meta is an object") };
        let content = CallContent { arguments, meta, passed_on: Value::Null };
        CallKey::new(target, options, content).digests.key
    }

    #[test]
    fn each_part_of_a_key_tells_calls_apart() {
        let name = |name: &str| CallTarget::Name(name.into());
        let routed =
            |source: Option<&str>| CallTarget::Routed { name: "pay".into(), source: source.map(Arc::from) };
        let plain = CallOptions::default();
        let at = |server: &str| CallOptions { server: Some(server.into()), ..CallOptions::default() };
        let of =
            |principal: &str| CallOptions { principal: Some(principal.into()), ..CallOptions::default() };
        let from = |source| CallOptions { source: Some(source), ..CallOptions::default() };
        let none = || json!({});
        let keys = [
            key(&name("pay"), &plain, none(), none()),
            key(&name("pays"), &plain, none(), none()),
            key(&CallTarget::Capability("pay".into()), &plain, none(), none()),
            key(&routed(None), &plain, none(), none()),
            key(&routed(Some("bank_a")), &plain, none(), none()),
            key(&routed(Some("bank_b")), &plain, none(), none()),
            key(&name("pay"), &at("bank_a"), none(), none()),
            key(&name("pay"), &at("bank_b"), none(), none()),
            key(&name("pay"), &from(Source::Mcps), none(), none()),
            key(&name("pay"), &from(Source::Tools), none(), none()),
            key(&name("pay"), &of("ann"), none(), none()),
            key(&name("pay"), &plain, json!({"a": "caf\u{e9}"}), none()),
            key(&name("pay"), &plain, json!({"a": "cafe\u{301}"}), none()),
            key(&name("pay"), &plain, none(), json!({"tenant": 1})),
            key(&name("pay"), &plain, none(), json!({"tenant": 2})),
        ];
        let distinct: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
    }

    #[test]
    fn spellings_and_tokens_of_a_request_make_no_difference() {
        let (target, options) = (CallTarget::Name("pay".into()), CallOptions::default());
        let of = |arguments: &str, meta: Value| {
            key(&target, &options, serde_json::from_str(arguments).unwrap(), meta)
        };
        let one = of(r#"{"a": 1, "b": [2]}"#, json!({"tenant": 1}));
        assert_eq!(one, of(r#"{"b": [2.0], "a": 1e0}"#, json!({"tenant": 1.0})));
        let tokens = json!({"tenant": 1, "progressToken": 7, "traceparent": "00-1", "tracestate": "x", "baggage": "y"});
        assert_eq!(one, of(r#"{"a": 1, "b": [2]}"#, tokens));
        assert_eq!(of("null", json!({})), of("{}", json!({})));
    }

    #[test]
    fn a_change_names_both_programs_and_what_differs() {
        let tool = |program: &str| {
            let members = json!({
                "tool": "pay", "source": "mcps", "server": "bank", "listed": true,
                "program": {"command": "python", "args": [program], "cwd": null, "env": ["KEY"]},
            });
            json!([members]).to_string()
        };
        let text = definition_change(&tool("a.py"), &tool("b.py"));
        assert!(text.starts_with("then mcps:bank (python a.py with KEY, definition "), "{text}");
        assert!(text.contains("now mcps:bank (python b.py with KEY, definition "), "{text}");
        assert!(text.ends_with("; it differs in program"), "{text}");
        assert!(definition_change("", &tool("a.py")).starts_with("then unknown, now mcps:bank"));
    }
}
