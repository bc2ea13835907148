//! What was found in a whole text, as places in it.
//!
//! A text with ten thousand calls would need thirty thousand strings for their names, arguments and ids, and all of them are
//! dropped once Python has its own objects. So a call of the usual kind is three pairs of numbers until somebody asks for more,
//! and the text around the calls is a list of places.

use std::ops::Range;
use std::sync::Arc;

use super::call_arguments::CallArguments;
use super::certainty::{CallForms, Certainty};
use super::fast_call::CallPlaces;
use super::parsed::{ParsedCall, ParsedText};

/// A whole text that is read where its owner keeps it.
#[derive(Clone)]
pub struct WholeText {
    owner: Arc<dyn AsRef<str> + Send + Sync>,
    is_ascii: bool,
}

impl WholeText {
    pub fn new(owner: impl AsRef<str> + Send + Sync + 'static) -> Self {
        let is_ascii = owner.as_ref().is_ascii();
        Self { owner: Arc::new(owner), is_ascii }
    }

    /// For an owner that knows its text to be ASCII: then a position in bytes is one in characters.
    pub fn ascii(owner: impl AsRef<str> + Send + Sync + 'static) -> Self {
        Self { owner: Arc::new(owner), is_ascii: true }
    }

    pub(super) fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    pub(super) fn as_str(&self) -> &str {
        (*self.owner).as_ref()
    }
}

/// In a longer text, calls are not kept as places.
pub(super) const LONGEST_PLACED: usize = u32::MAX as usize;

/// A part of a text that is at most [`LONGEST_PLACED`] bytes long.
#[derive(Clone, Copy, Debug)]
struct TextPlace {
    from: u32,
    to: u32,
}

impl TextPlace {
    fn new(from: usize, to: usize) -> Self {
        Self { from: from as u32, to: to as u32 }
    }

    fn of(self, text: &str) -> &str {
        text.get(self.from as usize..self.to as usize).unwrap_or_default()
    }
}

/// A call without an id, a source, repairs or an error. Its id is `call_` and its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedCall {
    name: TextPlace,
    /// An object that [`CallArguments::from_plain`] takes.
    arguments: TextPlace,
    /// In characters.
    span: TextPlace,
}

impl PlacedCall {
    /// A call whose places count from `base`.
    pub fn new(places: CallPlaces, base: usize, span: (usize, usize)) -> Self {
        let moved = |range: Range<usize>| TextPlace::new(base + range.start, base + range.end);
        let CallPlaces { name, arguments } = places;
        Self { name: moved(name), arguments: moved(arguments), span: TextPlace::new(span.0, span.1) }
    }

    fn into_parsed(self, text: &str, index: usize) -> ParsedCall {
        ParsedCall {
            name: self.name.of(text).to_owned(),
            arguments: CallArguments::from_plain(self.arguments.of(text)),
            id: made_id(index),
            span: self.span(),
            ..ParsedCall::default()
        }
    }

    fn span(self) -> (usize, usize) {
        (self.span.from as usize, self.span.to as usize)
    }
}

/// A call in a list of calls.
#[derive(Debug)]
pub(super) enum FoundCall {
    Placed(PlacedCall),
    Made(Box<ParsedCall>),
}

impl FoundCall {
    /// The call at `index` of the list of a text.
    pub fn into_parsed(self, text: &str, index: usize) -> ParsedCall {
        match self {
            Self::Made(call) => *call,
            Self::Placed(placed) => placed.into_parsed(text, index),
        }
    }

    pub fn made(&self) -> Option<&ParsedCall> {
        match self {
            Self::Made(call) => Some(call),
            Self::Placed(_) => None,
        }
    }

    /// Changes the call at `index`.
    pub fn change(&mut self, text: &str, index: usize, change: impl FnOnce(&mut ParsedCall)) {
        let placed = match self {
            Self::Made(call) => return change(call),
            Self::Placed(placed) => *placed,
        };
        let mut call = Box::new(placed.into_parsed(text, index));
        change(&mut call);
        *self = Self::Made(call);
    }
}

/// The id that is made for a call without one: `call_1` and so on.
pub(super) fn made_id(index: usize) -> String {
    let mut id = String::with_capacity(16);
    write_id(index, &mut id);
    id
}

/// Writes the id that is made for the call at `index`. A text may have ten thousand of them, and formatting one takes longer
/// than all else that is done for it.
pub fn write_id(index: usize, id: &mut String) {
    id.clear();
    id.push_str("call_");
    id.push_str(itoa::Buffer::new().format(index + 1));
}

/// A part of what is not a call.
#[derive(Debug)]
pub(super) enum TextPiece {
    /// A part of the input.
    Input(Range<usize>),
    /// Text that does not stand in the input as it is.
    Said(String),
}

/// The calls of a whole text, and the text around them.
pub struct FoundText {
    pub(super) text: WholeText,
    pub(super) calls: Vec<FoundCall>,
    /// No two pieces of the input that could be one.
    pub(super) around: Vec<TextPiece>,
    pub(super) forms: CallForms,
    /// As in [`ParsedText::format`].
    pub format: Option<String>,
}

/// A call that is read where it stands.
pub enum CallView<'a> {
    /// A call without an id, a source, repairs or an error; its arguments are an object in strict JSON.
    Usual {
        name: &'a str,
        arguments: &'a str,
        span: (usize, usize),
        certainty: Certainty,
    },
    Other(ParsedCall),
}

impl FoundText {
    /// The pieces of the text around the calls.
    pub fn around(&self) -> impl Iterator<Item = &str> {
        let text = self.text.as_str();
        self.around.iter().map(move |piece| match piece {
            TextPiece::Input(range) => text.get(range.clone()).unwrap_or_default(),
            TextPiece::Said(said) => said,
        })
    }

    /// All of the text.
    pub fn whole(&self) -> WholeText {
        self.text.clone()
    }

    /// True if the text has no calls, and nothing of it was left out.
    pub fn is_all_text(&self) -> bool {
        let all = 0..self.text.as_str().len();
        self.calls.is_empty() && matches!(&self.around[..], [TextPiece::Input(range)] if *range == all)
    }

    /// True if the text around the calls is ASCII.
    pub fn is_ascii(&self) -> bool {
        let is_ascii = |piece: &TextPiece| match piece {
            TextPiece::Input(_) => true,
            TextPiece::Said(said) => said.is_ascii(),
        };
        self.text.is_ascii() && self.around.iter().all(is_ascii)
    }

    /// Takes the calls out, in the order of the text.
    pub fn take_calls(&mut self) -> impl ExactSizeIterator<Item = CallView<'_>> {
        let (text, forms) = (self.text.as_str(), &self.forms);
        self.calls.drain(..).enumerate().map(move |(index, call)| match call {
            FoundCall::Placed(placed) => CallView::Usual {
                name: placed.name.of(text),
                arguments: placed.arguments.of(text),
                span: placed.span(),
                certainty: forms.certainty(index),
            },
            FoundCall::Made(mut call) => {
                call.certainty = Some(forms.certainty(index));
                CallView::Other(*call)
            }
        })
    }

    /// The same with strings of its own.
    pub fn into_parsed(mut self) -> ParsedText {
        let around = self.around().collect();
        let text = self.text.as_str();
        let calls = self.calls.drain(..).enumerate();
        let calls = calls.map(|(index, call)| ParsedCall {
            certainty: Some(self.forms.certainty(index)),
            ..call.into_parsed(text, index)
        });
        let calls = calls.collect();
        ParsedText { calls, text: around, format: self.format }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ParseOptions, StreamParser, find, parse};
    use super::*;
    use proptest::prelude::*;

    /// Calls of the usual kind, some with ids that others would get, repairs, and text that is not ASCII.
    const PIECES: &[&str] = &[
        r#"<tool_call>{"name": "a", "arguments": {"x": "y", "n": 1}}</tool_call>"#,
        r#"<tool_call>{"name": "b", "arguments": {"x": "a\nb", "f": 1.5}}</tool_call>"#,
        r#"<tool_call>{"name": "c", "arguments": {}, "id": "call_1"}</tool_call>"#,
        r#"<tool_call>{"arguments": {}, "name": "d", "id": "call_3"}</tool_call>"#,
        r#"<tool_call>{"name": "é", "arguments": {"ü": "北京"}}</tool_call>"#,
        r#"<tool_call>{'name': 'e', 'args': {'x': 1,}}</tool_call>"#,
        r#"<tool_call>{"name": "f", "arguments": {"x": 1}}"#,
        "</think>",
        "<think>",
        "Text. ",
        "Größe: ",
        "\n",
    ];

    proptest! {
        #[test]
        fn calls_that_stay_in_the_text_are_those_of_a_stream(picks in prop::collection::vec(0..PIECES.len(), 0..9)) {
            let text: String = picks.iter().map(|pick| PIECES[*pick]).collect();
            let mut stream = StreamParser::new(&ParseOptions::default());
            let events = stream.feed(&text).into_iter().chain(stream.finish());
            let around: String = events.filter_map(|event| match event {
                super::super::Event::Text { text } => Some(text),
                _ => None,
            }).collect();
            let parsed = parse(&text, &ParseOptions::default());
            prop_assert_eq!(&parsed.calls, &stream.calls());
            prop_assert_eq!(parsed.text, around);
        }
    }

    #[test]
    fn the_usual_call_stays_in_the_text() {
        let usual = [PIECES[0], PIECES[1], PIECES[4]].concat();
        let mut found = find(WholeText::new(usual.clone()), &ParseOptions::default());
        let names: Vec<_> = found
            .take_calls()
            .map(|call| match call {
                CallView::Usual { name, arguments, span: (from, to), .. } => {
                    (name, arguments.len(), to - from)
                }
                CallView::Other(call) => panic!("{call:?}"),
            })
            .collect();
        // The tags and keys around the arguments take 51 characters.
        assert_eq!(names, [("a", 18, 51 + 18), ("b", 23, 51 + 23), ("é", 16, 51 + 11)]);
        assert!(!found.is_all_text());
    }

    #[test]
    fn a_text_without_calls_is_all_text() {
        let found = |text: &str| find(WholeText::new(text.to_owned()), &ParseOptions::default());
        assert!(found("Nothing < to [see] here, Größe.").is_all_text());
        assert!(!found(PIECES[0]).is_all_text());
        let message = found(
            r#"{"role": "assistant", "content": "Hello", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}]}"#,
        );
        assert_eq!((message.is_all_text(), message.around().collect::<String>()), (false, "Hello".into()));
    }
}
