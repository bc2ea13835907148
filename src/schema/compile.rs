//! From a schema to its validator.

use super::isolate::isolated;
use super::meter::MeteredValidator;
use super::nullable::with_nulls;
use super::pattern_size::PatternWeights;
use super::relax::{Removal, relaxed};
use super::structure::References;
use crate::model::Unchecked;
use crate::stack;
use jsonschema::PatternOptions;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// Steps back that a pattern with look-around may take in one text.
const BACKTRACKS: usize = 20_000;
/// The stack that one schema may need for one value, in an unoptimised build. A level of a value is at least two of a
/// schema: the keyword and its content.
const FRAME: usize = 3 * 1024;
/// Values nest less than this: conversion and parsing refuse deeper ones.
const DEEPEST: usize = 130;
/// Compiling nests as deeply as the schema.
const COMPILING: usize = 4 << 20;
/// Values whose check may need less than this are checked without a look at the stack.
const UNNOTICED: usize = 96 * 1024;

/// A schema that is ready to check values.
pub struct Compiled {
    /// What the validator checks: the schema, or as much of it as can be checked.
    pub schema: Arc<Value>,
    /// `None` if nothing can be checked.
    pub validator: Option<MeteredValidator>,
    /// Rules of the schema that are not checked.
    pub unchecked: Vec<Unchecked>,
    /// Whether a pattern may be given up because it takes too many steps.
    pub may_give_up: bool,
    /// Schemas that look at one value, at most.
    chain: usize,
    /// Levels of a value that are checked, at most.
    levels: usize,
    /// The rules that cost no more than the value is large; compiled when a value needs them.
    cheap: OnceLock<Option<(Value, MeteredValidator)>>,
}

/// The draft is the one that `$schema` names, else 2020-12. Keywords that are broken, lead nowhere or lead back to themselves
/// are not checked; all others are.
///
/// `format` is an annotation in every draft: servers accept more than the letter of a format (`localhost` as a URI).
pub fn compile(schema: &Arc<Value>) -> Compiled {
    stack::with_room(COMPILING, || compile_here(schema)).unwrap_or_else(|| Compiled {
        schema: schema.clone(),
        validator: None,
        unchecked: vec![Unchecked { place: "".into(), reason: "no thread could be started to compile it" }],
        may_give_up: false,
        chain: 0,
        levels: 0,
        cheap: OnceLock::new(),
    })
}

fn compile_here(schema: &Arc<Value>) -> Compiled {
    let nullable = match with_nulls(schema) {
        Cow::Borrowed(_) => schema.clone(),
        Cow::Owned(schema) => Arc::new(schema),
    };
    let schema = &nullable;
    let references = References::of(schema);
    let levels = if references.are_used { DEEPEST } else { (depth(schema) / 2 + 1).min(DEEPEST) };
    let mut compiled = Compiled {
        schema: schema.clone(),
        validator: None,
        unchecked: Vec::new(),
        may_give_up: false,
        chain: references.longest + 1,
        levels,
        cheap: OnceLock::new(),
    };
    if references.endless.is_empty() && !PatternWeights::of(schema).are_too_large() {
        compiled.build();
    }
    if compiled.validator.is_none() {
        let (rest, unchecked) =
            relaxed(schema, &references, Removal::Broken, &|small| build(small).is_some());
        compiled.schema = Arc::new(rest);
        compiled.unchecked = unchecked;
        compiled.build();
    }
    if compiled.validator.is_none()
        && let Some((rest, unchecked)) = isolated(&compiled.schema, &|small| build(small).is_some())
    {
        compiled.schema = Arc::new(rest);
        compiled.unchecked.extend(unchecked);
        compiled.build();
    }
    if compiled.validator.is_none() {
        compiled.unchecked = vec![Unchecked { place: "".into(), reason: "the schema cannot be compiled" }];
    }
    compiled
}

impl Compiled {
    fn build(&mut self) {
        self.validator = build(&self.schema);
        self.may_give_up = self.validator.as_ref().is_some_and(|built| built.weights.backtracks);
    }

    /// The bytes of stack that a check of this value may need; 0 if every thread has them.
    pub fn stack_for(&self, value: &Value) -> usize {
        match self.stack(self.levels) {
            bytes if bytes < UNNOTICED => 0,
            _ => self.stack(depth(value).min(self.levels)) + UNNOTICED,
        }
    }

    /// The bytes of stack for any value, with those that coercion may put in.
    pub fn stack_for_all(&self) -> usize {
        self.stack(self.levels) + UNNOTICED
    }

    fn stack(&self, levels: usize) -> usize {
        (levels + 1) * self.chain * FRAME
    }

    /// The rules whose cost does not multiply, for a value that is too costly for all of them.
    pub fn cheap(&self) -> Option<&(Value, MeteredValidator)> {
        let compile = || {
            let references = References::of(&self.schema);
            let (rest, _) = relaxed(&self.schema, &references, Removal::Costly, &|_| true);
            build(&rest).map(|validator| (rest, validator))
        };
        self.cheap.get_or_init(compile).as_ref()
    }
}

/// The engine that runs in linear time is preferred; the other one also knows look-around and back-references, and goes back
/// in the text for them.
fn build(schema: &Value) -> Option<MeteredValidator> {
    let options = || jsonschema::options_for().should_validate_formats(false);
    let weights = PatternWeights::of(schema);
    let linear = options().with_pattern_options(PatternOptions::regex()).build(schema);
    linear.ok().map(|validator| MeteredValidator { validator, weights }).or_else(|| {
        let look_around = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS);
        let validator = options().with_pattern_options(look_around).build(schema).ok()?;
        Some(MeteredValidator { validator, weights: weights.with_backtracking() })
    })
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
