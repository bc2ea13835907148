//! How much each thing counts. Found on public sets of queries; half of the queries was never looked at.

/// Where in a tool's texts a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Name,
    /// The first sentence of the description.
    Lead,
    /// Its other sentences.
    Rest,
    ParameterName,
    ParameterText,
    Capability,
    /// Server and category.
    Place,
}

pub const FIELDS: usize = 7;

/// `weight`: what one word there is worth. `slope`: how much of that a long text loses. `usual`: the length, in words,
/// at which nothing is lost. That is a constant and no average of what is registered: so what a word is worth in one tool
/// does not depend on the other tools, and one more tool changes no other.
pub struct Measure {
    pub weight: f32,
    pub slope: f32,
    pub usual: f32,
}

pub const MEASURES: [Measure; FIELDS] = [
    Measure { weight: 2.0, slope: 0.3, usual: 3.0 },
    Measure { weight: 1.0, slope: 0.75, usual: 10.0 },
    Measure { weight: 0.4, slope: 0.3, usual: 8.0 },
    Measure { weight: 0.5, slope: 0.5, usual: 5.0 },
    Measure { weight: 0.4, slope: 0.25, usual: 20.0 },
    Measure { weight: 1.0, slope: 0.0, usual: 1.0 },
    Measure { weight: 0.3, slope: 0.0, usual: 1.0 },
];

/// A character of a script without spaces is so much of a word, when lengths are compared.
pub const CHARACTER_LENGTH: f32 = 0.5;
/// The more often a word is repeated, the less another time adds (the k1 of BM25).
pub const SATURATION: f32 = 1.2;

/// Words of the query: those that only make it polite, those in quotation marks, numbers.
pub const STOP: f32 = 0.1;
pub const QUOTED: f32 = 0.6;
pub const NUMBER: f32 = 0.5;
/// Two words of the query that a tool writes as one.
pub const JOINED: f32 = 1.0;
/// What a word was probably meant to be.
pub const TYPO: f32 = 0.7;
/// What means nearly the same as a word of the query.
pub const SYNONYM: f32 = 0.15;
/// A capability that the query speaks of.
pub const CAPABILITY: f32 = 0.7;

/// Shares of the best score: for a name whose words are all asked for, and for the tool that fits one sentence of several.
pub const NAME_COVERED: f32 = 0.3;
pub const SENTENCE: f32 = 0.7;
/// What is added when all words of the query are found, as a share of the tool's own score.
pub const QUERY_COVERED: f32 = 0.3;
