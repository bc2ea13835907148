//! Which members of an object tell a reader most, by their names.
//!
//! An object that does not fit keeps some of its members. What a reader goes by (a name, a text, a link) comes before the
//! rest, and identifiers and empty values come last.

use super::tape::{JsonNode, NodeShape};
use toolhub_text::{has_word, words};

/// How much a member tells, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Telling {
    Name,
    Content,
    Link,
    Other,
    Identifier,
}

/// Names of members that say what an object is called.
const NAME: &str = "title name login username headline subject label caption 标题 名称 姓名 名字 用户名 主题";
/// Names of members that say what an object is about.
const CONTENT: &str = "text url content description summary snippet body message link href abstract excerpt \
    question answer error 内容 正文 文本 摘要 描述 简介 链接 网址 消息 错误";
/// Words in names of links to pictures, which a reader of a text cannot see.
const PICTURE: &str = "avatar icon favicon image img logo photo picture thumbnail gravatar";
/// Names, or last words of names, of members that only tell objects apart.
const IDENTIFIER: &str = "id ids uuid guid uid gid oid sha hash etag checksum cursor token 编号";

/// How much a member tells, by its key (in quotation marks) and its value, as it is written and as it was read.
pub(super) fn telling(key: &str, raw: &str, value: &JsonNode) -> Telling {
    if is_empty(raw, value) {
        return Telling::Identifier;
    }
    let words = words(key);
    let last = words.last().map(String::as_str).unwrap_or_default();
    match is_link(raw) {
        // `display_name` and `html_url` tell as much as `name` and `url`.
        _ if has_word(NAME, last) => Telling::Name,
        true if words.iter().any(|word| has_word(PICTURE, word)) => Telling::Other,
        true => Telling::Link,
        _ if has_word(IDENTIFIER, last) => Telling::Identifier,
        _ if has_word(CONTENT, last) => Telling::Content,
        false => Telling::Other,
    }
}

/// True for a string (in quotation marks) that is a link. A part of a link leads nowhere.
pub(super) fn is_link(raw: &str) -> bool {
    let Some((scheme, rest)) = raw.strip_prefix('"').and_then(|raw| raw.split_once(':')) else {
        return false;
    };
    let is_scheme =
        scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    is_scheme && rest.trim_start_matches('\\').starts_with('/') && !rest.contains(' ')
}

/// `""`, `null`, `{}` and `[]`.
fn is_empty(raw: &str, value: &JsonNode) -> bool {
    match value.shape {
        NodeShape::Object | NodeShape::Array => value.children == 0 && !value.open,
        NodeShape::Text => value.size == 2 && !value.open,
        NodeShape::Atom => raw == "null",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tape::JsonTape;
    use super::*;
    use toolhub_types::model::Lang;

    #[test]
    fn names_and_values_decide() {
        for (member, expected) in [
            (r#""title":"x""#, Telling::Name),
            (r#""displayName":"x""#, Telling::Name),
            (r#""login":"x""#, Telling::Name),
            (r#""标题":"x""#, Telling::Name),
            (r#""html_url":"x""#, Telling::Content),
            (r#""body":"x""#, Telling::Content),
            (r#""html_url":"https://example.org/x""#, Telling::Link),
            (r#""self":"https:\/\/example.org\/x""#, Telling::Link),
            (r#""avatar_url":"https://example.org/x""#, Telling::Other),
            (r#""note":"see https://example.org/x""#, Telling::Other),
            (r#""note":"to do: /tmp is full""#, Telling::Other),
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
            let tape = JsonTape::read(&text, true, None, Lang::En);
            let told = tape.map(|tape| telling(tape.raw(1), tape.raw(2), tape.node(2)));
            assert_eq!(told, Some(expected), "{member}");
        }
    }
}
