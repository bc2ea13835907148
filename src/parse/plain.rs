//! Strict JSON of the plain kind, recognised in one pass over its bytes.
//!
//! Most calls are such JSON. Whatever is odd here (an escape in a name, an exponent, something deep) is no error: it is for
//! a reader that knows more.

/// Deeper values are odd.
const DEEPEST: usize = 16;
/// Longer ones too: a parser that skips several bytes at once is faster there.
const LONGEST: usize = 8 * 1024;

pub(super) struct Plain<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Plain<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text: &text[..text.floor_char_boundary(LONGEST)], at: 0 }
    }

    /// How much of the text was read.
    pub fn read(&self) -> usize {
        self.at
    }

    /// The next byte that is no white space.
    pub fn next(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let b' ' | b'\n' | b'\t' | b'\r' = bytes.get(self.at)? {
            self.at += 1;
        }
        self.at += 1;
        bytes.get(self.at - 1).copied()
    }

    pub fn pass(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// A string without escapes.
    pub fn string(&mut self) -> Option<&'a str> {
        self.pass(b'"')?;
        let from = self.at;
        self.at += self.text.as_bytes()[from..].iter().position(|byte| ENDS_TEXT[*byte as usize])?;
        let string = self.text.get(from..self.at)?;
        self.pass(b'"')?;
        Some(string)
    }

    /// The text of an object.
    pub fn object(&mut self) -> Option<&'a str> {
        self.pass(b'{')?;
        let from = self.at - 1;
        self.entries(DEEPEST)?;
        self.text.get(from..self.at)
    }

    /// From behind the bracket of an object to behind the other one.
    fn entries(&mut self, depth: usize) -> Option<()> {
        let mut next = self.next()?;
        if next == b'}' {
            return Some(());
        }
        loop {
            (next == b'"').then_some(())?;
            self.rest_of_string()?;
            self.pass(b':')?;
            self.value(depth)?;
            match self.next()? {
                b',' => next = self.next()?,
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// The same for a list.
    fn items(&mut self, depth: usize) -> Option<()> {
        let before = self.at;
        if self.next()? == b']' {
            return Some(());
        }
        self.at = before;
        loop {
            self.value(depth)?;
            match self.next()? {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.next()? {
            b'"' => self.rest_of_string(),
            b'{' => self.entries(depth.checked_sub(1)?),
            b'[' => self.items(depth.checked_sub(1)?),
            b't' => self.word("rue"),
            b'f' => self.word("alse"),
            b'n' => self.word("ull"),
            first => self.rest_of_number(first),
        }
    }

    fn rest_of_string(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        loop {
            self.at += bytes[self.at..].iter().position(|byte| ENDS_TEXT[*byte as usize])? + 1;
            match bytes[self.at - 1] {
                b'"' => return Some(()),
                b'\\'
                    if matches!(
                        bytes.get(self.at)?,
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't'
                    ) =>
                {
                    self.at += 1;
                }
                _ => return None,
            }
        }
    }

    fn rest_of_number(&mut self, first: u8) -> Option<()> {
        let first = if first == b'-' { self.digit()? } else { first };
        match first {
            b'0' => {}
            b'1'..=b'9' => while self.digit().is_some() {},
            _ => return None,
        }
        if self.text.as_bytes().get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digit()?;
            while self.digit().is_some() {}
        }
        // A digit behind a zero, and an exponent, are odd.
        let next = *self.text.as_bytes().get(self.at)?;
        (!next.is_ascii_alphanumeric()).then_some(())
    }

    fn digit(&mut self) -> Option<u8> {
        let digit = self.text.as_bytes().get(self.at).copied().filter(u8::is_ascii_digit)?;
        self.at += 1;
        Some(digit)
    }

    fn word(&mut self, rest: &str) -> Option<()> {
        self.text.as_bytes()[self.at..].starts_with(rest.as_bytes()).then_some(())?;
        self.at += rest.len();
        Some(())
    }
}

/// Whether a byte is none of a string's plain ones.
static ENDS_TEXT: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < b' ' as usize {
        ends[byte] = true;
        byte += 1;
    }
    ends[b'"' as usize] = true;
    ends[b'\\' as usize] = true;
    ends
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    fn object(text: &str) -> Option<&str> {
        Plain::new(text).object()
    }

    #[test]
    fn plain_objects_are_known_and_odd_ones_are_not() {
        for text in [
            "{}",
            "{ }",
            r#"{"a": 1, "b": [-0.5, 10, [], {}, [ ]], "c": {"d": "x\n\"y\\"}, "é": null, "t": true , "f":false}"#,
        ] {
            assert_eq!(object(&format!(" {text} , more")), Some(text));
        }
        for text in [
            "",
            "[1]",
            "{",
            "{\"a\"}",
            "{\"a\":1",
            "{\"a\":1,}",
            "{\"a\":[1,]}",
            "{\"a\":01}",
            "{\"a\":1e5}",
            "{\"a\":1.}",
            "{\"a\":-}",
            "{\"a\":+1}",
            "{\"a\":nul}",
            "{\"a\":truest}",
            "{\"a\":\"\\u0041\"}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\n\"}",
            "{a:1}",
        ] {
            assert_eq!(object(text), None, "{text}");
        }
        assert_eq!(object(&format!("{{\"a\": {}1{}}}", "[".repeat(20), "]".repeat(20))), None);
        assert_eq!(object(&format!("{{\"a\": \"{}\"}}", "é".repeat(LONGEST))), None);
    }

    proptest! {
        /// What is recognised is strict JSON, and ends where a parser says that it ends.
        #[test]
        fn nothing_else_is_taken_for_json(parts in prop::collection::vec(prop::sample::select(PARTS), 0..14)) {
            let text = format!("{{{}", parts.concat());
            if let Some(found) = object(&text) {
                let mut values = serde_json::Deserializer::from_str(&text).into_iter::<&RawValue>();
                prop_assert_eq!(values.next().unwrap().unwrap().get(), found);
            }
        }
    }

    const PARTS: &[&str] = &[
        "\"a\"", ":", ",", "{", "}", "[", "]", "1", "0", "-", ".", "e", "\"", "\\", "n", "u0041", "true",
        "null", " ", "\n", "é", "\"k\":", "\"k\": 1", "}}",
    ];
}
