//! Coercing arguments that have the right content in the wrong form.
//!
//! The validator reports what is wrong and where; what can be replaced safely is replaced, and the value is validated again:
//! text that held an object may in turn hold text for a number. So nothing here needs to know about references, conditions or
//! patterns, and what fits is never touched. Where there is a choice (a union, a single value for an array), each option is
//! tried and kept only if everything at that place then fits.

use super::convert;
use super::lists::Lists;
use super::opaque::{self, Opaque};
use jsonschema::error::{TypeKind, ValidationErrorKind as Violation};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

/// Maximum number of validations for one call.
const MAX_VALIDATIONS: usize = 64;
/// Maximum number of branches of a union that are tried.
const MAX_BRANCHES: usize = 32;

/// A copy of the value with every replacement that could be made, and whether it fits now.
pub fn coerced(lists: &Lists<'_>, given: &Value, opaque: &[Opaque]) -> (Value, bool) {
    let mut value = given.clone();
    let fits = Coercion { lists, opaque, left: MAX_VALIDATIONS }.settle(&mut value, "");
    (value, fits)
}

/// The new value for a place, which is a JSON pointer.
struct Replacement {
    place: String,
    /// None: the key is removed.
    value: Option<Value>,
    /// Wrapping in an array is less likely to be what was meant than a conversion.
    is_wrapped: bool,
}

/// Replacements that belong together: one option of a choice.
type Repair = Vec<Replacement>;

/// Several repairs to repair what is wrong at one place.
struct Choice {
    place: String,
    repairs: Vec<Repair>,
}

struct Coercion<'v> {
    lists: &'v Lists<'v>,
    opaque: &'v [Opaque],
    left: usize,
}

impl Coercion<'_> {
    /// Repairs what is wrong at a place and below it; returns whether nothing is wrong there any more.
    fn settle(&mut self, value: &mut Value, place: &str) -> bool {
        while self.left > 0 {
            self.left -= 1;
            // Text that was parsed may be too large.
            let Some(mut wrong) = self.lists.violations(value) else { return false };
            wrong.retain(|error| self.is_about(error, place));
            if wrong.is_empty() {
                return true;
            }
            let sure: Repair = wrong.iter().filter_map(conversion).collect();
            let choices: Vec<Choice> = if sure.is_empty() {
                // Wrapping would move an opaque object to another place.
                let movable = wrong
                    .iter()
                    .filter(|error| !opaque::any_inside(self.opaque, error.instance_path().as_str()));
                movable.filter_map(choice).collect()
            } else {
                Vec::new()
            };
            let nulls: Vec<String> = wrong
                .iter()
                .filter(|error| error.instance().is_null())
                .map(|error| error.instance_path().as_str().to_owned())
                .collect();
            drop(wrong);
            let changed = if sure.is_empty() {
                // Every choice is made, not only the first.
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

    fn is_about(&self, error: &ValidationError<'_>, place: &str) -> bool {
        is_below(error, place) && !opaque::depends_on(error, self.opaque)
    }

    /// A null that does not fit means "not given", if fewer violations remain without it.
    fn leave_out(&mut self, value: &mut Value, null: &str) -> bool {
        let Some((holder, _)) = null.rsplit_once('/') else { return false };
        let Some(before) = value.pointer(holder).cloned() else { return false };
        let wrong = self.count(value);
        if !remove(value, null) {
            return false;
        }
        self.left = self.left.saturating_sub(1);
        if self.count(value).zip(wrong).is_some_and(|(now, before)| now < before) {
            return true;
        }
        if let Some(slot) = value.pointer_mut(holder) {
            *slot = before;
        }
        false
    }

    fn count(&self, value: &Value) -> Option<usize> {
        self.lists.violations(value).map(|violations| violations.len())
    }

    fn choose(&mut self, value: &mut Value, choice: Choice) -> bool {
        let Some(before) = value.pointer(&choice.place).cloned() else { return false };
        for repair in choice.repairs {
            if replace(value, repair) && self.settle(value, &choice.place) {
                return true;
            }
            if let Some(slot) = value.pointer_mut(&choice.place) {
                *slot = before.clone();
            }
        }
        false
    }
}

/// Returns whether anything has changed.
fn replace(value: &mut Value, repair: Repair) -> bool {
    let mut changed = false;
    for Replacement { place, value: new, .. } in repair {
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

/// Removes a key from its object; an item of an array stays.
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

/// The replacement for a violation that can be repaired in one way only.
fn conversion(error: &ValidationError<'_>) -> Option<Replacement> {
    let value = match error.kind() {
        Violation::Type { kind } => convert::to_type(error.instance(), |wanted| wants(kind, wanted)),
        Violation::Enum { options } => convert::to_option(error.instance(), options.as_array()?),
        Violation::Constant { expected_value } => {
            convert::to_option(error.instance(), std::slice::from_ref(&**expected_value))
        }
        Violation::UniqueItems => convert::without_repeats(error.instance()),
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

/// A null inside `union` may mean "not given"; the next validation shows whether it may be left out.
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
    let repairs = match error.kind() {
        Violation::AnyOf { context } | Violation::OneOfNotValid { context } => branches(context, place),
        _ => vec![vec![wrapping(error)?]],
    };
    Some(Choice { place: place.to_owned(), repairs })
}

/// The branches of a union that can be repaired, those that need only conversions first.
fn branches(context: &[Vec<ValidationError<'static>>], place: &str) -> Vec<Repair> {
    let repairable = context.iter().take(MAX_BRANCHES).filter_map(|wrong| branch(wrong, place));
    let mut repairs: Vec<Repair> = repairable.collect();
    repairs.sort_by_key(|repair| repair.iter().any(|replacement| replacement.is_wrapped));
    repairs
}

/// The replacements that repair one branch; `None` unless every violation in it can be repaired.
fn branch(wrong: &[ValidationError<'static>], union: &str) -> Option<Repair> {
    let mut repair = Repair::new();
    for error in wrong {
        let step = match error.kind() {
            Violation::AnyOf { context } | Violation::OneOfNotValid { context } => {
                branches(context, error.instance_path().as_str()).into_iter().next()
            }
            _ => conversion(error).or_else(|| wrapping(error)).map(|one| vec![one]),
        };
        repair.extend(step.or_else(|| Some(vec![omission(error, union)?]))?);
    }
    Some(repair)
}
