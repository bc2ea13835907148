//! Arguments that the modern era also wants in HTTP headers: `x-mcp-header` in a tool's schema.

use serde_json::Value;

/// An argument and the header it is mirrored into.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirrored {
    /// The names of the properties that lead to it.
    path: Vec<String>,
    /// What follows `Mcp-Param-`.
    header: String,
}

/// All annotations of a schema, or why it is invalid.
pub fn mirrored(schema: &Value) -> Result<Vec<Mirrored>, String> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    if found.len() != annotations(schema) {
        return Err("an annotation is not reachable through 'properties' alone".into());
    }
    let mut names: Vec<String> = found.iter().map(|one| one.header.to_ascii_lowercase()).collect();
    names.sort_unstable();
    names.dedup();
    match names.len() == found.len() {
        true => Ok(found),
        false => Err("two arguments have the same header".into()),
    }
}

/// What names the header of a value; a property of that name is a schema.
fn annotation(schema: &Value) -> Option<&Value> {
    schema.get("x-mcp-header").filter(|header| !header.is_object())
}

/// How many annotations there are anywhere.
fn annotations(value: &Value) -> usize {
    match value {
        Value::Object(map) => {
            usize::from(annotation(value).is_some()) + map.values().map(annotations).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(annotations).sum(),
        _ => 0,
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Mirrored>) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = annotation(property) {
            let header =
                header.as_str().filter(|text| is_token(text)).ok_or("a header name is not a token")?;
            let kind = property.get("type").and_then(Value::as_str).unwrap_or_default();
            if !matches!(kind, "string" | "integer" | "boolean") {
                return Err(format!("'{name}' is neither a string, an integer nor a boolean"));
            }
            found.push(Mirrored { path: path.clone(), header: header.to_owned() });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

fn is_token(text: &str) -> bool {
    let extra = |c: char| "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || extra(c))
}

impl Mirrored {
    /// The whole name of its header.
    pub fn header(&self) -> String {
        format!("Mcp-Param-{}", self.header)
    }

    /// What the header says in a call with these arguments. An argument that is not there, or null, has no header.
    pub fn value(&self, args: &Value) -> Option<String> {
        match self.path.iter().try_fold(args, |value, name| value.get(name))? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        }
    }
}

/// The headers of one call.
pub fn of_call(mirrored: &[Mirrored], args: &Value) -> Vec<(String, String)> {
    mirrored.iter().filter_map(|one| Some((one.header(), one.value(args)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn annotated_arguments_become_headers_and_absent_ones_do_not() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "flag": {"type": "boolean", "x-mcp-header": "Flag"},
            "plain": {"type": "string", "x-mcp-header": {"type": "string"}},
        }});
        let mirrored = mirrored(&schema).unwrap_or_default();
        let headers =
            of_call(&mirrored, &json!({"region": "eu", "deep": {"n": -7}, "flag": null, "plain": "x"}));
        assert_eq!(
            headers,
            vec![("Mcp-Param-Region".into(), "eu".into()), ("Mcp-Param-N".into(), "-7".into())]
        );
    }

    #[test]
    fn what_the_rules_forbid_makes_the_tool_invalid() {
        let with = |property: Value| mirrored(&json!({"type": "object", "properties": {"a": property}}));
        for property in [
            json!({"type": "string", "x-mcp-header": ""}),
            json!({"type": "string", "x-mcp-header": "a b"}),
            json!({"type": "string", "x-mcp-header": "a:b"}),
            json!({"type": "string", "x-mcp-header": "ä"}),
            json!({"type": "number", "x-mcp-header": "A"}),
            json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}),
            json!({"anyOf": [{"type": "string", "x-mcp-header": "A"}]}),
        ] {
            assert!(with(property.clone()).is_err(), "{property}");
        }
        let twice = json!({"properties": {"a": {"type": "string", "x-mcp-header": "X"}, "b": {"type": "string", "x-mcp-header": "x"}}});
        assert!(mirrored(&twice).is_err());
        assert_eq!(mirrored(&json!({"type": "object"})), Ok(Vec::new()));
    }
}
