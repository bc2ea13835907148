//! Names that say that what they stand for must not be shown.

use crate::text::words;

/// Only the end of a very long name is read.
const READ_BYTES: usize = 300;

/// A name that ends with one of these words, singular or plural, names a secret.
const WORDS: &[&str] = &[
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "connstr",
    "cookie",
    "credential",
    "cvc",
    "cvv",
    "dsn",
    "jwt",
    "key",
    "otp",
    "passkey",
    "pwd",
    "session",
    "token",
];
/// Endings of a word, since many names run words together: `mypassword`, `accesstoken`.
const ENDINGS: &[&str] = &[
    "accesskey",
    "apikey",
    "authcode",
    "authheader",
    "connectionstring",
    "cookie",
    "cookiejar",
    "credential",
    "credentialsfile",
    "encryptionkey",
    "jwt",
    "keyfile",
    "masterkey",
    "oauth",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwort",
    "privatekey",
    "pwd",
    "pwdhash",
    "secret",
    "secretkey",
    "sessid",
    "sessionid",
    "sessionkey",
    "signingkey",
    "sshkey",
    "token",
    "xsrf",
    // Names in Chinese have no spaces between words.
    "密码",
    "口令",
    "密钥",
    "令牌",
    "凭证",
    "凭据",
    "密匙",
    "会话",
    "授权码",
    "验证码",
    "连接字符串",
];
const PAIRS: &[[&str; 2]] =
    &[["conn", "str"], ["connection", "string"], ["database", "url"], ["db", "url"], ["pass", "code"]];
/// `db_pass`, but not a boarding pass.
const HAVE_A_PASS: &[&str] = &["admin", "db", "ftp", "imap", "mail", "mysql", "root", "smtp", "user"];
/// Keys that are shown: they name something, or are meant to be known.
const OPEN_KEYS: &[&str] = &[
    "cache",
    "foreign",
    "group",
    "hot",
    "idempotency",
    "partition",
    "primary",
    "public",
    "row",
    "shortcut",
    "sort",
];
/// `max_tokens` is a number of tokens of a text.
const COUNTED: &[&str] = &[
    "budget",
    "cached",
    "completion",
    "input",
    "limit",
    "max",
    "min",
    "num",
    "output",
    "prompt",
    "reasoning",
    "total",
];
/// Words after a secret's name that do not make it harmless: `session_id`, `auth_header`, `password_hash`.
const CARRIERS: &[&str] = &[
    "b64",
    "base64",
    "code",
    "confirm",
    "confirmation",
    "file",
    "hash",
    "header",
    "id",
    "jar",
    "plain",
    "raw",
    "text",
    "value",
];

/// Whether the name is that of a secret. What counts is the end of the name: `access_token` is a secret, `token_count` is
/// not.
pub fn is_secret_name(name: &str) -> bool {
    let start = name.ceil_char_boundary(name.len().saturating_sub(READ_BYTES));
    let words = words(&name[start..]);
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    while let [_, .., last] = words[..]
        && (CARRIERS.contains(&last) || last.bytes().all(|b| b.is_ascii_digit()))
    {
        words.pop();
    }
    let Some(&last) = words.last() else { return false };
    let before = words.len().checked_sub(2).map_or("", |at| words[at]);
    let single = last.strip_suffix('s').filter(|single| !single.ends_with('s')).unwrap_or(last);
    if single == "key" && OPEN_KEYS.contains(&before) || last == "tokens" && COUNTED.contains(&before) {
        return false;
    }
    // The plural of a session is a list of meetings as often as not.
    (WORDS.contains(&single) && last != "sessions")
        || ENDINGS.iter().any(|ending| single.ends_with(ending))
        || PAIRS.contains(&[before, single])
        || last == "pass" && HAVE_A_PASS.contains(&before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_end_of_a_name_says_that_it_is_a_secret() {
        for name in [
            "password",
            "userPassword",
            "passwordConfirm",
            "auth_code",
            "connectionstring",
            "JSESSIONID",
            "userpwd",
            "sshKey",
            "sshkey",
            "oauth2",
            "授权码",
            "DB_PASSWORD",
            "my-passwd",
            "pwd",
            "smtp_pass",
            "passphrase",
            "secret",
            "client_secret",
            "CLIENT_SECRETS",
            "accessToken",
            "accesstoken",
            "refresh_tokens",
            "X-Api-Key",
            "apikey",
            "OPENAI_API_KEY",
            "key",
            "signing_key_2",
            "private.key",
            "Cookie",
            "Set-Cookie",
            "session",
            "sessionId",
            "jwt",
            "bearer",
            "auth",
            "basic_auth",
            "Authorization",
            "Proxy-Authorization",
            "auth_header",
            "credentials",
            "connection_string",
            "connectionString",
            "DATABASE_URL",
            "password_hash",
            "otp",
            "密码",
            "用户密码",
            "访问令牌",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn words_that_only_look_like_it_are_shown() {
        for name in [
            "monkey",
            "author",
            "authority",
            "keyboard",
            "keyword",
            "token_count",
            "max_tokens",
            "totalTokens",
            "tokenizer",
            "compass",
            "compass_code",
            "boarding_pass",
            "pass",
            "password_length",
            "secret_name",
            "auth_type",
            "public_key",
            "primary_key",
            "sort_key",
            "cookie_policy",
            "obsession",
            "sessions",
            "path",
            "url",
            "id",
            "query",
            "2",
            "",
            "密度",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn the_end_of_a_very_long_name_counts() {
        assert!(is_secret_name(&format!("{}_api_key", "x_".repeat(100_000))));
        assert!(!is_secret_name(&format!("api_key_{}", "é".repeat(100_000))));
    }

    proptest! {
        #[test]
        fn any_name_can_be_asked_and_the_style_does_not_matter(
            any in "\\PC{0,400}", words in proptest::collection::vec("[a-z]{2,8}", 0..4)
        ) {
            is_secret_name(&any);
            let named = |separator: &str| {
                let mut words = words.clone();
                words.extend(["client".to_owned(), "secret".to_owned()]);
                words.join(separator)
            };
            for separator in ["_", "-", ".", " "] {
                prop_assert!(is_secret_name(&named(separator)));
            }
        }
    }
}
