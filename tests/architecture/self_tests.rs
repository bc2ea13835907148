//! Each rule is shown to fire on a bad file and to stay quiet on the nearest good one.

use super::{MAX_LINES, rules, source};

type Rule = fn(&str, &str) -> Vec<String>;

#[track_caller]
fn fires(rule: Rule, path: &str, text: &str, with: &str) {
    let found = rule(path, text);
    assert!(
        found.len() == 1 && found[0].contains(with),
        "expected one violation with {with:?} in {text:?}: {found:?}"
    );
}

#[track_caller]
fn quiet(rule: Rule, path: &str, text: &str) {
    assert_eq!(rule(path, text), Vec::<String>::new(), "{text:?}");
}

#[test]
fn directions_fire() {
    let rule = rules::directions;
    fires(
        rule,
        "src/model/spec.rs",
        "\nuse crate::hub::Hub;",
        "src/model/spec.rs:2: `model` may not use `hub::Hub`",
    );
    fires(rule, "src/merge/mod.rs", "use crate::{model::Spec, select::Order};", "select::Order");
    fires(rule, "src/merge/mod.rs", "fn f() { crate::select::order() }", "select::order");
    fires(rule, "src/hub.rs", "use crate::sources::function::F;", "`hub` may not use");
    fires(rule, "src/hub.rs", "use super::bindings;", "`hub` may not use");
    fires(rule, "src/execute/race.rs", "use crate::registry::Snapshot;", "registry::Candidate");
    fires(rule, "src/execute/race.rs", "use crate::registry::{Candidate, Snapshot};", "registry::Snapshot");
    fires(rule, "src/stats/a.rs", "use crate::HubError;", "names no room");
    fires(rule, "src/stats/a.rs", "use crate::*;", "names no room");
    fires(rule, "src/stats/a/b.rs", "use super::super::super::hub;", "`stats` may not use `hub`");
    fires(rule, "src/stats/a.rs", "use super::{b, super::hub};", "`stats` may not use `hub`");
    fires(rule, "src/stats/mod.rs", "mod inner { use super::super::hub; }", "`stats` may not use `hub`");
    fires(rule, "src/cellar/mod.rs", "", "`cellar` is not in the table");
    fires(rule, "src/attic.rs", "", "`attic` is not in the table");
}

#[test]
fn directions_stay_quiet() {
    let rule = rules::directions;
    quiet(rule, "src/lib.rs", "pub mod hub; pub use crate::hub::Hub;");
    quiet(rule, "src/model/spec.rs", "use crate::model::Output; use super::options::X; pub(crate) fn f() {}");
    quiet(
        rule,
        "src/select/auto.rs",
        "use crate::{error::HubError as E, registry::{Candidate, Snapshot as S}};",
    );
    quiet(
        rule,
        "src/execute/race.rs",
        "use crate::registry::Candidate; fn f(c: crate::registry::candidate::Candidate) {}",
    );
    quiet(
        rule,
        "src/model/spec.rs",
        "// crate::hub\n/* crate::hub */ const A: &str = \"crate::hub\"; /// [`crate::hub`]\nfn f() {}",
    );
    quiet(rule, "src/merge/mod.rs", "#[cfg(test)]\nmod tests { use crate::hub::Hub; }\n");
    quiet(rule, "src/merge/tests.rs", "use crate::hub::Hub;");
    quiet(rule, "src/hub.rs", "use crate::{execute::run, select, store::Store};");
    quiet(rule, "src/bindings/mod.rs", "use crate::{gateway, hub::Hub, sources::mcp};");
    quiet(rule, "src/stats/a/b.rs", "use super::super::c; mod inner { use super::super::super::d; }");
    quiet(rule, "src/tool.rs", "mod inner { use super::Tool; }");
    quiet(rule, "python/toolhub/hub.py", "crate::hub");
}

#[test]
fn doors_fire() {
    let rule = rules::doors;
    fires(rule, "src/registry/mod.rs", "use pyo3::prelude::*;", "`pyo3` only in bindings");
    fires(
        rule,
        "src/error.rs",
        "#[cfg(feature = \"python\")]\nimpl From<E> for pyo3::PyErr {}",
        "src/error.rs:2: `pyo3`",
    );
    fires(rule, "src/hub.rs", "use pythonize::pythonize_custom;", "`pythonize` only in bindings");
    fires(rule, "src/sources/function.rs", "use rmcp::model;", "`rmcp` only in sources/mcp, gateway");
    fires(rule, "src/sources/mcp_old.rs", "use rmcp::model;", "`rmcp`");
    fires(rule, "src/gateway/mod.rs", "use reqwest::Client;", "`reqwest` only in net, sources, llm");
    fires(rule, "src/hub.rs", "fn f() { tokio::spawn(async {}); }", "`spawn` only in");
    fires(rule, "src/hub.rs", "fn f() { handle.spawn(async {}); }", "`spawn` only in");
    fires(rule, "src/hub.rs", "use tokio::{spawn, time};", "`spawn` only in");
    fires(rule, "src/bindings/mailbox.rs", "fn f() { std::thread::spawn(|| ()); }", "`spawn` only in");
    fires(rule, "src/bindings/pool.rs", "fn f() { rt.spawn_blocking(|| ()); }", "`spawn` only in");
}

#[test]
fn doors_stay_quiet() {
    let rule = rules::doors;
    quiet(rule, "src/bindings/mod.rs", "use pyo3::prelude::*; use pythonize::depythonize;");
    quiet(rule, "src/sources/mcp/connection.rs", "use rmcp::model; fn f() { tokio::spawn(async {}); }");
    quiet(rule, "src/llm.rs", "use reqwest::Client;");
    quiet(rule, "src/execute/race.rs", "fn f(set: &mut JoinSet<()>) { set.spawn(async {}); }");
    quiet(rule, "src/bindings/runtime.rs", "pub fn spawn(f: F) { RUNTIME.spawn(f); }");
    quiet(rule, "src/bindings/bridge.rs", "fn f() { runtime::spawn(async {}); respawn(); }");
    quiet(rule, "src/model/spec.rs", "//! Not pyo3, nor reqwest.\nconst A: &str = r#\"pyo3 \"spawn\" \"#;");
    quiet(rule, "src/hub.rs", "#[cfg(all(test, feature = \"python\"))] mod t { use pyo3::Python; }");
}

#[test]
fn panics_fire() {
    let rule = rules::panics;
    fires(rule, "src/hub.rs", "fn f() {\n    x\n        .unwrap();\n}", "src/hub.rs:3: `.unwrap()`");
    fires(rule, "src/hub.rs", "fn f() { x.expect(\"there\"); }", "`.expect(`");
    fires(rule, "src/hub.rs", "fn f() { panic!(); }", "`panic!`");
    fires(rule, "src/hub.rs", "fn f() { todo!() }", "`todo!`");
    fires(rule, "src/hub.rs", "fn f() { std::unimplemented!() }", "`unimplemented!`");
    fires(
        rule,
        "src/hub.rs",
        "#[cfg(test)]\nmod tests { fn g() { a.unwrap(); } }\nfn f() { b.unwrap(); }",
        "src/hub.rs:3",
    );
    fires(rule, "src/hub.rs", "#[cfg(any(test, unix))]\nfn f() { b.unwrap(); }", "`.unwrap()`");
    fires(rule, "src/hub.rs", "#[expect(clippy::unwrap_used)]\nfn f() { b.unwrap(); }", "`.unwrap()`");
    fires(rule, "src/hub.rs", "#[expect(dead_code, reason = \"x\")]\nfn f() { b.unwrap(); }", "`.unwrap()`");
    fires(
        rule,
        "src/hub.rs",
        "#![expect(clippy::unwrap_used, reason = \"x\")]\nfn f() { b.unwrap(); }",
        "`.unwrap()`",
    );
    fires(
        rule,
        "src/hub.rs",
        "#[expect(clippy::unwrap_used, reason = \"x\")]\nfn f() { b.unwrap(); }\nfn g() { c.unwrap(); }",
        "src/hub.rs:3",
    );
}

#[test]
fn panics_stay_quiet() {
    let rule = rules::panics;
    quiet(rule, "src/hub.rs", "fn f() { x.unwrap_or(1); x.unwrap_or_default(); catch_panic!(); expect(1); }");
    quiet(rule, "src/hub.rs", "/// x.unwrap()\nfn f() -> &str { \"panic!\" } // todo!()");
    quiet(rule, "src/hub.rs", "#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests { fn f() { a.unwrap(); } }");
    quiet(rule, "src/hub/tests.rs", "fn f() { a.unwrap(); }");
    quiet(
        rule,
        "src/hub.rs",
        "#[expect(clippy::panic, reason = \"never\")]\npub fn f() -> [u8; 2] { panic!() }",
    );
    quiet(
        rule,
        "src/hub.rs",
        "fn f() { #[expect(clippy::unwrap_used, reason = \"set above\")]\nlet a = if b { c } else { d.unwrap() }; }",
    );
}

#[test]
fn the_ceiling_fires() {
    fires(rules::ceiling, "python/toolhub/hub.py", &"x\n".repeat(MAX_LINES + 1), "601 lines");
    quiet(rules::ceiling, "python/toolhub/hub.py", &"x\n".repeat(MAX_LINES));
}

#[test]
fn agents_fire() {
    let path = "python/toolhub/agents/planning.py";
    fires(rules::agents, path, "import x\nfrom toolhub._core import Hub\n", "planning.py:2");
    fires(rules::agents, path, "from .._bridge import run\n", "public interface");
    fires(rules::agents, path, "from toolhub import _core\n", "public interface");
    quiet(rules::agents, path, "from toolhub import ToolHub\nfrom ._prompts import P\n");
    quiet(rules::agents, "python/toolhub/hub.py", "from toolhub._core import Hub\n");
}

#[test]
fn code_is_distinguished_from_text() {
    for (text, code) in [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        (r#"f("a\"b", 'c', '\'', x)"#, "f(      ,    ,     , x)"),
        ("fn f<'a>(x: &'a str) -> 'a", "fn f<'a>(x: &'a str) -> 'a"),
        (r###"r#"a " b"# + br"\" + b"c" + r#type"###, "           +       +      + r#type"),
        ("'é' + '搜' + x", "     +       + x"),
    ] {
        assert_eq!(source::code_only(text), code, "{text:?}");
    }
}

fn together(files: &[(&str, &str)], rule: fn(&[(String, String)]) -> Vec<String>) -> Vec<String> {
    let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    rule(&files)
}

#[test]
fn circles_fire() {
    let circle = |files: &[(&str, &str)]| together(files, super::files::circles);
    let direct = circle(&[
        ("src/a/mod.rs", "mod b; mod c;"),
        ("src/a/b.rs", "use super::c::C; pub struct B;"),
        ("src/a/c.rs", "pub struct C; fn f(_: super::b::B) {}"),
    ]);
    assert!(direct.len() == 1 && direct[0].contains("src/a/b.rs uses a/c"), "{direct:?}");
    // A re-export leads to the file that defines the name.
    let through = circle(&[
        ("src/a/mod.rs", "mod b; mod c; pub use c::C;"),
        ("src/a/b.rs", "use super::C; pub struct B;"),
        ("src/a/c.rs", "pub struct C; use crate::a::b::B;"),
    ]);
    assert!(through.len() == 1 && through[0].contains("src/a/c.rs uses a/b"), "{through:?}");
    let with_parent = circle(&[
        ("src/a/mod.rs", "mod b; pub struct A; fn f() { b::g() }"),
        ("src/a/b.rs", "use super::A; pub fn g() {}"),
    ]);
    assert!(with_parent.len() == 1 && with_parent[0].contains("2 files"), "{with_parent:?}");
    let used_and_exported = circle(&[
        ("src/a/mod.rs", "mod b; pub use b::B; pub struct A(B);"),
        ("src/a/b.rs", "use super::A; pub struct B;"),
    ]);
    assert!(used_and_exported.len() == 1, "{used_and_exported:?}");
    // A new name does not hide the definition, alone or in a group; neither does a module inside of a file.
    for exports in ["pub use c::C as D;", "pub use c::{C as D};"] {
        let renamed = circle(&[
            ("src/a/mod.rs", &format!("mod b; mod c; {exports}")),
            ("src/a/b.rs", "use super::D; pub struct B;"),
            ("src/a/c.rs", "pub struct C; use crate::a::b::B;"),
        ]);
        assert!(renamed.len() == 1 && renamed[0].contains("src/a/b.rs uses a/c"), "{renamed:?}");
    }
    for inside in ["use super::super::c::C;", "fn f(_: super::super::c::C) {}", "pub use crate::a::c::C;"] {
        let nested = circle(&[
            ("src/a/mod.rs", "mod b; mod c;"),
            ("src/a/b.rs", &format!("mod inner {{ {inside} }} pub struct B;")),
            ("src/a/c.rs", "pub struct C; use super::b::B;"),
        ]);
        assert!(nested.len() == 1 && nested[0].contains("src/a/b.rs uses a/c"), "{inside}: {nested:?}");
    }
}

#[test]
fn circles_stay_quiet() {
    let quiet = |files: &[(&str, &str)]| {
        assert_eq!(together(files, super::files::circles), Vec::<String>::new(), "{files:?}");
    };
    // Declaring and re-exporting are not uses; neither are tests.
    quiet(&[
        ("src/a/mod.rs", "mod b; mod c; pub use b::B; pub struct A;"),
        ("src/a/b.rs", "use super::A; use super::c::C; pub struct B;"),
        ("src/a/c.rs", "pub struct C; #[cfg(test)] mod tests { use super::super::b::B; }"),
    ]);
    quiet(&[("src/a.rs", "use crate::b::{self, B};"), ("src/b.rs", "pub struct B; // crate::a")]);
    // A module inside of a file may use that file.
    quiet(&[
        ("src/a.rs", "struct A; mod inner { use super::A; use self::x; }"),
        ("src/b.rs", "use crate::a::A;"),
    ]);
}

#[test]
fn duplicate_types_fire_and_stay_quiet() {
    let found = |files: &[(&str, &str)]| together(files, super::files::duplicate_types);
    let twice = found(&[("src/a.rs", "pub struct Job {}\n"), ("src/b/c.rs", "pub(crate) enum Job { A }\n")]);
    assert_eq!(twice, ["the type `Job` is defined in src/a.rs and src/b/c.rs"]);
    for other in [
        "mod inner {\n    pub struct Job;\n}\n",
        "pub use x::Task as Job;\n",
        "pub use x::{Task as Job, y};\n",
    ] {
        let hidden = found(&[("src/a.rs", "pub struct Job {}\n"), ("src/b.rs", other)]);
        assert_eq!(hidden, ["the type `Job` is defined in src/a.rs and src/b.rs"], "{other}");
    }
    let fine = found(&[
        ("src/a.rs", "pub struct Job<T>(T);\nimpl Iterator for X {\n    type Item = u8;\n}\n"),
        ("src/b.rs", "impl Iterator for Y {\n    type Item = u8;\n}\n#[cfg(test)]\nstruct Job;\n"),
        ("src/c.rs", "#[cfg(unix)]\nstruct Bell;\n#[cfg(not(unix))]\nstruct Bell;\n"),
    ]);
    assert_eq!(fine, Vec::<String>::new());
}
