//! Names that say that what they stand for must not be shown.

use crate::{has_word, words};

/// Only the end of a very long name is read.
const READ_BYTES: usize = 300;

/// Keys under which an entry has its name: `{"name": "Authorization", "value": "…"}`.
pub const LABELS: [&str; 4] = ["name", "key", "header", "label"];

/// No shorter name is that of a secret.
const SHORTEST: usize = 2;

/// A name that ends with one of these words, singular or plural, names a secret.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "apikey", "auth", "authentication", "authorization", "bearer", "connstr", "cookie", "cred", "credential", "csrf",
    "cvc", "cvv", "dsn", "hmac", "jwt", "kennwort", "key", "keystore", "mdp", "mfa", "mnemonic", "otp", "parola", "pem",
    "passkey", "passwd", "pswd", "psw", "pw", "pwd", "salt", "senha", "session", "sig", "signature", "ssn", "token",
    "totp", "wachtwoord",
];
/// The same for words that are something else in the plural: `sessions` are meetings, `pins` are on a map.
const SINGULAR_WORDS: &[&str] = &["pin", "private", "session", "sid"];
/// Endings of a word, since many names run words together: `mypassword`, `accesstoken`. A name that separates the parts of
/// one (`pass_word`, `connection_string`) ends with it too.
#[rustfmt::skip]
const ENDINGS: &[&str] = &[
    "accesscode", "accesskey", "apikey", "authcode", "authheader", "backupcode", "confirmationcode",
    "connectionstring", "connstr", "contrasena", "contraseña", "cookie", "cookiejar", "credential",
    "credentialsfile", "databaseurl", "dburl", "encryptionkey", "jwt", "keyfile", "masterkey", "mongouri", "mongourl", "motdepasse", "oauth",
    "passcode", "passphrase", "passwd", "password", "passwort", "pincode", "privatekey", "pwd", "pwdhash",
    "redisurl", "sasurl", "webhookurl",
    "recoverycode", "recoveryphrase", "secret", "secretkey", "securitycode", "seedphrase", "sessid", "sessionid",
    "sessionkey", "signingkey", "sshkey", "token", "verificationcode", "xsrf", "пароль", "токен",
    // Names in Chinese, Japanese and Korean have no spaces between words.
    "密码", "密碼", "口令", "密钥", "密鑰", "密匙", "私钥", "私鑰", "金钥", "金鑰", "秘钥", "令牌", "权杖", "權杖", "凭证", "凭据",
    "憑證", "会话", "會話", "授权", "授權", "授权码", "授權碼", "验证", "驗證", "验证码", "驗證碼", "校验码", "动态码", "安全码",
    "认证", "認證", "认证码", "鉴权", "鑑權", "签名", "簽名", "助记词", "助記詞", "密保", "暗号", "暗號", "连接串", "连接字符串",
    "パスワード", "トークン", "暗証番号", "認証", "秘密鍵", "비밀번호", "암호", "토큰", "인증",
];
/// Endings in Chinese that do not make a secret harmless: 认证信息, 会话标识.
#[rustfmt::skip]
const CARRIERS_WIDE: &[&str] = &[
    "信息", "資訊", "数据", "內容", "内容", "参数", "字段", "标识", "标识符", "哈希", "原文", "明文", "头", "值", "串", "号",
];
/// `pass` and `db_pass`, but not a boarding pass.
const HAVE_A_PASS: &[&str] = &["admin", "db", "ftp", "imap", "mail", "mysql", "root", "smtp", "user"];
/// Keys that are shown: they name something, or are meant to be known.
const OPEN_KEYS: &str = "cache foreign group hot idempotency partition primary public row shortcut sort";
/// Tokens that are shown: places in a list, and parts of a text.
const OPEN_TOKENS: &str = "bos cancellation cls continuation eos mask next pad page progress sep stop unk";
/// `max_tokens` is a number of tokens of a text.
const COUNTED: &str = "budget cached completion input limit max min num output prompt reasoning total";
/// Words after a secret's name that do not make it harmless: `session_id`, `auth_header`, `password_hash`.
#[rustfmt::skip]
const CARRIERS: &[&str] = &[
    "again", "b64", "base64", "blob", "code", "confirm", "confirmation", "current", "data", "digest", "encoded",
    "encrypted", "file", "hash", "header", "hex", "id", "jar", "new", "old", "payload", "plain", "plaintext", "raw",
    "repeat", "salt", "str", "string", "text", "value",
];
/// `is_private` says something about a repository.
const ASKS: &[&str] = &["are", "has", "is", "make", "set", "use"];

/// How sure it is that what a name stands for is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameStrength {
    /// `key` and `tokens`: as often the key of a record and the words of a text.
    Bare,
    /// `session`, `signature`: names of secrets, and of other things that are told in words or have members.
    Weak,
    /// `password`, `api_key`: whatever stands under it.
    Strong,
}

/// Names of secrets that are names of other things too. A token of something (`access_token`) is only a secret.
#[rustfmt::skip]
const WEAK_WORDS: &[&str] = &[
    "auth", "authentication", "bearer", "dsn", "hmac", "jwt", "key", "pem", "private", "salt", "session", "sid",
    "sig", "signature", "token", "认证", "认证码", "認證", "会话", "會話", "授权", "授權", "验证", "驗證", "鉴权", "鑑權", "签名",
    "簽名", "凭证", "憑證", "令牌", "認証", "인증",
];

/// Whether the name is that of a secret. What counts is the end of the name: `access_token` is a secret, `token_count` is
/// not.
pub fn is_secret_name(name: &str) -> bool {
    name_strength(name).is_some()
}

/// Whether a text speaks of a secret in words that mean nothing else: `your password`, `an API key`. A key, a token or a session
/// may be that of anything.
pub fn speaks_of_secret(text: &str) -> bool {
    let words = words(text);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    (1..=words.len()).any(|end| {
        let (name, last) = (&words[..end], words[end - 1]);
        let single = last.strip_suffix('s').unwrap_or(last);
        // Chinese and Japanese have no spaces between words.
        let is_inside =
            |ending: &&&str| !ending.is_ascii() && !WEAK_WORDS.contains(ending) && last.contains(**ending);
        ends_secret(name) && !WEAK_WORDS.contains(&single)
            || ENDINGS.iter().any(|ending| is_split(ending, name, single))
            || ENDINGS.iter().any(|ending| is_inside(&ending))
    })
}

/// Whether this is the flag whose value is the next word of a command line: `--token`.
pub fn is_secret_flag(word: &str) -> bool {
    word.starts_with('-') && !word.contains(['=', ' ']) && is_secret_name(word.trim_start_matches('-'))
}

/// How sure the name is that of a secret; `None` if it is not.
pub(super) fn name_strength(name: &str) -> Option<NameStrength> {
    if name.len() < SHORTEST {
        return None;
    }
    let words = last_words(name);
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let whole = words.len();
    loop {
        if ends_secret(&words) {
            return Some(strength(&words, words.len() == whole));
        }
        match words[..] {
            [_, .., last] if CARRIERS.contains(&last) || last.bytes().all(|b| b.is_ascii_digit()) => {
                words.pop();
            }
            _ => return None,
        }
    }
}

/// The last word of a name.
pub(super) fn last_word(name: &str) -> String {
    last_words(name).pop().unwrap_or_default()
}

fn last_words(name: &str) -> Vec<String> {
    words(&name[name.ceil_char_boundary(name.len().saturating_sub(READ_BYTES))..])
}

/// `is_whole`: nothing was said after these words.
fn strength(words: &[&str], is_whole: bool) -> NameStrength {
    let Some(&last) = words.last() else { return NameStrength::Weak };
    let single = last.strip_suffix('s').unwrap_or(last);
    match words.len() {
        1 if is_whole && (single == "key" || last == "tokens") => NameStrength::Bare,
        2.. if matches!(single, "key" | "token" | "auth" | "cookie") => NameStrength::Strong,
        _ if WEAK_WORDS.contains(&single) => NameStrength::Weak,
        _ => NameStrength::Strong,
    }
}

/// Whether the last of these words name a secret.
fn ends_secret(words: &[&str]) -> bool {
    let Some(&last) = words.last() else { return false };
    let before = words.len().checked_sub(2).map_or("", |at| words[at]);
    let single = last.strip_suffix('s').filter(|single| !single.ends_with('s')).unwrap_or(last);
    let is_open = match single {
        "key" => has_word(OPEN_KEYS, before),
        "token" => has_word(OPEN_TOKENS, before),
        _ => false,
    };
    if is_open || last == "tokens" && has_word(COUNTED, before) {
        return false;
    }
    let is_word = match SINGULAR_WORDS.contains(&single) {
        true => single == last && !ASKS.contains(&before),
        false => WORDS.contains(&single),
    };
    let bare = CARRIERS_WIDE.iter().find_map(|carrier| last.strip_suffix(carrier)).unwrap_or(last);
    is_word
        || ENDINGS.iter().any(|ending| {
            single.ends_with(ending) || bare.ends_with(ending) || is_split(ending, words, single)
        })
        || last == "pass" && (words.len() == 1 || HAVE_A_PASS.contains(&before))
}

/// Whether the last words make up `ending`, which has at least two of them.
fn is_split(ending: &str, words: &[&str], last: &str) -> bool {
    let Some(mut rest) = ending.strip_suffix(last) else { return false };
    for word in words.iter().rev().skip(1) {
        match rest.strip_suffix(word) {
            Some("") => return true,
            Some(shorter) => rest = shorter,
            None => return false,
        }
    }
    false
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
            "sid",
            "connect.sid",
            "pin",
            "pin_code",
            "PINCode",
            "pass_word",
            "passWord",
            "user_pass_word_2",
            "pass-phrase",
            "mot_de_passe",
            "private",
            "verification_code",
            "security_code",
            "token_string",
            "session_data",
            "new_password_again",
            "creds",
            "x-signature",
            "contraseña",
            "认证",
            "认证信息",
            "身份验证",
            "身份驗證",
            "鉴权",
            "签名值",
            "会话标识",
            "密碼",
            "パスワード",
            "비밀번호",
            "pass",
            "redis_url",
            "MONGO_URI",
            "webhookUrl",
            "tls.pem",
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
            "password_length",
            "secret_name",
            "auth_type",
            "public_key",
            "primary_key",
            "next_page_token",
            "pageToken",
            "bos_token",
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
            "pins",
            "is_private",
            "status_code",
            "country_code",
            "zip_code",
            "data",
            "new",
            "text",
            "spin",
            "inside",
            "design",
            "saltwater",
            "validation",
            "password_length_text",
            "word_pass",
            "认识",
            "证书类型",
            "信息",
            "号",
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
