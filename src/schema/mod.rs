//! Checking arguments against a JSON Schema before a call leaves.
//!
//! ```text
//! compile.rs   schema → one validator a tool, made at its first call;  cost.rs: what asking it may cost
//! coerce.rs    what is wrong → harmless replacements, until it fits;  convert.rs: one value → another
//! words.rs     what is still wrong → sentences for a model;  phrases.rs: the words in them
//! ```
//!
//! Arguments that fit cost one pass of the validator and no copy. Only those that do not are copied, mended where that is
//! harmless, and checked again. Schemas are data of strangers: nothing is fetched (the crate is built without resolvers),
//! patterns run on the linear engine, and a schema that does not compile checks nothing instead of losing the tool.

mod coerce;
mod compile;
mod convert;
mod cost;
mod phrases;
mod words;

use crate::error::{ErrorKind, HubError, clip};
use crate::model::Arguments;
use jsonschema::Validator;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use words::Speaker;

/// What a tool's arguments must look like.
pub struct ArgumentSchema(Schema);

impl ArgumentSchema {
    pub fn new(schema: Arc<Value>) -> Self {
        ArgumentSchema(Schema::new(schema))
    }

    /// `None` when the arguments fit as they are, others when they could be made to fit without harm and `coerce` allows
    /// it. Refuses with a sentence that names each path, what was expected and what was given.
    pub fn check(&self, tool: &str, args: &Arguments, coerce: bool) -> Result<Option<Arguments>, HubError> {
        let given = args.as_value();
        let Some(validator) = self.0.refusing(given) else { return Ok(None) };
        let mended = match coerce.then(|| coerce::mended(&self.0.schema, validator, given)) {
            Some((Value::Object(fitting), true)) => return Ok(Some(Arguments::new(fitting))),
            // What could be mended needs no words.
            Some((value, _)) => Cow::Owned(value),
            None => Cow::Borrowed(given),
        };
        let speaker = Speaker { root: &self.0.schema, given, value: &mended, part: "argument" };
        let violations = speaker.tell(validator);
        let text = format!("Invalid arguments for '{}': {violations}.", clip(tool));
        Err(HubError::new(ErrorKind::InvalidArguments, text))
    }
}

/// Sentences about arguments that the schema neither knows nor forbids. They are passed on, since servers may take more than
/// they say; but a misspelt name would be lost without a word.
pub fn unknown_arguments<'a>(schema: &Value, given: impl Iterator<Item = &'a str>) -> Vec<String> {
    // Where other keywords speak about names too, it is not said here which are known.
    const NAMING: [&str; 12] = [
        "additionalProperties",
        "unevaluatedProperties",
        "patternProperties",
        "propertyNames",
        "$ref",
        "$dynamicRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "dependentSchemas",
        "dependencies",
    ];
    let Some(known) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let unknown: Vec<&str> = given.filter(|name| !known.contains_key(*name)).collect();
    if unknown.is_empty() || NAMING.iter().any(|keyword| schema.get(keyword).is_some()) {
        return Vec::new();
    }
    let known: Vec<&str> = known.keys().map(String::as_str).collect();
    unknown.iter().take(words::LISTED).map(|name| words::passed_on(name, &known)).collect()
}

/// What a tool says that its structured results look like.
pub struct ResultSchema(Schema);

impl ResultSchema {
    pub fn new(schema: Arc<Value>) -> Self {
        ResultSchema(Schema::new(schema))
    }

    pub fn check(&self, tool: &str, value: &Value) -> Result<(), HubError> {
        let Some(validator) = self.0.refusing(value) else { return Ok(()) };
        let speaker = Speaker { root: &self.0.schema, given: value, value, part: "key" };
        let violations = speaker.tell(validator);
        let text = format!("The result of '{}' breaks the tool's own schema: {violations}.", clip(tool));
        Err(HubError::new(ErrorKind::Protocol, text))
    }
}

struct Schema {
    schema: Arc<Value>,
    compiled: OnceLock<Option<Validator>>,
}

impl Schema {
    fn new(schema: Arc<Value>) -> Self {
        Schema { schema, compiled: OnceLock::new() }
    }

    /// The validator, when it does not take the value as it is.
    fn refusing(&self, value: &Value) -> Option<&Validator> {
        let validator = self.compiled.get_or_init(|| compile::compile(&self.schema)).as_ref()?;
        (!validator.is_valid(value)).then_some(validator)
    }
}
