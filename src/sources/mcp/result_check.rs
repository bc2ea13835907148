//! What a server sends, against a schema of the server: the check must not delay other servers.

use serde_json::Value;
use std::sync::Arc;
use toolhub_registry::schema::ResultSchema;
use toolhub_types::aside;

/// What is wrong with a value, and the value itself. A check that takes more than about a millisecond runs on another thread.
pub async fn violations(schema: &Arc<ResultSchema>, value: Value) -> (Value, Option<String>) {
    if !schema.takes_long(&value) {
        let violations = schema.violations(&value);
        return (value, violations);
    }
    let schema = schema.clone();
    let checked = aside::on_thread(move || {
        let violations = schema.violations(&value);
        (value, violations)
    });
    checked.await.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Takes long for a long list, and is within the bound.
    fn costly() -> Value {
        let item = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
        json!({"properties": {"a": {"items": item}, "b": {"type": "integer"}}})
    }

    #[tokio::test]
    async fn other_tasks_take_turns_during_a_long_check() {
        let schema = Arc::new(ResultSchema::new(Arc::new(costly())));
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = turns.clone();
        let other = tokio::spawn(async move {
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let long = vec![1; 50_000];
        for (value, fits) in [(json!({"a": long, "b": 1}), true), (json!({"a": long, "b": "many"}), false)] {
            assert!(schema.takes_long(&value));
            let before = turns.load(Ordering::Relaxed);
            let (same, violations) = violations(&schema, value.clone()).await;
            assert_eq!((same, violations.is_none()), (value, fits), "{violations:?}");
            assert!(turns.load(Ordering::Relaxed) > before);
        }
        other.abort();
    }
}
