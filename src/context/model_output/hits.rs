//! Search hits as lines.

use serde_json::Value;

const TITLES: &[&str] = &["title", "name"];
const SNIPPETS: &[&str] =
    &["snippet", "description", "summary", "content", "text", "body", "page_content", "abstract", "excerpt"];
const LINKS: &[&str] = &["url", "link", "href"];

/// Hits as numbered lines `title – snippet – URL`; `None` if a value is not a hit.
pub fn lines(hits: &[Value]) -> Option<String> {
    let lines: Option<Vec<String>> =
        hits.iter().zip(1..).map(|(hit, number)| Some(format!("{number}. {}", line(hit)?))).collect();
    lines.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"))
}

fn line(hit: &Value) -> Option<String> {
    let field = |names: &[&str]| {
        names.iter().find_map(|name| hit.get(name)?.as_str().filter(|text| !text.trim().is_empty()))
    };
    let (title, snippet, link) = (field(TITLES), field(SNIPPETS), field(LINKS));
    let known = title.is_some() || snippet.is_some() || link.is_some();
    let parts = [title, snippet.or_else(|| longest_other(hit)), link].into_iter().flatten();
    let parts = parts.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    known.then(|| parts.collect::<Vec<_>>().join(" – "))
}

/// The text of a hit whose source gives it a name of its own: the longest one that is neither title nor link.
fn longest_other(hit: &Value) -> Option<&str> {
    let others = hit.as_object()?.iter().filter(|(name, _)| {
        let name = name.as_str();
        !TITLES.contains(&name) && !LINKS.contains(&name)
    });
    let texts =
        others.filter_map(|(_, value)| value.as_str()).filter(|text| text.contains(char::is_whitespace));
    texts.filter(|text| !text.trim().is_empty()).max_by_key(|text| text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_hit_is_a_line_and_other_values_are_not() {
        let hits = [json!({"name": "A", "summary": "of\n a", "link": "u:1"}), json!({"title": "B"})];
        assert_eq!(lines(&hits).as_deref(), Some("1. A – of a – u:1\n2. B"));
        let other =
            [json!({"title": "C", "href": "u:2", "passage": "the long text", "id": "c3d4", "lang": "of it"})];
        assert_eq!(lines(&other).as_deref(), Some("1. C – the long text – u:2"));
        assert_eq!(lines(&[json!({"id": 3})]), None);
        assert_eq!(lines(&[json!("text")]), None);
        assert_eq!(lines(&[]), None);
    }
}
