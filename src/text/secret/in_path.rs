//! Secrets in the path of an address: some services put the key there instead of into a header.

/// What keys of well-known services begin with.
const PREFIXES: &str = "sk- sk_ pk- pk_ rk_ key- key_ tok- tok_ ghp_ gho_ ghu_ ghs_ github_pat_ glpat- xoxb- xoxp- xapp- hf_ npm_ \
    pypi- AKIA ASIA AIza ya29. eyJ whsec_ smithery_ mcp_";
/// The shortest key after such a beginning.
const SHORTEST_PREFIXED: usize = 8;
/// The shortest row of letters and digits that is taken for random.
const SHORTEST_RANDOM: usize = 16;
/// The same without any digit, if capital and small letters are mixed.
const SHORTEST_LETTERS: usize = 32;

/// A path with `***` in the place of each segment that looks like a key.
pub fn shown_path(path: &str) -> String {
    let segments = path.split('/').map(|segment| if is_secret_segment(segment) { "***" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

/// The segments of a path that look like keys.
pub fn secret_segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| is_secret_segment(segment))
}

/// Whether a segment of a path looks like a key and not like a word: a known beginning, a UUID, or a long row of
/// letters and digits without a pause.
fn is_secret_segment(segment: &str) -> bool {
    let rest = PREFIXES.split(' ').find_map(|prefix| segment.strip_prefix(prefix));
    let is_key =
        |rest: &str| rest.len() >= SHORTEST_PREFIXED && rest.bytes().any(|byte| byte.is_ascii_digit());
    rest.is_some_and(is_key)
        || is_uuid(segment)
        || segment.split(['-', '_', '.', '~', ':', '=']).any(is_random)
}

fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(is_hex)
}

fn is_random(piece: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| piece.as_bytes().iter().any(kind);
    let (digits, letters) = (has(u8::is_ascii_digit), has(u8::is_ascii_alphabetic));
    let is_plain = piece.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    is_plain
        && ((piece.len() >= SHORTEST_RANDOM && digits && letters)
            || (piece.len() >= SHORTEST_LETTERS && is_mixed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_hidden_and_words_stay() {
        for (path, shown) in [
            ("/mcp/sk-abcdef1234567890/", "/mcp/***/"),
            ("/s/3fa85f64-5717-4562-b3fc-2c963f66afa6/mcp", "/s/***/mcp"),
            ("/api/mcp/s/NjE5ZTQ4YjYtYWJjZC00/sse", "/api/mcp/s/***/sse"),
            ("/v1/ghp_16C7e42F292c6912E7710c838347Ae178B4a", "/v1/***"),
            ("/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig/mcp", "/***/mcp"),
            ("/QmFzZVNpeHRZRm91clRleHRXaXRob3V0RGlnaXRz", "/***"),
        ] {
            assert_eq!(shown_path(path), shown);
        }
        for path in [
            "/mcp",
            "/",
            "",
            "/v1/projects/my-long-project-name-2026/servers/everything",
            "/2025-06-18/schema.json",
            "/sse/github-mcp-server",
            "/.well-known/oauth-protected-resource/mcp",
            "/internationalization/getAllUsersOfATeam",
            "/mcp_server/sk-learn/key-value",
            "/20261116123456789",
        ] {
            assert_eq!(shown_path(path), path);
        }
    }

    proptest! {
        #[test]
        fn a_path_of_any_text_keeps_its_segments(path in "\\PC{0,80}") {
            prop_assert_eq!(shown_path(&path).split('/').count(), path.split('/').count());
        }

        #[test]
        fn a_random_key_is_never_shown(key in "[A-Za-z0-9]{20}[0-9][a-z]") {
            let path = format!("/mcp/{key}/sse");
            prop_assert_eq!(shown_path(&path), "/mcp/***/sse");
            prop_assert_eq!(secret_segments(&path).collect::<Vec<_>>(), [key]);
        }
    }
}
