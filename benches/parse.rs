//! Calls in texts of 1 KB to 1 MB: whole, and in deltas of 8 characters. Streaming must stay linear and close to the cost
//! of the whole text.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use toolhub::parse::{ParseOptions, StreamParser, parse};

const PROSE: &str =
    "The quick brown fox jumps over the lazy dog; it rained all day (a < b, c[0], d), and nobody knew why. ";

/// A long text with one call at its end.
fn one_call(bytes: usize) -> String {
    let call = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";
    format!("{}{call}", PROSE.repeat(bytes / PROSE.len() + 1))
}

/// One call with a long argument.
fn long_argument(bytes: usize) -> String {
    let content = "def f(x):\\n    return \\\"yes\\\" if x else {}\\n".repeat(bytes / 48 + 1);
    format!(
        "<tool_call>\n{{\"name\": \"write\", \"arguments\": {{\"content\": \"{content}\"}}}}\n</tool_call>"
    )
}

fn many_calls(bytes: usize) -> String {
    let call = "Then: <tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\", \"days\": 3}}\n</tool_call>\n";
    call.repeat(bytes / call.len() + 1)
}

fn stream(text: &str, options: &ParseOptions) -> usize {
    let mut stream = StreamParser::new(options);
    let mut events = 0;
    for piece in text.as_bytes().chunks(8) {
        events += stream.feed_bytes(piece).len();
    }
    events + stream.finish().len()
}

fn benches(c: &mut Criterion) {
    let options = ParseOptions::default();
    type Text = (&'static str, fn(usize) -> String);
    let kinds: [Text; 3] =
        [("one call", one_call), ("long argument", long_argument), ("many calls", many_calls)];
    for (kind, text) in kinds {
        let mut group = c.benchmark_group(kind);
        for (size, bytes) in [("1KB", 1_000), ("100KB", 100_000), ("1MB", 1_000_000)] {
            let text = text(bytes);
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_with_input(BenchmarkId::new("whole", size), &text, |b, text| {
                b.iter(|| parse(black_box(text), &options));
            });
            group.bench_with_input(BenchmarkId::new("stream", size), &text, |b, text| {
                b.iter(|| stream(black_box(text), &options));
            });
        }
        group.finish();
    }
}

criterion_group!(all, benches);
criterion_main!(all);
