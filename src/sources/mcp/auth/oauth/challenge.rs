//! The parameters of a `WWW-Authenticate` header.

/// The parameters of a `Bearer` challenge (RFC 6750, RFC 9728). What is not understood is skipped.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) scopes: Vec<String>,
    pub(super) error: Option<String>,
    pub(super) resource_metadata: Option<String>,
}

impl Challenge {
    /// Reads a header value, or several joined by commas. Of a parameter that is there twice the first counts.
    pub(super) fn parse(header: &str) -> Self {
        let mut found = Challenge::default();
        let mut rest = header;
        let mut ours = false;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if rest.is_empty() {
                return found;
            }
            let (name, after) = token(rest);
            if name.is_empty() {
                // No token begins here: step over one character, whatever it is.
                rest = rest.char_indices().nth(1).map_or("", |(next, _)| &rest[next..]);
                continue;
            }
            match after.trim_start().strip_prefix('=') {
                Some(value) => {
                    let (value, after) = parameter(value.trim_start());
                    if ours {
                        found.take(name, value);
                    }
                    rest = after;
                }
                None => {
                    ours = name.eq_ignore_ascii_case("bearer");
                    rest = after;
                }
            }
        }
    }

    fn take(&mut self, name: &str, value: String) {
        if name.eq_ignore_ascii_case("scope") && self.scopes.is_empty() {
            self.scopes = value.split_whitespace().map(str::to_owned).collect();
        } else if name.eq_ignore_ascii_case("error") {
            self.error.get_or_insert(value);
        } else if name.eq_ignore_ascii_case("resource_metadata") {
            self.resource_metadata.get_or_insert(value);
        }
    }

    pub(super) fn wants_more_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

fn token(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c)));
    text.split_at(end.unwrap_or(text.len()))
}

/// A quoted string or a bare word, and what follows.
fn parameter(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (word, after) = text.split_at(text.find([',', ' ', '\t']).unwrap_or(text.len()));
        return (word.to_owned(), after);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_bearer_challenge_among_others() {
        let found = Challenge::parse(
            r#"Basic realm="a, Bearer scope=\"no\"", bearer error = insufficient_scope, scope="a b" , resource_metadata="https://x/y?z=1,2", DPoP scope="c""#,
        );
        assert_eq!(found.scopes, ["a", "b"]);
        assert!(found.wants_more_scope());
        assert_eq!(found.resource_metadata.as_deref(), Some("https://x/y?z=1,2"));
    }

    #[test]
    fn nothing_is_found_where_nothing_is() {
        for header in ["", "Bearer", "Negotiate abc==", "Basic scope=\"a\"", "= , =\"", "Bearer scope=\"\""] {
            assert_eq!(Challenge::parse(header), Challenge::default(), "{header}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_survived(header in "\\PC*") {
            Challenge::parse(&header);
            Challenge::parse(&format!("Bearer {header}"));
        }

        #[test]
        fn a_quoted_value_comes_back(value in "[ -~]*") {
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            let found = Challenge::parse(&format!("Bearer realm=x, resource_metadata=\"{quoted}\", error=e"));
            prop_assert_eq!(found.resource_metadata, Some(value));
            prop_assert_eq!(found.error.as_deref(), Some("e"));
        }
    }
}
