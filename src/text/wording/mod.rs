//! L0, the hub's own sentences in other languages.
//!
//! Code writes every sentence in English. [`in_chinese`] looks a finished sentence up in one table of templates and writes it
//! in Chinese; texts that are not in the table, such as a tool's own error, stay as they are. Notices for
//! operators are English only. Tests hold that the English side of the table occurs in the
//! code, and that the sentences of the code are in the table.

mod zh;

use std::borrow::Cow;

/// Sentences contain sentences (a server's failure contains the reason), but not many levels of them.
const MAX_DEPTH: usize = 6;

/// A sentence of the hub in Chinese.
pub fn in_chinese(sentence: &str) -> Cow<'_, str> {
    translated(sentence, MAX_DEPTH)
}

/// The row of a template, English and Chinese.
pub fn row_of(template: &str) -> Option<(&'static str, &'static str)> {
    let kinds = ['~', ';', ',', '|'].map(|kind| format!("{{{kind}}}"));
    let is_same = |row: &str| {
        row == template || kinds.iter().fold(row.to_owned(), |row, kind| row.replace(kind, "{}")) == template
    };
    zh::by_id().chain(zh::templates()).find(|(english, _)| is_same(english)).copied()
}

/// The words of the inspector's page, English and Chinese. `{}` stands for a value, in Chinese with its number.
pub fn page_in_chinese() -> impl Iterator<Item = (&'static str, &'static str)> {
    zh::page().copied()
}

fn translated(sentence: &str, depth: usize) -> Cow<'_, str> {
    if depth == 0 {
        return sentence.into();
    }
    let found = zh::templates().find_map(|(english, chinese)| Some((captures(english, sentence)?, chinese)));
    let Some((captures, chinese)) = found else { return sentence.into() };
    let mut text = String::with_capacity(sentence.len());
    let mut rest = *chinese;
    while let Some((before, after)) = rest.split_once('{') {
        let (number, after) = after.split_once('}').unwrap_or((after, ""));
        text.push_str(before);
        let (kind, capture) =
            number.parse().ok().and_then(|at: usize| captures.get(at)).copied().unwrap_or_default();
        text.push_str(&within(kind, capture, depth - 1));
        rest = after;
    }
    text.push_str(rest);
    text.into()
}

/// What a placeholder holds: `{}` text that stays as it is, `{~}` a sentence, `{;}`, `{,}` and `{|}` sentences joined by
/// semicolons, by commas or by "or".
fn within<'a>(kind: &str, capture: &'a str, depth: usize) -> Cow<'a, str> {
    let several = |separator: &str, joined: &str| {
        capture.split(separator).map(|one| translated(one, depth)).collect::<Vec<_>>().join(joined).into()
    };
    match kind {
        "~" => translated(capture, depth),
        ";" => several("; ", "；"),
        "," => several(", ", "，"),
        "|" => several(" or ", " 或 "),
        _ => capture.into(),
    }
}

/// The texts at the placeholders of a template, each with its kind; `None` if the sentence does not have this form.
fn captures<'t, 's>(template: &'t str, sentence: &'s str) -> Option<Vec<(&'t str, &'s str)>> {
    let (start, mut template) = template.split_once('{').unwrap_or((template, ""));
    let mut rest = sentence.strip_prefix(start)?;
    if start.len() == sentence.len() && template.is_empty() {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    loop {
        let (kind, after) = template.split_once('}')?;
        match after.split_once('{') {
            Some((literal, next)) => {
                let at = rest.find(literal)?;
                found.push((kind, &rest[..at]));
                (rest, template) = (&rest[at + literal.len()..], next);
            }
            None => {
                found.push((kind, rest.strip_suffix(after)?));
                return Some(found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex::{Captures, Regex};
    use std::path::Path;

    #[test]
    fn sentences_and_the_sentences_in_them_are_translated() {
        for (english, chinese) in [
            ("The hub is closed; make a new ToolHub.", "hub 已关闭；请新建一个 ToolHub。"),
            (
                "There is no tool named 'ad'. Did you mean 'add' or 'and'?",
                "没有名为 'ad' 的工具。是否想用 'add' 或 'and'？",
            ),
            ("Tool 'add' raised ValueError: no", "工具 'add' 抛出 ValueError：no"),
            (
                "Server 's' exited with code 3 (tool 'echo' on server 's' may have run: the outcome is unknown)",
                "服务器 's' 以代码 3 退出（服务器 's' 上的工具 'echo' 可能已经执行：结果未知）",
            ),
            (
                "Server 's' exited with code 3: no key (tool 'echo' on server 's' may have run: the outcome is unknown)",
                "服务器 's' 以代码 3 退出：no key（服务器 's' 上的工具 'echo' 可能已经执行：结果未知）",
            ),
        ] {
            assert_eq!(in_chinese(english), chinese);
        }
    }

    #[test]
    fn texts_of_tools_stay_as_they_are() {
        assert_eq!(in_chinese("disk full"), "disk full");
        assert_eq!(in_chinese(""), "");
    }

    /// The code of Rust and Python without tests and comments, each text in one piece.
    fn code() -> String {
        fn read(folder: &Path, all: &mut String) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let is_code =
                    path.extension().is_some_and(|kind| kind == "rs" || kind == "py" || kind == "js");
                if path.is_dir() && !path.ends_with("wording") && !path.ends_with("tests") {
                    read(&path, all);
                } else if is_code && !path.ends_with("tests.rs") {
                    let text = std::fs::read_to_string(path).unwrap();
                    let shipped = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
                    let lines = shipped.lines().filter(|line| !line.trim_start().starts_with("//"));
                    all.extend(lines.flat_map(|line| [line, "\n"]));
                }
            }
        }
        let mut code = String::new();
        for folder in ["src", "python/toolhub"] {
            read(&Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(folder), &mut code);
        }
        let breaks = Regex::new(r#"\\\n\s*|"\s*\n\s*f?""#).unwrap();
        breaks.replace_all(&code, "").into_owned()
    }

    #[test]
    fn every_template_of_the_code_has_a_row() {
        let template = Regex::new(r#"(?:message!|\bMessage)\(\s*"((?:[^"\\]|\\.)*)""#).unwrap();
        let escape = Regex::new(r"\\(.)").unwrap();
        let whole = |found: Captures| escape.replace_all(&found[1], "$1").into_owned();
        let missing: Vec<String> =
            template.captures_iter(&code()).map(whole).filter(|text| row_of(text).is_none()).collect();
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn every_template_occurs_in_the_code() {
        let code = code();
        // Some sentences are put together from parts, and some name what they are about by a variable.
        let occurs = |part: &str| {
            let part = part.replace('"', "\\\"");
            let named = [
                ("argument", "{}"),
                ("key", "{}"),
                ("connect", "{what}"),
                ("only", "{all}"),
                ("no arguments", "{all}"),
            ];
            let mut forms = named.iter().map(|(word, variable)| part.replace(word, variable));
            part.len() < 7 || code.contains(&part) || forms.any(|form| code.contains(&form))
        };
        let missing: Vec<&str> = zh::templates()
            .chain(zh::page())
            .flat_map(|(english, _)| english.split(['{', '}']).step_by(2))
            .flat_map(|literal| literal.split(['.', '(', ')', '?', ',', ';']))
            .map(|part| part.trim_matches([' ', '\'', ':', ';']))
            .filter(|part| !occurs(part))
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn both_sides_have_the_same_placeholders() {
        for (english, chinese) in zh::templates().chain(zh::by_id()).chain(zh::page()) {
            let count = english.matches('{').count();
            assert!((0..count).all(|at| chinese.contains(&format!("{{{at}}}"))), "{english}");
            assert_eq!(chinese.matches('{').count(), count, "{english}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,80}", at in 0..zh::templates().count()) {
            let _ = in_chinese(&text);
            let filled = zh::templates().nth(at).unwrap().0.split(['{', '}']).step_by(2).collect::<Vec<_>>().join(&text);
            let _ = in_chinese(&filled);
        }
    }
}
