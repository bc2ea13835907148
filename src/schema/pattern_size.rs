//! How large a pattern becomes when it is compiled, estimated from its text.
//!
//! An engine that runs in linear time still may look at every state for every byte of a text, and one match cannot be
//! interrupted. So patterns that become too large are not compiled, and a match counts as many steps as it may take.

use serde_json::Value;

/// Patterns with more states are not checked.
const MAX_STATES: u64 = 60_000;
/// Of all patterns of a schema together.
const MAX_TOTAL: u64 = 600_000;
/// Patterns up to this size are checked against any text.
pub const LIGHT: u64 = 128;
/// The states of one character of a large set: any character, or all but some.
const ANY: u64 = 12;
/// The states of one character with a property of Unicode.
const PROPERTY: u64 = 300;

/// What the patterns of a schema cost.
#[derive(Clone, Copy, Default)]
pub struct PatternWeights {
    /// The states of the largest one.
    pub largest: u64,
    /// The states of all that are matched with the names of properties.
    pub names: u64,
    /// Whether an engine runs that goes back in the text.
    pub backtracks: bool,
    total: u64,
}

impl PatternWeights {
    pub fn of(schema: &Value) -> Self {
        let (mut weights, mut todo, mut names_are_checked) = (PatternWeights::default(), vec![schema], false);
        while let Some(value) = todo.pop() {
            let Value::Object(map) = value else {
                todo.extend(value.as_array().into_iter().flatten());
                continue;
            };
            if let Some(Value::String(pattern)) = map.get("pattern") {
                weights.add(states(pattern));
            }
            if let Some(Value::Object(by_pattern)) = map.get("patternProperties") {
                for states in by_pattern.keys().map(|pattern| states(pattern)) {
                    weights.add(states);
                    weights.names = weights.names.saturating_add(states);
                }
            }
            names_are_checked |= map.contains_key("propertyNames");
            todo.extend(map.values());
        }
        if names_are_checked {
            weights.names = weights.names.saturating_add(weights.largest);
        }
        weights
    }

    pub fn with_backtracking(self) -> Self {
        PatternWeights { backtracks: true, ..self }
    }

    fn add(&mut self, states: u64) {
        self.largest = self.largest.max(states);
        self.total = self.total.saturating_add(states);
    }

    /// Whether a pattern must be left out.
    pub fn are_too_large(&self) -> bool {
        self.largest > MAX_STATES || self.total > MAX_TOTAL
    }

    /// Whether they are compiled at once.
    pub fn are_light(&self) -> bool {
        self.total <= 10 * LIGHT
    }

    /// The largest size at which a pattern of this schema is kept.
    pub fn limit(&self) -> u64 {
        if self.total > MAX_TOTAL { LIGHT } else { MAX_STATES }
    }
}

/// A group that is being read.
#[derive(Default)]
struct PatternGroup {
    /// The states of all that is complete.
    before: u64,
    /// Those of the last piece, which may be repeated.
    last: u64,
}

impl PatternGroup {
    fn push(&mut self, states: u64) {
        self.before = self.before.saturating_add(std::mem::replace(&mut self.last, states));
    }

    fn total(&self) -> u64 {
        self.before.saturating_add(self.last)
    }
}

/// The number of states of a pattern, roughly.
pub fn states(pattern: &str) -> u64 {
    let chars: Vec<char> = pattern.chars().collect();
    let (mut at, mut groups, mut group) = (0, Vec::new(), PatternGroup::default());
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            '(' => {
                group.push(0);
                groups.push(std::mem::take(&mut group));
            }
            ')' => {
                let inner = group.total();
                group = groups.pop().unwrap_or_default();
                group.push(inner.saturating_add(1));
            }
            '[' => {
                let (states, length) = class(&chars[at..]);
                group.push(states);
                at += length;
            }
            '{' => {
                if let Some((times, length)) = repetition(&chars[at..]) {
                    group.last = group.last.saturating_add(1).saturating_mul(times);
                    at += length;
                } else {
                    group.push(1);
                }
            }
            '\\' => {
                group.push(escaped(chars.get(at)));
                at += 1;
            }
            '.' => group.push(ANY),
            '*' | '+' | '?' => group.last = group.last.saturating_add(1),
            c => group.push(c.len_utf8() as u64),
        }
    }
    // Groups that are never closed make the pattern invalid.
    groups.iter().fold(group.total(), |total, open| total.saturating_add(open.total()))
}

/// The states of a class behind its `[`, and the number of characters it takes.
fn class(chars: &[char]) -> (u64, usize) {
    let mut states = if chars.first() == Some(&'^') { ANY } else { 2 };
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            // As the first member it is one.
            ']' if at > 1 => break,
            '\\' => {
                states += escaped(chars.get(at)) - 1;
                at += 1;
            }
            c if !c.is_ascii() => states += c.len_utf8() as u64,
            _ => {}
        }
    }
    (states, at)
}

fn escaped(c: Option<&char>) -> u64 {
    match c {
        Some('p' | 'P') => PROPERTY,
        Some('D' | 'W' | 'S') => ANY,
        _ => 1,
    }
}

/// The largest count of a repetition behind its `{`, and the number of characters it takes.
fn repetition(chars: &[char]) -> Option<(u64, usize)> {
    let end = chars.iter().position(|c| *c == '}')?;
    let text: String = chars[..end].iter().collect();
    let count = |digits: &str| match digits.trim() {
        "" => Some(0),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().unwrap_or(u64::MAX))
        }
        _ => None,
    };
    let times = match text.split_once(',') {
        Some((least, most)) => count(least)?.max(count(most)?),
        None => count(&text).filter(|_| !text.trim().is_empty())?,
    };
    Some((times.max(1), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_counts_as_often() {
        for (pattern, least, most) in [
            ("^[a-z0-9_-]+$", 3, 10),
            ("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", 60, 120),
            ("^(?=.*[0-9])(?=.*[a-z]).{8,}$", 40, 150),
            ("^.{1,1000}$", 10_000, 20_000),
            ("(.{0,200}.{0,200}){0,20}q$", 90_000, 200_000),
            ("(x?){900}q$", 1_800, 4_000),
            (r"[\p{L}\p{M}]{0,900}\p{Lu}{0,900}$", 500_000, 1_000_000),
            ("((((a{9}){9}){9}){9}){9}", 59_049, 200_000),
            ("a{2,99999999999999999999}", u64::MAX, u64::MAX),
            (r"\{5}[{5}]{x", 5, 12),
        ] {
            assert!((least..=most).contains(&states(pattern)), "{pattern}: {}", states(pattern));
        }
    }

    #[test]
    fn any_text_has_a_size() {
        for pattern in ["", "(", ")", "[", "[]", "[^", "{", "{,}", "{1", "\\", "[\\", "a{,5}", "é{3}", "())("]
        {
            states(pattern);
        }
    }
}
