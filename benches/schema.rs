//! Checking the arguments of a typical call: valid ones (the common case, next to the bare validator), coerced ones, and
//! invalid ones.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use toolhub::model::{Arguments, CheckOptions};
use toolhub::schema::ArgumentSchema;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "filters": {"type": "array", "items": {"type": "object",
                "properties": {"field": {"type": "string"}, "max": {"type": "number"}}, "required": ["field"]}},
            "near": {"anyOf": [{"type": "object", "properties": {"lat": {"type": "number"}}}, {"type": "null"}]}
        },
        "required": ["query"],
        "additionalProperties": false
    })
}

fn arguments(value: Value) -> Arguments {
    match value {
        Value::Object(map) => Arguments::new(map),
        _ => Arguments::default(),
    }
}

fn check(c: &mut Criterion) {
    let mut group = c.benchmark_group("schema");
    let checker = ArgumentSchema::new(Arc::new(schema()));
    let fitting = json!({"query": "tea", "limit": 5, "unit": "celsius", "filters": [{"field": "price", "max": 9.5}],
        "near": {"lat": 1.5}});
    if let Ok(bare) = jsonschema::validator_for(&schema()) {
        group.bench_function("bare validator", |b| b.iter(|| bare.is_valid(black_box(&fitting))));
    }
    for (name, args) in [
        ("fitting", fitting),
        ("one text for a number", json!({"query": "tea", "limit": "5"})),
        (
            "json text for an array",
            json!({"query": "tea", "filters": "[{\"field\": \"price\", \"max\": \"9.5\"}]"}),
        ),
        ("refused", json!({"query": "tea", "limit": "many", "unti": "celsius"})),
    ] {
        let args = arguments(args);
        group.bench_function(name, |b| {
            b.iter(|| checker.check("search", black_box(&args), &CheckOptions::here(true)))
        });
    }
    group.finish();
}

criterion_group!(benches, check);
criterion_main!(benches);
