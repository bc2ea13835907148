//! `${VAR}` and its kin in the texts of a configuration.
//!
//! | written | stands for |
//! |---|---|
//! | `${VAR}`, `${env:VAR}` | the variable; that it is not set is an error |
//! | `${VAR:-text}` | the variable if it is set, else the text, in which variables may stand too |
//! | `$VAR` as the whole text | the variable if it is set (Gemini); anything else with a bare `$` is kept |
//! | `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`, `${pathSeparator}`, `${/}` | as in VS Code |
//! | `${input:x}`, `${command:x}`, … | an error: only an editor can answer |
//!
//! What a variable holds is not looked at again, so a value with `${…}` in it arrives as it is.

use std::path::{Path, PathBuf};
use toolhub_types::error::clip;

/// Defaults inside defaults, up to here.
const DEEPEST: usize = 8;

/// Folders in which clients keep the configuration of the project around them.
const CLIENT_FOLDERS: &[&str] =
    &[".vscode", ".cursor", ".roo", ".kilocode", ".gemini", ".claude", ".zed", ".windsurf", ".kiro"];

/// Where variables are looked up; the process's environment, or a test's.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A variable of this process.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// What a text may refer to.
pub(super) struct Variables<'a> {
    env: Environment<'a>,
    /// What relative paths and `${workspaceFolder}` mean.
    folder: PathBuf,
}

impl<'a> Variables<'a> {
    /// The folder is that of the file, or the project's when the file is in its `.vscode` or the like;
    /// without a file it is the current one.
    pub fn new(file: Option<&Path>, env: Environment<'a>) -> Self {
        let folder = match file.and_then(Path::parent) {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let of_client = folder.file_name().is_some_and(|name| CLIENT_FOLDERS.iter().any(|c| name == *c));
        match folder.parent() {
            Some(project) if of_client => Self { env, folder: project.to_owned() },
            _ => Self { env, folder },
        }
    }

    /// The text with its variables replaced; the error says what cannot be, without the text.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        if let Some(value) = text.strip_prefix('$').filter(|name| is_name(name)).and_then(self.env) {
            return Ok(value);
        }
        self.expand_inside(text, 0)
    }

    /// A path without variables, made absolute: `~/` is the home folder, all else is relative to the folder.
    pub fn absolute(&self, path: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(self.expand_home(path)?);
        Ok(std::path::absolute(&path).unwrap_or(path))
    }

    /// `~` and `~/…` as the home folder; all else as it is.
    pub fn expand_home(&self, text: &str) -> Result<String, String> {
        match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with(['/', '\\']) => Ok(self.home()? + rest),
            _ => Ok(text.to_owned()),
        }
    }

    fn home(&self) -> Result<String, String> {
        let set = |name: &str| (self.env)(name).filter(|home| !home.is_empty());
        set("HOME").or_else(|| set("USERPROFILE")).ok_or_else(|| {
            "needs the home folder, but neither HOME nor USERPROFILE is set; write the path in full.".into()
        })
    }

    fn expand_inside(&self, text: &str, depth: usize) -> Result<String, String> {
        if depth > DEEPEST {
            return Err(format!("has variables inside variables more than {DEEPEST} deep."));
        }
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let Some(length) = closing_brace(&rest[start + 2..]) else { break };
            let end = start + 2 + length;
            expanded.push_str(&rest[..start]);
            match self.reference(&rest[start + 2..end], depth)? {
                Some(value) => expanded.push_str(&value),
                None => expanded.push_str(&rest[start..=end]),
            }
            rest = &rest[end + 1..];
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    /// The text between the braces; `None` when it is not a reference, as in a shell's `${x%.*}`.
    fn reference(&self, inside: &str, depth: usize) -> Result<Option<String>, String> {
        let with_default = inside.split_once(":-");
        let (name, default) = with_default.map_or((inside, None), |(name, default)| (name, Some(default)));
        if default.is_none()
            && let Some(value) = self.predefined(name)?
        {
            return Ok(Some(value));
        }
        let variable = name.strip_prefix("env:").unwrap_or(name);
        if let Some((asked, _)) = variable.split_once(':').filter(|(asked, _)| is_name(asked)) {
            return Err(format!(
                "has `${{{}}}`, and only an editor can answer {}; write the value, or a variable of the environment as `${{env:NAME}}`.",
                clip(name),
                if asked == "input" { "an input" } else { "that" }
            ));
        }
        if !is_name(variable) {
            return Ok(None);
        }
        match ((self.env)(variable), default) {
            (Some(value), _) => Ok(Some(value)),
            (None, Some(default)) => self.expand_inside(default, depth + 1).map(Some),
            (None, None) => {
                let variable = clip(variable);
                Err(format!(
                    "needs the environment variable `{variable}`, which is not set; set it, or give a default as `${{{variable}:-…}}`."
                ))
            }
        }
    }

    fn predefined(&self, name: &str) -> Result<Option<String>, String> {
        Ok(Some(match name {
            "workspaceFolder" => self.folder.display().to_string(),
            "workspaceFolderBasename" => {
                self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
            }
            "userHome" => self.home()?,
            "pathSeparator" | "/" => std::path::MAIN_SEPARATOR.to_string(),
            _ => return Ok(None),
        }))
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Where the `}` is that closes the reference whose inside starts here.
fn closing_brace(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open = 0usize;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' if at > 0 && bytes[at - 1] == b'$' => open += 1,
            b'}' if open == 0 => return Some(at),
            b'}' => open -= 1,
            _ => {}
        }
    }
    None
}

// An `envFile`: lines of `NAME=value`, as dotenv has them.

/// The variables in their order; the error is a sentence about the key that named the file.
/// `shown` is how that sentence names the file.
pub(super) fn read_env_file(path: &Path, shown: &str) -> Result<Vec<(String, String)>, String> {
    let bytes = std::fs::read(path)
        .map_err(|error| format!("names the file {shown}, which cannot be read: {error}."))?;
    let text = String::from_utf8_lossy(&bytes);
    parse(text.trim_start_matches('\u{feff}'))
        .map_err(|line| format!("names the file {shown}, whose line {line} is not `NAME=value`."))
}

/// The error is the number of a line. The line itself may be a secret, so it is not shown.
fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(index + 1)?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) || line.contains('\0') {
            return Err(index + 1);
        }
        variables.push((name.to_owned(), unquoted(value.trim())));
    }
    Ok(variables)
}

/// Quotes go; inside double quotes `\n`, `\"` and `\\` are escapes. Outside quotes ` #` starts a comment.
fn unquoted(value: &str) -> String {
    if let Some(inside) = between(value, '\'') {
        return inside.to_owned();
    }
    if let Some(inside) = between(value, '"') {
        let mut text = String::with_capacity(inside.len());
        let mut chars = inside.chars().peekable();
        while let Some(c) = chars.next() {
            let escaped = chars.next_if(|next| c == '\\' && matches!(next, 'n' | '"' | '\\'));
            text.push(escaped.map_or(c, |escaped| if escaped == 'n' { '\n' } else { escaped }));
        }
        return text;
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end()).to_owned()
}

/// What the value has between its quotes, if nothing but a comment follows them.
fn between(value: &str, quote: char) -> Option<&str> {
    let inside = value.strip_prefix(quote)?;
    let mut escaped = false;
    let end = inside.find(|c: char| {
        let closes = c == quote && !escaped;
        escaped = c == '\\' && quote == '"' && !escaped;
        closes
    })?;
    let rest = inside[end + 1..].trim_start();
    (rest.is_empty() || rest.starts_with('#')).then(|| &inside[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn env(name: &str) -> Option<String> {
        let value = match name {
            "HOME" => "/home/me",
            "TOKEN" => "t-1",
            "EMPTY" => "",
            "TRICK" => "${TOKEN} $TOKEN",
            _ => return None,
        };
        Some(value.to_owned())
    }

    fn expanded(text: &str) -> Result<String, String> {
        Variables::new(Some(Path::new("/work/project/mcp.json")), &env).expand(text)
    }

    #[test]
    fn what_is_known_is_replaced() {
        for (text, expected) in [
            ("Bearer ${TOKEN}", "Bearer t-1"),
            ("${TOKEN}${env:TOKEN}", "t-1t-1"),
            ("${MISSING:-here}", "here"),
            ("${env:MISSING:-}", ""),
            ("${EMPTY:-here}", ""),
            ("${MISSING:-a ${TOKEN} ${MISSING:-b}}!", "a t-1 b!"),
            ("${TRICK}", "${TOKEN} $TOKEN"),
            ("$TOKEN", "t-1"),
            (
                "${workspaceFolder}/x ${workspaceFolderBasename} ${userHome}",
                "/work/project/x project /home/me",
            ),
            ("a${/}b${pathSeparator}c", "a/b/c"),
        ] {
            assert_eq!(expanded(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_a_reference_is_unchanged() {
        for text in
            ["$", "${", "${}", "${TOKEN", "a $TOKEN", "$MISSING", "pa$$word", "${TOKEN%.*}", "${a b}", "}"]
        {
            assert_eq!(expanded(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn an_unresolved_reference_is_an_error() {
        assert_eq!(
            expanded("secret ${MISSING}").unwrap_err(),
            "needs the environment variable `MISSING`, which is not set; set it, or give a default as `${MISSING:-…}`."
        );
        assert_eq!(
            expanded("${input:api-key}").unwrap_err(),
            "has `${input:api-key}`, and only an editor can answer an input; write the value, or a variable of the environment as `${env:NAME}`."
        );
        assert_eq!(
            expanded("${config:x.y}").unwrap_err(),
            "has `${config:x.y}`, and only an editor can answer that; write the value, or a variable of the environment as `${env:NAME}`."
        );
        let deep = format!("{}x{}", "${A:-".repeat(10_000), "}".repeat(10_000));
        assert_eq!(expanded(&deep).unwrap_err(), "has variables inside variables more than 8 deep.");
        let homeless = Variables::new(None, &|_| None);
        assert_eq!(
            homeless.expand_home("~/x").unwrap_err(),
            "needs the home folder, but neither HOME nor USERPROFILE is set; write the path in full."
        );
    }

    #[test]
    fn paths_are_relative_to_the_project_of_the_file() {
        for (file, path, expected) in [
            ("/p/mcp.json", "server", "/p/server"),
            ("/p/mcp.json", "./server", "/p/server"),
            ("/p/mcp.json", "/abs", "/abs"),
            ("/p/mcp.json", "~/x", "/home/me/x"),
            ("/p/mcp.json", "~", "/home/me"),
            ("/p/mcp.json", "~other/x", "/p/~other/x"),
            ("/p/.vscode/mcp.json", "${workspaceFolder}/x", "/p/x"),
            ("/p/.cursor/mcp.json", "x", "/p/x"),
            ("/p/.mine/mcp.json", "x", "/p/.mine/x"),
        ] {
            let variables = Variables::new(Some(Path::new(file)), &env);
            let path = variables.expand(path).and_then(|path| variables.absolute(&path));
            assert_eq!(path.as_deref(), Ok(Path::new(expected)), "{file}");
        }
        let here = std::env::current_dir().unwrap();
        assert_eq!(Variables::new(None, &env).absolute("x"), Ok(here.join("x")));
        assert_eq!(Variables::new(Some(Path::new("mcp.json")), &env).absolute("x"), Ok(here.join("x")));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in r"[${}:\-aA_é ~/]{0,40}") {
            let _ = expanded(&text);
        }

        #[test]
        fn text_without_a_dollar_stays(text in "[^$]{0,40}") {
            prop_assert_eq!(expanded(&text), Ok(text));
        }
    }
}

#[cfg(test)]
mod env_file_tests {
    use super::parse;
    use proptest::prelude::*;

    #[test]
    fn lines_become_variables() {
        let text = "# keys\nA=1\nexport B = two words # why\nC='it # is'\r\nD=\"line\\n\\\"q\\\" \\x\" # d\nE=\nF=a=b#c\nG=\"half\nH='a'b\n\n";
        let expected = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "it # is"),
            ("D", "line\n\"q\" \\x"),
            ("E", ""),
            ("F", "a=b#c"),
            ("G", "\"half"),
            ("H", "'a'b"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn other_lines_are_refused_by_number() {
        assert_eq!(parse("A=1\nhush"), Err(2));
        assert_eq!(parse("=1"), Err(1));
        assert_eq!(parse("\n\nA B=1"), Err(3));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in r#"[A-C='"\\# \n\r$é]{0,60}"#) {
            let _ = parse(&text);
        }
    }
}
