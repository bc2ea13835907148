//! Which line of an error stream says why a program failed.
//!
//! The last line is often not it: a program logs its end, a runtime adds a stack or its version. Lines are given without
//! indentation.

/// The reason among these lines: the last one that calls itself an error, otherwise the last one with words. Of several such
/// lines in a row that begin alike, the first one says most.
pub fn reason(lines: &[String]) -> Option<String> {
    let lines: Vec<&str> = lines.iter().map(|line| bare(line)).filter(|line| has_words(line)).collect();
    let Some(last) = lines.iter().rposition(|line| is_error(line)) else {
        return lines.last().map(|&line| line.to_owned());
    };
    let begin = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let alike = |line: &&&str| is_error(line) && begin(line) == begin(lines[last]);
    let first = last - lines[..last].iter().rev().take_while(alike).count();
    // "error: these arguments are missing:" continues in the next line.
    match lines.get(first + 1).filter(|_| lines[first].ends_with(':')) {
        Some(next) => Some(format!("{} {next}", lines[first])),
        None => Some(lines[first].to_owned()),
    }
}

/// Without the sides of a box.
fn bare(line: &str) -> &str {
    let is_side = |c: char| matches!(c, '\u{2500}'..='\u{259f}' | '|' | '▶' | '×') || c.is_whitespace();
    line.trim_matches(is_side)
}

fn has_words(line: &str) -> bool {
    line.chars().filter(|c| c.is_alphanumeric()).count() > 1
}

/// Whether a word of the line marks it as an error, as in `fatal: …`, `[error] …`, `pkg.ConfigError: …`. The title of a box has no
/// other word.
fn is_error(line: &str) -> bool {
    let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let marks = |word: &str| {
        let word = word.to_ascii_lowercase();
        ["error", "exception", "fatal", "critical"].iter().any(|mark| word.ends_with(mark))
            || word.starts_with("panic")
            || word == "err"
    };
    words.clone().any(marks) && words.count() > 1
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
                "thread 'main' panicked at src/main.rs:2:5: no config",
            ),
            (
                "panic: no config\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:4 +0x1d\nexit status 2",
                "panic: no config",
            ),
            (
                "npm error code E404\nnpm error 404 Not Found - GET https://registry/x - Not found\nnpm error 404\nnpm error 404  'x@*' is not in this registry.\nnpm error A complete log of this run can be found in: /x.log",
                "npm error code E404",
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
