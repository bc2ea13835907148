//! Numbers in words, in digits: one reader for "twenty-five" and 二十五.

const ONES: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen \
    seventeen eighteen nineteen";
const TENS: &[&str] = &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const UNITS: &[(char, u64)] = &[('亿', 100_000_000), ('万', 10_000), ('千', 1_000), ('百', 100), ('十', 10)];
/// What one character counts: 五个 is a number, 王五 a name.
const COUNTERS: &str = "个件条份封项张台名位人度岁天日号年元页次倍";
/// After these a number is one of a row, or not exact.
const NOT_AFTER: &str = "第周几数";
const NOT_BEFORE: &str = "几多余来";
/// What makes 两点 a time and not two points.
const OF_A_TIME: &str = "钟整半开出到";

/// A text with its numbers in digits. A number of ten thousands stays one (55万), because it may be rounded to them.
pub fn in_digits(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let (mut out, mut at, mut last) = (String::with_capacity(text.len()), 0, String::new());
    while at < chars.len() {
        let begins_word = at == 0 || !chars[at - 1].is_alphanumeric();
        if chars[at].is_ascii_alphabetic() && begins_word {
            let word = word_at(&chars, at);
            if let Some((time, end)) = clock(&chars, at, &word) {
                out.push_str(&time);
                at = end;
                continue;
            }
            let (shown, end) = match english(&chars, at, &word).filter(|_| !goes_on(&last)) {
                Some((value, end)) => (value.to_string(), end),
                None => (chars[at..at + word.len()].iter().collect(), at + word.len()),
            };
            out.push_str(&shown);
            // "hundred and five" goes on from the hundred.
            last = if word == "and" { last } else { word };
            at = end;
        } else if !is_numeral(chars[at]) {
            out.push(chars[at]);
            last = if chars[at] == ' ' { last } else { String::new() };
            at += 1;
        } else if let Some(quarters) = quarters(&chars, at) {
            out.push_str(quarters);
            at += 2;
        } else {
            let end = at + chars[at..].iter().take_while(|c| is_numeral(**c)).count();
            push_chinese(&mut out, &chars, at, end);
            at = end;
        }
    }
    out
}

fn goes_on(last: &str) -> bool {
    matches!(last, "hundred" | "thousand")
}

fn ones(word: &str) -> Option<usize> {
    ONES.split(' ').position(|ones| ones == word)
}

/// The word that begins here, in lower case.
fn word_at(chars: &[char], at: usize) -> String {
    let letters = chars[at.min(chars.len())..].iter().take_while(|c| c.is_ascii_alphabetic());
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// The time that begins with "half" or "quarter", and where it ends: "half past three", "quarter to 5".
fn clock(chars: &[char], at: usize, word: &str) -> Option<(String, usize)> {
    let minutes = [("half", 30), ("quarter", 15)].iter().find(|(part, _)| *part == word)?.1;
    let relation = word_at(chars, at + word.len() + 1);
    let start = at + word.len() + relation.len() + 2;
    let hour = word_at(chars, start);
    let digits: String = chars.get(start..)?.iter().take(2).take_while(|c| c.is_ascii_digit()).collect();
    let (hours, len) = match ones(&hour) {
        Some(hours) => (hours, hour.len()),
        None => (digits.parse().ok()?, digits.len()),
    };
    let (hours, minutes) = match &*relation {
        "past" => (hours, minutes),
        "to" if word == "quarter" => (if hours == 1 { 12 } else { hours.checked_sub(1)? }, 45),
        _ => return None,
    };
    (hours <= 23).then(|| (format!("{hours}:{minutes}"), start + len))
}

/// The minutes of the quarters after an hour: 一刻 in 两点一刻.
fn quarters(chars: &[char], at: usize) -> Option<&'static str> {
    match chars.get(at.checked_sub(1)?..at + 2)? {
        ['点', '一', '刻'] => Some("15分"),
        ['点', '三', '刻'] => Some("45分"),
        _ => None,
    }
}

/// The number that begins with a word, and where it ends. "one" may be anybody; "two-thirds" and "twenty-odd" are not numbers.
fn english(chars: &[char], at: usize, word: &str) -> Option<(u64, usize)> {
    let (mut value, mut end) = match TENS.iter().position(|tens| *tens == word) {
        Some(tens) => (10 * (tens as u64 + 2), at + word.len()),
        None => (ones(word).filter(|ones| *ones >= 2)? as u64, at + word.len()),
    };
    let joined = matches!(chars.get(end), Some('-' | ' '));
    let next = if joined { word_at(chars, end + 1) } else { String::new() };
    if let Some(ones) = ones(&next).filter(|ones| value >= 20 && (1..10).contains(ones)) {
        (value, end) = (value + ones as u64, end + 1 + next.len());
    } else if chars.get(end) == Some(&'-') && is_part(&next) {
        return None;
    }
    let half: Vec<char> = " and a half".chars().collect();
    let ends = chars.get(end).is_none_or(|c| !(c.is_ascii_alphanumeric() || *c == '_'));
    (ends && !chars[end..].starts_with(&half)).then_some((value, end))
}

/// What makes an ordinal or a fraction of the number before it.
fn is_part(word: &str) -> bool {
    let single = word.strip_suffix('s').unwrap_or(word);
    matches!(single, "odd" | "first" | "second" | "third") || single.ends_with("th")
}

fn is_numeral(c: char) -> bool {
    !c.is_ascii() && (digit(c).is_some() || UNITS.iter().any(|(unit, _)| *unit == c))
}

fn digit(c: char) -> Option<u64> {
    let place = "零一二三四五六七八九".chars().position(|one| one == c).map(|place| place as u64);
    place.or(match c {
        '〇' => Some(0),
        '两' => Some(2),
        _ => None,
    })
}

fn push_chinese(out: &mut String, chars: &[char], start: usize, end: usize) {
    let said = &chars[start..end];
    let before = |back: usize| start.checked_sub(back).map(|at| chars[at]);
    let after = |on: usize| chars.get(end + on).copied();
    let is_share = [before(3), before(2), before(1)] == [Some('百'), Some('分'), Some('之')];
    let in_row = before(1).is_some_and(|c| c.is_ascii_digit() || c == '.' || NOT_AFTER.contains(c));
    let is_open = after(0).is_some_and(|c| NOT_BEFORE.contains(c));
    let is_below = after(0) == Some('分') && after(1) == Some('之');
    let scale = said.last().copied().filter(|c| {
        matches!(c, '万' | '亿') && !said[..said.len() - 1].iter().any(|c| matches!(c, '万' | '亿'))
    });
    let is_year = said.len() == 4 && after(0) == Some('年') && said.iter().all(|c| digit(*c).is_some());
    let value = match said {
        _ if in_row || is_open || is_below => None,
        _ if is_year => said.iter().try_fold(0, |year, c| Some(10 * year + digit(*c)?)),
        [one] if !is_share && !counts(*one, before(1), after(0), after(1)) => None,
        _ => value(&said[..said.len() - usize::from(scale.is_some())]),
    };
    match value {
        Some(value) if is_share => {
            out.truncate(out.len() - "百分之".len());
            *out += &format!("{value}{}%", scale.map(String::from).unwrap_or_default());
        }
        Some(value) => *out += &format!("{value}{}", scale.map(String::from).unwrap_or_default()),
        None => out.extend(said),
    }
}

/// Whether one character is a number, by what is around it.
fn counts(one: char, before: Option<char>, after: Option<char>, then: Option<char>) -> bool {
    let then_number = then.is_some_and(|c| c.is_ascii_digit() || is_numeral(c));
    match after {
        Some('月') if then_number => true,
        Some('点') if before.is_some_and(|c| "午上晨".contains(c)) => true,
        _ if matches!(one, '一' | '零' | '〇' | '百' | '千' | '万' | '亿') => false,
        Some('点') => then_number || then.is_some_and(|c| OF_A_TIME.contains(c)),
        Some('月') => !then.is_some_and(|c| "亮球光".contains(c)),
        Some('小') => then == Some('时'),
        Some('分') => then == Some('钟'),
        after => after.is_some_and(|c| COUNTERS.contains(c)),
    }
}

/// What a Chinese number is worth; `None` for characters that make none: 三四, 千万, and 一百二, which is not 102.
fn value(said: &[char]) -> Option<u64> {
    for (unit, worth) in UNITS {
        let Some(at) = said.iter().position(|c| c == unit) else { continue };
        let (before, after) = (&said[..at], &said[at + 1..]);
        if *unit != '十' && (before.is_empty() || after.len() == 1) {
            return None;
        }
        let rest = &after[after.iter().take_while(|c| digit(**c) == Some(0)).count()..];
        let times = if before.is_empty() { 1 } else { value(before)? };
        return times.checked_mul(*worth)?.checked_add(if rest.is_empty() { 0 } else { value(rest)? });
    }
    match said {
        [one] => digit(*one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::in_digits;
    use proptest::prelude::*;

    #[test]
    fn numbers_in_words_become_digits() {
        for (said, digits) in [
            ("Twenty-five people, two million", "25 people, 2 million"),
            ("thirty-five thousand, three hundred", "35 thousand, 3 hundred"),
            ("二十五度，五十五万人，三万五千元", "25度，55万人，35000元"),
            ("三亿五千万，两千零二十六，一百零二", "350000000，2026，102"),
            ("百分之十，百分之二十五", "10%，25%"),
            ("二〇二六年五月十八日，一月三日", "2026年5月18日，1月3日"),
            ("下午三点半，两点开始，五天，三小时", "下午3点半，2点开始，5天，3小时"),
            ("两点一刻，下午6点三刻", "2点15分，下午6点45分"),
            ("half past three pm, a quarter to 5, quarter past twelve", "3:30 pm, a 4:45, 12:15"),
        ] {
            assert_eq!(in_digits(said), digits);
        }
    }

    #[test]
    fn what_may_be_no_number_stays() {
        for said in [
            "half of them, a quarter past, one of them, two-thirds, twenty-first, twenty-odd, two and a half, one hundred and five, tension",
            "王五，第三章，三四个，十几个，二十多度，三分之一，千万别，万一，十分好，一个，有两点，周五，一百二",
        ] {
            assert_eq!(in_digits(said), said);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(said in "([a-z 零一二两三四五六七八九十百千万亿分之年月点个刻ftwoenhundred-]|half|quarter| past | to ){0,40}") {
            in_digits(&said);
        }
    }
}
