//! Checking and coercing arguments against a JSON Schema, for every tool: MCP tools, skills and Python functions.
//!
//! ```text
//! compile.rs     schema → one validator per tool, compiled at its first call
//!   cost.rs        what a check may cost, known before it begins
//!   prepare.rs     what servers write and the validator does not take;  references.rs: where references lead
//! check.rs       one check: is it affordable, does the value fit, what is wrong with it; Python objects without a JSON form are
//!                left to their builder
//! coerce.rs      violations → safe replacements, until the value fits;  convert.rs: one value → another
//! violations.rs  violations that remain → sentences for a model;  values_in_words.rs: the words in them
//! builder_errors.rs  what the builder of Python values refuses → the same sentences
//! ```
//!
//! Arguments that fit cost one pass of the validator and no copy. Only those that do not fit are copied, repaired where
//! that is safe, and checked again. Schemas of servers are untrusted data: nothing is fetched (the crate is built without
//! resolvers). Of a schema that cannot be compiled or may take too long only the plain rules are checked, with a notice.

mod builder_errors;
mod check;
mod coerce;
mod compile;
mod convert;
mod cost;
mod prepare;
mod references;
mod values_in_words;
mod violations;

pub use builder_errors::{Objection, PathStep, Reason};
pub use check::{Opaque, Schema};
pub use references::types_in;

use check::Task;
use serde_json::Value;
use std::sync::Arc;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Result, clip};
use toolhub_types::model::{Arguments, CheckOptions, Fitting, Unchecked};
use violations::Explainer;

/// The schema of a tool's arguments.
pub struct ArgumentSchema(Schema);

impl ArgumentSchema {
    pub fn new(schema: Arc<Value>) -> Self {
        ArgumentSchema(Schema::new(schema))
    }

    /// Arguments that fit as they are, or a coerced copy when they can be made to fit safely and the options allow it. The
    /// error names each path, what was expected and what was given.
    pub fn check(
        &self,
        tool: &str,
        args: &Arguments,
        options: &CheckOptions<'_>,
    ) -> Result<Fitting<Arguments>> {
        let Fitting { replacement, unchecked } = self.check_value(tool, args.as_value(), &[], options)?;
        let replacement = match replacement {
            None => None,
            Some(Value::Object(fitting)) => Some(Arguments::new(fitting)),
            Some(_) => return Err(invalid(tool, message!("the schema does not describe named arguments"))),
        };
        Ok(Fitting { replacement, unchecked })
    }

    /// The same for a value that need not be an object and may hold Python objects, which stand in it as `null`. What the
    /// schema says about their places is not checked.
    pub fn check_value(
        &self,
        tool: &str,
        given: &Value,
        opaque: &[Opaque],
        options: &CheckOptions<'_>,
    ) -> Result<Fitting<Value>> {
        let task = Task { given, opaque, coerce: options.coerce, part: "argument" };
        self.0.check(&task, options).map_err(|violations| invalid(tool, violations))
    }

    /// The rules that are not checked for any arguments.
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.0.compiled().unchecked
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
        let explainer = Explainer { root: self.0.root(), given, value, opaque, part: "argument" };
        invalid(tool, builder_errors::explain(&explainer, objections))
    }
}

fn invalid(tool: &str, violations: Message) -> HubError {
    HubError::new(
        ErrorKind::InvalidArguments,
        message!("Invalid arguments for '{}': {}.", clip(tool), violations),
    )
}

/// A warning for each argument that the schema neither lists nor forbids. Servers may accept more than they list, so these
/// are passed on, but a misspelt name should not go unnoticed.
pub fn unknown_arguments<'a>(schema: &Value, given: impl Iterator<Item = &'a str>) -> Vec<Message> {
    // These keywords may allow further names, so `properties` is not the whole list.
    const NAMING: &str = "additionalProperties unevaluatedProperties patternProperties propertyNames $ref $dynamicRef allOf \
        anyOf oneOf if dependentSchemas dependencies";
    let Some(known) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let unknown: Vec<&str> = given.filter(|name| !known.contains_key(*name)).collect();
    if unknown.is_empty() || NAMING.split(' ').any(|keyword| schema.get(keyword).is_some()) {
        return Vec::new();
    }
    let known: Vec<&str> = known.keys().map(String::as_str).collect();
    unknown.iter().take(violations::LISTED).map(|name| violations::passed_on(name, &known)).collect()
}
