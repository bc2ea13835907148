//! The entry of one tool: in detail or on one line.

use super::clean::line;
use super::docstring::Docstring;
use super::schema::SchemaShape;
use super::types::{Types, default};
use serde_json::Value;
use std::fmt::Write;
use std::iter::repeat_n;
use toolhub_types::model::{Lang, Safety, ToolSpec};

const DESCRIPTION: usize = 4_000;
const PARAMETER: usize = 1_000;
const SUMMARY: usize = 160;
const EXAMPLE: usize = 400;
const EXAMPLES: usize = 5;
/// The depth to which nested objects are shown.
const DEEPEST: usize = 5;
const MAX_LINES: usize = 200;

pub struct PromptEntry<'a> {
    spec: &'a ToolSpec,
    /// The name that the model uses.
    name: &'a str,
    lang: Lang,
    types: Types,
    lines: usize,
}

impl<'a> PromptEntry<'a> {
    pub fn new(spec: &'a ToolSpec, name: &'a str, lang: Lang) -> Self {
        PromptEntry { spec, name, lang, types: Types::new(lang), lines: 0 }
    }

    /// The documented layout, without its number; ends with a line end.
    pub fn detailed(mut self, out: &mut String) {
        let (spec, lang) = (self.spec, self.lang);
        let shape = SchemaShape::of(&self.spec.parameters);
        let doc = Docstring::of(&spec.description, |name| {
            shape.properties().iter().any(|(known, _)| *known == name)
        });
        out.extend(["**", self.name, "**\n"]);
        if !doc.text.trim().is_empty() {
            self.line(out, "", &doc.text, DESCRIPTION);
        }
        let branches = self.branches(&shape);
        if shape.has_properties() || !branches.is_empty() {
            out.push_str(lang.pick("  Parameters:\n", "  参数：\n"));
            self.parameters(out, &shape, 2, 0, Some(&doc));
            self.options(out, branches, 2, 0);
        } else if shape.get("properties").is_some() || shape.get("additionalProperties").is_some() {
            let _ = writeln!(out, "  {}", lang.pick("Parameters: none", "参数：无"));
        }
        if let Some(returns) = &doc.returns {
            self.line(out, lang.pick("Returns: ", "返回："), returns, DESCRIPTION);
        }
        let hints = hints(spec, lang);
        if !hints.is_empty() {
            let _ = writeln!(out, "  {}{hints}", lang.pick("Hints: ", "提示："));
        }
        for (label, value) in [
            (lang.pick("Category: ", "类别："), &spec.category),
            (lang.pick("Version: ", "版本："), &spec.version),
        ] {
            if let Some(value) = value {
                self.line(out, label, value, SUMMARY);
            }
        }
        if !spec.examples.is_empty() {
            let _ = writeln!(out, "  {}", lang.pick("Examples:", "示例："));
            for example in spec.examples.iter().take(EXAMPLES) {
                let text = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
                self.line(out, "  - ", &text, EXAMPLE);
            }
        }
    }

    /// `- **name**(a: string, b?: integer): What it does. [read-only]`
    pub fn compact(&self, out: &mut String) {
        let shape = SchemaShape::of(&self.spec.parameters);
        let _ = write!(out, "- **{}**(", self.name);
        for (at, (name, _)) in shape.properties().into_iter().take(MAX_LINES).enumerate() {
            out.push_str(if at == 0 { "" } else { ", " });
            out.push_str(&line(name, SUMMARY, self.lang));
            out.push_str(if shape.requires(name) { ": " } else { "?: " });
            out.push_str(&short_type(&shape.property(name), 0));
        }
        out.push(')');
        let summary = summary(&self.spec.description);
        if !summary.is_empty() {
            out.push_str(self.lang.pick(": ", "："));
            out.push_str(&line(summary, SUMMARY, self.lang));
        }
        let hints = hints(self.spec, self.lang);
        if !hints.is_empty() {
            let _ = write!(out, " [{hints}]");
        }
        out.push('\n');
    }

    fn line(&self, out: &mut String, label: &str, text: &str, limit: usize) {
        out.push_str("  ");
        out.push_str(label);
        out.push_str(&line(text, limit, self.lang));
        out.push('\n');
    }

    /// One line per property, with its nested properties below.
    fn parameters(
        &mut self,
        out: &mut String,
        shape: &SchemaShape<'a>,
        indent: usize,
        depth: usize,
        doc: Option<&Docstring<'_>>,
    ) {
        let properties = shape.properties();
        for (at, (name, _)) in properties.iter().enumerate() {
            out.extend(repeat_n("  ", indent));
            if self.lines == MAX_LINES {
                let more = properties.len() - at;
                let _ = match self.lang {
                    Lang::En => writeln!(out, "- … {more} more"),
                    Lang::Zh => writeln!(out, "- … 还有 {more} 个"),
                };
                return;
            }
            self.lines += 1;
            let inner = shape.property(name);
            out.push_str("- ");
            out.push_str(&line(name, SUMMARY, self.lang));
            out.push_str(" (");
            self.types.phrase(out, &inner, 0);
            let documented = doc.and_then(|doc| doc.parameter(name));
            let words = inner.text("description").filter(|text| !text.trim().is_empty()).or(documented);
            self.described(out, words, inner.get("default"));
            let (en, zh) = if shape.requires(name) { ("required", "必需") } else { ("optional", "可选") };
            let _ = writeln!(out, " [{}]", self.lang.pick(en, zh));
            self.below(out, &inner, indent + 1, depth + 1);
        }
    }

    /// `): words (default x)`; a default that the words already name is not repeated.
    fn described(&self, out: &mut String, words: Option<&str>, given: Option<&Value>) {
        let default = given.filter(|value| !value.is_null()).map(default);
        let is_told = |default: &String| words.is_some_and(|words| tells_default(words, default));
        let default = default
            .filter(|default| !is_told(default))
            .map(|default| format!("{} {default}", self.lang.pick("default", "默认")));
        match (words, default) {
            (None, None) => out.push(')'),
            (None, Some(default)) => {
                let _ = write!(out, "{}{default})", self.lang.pick(", ", "，"));
            }
            (Some(words), default) => {
                out.push_str("): ");
                out.push_str(&line(words, PARAMETER, self.lang));
                if let Some(default) = default {
                    let _ = write!(out, " ({default})");
                }
            }
        }
    }

    /// The fields of an object, of the items of an array, or of the branches of a union.
    fn below(&mut self, out: &mut String, shape: &SchemaShape<'a>, indent: usize, depth: usize) {
        if depth >= DEEPEST || shape.repeats || !self.types.goes_on() {
            return;
        }
        if shape.has_properties() {
            self.parameters(out, shape, indent, depth, None);
        }
        let branches = self.branches(shape);
        match branches.as_slice() {
            [] => {}
            [only] => self.below(out, only, indent, depth),
            _ => self.options(out, branches, indent, depth),
        }
        for part in shape.item().into_iter().chain(shape.values()) {
            self.below(out, &shape.below(part), indent, depth + 1);
        }
        for (at, place) in shape.tuple_items().iter().enumerate() {
            let inner = shape.below(place);
            if self.has_fields(&inner) && self.lines < MAX_LINES {
                self.label(out, indent, self.lang.pick("place", "位置"), at + 1, inner.name());
                self.below(out, &inner, indent + 1, depth + 1);
            }
        }
    }

    /// The branches of a union that have fields.
    fn branches(&self, shape: &SchemaShape<'a>) -> Vec<SchemaShape<'a>> {
        let inner = shape.branches().into_iter();
        let has_more = |one: &SchemaShape<'a>| {
            let is_array = one.item().is_some() || !one.tuple_items().is_empty();
            !one.repeats && !one.never && (one.has_properties() || is_array || one.has_branches())
        };
        inner.filter(has_more).take(MAX_LINES).collect()
    }

    /// True for an object with declared fields, or an array of such objects.
    fn has_fields(&self, shape: &SchemaShape<'a>) -> bool {
        let inner = shape.item().map(|item| shape.below(item));
        !shape.repeats
            && (shape.has_properties() || inner.is_some_and(|item| !item.repeats && item.has_properties()))
    }

    fn options(&mut self, out: &mut String, branches: Vec<SchemaShape<'a>>, indent: usize, depth: usize) {
        let several = branches.iter().filter(|one| self.has_fields(one)).count() > 1;
        for (at, branch) in branches.iter().enumerate() {
            if self.lines >= MAX_LINES {
                return;
            }
            let mut deeper = indent;
            if several && self.has_fields(branch) {
                let array = branch.item().filter(|_| !branch.has_properties()).map(|_| "array");
                self.label(out, indent, self.lang.pick("option", "选项"), at + 1, branch.name().or(array));
                deeper += 1;
            }
            self.below(out, branch, deeper, depth + 1);
        }
    }

    /// `- option 1, Name:`, above its fields.
    fn label(&mut self, out: &mut String, indent: usize, word: &str, number: usize, name: Option<&str>) {
        self.lines += 1;
        out.extend(repeat_n("  ", indent));
        let _ = write!(out, "- {word} {number}");
        if let Some(name) = name {
            out.push_str(", ");
            out.push_str(&line(name, SUMMARY, self.lang));
        }
        out.push_str(":\n");
    }
}

/// The declared effects of a tool.
fn hints(spec: &ToolSpec, lang: Lang) -> String {
    let hint = |key: &str| spec.annotations.get(key).and_then(Value::as_bool);
    let declared = |safety: Safety| spec.effects.are_declared() && spec.effects.safety == safety;
    let read_only = declared(Safety::Harmless);
    // `effects=True` has no annotations; annotations are more precise.
    let acts = declared(Safety::MayAct) && hint("readOnlyHint").is_none();
    let destructive = !read_only && hint("destructiveHint").unwrap_or(acts);
    let all = [
        (read_only, lang.pick("read-only", "只读")),
        (destructive, lang.pick("destructive", "破坏性")),
        (spec.idempotent, lang.pick("idempotent", "幂等")),
    ];
    let declared: Vec<&str> = all.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    declared.join(lang.pick(", ", "、"))
}

/// The first sentence, or the first paragraph.
fn summary(description: &str) -> &str {
    let text = description.trim();
    let end = text.match_indices(['.', '。', '\n', '！', '？']).find(|(at, sign)| {
        let rest = &text[at + sign.len()..];
        match *sign {
            "." => rest.starts_with(char::is_whitespace),
            "\n" => rest.starts_with('\n'),
            _ => true,
        }
    });
    end.map_or(text, |(at, sign)| text[..at + sign.len()].trim_end())
}

/// One word for a type, or its values if they are few.
fn short_type(shape: &SchemaShape<'_>, depth: usize) -> String {
    const SHORT: usize = 40;
    if let Some(options) = shape.options() {
        let all: Vec<String> = options.iter().take(8).map(Value::to_string).collect();
        let joined = all.join("|");
        if options.len() <= 8 && joined.len() <= SHORT {
            return line(&joined, SHORT, Lang::En).into_owned();
        }
    }
    let mut names: Vec<String> = Vec::new();
    let branches = if depth < 3 { shape.branches() } else { Vec::new() };
    let branches = branches.iter().filter(|one| !one.never).take(4);
    let branches = branches.map(|one| short_type(one, depth + 1));
    let types = shape.types();
    let own = types.iter().map(|name| match (*name, shape.item().filter(|_| !shape.repeats)) {
        ("array", Some(item)) => match shape.below(item).types().as_slice() {
            [one] => format!("{}[]", line(one, SHORT, Lang::En)),
            _ => "array".into(),
        },
        (name, _) => line(name, SHORT, Lang::En).into_owned(),
    });
    let found: Vec<String> =
        if types.is_empty() && !shape.repeats { branches.collect() } else { own.collect() };
    for name in found {
        if name != "null" && !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] if types.contains(&"null") => "null".into(),
        [] => "any".into(),
        several => several.join("|"),
    }
}

/// True if a description names its default: "(default A1)", "Defaults to 5.".
fn tells_default(words: &str, default: &str) -> bool {
    let lower = words.to_ascii_lowercase();
    let value = default.trim_matches('"').to_ascii_lowercase();
    let Some(at) = lower.find("default") else { return false };
    let bare = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '.');
    !value.is_empty() && lower[at..].split(bare).any(|word| word.trim_end_matches('.') == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_is_shown_once() {
        assert!(tells_default("Starting cell (default A1)", "A1"));
        assert!(tells_default("Defaults to 5.", "5"));
        assert!(!tells_default("Defaults to 50.", "5"));
        assert!(!tells_default("A1 is a cell", "A1"));
    }

    #[test]
    fn the_first_sentence_is_the_summary() {
        assert_eq!(summary("Reads v1.2 files. Then more."), "Reads v1.2 files.");
        assert_eq!(summary("读取文件。然后"), "读取文件。");
        assert_eq!(summary("No end\nhere\n\nMore"), "No end\nhere");
    }
}
