//! What the extraction promises: the contract's examples, the traps, and the user's extensions.

use std::collections::HashSet;

use proptest::prelude::*;

use super::matcher::Matcher;
use super::table::{BUILTIN, Table};
use super::*;
use toolhub_text::push_stem;

fn tags(name: &str, description: &str) -> Vec<String> {
    CapabilityRules::default().extract(name, description)
}

fn stem(word: &str) -> String {
    let mut out = String::new();
    push_stem(&mut out, word);
    out
}

#[test]
fn a_search_for_anything_is_also_web_and_research() {
    for (name, description) in [
        ("搜索", "搜索"),
        ("search", ""),
        ("search", "Search"),
        ("SearchTool", "A tool for searching"),
        ("my_tool", "一个搜索工具"),
        ("tool", "根据关键词搜索相关信息"),
        ("web_search", "搜索互联网"),
    ] {
        assert_eq!(tags(name, description), ["search", "web", "research"], "{name}: {description}");
    }
}

#[test]
fn a_search_for_something_is_about_that() {
    for (name, description, wanted) in [
        ("search_files", "搜索文件", &["search", "file"][..]),
        ("search_mail", "搜索邮件", &["search", "email"]),
        ("find", "Search source code by regular expression", &["search", "code"]),
        ("search", "Search academic papers", &["search", "research"]),
        ("image_search", "", &["search", "image"]),
        // Something that no tag stands for.
        ("search", "Search for laws by keyword", &["search"]),
        ("法律搜索", "搜索", &["search"]),
    ] {
        assert_eq!(tags(name, description), wanted, "{name}: {description}");
    }
}

#[test]
fn finding_a_thing_is_not_web_research() {
    for (name, description) in [
        ("find_user", ""),
        ("find_user", "Find a user by id"),
        ("find_user", "查找用户"),
        ("search_users", "Search users"),
        ("find_item", "Find an item"),
    ] {
        assert_eq!(tags(name, description), ["search"], "{name}: {description}");
    }
    for description in ["Search for the user", "根据用户输入搜索"] {
        assert_eq!(tags("search", description), ["search", "web", "research"], "{description}");
    }
}

#[test]
fn registered_tools_get_finer_tags_beside_the_others() {
    let rules = CapabilityRules::default();
    for (name, description, fine) in [
        ("merge_pdfs", "Merges several PDF files", &["pdf"][..]),
        ("发票", "读取pdf文件", &["pdf"]),
        ("analyze_sales", "", &["analyze"]),
        ("总结", "总结一篇文章", &["analyze"]),
        ("run_unit_tests", "Runs the unit tests", &["test"]),
        ("接口测试", "", &["test"]),
        ("check_webapp", "Tests a web application", &["test", "webapp"]),
        ("getChatHistory", "", &["history"]),
        ("历史", "读取对话记录", &["history"]),
        ("stock", "获取历史行情数据", &[]),
        ("get_time", "The latest time", &[]),
    ] {
        let all = rules.of_tool(name, description);
        let broad = tags(name, description);
        let beside: Vec<&String> = all.iter().filter(|tag| !broad.contains(tag)).collect();
        assert_eq!(beside, fine, "{name}: {description}");
        assert!(broad.iter().all(|tag| all.contains(tag)), "{name}");
    }
}

#[test]
fn a_finer_tag_can_be_extended_and_removed() {
    let mut rules = CapabilityRules::default();
    rules.add("pdf", &["portable document"]);
    assert!(rules.extract("reader", "Reads a portable document").contains(&"pdf".to_owned()));
    assert!(rules.remove("pdf"));
    assert!(!rules.of_tool("read_pdf", "").contains(&"pdf".to_owned()));
}

#[test]
fn the_other_examples_of_the_contract() {
    assert_eq!(tags("计算", "计算"), ["calculate"]);
    assert_eq!(tags("算", ""), ["calculate"]);
    assert_eq!(tags("calculate", "Calculates the given expression"), ["calculate"]);
    assert_eq!(tags("时间", "时间"), ["time"]);
    assert_eq!(tags("t", "时间"), ["time"]);
    assert_eq!(tags("get_current_time", ""), ["time"]);
}

#[test]
fn words_inside_of_other_words_do_not_count() {
    for (name, description, never) in [
        ("get_hot_search", "获取热搜榜", "search"),
        ("get_memory_info", "获取服务器内存信息", "memory"),
        ("get_memory", "获取内存使用率", "memory"),
        ("current_user", "Get the current user", "finance"),
        ("update_user", "Updates a user", "time"),
        ("research_topic", "Research a topic", "search"),
        ("list_docker_images", "List docker images", "image"),
        ("stream", "Real-time events", "time"),
        ("cloud", "云计算资源列表", "calculate"),
        ("查预算", "查询部门预算", "calculate"),
        ("排序算法", "", "calculate"),
        ("country_code", "Get the country code", "code"),
    ] {
        let given = tags(name, description);
        assert!(!given.iter().any(|tag| tag == never), "{name}: {given:?} has {never}");
    }
}

#[test]
fn names_are_split_and_words_are_stemmed() {
    for name in [
        "get_weather",
        "get-weather",
        "getWeather",
        "GetWeather",
        "weather.get",
        "GET WEATHER",
        "ｗｅａｔｈｅｒ",
    ] {
        assert_eq!(tags(name, ""), ["weather"], "{name}");
    }
    for name in ["listGitHubIssues", "list_github_issues", "GITHUB"] {
        assert!(tags(name, "").contains(&"git".to_owned()), "{name}");
    }
    assert_eq!(tags("x", "Merge PDFs"), ["document"]);
    assert_eq!(tags("x", "Compile C++"), ["code"]);
    assert_eq!(tags("x", "Drive C: is full"), tags("x", "Drive: is full"));
}

#[test]
fn forms_of_a_word_share_a_stem_and_other_words_do_not() {
    for (one, other) in
        [("query", "queries"), ("searching", "search"), ("movies", "movie"), ("planned", "plan")]
    {
        assert_eq!(stem(one), stem(other));
    }
    for (one, other) in
        [("news", "new"), ("marketing", "market"), ("running", "run"), ("securities", "security")]
    {
        assert_ne!(stem(one), stem(other));
    }
}

#[test]
fn the_first_clause_names_the_subject() {
    assert_eq!(tags("get", "获取新闻，包含财经、健康、游戏、电影等资讯"), ["news"]);
    assert_eq!(tags("get", "Get news including finance, health, games and movies"), ["news"]);
    // Unless it only tells the circumstances.
    assert_eq!(tags("get", "根据给定的城市，查询天气"), ["weather"]);
    assert_eq!(tags("get", "Given a city, return the weather"), ["weather"]);
}

#[test]
fn parameters_and_addresses_are_not_read() {
    assert_eq!(
        tags("convert", "Converts it.\n\nArgs:\n    pdf: a spreadsheet with the weather"),
        ["convert"]
    );
    assert_eq!(tags("get_poem", "Get a poem\n:param weather: the weather"), Vec::<String>::new());
    assert_eq!(tags("get_poem", "获取诗歌 参数: 天气"), Vec::<String>::new());
    assert_eq!(tags("get_poem", "Get a poem, see https://weather.example/github"), Vec::<String>::new());
}

#[test]
fn the_name_weighs_more_and_hints_add_up() {
    // One ambiguous word says nothing beside a clear subject, …
    assert_eq!(tags("get_weather_record", ""), ["weather"]);
    // … but decides when there is none, …
    assert_eq!(tags("get_record", ""), ["database"]);
    // … and what a phrase hides is hidden for its own tag only.
    assert_eq!(tags("x", "Search the drug database"), ["search", "health"]);
}

#[test]
fn only_the_beginning_of_a_long_description_is_read() {
    let long = format!("Reads a poem. {} weather", "la ".repeat(400_000));
    assert_eq!(tags("poem", &long), Vec::<String>::new());
    let blank = format!("{}天气", " ".repeat(1_000_000));
    assert_eq!(tags("x", &blank), ["weather"]);
}

#[test]
fn users_extend_the_table() {
    let mut rules = CapabilityRules::default();
    let before = rules.clone();
    rules.add(" Legal ", &["court ruling", "判例", "LawSuit", "!!", ""]);
    rules.add("weather", &["paraglider"]);
    rules.add("  ", &["nothing"]);
    assert_eq!(rules.extract("list_court_rulings", ""), ["legal"]);
    assert_eq!(rules.extract("x", "查询判例"), ["legal"]);
    for name in ["lawsuit", "law_suits", "getLawSuit"] {
        assert_eq!(rules.extract(name, ""), ["legal"], "{name}");
    }
    assert_eq!(rules.extract("paragliders", ""), ["weather"]);
    assert_eq!(before.extract("list_court_rulings", "查询判例"), Vec::<String>::new());
    let (tag, words) = rules.tags().pop().unwrap();
    assert_eq!(
        (tag.as_str(), words),
        ("legal", ["court ruling", "判例", "LawSuit"].map(str::to_owned).to_vec())
    );
    assert_eq!(rules.tags().len(), before.tags().len() + 1);
}

#[test]
fn a_user_word_counts_in_any_place() {
    let mut rules = CapabilityRules::default();
    // Inside of a longer phrase of the builtin table.
    rules.add("trend", &["热搜"]);
    assert_eq!(rules.extract("x", "获取微博热搜榜单"), ["news", "trend"]);
    // In a later sentence.
    rules.add("poem", &["sonnet"]);
    assert_eq!(rules.extract("x", "Returns the weather. Knows each sonnet by heart."), ["weather", "poem"]);
}

#[test]
fn tags_can_be_removed() {
    let mut rules = CapabilityRules::default();
    assert!(rules.remove("Web"));
    assert!(!rules.remove("web"));
    assert_eq!(rules.extract("search", ""), ["search", "research"]);
    assert!(rules.remove("search"));
    assert_eq!(rules.extract("search", ""), Vec::<String>::new());
}

#[test]
fn an_empty_table_gives_what_is_added() {
    let mut rules = CapabilityRules::of(Table::default());
    assert!(rules.tags().is_empty());
    assert!(rules.extract("search", "搜索").is_empty());
    rules.add("search", &["搜索"]);
    assert_eq!(rules.extract("search", "搜索"), ["search"]);
}

#[test]
fn the_builtin_table_follows_its_notation() {
    for line in BUILTIN.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty()) {
        assert!(line.starts_with(['#', '[', '+', '=', '-', '!', '~']), "{line}");
        assert!(!line.starts_with(['+', '=', '-', '!', '~']) || line == line.to_lowercase(), "{line}");
    }
    let table = Table::parse(BUILTIN);
    let names: HashSet<&str> = table.tags.iter().map(|rules| rules.tag.as_str()).collect();
    assert_eq!((names.len(), table.tags.len()), (45, 45));
    for rules in &table.tags {
        assert!(rules.alone.iter().all(|tag| names.contains(tag.as_str())));
        let words: HashSet<&str> = rules.words.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(words.len(), rules.words.len(), "a word stands twice under {}", rules.tag);
        let stopped = rules.stops.iter().find(|stop| words.contains(stop.as_str()));
        assert_eq!(stopped, None, "a word and a stop at once under {}", rules.tag);
    }
}

/// Texts that are likely to hit something: words of the table between arbitrary characters.
fn texts() -> impl Strategy<Value = String> {
    let words: Vec<String> =
        CapabilityRules::default().tags().into_iter().flat_map(|(_, words)| words).collect();
    let piece = prop_oneof![
        prop::sample::select(words),
        "\\PC{0,6}",
        "[A-Z]?[a-z]{1,9}",
        "[_.,:;(（，。\n @/'-]{1,2}"
    ];
    prop_oneof![any::<String>(), prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())]
}

#[test]
fn a_possessive_without_a_word_is_a_word() {
    let mut rules = CapabilityRules::of(Table::default());
    rules.add("added", &["'s"]);
    assert_eq!(rules.extract("'s", ""), ["added"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_texts_give_known_tags_in_the_order_of_the_table(name in texts(), description in texts()) {
        let rules = CapabilityRules::default();
        let given = rules.extract(&name, &description);
        let order: Vec<String> = rules.tags().into_iter().map(|(tag, _)| tag).collect();
        let positions: Vec<_> = given.iter().map(|tag| order.iter().position(|known| known == tag)).collect();
        prop_assert!(positions.iter().all(Option::is_some));
        prop_assert!(positions.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_table_compiled_twice_gives_the_same(name in texts(), description in texts()) {
        thread_local! {
            static OTHER: Matcher = Matcher::new(&Arc::new(Table::parse(BUILTIN)));
        }
        let rules = CapabilityRules::default();
        let other = OTHER.with(|matcher| matcher.tags(&name, &description));
        let known = rules.tags();
        let again: Vec<&String> = known.iter().zip(other).filter(|(_, given)| *given).map(|((tag, _), _)| tag).collect();
        let first = rules.of_tool(&name, &description);
        prop_assert_eq!(first.iter().collect::<Vec<_>>(), again);
    }

    #[test]
    fn arbitrary_additions_are_found(word in "\\PC{1,12}", description in texts()) {
        let mut rules = CapabilityRules::of(Table::default());
        rules.add("added", &[&word]);
        let is_word = word.contains(char::is_alphanumeric);
        prop_assert_eq!(rules.extract(&word, ""), if is_word { vec!["added"] } else { vec![] });
        rules.extract(&word, &description);
    }
}
