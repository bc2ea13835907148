//! One check of a value against a schema.

use super::coerce;
use super::compile::{self, Compiled, all_of};
use super::cost::{LIMIT, LISTING, QUICK};
use super::references::values;
use super::violations::Explainer;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Violation;
use serde_json::Value;
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use toolhub_text::{Message, message};
use toolhub_types::model::{CheckOptions, Fitting, Unchecked};
use toolhub_types::system;

const TOO_COSTLY: &str = "unions, conditions, references and patterns may take too long for these arguments";
const TOO_LARGE: &str = "the arguments are too large for the schema";
const GIVEN_UP: &str = "the pattern takes too many steps for this text";
/// Schemas with less JSON are compiled where they are first used.
const SMALL: usize = 16 << 10;

/// A place that holds a Python object without a JSON form: a model instance, a data frame, a date. The value has `null` there. A
/// violation that depends on such a place says nothing about the object, so it is left to the code that knows the object's type.
#[derive(Clone, Debug)]
pub struct Opaque {
    /// A JSON pointer.
    pub place: String,
    /// How the object is named in an error.
    pub shown: Message,
}

/// Whether a violation depends on what stands in for an opaque object.
pub fn depends_on(error: &ValidationError<'_>, opaque: &[Opaque]) -> bool {
    // These keywords compare the whole value, so an opaque part anywhere inside decides them.
    let compares_parts = matches!(
        error.kind(),
        Violation::AnyOf { .. }
            | Violation::OneOfNotValid { .. }
            | Violation::OneOfMultipleValid { .. }
            | Violation::Not { .. }
            | Violation::Enum { .. }
            | Violation::Constant { .. }
            | Violation::Contains
            | Violation::UniqueItems
    );
    let place = error.instance_path().as_str();
    opaque.iter().any(|one| one.place == place || (compares_parts && is_inside(&one.place, place)))
}

/// Whether the value at a place holds an opaque object.
pub fn any_inside(opaque: &[Opaque], place: &str) -> bool {
    opaque.iter().any(|one| is_inside(&one.place, place))
}

fn is_inside(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What is checked, and how.
pub struct Task<'a> {
    pub given: &'a Value,
    pub opaque: &'a [Opaque],
    pub coerce: bool,
    /// How a member of an object is called.
    pub part: &'static str,
}

/// What fits, or what is wrong.
pub type Judgement = Result<Fitting<Value>, Message>;

/// A schema that is compiled at its first use.
pub struct Schema {
    schema: Arc<Value>,
    compiled: OnceLock<Compiled>,
}

impl Schema {
    pub fn new(schema: Arc<Value>) -> Self {
        Schema { schema, compiled: OnceLock::new() }
    }

    pub fn root(&self) -> &Value {
        &self.schema
    }

    pub fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| compile::compile(&self.schema))
    }

    /// Whether a check takes more than about a millisecond: longer than a worker thread of a runtime can spare.
    pub fn takes_long(&self, value: &Value) -> bool {
        let is_compiled = self.compiled.get().is_some();
        !is_compiled && !is_small(&self.schema) || self.compiled().takes_long(value)
    }

    /// What is wrong with a structured result.
    pub fn violations(&self, value: &Value) -> Option<Message> {
        let task = Task { given: value, opaque: &[], coerce: false, part: "key" };
        self.check(&task, &CheckOptions::here(false)).err()
    }

    /// A check that takes long runs aside.
    pub fn check(&self, task: &Task<'_>, options: &CheckOptions<'_>) -> Judgement {
        if !self.takes_long(task.given) {
            return self.compiled().check(task);
        }
        let mut judgement = None;
        (options.offload)(&mut || {
            let compiled = self.compiled();
            judgement = system::with_room(compiled.stack_for_all(), || compiled.check(task));
        });
        judgement.unwrap_or_else(|| Ok(self.compiled().fitting(None, Some(all_of(TOO_LARGE)))))
    }
}

/// Whether compiling a schema takes a few milliseconds at most.
fn is_small(schema: &Value) -> bool {
    let size = |value: &Value| match value {
        Value::String(text) => text.len(),
        Value::Object(map) => map.keys().map(String::len).sum(),
        _ => 8,
    };
    values(schema).try_fold(SMALL, |left, value| left.checked_sub(size(value))).is_some()
}

impl Compiled {
    fn takes_long(&self, value: &Value) -> bool {
        let needed = self.stack_for(value);
        (needed > 0 && system::remaining() < needed) || self.cost.of_check(value).deciding > QUICK
    }

    /// Where all rules may take too long, those whose cost does not multiply are checked.
    fn check(&self, task: &Task<'_>) -> Judgement {
        if self.cost.of_check(task.given).deciding <= LIMIT {
            return self.check_all(task);
        }
        match self.cheap().filter(|cheap| cheap.cost.of_check(task.given).deciding <= LIMIT) {
            Some(cheap) => cheap
                .check_all(task)
                .map(|fitting| self.fitting(fitting.replacement, Some(all_of(TOO_COSTLY)))),
            None => Ok(self.fitting(None, Some(all_of(TOO_LARGE)))),
        }
    }

    fn check_all(&self, task: &Task<'_>) -> Judgement {
        match &self.built {
            Some(built) if !built.validator.is_valid(task.given) => self.judge(task),
            _ => Ok(self.fitting(None, None)),
        }
    }

    /// What can be made of a value that does not fit as it is.
    fn judge(&self, task: &Task<'_>) -> Judgement {
        let Task { given, opaque, coerce, part } = *task;
        let lists = Lists::new(self);
        // Only then may it have given up a match.
        let looks_around = self.built.as_ref().is_some_and(|built| built.runs > 1);
        if looks_around || !opaque.is_empty() {
            // For objects that take too long the builder's word is enough: it checks them in full.
            let is_wrong = lists.violations(given).map_or(opaque.is_empty(), |violations| {
                violations.iter().any(|violation| !depends_on(violation, opaque))
            });
            if !is_wrong {
                return Ok(self.fitting(None, lists.given_up.take()));
            }
        }
        let coerced = match coerce.then(|| coerce::coerced(&lists, given, opaque)) {
            Some((fitting, true)) => return Ok(self.fitting(Some(fitting), lists.given_up.take())),
            // What could be coerced needs no explanation.
            Some((value, _)) => Cow::Owned(value),
            None => Cow::Borrowed(given),
        };
        let lists = Lists::new(self);
        let explainer = Explainer { root: &self.schema, given, value: &coerced, opaque, part };
        match lists.violations(&coerced) {
            // The last look of the coercion was more than it could pay for.
            Some(violations) if violations.iter().all(|one| depends_on(one, opaque)) => {
                drop(violations);
                return Ok(self.fitting(Some(coerced.into_owned()), lists.given_up.take()));
            }
            Some(violations) => return Err(explainer.explain(violations)),
            None => {}
        }
        // Too many for a list: those of the rules that cost less, if one of them is broken.
        let cheap = self.cheap().map(Lists::new);
        let violations = cheap.as_ref().and_then(|cheap| cheap.violations(&coerced)).unwrap_or_default();
        Err(match violations.is_empty() {
            true => message!("the arguments do not fit, and finding out where would take too long"),
            false => explainer.explain(violations),
        })
    }

    fn fitting(&self, replacement: Option<Value>, skipped: Option<Unchecked>) -> Fitting<Value> {
        Fitting { replacement, unchecked: self.unchecked.iter().cloned().chain(skipped).collect() }
    }
}

/// The lists of violations of one check. All together may take about as long as the check itself.
pub struct Lists<'c> {
    compiled: &'c Compiled,
    left: Cell<u64>,
    /// A pattern that was given up.
    given_up: Cell<Option<Unchecked>>,
}

impl<'c> Lists<'c> {
    pub fn new(compiled: &'c Compiled) -> Self {
        Lists { compiled, left: Cell::new(LISTING), given_up: Cell::new(None) }
    }

    /// All violations; `None` if that takes too long.
    pub fn violations<'a>(&self, value: &'a Value) -> Option<Vec<ValidationError<'a>>>
    where
        'c: 'a,
    {
        let left = self.left.get().checked_sub(self.compiled.cost.of_check(value).listing)?;
        self.left.set(left);
        let built = self.compiled.built.as_ref()?;
        Some(built.validator.iter_errors(value).filter(|error| self.is_certain(error)).collect())
    }

    /// A match that the pattern engine gave up says nothing about the value.
    fn is_certain(&self, error: &ValidationError<'_>) -> bool {
        let is_given_up = matches!(
            error.kind(),
            Violation::BacktrackLimitExceeded { .. } | Violation::RegexEngineFailure { .. }
        );
        if is_given_up {
            let place = error.schema_path().as_str().into();
            self.given_up.set(Some(Unchecked { place, reason: GIVEN_UP }));
        }
        !is_given_up
    }
}
