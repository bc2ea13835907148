//! Parts of URLs as they are meant.

/// The text without its percent signs; what they do not encode stays.
pub fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_encoding_is_undone() {
        assert_eq!(percent_decoded("p%40ss%C3%A9%zz%"), "p@ssé%zz%");
    }
}
