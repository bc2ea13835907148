//! The values of a JSON text, or of its start, as one flat list in the order of the text.
//!
//! The reader keeps its own stack, so depth costs memory and not the thread's stack. A text that is cut off is
//! fine: what was not closed is marked `open`.

use super::super::notice::{is_mark, more};
use toolhub_types::model::Lang;

/// One value, or the key of a member. The key of a member comes right before its value.
pub(super) struct JsonNode {
    pub(super) shape: NodeShape,
    /// It continues beyond the known text.
    pub(super) open: bool,
    /// Has no white space and nothing is left out: it can be copied.
    pub(super) tight: bool,
    start: usize,
    end: usize,
    /// The number of characters without white space.
    pub(super) size: usize,
    /// The index after this value and its content.
    pub(super) next: usize,
    /// The number of elements or members, and the number that may be written.
    pub(super) children: usize,
    pub(super) keep: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeShape {
    Object,
    Array,
    Text,
    Atom,
}

pub(super) struct JsonTape<'a> {
    text: &'a str,
    nodes: Vec<JsonNode>,
}

/// Numbers and words up to this length are written in full or left out; a longer number is shortened like a string.
pub(super) const ATOM: usize = 24;

impl<'a> JsonTape<'a> {
    /// Reads a text, or its start if it is not `whole`; `None` if it is not JSON.
    pub(super) fn read(text: &'a str, whole: bool, hits: Option<usize>, lang: Lang) -> Option<Self> {
        let mut reader = TapeReader {
            text,
            at: 0,
            nodes: Vec::with_capacity(text.len() / 16),
            stack: Vec::new(),
            arrays: 0,
            loose: 0,
            hits,
            lang,
        };
        reader.read(whole)?;
        Some(JsonTape { text, nodes: reader.nodes })
    }

    pub(super) fn node(&self, index: usize) -> &JsonNode {
        &self.nodes[index]
    }

    pub(super) fn raw(&self, index: usize) -> &'a str {
        let node = &self.nodes[index];
        &self.text[node.start..node.end]
    }

    /// True if hits were left out.
    pub(super) fn capped(&self) -> bool {
        self.nodes.iter().any(|node| node.keep < node.children)
    }
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

/// A container that is not closed yet.
struct Level {
    node: usize,
    /// Its last element or member so far.
    last: usize,
    /// The value of `loose` at its start.
    loose: usize,
}

struct TapeReader<'a> {
    text: &'a str,
    at: usize,
    nodes: Vec<JsonNode>,
    stack: Vec<Level>,
    /// The number of arrays on the stack.
    arrays: usize,
    /// White space outside strings, omitted hits and words that JSON lacks so far: what a copy may not have.
    loose: usize,
    hits: Option<usize>,
    lang: Lang,
}

impl TapeReader<'_> {
    fn read(&mut self, whole: bool) -> Option<()> {
        let mut expect = Expect::Value;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
            self.at += blank;
            self.loose += blank;
            let Some(&byte) = rest.get(blank) else { break };
            expect = match (expect, byte) {
                (Expect::Value | Expect::ValueOrEnd, b'{' | b'[') => self.open(byte),
                (Expect::ValueOrEnd, b']') | (Expect::KeyOrEnd, b'}') => self.close(false),
                (Expect::CommaOrEnd, b']' | b'}') if self.in_object() == (byte == b'}') => self.close(false),
                (Expect::CommaOrEnd, b',') => {
                    self.step(if self.in_object() { Expect::Key } else { Expect::Value })
                }
                (Expect::Colon, b':') => self.step(Expect::Value),
                (Expect::Key | Expect::KeyOrEnd, b'"') => match string(self.text, self.at)? {
                    Scalar { open: true, .. } => break,
                    key => self.key(&key),
                },
                // A number or a word alone cannot be shortened from the inside.
                (Expect::Value | Expect::ValueOrEnd, _) if byte == b'"' || !self.stack.is_empty() => {
                    match self.scalar(byte, whole)? {
                        Some(next) => next,
                        None => break,
                    }
                }
                _ => return None,
            };
        }
        if whole {
            return (expect == Expect::Nothing).then_some(());
        }
        // A key without its value is dropped.
        if expect == Expect::Colon || expect == Expect::Value && self.in_object() {
            self.nodes.pop();
        }
        while !self.stack.is_empty() {
            self.close(true);
        }
        (!self.nodes.is_empty()).then_some(())
    }

    fn step(&mut self, next: Expect) -> Expect {
        self.at += 1;
        next
    }

    fn in_object(&self) -> bool {
        self.stack.last().is_some_and(|level| self.nodes[level.node].shape == NodeShape::Object)
    }

    fn open(&mut self, byte: u8) -> Expect {
        let (shape, next) = if byte == b'{' {
            (NodeShape::Object, Expect::KeyOrEnd)
        } else {
            (NodeShape::Array, Expect::ValueOrEnd)
        };
        self.arrays += usize::from(shape == NodeShape::Array);
        self.stack.push(Level { node: self.nodes.len(), last: 0, loose: self.loose });
        self.push(shape, Scalar { end: self.at + 1, open: false }, 2);
        self.step(next)
    }

    /// Ends the innermost container, at a bracket or at the end of the text.
    fn close(&mut self, open: bool) -> Expect {
        let Some(Level { node, last, loose }) = self.stack.pop() else {
            return Expect::Nothing;
        };
        self.at += usize::from(!open);
        self.arrays -= usize::from(self.nodes[node].shape == NodeShape::Array);
        let keep = self.kept_hits(node, last);
        if keep < self.nodes[node].children {
            self.cap(node, keep);
        }
        let next = self.nodes.len();
        let container = &mut self.nodes[node];
        container.open = open;
        container.tight = !open && self.loose == loose;
        container.end = self.at;
        container.next = next;
        self.add_to_parent(node)
    }

    /// The number of elements of a container that are kept. A list of hits is the outermost array: the text itself,
    /// or an array of objects inside objects.
    fn kept_hits(&self, node: usize, last: usize) -> usize {
        let children = self.nodes[node].children;
        let Some(hits) = self.hits else { return children };
        let is_list = self.nodes[node].shape == NodeShape::Array
            && self.arrays == 0
            && (self.stack.is_empty()
                || self.nodes.get(node + 1).is_some_and(|first| first.shape == NodeShape::Object));
        if !is_list || children <= hits {
            return children;
        }
        let JsonNode { shape, start, end, .. } = self.nodes[last];
        let content = &self.text[start..end];
        let marked = shape == NodeShape::Text && is_mark(content.trim_matches('"'));
        if marked && children - 1 <= hits { children } else { hits }
    }

    /// Drops all but the first elements, and adjusts the size.
    fn cap(&mut self, node: usize, keep: usize) {
        let mark = more(self.lang, self.nodes[node].children - keep).chars().count() + 2;
        let mut size = 2 + mark + keep;
        let mut child = node + 1;
        for _ in 0..keep {
            size += self.nodes[child].size;
            child = self.nodes[child].next;
        }
        self.nodes[node].size = size;
        self.nodes[node].keep = keep;
        self.loose += 1;
    }

    fn key(&mut self, key: &Scalar) -> Expect {
        let size = self.text[self.at..key.end].chars().count();
        self.push(NodeShape::Text, Scalar { end: key.end, open: false }, size);
        self.at = key.end;
        Expect::Colon
    }

    /// Reads a string, number or word; `Some(None)` if the text ends in one that is not worth keeping.
    fn scalar(&mut self, byte: u8, whole: bool) -> Option<Option<Expect>> {
        let (shape, scalar) = match byte {
            b'"' => (NodeShape::Text, string(self.text, self.at)?),
            _ => (NodeShape::Atom, atom(self.text, self.at, whole)?),
        };
        if scalar.open && whole {
            return None;
        }
        if scalar.open && shape == NodeShape::Atom && scalar.end - self.at <= ATOM {
            // An incomplete number would be a wrong number.
            return Some(None);
        }
        let quote = usize::from(scalar.open && shape == NodeShape::Text);
        let is_odd = shape == NodeShape::Atom && ODD.contains(&&self.text[self.at..scalar.end]);
        self.loose += usize::from(is_odd);
        let size = match is_odd {
            true => "null".len(),
            false => self.text[self.at..scalar.end].chars().count() + quote,
        };
        // After a scalar at the end of the text, only an incomplete escape can follow.
        let after = if scalar.open { self.text.len() } else { scalar.end };
        self.push(shape, scalar, size);
        self.at = after;
        Some(Some(self.add_to_parent(self.nodes.len() - 1)))
    }

    fn push(&mut self, shape: NodeShape, scalar: Scalar, size: usize) {
        let next = self.nodes.len() + 1;
        self.nodes.push(JsonNode {
            shape,
            open: scalar.open,
            tight: !scalar.open,
            start: self.at,
            end: scalar.end,
            size,
            next,
            children: 0,
            keep: 0,
        });
    }

    /// Adds a complete value, and the key before it, to its container.
    fn add_to_parent(&mut self, value: usize) -> Expect {
        let Some(level) = self.stack.last_mut() else {
            return Expect::Nothing;
        };
        level.last = value;
        let mut size = self.nodes[value].size;
        if self.nodes[level.node].shape == NodeShape::Object {
            size += self.nodes[value - 1].size + 1;
        }
        let parent = &mut self.nodes[level.node];
        parent.size += size + usize::from(parent.children > 0);
        parent.children += 1;
        parent.keep = parent.children;
        Expect::CommaOrEnd
    }
}

/// The end of a string, number or word, and whether the text ended before it did.
struct Scalar {
    end: usize,
    open: bool,
}

/// The string whose opening quote is at `start`; `None` if it is invalid.
fn string(text: &str, start: usize) -> Option<Scalar> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    loop {
        let special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
        let Some(offset) = bytes[at..].iter().position(special) else {
            return Some(Scalar { end: bytes.len(), open: true });
        };
        at += offset;
        match bytes[at] {
            b'"' => return Some(Scalar { end: at + 1, open: false }),
            b'\\' => match escape_len(&bytes[at..])? {
                0 => return Some(Scalar { end: at, open: true }),
                len => at += len,
            },
            _ => return None,
        }
    }
}

/// The length of the escape at the start; 0 if the text ends inside it, `None` if it is invalid.
fn escape_len(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1) {
        None => Some(0),
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Some(2),
        Some(b'u') => {
            let hex = &bytes[2..bytes.len().min(6)];
            hex.iter().all(u8::is_ascii_hexdigit).then_some(if hex.len() == 4 { 6 } else { 0 })
        }
        Some(_) => None,
    }
}

/// Python's words for floats that JSON lacks.
pub(super) const ODD: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// The number or word at `start`; `None` if it is neither.
fn atom(text: &str, start: usize, whole: bool) -> Option<Scalar> {
    const WORDS: [&str; 3] = ["true", "false", "null"];
    let rest = &text[start..];
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let len = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
    let (word, end) = (&rest[..len], start + len);
    if len == rest.len() && !whole && len > 0 {
        let begun = is_number_start(word) || WORDS.iter().chain(&ODD).any(|known| known.starts_with(word));
        return begun.then_some(Scalar { end, open: true });
    }
    (is_number(word) || WORDS.contains(&word) || ODD.contains(&word)).then_some(Scalar { end, open: false })
}

fn is_number(word: &str) -> bool {
    serde_json::from_str::<serde_json::Number>(word).is_ok()
}

/// True if a number may start like this.
fn is_number_start(word: &str) -> bool {
    is_number(word) || is_number(&format!("{word}0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, whole: bool) -> Option<JsonTape<'_>> {
        JsonTape::read(text, whole, None, Lang::En)
    }

    #[test]
    fn reads_what_is_json_and_nothing_else() {
        for text in [
            "{}",
            " [ ] ",
            r#"{"a":[1,-0.5e+3,true,null,"x\"\u00e9"]}"#,
            "[[],{}]",
            "[NaN]",
            "\"x\"",
            "[\"\u{2028}\"]",
        ] {
            assert!(read(text, true).is_some(), "{text}");
        }
        for text in [
            "[",
            "{",
            "[1,]",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "[01]",
            "[1.]",
            "[.5]",
            "[1e]",
            "[+1]",
            "[tru]",
            "[1 2]",
            "[\"\\x\"]",
            "[\"\\u12g4\"]",
            "[\"a\nb\"]",
            "{]",
            "[}",
            "[] x",
            "1",
            "\"x",
            "\"x\" y",
            "",
            "[\"abc]",
            "[-]",
            "[1,2}",
        ] {
            assert!(read(text, true).is_none(), "{text}");
        }
    }

    #[test]
    fn reads_every_start_of_a_json_text() {
        let text = r#"{"key": [1.5e3, true, "a\n\u00e9", {"b": null}], "long": 12345678901234567890123456789, "é": "中"}"#;
        for end in (1..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let tape = read(&text[..end], false);
            assert!(tape.is_some_and(|tape| tape.node(0).open), "{}", &text[..end]);
        }
    }

    #[test]
    fn sizes_are_those_of_compact_json() {
        let text = "{ \"a\" : [ 1 , \"é中\" , { } ] , \"b\" : false }";
        let compact = r#"{"a":[1,"é中",{}],"b":false}"#;
        let tape = read(text, true);
        assert_eq!(tape.as_ref().map(|tape| tape.node(0).size), Some(compact.chars().count()));
        assert_eq!(tape.map(|tape| tape.node(0).tight), Some(false));
        assert_eq!(read(compact, true).map(|tape| tape.node(0).tight), Some(true));
    }

    #[test]
    fn numbers_and_their_starts() {
        for number in ["0", "-0", "12", "0.5", "-1.25e10", "1E-7", "1e+3"] {
            assert!(is_number(number), "{number}");
            for end in 1..number.len() {
                assert!(is_number_start(&number[..end]), "{}", &number[..end]);
            }
        }
        for other in ["", "-", "01", "1.", ".5", "1e", "+1", "1.2.3", "0x1", "1e5.5", "--1"] {
            assert!(!is_number(other), "{other}");
        }
        assert!(!is_number_start("1.2."));
    }

    #[test]
    fn strings_end_at_their_quote() {
        let end = |text| string(text, 0).map(|scalar| (scalar.end, scalar.open));
        assert_eq!(end(r#""a\"b" rest"#), Some((6, false)));
        assert_eq!(end(r#""\\" rest"#), Some((4, false)));
        assert_eq!(end(r#""ab"#), Some((3, true)));
        // An incomplete escape is not part of the known text.
        assert_eq!([end(r#""ab\"#), end(r#""ab\u"#), end(r#""ab\u00e"#)], [Some((3, true)); 3]);
        assert_eq!([end(r#""\x""#), end(r#""\u00g0""#), end("\"a\nb\"")], [None; 3]);
    }
}
