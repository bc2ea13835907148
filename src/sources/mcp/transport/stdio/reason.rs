//! Which line of an error stream says why a program failed.
//!
//! The last line is often not it: Node ends with its version, a traceback has its exception above the last log line, command line
//! libraries draw boxes and print their usage. Lines are given without indentation.

/// Words that begin a line that only goes with the reason.
const FILLERS: &[&str] = &[
    "Node.js v",
    "Traceback (most recent call last)",
    "File \"",
    "During handling of the above exception",
    "The above exception was the direct cause",
    "note:",
    "hint:",
    "help:",
    "usage:",
    "goroutine ",
    "exit status ",
    "For further information",
    "For more information",
    "Try '",
    "[notice]",
    "throw ",
    "node:internal/",
    "requireStack:",
    "code: '",
    "url: '",
    "A complete log of this run",
];
/// Words with which programs and log libraries mark an error.
const MARKS: &[&str] = &["error", "fatal", "panic", "critical", "uncaught", "unhandled"];
/// The ends of the names of exceptions.
const EXCEPTIONS: &[&str] = &["Error", "Exception", "Exit", "Interrupt", "Failure"];
/// What `npm` puts before each line of its errors.
const NPM: &[&str] = &["npm error ", "npm ERR! "];
/// Members of npm's error object, which say little.
const NPM_MEMBERS: &[&str] = &["code ", "errno ", "syscall ", "path ", "dest "];

/// The reason among these lines: the last one that is marked as an error or names an exception, otherwise the last one with words.
pub fn reason(lines: &[String]) -> Option<String> {
    let lines: Vec<&str> = lines.iter().filter(|line| !is_border(line)).map(|line| bare(line)).collect();
    if let Some(line) = of_npm(&lines) {
        return Some(line.to_owned());
    }
    let has_words = |line: &str| line.chars().filter(|c| c.is_alphanumeric()).count() > 1;
    let plain: Vec<&str> = lines.iter().copied().filter(|line| has_words(line) && !is_filler(line)).collect();
    let at = plain.iter().rposition(|line| is_marked(line)).or(plain.len().checked_sub(1));
    let Some(at) = at else { return lines.into_iter().rfind(|line| has_words(line)).map(str::to_owned) };
    // "error: the following arguments are missing:" goes on in the next line.
    let is_open = plain[at].ends_with(':') || !plain[at].contains(' ');
    match plain.get(at + 1).filter(|_| is_open && is_marked(plain[at])) {
        Some(next) => Some(format!("{} {next}", plain[at])),
        None => Some(plain[at].to_owned()),
    }
}

/// The first line in which npm says what is wrong.
fn of_npm<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let errors = lines.iter().filter_map(|line| NPM.iter().find_map(|prefix| line.strip_prefix(prefix)));
    errors.map(str::trim).find(|line| {
        line.contains(' ') && !is_filler(line) && !NPM_MEMBERS.iter().any(|name| line.starts_with(name))
    })
}

fn is_frame(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{259f}' | '|' | '+' | '-' | '=' | '*' | '~' | '_' | '^' | '▶')
}

/// The upper or lower edge of a box, perhaps with a title in it.
fn is_border(line: &str) -> bool {
    let line = line.trim();
    let corner = |c: Option<char>| {
        c.is_some_and(|c| {
            matches!(c, '┌' | '┐' | '└' | '┘' | '╭' | '╮' | '╰' | '╯' | '╔' | '╗' | '╚' | '╝' | '+')
        })
    };
    corner(line.chars().next()) && corner(line.chars().next_back())
}

/// Without the sides of a box.
fn bare(line: &str) -> &str {
    let is_side = |c: char| matches!(c, '\u{2500}'..='\u{259f}' | '|' | '▶' | '×') || c.is_whitespace();
    line.trim_matches(is_side)
}

fn is_filler(line: &str) -> bool {
    let begins = |with: &str| line.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    let is_stack_frame = begins("at ") && line.contains([':', '(']);
    FILLERS.iter().any(|filler| begins(filler))
        || is_stack_frame
        || line.chars().all(|c| is_frame(c) || c == ' ')
}

/// Whether the line says of itself that it is an error.
fn is_marked(line: &str) -> bool {
    let words = || {
        line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_'))).filter(|word| !word.is_empty())
    };
    let Some(first) = words().next() else { return false };
    // "fatal: …", "Error: …", "[error] …"
    let begins = MARKS.iter().any(|mark| first.eq_ignore_ascii_case(mark));
    // "pkg.ConfigError: …", also alone on its line
    let named = EXCEPTIONS.iter().any(|end| first.ends_with(end))
        && line.strip_prefix(first).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'));
    // "prog: error: …", "Uncaught TypeError: …"
    let inside =
        line.split(": ").skip(1).any(|part| MARKS.iter().any(|mark| part.eq_ignore_ascii_case(mark)))
            || line.contains("Error: ")
            || line.contains("Exception: ");
    // "12:00:01 ERROR no database"
    let level = words().take(10).any(|word| matches!(word, "ERROR" | "FATAL" | "CRITICAL"));
    begins || named || inside || level
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Option<String> {
        let lines: Vec<String> =
            text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
        reason(&lines)
    }

    #[test]
    fn the_line_with_the_reason_is_found() {
        for (text, expected) in [
            ("starting\nfatal: no API key", "fatal: no API key"),
            ("no database here", "no database here"),
            (
                "/app/index.js:3\nthrow new Error('no key')\n^\n\nError: no key\n    at Object.<anonymous> (/app/index.js:3:7)\n    at node:internal/main\n\nNode.js v20.11.0",
                "Error: no key",
            ),
            (
                "node:internal/modules/cjs/loader:1148\n  throw err;\n  ^\n\nError: Cannot find module '/x.js'\n    at Module._resolve (node:internal:1145:15) {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.11.0",
                "Error: Cannot find module '/x.js'",
            ),
            (
                "Traceback (most recent call last):\n  File \"/x.py\", line 1, in <module>\n    import y\nModuleNotFoundError: No module named 'y'\nINFO shutting down",
                "ModuleNotFoundError: No module named 'y'",
            ),
            (
                "  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    | ValueError: boom\n    +------------------------------------",
                "ValueError: boom",
            ),
            (
                "Usage: x [OPTIONS]\nTry 'x --help' for help.\n╭─ Error ──────────╮\n│ Missing argument 'KEY'. │\n╰──────────────────╯",
                "Missing argument 'KEY'.",
            ),
            (
                "usage: x [-h] --key KEY\nx: error: the following arguments are required: --key",
                "x: error: the following arguments are required: --key",
            ),
            (
                "error: the following required arguments were not provided:\n  --key <KEY>\n\nUsage: x --key <KEY>\n\nFor more information, try '--help'.",
                "error: the following required arguments were not provided: --key <KEY>",
            ),
            (
                "thread 'main' panicked at src/main.rs:2:5:\nno config\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
                "no config",
            ),
            (
                "panic: no config\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:4 +0x1d\nexit status 2",
                "panic: no config",
            ),
            (
                "npm error code E404\nnpm error 404 Not Found - GET https://registry/x - Not found\nnpm error 404\nnpm error 404  'x@*' is not in this registry.\nnpm error A complete log of this run can be found in: /x.log",
                "404 Not Found - GET https://registry/x - Not found",
            ),
            (
                "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because x was not found, your requirements are unsatisfiable.",
                "Because x was not found, your requirements are unsatisfiable.",
            ),
            ("2026-01-01 12:00:01 ERROR no database\nbye", "2026-01-01 12:00:01 ERROR no database"),
            ("Usage: x", "Usage: x"),
        ] {
            assert_eq!(of(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(of("+----+\n|    |\n+----+"), None);
        assert_eq!(of(""), None);
    }

    proptest! {
        #[test]
        fn a_reason_has_words(lines in prop::collection::vec("[ -~│╭╮]{0,40}", 0..12)) {
            if let Some(found) = reason(&lines) {
                prop_assert!(found.chars().any(char::is_alphanumeric));
            }
        }
    }
}
