use super::*;
use proptest::prelude::*;

struct These(Vec<Arc<str>>);

impl Directory for These {
    fn has(&self, id: &str) -> bool {
        self.0.iter().any(|known| &**known == id)
    }

    fn ids(&self) -> Vec<Arc<str>> {
        self.0.clone()
    }
}

fn these(ids: &[&str]) -> These {
    These(ids.iter().map(|id| Arc::from(*id)).collect())
}

fn everywhere(rule: RouteRule) -> Route {
    Route::everywhere(rule)
}

fn only(rule: RouteRule, source: Source) -> Route {
    Route { source: Some(source), ..everywhere(rule) }
}

fn server(rule: RouteRule, id: &str) -> Route {
    Route { server: Some(Arc::from(id)), ..everywhere(rule) }
}

/// Labels without a target.
fn labelled(names: &[&str]) -> Labels {
    let mut labels = Labels::default();
    for name in names {
        labels.add(name, None).unwrap();
    }
    labels
}

#[test]
fn every_line_of_the_table() {
    let mut labels = labelled(&["native", "appflowy"]);
    for (label, target) in [
        ("Local", None),
        ("mine", Some("tools")),
        ("sheets", Some("excel")),
        ("word", Some("excel")),
        ("later", Some("not there yet")),
    ] {
        labels.add(label, target).unwrap();
    }
    let servers = these(&["excel", "word", "tools", "appflowy", "Case", "case", "Only", " odd "]);
    let table: &[(Option<&str>, Route)] = &[
        (None, everywhere(RouteRule::Auto)),
        (Some(""), everywhere(RouteRule::Auto)),
        (Some(" \n"), everywhere(RouteRule::Auto)),
        (Some("native"), everywhere(RouteRule::Alias)),
        (Some(" NATIVE "), everywhere(RouteRule::Alias)),
        (Some("local"), everywhere(RouteRule::Alias)),
        (Some("mine"), only(RouteRule::Alias, Source::Tools)),
        (Some("sheets"), server(RouteRule::Alias, "excel")),
        (Some("word"), server(RouteRule::Alias, "excel")), // a target beats the id
        (Some("mcps:word"), server(RouteRule::Server, "word")),
        (Some("tools"), only(RouteRule::Source, Source::Tools)), // a source beats the id
        (Some("mcps:tools"), server(RouteRule::Server, "tools")),
        (Some("Skills"), only(RouteRule::Source, Source::Skills)),
        (Some("mcps"), only(RouteRule::Source, Source::Mcps)),
        (Some("appflowy"), server(RouteRule::Server, "appflowy")), // the id beats a label without a target
        (Some("excel"), server(RouteRule::Server, "excel")),
        (Some(" EXCEL"), server(RouteRule::Server, "excel")),
        (Some("MCPS: Excel"), server(RouteRule::Server, "excel")),
        (Some("case"), server(RouteRule::Server, "case")),
        (Some("Case"), server(RouteRule::Server, "Case")),
        (Some("ONLY"), server(RouteRule::Server, "Only")),
        (Some(" odd "), server(RouteRule::Server, " odd ")),
        (Some("odd"), server(RouteRule::Server, " odd ")),
    ];
    for (source, expected) in table {
        assert_eq!(labels.route(*source, &servers).as_ref(), Ok(expected), "{source:?}");
    }
    for unknown in ["CASE", "exel", "mcps:", "mcps:nobody", "later", "native tools"] {
        let error = labels.route(Some(unknown), &servers).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound, "{unknown}");
        assert!(error.message.contains("Known servers: 'excel', 'word'"), "{}", error.message);
    }
}

#[test]
fn an_unknown_source_names_the_known_ones_and_a_near_one() {
    let labels = Labels::default();
    let error = labels.route(Some("exel"), &these(&["excel", "word"])).unwrap_err();
    assert_eq!(
        error.message,
        "There is no source 'exel'. Known servers: 'excel', 'word'. Known sources: tools, skills, mcps. \
         Did you mean 'excel'?"
    );
    assert_eq!(error.suggestions, [Arc::from("excel")]);
    let error = labels.route(Some("tool"), &these(&[])).unwrap_err();
    assert!(error.message.contains("Known servers: none.") && error.message.ends_with("'tools'?"), "{error}");
    let many: Vec<String> = (0..50).map(|n| format!("server-{n}")).collect();
    let many = these(&many.iter().map(String::as_str).collect::<Vec<_>>());
    let error = labels.route(Some(&"x".repeat(10_000)), &many).unwrap_err();
    assert!(error.message.contains("and 20 more") && error.message.len() < 1_000, "{error}");
}

#[test]
fn an_alias_is_a_word_of_its_own_and_stands_for_something() {
    let mut labels = Labels::default();
    for (label, target) in [("", None), (" ", None), ("Tools", None), ("mcps", Some("x")), ("a", Some(" "))] {
        assert!(labels.add(label, target).is_err(), "{label:?} → {target:?}");
    }
    labels.add("native", None).unwrap();
    labels.add("native", Some("tools")).unwrap();
    let route = labels.route(Some("native"), &these(&[])).unwrap();
    assert_eq!(route, only(RouteRule::Alias, Source::Tools), "the latest target counts");
    let error = Labels::default().route(Some("native"), &these(&[])).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound, "the core has no labels of its own");
}

#[test]
fn a_rule_says_what_it_means() {
    let labels = labelled(&["native"]);
    let servers = these(&["excel"]);
    let says = |source: &str, prefer| labels.route(Some(source), &servers).unwrap().sentence(source, prefer);
    assert_eq!(says("", Prefer::Mcps), "the call names no source: every source is asked, MCP servers first");
    assert_eq!(says("native", Prefer::Priority), "'native' is a label: every source is asked, by priority");
    assert_eq!(says("excel", Prefer::Mcps), "'excel' is an MCP server: only server 'excel' is asked");
    assert_eq!(says("tools", Prefer::Mcps), "'tools' is a source: only 'tools' is asked");
}

proptest! {
    /// Whatever a model writes: an answer, a route to something that exists, and a short sentence otherwise.
    #[test]
    fn any_source_is_routed_or_refused(source in ".{0,40}", ids in proptest::collection::vec("[a-zA-Z ]{1,6}", 0..6)) {
        let servers = These(ids.iter().map(|id| Arc::from(id.as_str())).collect());
        match Labels::default().route(Some(&source), &servers) {
            Ok(route) => {
                prop_assert!(route.server.as_ref().is_none_or(|id| servers.has(id)));
                prop_assert_eq!(route.rule == RouteRule::Server, route.server.is_some());
                prop_assert_eq!(route.rule == RouteRule::Source, route.source.is_some());
            }
            Err(error) => prop_assert!(error.message.len() < 1_000),
        }
    }

    /// The very id of a server reaches it, unless the word has a meaning of its own; its label always does.
    #[test]
    fn an_id_reaches_its_server(ids in proptest::collection::hash_set("[a-zA-Z_-]{1,8}", 1..8)) {
        let servers = These(ids.iter().map(|id| Arc::from(id.as_str())).collect());
        for id in &ids {
            let route = Labels::default().route(Some(&format!("mcps:{id}")), &servers);
            prop_assert_eq!(route, Ok(server(RouteRule::Server, id)));
            if Source::parse(&fold(id)).is_none() {
                prop_assert_eq!(Labels::default().route(Some(id), &servers), Ok(server(RouteRule::Server, id)));
            }
        }
    }
}
