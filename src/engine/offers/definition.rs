//! What a program may offer: which keys, templates and functions go together.

use super::template::UriTemplate;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::model::OfferKind;
use toolhub_types::tool::Tool;

/// In characters.
const LONGEST_KEY: usize = 8_000;

/// Where the values that are suggested for an argument come from.
pub enum Suggestions {
    Values(Vec<String>),
    /// Called with what the user has begun, and with the other arguments if it has a second parameter.
    Function(Arc<dyn Tool>),
}

/// One resource, template or prompt of the hub.
pub struct NativeOffer {
    pub kind: OfferKind,
    /// The URI or template of a resource, or the name of a prompt.
    pub key: String,
    /// What a list shows.
    pub entry: Value,
    pub template: Option<UriTemplate>,
    pub function: Arc<dyn Tool>,
    /// By argument or variable.
    pub completions: Vec<(String, Suggestions)>,
}

impl NativeOffer {
    /// `kind` is `Resources` for templates, too. `entry` is what a list shows in addition to the key: `name`, `title`,
    /// `description`, `mimeType` and others.
    pub fn new(
        kind: OfferKind,
        key: String,
        entry: Map<String, Value>,
        function: Arc<dyn Tool>,
        completions: Vec<(String, Suggestions)>,
    ) -> Result<Self> {
        let what = kind.noun();
        if key.trim().is_empty() || key.chars().any(char::is_control) || key.chars().count() > LONGEST_KEY {
            let text = message!(
                "'{}' cannot name a {}: it must have 1 to {} characters, and no control characters.",
                clip(&key),
                what,
                LONGEST_KEY
            );
            return Err(refused(text));
        }
        let template = match kind {
            OfferKind::Prompts => None,
            _ if !has_scheme(&key) => {
                let text =
                    message!("'{}' is not a URI: it needs a scheme, such as note://today.", clip(&key));
                return Err(refused(text));
            }
            _ => UriTemplate::parse(&key).map_err(|reason| {
                refused(message!("The template '{}' cannot be used: {}.", clip(&key), reason))
            })?,
        };
        check(kind, &key, template.as_ref(), &function.spec().parameters, &completions).map_err(refused)?;
        let kind = if template.is_some() { OfferKind::ResourceTemplates } else { kind };
        let mut shown = Map::from_iter([(kind.key().to_owned(), json!(key))]);
        shown.extend(entry);
        if kind == OfferKind::Prompts {
            let arguments = from_schema(&function.spec().parameters);
            shown.insert("arguments".to_owned(), json!(arguments));
        }
        Ok(NativeOffer { kind, key, entry: Value::Object(shown), template, function, completions })
    }

    /// All functions of the program that it holds.
    pub fn functions(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        let completing = self.completions.iter().filter_map(|(_, from)| match from {
            Suggestions::Function(function) => Some(function),
            Suggestions::Values(_) => None,
        });
        std::iter::once(&self.function).chain(completing)
    }
}

fn has_scheme(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once(':') else { return false };
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.bytes().all(fits)
        && scheme.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
        && !rest.is_empty()
}

/// The variables of a template are the parameters of its function; a resource without variables has none to give. Completions are
/// for arguments and variables that there are.
fn check(
    kind: OfferKind,
    key: &str,
    template: Option<&UriTemplate>,
    schema: &Value,
    completions: &[(String, Suggestions)],
) -> Result<(), Message> {
    let takes = |name: &str| schema.get("properties").is_some_and(|all| all.get(name).is_some());
    let takes_any = schema.get("additionalProperties").is_some_and(|more| *more != json!(false));
    let variables: Vec<&str> = template.into_iter().flat_map(UriTemplate::variables).collect();
    if let Some(unknown) = variables.iter().find(|name| !takes(name) && !takes_any) {
        return Err(message!(
            "The function for '{}' has no parameter for the variable '{}'.",
            clip(key),
            unknown
        ));
    }
    let given: Vec<&str> = template.into_iter().flat_map(UriTemplate::required).collect();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut lacking = required.filter_map(Value::as_str).filter(|name| !given.contains(name));
    if kind != OfferKind::Prompts
        && let Some(name) = lacking.next()
    {
        return Err(message!(
            "The parameter '{}' of the function for '{}' needs a default, or a variable in the URI.",
            name,
            clip(key)
        ));
    }
    let is_known = |name: &str| if template.is_some() { variables.contains(&name) } else { takes(name) };
    match completions.iter().find(|(name, _)| !is_known(name)) {
        None => Ok(()),
        Some((name, _)) => {
            Err(message!("'{}' has no argument '{}' that could be completed.", clip(key), clip(name)))
        }
    }
}

/// Whether it is the same function, defined again.
pub fn is_same(known: &NativeOffer, new: &NativeOffer) -> bool {
    let both = known.function.identity().zip(new.function.identity());
    both.is_some_and(|(known, new)| known.is_same(new))
}

// Requests about one resource, template or prompt. Only what the protocol allows can be said, so that no server is sent more.

#[derive(Clone, Debug)]
pub enum OfferQuery {
    /// `resources/read`
    Read { uri: String },
    /// `prompts/get`
    Get { name: String, arguments: Map<String, Value> },
    /// `completion/complete`, of a prompt or of a template.
    Complete { of: OfferKind, key: String, argument: PartialArgument },
}

impl OfferQuery {
    pub fn method(&self) -> &'static str {
        self.form().0
    }

    /// The member that the answer must have.
    pub fn answered_by(&self) -> &'static str {
        self.form().1
    }

    /// Where the key is looked up.
    pub fn kinds(&self) -> &'static [OfferKind] {
        self.form().2
    }

    fn form(&self) -> (&'static str, &'static str, &'static [OfferKind]) {
        const PROMPT: &[OfferKind] = &[OfferKind::Prompts];
        const TEMPLATE: &[OfferKind] = &[OfferKind::ResourceTemplates, OfferKind::Resources];
        match self {
            OfferQuery::Read { .. } => ("resources/read", "contents", OfferKind::READ),
            OfferQuery::Get { .. } => ("prompts/get", "messages", PROMPT),
            OfferQuery::Complete { of, .. } => {
                let kinds = if *of == OfferKind::Prompts { PROMPT } else { TEMPLATE };
                ("completion/complete", "completion", kinds)
            }
        }
    }

    /// The URI or name, as the one who asks knows it.
    pub fn key(&self) -> &str {
        match self {
            OfferQuery::Read { uri: key }
            | OfferQuery::Get { name: key, .. }
            | OfferQuery::Complete { key, .. } => key,
        }
    }

    /// Refuses arguments that are not texts.
    pub fn check(&self) -> Result<()> {
        match self {
            OfferQuery::Read { .. } => Ok(()),
            OfferQuery::Get { name, arguments } => check_texts(name, arguments),
            OfferQuery::Complete { key, argument, .. } => check_texts(key, &argument.context),
        }
    }

    /// The parameters of the request to a server that knows it by this key.
    pub fn params(&self, key: &str) -> Map<String, Value> {
        let mut params = match self {
            OfferQuery::Read { .. } => json!({"uri": key}),
            OfferQuery::Get { arguments, .. } => json!({"name": key, "arguments": arguments}),
            OfferQuery::Complete { of, argument, .. } => {
                let reference = match of {
                    OfferKind::Prompts => json!({"type": "ref/prompt", "name": key}),
                    _ => json!({"type": "ref/resource", "uri": key}),
                };
                json!({"ref": reference, "argument": {"name": argument.name, "value": argument.value}})
            }
        };
        if let OfferQuery::Complete { argument: PartialArgument { context, .. }, .. } = self
            && !context.is_empty()
        {
            params["context"] = json!({"arguments": context});
        }
        params.as_object_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// The error for something that was asked for in a wrong way.
pub fn refused(text: Message) -> HubError {
    HubError::new(ErrorKind::InvalidArguments, text).with_outcome(Outcome::NotSent)
}

/// The text that a user has begun for an argument.
#[derive(Clone, Debug)]
pub struct PartialArgument {
    pub name: String,
    pub value: String,
    /// The arguments that are complete already.
    pub context: Map<String, Value>,
}

/// The arguments of a function that completes, by the order of its parameters.
pub fn completing(function: &Arc<dyn Tool>, request: &PartialArgument) -> Map<String, Value> {
    let names = function.spec().parameters.get("properties").and_then(Value::as_object);
    let given = [json!(request.value), Value::Object(request.context.clone())];
    names.into_iter().flat_map(Map::keys).cloned().zip(given).collect()
}

/// Refuses arguments that are not texts.
pub fn check_texts(name: &str, arguments: &Map<String, Value>) -> Result<()> {
    match arguments.iter().find(|(_, value)| !value.is_string()) {
        None => Ok(()),
        Some((key, _)) => {
            Err(refused(message!("The argument '{}' of '{}' must be a text.", clip(key), clip(name))))
        }
    }
}

/// Refuses arguments without those that the entry of a prompt requires.
pub fn check_required(name: &str, prompt: &Value, arguments: &Map<String, Value>) -> Result<()> {
    let declared = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten();
    let required = declared.filter(|one| one.get("required").and_then(Value::as_bool) == Some(true));
    let mut names = required.filter_map(|one| one.get("name")?.as_str());
    match names.find(|required| !arguments.contains_key(*required)) {
        None => Ok(()),
        Some(missing) => {
            Err(refused(message!("The prompt '{}' needs the argument '{}'.", clip(name), clip(missing))))
        }
    }
}

/// The arguments of a prompt from the JSON Schema of its function.
pub fn from_schema(schema: &Value) -> Vec<Value> {
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
    };
    let argument = |(name, property): (&String, &Value)| {
        let mut argument = Map::from_iter([("name".to_owned(), json!(name))]);
        let description = property.get("description").filter(|text| text.is_string());
        argument.extend(description.map(|text| ("description".to_owned(), text.clone())));
        argument.insert("required".to_owned(), json!(required(name)));
        Value::Object(argument)
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(argument).collect()
}

#[cfg(test)]
mod arguments_tests {
    use super::*;

    #[test]
    fn arguments_come_from_the_schema_and_are_required_texts() {
        let schema = json!({
            "type": "object",
            "properties": {"code": {"type": "string", "description": "What to review."}, "depth": {"type": "integer"}},
            "required": ["code"],
        });
        let prompt = json!({"name": "review", "arguments": from_schema(&schema)});
        assert_eq!(
            prompt["arguments"],
            json!([
                {"name": "code", "description": "What to review.", "required": true},
                {"name": "depth", "required": false},
            ])
        );
        let given = |value: Value| value.as_object().cloned().unwrap();
        assert!(check_required("review", &prompt, &given(json!({"code": "x"}))).is_ok());
        let missing = check_required("review", &prompt, &given(json!({"depth": "2"}))).unwrap_err();
        assert_eq!(missing.message, "The prompt 'review' needs the argument 'code'.");
        assert!(check_texts("review", &given(json!({"code": 1}))).is_err());
    }
}
