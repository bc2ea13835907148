use super::*;
use proptest::prelude::*;
use serde_json::json;
use toolhub_registry::{Candidate, Filter};
use toolhub_types::error::Result;
use toolhub_types::model::Arguments;
use toolhub_types::model::{CheckOptions, Fitting, Source, ToolOutput, ToolSpec};
use toolhub_types::stats::CandidateStats;
use toolhub_types::tool::{BoxFuture, CallContext, Tool};

struct Described(ToolSpec);

impl Tool for Described {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn check(&self, _: &Arguments, _: &CheckOptions<'_>) -> Result<Fitting<Arguments>> {
        Ok(Fitting::unchanged())
    }
    fn call<'a>(&'a self, _: &'a Arguments, _: &'a CallContext) -> BoxFuture<'a, Result<ToolOutput>> {
        Box::pin(async { Ok(ToolOutput::new(1)) })
    }
}

fn register(registry: &Registry, name: &str, description: &str) {
    let mut spec = ToolSpec::named(name);
    spec.description = Arc::from(description);
    let tags = CapabilityRules::default().extract(name, description);
    spec.capabilities = tags.into_iter().map(Arc::from).collect();
    spec.parameters = Arc::new(json!({"properties": {"place": {"description": "City or town"}}}));
    registry.insert(Candidate {
        id: registry.next_id(),
        source: Source::Tools,
        server: None,
        priority: 0,
        tool: Arc::new(Described(spec)),
        gate: None,
        stats: Arc::new(CandidateStats::default()),
        variant: 1,
        definition: Default::default(),
    });
}

fn names(search: &Search, registry: &Registry, words: &str) -> Vec<String> {
    let hits = search.search(registry, &CapabilityRules::default(), words, 10);
    hits.into_iter().map(|hit| hit.name.to_string()).collect()
}

fn some_tools() -> Registry {
    let registry = Registry::default();
    register(&registry, "getWeatherForecast", "Weather of the next days.");
    register(&registry, "send_email", "Sends a message to an address.");
    register(&registry, "keyvault_secret_list", "Lists secrets of a vault.");
    register(&registry, "open_calendar", "Shows appointments.");
    registry
}

#[test]
fn words_are_found_in_any_form() {
    let (registry, search) = (some_tools(), Search::default());
    for (words, first) in [
        ("forecasting the weather", "getWeatherForecast"),
        ("sending messages", "send_email"),
        ("key vault", "keyvault_secret_list"),
        ("calender", "open_calendar"),
        ("wheather", "getWeatherForecast"),
        ("明天天气怎么样", "getWeatherForecast"),
    ] {
        assert_eq!(names(&search, &registry, words).first().map(String::as_str), Some(first), "{words}");
    }
    for words in ["", "🦀🦀", "…", "xyzzy"] {
        assert!(names(&search, &registry, words).is_empty(), "{words}");
    }
}

#[test]
fn the_index_follows_the_registry() {
    let (registry, search) = (some_tools(), Search::default());
    assert_eq!(names(&search, &registry, "telescope"), [""; 0]);
    register(&registry, "look_up_stars", "Points the telescope.");
    assert_eq!(names(&search, &registry, "telescope"), ["look_up_stars"]);
    register(&registry, "look_up_stars", "Opens the star map.");
    assert_eq!(names(&search, &registry, "telescope"), [""; 0]);
    assert_eq!(names(&search, &registry, "star"), ["look_up_stars"]);
    registry.remove("look_up_stars", Filter::default());
    assert_eq!(names(&search, &registry, "star"), [""; 0]);
    registry.clear();
    assert_eq!(names(&search, &registry, "weather"), [""; 0]);
}

#[test]
fn more_changes_than_are_recorded_are_still_found() {
    let (registry, search) = (Registry::default(), Search::default());
    assert!(names(&search, &registry, "tool").is_empty());
    for n in 0..3_000 {
        register(&registry, &format!("tool_{n}"), "Does something.");
    }
    assert_eq!(names(&search, &registry, "tool 2999"), names(&Search::default(), &registry, "tool 2999"));
    for n in 0..2_999 {
        registry.remove(&format!("tool_{n}"), Filter::default());
    }
    assert_eq!(names(&search, &registry, "tool"), ["tool_2999"]);
}

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "weather",
        "forecasts",
        "sendEmail",
        "read_file",
        "天气",
        "查询邮件",
        "key vault",
        "keyvault",
        "3",
        "🦀",
        "the",
    ])
    .prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 0..8).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_built_step_by_step_is_what_is_built_at_once(
        steps in prop::collection::vec((0..12usize, prop::option::of(text()), any::<bool>()), 1..40),
        query in text(),
    ) {
        let (registry, search) = (Registry::default(), Search::default());
        for (name, description, look) in steps {
            let name = format!("tool {name}");
            match description {
                Some(description) => register(&registry, &name, &description),
                None => { registry.remove(&name, Filter::default()); }
            }
            if look {
                names(&search, &registry, &query);
            }
        }
        let sorted = |search: &Search| {
            let mut hits = search.search(&registry, &CapabilityRules::default(), &query, 100);
            hits.sort_by(|a, b| a.name.cmp(&b.name));
            hits
        };
        let (followed, fresh) = (sorted(&search), sorted(&Search::default()));
        prop_assert_eq!(followed.len(), fresh.len());
        for (one, other) in followed.iter().zip(&fresh) {
            prop_assert_eq!(&one.name, &other.name);
            prop_assert!((one.score - other.score).abs() <= 1e-4 * other.score.abs());
        }
    }

    #[test]
    fn any_text_is_a_query_and_a_description(query in "\\PC{0,80}", description in "\\PC{0,80}") {
        let (registry, search) = (some_tools(), Search::default());
        register(&registry, &query, &description);
        for hit in search.search(&registry, &CapabilityRules::default(), &description, 3) {
            prop_assert!(hit.score.is_finite() && hit.score > 0.0);
        }
    }
}

#[test]
fn the_index_takes_less_than_twice_the_memory_of_the_texts() {
    let mut rng = fastrand::Rng::with_seed(7);
    // Some words are common and most are rare, as in all languages.
    let mut word = || {
        let rank = (3_000.0 * rng.f64().powi(3)) as u32;
        let letter = |n: u32| char::from(b'a' + (n % 26) as u8);
        format!("pla{}{}{}o", letter(rank), letter(rank / 26), letter(rank / 676))
    };
    let (registry, mut size) = (Registry::default(), 0);
    for number in 0..5_000 {
        let name = format!("{}_{}", word(), word());
        let description = (0..25).map(|_| word()).collect::<Vec<_>>().join(" ");
        size += name.len() + description.len() + "placeCity or town".len();
        register(&registry, &format!("{name}{}", number % 10), &description);
    }
    let mut index = index::Index::default();
    index.follow(&registry, None);
    let taken: usize = index.bytes().iter().sum();
    assert!(taken < 2 * size, "{taken} bytes for {size}: {:?}", index.bytes());
}
