//! Checking and coercing arguments against a JSON Schema, for every tool: MCP tools, skills and Python functions.
//!
//! ```text
//! compile.rs     schema → one validator per tool, compiled at its first call;  cost.rs: what a check may cost
//! coerce.rs      violations → safe replacements, until the value fits;  convert.rs: one value → another
//! opaque.rs      places that hold Python objects without a JSON form: their builder judges them
//! words.rs       violations that remain → sentences for a model;  phrases.rs: the words in them
//! objections.rs  what the builder of Python values refuses → the same sentences
//! ```
//!
//! Arguments that fit cost one pass of the validator and no copy. Only those that do not fit are copied, repaired where
//! that is safe, and checked again. Schemas of servers are untrusted data: nothing is fetched (the crate is built without
//! resolvers), patterns run on the linear engine, and a schema that does not compile checks nothing rather than
//! making the tool unusable.

mod coerce;
mod compile;
mod convert;
mod cost;
mod objections;
mod opaque;
mod phrases;
mod words;

pub use objections::{Objection, PathStep, Reason};
pub use opaque::Opaque;

use crate::error::{ErrorKind, HubError, clip};
use crate::model::Arguments;
use jsonschema::Validator;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use words::Explainer;

/// The schema of a tool's arguments.
pub struct ArgumentSchema(Schema);

impl ArgumentSchema {
    pub fn new(schema: Arc<Value>) -> Self {
        ArgumentSchema(Schema::new(schema))
    }

    /// `None` when the arguments fit as they are; a coerced copy when they can be made to fit safely and `coerce` allows
    /// it. The error names each path, what was expected and what was given.
    pub fn check(&self, tool: &str, args: &Arguments, coerce: bool) -> Result<Option<Arguments>, HubError> {
        match self.check_value(tool, args.as_value(), &[], coerce)? {
            None => Ok(None),
            Some(Value::Object(fitting)) => Ok(Some(Arguments::new(fitting))),
            Some(_) => Err(invalid(tool, "the schema does not describe named arguments")),
        }
    }

    /// The same for a value that need not be an object and may hold Python objects, which stand in it as `null`. What the
    /// schema says about their places is not checked.
    pub fn check_value(
        &self,
        tool: &str,
        given: &Value,
        opaque: &[Opaque],
        coerce: bool,
    ) -> Result<Option<Value>, HubError> {
        let schema = &*self.0.schema;
        let Some(validator) = self.0.refusing(given) else { return Ok(None) };
        if !opaque.is_empty() && !opaque::has_violation(schema, validator, given, opaque) {
            return Ok(None);
        }
        let coerced = match coerce.then(|| coerce::coerced(schema, validator, given, opaque)) {
            Some((fitting, true)) => return Ok(Some(fitting)),
            // What could be coerced needs no explanation.
            Some((value, _)) => Cow::Owned(value),
            None => Cow::Borrowed(given),
        };
        let explainer = Explainer { root: schema, given, value: &coerced, opaque, part: "argument" };
        Err(invalid(tool, &explainer.explain(validator)))
    }

    /// The error for a value that fits the schema but that the builder of its Python values refuses. `given` is the value
    /// before coercion.
    pub fn refusal(
        &self,
        tool: &str,
        given: &Value,
        value: &Value,
        opaque: &[Opaque],
        objections: &[Objection],
    ) -> HubError {
        let explainer = Explainer { root: &self.0.schema, given, value, opaque, part: "argument" };
        invalid(tool, &objections::explain(&explainer, objections))
    }
}

fn invalid(tool: &str, violations: &str) -> HubError {
    let text = format!("Invalid arguments for '{}': {violations}.", clip(tool));
    HubError::new(ErrorKind::InvalidArguments, text)
}

/// A warning for each argument that the schema neither lists nor forbids. Servers may accept more than they list, so these
/// are passed on, but a misspelt name should not go unnoticed.
pub fn unknown_arguments<'a>(schema: &Value, given: impl Iterator<Item = &'a str>) -> Vec<String> {
    // These keywords may allow further names, so `properties` is not the whole list.
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

/// The schema of a tool's structured results.
pub struct ResultSchema(Schema);

impl ResultSchema {
    pub fn new(schema: Arc<Value>) -> Self {
        ResultSchema(Schema::new(schema))
    }

    pub fn check(&self, tool: &str, value: &Value) -> Result<(), HubError> {
        let Some(validator) = self.0.refusing(value) else { return Ok(()) };
        let explainer = Explainer { root: &self.0.schema, given: value, value, opaque: &[], part: "key" };
        let violations = explainer.explain(validator);
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

    /// The validator, if the value does not fit as it is.
    fn refusing(&self, value: &Value) -> Option<&Validator> {
        let validator = self.compiled.get_or_init(|| compile::compile(&self.schema)).as_ref()?;
        (!validator.is_valid(value)).then_some(validator)
    }
}
