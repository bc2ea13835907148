//! L0, the hub's own sentences in other languages.
//!
//! Code writes every sentence in English. [`row_of`] finds the Chinese of one by its template, in one table; texts that are not in
//! the table, such as a tool's own error, stay as they are. Notices for operators are English only. Tests hold that every template
//! of the code has a row, and that the code uses every row.

mod zh;

/// A template in English and in Chinese, where its places are numbered. In English `{}` is any value, and `{~}` a text that may be
/// a sentence of the table; either is found as `{}`. Searched from its start: it is read for Chinese only, and has no lock that a
/// fork could leave taken.
pub fn row_of(template: &str) -> Option<(&'static str, &'static str)> {
    let is_same = |english: &str| english.len() >= template.len() && english.replace("{~}", "{}") == template;
    zh::templates().find(|(english, _)| is_same(english)).copied()
}

/// The words of the inspector's page, English and Chinese. `{}` stands for a value, in Chinese with its number.
pub fn page_in_chinese() -> impl Iterator<Item = (&'static str, &'static str)> {
    zh::page().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::{Captures, Regex};
    use std::path::Path;

    /// The code of Rust and Python without tests and comments, each text in one piece.
    fn code() -> String {
        fn read(folder: &Path, all: &mut String) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let is_code = path.extension().is_some_and(|kind| kind == "rs" || kind == "py");
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
    fn the_code_uses_every_row() {
        let code = code();
        let is_used = |english: &str| {
            let template = english.replace("{~}", "{}");
            code.contains(&template) || code.contains(&template.replace('"', "\\\""))
        };
        let unused: Vec<&str> =
            zh::templates().map(|row| row.0).filter(|english| !is_used(english)).collect();
        assert_eq!(unused, Vec::<&str>::new());
    }

    #[test]
    fn both_sides_have_the_same_placeholders() {
        for (english, chinese) in zh::templates().chain(zh::page()) {
            let count = english.matches('{').count();
            assert!((0..count).all(|at| chinese.contains(&format!("{{{at}}}"))), "{english}");
            assert_eq!(chinese.matches('{').count(), count, "{english}");
        }
    }

    #[test]
    fn no_template_has_two_rows() {
        assert_eq!(
            zh::templates().filter(|row| row_of(&row.0.replace("{~}", "{}")) != Some(**row)).count(),
            0
        );
    }
}
