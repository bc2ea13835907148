//! Checking and coercing arguments against a JSON Schema, for every tool: MCP tools, skills and Python functions.
//!
//! ```text
//! compile.rs     schema → one validator per tool, compiled at its first call
//!   structure.rs   how schemas refer to each other;  relax.rs: a schema without the rules that cannot be checked
//!   isolate.rs     the parts of a schema that compile by themselves, where nothing else helps
//! meter.rs       what a check may cost: each look at a value is a step;  pattern_size.rs: what a pattern costs
//! coerce.rs      violations → safe replacements, until the value fits;  convert.rs: one value → another
//! opaque.rs      places that hold Python objects without a JSON form: their builder judges them
//! words.rs       violations that remain → sentences for a model;  phrases.rs: the words in them
//! objections.rs  what the builder of Python values refuses → the same sentences
//! ```
//!
//! Arguments that fit cost one pass of the validator and no copy. Only those that do not fit are copied, repaired where
//! that is safe, and checked again. Schemas of servers are untrusted data: nothing is fetched (the crate is built without
//! resolvers), a rule that cannot be checked is skipped and reported, and a check ends after a limited number of steps.

mod coerce;
mod compile;
mod convert;
mod isolate;
mod meter;
mod nullable;
mod objections;
mod opaque;
mod pattern_size;
mod phrases;
mod relax;
mod structure;
mod words;

pub use objections::{Objection, PathStep, Reason};
pub use opaque::Opaque;

use crate::error::{ErrorKind, HubError, clip};
use crate::model::{Arguments, CheckOptions, Fitting, Unchecked};
use crate::stack;
use compile::Compiled;
use meter::{Meter, MeteredValidator};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use words::Explainer;

/// The reason for rules that would take too long.
const TOO_COSTLY: &str =
    "unions, conditions, references and large patterns take too many steps for these arguments";
const TOO_LARGE: &str = "the arguments take too many steps";
/// Schemas with fewer values are compiled where they are first used.
const SMALL: u64 = 1_000;

/// The schema of a tool's arguments.
pub struct ArgumentSchema(Schema);

/// What is checked, and how.
struct Task<'a> {
    given: &'a Value,
    opaque: &'a [Opaque],
    coerce: bool,
    /// How a member of an object is called.
    part: &'static str,
}

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
    ) -> Result<Fitting<Arguments>, HubError> {
        let Fitting { replacement, unchecked } = self.check_value(tool, args.as_value(), &[], options)?;
        let replacement = match replacement {
            None => None,
            Some(Value::Object(fitting)) => Some(Arguments::new(fitting)),
            Some(_) => return Err(invalid(tool, "the schema does not describe named arguments")),
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
    ) -> Result<Fitting<Value>, HubError> {
        let task = Task { given, opaque, coerce: options.coerce, part: "argument" };
        self.0.check(&task, options).map_err(|violations| invalid(tool, &violations))
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

    /// What is wrong with a value. Ends with the deadline.
    pub fn violations(&self, value: &Value, deadline: Option<Instant>) -> Option<String> {
        let task = Task { given: value, opaque: &[], coerce: false, part: "key" };
        self.0.check(&task, &CheckOptions { deadline, ..CheckOptions::here(false) }).err()
    }

    /// The same if it takes few steps; `Err` if it takes more.
    pub fn violations_at_once(&self, value: &Value) -> Result<Option<String>, TakesLonger> {
        let task = Task { given: value, opaque: &[], coerce: false, part: "key" };
        self.0.check_at_once(&task).map(Judgement::err).ok_or(TakesLonger)
    }
}

/// The check takes more steps than a worker thread of a runtime can spare.
pub struct TakesLonger;

/// What fits, or what is wrong.
type Judgement = Result<Fitting<Value>, String>;

struct Schema {
    schema: Arc<Value>,
    compiled: OnceLock<Compiled>,
}

impl Schema {
    fn new(schema: Arc<Value>) -> Self {
        Schema { schema, compiled: OnceLock::new() }
    }

    /// Whether compiling it takes a few milliseconds at most.
    fn is_small(&self) -> bool {
        meter::values(&self.schema) < SMALL && pattern_size::PatternWeights::of(&self.schema).are_light()
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| compile::compile(&self.schema))
    }

    /// Nearly every check is over in a few steps. One that is not starts again aside, with all steps that it may take.
    fn check(&self, task: &Task<'_>, options: &CheckOptions<'_>) -> Judgement {
        if let Some(judgement) = self.check_at_once(task) {
            return judgement;
        }
        let (mut judgement, deadline) = (None, options.deadline);
        (options.aside)(&mut || {
            let compiled = self.compiled();
            judgement = stack::with_room(compiled.stack_for_all(), || compiled.check_fully(task, deadline));
        });
        judgement.unwrap_or_else(|| {
            Ok(self.compiled.get().map_or_else(Fitting::unchanged, Compiled::unchecked_for_size))
        })
    }

    /// `None` if the schema is large and not compiled yet, or if this takes more steps or stack than can be had here.
    fn check_at_once(&self, task: &Task<'_>) -> Option<Judgement> {
        let compiled = self.compiled.get().or_else(|| self.is_small().then(|| self.compiled()))?;
        let Some(validator) = &compiled.validator else { return Some(Ok(compiled.unchanged(None))) };
        let needed = compiled.stack_for(task.given);
        if needed > 0 && stack::remaining() < needed {
            return None;
        }
        let meter = Meter::quick();
        if meter.is_valid(validator, task.given) == Some(true) {
            return Some(Ok(compiled.unchanged(None)));
        }
        if meter.is_incomplete() || stack::remaining() < compiled.stack_for_all() {
            return None;
        }
        let judgement = compiled.judge(validator, &compiled.schema, &meter, task);
        (!meter.is_incomplete()).then_some(judgement)
    }
}

impl Compiled {
    fn unchecked_for_size(&self) -> Fitting<Value> {
        self.unchanged(Some(TOO_LARGE))
    }

    fn unchanged(&self, skipped: Option<&'static str>) -> Fitting<Value> {
        let mut unchecked = self.unchecked.clone();
        unchecked.extend(skipped.map(|reason| Unchecked { place: "".into(), reason }));
        Fitting { replacement: None, unchecked }
    }

    /// Where all rules take too long, those whose cost does not multiply are checked.
    fn check_fully(&self, task: &Task<'_>, deadline: Option<Instant>) -> Judgement {
        let Some(validator) = &self.validator else { return Ok(self.unchanged(None)) };
        let meter = Meter::full(task.given, deadline);
        match meter.is_valid(validator, task.given) {
            Some(true) => return Ok(self.unchanged(None)),
            Some(false) => return self.judge(validator, &self.schema, &meter, task),
            None => {}
        }
        let Some((schema, validator)) = self.cheap() else { return Ok(self.unchanged(Some(TOO_COSTLY))) };
        match meter.is_valid(validator, task.given) {
            Some(true) => Ok(self.unchanged(Some(TOO_COSTLY))),
            Some(false) => self.judge(validator, schema, &meter, task).map(|mut fitting| {
                fitting.unchecked.push(Unchecked { place: "".into(), reason: TOO_COSTLY });
                fitting
            }),
            None => Ok(self.unchecked_for_size()),
        }
    }

    /// What can be made of a value that does not fit as it is.
    fn judge(
        &self,
        validator: &MeteredValidator,
        schema: &Value,
        meter: &Meter,
        task: &Task<'_>,
    ) -> Judgement {
        let Task { given, opaque, coerce, part } = *task;
        if self.may_give_up || !opaque.is_empty() {
            let violations = meter.violations(validator, given);
            // For objects that take too long the builder's word is enough: it checks them in full.
            let is_wrong = violations.map_or(opaque.is_empty(), |violations| {
                violations.iter().any(|violation| !opaque::depends_on(violation, opaque))
            });
            if !is_wrong {
                return Ok(self.fitting(None, meter));
            }
        }
        let coerced = match coerce.then(|| coerce::coerced(validator, meter, given, opaque)) {
            Some((fitting, true)) => return Ok(self.fitting(Some(fitting), meter)),
            // What could be coerced needs no explanation.
            Some((value, _)) => Cow::Owned(value),
            None => Cow::Borrowed(given),
        };
        Err(Explainer { root: schema, given, value: &coerced, opaque, part }.explain(validator, meter))
    }

    fn fitting(&self, replacement: Option<Value>, meter: &Meter) -> Fitting<Value> {
        let mut unchecked = self.unchecked.clone();
        let reason = "the pattern takes too many steps for this text";
        unchecked.extend(meter.given_up().map(|place| Unchecked { place, reason }));
        Fitting { replacement, unchecked }
    }
}
