//! From a schema to its validator.

use super::cost::{Cost, DEEPEST};
use super::nullable::with_nulls;
use super::patterns::{self, Built};
use super::relax::{Removal, relaxed};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use toolhub_types::model::Unchecked;
use toolhub_types::stack;

/// The stack that one schema may need for one value, in an unoptimised build. A level of a value is at least two of a
/// schema: the keyword and its content.
const FRAME: usize = 3 * 1024;
/// Compiling nests as deeply as the schema.
const COMPILING: usize = 4 << 20;
/// Values whose check may need less than this are checked without a look at the stack.
const UNNOTICED: usize = 96 * 1024;

pub const ABOVE: &str = "its unions, references and patterns may take too long, so they are left out";

/// A schema that is ready to check values.
pub struct Compiled {
    /// What the validator checks: the schema, or as much of it as can be checked.
    pub schema: Arc<Value>,
    /// `None` if nothing can be checked.
    pub built: Option<Built>,
    pub cost: Cost,
    /// Rules of the schema that are not checked.
    pub unchecked: Vec<Unchecked>,
    /// The rules that cost no more than the value is large; compiled when a value needs them.
    cheap: OnceLock<Option<Box<Compiled>>>,
}

/// The draft is the one that `$schema` names, else 2020-12. Keywords that are broken, lead nowhere or lead back to themselves
/// are not checked; all others are. Of a schema above the bound only the rules whose cost does not multiply are.
pub fn compile(schema: &Arc<Value>) -> Compiled {
    stack::with_room(COMPILING, || compile_here(schema)).unwrap_or_else(|| {
        let reason = "no thread could be started to compile it";
        Compiled::nothing(schema.clone(), reason)
    })
}

fn compile_here(schema: &Arc<Value>) -> Compiled {
    let nullable = match with_nulls(schema) {
        Cow::Borrowed(_) => schema.clone(),
        Cow::Owned(schema) => Arc::new(schema),
    };
    let heaviest = patterns::heaviest(&nullable);
    let cost = Cost::of(&nullable, 0, 1);
    match heaviest {
        Some(heaviest) if !cost.is_above_the_bound() => Compiled::of(nullable, &cost, heaviest),
        _ => cheap_rules(&nullable),
    }
}

/// The rules whose cost does not multiply.
fn cheap_rules(schema: &Value) -> Compiled {
    let rest = Arc::new(relaxed(schema, &Cost::nothing(), Removal::Costly, &|_| true).0);
    let cost = Cost::of(&rest, 0, 1);
    // A schema that nests too deeply by itself.
    let mut compiled =
        if cost.is_above_the_bound() { Compiled::nothing(rest, ABOVE) } else { Compiled::of(rest, &cost, 0) };
    if compiled.built.is_some() {
        compiled.unchecked.insert(0, Unchecked { place: "".into(), reason: ABOVE });
    }
    compiled
}

impl Compiled {
    fn of(schema: Arc<Value>, cost: &Cost, heaviest: usize) -> Self {
        let built = if cost.endless.is_empty() { patterns::build(&schema, heaviest) } else { None };
        let (schema, unchecked, built) = match built {
            Some(built) => (schema, Vec::new(), Some(built)),
            None => {
                let (rest, unchecked) = relaxed(&schema, cost, Removal::Broken, &patterns::compiles);
                let built = patterns::build(&rest, patterns::heaviest(&rest).unwrap_or(heaviest));
                (Arc::new(rest), unchecked, built)
            }
        };
        match built {
            Some(built) => {
                let cost = Cost::of(&schema, built.text, built.runs);
                Compiled { cost, built: Some(built), unchecked, schema, cheap: OnceLock::new() }
            }
            None => Compiled::nothing(schema, "the schema cannot be compiled"),
        }
    }

    fn nothing(schema: Arc<Value>, reason: &'static str) -> Self {
        let unchecked = vec![Unchecked { place: "".into(), reason }];
        Compiled { schema, built: None, cost: Cost::nothing(), unchecked, cheap: OnceLock::new() }
    }

    /// The bytes of stack that a check of this value may need; 0 if every thread has them.
    pub fn stack_for(&self, value: &Value) -> usize {
        match self.stack(self.cost.levels) {
            bytes if bytes < UNNOTICED => 0,
            _ => self.stack(depth(value).min(self.cost.levels)) + UNNOTICED,
        }
    }

    /// The bytes of stack for any value, with those that coercion may put in.
    pub fn stack_for_all(&self) -> usize {
        self.stack(self.cost.levels) + UNNOTICED
    }

    fn stack(&self, levels: usize) -> usize {
        (levels.min(DEEPEST) + 1) * (self.cost.chain + 1) * FRAME
    }

    /// The rules whose cost does not multiply, for a value that is too costly for all of them.
    pub fn cheap(&self) -> Option<&Compiled> {
        let compile = || {
            let cheap = cheap_rules(&self.schema);
            cheap.built.is_some().then(|| Box::new(cheap))
        };
        self.cheap.get_or_init(compile).as_deref()
    }
}

/// The number of levels below a value.
fn depth(value: &Value) -> usize {
    let (mut deepest, mut todo) = (0, vec![(value, 0)]);
    while let Some((value, level)) = todo.pop() {
        deepest = deepest.max(level);
        match value {
            Value::Array(items) => todo.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(map) => todo.extend(map.values().map(|inner| (inner, level + 1))),
            _ => {}
        }
    }
    deepest
}
