//! The violations of a check as a list, within a limit.

use super::compile::Compiled;
use super::cost::LISTING;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Violation;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The lists of violations of one check. All together may take about as long as the check itself.
pub struct Lists<'c> {
    compiled: &'c Compiled,
    left: Cell<u64>,
    /// The place in the schema of a pattern that was given up.
    pub given_up: RefCell<Option<Arc<str>>>,
}

impl<'c> Lists<'c> {
    pub fn new(compiled: &'c Compiled) -> Self {
        Lists { compiled, left: Cell::new(LISTING), given_up: RefCell::new(None) }
    }

    pub fn may_give_up(&self) -> bool {
        self.compiled.built.as_ref().is_some_and(super::patterns::Built::looks_around)
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
            self.given_up.replace(Some(error.schema_path().as_str().into()));
        }
        !is_given_up
    }
}
