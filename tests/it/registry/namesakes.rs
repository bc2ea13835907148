//! Names that tools of several servers share.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::{BTreeMap, BTreeSet};
use toolhub::model::Trust;

/// `None` is a native tool.
type Provider = Option<&'static str>;
type Listing = BTreeMap<String, Vec<String>>;

const TRACKER: &str = "Search the issues of the tracker by title, label and assignee.";
const WIKI: &str = "Find pages of the company wiki that contain the given words.";
const PROVIDERS: &[Provider] = &[None, Some("s"), Some("t"), Some("u")];

fn candidate(provider: Provider, name: &str, description: &str, trust: Trust) -> Candidate {
    let place = PROVIDERS.iter().position(|one| *one == provider).unwrap() as u64;
    let spec = ToolSpec { description: Arc::from(description), trust, ..ToolSpec::named(name) };
    Candidate {
        id: place * 2 + u64::from(name.contains("__")),
        source: if provider.is_some() { Source::Mcps } else { Source::Tools },
        server: provider.map(Arc::from),
        priority: if provider.is_some() { 2 } else { 0 },
        tool: Arc::new(FunctionTool::new(spec, |_, _| async { Ok(ToolOutput::new(1)) })),
        gate: None,
        stats: Arc::new(CandidateStats::default()),
        variant: 1,
        definition: Default::default(),
    }
}

fn listing(registry: &Registry) -> Listing {
    let snapshot = registry.snapshot();
    let labels =
        |entry: &toolhub::registry::NameEntry| entry.candidates.iter().map(|one| one.label()).collect();
    let listed: Vec<_> = snapshot.entries().map(|(name, entry)| (name.to_string(), labels(entry))).collect();
    assert_eq!(listed.len(), snapshot.len());
    let by_name: Listing = listed.iter().cloned().collect();
    assert_eq!(by_name.len(), listed.len(), "each name is listed once: {listed:?}");
    for (name, labels) in &by_name {
        let called = snapshot.find(name).unwrap();
        assert!(labels.iter().all(|label| called.candidates.iter().any(|one| one.label() == *label)));
        assert_eq!(&*snapshot.listed(name).unwrap().spec().unwrap().name, name);
    }
    by_name
}

#[test]
fn tools_that_differ_are_listed_by_their_servers_and_trust_is_needed_to_be_one() {
    let shown = |second: &str, trust: Trust| {
        let registry = Registry::default();
        registry.insert(candidate(Some("s"), "search", TRACKER, Trust::Hints));
        registry.insert(candidate(Some("t"), "search", second, trust));
        listing(&registry).into_keys().collect::<Vec<_>>()
    };
    assert_eq!(shown(TRACKER, Trust::Hints), ["search"]);
    assert_eq!(
        shown("search THE issues of the tracker, by title, label and assignee", Trust::Hints),
        ["search"]
    );
    assert_eq!(shown(WIKI, Trust::Hints), ["s__search", "t__search"]);
    assert_eq!(shown("", Trust::Hints), ["s__search", "t__search"]);
    assert_eq!(shown(TRACKER, Trust::None), ["s__search", "t__search"]);
}

#[test]
fn the_name_of_a_users_tool_is_never_taken() {
    for native_first in [true, false] {
        let registry = Registry::default();
        let native = || registry.insert(candidate(None, "t__search", "Mine.", Trust::Full));
        if native_first {
            native();
        }
        registry.insert(candidate(Some("s"), "search", TRACKER, Trust::Hints));
        registry.insert(candidate(Some("t"), "search", WIKI, Trust::Hints));
        if !native_first {
            native();
        }
        let listing = listing(&registry);
        assert_eq!(listing["t__search"], ["tools"]);
        assert_eq!(listing["t__search_"], ["mcps:t"]);
    }
}

#[test]
fn an_index_hears_of_every_name_that_comes_or_goes() {
    let registry = Registry::default();
    registry.insert(candidate(Some("s"), "search", TRACKER, Trust::Hints));
    let before = registry.snapshot();
    registry.insert(candidate(Some("t"), "search", WIKI, Trust::Hints));
    let now = registry.snapshot();
    let mut changed: Vec<&str> = before.listed_names().changed(&now).map(|name| &**name).collect();
    changed.sort_unstable();
    assert_eq!(changed, ["s__search", "search", "t__search"]);
    assert!(registry.snapshot().listed("search").is_none());
    assert!(registry.snapshot().get("search").is_some());
}

proptest! {
    /// What is listed depends on what is there, and not on how it came to be.
    #[test]
    fn any_order_of_lists_gives_the_same_tools(
        changes in vec(
            (select(PROVIDERS), select(vec!["t", "s__t"]), select(vec!["", TRACKER, WIKI]), any::<bool>()),
            0..25,
        )
    ) {
        let (registry, mut there) = (Registry::default(), BTreeMap::new());
        for (provider, name, description, comes) in changes {
            // Who may have the name gives it back at the next change only.
            if matches!(provider, None | Some("s")) && name == "s__t" {
                continue;
            }
            let before = registry.snapshot();
            let made = candidate(provider, name, description, Trust::Hints);
            if comes {
                there.insert(made.id, (provider, name, description));
                registry.insert(made);
            } else {
                there.remove(&made.id);
                registry.remove_where(name, |one| one.server.as_deref() == provider);
            }
            let now = registry.snapshot();
            let changed: BTreeSet<_> = before.listed_names().changed(&now).cloned().collect();
            let of = |snapshot: &Snapshot| -> BTreeSet<_> {
                snapshot.entries().map(|(name, entry)| (name.clone(), entry.changed_at)).collect()
            };
            let differ = of(&before).symmetric_difference(&of(&now)).map(|(name, _)| name.clone()).collect();
            prop_assert_eq!(changed, differ, "those that follow the list hear of each change, and of no other");
            let fresh = Registry::default();
            for (provider, name, description) in there.values() {
                fresh.insert(candidate(*provider, name, description, Trust::Hints));
            }
            prop_assert_eq!(listing(&registry), listing(&fresh));
            prop_assert_eq!(candidate_count(&registry.snapshot()), there.len());
        }
    }
}
