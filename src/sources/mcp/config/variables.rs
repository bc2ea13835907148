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
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
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
