//! The kinds of mistakes that parsing repairs.

use serde::{Serialize, Serializer};

/// A set of repairs: each kind is listed once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs(u32);

macro_rules! repairs {
    ($($name:ident = $text:literal,)*) => {
        #[derive(Clone, Copy)]
        #[repr(u32)]
        pub enum SyntaxRepair { $($name,)* }
        const NAMES: &[&str] = &[$($text,)*];
    };
}

repairs! {
    SingleQuotes = "single quotes",
    TrailingComma = "a trailing comma",
    MissingComma = "a missing comma",
    PythonLiteral = "Python literals",
    MissingBrackets = "missing closing brackets",
    SurplusBrackets = "surplus closing brackets",
    RawCharacters = "raw control characters in a string",
    BadEscape = "an invalid escape",
    Comment = "a comment",
    BareKey = "a key without quotes",
    TornKey = "a key without its closing quote and colon",
    OddNumber = "a number that is not JSON",
    ArgumentsAsString = "arguments given as a JSON string",
    Fence = "a code fence",
    MissingEndTag = "a missing end tag",
    NestedShape = "a call wrapped in an API structure",
    BesideTheName = "arguments beside the name",
    BareString = "a string without quotes",
    UsedId = "the id was used before",
    KeyWithoutValue = "a key without a value",
    WrappedArguments = "arguments in a wrapper",
    SurplusTag = "a surplus tag",
    MissingStartTag = "a missing start tag",
    Parentheses = "parentheses in place of braces",
}

impl Repairs {
    pub fn add(&mut self, repair: SyntaxRepair) {
        self.0 |= 1 << repair as u32;
    }

    pub fn has(self, repair: SyntaxRepair) -> bool {
        self.0 & (1 << repair as u32) != 0
    }

    pub fn join(&mut self, other: Repairs) {
        self.0 |= other.0;
    }

    pub fn without(self, others: &[SyntaxRepair]) -> Repairs {
        Repairs(others.iter().fold(self.0, |set, other| set & !(1 << *other as u32)))
    }

    pub fn names(self) -> Vec<&'static str> {
        // As for most calls.
        if self.0 == 0 {
            return Vec::new();
        }
        let listed = NAMES.iter().enumerate().filter(|(index, _)| self.0 & (1 << index) != 0);
        listed.map(|(_, name)| *name).collect()
    }
}

impl Serialize for Repairs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}
