//! Truncation to 4,000 characters: the cost must not depend on the length of the text.
//!
//! `whole` is the Rust call with the whole text, whose characters it has to count; `window` is the call of a binding
//! that knows the length and passes only the start.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use toolhub::truncate::tokens::Estimate;
use toolhub::truncate::{Options, Unit, truncate, truncate_window, window_chars};

const LIMIT: usize = 4000;

/// A text of about `bytes` bytes.
fn repeated(piece: &str, bytes: usize) -> String {
    piece.repeat(bytes / piece.len() + 1)
}

fn texts() -> Vec<(&'static str, String)> {
    let english = "The quick brown fox jumps over the lazy dog near the U.S. border, e.g. at 3.14 km. It rained all day, \
                   and nobody (not even Dr. Smith) knew why. \"Why not?\" he asked. ";
    let chinese = "今天的天气很好，我们去公园散步。路上遇到了很多人，他们都在谈论最近的新闻；有人说：“真是太好了！”然后大家都笑了。";
    let markdown = "## Title\n\nSome **bold** text with a [link](https://example.com/page) in it.\n\n```rust\nlet x = 1;\n```\n\n\
                    | a | b |\n|---|---|\n| 1 | 2 |\n\n";
    let hit = r#"{"title": "A page about foxes", "url": "https://example.com/foxes", "score": 0.87, "snippet": "The quick brown fox jumps over the lazy dog. It rained all day."}"#;
    let json = |bytes: usize| format!("[{}]", vec![hit; bytes / hit.len() + 1].join(", "));
    vec![
        ("english/100KB", repeated(english, 100_000)),
        ("english/10MB", repeated(english, 10_000_000)),
        ("chinese/100KB", repeated(chinese, 100_000)),
        ("chinese/10MB", repeated(chinese, 10_000_000)),
        ("no-space/10MB", repeated("x", 10_000_000)),
        ("markdown/100KB", repeated(markdown, 100_000)),
        ("json/100KB", json(100_000)),
        ("json/10MB", json(10_000_000)),
        ("deep-json/10MB", format!("{}{}", "[".repeat(5_000_000), "]".repeat(5_000_000))),
    ]
}

fn benches(c: &mut Criterion) {
    let options = Options::default();
    let texts = texts();
    let mut group = c.benchmark_group("truncate/window");
    for (name, text) in &texts {
        let total = text.chars().count();
        let window: String = text.chars().take(window_chars(LIMIT, text, &options)).collect();
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| truncate_window(black_box(&window), total, LIMIT, &options));
        });
    }
    group.finish();
    let mut group = c.benchmark_group("truncate/whole");
    for (name, text) in texts.iter().filter(|(name, _)| name.starts_with("english")) {
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| truncate(black_box(text), LIMIT, &options));
        });
    }
    group.finish();
    let tokens = Options { unit: Unit::Tokens(&Estimate), ..options };
    c.bench_function("truncate/tokens-estimated/english/100KB", |b| {
        b.iter(|| truncate(black_box(&texts[0].1), 1000, &tokens));
    });
}

criterion_group!(all, benches);
criterion_main!(all);
