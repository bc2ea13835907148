//! Search hits as lines.

use serde_json::Value;

/// The fields of a hit, each with its usual names.
const FIELDS: [&[&str]; 3] =
    [&["title", "name"], &["snippet", "description", "summary", "content", "text"], &["url", "link", "href"]];

/// Hits as numbered lines `title – snippet – URL`; `None` if a value is not a hit.
pub fn lines(hits: &[Value]) -> Option<String> {
    let lines: Option<Vec<String>> =
        hits.iter().zip(1..).map(|(hit, number)| Some(format!("{number}. {}", line(hit)?))).collect();
    lines.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"))
}

fn line(hit: &Value) -> Option<String> {
    let field = |names: &&[&str]| {
        let text = names.iter().find_map(|name| hit.get(name)?.as_str().filter(|text| !text.is_empty()))?;
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let parts: Vec<String> = FIELDS.iter().filter_map(field).filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join(" – "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_hit_is_a_line_and_other_values_are_not() {
        let hits = [json!({"name": "A", "summary": "of\n a", "link": "u:1"}), json!({"title": "B"})];
        assert_eq!(lines(&hits).as_deref(), Some("1. A – of a – u:1\n2. B"));
        assert_eq!(lines(&[json!({"id": 3})]), None);
        assert_eq!(lines(&[json!("text")]), None);
        assert_eq!(lines(&[]), None);
    }
}
