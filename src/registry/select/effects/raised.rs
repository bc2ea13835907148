//! What a description and the parameters say against a name that reads. They never speak for a tool: its server wrote them.

use super::name::{NameToken, token};
use super::verbs::{ACTING_OR_NOUN_WIDE, ACTING_WIDE, CARRYING, Verb, WRITING_METHODS};
use serde_json::Value;
use std::ptr;
use toolhub_text::invisible::visible;
use toolhub_text::{is_wide, words};
use toolhub_types::model::Evidence;

/// A longer description is not read to its end, and so does not clear a tool.
const DESCRIPTION_BYTES: usize = 20_000;

/// Verbs that a description uses of the function itself: "Returns a list", "Makes a request", "Raises:".
const OF_FUNCTIONS: &[&str] = &["accept", "make", "raise", "reduce", "resolve", "return"];

/// Words after which the next one is a verb of the tool: a subject, an auxiliary, and what joins another clause. All of them
/// belong to closed classes of their language.
const SUBJECTS: &[&str] = &["function", "it", "that", "this", "tool", "which"];
const AUXILIARIES: &[&str] = &["can", "could", "may", "must", "shall", "should", "will", "would"];
const JOINING: &[&str] = &["also", "then"];
const WIDE: &[&str] = &["且", "会", "再", "及", "可以", "后", "将", "工具", "并", "然后", "用于"];
/// Words before what is changed, which its verb follows: 将文件删除.
const BEFORE_OBJECT: &[&str] = &["将", "把"];

/// Why a tool with a harmless name is not harmless, if there is a reason.
pub fn raised(description: &str, parameters: &Value) -> Option<Evidence> {
    carrying(parameters).map(Evidence::Parameter).or_else(|| match description.len() > DESCRIPTION_BYTES {
        true => Some(Evidence::None),
        false => told(description).map(Evidence::Description),
    })
}

/// A keyword that has the form of an acting parameter.
const WRITE_ONLY: &str = "writeOnly";
/// Texts of a schema that name no member: prose for people, and the values of a member.
const PROSE: &[&str] = &["$comment", "description"];
const VALUES: &[&str] = &["const", "default", "enum", "example", "examples"];

/// The parameter that says what is done: `sql`, `command`, `http_method`, `delete_after`, or one with a value that does. Every key and every text of the document may name
/// one, whatever keyword it stands under (`required`, `patternProperties`, the `title` of an element), and references lead
/// nowhere else: a server that hides a parameter hides what it does.
fn carrying(parameters: &Value) -> Option<Verb> {
    // The title of the whole is the name of the tool, which was judged before.
    let own_title = parameters.get("title");
    let (mut todo, mut values, mut values_are_names) = (vec![("", parameters)], Vec::new(), false);
    while let Some((key, value)) = todo.pop() {
        match value {
            Value::Array(items) => todo.extend(items.iter().map(|item| (key, item))),
            Value::Object(map) => {
                let own = map.keys().find_map(|key| carried(key).or_else(|| acting_in(key)));
                if own.is_some() {
                    return own;
                }
                values_are_names |= map.contains_key("propertyNames");
                todo.extend(map.iter().map(|(key, value)| (key.as_str(), value)));
            }
            Value::String(text) if VALUES.contains(&key) => values.push(text),
            Value::String(text)
                if !PROSE.contains(&key) && !own_title.is_some_and(|it| ptr::eq(it, value)) =>
            {
                if let Some(found) = carried(text) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    let named = values.iter().filter(|_| values_are_names).find_map(|text| carried(text));
    let of_http = values.iter().any(|text| text.eq_ignore_ascii_case("get"));
    named.or_else(|| values.iter().find_map(|text| asked_for(text, of_http)))
}

/// The acting verb in the name of a parameter.
fn acting_in(name: &str) -> Option<Verb> {
    if name == WRITE_ONLY {
        return None;
    }
    words(&visible(name)).iter().find_map(|word| acting(word))
}

/// What a value asks for: a verb, or a method of HTTP, which small letters name only beside `get`.
fn asked_for(value: &str, of_http: bool) -> Option<Verb> {
    let is_named = |method: &&&str| **method == value || (of_http && method.eq_ignore_ascii_case(value));
    let verb = || match words(&visible(value)).as_slice() {
        [word] => acting(word),
        _ => None,
    };
    WRITING_METHODS.iter().find(is_named).copied().or_else(verb)
}

/// A verb that changes something and is nothing else.
fn acting(word: &str) -> Option<Verb> {
    match token(word) {
        NameToken::Acting(verb) if !OF_FUNCTIONS.contains(&verb) => Some(verb),
        _ => None,
    }
}

fn carried(name: &str) -> Option<Verb> {
    let words = words(&visible(name));
    let is_in = |word: &Verb| words.iter().any(|own| matches!(own.strip_prefix(word), Some("" | "s")));
    CARRYING.iter().copied().find(is_in)
}

/// The verb by which a description says that something is changed.
fn told(description: &str) -> Option<Verb> {
    let seen = visible(description);
    told_in(&seen).or_else(|| without_markup(&seen).and_then(|text| told_in(&text)))
}

fn told_in(text: &str) -> Option<Verb> {
    let sentences = text.split(['.', '!', '?', ';', '\n', '。', '！', '？', '；']);
    let mut sentences = sentences.map(words).filter(|words| !words.is_empty()).enumerate();
    sentences.find_map(|(number, words)| (0..words.len()).find_map(|at| verb_at(number == 0, &words, at)))
}

/// The text without its tags and marks, if it has any: they may stand inside a word (`De<b>letes</b>`).
fn without_markup(text: &str) -> Option<String> {
    const MARKS: [char; 4] = ['<', '*', '`', '~'];
    text.contains(MARKS).then(|| {
        let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
        while let Some((before, tag)) = rest.split_once('<') {
            kept.push_str(before);
            let Some((_, after)) = tag.split_once('>') else {
                rest = tag;
                break;
            };
            rest = after;
        }
        (kept + rest).replace(MARKS, "")
    })
}

/// Where a word stands in its sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordPlace {
    Opening,
    /// After a word that joins another clause.
    Clause,
    Subject,
    Auxiliary,
    To,
    Elsewhere,
}

/// The place after these words, whatever adverbs stand between: "Permanently delete", "It also sends".
fn place(before: &[String]) -> WordPlace {
    let Some(last) = before.iter().rev().find(|word| !word.ends_with("ly")) else {
        return WordPlace::Opening;
    };
    match last.as_str() {
        word if JOINING.contains(&word) => WordPlace::Clause,
        word if SUBJECTS.contains(&word) => WordPlace::Subject,
        word if AUXILIARIES.contains(&word) => WordPlace::Auxiliary,
        "to" => WordPlace::To,
        _ => WordPlace::Elsewhere,
    }
}

/// The acting verb at a place of a sentence. The first sentence tells what the tool does: there it counts anywhere. Later ones
/// may tell the model what to do, so an imperative counts only where its sentence begins. A verb that is also a noun counts
/// where a verb is expected.
fn verb_at(is_first: bool, words: &[String], at: usize) -> Option<Verb> {
    let word = &words[at];
    if word.starts_with(is_wide) {
        return wide_verb(word, is_first);
    }
    let (token, is_third_person) = inflected(word)?;
    let place = || place(&words[..at]);
    let (verb, counts) = match token {
        NameToken::Acting(verb) => {
            let expected =
                || matches!(place(), WordPlace::Opening | WordPlace::Clause | WordPlace::Auxiliary);
            (verb, is_third_person || is_first || expected())
        }
        NameToken::ActingOrNoun(verb) | NameToken::ActingWhenLeading(verb) => {
            let counts = match place() {
                WordPlace::Opening => is_first,
                WordPlace::Clause | WordPlace::Subject => is_third_person,
                WordPlace::Auxiliary | WordPlace::To => is_first && !is_third_person,
                WordPlace::Elsewhere => false,
            };
            (verb, counts)
        }
        _ => return None,
    };
    (counts && !OF_FUNCTIONS.contains(&verb)).then_some(verb)
}

/// What `delete`, `deletes`, `pushes` and `applies` are, and whether it is the third person.
fn inflected(word: &str) -> Option<(NameToken, bool)> {
    let known = |stem: &str, is_third_person| match token(stem) {
        NameToken::Other => None,
        token => Some((token, is_third_person)),
    };
    known(word, false)
        .or_else(|| known(word.strip_suffix('s')?, true))
        .or_else(|| known(word.strip_suffix("es")?, true))
        .or_else(|| known(&format!("{}y", word.strip_suffix("ies")?), true))
}

/// The same in a run of characters without spaces: at its start in the first sentence, "删除文件", where a verb is expected,
/// "读取后删除", and anywhere after a word that puts the object before its verb, "将文件删除".
fn wide_verb(run: &str, is_opening: bool) -> Option<Verb> {
    let begins = |rest: &str, verbs: &[Verb]| verbs.iter().copied().find(|verb| rest.starts_with(verb));
    let opening = if is_opening { begins(run, ACTING_WIDE) } else { None };
    let mut expected =
        WIDE.iter().flat_map(|word| run.match_indices(word).map(move |(at, _)| &run[at + word.len()..]));
    let expected =
        || expected.find_map(|rest| begins(rest, ACTING_WIDE).or_else(|| begins(rest, ACTING_OR_NOUN_WIDE)));
    let after_object = || {
        let mut rests = BEFORE_OBJECT.iter().filter_map(|word| run.split_once(word).map(|(_, rest)| rest));
        rests.find_map(|rest| ACTING_WIDE.iter().copied().find(|verb| rest.contains(verb)))
    };
    opening.or_else(expected).or_else(after_object)
}
