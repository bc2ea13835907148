//! Coercing arguments that have the right content in the wrong form.
//!
//! The validator reports what is wrong and where; what can be replaced safely is replaced, and the value is validated again:
//! text that held an object may in turn hold text for a number. So nothing here needs to know about references, conditions or
//! patterns, and what fits is never touched. Where there is a choice (a union, a single value for an array), each option is
//! tried and kept only if everything at that place then fits.

use super::check::{Lists, Opaque, any_inside, depends_on};
use super::convert;
use jsonschema::error::{TypeKind, ValidationErrorKind as Violation};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;
use std::collections::{HashMap, HashSet, VecDeque};
use std::mem::take;

/// Maximum number of validations for one call.
const MAX_VALIDATIONS: usize = 64;
/// Maximum number of branches of a union that are tried.
const MAX_BRANCHES: usize = 32;

/// A copy of the value with every replacement that could be made, and whether it fits now.
pub fn coerced(lists: &Lists<'_>, given: &Value, opaque: &[Opaque]) -> (Value, bool) {
    let mut value = given.clone();
    let fitting = Coercion { lists, opaque, left: MAX_VALIDATIONS }.settle(&mut value, &[String::new()]);
    (value, !fitting.is_empty())
}

/// The new value for a place, which is a JSON pointer.
struct Replacement {
    place: String,
    /// None: the key is removed.
    value: Option<Value>,
    /// Wrapping in an array is less likely to be what was meant than a conversion.
    is_wrapped: bool,
}

impl Replacement {
    fn at(error: &ValidationError<'_>, value: Option<Value>, is_wrapped: bool) -> Self {
        Replacement { place: error.instance_path().as_str().to_owned(), value, is_wrapped }
    }
}

/// Replacements that belong together: one option of a choice.
type Repair = Vec<Replacement>;

/// Several repairs to repair what is wrong at one place.
struct Choice {
    place: String,
    repairs: VecDeque<Repair>,
}

/// What is wrong at one place and below it.
#[derive(Default)]
struct Wrong {
    sure: Repair,
    choices: Vec<Choice>,
    nulls: Vec<String>,
}

struct Coercion<'v> {
    lists: &'v Lists<'v>,
    opaque: &'v [Opaque],
    left: usize,
}

impl Coercion<'_> {
    /// Repairs what is wrong at these places and below them; returns those where nothing is wrong any more. No place is inside
    /// another, and one list of violations serves all: many items with a union cost as many lists as one.
    fn settle(&mut self, value: &mut Value, places: &[String]) -> HashSet<String> {
        let (mut fitting, mut open) = (HashSet::new(), places.to_vec());
        while self.left > 0 && !open.is_empty() {
            self.left -= 1;
            // Text that was parsed may be too large.
            let Some(mut wrong) = self.wrong(value, &open) else { break };
            let (still, settled) = open.into_iter().partition(|place| wrong.contains_key(place));
            open = still;
            fitting.extend::<Vec<String>>(settled);
            let choices = wrong.values_mut().flat_map(|wrong| take(&mut wrong.choices)).collect();
            let chosen = self.choose(value, choices);
            let changed: HashSet<&str> = chosen.iter().flat_map(|place| above(place)).collect();
            open.retain(|place| {
                let Wrong { sure, nulls, .. } = wrong.remove(place).unwrap_or_default();
                replace(value, sure)
                    || changed.contains(place.as_str())
                    || nulls.iter().any(|null| self.leave_out(value, null))
            });
        }
        fitting
    }

    /// What is wrong at each of these places; `None` if it takes too long to say.
    fn wrong(&self, value: &Value, places: &[String]) -> Option<HashMap<String, Wrong>> {
        let places: HashSet<&str> = places.iter().map(String::as_str).collect();
        let mut errors: HashMap<&str, Vec<ValidationError<'_>>> = HashMap::new();
        for error in self.lists.violations(value)? {
            let place = above(error.instance_path().as_str()).find_map(|place| places.get(place).copied());
            if let Some(place) = place.filter(|_| !depends_on(&error, self.opaque)) {
                errors.entry(place).or_default().push(error);
            }
        }
        let of_place = |(place, errors): (&str, Vec<ValidationError<'_>>)| {
            let sure: Repair = errors.iter().filter_map(conversion).collect();
            // Wrapping would move an opaque object to another place.
            let is_movable = |error: &&ValidationError<'_>| {
                sure.is_empty() && !any_inside(self.opaque, error.instance_path().as_str())
            };
            let choices = errors.iter().filter(is_movable).filter_map(choice).collect();
            let nulls = errors.iter().filter(|error| error.instance().is_null());
            let nulls = nulls.map(|error| error.instance_path().as_str().to_owned()).collect();
            (place.to_owned(), Wrong { sure, choices, nulls })
        };
        Some(errors.into_iter().map(of_place).collect())
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

    /// Tries the repairs of all choices side by side; returns the places that fit then.
    fn choose(&mut self, value: &mut Value, mut choices: Vec<Choice>) -> HashSet<String> {
        let mut chosen = HashSet::new();
        choices.sort_by(|one, other| one.place.cmp(&other.place));
        while !choices.is_empty() {
            // Two choices for one place, or one inside another, come one after the other.
            let mut taken: HashSet<String> = HashSet::new();
            let (mut now, later): (Vec<Choice>, _) = choices.into_iter().partition(|choice| {
                !above(&choice.place).any(|place| taken.contains(place)) && taken.insert(choice.place.clone())
            });
            choices = later;
            while !now.is_empty() {
                let (mut places, mut before) = (Vec::new(), Vec::new());
                for Choice { place, repairs } in &mut now {
                    let held = value.pointer(place).cloned();
                    if let Some((held, repair)) = held.zip(repairs.pop_front())
                        && replace(value, repair)
                    {
                        places.push(place.clone());
                        before.push(held);
                    }
                }
                let fitting = self.settle(value, &places);
                for (place, held) in places.iter().zip(before).filter(|(place, _)| !fitting.contains(*place))
                {
                    value.pointer_mut(place).into_iter().for_each(|slot| *slot = held.clone());
                }
                now.retain(|choice| !choice.repairs.is_empty() && !fitting.contains(&choice.place));
                chosen.extend(fitting);
            }
        }
        chosen
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

/// A place and all those that it lies in.
fn above(place: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(place), |place| place.rsplit_once('/').map(|(holder, _)| holder))
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
    Some(Replacement::at(error, Some(value), false))
}

fn wrapping(error: &ValidationError<'_>) -> Option<Replacement> {
    let Violation::Type { kind } = error.kind() else { return None };
    let wrapped = convert::wrapped(error.instance()).filter(|_| wants(kind, JsonType::Array));
    Some(Replacement::at(error, Some(wrapped?), true))
}

/// A null inside `union` may mean "not given"; the next validation shows whether it may be left out.
fn omission(error: &ValidationError<'_>, union: &str) -> Option<Replacement> {
    let is_inside = error.instance_path().as_str() != union;
    (error.instance().is_null() && is_inside).then(|| Replacement::at(error, None, false))
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
        Violation::AnyOf { context } | Violation::OneOfNotValid { context } => {
            branches(context, place).into()
        }
        _ => VecDeque::from([vec![wrapping(error)?]]),
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
