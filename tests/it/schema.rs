//! Arguments against JSON Schemas: what fits, what is made to fit, the errors for the rest.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests may fail a test"
)]

mod coercion;
mod nasty;
mod opaque;
mod properties;
mod skipped;
mod violations;

use serde_json::{Value, json};
use std::sync::Arc;
use toolhub::model::{Arguments, CheckOptions};
use toolhub::schema::ArgumentSchema;

fn arguments(value: Value) -> Arguments {
    match value {
        Value::Object(map) => Arguments::new(map),
        other => panic!("tests give objects, not {other}"),
    }
}

/// What the tool is called with, or the error instead, without the sentence's beginning and end.
fn checked(schema: &Value, args: Value, coerce: bool) -> Result<Value, String> {
    let args = arguments(args);
    match ArgumentSchema::new(Arc::new(schema.clone())).check("t", &args, &CheckOptions::here(coerce)) {
        Ok(fitting) => Ok(fitting.replacement.unwrap_or(args).as_value().clone()),
        Err(error) => {
            let message = error.message.into_owned();
            let inner =
                message.strip_prefix("Invalid arguments for 't': ").and_then(|rest| rest.strip_suffix('.'));
            Err(inner.unwrap_or_else(|| panic!("{message}")).to_owned())
        }
    }
}

/// The same for one argument, `it`.
fn one(schema: Value, value: Value) -> Result<Value, String> {
    let schema = json!({"type": "object", "properties": {"it": schema}, "required": ["it"]});
    checked(&schema, json!({"it": value}), true).map(|args| args["it"].clone())
}
