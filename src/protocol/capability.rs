//! What a client can be asked.

use serde_json::{Value, json};

/// The capability of a client that a question needs.
pub fn needed_capability(method: &str, params: &Value) -> Value {
    match method {
        "elicitation/create" if params.get("mode").and_then(Value::as_str) == Some("url") => {
            json!({"elicitation": {"url": {}}})
        }
        "elicitation/create" => json!({"elicitation": {}}),
        "sampling/createMessage" if has_tools(params) => json!({"sampling": {"tools": {}}}),
        "sampling/createMessage" => json!({"sampling": {}}),
        "roots/list" => json!({"roots": {}}),
        _ => json!({}),
    }
}

/// Whether the model of the client is asked to choose among tools.
fn has_tools(params: &Value) -> bool {
    ["tools", "toolChoice"].iter().any(|member| params.get(member).is_some())
}

/// Whether the client can be asked this. `elicitation: {}` means forms.
pub fn can_answer(capabilities: &Value, method: &str, params: &Value) -> bool {
    let needed = needed_capability(method, params);
    let elicitation = capabilities.get("elicitation").and_then(Value::as_object);
    let takes_no_forms =
        elicitation.is_some_and(|kinds| kinds.contains_key("url") && !kinds.contains_key("form"));
    let is_form = needed == json!({"elicitation": {}});
    needed != json!({}) && includes(capabilities, &needed) && !(is_form && takes_no_forms)
}

/// Whether an object has all the members of another one, and they theirs.
fn includes(given: &Value, needed: &Value) -> bool {
    let mut members = needed.as_object().into_iter().flatten();
    given.is_object()
        && members.all(|(name, inner)| given.get(name).is_some_and(|given| includes(given, inner)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_asked_what_they_can_answer() {
        let (form, url) = (json!({}), json!({"mode": "url"}));
        for (capabilities, forms, urls) in [
            (json!({}), false, false),
            (json!({"elicitation": null}), false, false),
            (json!({"elicitation": {}}), true, false),
            (json!({"elicitation": {"form": {}}}), true, false),
            (json!({"elicitation": {"url": {}}}), false, true),
            (json!({"elicitation": {"form": {}, "url": {}}}), true, true),
        ] {
            assert_eq!(can_answer(&capabilities, "elicitation/create", &form), forms, "{capabilities}");
            assert_eq!(can_answer(&capabilities, "elicitation/create", &url), urls, "{capabilities}");
        }
        assert!(!can_answer(&json!({"elicitation": {}}), "sampling/createMessage", &form));
        assert!(!can_answer(&json!({"elicitation": {}}), "nonsense/ask", &form));
        let (plain, tools) = (json!({"sampling": {}}), json!({"sampling": {"tools": {}}}));
        let with_tools = json!({"tools": []});
        for (capabilities, params, can) in [
            (&plain, &form, true),
            (&plain, &with_tools, false),
            (&tools, &form, true),
            (&tools, &with_tools, true),
        ] {
            assert_eq!(
                can_answer(capabilities, "sampling/createMessage", params),
                can,
                "{capabilities} {params}"
            );
        }
    }
}
