use super::*;
use proptest::prelude::*;
use toolhub_engine::hub::HubOptions;
use toolhub_engine::served::EffectsAllowed;
use toolhub_registry::Candidate;
use toolhub_text::pattern::PatternList;
use toolhub_types::error::Result;
use toolhub_types::model::{
    Arguments, CheckOptions, Effects, Evidence, Fitting, Source, ToolOutput, ToolSpec,
};
use toolhub_types::stats::CandidateStats;
use toolhub_types::tool::{BoxFuture, CallContext, Tool};

fn search(hub: &Hub, view: &View, query: &str, limit: Option<u64>) -> Value {
    super::search(hub, &ViewIndexes::default(), &Arc::new(view.clone()), query, limit)
}

struct NamedTool(ToolSpec);

impl Tool for NamedTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn check(&self, _: &Arguments, _: &CheckOptions<'_>) -> Result<Fitting<Arguments>> {
        Ok(Fitting::unchanged())
    }

    fn call<'a>(&'a self, _: &'a Arguments, _: &'a CallContext) -> BoxFuture<'a, Result<ToolOutput>> {
        Box::pin(std::future::ready(Ok(ToolOutput::new("done"))))
    }
}

fn add(hub: &Hub, server: Option<&str>, spec: ToolSpec) {
    hub.registry.insert(Candidate {
        id: hub.registry.next_id(),
        source: if server.is_some() { Source::Mcps } else { Source::Tools },
        server: server.map(Arc::from),
        priority: 0,
        tool: Arc::new(NamedTool(spec)),
        gate: None,
        stats: Arc::new(CandidateStats::default()),
        variant: 1,
        definition: Default::default(),
    });
}

fn spec(name: &str, description: &str) -> ToolSpec {
    ToolSpec { description: description.into(), ..ToolSpec::named(name) }
}

fn hub_of(count: usize) -> Hub {
    let hub = Hub::new(HubOptions::default());
    for number in 0..count {
        add(&hub, None, spec(&format!("read_file_{number}"), "Reads a file from the disk."));
    }
    hub
}

fn names(found: &Value) -> Vec<String> {
    found["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn seeing(patterns: &[&str]) -> View {
    View { tools: Some(Arc::new(PatternList::new(patterns.iter().copied()))), ..View::default() }
}

#[test]
fn automatic_search_mode_begins_above_a_hundred_visible_tools() {
    let hub = hub_of(AUTO_SEARCH_ABOVE);
    let on = |view: &View| is_on(view, &hub.registry.snapshot());
    assert!(!on(&View::everything()));
    add(&hub, None, spec("one_more", ""));
    assert!(on(&View::everything()));
    // Tools that the view hides do not count.
    assert!(!on(&seeing(&["read_file_*"])));
    assert!(on(&View { search_mode: SearchMode::On, ..seeing(&[]) }));
    assert!(!on(&View { search_mode: SearchMode::Off, ..View::everything() }));
}

#[test]
fn the_list_of_five_thousand_tools_stays_below_1200_tokens() {
    let hub = hub_of(5_000);
    let view = View { core: vec!["read_file_7".into()], ..View::everything() };
    let snapshot = hub.registry.snapshot();
    assert!(is_on(&view, &snapshot));
    let mut list: Vec<Value> = GatewayTool::ALL.iter().map(|tool| tool.definition()).collect();
    list.extend(
        core(&view, &snapshot).map(|tool| json!({"name": tool.name, "inputSchema": {"type": "object"}})),
    );
    let text = serde_json::to_string(&list).unwrap();
    let tokens =
        toolhub_context::truncate::TokenCounter::count(&toolhub_context::truncate::tokens::Estimate, &text);
    assert!(tokens <= 700, "{tokens} tokens");
}

#[test]
fn the_ranking_is_that_of_the_hub() {
    let hub = hub_of(300);
    add(&hub, None, spec("send_mail", "Sends a message by electronic mail."));
    add(&hub, None, spec("mail_folders", "Lists the folders of a mailbox."));
    for query in ["send a mail", "read file", "folders", ""] {
        let expected: Vec<String> = hub.search(query, 10).iter().map(|hit| hit.name.to_string()).collect();
        assert_eq!(names(&search(&hub, &View::everything(), query, None)), expected, "{query}");
    }
    assert_eq!(names(&search(&hub, &View::everything(), "read file", Some(3))).len(), 3);
    assert_eq!(names(&search(&hub, &View::everything(), "read file", Some(9_999))).len(), MOST_HITS as usize);
}

#[test]
fn hidden_tools_neither_show_nor_take_the_place_of_visible_ones() {
    let hub = hub_of(300);
    add(&hub, Some("files"), spec("read_file_of_server", "Reads a file."));
    let view = seeing(&["files/*"]);
    assert_eq!(names(&search(&hub, &view, "read file", Some(5))), ["read_file_of_server"]);
}

#[test]
fn hidden_tools_change_no_result_of_a_view() {
    let visible = [
        ("sekret_lookup", "Looks up a thing in the catalogue"),
        ("send_bill", "Send a bill to the customer by mail"),
        ("mail_out", "mail a customer letter"),
    ];
    let plain = Hub::new(HubOptions::default());
    let (hub, indexes) = (Hub::new(HubOptions::default()), ViewIndexes::default());
    for (name, description) in visible {
        add(&plain, None, spec(name, description));
        add(&hub, None, spec(name, description));
    }
    let view = Arc::new(seeing(&["sekret_lookup", "send_bill", "mail_out", "!other/*"]));
    let same = |query: &str| {
        let seen = names(&super::search(&hub, &indexes, &view, query, None));
        assert_eq!(seen, names(&search(&plain, &View::everything(), query, None)), "{query}");
    };
    let all_same = || ["secret", "mail bill", "bill", "thing", "door"].into_iter().for_each(same);
    all_same();
    add(&hub, None, spec("secret_door", "Opens the secret door"));
    all_same();
    (0..30).for_each(|n| add(&hub, None, spec(&format!("bill_{n}"), "bill bill")));
    // A provider that the view hides, of a tool that it shows.
    add(&hub, Some("other"), spec("mail_out", "door door secret"));
    all_same();
}

#[test]
fn a_view_of_harmless_tools_shows_the_harmless_provider() {
    let hub = Hub::new(HubOptions::default());
    let acting = ToolSpec { effects: Effects::may_act(Evidence::Registration), ..spec("look", "acts") };
    let harmless =
        ToolSpec { effects: Effects::harmless(Evidence::Registration), ..spec("look", "only looks") };
    add(&hub, Some("a"), acting);
    add(&hub, Some("b"), harmless);
    let view = View { effects: EffectsAllowed::Harmless, ..View::everything() };
    let snapshot = hub.registry.snapshot();
    let shown = view.tool(&snapshot, "look").unwrap();
    assert_eq!(&*shown.spec().description, "only looks");
    assert_eq!(shown.only_provider().as_deref(), Some("mcps:b"));
    let options = view.call_options(&crate::Principal::anonymous());
    let planned =
        hub.plan_by_name(&hub.registry.snapshot(), "look", &options, std::time::Instant::now()).unwrap();
    assert_eq!(planned.candidates.len(), 1);
    assert_eq!(planned.candidates[0].server.as_deref(), Some("b"));
}

#[test]
fn core_tools_are_listed_in_their_order_if_the_view_shows_them() {
    let hub = hub_of(5);
    add(&hub, None, spec("call_tool", "A tool of the hub that has the name of one of the gateway."));
    let view = View {
        core: ["read_file_3", "read_file_1", "missing", "call_tool", "read_file_4"].map(Arc::from).to_vec(),
        ..seeing(&["*", "!read_file_4"])
    };
    let snapshot = hub.registry.snapshot();
    let listed: Vec<&str> = core(&view, &snapshot).map(|tool| tool.name).collect();
    assert_eq!(listed, ["read_file_3", "read_file_1"]);
}

proptest! {
    #[test]
    fn search_shows_only_what_the_view_sees(query in ".{0,40}", limit in any::<Option<u64>>(), pattern in "[a-z*?_0-3/!]{0,8}") {
        let hub = hub_of(30);
        let view = seeing(&[&pattern]);
        let found = search(&hub, &view, query.as_str(), limit);
        let snapshot = hub.registry.snapshot();
        for name in names(&found) {
            prop_assert!(view.tool(&snapshot, &name).is_some());
        }
    }

    #[test]
    fn short_descriptions_are_short(text in "(?s).{0,600}") {
        prop_assert!(short(&text).chars().count() <= SHORT_DESCRIPTION + 1);
    }
}

fn view_of_some() -> Arc<View> {
    let tools = PatternList::new(["read_*"]);
    Arc::new(View { tools: Some(Arc::new(tools)), ..View::everything() })
}

#[test]
fn views_have_an_index_each_and_the_oldest_goes() {
    let indexes = ViewIndexes::default();
    assert!(indexes.of(&Arc::new(View::everything())).is_none());
    let views: Vec<_> = (0..=MOST_INDEXES).map(|_| view_of_some()).collect();
    let first = indexes.of(&views[0]).unwrap();
    for one in &views[1..MOST_INDEXES] {
        assert!(!Arc::ptr_eq(&first, &indexes.of(one).unwrap()));
    }
    assert!(Arc::ptr_eq(&first, &indexes.of(&views[0]).unwrap()), "kept, and used last");
    let second = Arc::downgrade(&indexes.of(&views[1]).unwrap());
    indexes.of(&views[0]);
    for one in &views[2..] {
        indexes.of(one);
    }
    assert_eq!(indexes.0.lock().len(), MOST_INDEXES);
    assert!(second.upgrade().is_none(), "not used for the longest time");
}
