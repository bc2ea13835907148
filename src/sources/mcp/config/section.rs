//! Another part of a configuration file than its servers.

use super::jsonc;
use super::variables::{Environment, Variables};
use serde_json::Value;
use std::path::Path;
use toolhub_types::error::clip;

/// The member `key` of the root, with all variables replaced; `None` if the file has none. The error is a sentence without
/// any value, because a value may be a secret.
pub fn section(path: &Path, key: &str, env: Environment<'_>) -> Result<Option<Value>, String> {
    let failed = |why: String| format!("'{}': {why}", clip(&path.display().to_string()));
    let text = std::fs::read(path).map_err(|error| failed(format!("cannot be read: {error}.")))?;
    let root = jsonc::parse(&text).map_err(failed)?;
    let Some(mut value) = root.and_then(|mut root| root.get_mut(key).map(Value::take)) else {
        return Ok(None);
    };
    expand(&mut value, key, &Variables::new(Some(path), env)).map_err(failed)?;
    Ok(Some(value))
}

fn expand(value: &mut Value, at: &str, variables: &Variables<'_>) -> Result<(), String> {
    match value {
        Value::String(text) => {
            *text = variables.expand(text).map_err(|why| format!("`{}` {why}", clip(at)))?;
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| expand(item, at, variables)),
        Value::Object(members) => {
            members.iter_mut().try_for_each(|(key, member)| expand(member, &format!("{at}.{key}"), variables))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_section_has_its_variables_replaced_and_errors_show_no_value() {
        let folder = std::env::temp_dir().join(format!("toolhub-section-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("mcp.json");
        let env = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            section(&path, "serve", &env)
        };
        let text = r#"{"mcpServers": {}, /* who may call */ "serve": {"token": {"ann": "${TOKEN}"}, "port": 1, "core": ["$TOKEN"]},}"#;
        let expected = json!({"token": {"ann": "s3cret"}, "port": 1, "core": ["s3cret"]});
        assert_eq!(read(text), Ok(Some(expected)));
        assert_eq!(read(r#"{"mcpServers": {}}"#), Ok(None));
        assert_eq!(read(""), Ok(None));
        let missing = read(r#"{"serve": {"token": "hunter2${NONE}"}}"#).unwrap_err();
        assert!(
            missing.contains("`serve.token`") && missing.contains("NONE") && !missing.contains("hunter2")
        );
        assert!(read("{").is_err());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(section(&path, "serve", &env).is_err());
    }
}
