//! Choosing: the strategy that fits, who is guarded, and who comes first.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::support::function_tool::FunctionTool;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use toolhub::error::ErrorKind;
use toolhub::model::{Effects, Evidence, Prefer, Shadow, Source, Strategy, ToolOutput, ToolSpec};
use toolhub::registry::{Candidate, Filter, Registry};
use toolhub::select::{Candidates, Rule, StrategyInput, StrategyPatterns, Wanted};
use toolhub::select::{by_capability, by_name, decide, is_shadow, runs_alone};
use toolhub::stats::{BreakerPolicy, CandidateStats};

const DECLARED: Effects = Effects::may_act(Evidence::Registration);
const GUESSED: Effects = Effects::may_act(Evidence::ActingVerb("send"));
const HARMLESS: Effects = Effects::harmless(Evidence::ReadingVerb("get"));

fn candidate(id: u64, source: Source, change: impl FnOnce(&mut ToolSpec)) -> Candidate {
    let mut spec = ToolSpec::named("t");
    spec.description = Arc::from("The same tool on each server.");
    change(&mut spec);
    Candidate {
        id,
        source,
        server: (source == Source::Mcps).then(|| Arc::from(format!("s{id}"))),
        priority: source.default_priority(),
        tool: Arc::new(FunctionTool::new(spec, |_, _| async { Ok(ToolOutput::new(1)) })),
        gate: None,
        stats: Arc::new(CandidateStats::default()),
        variant: 1,
        definition: Default::default(),
    }
}

/// Changes a spec to a harmless one with this tag.
fn reading(tag: &str) -> impl Fn(&mut ToolSpec) {
    move |spec| {
        spec.capabilities = vec![tag.into()];
        spec.effects = HARMLESS;
    }
}

/// Candidates of servers, all harmless and with this tag.
fn tagged(count: u64, tag: &str) -> Candidates {
    (0..count).map(|id| Arc::new(candidate(id, Source::Mcps, reading(tag)))).collect()
}

fn with_effects(levels: &[Effects], idempotent: bool) -> Candidates {
    let each = levels.iter().enumerate().map(|(id, level)| {
        Arc::new(candidate(id as u64, Source::Mcps, |spec| {
            spec.effects = *level;
            spec.idempotent = idempotent;
            spec.capabilities = vec!["search".into()];
        }))
    });
    each.collect()
}

fn asked(wanted: Strategy, by_capability: bool) -> StrategyInput<'static> {
    StrategyInput { wanted, by_capability, ..StrategyInput::default() }
}

#[test]
fn auto_takes_the_first_rule_that_fits() {
    use Strategy::{All, Auto, Fallback, First};
    // tag, candidates, by capability → strategy, rule
    let table: &[(&str, u64, bool, Strategy, Rule)] = &[
        ("search", 1, false, First, Rule::OneCandidate),
        ("calculate", 2, false, First, Rule::FastestIsBest),
        ("calculate", 4, false, First, Rule::FastestIsBest),
        ("math", 3, false, First, Rule::FastestIsBest),
        ("time", 3, false, First, Rule::FastestIsBest),
        ("search", 2, false, All, Rule::AnswersComplement),
        ("search", 5, false, All, Rule::AnswersComplement),
        ("extract", 3, false, All, Rule::AnswersComplement),
        ("weather", 2, false, All, Rule::TwoCandidates),
        ("weather", 3, false, First, Rule::ManyCandidates),
        // By capability two candidates come before the kind of the tools.
        ("calculate", 2, true, All, Rule::TwoCandidates),
        ("calculate", 3, true, First, Rule::FastestIsBest),
        ("search", 3, true, All, Rule::AnswersComplement),
        ("weather", 2, true, All, Rule::TwoCandidates),
        ("weather", 3, true, First, Rule::ManyCandidates),
    ];
    for (tag, count, capability, strategy, rule) in table {
        let decided = decide(&tagged(*count, tag), &asked(Auto, *capability));
        assert_eq!(decided, (*strategy, rule.clone()), "{count} × {tag}, by capability: {capability}");
    }
    for level in [GUESSED, DECLARED] {
        let one_of_three = with_effects(&[HARMLESS, level, Effects::UNKNOWN], false);
        assert_eq!(decide(&one_of_three, &asked(Auto, false)), (Fallback, Rule::Effects), "{level:?}");
        assert_eq!(
            decide(&one_of_three[..2], &asked(Auto, true)),
            (Fallback, Rule::Effects),
            "safety comes first"
        );
    }
    let harmless = with_effects(&[HARMLESS, HARMLESS], false);
    assert_eq!(decide(&harmless, &asked(Auto, false)), (All, Rule::AnswersComplement));
}

#[test]
fn unknown_effects_keep_tools_of_servers_apart_but_not_native_ones() {
    use Strategy::{All, Auto, Fallback, First};
    let of = |sources: &[Source]| -> Candidates {
        (0..).zip(sources).map(|(id, source)| Arc::new(candidate(id, *source, |_| {}))).collect()
    };
    let native = of(&[Source::Tools, Source::Skills]);
    assert_eq!(decide(&native, &asked(Auto, false)), (All, Rule::TwoCandidates));
    for by_capability in [false, true] {
        for sources in [[Source::Mcps, Source::Mcps], [Source::Tools, Source::Mcps]] {
            assert_eq!(decide(&of(&sources), &asked(Auto, by_capability)), (Fallback, Rule::UnknownEffects));
        }
    }
    let servers = of(&[Source::Mcps, Source::Mcps]);
    for wanted in [First, All] {
        assert_eq!(decide(&servers, &asked(wanted, false)), (Fallback, Rule::UnknownEffects));
        assert_eq!(decide(&native, &asked(wanted, false)), (wanted, Rule::Asked));
    }
    assert_eq!(decide(&servers, &asked(Fallback, false)), (Fallback, Rule::Asked));
    let guarded = |candidates: &Candidates| candidates.iter().any(|one| runs_alone(one));
    assert!(guarded(&servers));
    assert!(!guarded(&native));
}

#[test]
fn a_calculation_that_also_searches_is_a_race() {
    let mixed: Candidates = ["search", "calculate", "extract"]
        .iter()
        .enumerate()
        .map(|(id, tag)| Arc::new(candidate(id as u64, Source::Mcps, reading(tag))))
        .collect();
    assert_eq!(decide(&mixed, &asked(Strategy::Auto, false)), (Strategy::First, Rule::FastestIsBest));
}

#[test]
fn the_callers_strategy_counts_except_for_tools_that_may_act() {
    for wanted in [Strategy::First, Strategy::All, Strategy::Fallback] {
        assert_eq!(decide(&tagged(3, "search"), &asked(wanted, false)), (wanted, Rule::Asked));
        let guessed = with_effects(&[GUESSED, GUESSED], false);
        assert_eq!(decide(&guessed, &asked(wanted, false)).0, Strategy::Fallback);
        let declared = with_effects(&[Effects::UNKNOWN, DECLARED], false);
        assert_eq!(decide(&declared, &asked(wanted, false)).0, Strategy::Fallback);
    }
}

#[test]
fn effects_are_guarded_also_if_the_tool_is_idempotent() {
    let guarded =
        |levels: &[Effects], idempotent| with_effects(levels, idempotent).iter().any(|one| runs_alone(one));
    assert!(guarded(&[DECLARED], false));
    assert!(guarded(&[HARMLESS, GUESSED], false), "one with effects guards all");
    assert!(!guarded(&[HARMLESS, HARMLESS], false));
    assert!(guarded(&[DECLARED, GUESSED], true), "another provider would do it a second time");
}

#[test]
fn who_prefers_servers_asks_them_before_the_others_not_beside_them() {
    use Strategy::{All, Auto, Fallback, First};
    let of = |sources: &[Source]| -> Candidates {
        (0..).zip(sources).map(|(id, source)| Arc::new(candidate(id, *source, reading("any")))).collect()
    };
    let chosen = |sources: &[Source], wanted, by_capability, prefer| {
        decide(&of(sources), &StrategyInput { prefer, ..asked(wanted, by_capability) })
    };
    let mixed = [Source::Mcps, Source::Tools];
    assert_eq!(chosen(&mixed, Auto, false, Prefer::Mcps), (Fallback, Rule::Preferred));
    assert_eq!(chosen(&mixed, Auto, false, Prefer::Priority), (All, Rule::TwoCandidates));
    assert_eq!(chosen(&mixed, Auto, true, Prefer::Mcps), (All, Rule::TwoCandidates));
    assert_eq!(chosen(&mixed, First, false, Prefer::Mcps), (First, Rule::Asked));
    for one_kind in [Source::Mcps, Source::Tools] {
        assert_eq!(chosen(&[one_kind, one_kind], Auto, false, Prefer::Mcps), (All, Rule::TwoCandidates));
    }
}

#[test]
fn the_first_match_answers_a_model_alone() {
    use Strategy::{All, Auto, Fallback};
    let routed = |wanted| StrategyInput { is_routed: true, ..asked(wanted, false) };
    for tag in ["search", "calculate", "weather"] {
        for count in 2..5 {
            assert_eq!(
                decide(&tagged(count, tag), &routed(Auto)),
                (Fallback, Rule::Routed),
                "{count} × {tag}"
            );
        }
    }
    assert_eq!(decide(&tagged(1, "search"), &routed(Auto)).1, Rule::OneCandidate);
    assert_eq!(decide(&tagged(3, "search"), &routed(All)), (All, Rule::Asked));
    assert_eq!(decide(&with_effects(&[DECLARED, HARMLESS], false), &routed(Auto)), (Fallback, Rule::Effects));
}

#[test]
fn the_order_for_a_model_is_the_last_success_and_then_the_configuration() {
    let registry = Registry::default();
    let now = Instant::now();
    let all: Vec<_> = (0..4).map(|id| registry.insert(candidate(id, Source::Mcps, |_| {}))).collect();
    // The first server is slow and fails at times, which says nothing about which answer is wanted.
    let record = |slot: usize, ended, millis| {
        all[slot].stats.record(ended, Duration::from_millis(millis), now, &BreakerPolicy::default());
    };
    record(0, Err(ErrorKind::ToolError), 4_000);
    record(0, Ok(()), 4_000);
    record(1, Ok(()), 1);
    let snapshot = registry.snapshot();
    let entry = snapshot.get("t").unwrap();
    let order = |is_routed| ids(&by_name(entry, Wanted { is_routed, ..Wanted::default() }, now).0);
    assert_eq!(order(true), [0, 1, 2, 3]);
    assert_eq!(order(false).last(), Some(&0), "health counts for a program's call");
    entry.note_success(2);
    assert_eq!(order(true), [2, 0, 1, 3]);
    exhaust(&all[2], now);
    assert_eq!(order(true), [0, 1, 3, 2], "a resting one comes last");
}

#[test]
fn a_strategy_is_set_by_the_call_the_tool_or_the_most_specific_pattern() {
    use Strategy::{All, Auto, Fallback, First};
    let patterns =
        StrategyPatterns::new([("*", Fallback), ("t*", First), ("s1/t", All), ("x", All), ("t?", All)])
            .unwrap();
    let of = |own: &[Option<Strategy>]| -> Candidates {
        let one = |(id, own): (u64, &Option<Strategy>)| {
            candidate(id, Source::Mcps, |spec| {
                reading("weather")(spec);
                spec.strategy = *own;
            })
        };
        (0..).zip(own).map(one).map(Arc::new).collect()
    };
    let with = |wanted| StrategyInput { patterns: Some(&patterns), ..asked(wanted, false) };
    let by_pattern = |strategy, pattern: &str| (strategy, Rule::Pattern(pattern.into()));
    assert_eq!(
        decide(&of(&[None, None]), &with(Auto)),
        by_pattern(First, "t*"),
        "that of the first candidate"
    );
    assert_eq!(
        decide(&of(&[None, None, None])[1..], &with(Auto)),
        by_pattern(All, "s1/t"),
        "the server's own"
    );
    assert_eq!(decide(&of(&[None, Some(All)]), &with(Auto)), (All, Rule::Tool));
    assert_eq!(decide(&of(&[Some(First), Some(All)]), &with(Auto)), (First, Rule::Tool));
    assert_eq!(decide(&of(&[Some(First), None]), &with(Fallback)), (Fallback, Rule::Asked));
    assert_eq!(
        decide(&of(&[Some(Auto), None]), &with(Auto)),
        (All, Rule::TwoCandidates),
        "'auto' of the tool keeps the patterns away"
    );
    let routed = StrategyInput { is_routed: true, ..with(Auto) };
    assert_eq!(decide(&of(&[None, None]), &routed), by_pattern(First, "t*"));
    // A call by capability takes a strategy that all its candidates have.
    let by_tag = StrategyInput { by_capability: true, ..with(Auto) };
    assert_eq!(decide(&of(&[Some(First), Some(First)]), &by_tag), (First, Rule::Tool));
    assert_eq!(decide(&of(&[Some(First), Some(Fallback)]), &by_tag), (All, Rule::TwoCandidates));
    let acts = with_effects(&[DECLARED, HARMLESS], false);
    assert_eq!(decide(&acts, &with(Auto)), (Fallback, Rule::Effects), "whatever is named");
}

#[test]
fn a_pattern_that_forbids_or_is_empty_is_refused() {
    for pattern in ["", " ", "!search_*"] {
        assert!(StrategyPatterns::new([(pattern, Strategy::All)]).is_err(), "{pattern:?}");
    }
}

/// Rests a candidate.
fn exhaust(candidate: &Candidate, now: Instant) {
    for _ in 0..5 {
        candidate.stats.record(
            Err(ErrorKind::ToolError),
            Duration::from_millis(1),
            now,
            &BreakerPolicy::default(),
        );
    }
}

fn ids(candidates: &[Arc<Candidate>]) -> Vec<u64> {
    candidates.iter().map(|c| c.id).collect()
}

#[test]
fn by_name_resting_ones_come_last_and_are_counted_out() {
    let registry = Registry::default();
    let now = Instant::now();
    let all: Vec<_> = (0..4).map(|id| registry.insert(candidate(id, Source::Mcps, |_| {}))).collect();
    let snapshot = registry.snapshot();
    let entry = snapshot.get("t").unwrap();
    entry.note_success(0);
    exhaust(&all[0], now);
    exhaust(&all[2], now);
    let (order, healthy) = by_name(entry, Wanted::default(), now);
    assert_eq!(
        (ids(&order), healthy),
        (vec![1, 3, 0, 2], 2),
        "the last success does not help while it rests"
    );
    let only = Wanted { filter: Filter { source: None, server: Some("s2") }, ..Wanted::default() };
    let (order, healthy) = by_name(entry, only, now);
    assert_eq!((ids(&order), healthy), (vec![2], 1), "a single one is called, resting or not");
}

#[test]
fn by_name_registration_decides_between_equals() {
    let registry = Registry::default();
    for id in [5, 3, 9] {
        registry.insert(candidate(id, Source::Mcps, |_| {}));
    }
    registry.insert(candidate(10, Source::Tools, |_| {}));
    let snapshot = registry.snapshot();
    let (order, _) = by_name(snapshot.get("t").unwrap(), Wanted::default(), Instant::now());
    assert_eq!(ids(&order), [10, 3, 5, 9]);
}

proptest! {
    #[test]
    fn by_name_the_preferred_one_comes_first_and_all_else_stays_as_it_is(
        sources in proptest::collection::vec(proptest::sample::select(Source::ALL.to_vec()), 1..12),
        resting in proptest::collection::btree_set(0u64..12, 0..12),
        last in 0u64..12,
    ) {
        let (registry, now) = (Registry::default(), Instant::now());
        for (id, source) in sources.iter().enumerate() {
            let mut one = candidate(id as u64, *source, |_| {});
            one.server = Some(Arc::from(format!("s{id}")));
            let one = registry.insert(one);
            if resting.contains(&one.id) {
                exhaust(&one, now);
            }
        }
        let snapshot = registry.snapshot();
        let entry = snapshot.get("t").unwrap();
        entry.note_success(last);
        let (usual, awake) = by_name(entry, Wanted::default(), now);
        let (order, healthy) = by_name(entry, Wanted { prefer: Prefer::Mcps, ..Wanted::default() }, now);
        prop_assert_eq!(awake, healthy);
        // A stable sort of the usual order: MCP servers first, apart from those that rest.
        let split = |candidates: &[Arc<Candidate>]| {
            let of_servers = |c: &Arc<Candidate>| c.source == Source::Mcps;
            let (mut first, rest): (Vec<_>, Vec<_>) = candidates.iter().cloned().partition(of_servers);
            first.extend(rest);
            ids(&first)
        };
        let expected = if sources.len() == 1 {
            ids(&usual)
        } else {
            [split(&usual[..awake]), split(&usual[awake..])].concat()
        };
        prop_assert_eq!(ids(&order), expected);
    }
}

#[test]
fn a_shadow_is_a_tool_of_a_server_beside_a_native_one() {
    let registry = Registry::default();
    let (now, deny) = (Instant::now(), Wanted { shadow: Shadow::Deny, ..Wanted::default() });
    let order = || {
        let snapshot = registry.snapshot();
        let entry = snapshot.get("t").unwrap();
        let shadows: Vec<u64> =
            entry.candidates.iter().filter(|c| is_shadow(c, entry)).map(|c| c.id).collect();
        (ids(&by_name(entry, deny, now).0), shadows)
    };
    registry.insert(candidate(1, Source::Mcps, |_| {}));
    registry.insert(candidate(2, Source::Mcps, |_| {}));
    assert_eq!(order(), (vec![1, 2], vec![]), "servers do not shadow each other");
    registry.insert(candidate(3, Source::Skills, |_| {}));
    assert_eq!(order(), (vec![3], vec![1, 2]));
    registry.insert(candidate(4, Source::Tools, |_| {}));
    assert_eq!(order(), (vec![4, 3], vec![1, 2]));
}

/// Ten of each source with one tag, under names of their own.
fn thirty() -> Registry {
    let registry = Registry::default();
    for (at, source) in [Source::Mcps, Source::Tools, Source::Skills].into_iter().enumerate() {
        for n in 0..10 {
            registry.insert(candidate(at as u64 * 10 + n, source, |spec| {
                spec.name = Arc::from(format!("{source}{n}"));
                spec.capabilities = vec!["x".into()];
            }));
        }
    }
    registry
}

#[test]
fn by_capability_a_seed_fixes_the_shuffle() {
    let (registry, now) = (thirty(), Instant::now());
    let snapshot = registry.snapshot();
    let shuffled = |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        ids(&by_capability(&snapshot, "x", Wanted::default(), &mut rng, now).0)
    };
    assert_eq!(shuffled(1), shuffled(1));
    assert!((0..20).map(shuffled).collect::<BTreeSet<_>>().len() > 10, "seeds give different orders");
}

#[test]
fn by_capability_each_of_one_priority_gets_its_turn_to_be_first() {
    let (registry, now) = (thirty(), Instant::now());
    let snapshot = registry.snapshot();
    let mut rng = fastrand::Rng::with_seed(3);
    let first = |_| by_capability(&snapshot, "x", Wanted::default(), &mut rng, now).0[0].id;
    let firsts: BTreeSet<u64> = (0..500).map(first).collect();
    assert_eq!(firsts, (10..20).collect(), "the ten native tools, all of them and no others");
}

proptest! {
    #[test]
    fn by_capability_everybody_is_there_once_by_priority_with_the_resting_ones_last(
        seed in any::<u64>(),
        resting in proptest::collection::btree_set(0u64..30, 0..30),
        source in proptest::option::of(proptest::sample::select(Source::ALL.to_vec())),
    ) {
        let (registry, now) = (thirty(), Instant::now());
        let snapshot = registry.snapshot();
        for candidate in snapshot.with_tag("x").filter(|c| resting.contains(&c.id)) {
            exhaust(candidate, now);
        }
        let mut rng = fastrand::Rng::with_seed(seed);
        let (order, healthy) = by_capability(&snapshot, "x", Wanted { filter: Filter { source, server: None }, ..Wanted::default() }, &mut rng, now);
        let fits = |c: &&Arc<Candidate>| source.is_none_or(|source| c.source == source);
        let expected: BTreeSet<u64> = snapshot.with_tag("x").filter(fits).map(|c| c.id).collect();
        prop_assert_eq!(order.len(), expected.len());
        prop_assert_eq!(ids(&order).into_iter().collect::<BTreeSet<_>>(), expected);
        let (awake, asleep) = order.split_at(healthy);
        prop_assert!(awake.iter().all(|c| !resting.contains(&c.id)));
        prop_assert!(asleep.iter().all(|c| resting.contains(&c.id)));
        prop_assert!(awake.is_sorted_by_key(|c| c.priority) && asleep.is_sorted_by_key(|c| c.priority));
    }
}

#[test]
fn by_capability_an_unknown_tag_has_no_candidate() {
    let mut rng = fastrand::Rng::with_seed(1);
    let registry = thirty();
    let (order, healthy) =
        by_capability(&registry.snapshot(), "y", Wanted::default(), &mut rng, Instant::now());
    assert_eq!((order.len(), healthy), (0, 0));
}
