//! The JSON that a validator sees. Each look at a value is a step, and the number of steps is limited.
//!
//! The validator itself has no limit: the branches of a union that contains itself multiply with each level of the value. When
//! the steps are used up, or the deadline has passed, the validator is left by unwinding its stack. It holds no lock and
//! changes nothing that outlives the check. An answer that makes it return soon does not exist: a union goes on with its
//! next branch, whatever a value looks like.

use super::pattern_size::{LIGHT, PatternWeights};
use jsonschema::error::ValidationErrorKind as Violation;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson};
use jsonschema::types::JsonType;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Instant;

/// The steps of one decision whether a value fits, and for each value in a large one. Usual
/// arguments take a few hundred.
const CHECK: u64 = 400_000;
const CHECK_PER_VALUE: u64 = 50;
/// The steps for all lists of violations of a check, in a value that is not large. A violation inside many others is costly.
const EXPLAIN: u64 = 10_000;
/// How much more a step of an explanation may cost than one of a decision, at most.
const DEARER: u64 = CHECK / EXPLAIN;
/// The steps for one list. Each may become an error, which needs memory, too.
const LIST: u64 = 2_000_000;
/// The steps of a usual check, well below a millisecond.
const QUICK: u64 = 20_000;
const QUICK_EXPLAIN: u64 = 2_000;
/// A power of two: the clock is read after this many steps.
const CLOCK: u64 = 4096;
/// A step for this many bytes of text that a keyword may have to read.
const TEXT: u64 = 64;
/// A step for this many states of a pattern that a byte may lead to.
const STATES: u64 = 8;
/// The steps for each byte of a value: enough for patterns that are light.
const CHECK_PER_BYTE: u64 = 1 + LIGHT / STATES;
/// The steps of a text for an engine that goes back, in a usual check, which has to be short, and in a long one.
const QUICK_BACKTRACKING: u64 = 2_500;
const BACKTRACKING: u64 = 150;

/// A validator, and what its patterns cost.
pub struct MeteredValidator {
    pub validator: Validator<Metered>,
    pub weights: PatternWeights,
}

/// The steps of one check.
pub struct Meter {
    left: Cell<u64>,
    /// What the patterns of the current validator cost.
    weights: Cell<PatternWeights>,
    backtracking: u64,
    /// Whether violations are listed.
    explains: Cell<bool>,
    deadline: Option<Instant>,
    check: u64,
    /// The steps that are left for lists of violations.
    explain: Cell<u64>,
    /// The steps for the first violation.
    first: u64,
    /// Whether a pass was not finished.
    is_incomplete: Cell<bool>,
    /// The place in the schema of a pattern that was given up.
    given_up: RefCell<Option<Arc<str>>>,
}

impl Meter {
    /// Enough for nearly all checks.
    pub fn quick() -> Self {
        Meter {
            left: Cell::new(0),
            weights: Cell::default(),
            backtracking: QUICK_BACKTRACKING,
            explains: Cell::new(false),
            deadline: None,
            check: QUICK,
            explain: Cell::new(QUICK_EXPLAIN),
            first: QUICK_EXPLAIN,
            is_incomplete: Cell::new(false),
            given_up: RefCell::new(None),
        }
    }

    /// All that a check of this value may take.
    pub fn full(value: &Value, deadline: Option<Instant>) -> Self {
        let (values, bytes) = size(value);
        let for_size =
            values.saturating_mul(CHECK_PER_VALUE).saturating_add(bytes.saturating_mul(CHECK_PER_BYTE));
        Meter {
            check: CHECK.max(for_size),
            explain: Cell::new(EXPLAIN.max(for_size)),
            first: EXPLAIN.max(for_size),
            backtracking: BACKTRACKING,
            deadline,
            ..Meter::quick()
        }
    }

    /// Whether the value fits; `None` if that takes too long.
    pub fn is_valid(&self, validator: &MeteredValidator, value: &Value) -> Option<bool> {
        let MeteredValidator { validator, weights } = validator;
        self.weights.set(*weights);
        self.explains.set(false);
        self.pass(self.check, || validator.is_valid(MeteredValue { value, meter: Some(self) }))
    }

    /// All violations; `None` if that takes too long.
    pub fn violations<'a>(
        &'a self,
        validator: &'a MeteredValidator,
        value: &'a Value,
    ) -> Option<Vec<ValidationError<'a>>> {
        let MeteredValidator { validator, weights } = validator;
        self.weights.set(*weights);
        self.explains.set(true);
        let list = || validator.iter_errors(MeteredValue { value, meter: Some(self) });
        let steps = self.explain.get().min(LIST);
        let listed = self.pass(steps, || list().filter(|error| self.is_certain(error)).collect());
        let used = if listed.is_some() { steps - self.left.get() } else { steps };
        self.explain.set(self.explain.get() - used);
        listed
    }

    /// The first violation; `None` if that takes too long.
    pub fn first_violation<'a>(
        &'a self,
        validator: &MeteredValidator,
        value: &'a Value,
    ) -> Option<ValidationError<'a>> {
        let MeteredValidator { validator, weights } = validator;
        self.weights.set(*weights);
        self.explains.set(true);
        let first = || validator.validate(MeteredValue { value, meter: Some(self) }).err();
        self.pass(self.first.min(LIST), first)?.filter(|error| self.is_certain(error))
    }

    /// Whether a pass took too long.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete.get()
    }

    /// The place in the schema of a pattern that took too many steps, if there is one.
    pub fn given_up(&self) -> Option<Arc<str>> {
        self.given_up.borrow().clone()
    }

    /// A match that the pattern engine gave up says nothing about the value.
    fn is_certain(&self, error: &ValidationError<'_>) -> bool {
        let is_given_up = matches!(
            error.kind(),
            Violation::BacktrackLimitExceeded { .. } | Violation::RegexEngineFailure { .. }
        );
        if is_given_up {
            self.given_up.replace(Some(error.schema_path().as_str().into()));
        }
        !is_given_up
    }

    fn pass<T>(&self, steps: u64, work: impl FnOnce() -> T) -> Option<T> {
        self.left.set(steps);
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(done) => Some(done),
            Err(cause) if cause.is::<OutOfSteps>() => {
                self.is_incomplete.set(true);
                None
            }
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Counts steps; does not return when they are used up.
    #[inline]
    fn step(&self, steps: u64) {
        let left = self.left.get();
        let rest = left.wrapping_sub(steps);
        self.left.set(rest);
        if left < steps || (left ^ rest) >= CLOCK {
            self.look_at_the_clock(left < steps);
        }
    }

    /// Counts what a keyword that reads this text may take. It cannot be interrupted, so this comes first.
    fn read(&self, text: &str) {
        let (PatternWeights { largest, backtracks, .. }, bytes) = (self.weights.get(), text.len() as u64);
        let matching = bytes.saturating_mul(largest) / STATES;
        let steps = bytes / TEXT + matching + if backtracks { self.backtracking } else { 0 };
        self.step(if self.explains.get() { steps / DEARER } else { steps });
    }

    /// The same for the name of a property.
    fn read_name(&self, name: &str) {
        self.step(1 + (name.len() as u64).saturating_mul(self.weights.get().names) / STATES);
    }

    #[cold]
    fn look_at_the_clock(&self, is_over: bool) {
        if is_over || self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            // Not a panic: no hook runs, and `pass` is above.
            resume_unwind(Box::new(OutOfSteps));
        }
    }
}

/// Why the validator was left.
struct OutOfSteps;

#[inline]
fn count(meter: Option<&Meter>, steps: u64) {
    if let Some(meter) = meter {
        meter.step(steps);
    }
}

/// The number of values inside a value, and itself.
pub fn values(value: &Value) -> u64 {
    size(value).0
}

/// The number of values, and the bytes of their texts and names.
fn size(value: &Value) -> (u64, u64) {
    let (mut count, mut bytes, mut todo) = (0, 0, vec![value]);
    while let Some(value) = todo.pop() {
        count += 1;
        match value {
            Value::Array(items) => todo.extend(items),
            Value::Object(map) => {
                bytes += map.keys().map(|name| name.len() as u64).sum::<u64>();
                todo.extend(map.values());
            }
            Value::String(text) => bytes += text.len() as u64,
            _ => {}
        }
    }
    (count, bytes)
}

/// The representation of JSON that counts.
pub struct Metered;

/// A value, and the meter of the check that looks at it.
#[derive(Clone, Copy)]
pub struct MeteredValue<'a> {
    value: &'a Value,
    /// `None` for the name of a property: it is counted as a member.
    meter: Option<&'a Meter>,
}

impl<'a> MeteredValue<'a> {
    #[inline]
    fn look(&self) -> &'a Value {
        count(self.meter, 1);
        self.value
    }
}

impl Json for Metered {
    type Node<'a> = MeteredValue<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, work: impl FnOnce(MeteredValue<'_>) -> T) -> T {
        *buffer = Value::String(string.to_owned());
        work(MeteredValue { value: buffer, meter: None })
    }
}

impl<'a> Node<'a, Metered> for MeteredValue<'a> {
    type Object = MeteredObject<'a>;
    type Array = MeteredArray<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<MeteredObject<'a>> {
        self.look().as_object().map(|map| MeteredObject { map, meter: self.meter })
    }

    fn as_array(&self) -> Option<MeteredArray<'a>> {
        self.look().as_array().map(|items| MeteredArray { items, meter: self.meter })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.look().as_str()?;
        // The reader may be a pattern, which reads all of it.
        if let Some(meter) = self.meter {
            meter.read(text);
        }
        Some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<&'a Number> {
        self.look().as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        self.look().as_bool()
    }

    fn is_null(&self) -> bool {
        self.look().is_null()
    }

    fn json_type(&self) -> JsonType {
        Node::<SerdeJson>::json_type(&self.look())
    }

    fn string_length(&self) -> Option<u64> {
        Node::<SerdeJson>::string_length(&self.look())
    }

    fn equals_value(&self, expected: &Value) -> bool {
        // Two containers may be compared to their ends.
        if expected.is_array() || expected.is_object() {
            count(self.meter, values(expected));
        }
        Node::<SerdeJson>::equals_value(&self.look(), expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Borrowed(self.value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Node::<SerdeJson>::identity(&self.value)
    }

    fn container_identity(&self) -> Option<NodeIdentity> {
        Node::<SerdeJson>::container_identity(&self.value)
    }
}

#[derive(Clone, Copy)]
pub struct MeteredObject<'a> {
    map: &'a Map<String, Value>,
    meter: Option<&'a Meter>,
}

impl<'a> Object<'a, Metered> for MeteredObject<'a> {
    type Node = MeteredValue<'a>;
    type MemberName = &'a str;
    type MembersIter = MeteredMembers<'a>;

    fn len(&self) -> usize {
        self.map.len()
    }

    fn get(&self, key: &String) -> Option<MeteredValue<'a>> {
        count(self.meter, 1);
        self.map.get(key).map(|value| MeteredValue { value, meter: self.meter })
    }

    fn members(&self) -> MeteredMembers<'a> {
        MeteredMembers { members: self.map.iter(), meter: self.meter }
    }
}

pub struct MeteredMembers<'a> {
    members: serde_json::map::Iter<'a>,
    meter: Option<&'a Meter>,
}

impl<'a> Iterator for MeteredMembers<'a> {
    type Item = (&'a str, MeteredValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.members.next()?;
        if let Some(meter) = self.meter {
            meter.read_name(name);
        }
        Some((name.as_str(), MeteredValue { value, meter: self.meter }))
    }
}

#[derive(Clone, Copy)]
pub struct MeteredArray<'a> {
    items: &'a [Value],
    meter: Option<&'a Meter>,
}

impl<'a> Array<'a, Metered> for MeteredArray<'a> {
    type Node = MeteredValue<'a>;
    type ElementsIter = MeteredItems<'a>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn elements(&self) -> MeteredItems<'a> {
        MeteredItems { items: self.items.iter(), meter: self.meter }
    }

    fn is_unique(&self) -> bool {
        count(self.meter, self.items.iter().map(values).sum());
        Array::<SerdeJson>::is_unique(&self.items)
    }
}

pub struct MeteredItems<'a> {
    items: std::slice::Iter<'a, Value>,
    meter: Option<&'a Meter>,
}

impl<'a> Iterator for MeteredItems<'a> {
    type Item = MeteredValue<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        count(self.meter, 1);
        self.items.next().map(|value| MeteredValue { value, meter: self.meter })
    }
}
