//! Which members of an object tell a reader most, by their names.
//!
//! An object that does not fit keeps some of its members. What a reader goes by (a title, a text, a link) comes before the
//! rest, and identifiers and empty values come last.

use super::tape::{JsonNode, NodeShape};
use crate::text::words;

/// How much a member tells, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Telling {
    Content,
    Other,
    Identifier,
}

/// Names of members that say what an object is about.
const CONTENT: [&str; 34] = [
    "title",
    "name",
    "text",
    "url",
    "content",
    "description",
    "summary",
    "snippet",
    "body",
    "message",
    "headline",
    "subject",
    "label",
    "link",
    "href",
    "abstract",
    "excerpt",
    "caption",
    "question",
    "answer",
    "error",
    "标题",
    "名称",
    "姓名",
    "内容",
    "正文",
    "文本",
    "摘要",
    "描述",
    "简介",
    "链接",
    "网址",
    "消息",
    "错误",
];
/// Names, or last words of names, of members that only tell objects apart.
const IDENTIFIER: [&str; 14] = [
    "id", "ids", "uuid", "guid", "uid", "gid", "oid", "sha", "hash", "etag", "checksum", "cursor", "token",
    "编号",
];

/// How much a member tells, by its key (in quotation marks) and its value.
pub(super) fn telling(key: &str, value: &JsonNode) -> Telling {
    if is_empty(value) {
        return Telling::Identifier;
    }
    let words = words(key);
    match words.last().map(String::as_str) {
        Some(last) if IDENTIFIER.contains(&last) => Telling::Identifier,
        // `display_name` and `html_url` tell as much as `name` and `url`.
        Some(last) if CONTENT.contains(&last) => Telling::Content,
        _ => Telling::Other,
    }
}

/// `""`, `null`, `{}` and `[]`.
fn is_empty(value: &JsonNode) -> bool {
    match value.shape {
        NodeShape::Object | NodeShape::Array => value.children == 0 && !value.open,
        NodeShape::Text => value.size() == 2 && !value.open,
        NodeShape::Atom => value.is_null,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tape::JsonTape;
    use super::*;
    use crate::truncate::notice::Language;

    #[test]
    fn names_and_values_decide() {
        for (member, expected) in [
            (r#""title":"x""#, Telling::Content),
            (r#""displayName":"x""#, Telling::Content),
            (r#""html_url":"x""#, Telling::Content),
            (r#""标题":"x""#, Telling::Content),
            (r#""title":"""#, Telling::Identifier),
            (r#""title":null"#, Telling::Identifier),
            (r#""tags":[]"#, Telling::Identifier),
            (r#""id":7"#, Telling::Identifier),
            (r#""node_id":"x""#, Telling::Identifier),
            (r#""userId":7"#, Telling::Identifier),
            (r#""valid":true"#, Telling::Other),
            (r#""count":0"#, Telling::Other),
            (r#""":1"#, Telling::Other),
        ] {
            let text = format!("{{{member}}}");
            let tape = JsonTape::read(&text, true, None, Language::English);
            let told = tape.map(|tape| telling(tape.raw(1), tape.node(2)));
            assert_eq!(told, Some(expected), "{member}");
        }
    }
}
