//! The weights of the ranking, tuned on public query sets; half of the queries were held out.

/// The part of a tool's text in which a word occurs.
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
    Origin,
}

pub const FIELDS: usize = 7;

/// `weight`: the worth of one word in the field. `slope`: how strongly a long text is penalised. `usual`: the length in
/// words without a penalty. It is a constant, not the average of the registered tools, so that adding a tool does not
/// change the worth of words in the others.
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

/// The length of one character of a script without spaces, in words.
pub const CHARACTER_LENGTH: f32 = 0.5;
/// Diminishing returns of repeated words (k1 of BM25).
pub const SATURATION: f32 = 1.2;

/// How much a word counts for what a tool is about, in the fields that say it.
pub const ABOUT: [(Field, f32); 3] = [(Field::Name, 1.5), (Field::Lead, 1.0), (Field::Rest, 0.5)];

/// Weights of query words: stop words, quoted words, numbers.
pub const STOP: f32 = 0.1;
pub const QUOTED: f32 = 0.6;
pub const NUMBER: f32 = 0.5;
/// Two query words that a tool writes as one.
pub const JOINED: f32 = 1.0;
/// A corrected typo.
pub const TYPO: f32 = 0.7;
/// A synonym of a query word.
pub const SYNONYM: f32 = 0.25;
/// A short form of a query word, or the long form of one.
pub const ABBREVIATION: f32 = 0.6;
/// A word of the other language that a query word is translated to.
pub const TRANSLATION: f32 = 0.6;
/// A capability extracted from the query; and from one of `LONG_QUERY` words or more, in which each word says less.
pub const CAPABILITY: f32 = 0.7;
pub const CAPABILITY_OF_LONG: f32 = 1.0;
pub const LONG_QUERY: usize = 5;

/// Bonuses as a share of the best score: all words of the name are asked for; the tool fits one of several sentences.
pub const NAME_COVERED: f32 = 0.4;
pub const SENTENCE: f32 = 0.7;
/// Bonus as a share of the tool's own score, when all words of the query are found.
pub const QUERY_COVERED: f32 = 0.3;
/// Bonus as a share of the best score with all of the above: the share of the words of its best sentence that a tool has, of
/// `SHORTEST_SENTENCE` words at least.
pub const WORDS_FOUND: f32 = 0.3;
pub const SHORTEST_SENTENCE: f32 = 3.0;
/// Bonus as a share of that score too: the tool is about what the query, or one of its sentences, is about. It counts as far as
/// words leave it open (by the share of a sentence that even the best tool does not have) and as far as the query's words have
/// vectors. A sentence of a single word says too little.
pub const LIKENESS: f32 = 2.0;
pub const WORDS_OF_SENTENCE: usize = 2;
/// The words in one pair of characters of a script without spaces, which has no vector: pairs overlap.
pub const WORDS_OF_PAIR: f32 = 0.5;
