//! Descriptions that are docstrings: many servers send them whole, with the parameters in an `Args:` section and no
//! descriptions in the schema. The section is moved to the parameters.

use std::borrow::Cow;

/// A description, split into its sections.
pub struct Docstring<'a> {
    /// Everything outside the sections.
    pub text: Cow<'a, str>,
    parameters: Vec<(&'a str, String)>,
    pub returns: Option<String>,
}

impl<'a> Docstring<'a> {
    /// Splits only if every entry of the section is a parameter: otherwise it is another kind of section.
    pub fn of(description: &'a str, is_parameter: impl Fn(&str) -> bool) -> Self {
        let whole = Docstring { text: Cow::Borrowed(description), parameters: Vec::new(), returns: None };
        // A docstring is written by a person; longer descriptions are not searched.
        if description.len() > 20_000 || !description.contains("\n") {
            return whole;
        }
        let lines: Vec<&str> = description.lines().collect();
        let Some(args) = section(&lines, &["Args:", "Arguments:", "Parameters:", "Params:"]) else {
            return whole;
        };
        let parameters = entries(&lines[args.0 + 1..args.1]);
        if parameters.is_empty() || !parameters.iter().all(|(name, _)| is_parameter(name)) {
            return whole;
        }
        let returns = section(&lines, &["Returns:", "Return:"]).filter(|at| at.0 >= args.1 || at.1 <= args.0);
        let outside = |at: &usize| {
            let inside = |range: (usize, usize)| (range.0..range.1).contains(at);
            !inside(args) && !returns.is_some_and(inside)
        };
        let kept: Vec<&str> = (0..lines.len()).filter(outside).map(|at| lines[at]).collect();
        Docstring {
            text: Cow::Owned(kept.join("\n")),
            parameters,
            returns: returns
                .map(|(from, to)| lines[from + 1..to].join("\n"))
                .filter(|text| !text.trim().is_empty()),
        }
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The line of a section's title, and the line after its end.
fn section(lines: &[&str], titles: &[&str]) -> Option<(usize, usize)> {
    let from = lines.iter().position(|line| titles.contains(&line.trim()))?;
    let deeper = |line: &&str| line.trim().is_empty() || indent(line) > indent(lines[from]);
    let inside = lines[from + 1..].iter().take_while(|line| deeper(line)).count();
    if lines[from + 1..][..inside].iter().any(|line| !line.trim().is_empty()) {
        return Some((from, from + 1 + inside));
    }
    // Not indented: the next paragraph.
    let inside = lines[from + 1..].iter().take_while(|line| !line.trim().is_empty()).count();
    Some((from, from + 1 + inside))
}

/// `name: words`, or `name (type): words`; deeper lines continue it.
fn entries<'a>(lines: &[&'a str]) -> Vec<(&'a str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let filled = || lines.iter().filter(|line| !line.trim().is_empty());
    let Some(depth) = filled().next().map(|line| indent(line)) else { return found };
    for line in filled() {
        match (line.trim().split_once(':'), found.last_mut()) {
            (Some((name, text)), _) if indent(line) <= depth => {
                let name = name.split_once('(').map_or(name, |(name, _)| name).trim().trim_matches('`');
                found.push((name, text.trim().to_owned()));
            }
            (_, Some((_, text))) if indent(line) > depth => {
                text.push(' ');
                text.push_str(line.trim());
            }
            _ => return Vec::new(),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\n    Read data.\n\n    Args:\n        filepath: Path to the file\n        cell (str): Where to begin\n            and go on\n\n    Returns:\n        The cells.\n    ";

    #[test]
    fn sections_go_to_their_parameters() {
        let doc = Docstring::of(TEXT, |name| ["filepath", "cell"].contains(&name));
        assert_eq!(doc.text.trim(), "Read data.");
        assert_eq!(doc.parameter("filepath"), Some("Path to the file"));
        assert_eq!(doc.parameter("cell"), Some("Where to begin and go on"));
        assert_eq!(doc.returns.as_deref().map(str::trim), Some("The cells."));
    }

    #[test]
    fn a_section_may_forget_its_indent() {
        let doc =
            Docstring::of("Reads.\n\nArgs:\n  a: words\n\nReturns:\nThe cells.\n\nMore.", |name| name == "a");
        assert_eq!(doc.returns.as_deref(), Some("The cells."));
        assert_eq!(doc.text.split_whitespace().collect::<Vec<_>>(), ["Reads.", "More."]);
    }

    #[test]
    fn what_names_no_parameters_stays_as_it_is() {
        for text in [
            "One line. Args: x",
            "Args:\n  unknown: words",
            "Args:\nflat: words",
            "Args:\n  prose without end",
        ] {
            assert_eq!(Docstring::of(text, |name| name == "filepath").text, text);
        }
    }
}
