//! Simple merge: each answer cut to a limit, labelled with where it comes from, joined; the same answer given twice is
//! shown once and says so.

/// How many characters of each answer are kept unless told otherwise.
pub const PART_LIMIT: usize = 300;

/// One answer and the label of its provider.
#[derive(Clone, Debug)]
pub struct Part {
    pub label: String,
    pub text: String,
}

pub fn simple(parts: &[Part], limit: usize) -> String {
    let mut groups: Vec<(Vec<&str>, String, &str)> = Vec::new();
    for part in parts {
        let folded = fold(&part.text);
        match groups.iter_mut().find(|(_, known, _)| *known == folded) {
            Some((labels, _, _)) => labels.push(&part.label),
            None => groups.push((vec![&part.label], folded, &part.text)),
        }
    }
    let shown = groups.iter().map(|(labels, _, text)| match labels.as_slice() {
        [one] => format!("[{one}] {}", cut(text, limit)),
        many => format!("[{}] (same answer from {}) {}", many.join(", "), many.len(), cut(text, limit)),
    });
    shown.collect::<Vec<_>>().join("\n\n")
}

/// Two answers are the same when they differ only in case, space and punctuation.
fn fold(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn cut(text: &str, limit: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(label: &str, text: &str) -> Part {
        Part { label: label.into(), text: text.into() }
    }

    #[test]
    fn answers_are_labelled_and_joined() {
        let merged = simple(&[part("tools", "one"), part("mcps:brave", "two")], PART_LIMIT);
        assert_eq!(merged, "[tools] one\n\n[mcps:brave] two");
    }

    #[test]
    fn the_same_answer_is_shown_once() {
        let merged = simple(&[part("tools", "It is 5 pm."), part("mcps:t", "it is  5 PM")], PART_LIMIT);
        assert_eq!(merged, "[tools, mcps:t] (same answer from 2) It is 5 pm.");
    }

    #[test]
    fn long_answers_are_cut_by_characters() {
        let merged = simple(&[part("a", &"é".repeat(500)), part("b", "x")], 300);
        assert_eq!(merged.chars().filter(|c| *c == 'é').count(), 300);
    }
}
