//! Converting a value to another form with the same meaning. A value that would lose something, or could mean something else,
//! stays as it is.

use jsonschema::JsonType;
use serde_json::{Number, Value};
use std::collections::HashSet;
use toolhub_text::invisible::visible;
use toolhub_text::repeats_key;

/// From here on a float stands for several integers, so it may not be the one that was written.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The value as one of the wanted types.
pub fn to_type(value: &Value, wants: impl Fn(JsonType) -> bool) -> Option<Value> {
    match value {
        Value::String(text) => from_text(text, wants),
        Value::Number(number) if wants(JsonType::Integer) => whole(number).map(Value::Number),
        Value::Number(number) if wants(JsonType::String) => {
            is_exact(number).then(|| number.to_string().into())
        }
        Value::Bool(flag) if wants(JsonType::String) => Some(flag.to_string().into()),
        _ => None,
    }
}

fn from_text(text: &str, wants: impl Fn(JsonType) -> bool) -> Option<Value> {
    let plain = text.trim();
    if wants(JsonType::Null) && matches!(plain, "null" | "None") {
        return Some(Value::Null);
    }
    if wants(JsonType::Boolean) && (plain.eq_ignore_ascii_case("true") || plain.eq_ignore_ascii_case("false"))
    {
        return Some(plain.eq_ignore_ascii_case("true").into());
    }
    if let Some(number) = number(plain) {
        if wants(JsonType::Number) {
            return Some(Value::Number(number));
        }
        return whole(&number).filter(|_| wants(JsonType::Integer)).map(Value::Number);
    }
    let is_wanted = match plain.as_bytes().first()? {
        b'{' => wants(JsonType::Object),
        b'[' => wants(JsonType::Array),
        _ => false,
    };
    let parsed = is_wanted.then(|| serde_json::from_str(plain).ok()).flatten()?;
    is_lossless(plain, &parsed).then_some(parsed)
}

/// The one option that differs only in case, in the separators of its words, in hidden characters, or in being text.
pub fn to_option(value: &Value, options: &[Value]) -> Option<Value> {
    let given = normalized(value)?;
    let mut alike = options.iter().filter(|option| normalized(option).is_some_and(|option| option == given));
    let option = alike.next()?;
    alike.next().is_none().then(|| option.clone())
}

/// A single value as an array. Text that may be a list in some other notation, or a broken one, is not wrapped.
pub fn wrapped(value: &Value) -> Option<Value> {
    match value {
        Value::Null | Value::Array(_) => None,
        Value::String(text) if text.trim().is_empty() || text.contains([',', ';', '\n', '[', '{']) => None,
        single => Some(Value::Array(vec![single.clone()])),
    }
}

/// The array with each value once: an array whose items must be unique is a set.
pub fn without_repeats(value: &Value) -> Option<Value> {
    let mut seen = HashSet::new();
    let unique = value.as_array()?.iter().filter(|item| seen.insert(item.to_string()));
    Some(Value::Array(unique.cloned().collect()))
}

fn normalized(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(
            visible(text)
                .trim()
                .chars()
                .map(|c| if matches!(c, ' ' | '-') { '_' } else { c })
                .collect::<String>()
                .to_lowercase(),
        ),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// A number in JSON notation, unless it is a fraction with more digits than a float holds.
fn number(text: &str) -> Option<Number> {
    exactly(&serde_json::from_str(text).ok()?)
}

fn whole(number: &Number) -> Option<Number> {
    match number.as_f64() {
        _ if is_integer(number) => Some(number.clone()),
        Some(float) if float.fract() == 0.0 && float.abs() < EXACT => Some((float as i64).into()),
        _ => None,
    }
}

fn is_exact(number: &Number) -> bool {
    is_integer(number) || number.as_f64().is_some_and(|float| float.abs() < EXACT)
}

/// Whether a number is written as an integer. Those have any number of digits.
pub fn is_integer(number: &Number) -> bool {
    !number.as_str().contains(['.', 'e', 'E'])
}

/// A number as most readers hold it: an integer as it is, all else as a float. `None` beyond the range of floats.
fn held(number: &Number) -> Option<Number> {
    if is_integer(number) { Some(number.clone()) } else { Number::from_f64(number.as_f64()?) }
}

/// The number as most readers hold it, unless that is another one.
fn exactly(number: &Number) -> Option<Number> {
    held(number).filter(|held| decimal(number.as_str()) == decimal(held.as_str()))
}

/// The sign, the digits without surrounding zeros, and the power of ten of the last digit.
fn decimal(text: &str) -> (bool, Vec<u8>, i64) {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent = exponent.parse::<i64>().unwrap_or(i64::MAX);
    let mut power = exponent.saturating_sub_unsigned(fraction.len() as u64);
    let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit).collect();
    while digits.last() == Some(&b'0') {
        digits.pop();
        power = power.saturating_add(1);
    }
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.drain(..zeros);
    if digits.is_empty() { (false, digits, 0) } else { (text.starts_with('-'), digits, power) }
}

/// Whether parsing the text lost nothing: no digit of a number, no key that occurs twice.
fn is_lossless(text: &str, parsed: &Value) -> bool {
    fn is_held(value: &Value) -> bool {
        match value {
            Value::Number(number) => exactly(number).is_some(),
            Value::Array(items) => items.iter().all(is_held),
            Value::Object(map) => map.values().all(is_held),
            _ => true,
        }
    }
    !repeats_key(text) && is_held(parsed)
}
