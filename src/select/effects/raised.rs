//! What a description and the parameters say against a name that reads. They never speak for a tool: its server wrote them.

use super::tokens::{NameToken, token, tokens};
use super::verbs::{ACTING, CARRYING, Verb};
use crate::invisible::visible;
use crate::model::Evidence;
use crate::text::{is_wide, name_words, words};
use serde_json::Value;

/// A longer description is not read to its end, and so does not clear a tool.
const DESCRIPTION_BYTES: usize = 20_000;

/// Verbs that a description uses of the function itself: "Returns a list", "Makes a request", "Raises:".
const OF_FUNCTIONS: &[&str] = &["accept", "make", "raise", "reduce", "resolve", "return"];

/// Words after which a clause of the same tool begins.
const GOING_ON: &[&str] = &["also", "and", "then", "再", "并", "然后"];

/// Why a tool with a harmless name is not harmless, if there is a reason.
pub fn raised(description: &str, parameters: &Value) -> Option<Evidence> {
    carrying(parameters).map(Evidence::Parameter).or_else(|| match description.len() > DESCRIPTION_BYTES {
        true => Some(Evidence::None),
        false => told(description).map(Evidence::Description),
    })
}

/// The parameter that says what is done: `sql`, `command`, `http_method`. Every name in the document counts, also inside other
/// parameters, in branches and definitions: a server that hides one there hides what it does.
fn carrying(parameters: &Value) -> Option<Verb> {
    let mut todo = vec![parameters];
    while let Some(value) = todo.pop() {
        match value {
            Value::Array(items) => todo.extend(items),
            Value::Object(map) => {
                let properties = map.get("properties").and_then(Value::as_object);
                let found = properties.into_iter().flat_map(|named| named.keys()).find_map(|name| {
                    let words = name_words(&visible(name));
                    let is_in = |word: &Verb| {
                        words.iter().any(|own| matches!(own.strip_prefix(word), Some("" | "s")))
                    };
                    CARRYING.iter().copied().find(is_in)
                });
                if found.is_some() {
                    return found;
                }
                todo.extend(map.values());
            }
            _ => {}
        }
    }
    None
}

/// The verb by which a description says that something is changed. Verbs count where a clause begins; an imperative counts
/// in the first sentence only, for later ones tell the model what to do.
fn told(description: &str) -> Option<Verb> {
    let sentences = description.split(['.', '!', '?', ';', '\n', '。', '！', '？', '；']);
    let mut sentences = sentences.map(words).filter(|words| !words.is_empty()).enumerate();
    sentences.find_map(|(number, words)| opening(number, &words).or_else(|| joined(number, &words)))
}

/// "Delete a file", "Deletes a file", "Books a table", "删除文件".
fn opening(number: usize, words: &[String]) -> Option<Verb> {
    let first = &words[0];
    let with_article = words.get(1).is_some_and(|word| matches!(word.as_str(), "a" | "an" | "the"));
    let noun_too = |word: &str| match token(word) {
        NameToken::ActingOrNoun(verb) | NameToken::ActingWhenLeading(verb) if with_article => of_tool(verb),
        _ => None,
    };
    let imperative = || match tokens(&words[..1])[0] {
        NameToken::Acting(verb) => of_tool(verb),
        _ => noun_too(first).or_else(|| noun_too(first.strip_suffix('s')?)),
    };
    third_person(first).or_else(|| if number == 0 { imperative() } else { None })
}

/// "… and deletes them", "… then delete it", "搜索并删除".
fn joined(number: usize, words: &[String]) -> Option<Verb> {
    let after = words.windows(2).filter(|pair| GOING_ON.contains(&&*pair[0])).find_map(|pair| {
        third_person(&pair[1]).or_else(|| match token(&pair[1]) {
            NameToken::Acting(verb) if number == 0 || pair[0] == "then" => of_tool(verb),
            _ => None,
        })
    });
    after.or_else(|| words.iter().filter(|word| word.starts_with(is_wide)).find_map(joined_inside))
}

/// The same in a run of characters without spaces. Most have no such word, and are not read further.
fn joined_inside(run: &String) -> Option<Verb> {
    if !GOING_ON.iter().any(|word| run.contains(word)) {
        return None;
    }
    tokens(std::slice::from_ref(run)).windows(2).find_map(|pair| match pair {
        [NameToken::Joining(word), NameToken::Acting(verb) | NameToken::ActingOrNoun(verb)]
            if GOING_ON.contains(word) =>
        {
            Some(*verb)
        }
        _ => None,
    })
}

/// `deletes`, `pushes`: a verb where a clause begins.
fn third_person(word: &str) -> Option<Verb> {
    let is_stem = |verb: &Verb| matches!(word.strip_prefix(*verb), Some("s" | "es"));
    ACTING.iter().copied().find(is_stem).and_then(of_tool)
}

fn of_tool(verb: Verb) -> Option<Verb> {
    (!OF_FUNCTIONS.contains(&verb)).then_some(verb)
}
