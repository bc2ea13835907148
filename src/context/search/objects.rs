//! Objects of a deed: whom and what a text says that it was done to, and which of them no call was for.
//!
//! Nothing tells a name from other words, so two things count. All that stands in one list with an object of a call has to be in
//! a call too: "alpha and beta", 厨房和客厅. And a single name is wrong if the calls name another object of its kind, of which the
//! answer says nothing: "to Alice" after a call for Bob, A17 after A16.

use super::bilingual::DICTIONARY;
use super::deeds::deeds_in;
use super::tables::is_stop;
use std::collections::HashSet;

/// Characters around a name in which another call may say what it is called there.
const NEAR: usize = 80;
/// Characters between an object and the next of its list that both have: 的灯 in 厨房的灯和客厅的灯.
const TAIL: usize = 12;
const LEAD: usize = 30;
const SEPARATORS: &[&str] = &[", and ", " and ", " & ", "、", "以及", "和", "与", "及", "跟", ", "];
const PLACES: &[&str] = &["in", "on", "at", "via", "using"];
const TOPICS: &[&str] = &["about", "regarding", "that", "which", "because", "since", "so", "as"];
const AUXILIARIES: &[&str] = &[
    "is", "are", "was", "were", "has", "have", "had", "do", "does", "did", "will", "would", "can", "could",
    "may", "should",
];
const GO_ON: &[&str] = &["and", "or", "to", "for", "from", "in", "on", "at"];
#[rustfmt::skip]
const DAYS: &[&str] = &[
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "January", "February", "March", "April", "May",
    "June", "July", "August", "September", "October", "November", "December",
];

/// The calls that did something, and what is known of other names.
pub struct DoneCalls<'a> {
    /// The short values of their arguments.
    pub given: &'a [String],
    /// What counts as named: their names, arguments and results, in lower case.
    pub known: &'a str,
    /// What other calls said, in lower case.
    pub elsewhere: &'a str,
}

/// The first object that a clause names and that no call was for.
pub fn unreached(clause: &str, answer: &str, calls: &DoneCalls) -> Option<String> {
    let said: HashSet<String> = alphanumeric(answer).collect();
    let is_said =
        |value: &str| answer.contains(value) || alphanumeric(value).any(|word| said.contains(&word));
    let idle: Vec<&String> = calls.given.iter().filter(|value| !is_said(value)).collect();
    let has_rival = |name: &String| idle.iter().any(|value| rivals(name, value));
    let chars: Vec<char> = clause.chars().collect();
    let words = narrow_words(&chars);
    let single = names(&chars, &words).into_iter().chain(wide_receivers(&chars)).filter(has_rival);
    single.chain(beside(&chars, &words, calls.given)).find(|name| !calls.has(name))
}

impl DoneCalls<'_> {
    fn has(&self, name: &str) -> bool {
        has(self.known, name) || self.is_near(name)
    }

    /// Whether another call has a name near an object of these calls.
    fn is_near(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.elsewhere.match_indices(&name).take(100).any(|(at, _)| {
            let from = self.elsewhere.floor_char_boundary(at.saturating_sub(NEAR));
            let to = self.elsewhere.ceil_char_boundary(at + name.len() + NEAR);
            self.given.iter().any(|value| self.elsewhere[from..to].contains(&value.to_lowercase()))
        })
    }
}

/// Whether a text has a word of a name; digits have to be the same.
fn has(text: &str, name: &str) -> bool {
    let name = name.trim_start_matches('#').to_lowercase();
    if name.contains(|c: char| c.is_ascii_digit()) {
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        return text.match_indices(&name).any(|(at, _)| {
            !is_digit(text[..at].chars().next_back()) && !is_digit(text[at + name.len()..].chars().next())
        });
    }
    text.contains(&name) || name.split([' ', '.']).any(|word| word.len() > 1 && text.contains(word))
}

/// Whether a value is what a name may be, and another one.
fn rivals(name: &str, value: &str) -> bool {
    if name.chars().all(is_wide) {
        let start: String = name.chars().take(2).collect();
        // 财务部 is not a name either.
        let is_word =
            [name, &start].iter().any(|word| DICTIONARY.read().is_some_and(|all| all.find(word).is_some()));
        return !is_word && value.chars().all(is_wide) && (2..=4).contains(&value.chars().count());
    }
    if name.contains(|c: char| c.is_ascii_digit()) {
        return shape(name) == shape(value);
    }
    // An address may begin as a name does.
    let initial = |text: &str| text.chars().next().map(|c| c.to_ascii_lowercase());
    let is_mail = value.contains('@') && !value.contains(' ') && initial(value) != initial(name);
    is_mail || value.split(' ').all(is_capitalised)
}

fn shape(text: &str) -> String {
    let kinds = text.trim_start_matches('#').chars().map(|c| match c {
        _ if c.is_ascii_digit() => '9',
        _ if c.is_ascii_alphabetic() => 'a',
        _ => c,
    });
    let mut shape: Vec<char> = kinds.collect();
    shape.dedup();
    shape.into_iter().collect()
}

fn is_wide(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

fn is_capitalised(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|c| c.is_ascii_uppercase())
        && word.len() > 1
        && chars.all(|c| c.is_ascii_lowercase() || "'’".contains(c))
}

/// A name of its own: capitalised, or with a digit or a sign.
fn is_name(word: &str) -> bool {
    (is_capitalised(word) && !is_day(word))
        || word.contains(|c: char| c.is_ascii_digit() || "#_-".contains(c))
}

fn is_day(word: &str) -> bool {
    DAYS.iter().any(|day| *day == word || (word.len() == 3 && day.starts_with(word)))
}

fn alphanumeric(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 1);
    words.map(str::to_ascii_lowercase)
}

fn text_of(chars: &[char]) -> String {
    chars.iter().collect()
}

type Stretch = (usize, usize);

/// Where the words of Latin letters and digits stand: "fix-login", "#random", "bob@x.org".
fn narrow_words(chars: &[char]) -> Vec<Stretch> {
    let is_part = |at: usize| chars.get(at).is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_');
    let (mut found, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        let start = at;
        at += usize::from("#@".contains(chars[at]) && is_part(at + 1));
        while is_part(at)
            || (at > start && chars.get(at).is_some_and(|c| ".@'’-".contains(*c)) && is_part(at + 1))
        {
            at += 1;
        }
        if at > start {
            found.push((start, at));
        }
        at = at.max(start + 1);
    }
    found
}

/// The capitalised names of a clause, but for its first word, places, topics and days; and words with digits.
fn names(chars: &[char], words: &[Stretch]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // Where the last capitalised word ended, and whether it is part of a name.
    let (mut last, mut end_of_name, mut is_object) = (String::new(), usize::MAX, false);
    for &(start, end) in words {
        let word = text_of(&chars[start..end]);
        if TOPICS.contains(&&*word) {
            break;
        }
        let (letter, digit) = (|c: char| c.is_ascii_alphabetic(), |c: char| c.is_ascii_digit());
        if word.contains(letter) && word.contains(digit) {
            found.push(word.clone());
        } else if is_capitalised(&word) && !is_day(&word) && start > 0 {
            let name = word.trim_end_matches("'s").trim_end_matches("’s");
            let goes_on = chars.get(end_of_name..start).is_some_and(|gap| matches!(gap, [' '] | ['.', ' ']));
            match found.last_mut() {
                Some(begun) if goes_on && is_object => *begun = format!("{begun} {name}"),
                _ if goes_on => {}
                _ => {
                    is_object = !PLACES.contains(&&*last.to_lowercase());
                    found.extend(is_object.then(|| name.to_owned()));
                }
            }
            end_of_name = end;
        }
        last = word;
    }
    found
}

/// To whom: the two or three characters after 给 and 向.
fn wide_receivers(chars: &[char]) -> Vec<String> {
    let places = (0..chars.len()).filter(|at| "给向".contains(chars[*at])).map(|at| at + 1);
    let starts = places.map(|at| at + usize::from(chars.get(at) == Some(&'了')));
    starts.filter_map(|start| (start + 2..=start + 3).find_map(|end| receiver(chars, start, end))).collect()
}

fn receiver(chars: &[char], start: usize, end: usize) -> Option<String> {
    let name = chars.get(start..end).filter(|name| name.iter().all(|c| is_wide(*c)))?;
    let is_end = chars.get(end).is_none_or(|c| !is_wide(*c) || "了的和与及".contains(*c));
    let rest = &chars[end..chars.len().min(end + LEAD)];
    (is_end || begins_with_deed(rest)).then(|| text_of(name))
}

fn begins_with_deed(chars: &[char]) -> bool {
    deeds_in(&text_of(chars)).first().is_some_and(|deed| deed.start == 0)
}

/// What stands in one list with an object of the calls.
fn beside(chars: &[char], words: &[Stretch], given: &[String]) -> Vec<String> {
    let mut values: HashSet<String> = HashSet::new();
    for value in given.iter().map(|value| value.to_lowercase()) {
        if !value.contains(' ') {
            values.extend(
                value.split(['.', '_', '/', '-', '@']).filter(|part| part.len() > 2).map(str::to_owned),
            );
        }
        values.extend(value.split(' ').next().filter(|word| word.len() > 1).map(str::to_owned));
        values.extend(Some(value).filter(|value| value.chars().nth(1).is_some()));
    }
    let mut places: Vec<Stretch> =
        (1..=3).flat_map(|n| words.windows(n)).map(|words| (words[0].0, words[words.len() - 1].1)).collect();
    for start in 0..chars.len() {
        let width = chars[start..].iter().take(6).take_while(|c| is_wide(**c)).count();
        places.extend((2..=width).map(|width| (start, start + width)));
    }
    let mut found = Vec::new();
    for (start, end) in places {
        if values.contains(&text_of(&chars[start..end]).to_lowercase()) {
            found.extend(after(chars, start, end));
            found.extend(before(chars, start, end));
        }
    }
    found
}

/// The separator of a list that stands here. A comma is one only before a later "and": not in "Paris, France".
fn separator(chars: &[char]) -> Option<&'static str> {
    let near = text_of(&chars[..chars.len().min(200)]);
    let ends = near.find(['.', ';', ':']).unwrap_or(near.len());
    let found = SEPARATORS.iter().find(|sign| near.starts_with(**sign)).copied()?;
    (found != ", " || near[..ends].contains(" and ")).then_some(found)
}

/// The next of a list, in the same words: "the lamp in the kitchen and the lamp in the hall", 厨房的灯和客厅的灯.
fn after(chars: &[char], start: usize, end: usize) -> Option<String> {
    let ends = |c: &char| ",.;:，。；：".contains(*c);
    let room = chars[end..].iter().take(TAIL + 1).take_while(|c| !ends(c) || **c == ',').count();
    let (size, sign) = (0..=room).find_map(|size| Some((size, separator(&chars[end + size..])?)))?;
    let (tail, rest) = chars[end..].split_at(size);
    let rest = &rest[sign.chars().count()..];
    let lead =
        (start.saturating_sub(LEAD)..start).map(|at| &chars[at..start]).find(|lead| rest.starts_with(lead));
    let rest = &rest[lead.map_or(0, <[char]>::len)..];
    if is_wide(chars[start]) {
        let is_followed = |width: &usize| rest.get(*width..).is_some_and(|rest| rest.starts_with(tail));
        let width = if size == 0 { 2 } else { (2..=6).find(is_followed)? };
        let word = rest.get(..width).filter(|word| word.iter().all(|c| is_wide(*c)))?;
        let is_other = "我你您他她它其各每所全大里".contains(word[0]);
        return (!is_other && !begins_with_deed(&rest[..rest.len().min(LEAD)])).then(|| text_of(word));
    }
    let &(_, width) = narrow_words(rest).first().filter(|(start, _)| *start == 0)?;
    let word = text_of(&rest[..width]);
    let rest = rest[width..].strip_prefix(tail)?;
    let next = narrow_words(rest)
        .first()
        .filter(|(start, _)| *start == 1 && rest[0] == ' ')
        .map(|(a, b)| text_of(&rest[*a..*b]));
    if is_name(&word) {
        return (!next.is_some_and(|next| AUXILIARIES.contains(&&*next))).then_some(word);
    }
    // Another word ends the list, or it is the next verb.
    let is_verb = word.ends_with("ed") || word.ends_with("ing");
    let is_last = rest.first().is_none_or(|c| *c != ' ') || next.is_some_and(|next| GO_ON.contains(&&*next));
    let is_plain = word.chars().all(|c| c.is_ascii_lowercase()) && !is_stop(&word);
    (is_plain && !is_verb && is_last && sign != ", ").then_some(word)
}

/// The one before in a list.
fn before(chars: &[char], start: usize, end: usize) -> Option<String> {
    let sign =
        SEPARATORS.iter().find(|sign| text_of(&chars[start.saturating_sub(6)..start]).ends_with(**sign))?;
    let left = &chars[..start - sign.chars().count()];
    let tail =
        (1..=TAIL).rev().filter_map(|size| chars.get(end..end + size)).find(|tail| left.ends_with(tail));
    let left = &left[..left.len() - tail.map_or(0, <[char]>::len)];
    if is_wide(chars[start]) {
        let at = left.iter().rposition(|c| "给向了把将".contains(*c))? + 1;
        let name = &left[at..];
        return ((2..=4).contains(&name.len()) && name.iter().all(|c| is_wide(*c))).then(|| text_of(name));
    }
    let near = &left[left.len().saturating_sub(LEAD)..];
    let &(from, to) = narrow_words(near).last().filter(|(_, end)| *end == near.len())?;
    Some(text_of(&near[from..to])).filter(|word| is_name(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn missing(clause: &str, given: &[&str]) -> Option<String> {
        let given: Vec<String> = given.iter().map(|value| (*value).to_owned()).collect();
        let known = given.join("\n").to_lowercase();
        unreached(clause, clause, &DoneCalls { given: &given, known: &known, elsewhere: "" })
    }

    #[test]
    fn each_of_a_list_needs_a_call() {
        for (clause, one, other) in [
            ("sent it to Bob and to Alice.", "Bob", "Alice"),
            ("emailed Li Lei and Han Meimei.", "Li Lei", "Han"),
            ("deleted the folders alpha and beta.", "alpha", "beta"),
            ("closed T-4 and T-5", "T-5", "T-4"),
            ("off the lamp in the kitchen and the lamp in the hall.", "kitchen", "hall"),
            ("off the kitchen lamp and the hall lamp.", "light.kitchen", "hall"),
            ("我把厨房的灯和客厅的灯关了", "厨房", "客厅"),
            ("发给韩梅梅和李雷了", "李雷", "韩梅梅"),
        ] {
            assert_eq!(missing(clause, &[one]).as_deref(), Some(other), "{clause}");
            assert_eq!(missing(clause, &[one, other]), None, "{clause}");
        }
    }

    #[test]
    fn a_single_name_is_wrong_if_the_calls_name_another() {
        for (clause, right, wrong) in [
            ("sent it to Alice.", "alice@x.org", "bob@x.org"),
            ("sent it to Alice.", "Alice Jones", "Bob"),
            ("cancelled order A17.", "A17", "A16"),
            ("把报告发给小王了", "小王", "小李"),
        ] {
            assert!(missing(clause, &[wrong]).is_some(), "{clause}");
            assert_eq!(missing(clause, &[right]), None, "{clause}");
        }
        assert_eq!(missing("posted it to Slack.", &["#general"]), None);
        assert_eq!(missing("created the event in Google Calendar.", &["Planning"]), None);
        assert_eq!(missing("booked Luigi's in Paris, France.", &["Luigi's", "Paris"]), None);
        assert_eq!(missing("emailed Anna, and Bob will call you.", &["Anna"]), None);
        assert_eq!(missing("deleted alpha and freed the space.", &["alpha"]), None);
    }

    proptest! {
        #[test]
        fn any_clause_is_read(
            clause in "([ a-zA-Z0-9,.#@'-]|to|and|和|给|了|、|李雷|的灯|é){0,30}",
            given in proptest::collection::vec("[a-zA-Z0-9李雷@. -]{0,6}", 0..4),
        ) {
            unreached(&clause, &clause, &DoneCalls { given: &given, known: &clause, elsewhere: &clause });
            unreached(&clause, "", &DoneCalls { given: &given, known: "", elsewhere: &clause.to_lowercase() });
        }
    }
}
