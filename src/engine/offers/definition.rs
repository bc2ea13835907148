//! What a program may offer: which keys, templates and functions go together.

use super::query::{self, refused};
use super::template::UriTemplate;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use toolhub_text::message;
use toolhub_types::error::{HubError, clip};
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
    ) -> Result<Self, HubError> {
        let what = noun(kind);
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
        check_parameters(kind, &key, template.as_ref(), &function)?;
        let kind = if template.is_some() { OfferKind::ResourceTemplates } else { kind };
        check_completions(&key, template.as_ref(), &function, &completions)?;
        let mut shown = Map::from_iter([(kind.key().to_owned(), json!(key))]);
        shown.extend(entry);
        if kind == OfferKind::Prompts {
            let arguments = query::from_schema(&function.spec().parameters);
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

/// The variables of a template are the parameters of its function. A resource without variables has none to give.
fn check_parameters(
    kind: OfferKind,
    key: &str,
    template: Option<&UriTemplate>,
    function: &Arc<dyn Tool>,
) -> Result<(), HubError> {
    if kind == OfferKind::Prompts {
        return Ok(());
    }
    let schema = &function.spec().parameters;
    let takes =
        |name: &str| schema.get("properties").is_some_and(|properties| properties.get(name).is_some());
    let takes_any = schema.get("additionalProperties").is_some_and(|more| *more != json!(false));
    let variables: Vec<&str> = template.into_iter().flat_map(UriTemplate::variables).collect();
    if let Some(unknown) = variables.iter().find(|name| !takes(name) && !takes_any) {
        let text =
            message!("The function for '{}' has no parameter for the variable '{}'.", clip(key), unknown);
        return Err(refused(text));
    }
    let given: Vec<&str> = template.into_iter().flat_map(UriTemplate::required).collect();
    let mut required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let lacking = required.find_map(|name| name.as_str().filter(|name| !given.contains(name)));
    match lacking {
        None => Ok(()),
        Some(name) => {
            let text = message!(
                "The parameter '{}' of the function for '{}' needs a default, or a variable in the URI.",
                name,
                clip(key)
            );
            Err(refused(text))
        }
    }
}

/// Completions are for arguments and variables that there are.
fn check_completions(
    key: &str,
    template: Option<&UriTemplate>,
    function: &Arc<dyn Tool>,
    completions: &[(String, Suggestions)],
) -> Result<(), HubError> {
    let properties = function.spec().parameters.get("properties");
    let is_known = |name: &str| match template {
        Some(template) => template.variables().any(|one| one == name),
        None => properties.is_some_and(|properties| properties.get(name).is_some()),
    };
    match completions.iter().find(|(name, _)| !is_known(name)) {
        None => Ok(()),
        Some((name, _)) => Err(refused(message!(
            "'{}' has no argument '{}' that could be completed.",
            clip(key),
            clip(name)
        ))),
    }
}

/// Whether it is the same function, defined again.
pub fn is_same(known: &NativeOffer, new: &NativeOffer) -> bool {
    match (known.function.identity(), new.function.identity()) {
        (Some(known), Some(new)) => known.is_same(new),
        _ => false,
    }
}

/// How an error names it.
pub fn noun(kind: OfferKind) -> &'static str {
    if kind == OfferKind::Prompts { "prompt" } else { "resource" }
}
