use super::*;
use proptest::prelude::*;

fn views() -> Views {
    let named = |name: &str| View { name: name.into(), ..View::default() };
    Views::new(View::everything(), [named("ops"), named("read-only_2")]).unwrap()
}

fn of(view: Option<&str>) -> Principal {
    Principal { id: "token:ann".into(), view: view.map(Arc::from), ..Principal::default() }
}

fn name_at(path: &str, principal: &Principal) -> Option<String> {
    views().of_path(path, "/mcp", principal).map(|view| view.name.to_string())
}

#[test]
fn the_path_names_the_view() {
    let anyone = of(None);
    assert_eq!(name_at("/mcp", &anyone).as_deref(), Some(""));
    assert_eq!(name_at("/mcp/ops", &anyone).as_deref(), Some("ops"));
    assert_eq!(name_at("/mcp/read-only_2", &anyone).as_deref(), Some("read-only_2"));
    for path in [
        "/",
        "",
        "/mc",
        "/mcpops",
        "/MCP",
        "/mcp/",
        "/mcp//ops",
        "/mcp/ops/",
        "/mcp/ops/x",
        "/mcp/OPS",
        "/mcp/none",
        "/mcp/%6fps",
        "/mcp/ops%2f",
        "/mcp/..",
        "/mcp/../mcp",
        "/mcp/./ops",
        "//mcp",
        "/mcp/ops;x=1",
        "/mcp/ops\u{0}",
        "/mcp\\ops",
        "/x/../mcp/ops",
        "/mcp/ ops",
    ] {
        assert_eq!(name_at(path, &anyone), None, "{path:?}");
    }
}

#[test]
fn a_token_with_a_view_reaches_no_other_one() {
    let bob = of(Some("ops"));
    assert_eq!(name_at("/mcp", &bob).as_deref(), Some("ops"));
    assert_eq!(name_at("/mcp/ops", &bob).as_deref(), Some("ops"));
    assert_eq!(name_at("/mcp/read-only_2", &bob), None);
    // A token whose view was taken out of the configuration sees nothing, rather than everything.
    assert_eq!(name_at("/mcp", &of(Some("gone"))), None);
    assert_eq!(name_at("/mcp", &of(Some(""))), None);
}

#[test]
fn a_view_called_default_is_for_callers_who_name_none() {
    let view = View { name: DEFAULT_VIEW.into(), ..View::default() };
    let views = Views::new(View::everything(), [view]).unwrap();
    assert_eq!(&*views.of_path("/mcp", "/mcp", &of(None)).unwrap().name, DEFAULT_VIEW);
    assert_eq!(&*views.standard.name, DEFAULT_VIEW);
}

#[test]
fn a_view_with_a_token_is_for_its_callers_alone() {
    let mut views = views();
    assert!(views.reserve("ops") && !views.reserve("gone"));
    let name = |views: &Views, path: &str, own: Option<&str>| {
        views.of_path(path, "/mcp", &of(own)).map(|view| view.name.to_string())
    };
    assert_eq!(name(&views, "/mcp/ops", None), None);
    assert_eq!(name(&views, "/mcp/ops", Some("ops")).as_deref(), Some("ops"));
    assert_eq!(name(&views, "/mcp", None).as_deref(), Some(""));
    assert_eq!(name(&views, "/mcp/read-only_2", None).as_deref(), Some("read-only_2"));
    let view = View { name: DEFAULT_VIEW.into(), ..View::default() };
    let mut views = Views::new(View::everything(), [view]).unwrap();
    assert!(views.reserve(DEFAULT_VIEW));
    assert_eq!(name(&views, "/mcp", None), None, "rather than everything");
    assert_eq!(name(&views, "/mcp", Some(DEFAULT_VIEW)).as_deref(), Some(DEFAULT_VIEW));
}

#[test]
fn an_endpoint_at_the_root_has_views_too() {
    for base in ["/", ""] {
        let at = |path: &str| views().of_path(path, base, &of(None)).map(|view| view.name.to_string());
        assert_eq!(at("/ops").as_deref(), Some("ops"), "{base:?}");
        assert_eq!(at("//ops"), None);
    }
    assert!(views().of_path("/", "/", &of(None)).is_some());
}

#[test]
fn bad_names_are_refused() {
    for name in ["", "a/b", "..", "ö", "a b", "%41", &"x".repeat(65)] {
        let view = View { name: name.into(), ..View::default() };
        assert!(Views::new(View::everything(), [view]).is_err(), "{name:?}");
    }
}

proptest! {
    #[test]
    fn only_exact_paths_reach_a_view(path in "(/mcp|/MCP|/)?[/a-z.%2f;\\\\]{0,12}(ops)?") {
        let expected = match path.as_str() {
            "/mcp" => Some(""),
            "/mcp/ops" => Some("ops"),
            _ => None,
        };
        prop_assert_eq!(name_at(&path, &of(None)), expected.map(str::to_owned));
    }

    #[test]
    fn a_bound_token_never_gets_another_view(path in ".{0,20}", asked in "[a-z_-]{1,12}") {
        for path in [path, format!("/mcp/{asked}")] {
            let name = name_at(&path, &of(Some("ops")));
            prop_assert!(name.is_none_or(|name| name == "ops"));
        }
    }
}
