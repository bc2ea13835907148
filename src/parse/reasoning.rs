//! Reasoning: which parts of a text a model only thought.
//!
//! The opening tag of reasoning often stands in the prompt template, so a text may begin inside of it and show only the
//! closing tag. What looks like a call before that tag was only thought of, and must not be made. Until it is certain where
//! the text began, calls are held back (see `buffer`).
//!
//! A closing tag may also follow an earlier one: the first was quoted, or belonged to a tag inside. So everything before the last
//! closing tag that has no opening tag of its own was thought, and only the end of the text makes a call certain.
//!
//! **Tags.** A tag that looks like an element may be in another letter case, have white space before its bracket, and carry the
//! suffix that some checkpoints add to all of their tags: `</Think>`, `</think >`, `</think:6124c78e>`. So its marker ends before
//! the bracket, and [`rest_of_tag`] reads what follows.

use std::cmp::Reverse;
use std::sync::LazyLock;

/// Where a text begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningMode {
    /// Inside of reasoning if a closing tag comes without its opening tag. Calls are held back until that is certain.
    #[default]
    Auto,
    /// Inside of reasoning: everything up to the closing tag is text. Without that tag, all of it is. After it, as `Auto`.
    Open,
    /// Outside of reasoning: each call counts at once.
    Closed,
}

impl ReasoningMode {
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Self::Auto),
            "open" => Ok(Self::Open),
            "closed" => Ok(Self::Closed),
            _ => Err(format!("reasoning must be \"auto\", \"open\" or \"closed\", got \"{name}\".")),
        }
    }

    /// The mode for texts of one format. Where no model thinks, nothing has to be held back.
    pub(super) fn of_format(self, asked: Option<&str>) -> Self {
        match (self, asked) {
            (Self::Auto, Some(format)) if WITHOUT_REASONING.contains(&format) => Self::Closed,
            (mode, _) => mode,
        }
    }
}

/// Formats that only models without reasoning write.
const WITHOUT_REASONING: &[&str] = &["functiongemma", "mistral_json", "phi4", "react"];

/// The end of the first closing tag in a text that is not only mentioned.
pub(super) fn first_closing(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let end_of = |start: usize, mark: &str, tag: &ReasoningTag| {
        let after = start + mark.len();
        let end = after + if tag.is_element { rest_of_tag(&bytes[after..], true)?? } else { 0 };
        let before = start.checked_sub(1).map(|at| bytes[at]);
        (!is_mention(before, bytes.get(end).copied())).then_some(end)
    };
    let lone = TAGS.iter().filter(|tag| !tag.is_pair);
    let marks = lone.flat_map(|tag| tag.closes.iter().map(move |mark| (*mark, tag)));
    marks.filter_map(|(mark, tag)| text.match_indices(mark).find_map(|(at, _)| end_of(at, mark, tag))).min()
}

/// True if the bytes around a tag are a pair of quotes: it is only mentioned.
pub(super) fn is_mention(before: Option<u8>, after: Option<u8>) -> bool {
    match (before, after) {
        (Some(b'('), Some(b')')) => true,
        (Some(quote @ (b'`' | b'"' | b'\'')), Some(after)) => after == quote,
        _ => false,
    }
}

/// What opens and closes the reasoning of a family of models.
pub(super) struct ReasoningTag {
    pub opens: &'static [&'static str],
    pub closes: &'static [&'static str],
    /// The marks end before the bracket of the tag.
    pub is_element: bool,
    /// What opens it is also a common word: it opens reasoning only if the closing tag follows.
    pub is_soft: bool,
    /// What closes it is also common: without the opening tag it closes nothing.
    pub is_pair: bool,
}

/// A tag in one or more letter cases.
macro_rules! element {
    ($($name:literal)+) => {
        ReasoningTag {
            opens: &[$(concat!("<", $name)),+],
            closes: &[$(concat!("</", $name)),+],
            is_element: true,
            is_soft: false,
            is_pair: false,
        }
    };
}

macro_rules! tokens {
    ($open:literal, $close:literal) => {
        ReasoningTag { opens: &[$open], closes: &[$close], is_element: false, is_soft: false, is_pair: false }
    };
}

const fn soft(tag: ReasoningTag) -> ReasoningTag {
    ReasoningTag { is_soft: true, ..tag }
}

const fn pair(tag: ReasoningTag) -> ReasoningTag {
    ReasoningTag { is_pair: true, ..tag }
}

pub(super) static TAGS: &[ReasoningTag] = &[
    element!("think" "Think" "THINK"),
    element!("thinking" "Thinking" "THINKING"),
    element!("thought" "Thought" "THOUGHT"),
    element!("reasoning" "Reasoning" "REASONING"),
    // Hermes 3 and Reflection.
    soft(element!("scratchpad" "Scratchpad" "SCRATCHPAD")),
    soft(element!("inner_monologue" "Inner_Monologue" "INNER_MONOLOGUE")),
    soft(element!("reflection" "Reflection" "REFLECTION")),
    // Claude.
    soft(element!("antThinking")),
    soft(element!("ant_thinking")),
    element!("seed:think"),
    element!("mm:think"),
    element!("longcat_think"),
    element!("ifm|think"),
    element!("ifm|think_fast"),
    element!("ifm|think_faster"),
    tokens!("<|channel>thought", "<channel|>"),
    soft(tokens!("<|think|>", "<|/think|>")),
    tokens!("[THINK]", "[/THINK]"),
    tokens!("<|START_THINKING|>", "<|END_THINKING|>"),
    tokens!("<|begin_of_thought|>", "<|end_of_thought|>"),
    tokens!("<|inner_prefix|>", "<|inner_suffix|>"),
    tokens!("◁think▷", "◁/think▷"),
    tokens!("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    tokens!("<|think:start|>", "<|think:end|>"),
    tokens!("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    // Pangu.
    tokens!("[unused16]", "[unused17]"),
    // MedGemma.
    tokens!("<unused94>thought", "<unused95>"),
    // Apriel: the opening words stand in the prompt.
    soft(tokens!("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]")),
    // The answers of tools, which a model may repeat or invent: what stands between the marks are not its own words.
    pair(
        element!("tool_responses" "tool_response" "tool_results" "tool_result" "tool_outputs" "tool_output"),
    ),
    pair(element!("function_response" "function_results" "function_result" "TOOL_RESPONSE")),
    pair(element!("atem:function_results")),
    pair(element!("longcat_tool_response")),
    pair(tokens!("[TOOL_RESULTS]", "[/TOOL_RESULTS]")),
    pair(tokens!("<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>")),
    pair(tokens!("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>")),
    pair(tokens!("<|tool_response_start|>", "<|tool_response_end|>")),
    // With these the models end their turn.
    pair(tokens!("<|tool_response>", "<tool_response|>")),
    pair(tokens!("<start_function_response>", "<end_function_response>")),
    pair(tokens!("<|observation|>", "<|assistant|>")),
    // Granite.
    ReasoningTag {
        opens: &["Here is my thought process:", "Here's my thought process:"],
        closes: &["Here is my response:", "Here's my response:"],
        is_element: false,
        is_soft: true,
        is_pair: true,
    },
];

impl ReasoningTag {
    pub fn closed_by(mark: &str) -> Option<&'static Self> {
        TAGS.iter().find(|tag| tag.closes.contains(&mark))
    }

    /// Its name among the others.
    pub fn key(&self) -> &'static str {
        self.closes[0]
    }
}

/// The marks that close reasoning whose opening tag stands in the prompt; each before its own prefixes.
pub(super) static CLOSING: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let lone = TAGS.iter().filter(|tag| !tag.is_pair);
    let mut marks: Vec<&str> = lone.flat_map(|tag| tag.closes).copied().collect();
    marks.sort_by_key(|mark| Reverse(mark.len()));
    marks
});

/// Longer rests of a tag are text.
const LONGEST_REST: usize = 80;

/// The length of the rest of an element's tag after its name: a suffix or none, white space or none, the bracket. `Some(None)` if
/// it is another tag, `None` to wait.
pub(super) fn rest_of_tag(bytes: &[u8], ended: bool) -> Option<Option<usize>> {
    let seen = &bytes[..bytes.len().min(LONGEST_REST)];
    let suffix = match seen.first() {
        Some(b':') => 1 + seen[1..].iter().take_while(|byte| is_suffix(**byte)).count(),
        _ => 0,
    };
    let rest = &seen[suffix..];
    let space = rest.len() - rest.trim_ascii_start().len();
    match rest.get(space) {
        Some(b'>') if suffix != 1 => Some(Some(suffix + space + 1)),
        None if !ended && seen.len() == bytes.len() && seen.len() < LONGEST_REST => None,
        _ => Some(None),
    }
}

fn is_suffix(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !matches!(byte, b'<' | b'>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_in_quotes_is_a_mention() {
        assert_eq!(first_closing("a `</think>` b</think>"), Some(22));
        assert_eq!(first_closing("run `ls`</think>"), Some(16));
        assert_eq!(first_closing("a </thinking:x >b"), Some(16));
        assert_eq!(first_closing("a </thinker> b"), None);
        assert_eq!(first_closing("nothing"), None);
    }

    #[test]
    fn a_tag_may_have_a_suffix_and_white_space() {
        for (rest, length) in [(">", Some(1)), (" >", Some(2)), (":6124c78e>", Some(10)), (":a\n>b", Some(4))]
        {
            assert_eq!(rest_of_tag(rest.as_bytes(), true), Some(length), "{rest}");
        }
        for rest in ["", "ing>", ":>", ": >", "/>", " a>", ":a<", &":".repeat(100)] {
            assert_eq!(rest_of_tag(rest.as_bytes(), true), Some(None), "{rest}");
        }
        for rest in ["", " ", ":", ":61"] {
            assert_eq!(rest_of_tag(rest.as_bytes(), false), None, "{rest}");
        }
        assert_eq!(rest_of_tag(&[b':'; 100], false), Some(None));
    }

    #[test]
    fn no_mark_belongs_to_two_tags() {
        let mut marks: Vec<&str> =
            TAGS.iter().flat_map(|tag| tag.opens.iter().chain(tag.closes)).copied().collect();
        let count = marks.len();
        marks.sort_unstable();
        marks.dedup();
        assert_eq!(marks.len(), count);
    }
}
