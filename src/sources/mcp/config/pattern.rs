//! Patterns for tool names: `*` is any text, `?` one character, all else itself.

/// Whether the whole name fits. The last `*` is the only one that is tried again, so the work is at most
/// the product of both lengths, whatever the pattern.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // What follows the last `*`, and the part of the name that it has not taken yet.
    let mut again = None;
    loop {
        let name_here = name.clone();
        match (pattern.next(), name.next()) {
            (Some('*'), _) => {
                again = Some((pattern.clone(), name_here.clone()));
                name = name_here;
            }
            (None, None) => return true,
            (Some(p), Some(n)) if p == '?' || p == n => {}
            _ => {
                let Some((after, mut left)) = again.take() else { return false };
                if left.next().is_none() {
                    return false;
                }
                again = Some((after.clone(), left.clone()));
                (pattern, name) = (after, left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fits;
    use proptest::prelude::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("read_*", "read_file", true),
            ("read_*", "reread_file", false),
            ("*_file", "read_file", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxa", false),
            ("?et", "get", true),
            ("?et", "et", false),
            ("get", "GET", false),
            ("天?", "天气", true),
            ("a*b", "aXbXb", true),
            ("**", "x", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern:?} {name:?}");
        }
    }

    #[test]
    fn many_stars_are_not_slow() {
        assert!(!fits(&"*a".repeat(200), &"a".repeat(199)));
        assert!(!fits(&format!("{}b", "a*".repeat(200)), &"a".repeat(2000)));
    }

    proptest! {
        #[test]
        fn a_name_fits_itself_and_what_was_cut_out_of_it(name in "[a-z_]{0,12}", at in 0usize..12, length in 0usize..12) {
            prop_assert!(fits(&name, &name));
            let start = at.min(name.len());
            let end = (start + length).min(name.len());
            let with_star = format!("{}*{}", &name[..start], &name[end..]);
            prop_assert!(fits(&with_star, &name));
            let with_marks = format!("{}{}{}", &name[..start], "?".repeat(end - start), &name[end..]);
            prop_assert!(fits(&with_marks, &name));
        }
    }
}
