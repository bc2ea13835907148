//! The sentence around a call, for whoever decides whether the call was meant.

/// The most characters that are shown before the call, after it, and of each end of the call itself.
const REACH: usize = 200;

/// The last sentence before a call, the call, and the first sentence after it. `span` counts characters.
pub fn sentence_around(whole: &str, span: (usize, usize)) -> String {
    // Cheaper to see than to count characters.
    let is_ascii = whole.is_ascii();
    let byte = |at: usize| match is_ascii {
        true => at.min(whole.len()),
        false => whole.char_indices().nth(at).map_or(whole.len(), |(byte, _)| byte),
    };
    let (from, to) = (byte(span.0), byte(span.1));
    let (Some(before), Some(call), Some(after)) = (whole.get(..from), whole.get(from..to), whole.get(to..))
    else {
        return String::new();
    };
    let mut shown = String::from(last_sentence(before));
    shown.push_str(&cut(call));
    shown.push_str(first_sentence(after));
    shown.trim().to_owned()
}

/// Where a sentence or a paragraph ends, as the position after it.
fn ends(text: &str) -> impl Iterator<Item = usize> {
    text.char_indices().filter_map(|(at, c)| {
        let after = at + c.len_utf8();
        let next = text[after..].chars().next();
        let is_end = match c {
            '\n' => next == Some('\n'),
            // "3.5", "a.txt": the next sentence begins after a space.
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            c => matches!(c, '。' | '！' | '？'),
        };
        is_end.then_some(after)
    })
}

/// The last sentence of a text, with the white space after it.
fn last_sentence(text: &str) -> &str {
    let from = text.char_indices().rev().nth(REACH - 1).map_or(0, |(at, _)| at);
    let near = &text[from..];
    let said = near.trim_end().len();
    // The end of the last sentence itself does not count.
    let start = ends(near).filter(|end| *end < said).last().unwrap_or(0);
    near[start..].trim_start()
}

/// The first sentence of a text, with the white space before it.
fn first_sentence(text: &str) -> &str {
    let to = text.char_indices().nth(REACH).map_or(text.len(), |(at, _)| at);
    let near = &text[..to];
    let begins = near.len() - near.trim_start().len();
    let end = ends(near).find(|end| *end > begins).unwrap_or(near.len());
    near[..end].trim_end()
}

/// A call that is not too long to show, or its two ends.
fn cut(call: &str) -> String {
    let head = call.char_indices().nth(REACH).map(|(at, _)| at);
    let tail = call.char_indices().rev().nth(REACH - 1).map(|(at, _)| at);
    match (head, tail) {
        (Some(head), Some(tail)) if head < tail => format!("{} … {}", &call[..head], &call[tail..]),
        _ => call.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn around(text: &str, call: &str) -> String {
        let from = text.find(call).unwrap();
        let from = text[..from].chars().count();
        sentence_around(text, (from, from + call.chars().count()))
    }

    #[test]
    fn the_sentence_before_and_after_a_call_is_shown() {
        let text = "I cannot do this. The call would look like this:\n{call}\nPlease confirm. Then I go on.";
        assert_eq!(around(text, "{call}"), "The call would look like this:\n{call}\nPlease confirm.");
        assert_eq!(
            around("我不会运行。例如 {call} 就会删除它。再见。", "{call}"),
            "例如 {call} 就会删除它。"
        );
        assert_eq!(around("See a.txt.\n\nAn example\n\n{call}", "{call}"), "An example\n\n{call}");
        assert_eq!(around("{call}", "{call}"), "{call}");
    }

    #[test]
    fn a_long_call_shows_its_ends() {
        let call = format!("<{}>", "x".repeat(3 * REACH));
        let shown = around(&format!("Not this: {call} I said."), &call);
        assert!(shown.starts_with("Not this: <xx") && shown.ends_with("xx> I said."), "{shown}");
        assert!(shown.len() < 3 * REACH);
    }

    proptest! {
        #[test]
        fn any_span_has_a_bounded_sentence(text in "[a.。\n é{}]{0,300}", from in 0usize..400, to in 0usize..400) {
            let shown = sentence_around(&text, (from, to));
            prop_assert!(shown.chars().count() <= 5 * REACH);
        }
    }
}
