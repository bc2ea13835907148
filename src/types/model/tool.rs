//! One tool as data: what it says about itself, what makes two registrations the same tool, how its arguments are checked.

use super::{Effects, Strategy, Trust};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The description of one tool of one source. Shared, never changed after registration.
#[derive(Clone, Debug, Default)]
pub struct ToolSpec {
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// JSON Schema of the arguments; key order is kept.
    pub parameters: Arc<Value>,
    pub capabilities: Vec<Arc<str>>,
    /// What kind of tool it is, by its name or the user's word; never by a word of its description.
    pub kinds: Vec<Arc<str>>,
    pub effects: Effects,
    /// How far the source of the tool is trusted.
    pub trust: Trust,
    pub idempotent: bool,
    /// MCP-style hints as they were given; unknown ones are kept.
    pub annotations: Map<String, Value>,
    pub examples: Vec<Value>,
    pub category: Option<Arc<str>>,
    pub version: Option<Arc<str>>,
    pub timeout: Option<Duration>,
    /// How the candidates of this name are used, unless a call says otherwise.
    pub strategy: Option<Strategy>,
    /// The user says that it is a candidate of every tool of its name.
    pub is_candidate: bool,
    pub max_concurrency: Option<usize>,
    /// The argument that a bare value is for, when the schema does not show it.
    pub bare_argument: Option<Arc<str>>,
    /// Where the `SKILL.md` of a skill is, a path or a URI. Such a tool gives instructions; others have none.
    pub location: Option<Arc<str>>,
    /// Not for models: in no prompt, and a model's call is refused. Programs call it by name.
    pub is_hidden: bool,
}

impl ToolSpec {
    /// A spec with nothing but a name; the caller fills in the other fields.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        let parameters = Arc::new(serde_json::json!({"type": "object"}));
        ToolSpec { name: name.into(), parameters, trust: Trust::Full, ..ToolSpec::default() }
    }

    pub fn has_capability(&self, tag: &str) -> bool {
        self.capabilities.iter().any(|c| &**c == tag)
    }

    /// The argument that a bare value is for: the one that the tool names, the only required one, or the only one at all.
    pub fn single_argument(&self) -> Option<&str> {
        if let Some(named) = &self.bare_argument {
            return Some(named);
        }
        let properties = self.parameters.get("properties")?.as_object()?;
        let required = self.parameters.get("required").and_then(Value::as_array);
        match required.map(Vec::as_slice) {
            Some([one]) => one.as_str().filter(|name| properties.contains_key(*name)),
            None | Some([]) if properties.len() == 1 => properties.keys().next().map(String::as_str),
            _ => None,
        }
    }

    /// Whether a second run does no harm.
    pub fn is_repeatable(&self) -> bool {
        self.idempotent || self.effects.are_harmless()
    }

    /// Whether a JSON object that came as text holds the arguments of this tool, as APIs and models write them. Otherwise the
    /// text is the value of one argument. `takes_text` says whether there is an argument for it; if there is none, the
    /// object is read in any case, and the schema judges it.
    ///
    /// An object is read if all its keys are parameters. An argument that is declared as JSON text
    /// (`contentMediaType: application/json`, or the format `json`) keeps its text.
    pub fn reads_as_arguments<'a>(&self, keys: impl IntoIterator<Item = &'a str>, takes_text: bool) -> bool {
        if !takes_text {
            return true;
        }
        let properties = self.parameters.get("properties").and_then(Value::as_object);
        let property = |key: &str| properties.and_then(|properties| properties.get(key));
        if self.single_argument().and_then(property).is_some_and(is_json_text) {
            return false;
        }
        let mut keys = keys.into_iter().peekable();
        if keys.peek().is_none() {
            let required = self.parameters.get("required").and_then(Value::as_array);
            return required.is_none_or(Vec::is_empty);
        }
        keys.all(|key| property(key).is_some())
    }
}

fn is_json_text(schema: &Value) -> bool {
    let says = |key: &str, word: &str| schema.get(key).and_then(Value::as_str) == Some(word);
    says("contentMediaType", "application/json") || says("format", "json") || says("format", "json-string")
}

/// Tags as they are looked for: in lower case, each once.
pub fn tags(given: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in given {
        let tag = tag.trim().to_lowercase();
        if !tag.is_empty() && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

/// Where a tool of the program comes from. The numbers are addresses of objects that the tool keeps alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolIdentity {
    /// The registered object.
    pub object: usize,
    /// The qualified name of what defines it; `None` for what has no name, such as a lambda.
    pub name: Option<Arc<str>>,
    /// The definition itself: the code of a function, the class of an object.
    pub definition: usize,
    /// What tells apart things that one definition has made: values in a closure, defaults, the object of a method.
    pub parts: Vec<usize>,
    /// A digest of what runs: the code, and the plain values that it was made with. Equal in another process of the same Python.
    pub code: Arc<str>,
}

/// Something that a tool runs with and that nobody is shown: code, or a value that may be secret.
#[derive(Clone, PartialEq, Eq)]
pub struct BoundValue {
    /// What people know it by; `None` for code, which is known by the tool.
    pub name: Option<String>,
    pub parts: Vec<String>,
}

impl fmt::Debug for BoundValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundValue").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ToolIdentity {
    /// The same object, or a new definition under the same qualified name: the cell of a notebook that was run again, a module
    /// that was reloaded. Two things that one definition has made, such as two instances of a class, are not the same.
    pub fn is_same(&self, other: &ToolIdentity) -> bool {
        let is_redefined = self.definition != other.definition || self.parts == other.parts;
        self.object == other.object || (self.name.is_some() && self.name == other.name && is_redefined)
    }
}

/// Runs work that may take long.
pub type Offload<'a> = &'a dyn Fn(&mut (dyn FnMut() + Send));

/// How arguments are checked.
#[derive(Clone, Copy)]
pub struct CheckOptions<'a> {
    /// Whether arguments may be replaced by others that fit and mean the same.
    pub coerce: bool,
    /// Runs a check that takes longer than usual (up to some tenths of a second), where it holds up no other work.
    pub offload: Offload<'a>,
}

impl CheckOptions<'_> {
    /// A check on the current thread.
    pub fn here(coerce: bool) -> Self {
        CheckOptions { coerce, offload: &|work| work() }
    }
}

/// A rule of a schema that was not checked, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// The keyword, as a JSON pointer into the schema.
    pub place: Arc<str>,
    pub reason: &'static str,
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} is not checked: {}", self.place, self.reason)
    }
}

/// Arguments that fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitting<T> {
    /// What replaces the arguments; `None` if they fit as they are.
    pub replacement: Option<T>,
    /// Rules that were not checked.
    pub unchecked: Vec<Unchecked>,
}

impl<T> Fitting<T> {
    pub fn unchanged() -> Self {
        Fitting { replacement: None, unchecked: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(parameters: Value) -> ToolSpec {
        ToolSpec { parameters: Arc::new(parameters), ..ToolSpec::named("t") }
    }

    #[test]
    fn a_bare_value_goes_to_the_only_required_argument() {
        let spec = with(json!({"properties": {"a": {}, "b": {}}, "required": ["b"]}));
        assert_eq!(spec.single_argument(), Some("b"));
        assert_eq!(with(json!({"properties": {"a": {}}})).single_argument(), Some("a"));
        assert_eq!(
            with(json!({"properties": {"a": {}, "b": {}}, "required": ["a", "b"]})).single_argument(),
            None
        );
        assert_eq!(with(json!({"type": "object"})).single_argument(), None);
        assert_eq!(with(json!({"properties": {"a": {}}, "required": ["ghost"]})).single_argument(), None);
        let named =
            ToolSpec { bare_argument: Some("b".into()), ..with(json!({"properties": {"a": {}, "b": {}}})) };
        assert_eq!(named.single_argument(), Some("b"));
    }

    #[test]
    fn an_object_in_a_text_holds_arguments_if_its_keys_are_parameters() {
        let one = with(json!({"properties": {"text": {"type": "string"}}, "required": ["text"]}));
        let two = with(json!({"properties": {"a": {}, "b": {}}, "required": ["a"]}));
        let none = with(json!({"type": "object"}));
        let json = json!({"type": "string", "contentMediaType": "application/json"});
        let json = with(json!({"properties": {"text": json}}));
        // spec, keys, whether a text can be an argument → whether it is read
        let table: [(&ToolSpec, &[&str], bool, bool); 10] = [
            (&one, &["text"], true, true),
            (&one, &["city"], true, false),
            (&one, &["text", "city"], true, false),
            (&one, &[], true, false),
            (&two, &["b", "a"], true, true),
            (&two, &["a", "c"], true, false),
            (&none, &[], true, true),
            (&none, &["a"], true, false),
            (&none, &["a"], false, true),
            (&json, &["text"], true, false),
        ];
        for (spec, keys, takes_text, read) in table {
            let is_read = spec.reads_as_arguments(keys.iter().copied(), takes_text);
            assert_eq!(is_read, read, "{keys:?} for {}", spec.parameters);
        }
    }
}

#[cfg(test)]
mod identity_tests {
    use super::*;

    #[test]
    fn a_new_definition_of_a_name_is_the_same_tool_and_another_product_of_one_definition_is_not() {
        let tool = |object, name: Option<&str>, definition, parts: &[usize]| ToolIdentity {
            object,
            name: name.map(Arc::from),
            definition,
            parts: parts.to_vec(),
            code: "".into(),
        };
        let first = tool(1, Some("app.search"), 10, &[5]);
        assert!(first.is_same(&tool(1, None, 0, &[])), "the same object");
        assert!(first.is_same(&tool(2, Some("app.search"), 11, &[6])), "defined again");
        assert!(first.is_same(&tool(2, Some("app.search"), 10, &[5])), "made again from the same values");
        assert!(!first.is_same(&tool(2, Some("app.search"), 10, &[6])), "made from other values");
        assert!(!first.is_same(&tool(2, Some("app.find"), 11, &[5])));
        assert!(!tool(1, None, 10, &[]).is_same(&tool(2, None, 11, &[])), "lambdas have no name");
    }
}
