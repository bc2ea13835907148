use super::*;
use proptest::prelude::*;

#[test]
fn stars_question_marks_and_classes() {
    for (pattern, name, expected) in [
        ("", "", true),
        ("", "a", false),
        ("*", "", true),
        ("read_*", "read_file", true),
        ("read_*", "reread_file", false),
        ("*_file", "read_file", true),
        ("*a*b*", "xxaxxbxx", true),
        ("*a*b*", "xxbxxa", false),
        ("?et", "get", true),
        ("?et", "et", false),
        ("get", "GET", false),
        ("天?", "天气", true),
        ("a*b", "aXbXb", true),
        ("**", "x", true),
        ("[gs]et", "get", true),
        ("[gs]et", "bet", false),
        ("[!gs]et", "bet", true),
        ("[!gs]et", "set", false),
        ("v[0-9]", "v7", true),
        ("v[0-9]", "vx", false),
        ("v[9-0]", "v5", false),
        ("[]]", "]", true),
        ("[!]]", "]", false),
        ("[a-]", "-", true),
        ("[a", "[a", true),
        ("[]", "[]", true),
        ("[!]", "[!]", true),
        ("*[0-9]*", "abc1def", true),
        ("[天地]气", "天气", true),
    ] {
        assert_eq!(Glob::new(pattern).matches(name), expected, "{pattern:?} {name:?}");
    }
}

#[test]
fn many_stars_are_not_slow() {
    assert!(!Glob::new(&"*a".repeat(200)).matches(&"a".repeat(199)));
    assert!(!Glob::new(&format!("{}b", "a*".repeat(200))).matches(&"a".repeat(2000)));
}

#[test]
fn lists_allow_and_forbid_by_scope() {
    // patterns, name, server → allowed
    let table: &[(&[&str], &str, Option<&str>, bool)] = &[
        (&[], "x", None, false),
        (&["*"], "x", Some("s"), true),
        (&["!x"], "y", None, false),
        (&["*", "!x"], "x", None, false),
        (&["read_*"], "read_mail", Some("any"), true),
        (&["files/*"], "write", Some("files"), true),
        (&["files/*"], "write", None, false),
        (&["files/*"], "write", Some("other"), false),
        (&["files/*", "!*delete*"], "delete_file", Some("files"), false),
        (&["native/*"], "write", None, true),
        (&["files__write"], "write", Some("files"), true),
        (&["files__*"], "write", Some("files"), true),
        (&["files__write"], "write", Some("other"), false),
        (&["files__write"], "write", None, false),
        (&["fi*__write"], "write", Some("files"), false),
        (&["fi*"], "write", Some("files"), false),
        (&["files__write"], "files__write", Some("other"), true),
        (&["*", "!files__*"], "write", Some("files"), false),
        (&["*", "!files__*"], "write", Some("other"), true),
        (&["native/*"], "write", Some("files"), false),
        (&["*", "!files/write"], "write", Some("files"), false),
        (&["*", "!files/write"], "write", None, true),
        // Skills of servers are named `server/skill`.
        (&["*", "!docs/pdf"], "docs/pdf", Some("docs"), false),
        (&["docs/pdf"], "docs/pdf", Some("docs"), true),
        (&["docs/*"], "docs/pdf", Some("docs"), true),
        (&["docs/docs/pdf"], "docs/pdf", Some("docs"), true),
        (&["pdf"], "docs/pdf", Some("docs"), true),
        (&["*", "!pdf"], "docs/pdf", Some("docs"), false),
        (&["*", "!other/pdf"], "docs/pdf", Some("docs"), true),
        (&["other/pdf"], "docs/pdf", Some("docs"), false),
        // A name alone does not put a tool into a server's scope.
        (&["docs/pdf"], "docs/pdf", Some("evil"), false),
        (&["docs/pdf"], "docs/pdf", None, false),
        (&["native/docs/pdf"], "docs/pdf", None, true),
        // But what is forbidden by its whole name stays forbidden.
        (&["*", "!docs/pdf"], "docs/pdf", None, false),
        (&["*", "!docs/*"], "docs/pdf", Some("evil"), false),
        (&["*", " ! x "], "x", None, false),
        (&["[fg]iles/[a-m]*"], "list", Some("files"), true),
        (&["[fg]iles/[a-m]*"], "write", Some("files"), false),
    ];
    for (patterns, name, server, expected) in table {
        let list = PatternList::new(patterns.iter().copied());
        assert_eq!(list.allows(name, *server), *expected, "{patterns:?} {name} on {server:?}");
        if *expected {
            assert!(list.may_allow(name), "{patterns:?} {name}");
        }
    }
    assert!(PatternList::new(["a", "!b/c"]).names_servers());
    assert!(!PatternList::new(["a", "!b"]).names_servers());
    assert!(PatternList::new(["files/read"]).may_allow("read"));
    assert!(!PatternList::new(["files/read"]).may_allow("write"));
}

/// The plain definition: try everything.
fn reference(parts: &[GlobPart], name: &[char]) -> bool {
    match (parts, name) {
        ([], name) => name.is_empty(),
        ([GlobPart::Any, rest @ ..], name) => (0..=name.len()).any(|at| reference(rest, &name[at..])),
        ([part, rest @ ..], [c, others @ ..]) => part.takes(*c) && reference(rest, others),
        (_, []) => false,
    }
}

proptest! {
    #[test]
    fn it_matches_what_the_definition_says(pattern in "[a-c*?\\[\\]!-]{0,10}", name in "[a-c\\]-]{0,8}") {
        let glob = Glob::new(&pattern);
        let chars: Vec<char> = name.chars().collect();
        prop_assert_eq!(glob.matches(&name), reference(&glob.parts, &chars));
    }

    #[test]
    fn a_name_matches_itself_and_what_was_cut_out_of_it(name in "[a-z_]{0,12}", at in 0usize..12, length in 0usize..12) {
        prop_assert!(Glob::new(&name).matches(&name));
        let start = at.min(name.len());
        let end = (start + length).min(name.len());
        let with_star = format!("{}*{}", &name[..start], &name[end..]);
        prop_assert!(Glob::new(&with_star).matches(&name));
        let with_marks = format!("{}{}{}", &name[..start], "?".repeat(end - start), &name[end..]);
        prop_assert!(Glob::new(&with_marks).matches(&name));
    }

    #[test]
    fn what_is_forbidden_is_never_allowed(
        pattern in "[a-c*?/]{0,6}", name in "[a-c/]{0,6}", server in proptest::option::of("[a-c]{1,2}")
    ) {
        let forbids = format!("!{pattern}");
        let alone = PatternList::new([&*pattern]).allows(&name, server.as_deref());
        let list = PatternList::new(["*", &forbids]);
        let forbidden = alone || Glob::new(&pattern).matches(&name);
        prop_assert_eq!(list.allows(&name, server.as_deref()), !forbidden);
        prop_assert!(!alone || PatternList::new([&*pattern]).may_allow(&name));
    }
}
