//! Making arguments fit that say the right thing in the wrong way.
//!
//! The validator says what is wrong and where; what can be replaced without harm is replaced, and the validator is asked
//! again: text that held an object may hold text for a number. So references, conditions and patterns need no
//! knowledge here, and what fits is never touched. Where there is a choice (a union, a lone value for an array), each way
//! is tried and kept only when everything at that place then fits.

use super::convert;
use super::cost::{self, Detail};
use jsonschema::error::{TypeKind, ValidationErrorKind as Violation};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::Value;

/// How often the validator is asked for one call.
const ASKED: usize = 64;
/// How many branches of a union are tried.
const BRANCHES: usize = 32;

/// A copy of the value with all the mends that could be made, and whether it fits now.
pub fn mended(schema: &Value, validator: &Validator, given: &Value) -> (Value, bool) {
    let mut value = given.clone();
    let fits = Mending { schema, validator, left: ASKED }.settle(&mut value, "");
    (value, fits)
}

/// What is to stand at a place, which is a JSON pointer.
struct Replacement {
    place: String,
    /// None: nothing is.
    value: Option<Value>,
    /// Less likely to be what was meant than a mere conversion.
    is_wrapped: bool,
}

type Way = Vec<Replacement>;

/// Several ways to mend what is wrong at one place.
struct Choice {
    place: String,
    ways: Vec<Way>,
}

struct Mending<'v> {
    schema: &'v Value,
    validator: &'v Validator,
    left: usize,
}

impl Mending<'_> {
    /// Mends what is wrong at a place and below it; tells whether nothing is wrong any more.
    fn settle(&mut self, value: &mut Value, place: &str) -> bool {
        // Asked anew each time: text that was unpacked may go deep.
        while self.left > 0 && cost::affordable(self.schema, value) == Detail::Full {
            self.left -= 1;
            let wrong: Vec<ValidationError<'_>> =
                self.validator.iter_errors(value).filter(|error| is_below(error, place)).collect();
            if wrong.is_empty() {
                return true;
            }
            let sure: Way = wrong.iter().filter_map(conversion).collect();
            let choices: Vec<Choice> =
                if sure.is_empty() { wrong.iter().filter_map(choice).collect() } else { Vec::new() };
            let nulls: Vec<String> = wrong
                .iter()
                .filter(|error| error.instance().is_null())
                .map(|error| error.instance_path().as_str().to_owned())
                .collect();
            drop(wrong);
            let changed = if sure.is_empty() {
                // All of them are made, not only the first.
                choices.into_iter().filter_map(|choice| self.choose(value, choice).then_some(())).count() > 0
            } else {
                replace(value, sure)
            };
            if !changed && !nulls.iter().any(|null| self.leave_out(value, null)) {
                return false;
            }
        }
        false
    }

    /// A null where none fits means "not given", if less is wrong without it.
    fn leave_out(&mut self, value: &mut Value, null: &str) -> bool {
        let Some((holder, _)) = null.rsplit_once('/') else { return false };
        let Some(before) = value.pointer(holder).cloned() else { return false };
        let wrong = self.validator.iter_errors(value).count();
        if !remove(value, null) {
            return false;
        }
        self.left = self.left.saturating_sub(1);
        if self.validator.iter_errors(value).count() < wrong {
            return true;
        }
        if let Some(slot) = value.pointer_mut(holder) {
            *slot = before;
        }
        false
    }

    fn choose(&mut self, value: &mut Value, choice: Choice) -> bool {
        let Some(before) = value.pointer(&choice.place).cloned() else { return false };
        for way in choice.ways {
            if replace(value, way) && self.settle(value, &choice.place) {
                return true;
            }
            if let Some(slot) = value.pointer_mut(&choice.place) {
                *slot = before.clone();
            }
        }
        false
    }
}

/// Tells whether anything is different now.
fn replace(value: &mut Value, way: Way) -> bool {
    let mut changed = false;
    for Replacement { place, value: new, .. } in way {
        match new {
            None => changed |= remove(value, &place),
            Some(new) => {
                if let Some(slot) = value.pointer_mut(&place).filter(|slot| **slot != new) {
                    *slot = new;
                    changed = true;
                }
            }
        }
    }
    changed
}

/// Takes a key out of the object that holds it; an entry of a list stays.
fn remove(value: &mut Value, place: &str) -> bool {
    let Some((holder, key)) = place.rsplit_once('/') else { return false };
    let key = key.replace("~1", "/").replace("~0", "~");
    let holder = value.pointer_mut(holder).and_then(Value::as_object_mut);
    holder.is_some_and(|map| map.shift_remove(&key).is_some())
}

fn is_below(error: &ValidationError<'_>, place: &str) -> bool {
    let path = error.instance_path().as_str();
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The only way there is.
fn conversion(error: &ValidationError<'_>) -> Option<Replacement> {
    let value = match error.kind() {
        Violation::Type { kind } => convert::to_type(error.instance(), |wanted| wants(kind, wanted)),
        Violation::Enum { options } => convert::to_option(error.instance(), options.as_array()?),
        Violation::Constant { expected_value } => {
            convert::to_option(error.instance(), std::slice::from_ref(&**expected_value))
        }
        _ => None,
    }?;
    Some(Replacement {
        place: error.instance_path().as_str().to_owned(),
        value: Some(value),
        is_wrapped: false,
    })
}

fn wrapping(error: &ValidationError<'_>) -> Option<Replacement> {
    match error.kind() {
        Violation::Type { kind } if wants(kind, JsonType::Array) => Some(Replacement {
            place: error.instance_path().as_str().to_owned(),
            value: Some(convert::wrapped(error.instance())?),
            is_wrapped: true,
        }),
        _ => None,
    }
}

/// A null inside of `union` may mean "not given"; whether it may be left out shows when everything is checked again.
fn omission(error: &ValidationError<'_>, union: &str) -> Option<Replacement> {
    let place = error.instance_path().as_str();
    (error.instance().is_null() && place != union).then(|| Replacement {
        place: place.to_owned(),
        value: None,
        is_wrapped: false,
    })
}

fn wants(kind: &TypeKind, wanted: JsonType) -> bool {
    match kind {
        TypeKind::Single(one) => *one == wanted,
        TypeKind::Multiple(set) => set.iter().any(|one| one == wanted),
    }
}

fn choice(error: &ValidationError<'_>) -> Option<Choice> {
    let place = error.instance_path().as_str();
    let ways = match error.kind() {
        Violation::AnyOf { context } | Violation::OneOfNotValid { context } => branches(context, place),
        _ => vec![vec![wrapping(error)?]],
    };
    Some(Choice { place: place.to_owned(), ways })
}

/// The branches of the union at a place that can be mended, those that fit by conversion alone first.
fn branches(context: &[Vec<ValidationError<'static>>], place: &str) -> Vec<Way> {
    let mut ways: Vec<Way> = context.iter().take(BRANCHES).filter_map(|wrong| branch(wrong, place)).collect();
    ways.sort_by_key(|way| way.iter().any(|replacement| replacement.is_wrapped));
    ways
}

/// Everything that is wrong with one branch must be mended, or it is no way.
fn branch(wrong: &[ValidationError<'static>], union: &str) -> Option<Way> {
    let mut way = Way::new();
    for error in wrong {
        let mend = match error.kind() {
            Violation::AnyOf { context } | Violation::OneOfNotValid { context } => {
                branches(context, error.instance_path().as_str()).into_iter().next()
            }
            _ => conversion(error).or_else(|| wrapping(error)).map(|one| vec![one]),
        };
        way.extend(mend.or_else(|| Some(vec![omission(error, union)?]))?);
    }
    Some(way)
}
