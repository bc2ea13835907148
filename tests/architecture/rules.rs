//! The rules: each looks at one file and says what is wrong with it, one line a violation.

use super::{
    DOORS, MAX_LINES, ROOMS, What,
    source::{code_only, covered, inline_depth, line_of, paths, without_tests, words},
};

/// `src/model/spec.rs` → `model/spec`; `src/model/mod.rs` → `model`.
pub fn module(path: &str) -> Option<&str> {
    let module = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    Some(module.strip_suffix("/mod").unwrap_or(module))
}

/// Unit tests may stand in files of their own: `#[cfg(test)] mod tests;`.
fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// The code that ships, or `None` for a file that does not.
pub fn shipped(path: &str, text: &str) -> Option<String> {
    (!is_test_file(path)).then(|| without_tests(&code_only(text)))
}

fn complain(path: &str, code: &str, at: usize, message: &str) -> String {
    format!("{path}:{}: {message}", line_of(code, at))
}

/// Each room uses only what the table allows, and names it by its room.
pub fn directions(path: &str, text: &str) -> Vec<String> {
    let (Some(module), Some(code)) = (module(path), shipped(path, text)) else {
        return Vec::new();
    };
    let room = module.split('/').next().unwrap_or(module);
    if room == "lib" {
        return Vec::new();
    }
    let Some(index) = ROOMS.iter().position(|(name, _)| *name == room) else {
        return vec![format!("{path}: the room `{room}` is not in the table of tests/architecture.rs")];
    };
    let allowed = ROOMS[index].1;
    let mut violations = Vec::new();
    for (at, used) in used_paths(module, &code) {
        let name = used.first().map_or("", String::as_str);
        if name == room {
            continue;
        }
        let is_named = |(other, _): &(&str, &[&str])| *other == name;
        let known = ROOMS.iter().any(is_named);
        let fits = |rule: &&str| match rule.split_once("::") {
            Some((other, item)) => other == name && used.iter().any(|part| part == item),
            None if *rule == "*" => ROOMS[..index].iter().any(is_named),
            None => *rule == name,
        };
        if !known {
            let message =
                format!("`crate::{}` names no room of the table; name a thing by its room", used.join("::"));
            violations.push(complain(path, &code, at, &message));
        } else if !allowed.iter().any(fits) {
            let message =
                format!("`{room}` may not use `{}` (allowed: {})", used.join("::"), allowed.join(", "));
            violations.push(complain(path, &code, at, &message));
        }
    }
    violations
}

/// What a file names of our crate, from the root: `crate::…`, and `super::…` where that leaves the room.
fn used_paths(module: &str, code: &str) -> Vec<(usize, Vec<String>)> {
    let mut used = paths(code, "crate");
    for (at, path) in paths(code, "super") {
        if code[..at].ends_with("super::") {
            continue; // read with the first one of the chain
        }
        let more = path.iter().take_while(|part| *part == "super").count();
        let depth = module.split('/').count() + inline_depth(code, at);
        if depth <= 1 + more {
            used.push((at, path[more..].to_vec()));
        }
    }
    used
}

/// Foreign crates and `spawn` are named only behind their doors.
pub fn doors(path: &str, text: &str) -> Vec<String> {
    let (Some(module), Some(code)) = (module(path), shipped(path, text)) else {
        return Vec::new();
    };
    let behind =
        |door: &&str| module == *door || module.strip_prefix(*door).is_some_and(|rest| rest.starts_with('/'));
    let mut violations = Vec::new();
    for (what, doors) in DOORS {
        if doors.iter().any(behind) {
            continue;
        }
        let (name, places): (&str, Vec<usize>) = match what {
            What::Crate(name) => (name, words(&code, name).collect()),
            What::Spawn => ("spawn", spawns(&code)),
        };
        let message = format!("`{name}` only in {}", doors.join(", "));
        violations.extend(places.into_iter().map(|at| complain(path, &code, at, &message)));
    }
    violations
}

/// Uses of `spawn…`, but neither definitions of such a function nor calls of a door's own (`runtime::spawn`).
fn spawns(code: &str) -> Vec<usize> {
    const NAMES: [&str; 6] =
        ["spawn", "spawn_blocking", "spawn_local", "spawn_on", "spawn_scoped", "spawn_unchecked"];
    let mut places: Vec<usize> = NAMES.iter().flat_map(|name| words(code, name)).collect();
    places.retain(|at| {
        let before = code[..*at].trim_end();
        let defined = before.ends_with(" fn") || before == "fn";
        !defined && !before.ends_with("runtime::")
    });
    places
}

/// No `unwrap`, `expect`, `panic!`, `todo!`, `unimplemented!`, unless an `#[expect(…, reason = …)]` is on
/// the statement or item. An `#![expect]` for a whole file is too wide to count.
pub fn panics(path: &str, text: &str) -> Vec<String> {
    const FORBIDDEN: [&str; 5] = [".unwrap()", ".expect(", "panic!", "todo!", "unimplemented!"];
    const LINTS: [&str; 5] = ["unwrap_used", "expect_used", "panic", "todo", "unimplemented"];
    let Some(code) = shipped(path, text) else {
        return Vec::new();
    };
    let excused = covered(&code, |attribute| {
        attribute.starts_with("expect(")
            && attribute.contains("reason=")
            && LINTS.iter().any(|lint| words(attribute, lint).next().is_some())
    });
    let mut violations = Vec::new();
    for word in FORBIDDEN {
        for (at, _) in code.match_indices(word) {
            let whole =
                word.starts_with('.') || !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if whole && !excused.iter().any(|range| range.contains(&at)) {
                let message = format!(
                    "`{word}` outside tests; return an error, or prove it with #[expect(…, reason = …)]"
                );
                violations.push(complain(path, &code, at, &message));
            }
        }
    }
    violations
}

/// A file has one idea, so it is not long.
pub fn ceiling(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().count();
    let long = lines > MAX_LINES;
    long.then(|| format!("{path}: {lines} lines, the ceiling is {MAX_LINES}; split it by idea"))
        .into_iter()
        .collect()
}

/// `toolhub.agents` is written against what users have: no private module of ours.
pub fn agents(path: &str, text: &str) -> Vec<String> {
    if !path.starts_with("python/toolhub/agents/") {
        return Vec::new();
    }
    let private = |line: &str| {
        let line = line.trim_start();
        let imports = line.starts_with("import ") || line.starts_with("from ");
        imports
            && ["toolhub._", "from .._", "toolhub import _", "from .. import _"]
                .iter()
                .any(|p| line.contains(p))
    };
    let lines = text.lines().enumerate().filter(|(_, line)| private(line));
    lines
        .map(|(n, line)| format!("{path}:{}: agents use the public interface only: `{line}`", n + 1))
        .collect()
}
