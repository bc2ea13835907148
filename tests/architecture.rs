//! The house rules, held by a test: who may use whom, which crate enters by which door, how long a
//! file may be, that nothing panics outside tests, that files do not use each other in circles, and that a
//! type name is defined once.
//!
//! Read the two tables below; to add a room or a door, add a line. The rules are functions over
//! `(path, text)` in `architecture/rules.rs`, so `architecture/self_tests.rs` can show that each of
//! them fires on a bad file.

use std::{fs, io, path::Path};

#[path = "architecture/files.rs"]
mod files;
#[path = "architecture/rules.rs"]
mod rules;
#[path = "architecture/self_tests.rs"]
mod self_tests;
#[path = "architecture/source.rs"]
mod source;

/// Room → what it may use of ours; `room::Name` allows that one name only, `*` all rooms above it here.
///
/// Bottom first: a room may only use rooms above it in this list (tested), so there is no cycle. Stages
/// never use each other; `hub` puts them in order; `bindings` puts everything together. `lib.rs`
/// declares the rooms and is free.
const ROOMS: &[(&str, &[&str])] = &[
    // L0: words. Plain data, nothing of ours below them.
    ("aside", &[]),
    ("canonical", &[]),
    ("invisible", &[]),
    ("kill_point", &[]),
    ("error", &["invisible"]),
    ("pattern", &[]),
    ("model", &["pattern"]),
    ("net", &[]),
    ("sse", &[]),
    ("stack", &[]),
    ("sync", &[]),
    ("text", &[]),
    ("kind", &["text"]),
    ("secret", &["invisible", "text"]),
    ("telemetry", &["canonical", "sync"]),
    ("wording", &[]),
    ("principal", &["secret"]),
    // L1: the contract of a tool; permits, which know nothing of what they limit.
    ("tool", &["model", "error", "principal", "sync"]),
    ("limit", &["sync"]),
    // The threads of a pool, which know nothing of what they run.
    ("workers", &["sync"]),
    // L2: stages and what they stand on.
    ("schema", &["model", "error", "invisible", "secret", "stack", "text"]),
    ("stats", &["model", "error"]),
    ("store", &["model", "error", "stats", "kill_point"]),
    ("registry", &["tool", "limit", "model", "error", "pattern", "stats", "schema", "text"]),
    ("identity", &["aside", "canonical", "error", "model", "registry"]),
    ("tape", &["canonical", "identity", "model", "error", "registry", "secret", "tool"]),
    ("inspector", &["canonical", "error", "model", "sync", "tape", "tool", "wording"]),
    ("parse", &["canonical", "model", "error"]),
    ("route", &["model", "error", "text"]),
    ("search", &["model", "error", "registry", "text"]),
    ("select", &["model", "error", "invisible", "kind", "pattern", "registry", "text"]),
    ("truncate", &["model", "error", "kind", "text"]),
    ("merge", &["model", "error"]),
    ("synthesize", &["model", "error", "kind"]),
    ("prompt", &["model", "error", "invisible"]),
    ("shape", &["model", "error", "invisible"]),
    ("offers", &["tool", "model", "error", "pattern", "shape"]),
    // L3: orchestration. It runs candidates but does not look them up.
    (
        "execute",
        &[
            "aside",
            "tool",
            "model",
            "error",
            "invisible",
            "stats",
            "limit",
            "identity",
            "tape",
            "workers",
            "registry::Candidate",
        ],
    ),
    // L4: the stages in order. Never sources, gateway, bindings: they are below it in this list.
    ("hub", &["*"]),
    ("plan", &["*"]),
    // L5: the outside world.
    (
        "sources",
        &[
            "aside",
            "tool",
            "model",
            "error",
            "invisible",
            "net",
            "offers",
            "pattern",
            "principal",
            "schema",
            "secret",
            "sse",
            "tape",
            "telemetry",
            "text",
            "wording",
        ],
    ),
    ("llm", &["tool", "model", "error", "net", "secret", "sse"]),
    (
        "gateway",
        &[
            "aside",
            "canonical",
            "hub",
            "plan",
            "tool",
            "model",
            "error",
            "inspector",
            "invisible",
            "net",
            "offers",
            "pattern",
            "principal",
            "registry",
            "search",
            "secret",
            "select",
            "shape",
            "sse",
            "stats",
            "sync",
            "tape",
            "telemetry",
            "text",
            "truncate",
            "wording",
        ],
    ),
    ("catalog", &["*"]),
    // The only place that knows Python.
    ("bindings", &["*"]),
];

/// What may only be named behind certain doors, as modules below `src/`.
const DOORS: &[(What, &[&str])] = &[
    (What::Crate("pyo3"), &["bindings"]),
    (What::Crate("pythonize"), &["bindings"]),
    (What::Crate("rmcp"), &["sources/mcp", "gateway"]),
    (What::Crate("reqwest"), &["net", "sources", "llm"]),
    (What::Crate("rusqlite"), &["store"]),
    // Starting a task, thread or process. Threads for sync Python functions are started by Python.
    (
        What::Spawn,
        &[
            "execute",
            "sources/mcp",
            "sources/skills",
            "gateway",
            // The first lists of servers go on when the client that asked for them leaves.
            "catalog/first_lists",
            "store/writer",
            "bindings/runtime",
            "bindings/job",
            "stack",
            "aside",
        ],
    ),
];

/// What a door guards.
enum What {
    /// The crate's name, anywhere in code.
    Crate(&'static str),
    /// `spawn` and its kin, except through the helper of a door (`runtime::spawn`).
    Spawn,
}

/// Longer files hold more than one idea.
const MAX_LINES: usize = 600;

/// The fault lab is kept as it came, so that it can be compared and renewed: our rules are not its rules.
const VENDORED: &str = "tests/mcp/faults";

/// All `.rs` and `.py` files below `folders`, as (path from the root of the project, text).
fn read(folders: &[&str]) -> io::Result<Vec<(String, String)>> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<(String, String)>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                if path != root.join(VENDORED) {
                    walk(root, &path, found)?;
                }
            } else if path.extension().is_some_and(|e| e == "rs" || e == "py") {
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                found.push((name, fs::read_to_string(&path)?));
            }
        }
        Ok(())
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in folders.iter().map(|f| root.join(f)).filter(|f| f.is_dir()) {
        walk(root, &folder, &mut found)?;
    }
    found.sort();
    assert!(!found.is_empty(), "no source file found below {folders:?}: the rule would check nothing");
    Ok(found)
}

/// Applies `rule` to every file and fails with all violations at once.
fn check(folders: &[&str], rule: fn(&str, &str) -> Vec<String>) -> io::Result<()> {
    let violations: Vec<String> = read(folders)?.iter().flat_map(|(path, text)| rule(path, text)).collect();
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
    Ok(())
}

/// Applies `rule` to all files of `src/` together.
fn check_together(rule: fn(&[(String, String)]) -> Vec<String>) -> io::Result<()> {
    let violations = rule(&read(&["src"])?);
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
    Ok(())
}

#[test]
fn rooms_use_only_what_the_table_allows() -> io::Result<()> {
    check(&["src"], rules::directions)
}

#[test]
fn files_do_not_use_each_other_in_circles() -> io::Result<()> {
    check_together(files::circles)
}

#[test]
fn a_type_name_is_defined_once() -> io::Result<()> {
    check_together(files::duplicate_types)
}

#[test]
fn foreign_crates_and_spawn_enter_by_their_doors() -> io::Result<()> {
    check(&["src"], rules::doors)
}

#[test]
fn nothing_panics_outside_tests() -> io::Result<()> {
    check(&["src"], rules::panics)
}

#[test]
fn files_stay_short() -> io::Result<()> {
    check(&["src", "python", "tests", "benches", "scripts"], rules::ceiling)
}

#[test]
fn agents_use_the_public_interface() -> io::Result<()> {
    check(&["python"], rules::agents)
}

#[test]
fn the_table_goes_one_way() {
    for (index, (room, allowed)) in ROOMS.iter().enumerate() {
        for other in allowed.iter().filter(|other| **other != "*") {
            let name = other.split("::").next();
            assert!(
                ROOMS[..index].iter().any(|(above, _)| Some(*above) == name),
                "`{room}` may use `{other}`, which is not above it in the table"
            );
        }
    }
}
