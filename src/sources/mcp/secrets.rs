//! The secrets that a server got from the hub. They are cut out of every text that it gives back.

use super::config::{Endpoint, ServerConfig};
use crate::error::{ErrorContent, HubError};
use crate::secret::{Redactor, Secret, is_secret_name};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parking_lot::RwLock;
use reqwest::Url;
use serde_json::Value;
use std::sync::Arc;

/// Shorter values are words, and hiding them would only garble the texts.
const SHORTEST: usize = 8;
/// The same for values whose name says that they are secret.
const SHORTEST_NAMED: usize = 4;
/// A server may still answer with a token that was replaced meanwhile.
const KEPT_TOKENS: usize = 4;

/// Values of the environment, headers and query, and the tokens of logins.
#[derive(Default)]
pub struct ServerSecrets(RwLock<KnownSecrets>);

#[derive(Default)]
struct KnownSecrets {
    configured: Vec<Secret>,
    /// The last ones that a login gave, as headers.
    authorizations: Vec<String>,
    redactor: Redactor,
}

impl KnownSecrets {
    fn update(&mut self) {
        let mut found = FoundSecrets(self.configured.clone());
        self.authorizations.iter().for_each(|header| found.header(header));
        self.redactor = Redactor::new(found.0);
    }
}

impl ServerSecrets {
    pub fn of(config: &ServerConfig) -> Arc<Self> {
        let secrets = ServerSecrets::default();
        // Those of a remote server are added when its address is read.
        if let Endpoint::Stdio(command) = &config.endpoint {
            let mut found = FoundSecrets::default();
            command.env.iter().for_each(|(name, value)| found.setting(name, value));
            found.options(&command.args);
            secrets.configure(found);
        }
        Arc::new(secrets)
    }

    /// The secrets of a remote server.
    pub fn set_remote(&self, url: &Url, headers: &[(String, String)]) {
        let mut found = FoundSecrets::default();
        headers.iter().for_each(|(_, value)| found.header(value));
        found.url(url);
        self.configure(found);
    }

    fn configure(&self, found: FoundSecrets) {
        let mut known = self.0.write();
        known.configured = found.0;
        known.update();
    }

    /// Remembers an `Authorization` header that a login gave.
    pub fn add_authorization(&self, header: &str) {
        let mut known = self.0.write();
        if known.authorizations.last().is_some_and(|last| last == header) {
            return;
        }
        known.authorizations.push(header.to_owned());
        if known.authorizations.len() > KEPT_TOKENS {
            known.authorizations.remove(0);
        }
        known.update();
    }

    /// A text of the server without the secrets.
    pub fn hide(&self, text: String) -> String {
        self.0.read().redactor.hide(text)
    }

    /// A text of the server made fit for an error message: short, one line, without the secrets.
    pub fn quote(&self, text: &str) -> String {
        self.0.read().redactor.quote(text)
    }

    pub fn hide_error(&self, mut error: HubError) -> HubError {
        if self.is_empty() {
            return error;
        }
        error.message = self.hide(error.message.into_owned()).into();
        error.content = error.content.map(|sent| {
            let ErrorContent { content, structured, meta, raw } = (*sent).clone();
            let hide = |value: Option<Value>| value.map(|value| self.hide_json(value));
            let mut hidden = ErrorContent {
                content: self.hide_json(content),
                structured: hide(structured),
                meta: hide(meta),
                raw: None,
            };
            // Members of the result that nothing else here knows may hold a secret too.
            hidden.raw = raw.filter(|raw| hidden == *sent && self.hide(raw.get().to_owned()) == raw.get());
            Arc::new(hidden)
        });
        error
    }

    /// The same value with the secrets cut out of its texts.
    pub fn hide_json(&self, value: Value) -> Value {
        match value {
            _ if self.is_empty() => value,
            Value::String(text) => Value::String(self.hide(text)),
            Value::Array(items) => items.into_iter().map(|item| self.hide_json(item)).collect(),
            Value::Object(map) => Value::Object(
                map.into_iter().map(|(key, item)| (self.hide(key), self.hide_json(item))).collect(),
            ),
            other => other,
        }
    }

    fn is_empty(&self) -> bool {
        self.0.read().redactor.is_empty()
    }
}

#[derive(Default)]
struct FoundSecrets(Vec<Secret>);

impl FoundSecrets {
    /// A variable of the environment. Most are not secret, but their names do not always say so; paths are shown.
    fn setting(&mut self, name: &str, value: &str) {
        let is_path = value.starts_with(['/', '.', '~']) || value.get(1..3) == Some(":\\");
        if is_secret_name(name) {
            self.add(value, SHORTEST_NAMED);
        } else if !is_path {
            self.add(value, SHORTEST);
        }
        if let Ok(url) = Url::parse(value) {
            self.url(&url);
        }
    }

    /// `--api-key VALUE` and `--api-key=VALUE`.
    fn options(&mut self, args: &[String]) {
        for (index, arg) in args.iter().enumerate() {
            let Some(option) = arg.strip_prefix('-') else { continue };
            match option.split_once('=') {
                Some((name, value)) if is_secret_name(name) => self.add(value, SHORTEST_NAMED),
                None if is_secret_name(option) => {
                    if let Some(value) = args.get(index + 1) {
                        self.add(value, SHORTEST_NAMED);
                    }
                }
                _ => {}
            }
        }
    }

    /// `Bearer abc…` may come back as `abc…`, and `Basic …` as the password inside.
    fn header(&mut self, value: &str) {
        self.add(value, SHORTEST);
        value.split_whitespace().for_each(|part| self.add(part, SHORTEST));
        let basic = value.strip_prefix("Basic ").and_then(|text| BASE64_STANDARD.decode(text.trim()).ok());
        if let Some((_, password)) =
            basic.as_deref().and_then(|pair| std::str::from_utf8(pair).ok()?.split_once(':'))
        {
            self.add(password, SHORTEST_NAMED);
        }
    }

    /// The password becomes a header, and the query is sent as it is.
    fn url(&mut self, url: &Url) {
        for (name, value) in url.query_pairs() {
            self.add(&value, if is_secret_name(&name) { SHORTEST_NAMED } else { SHORTEST });
        }
        if let Some(password) = url.password() {
            let decoded = percent_decoded(password);
            self.add(
                &BASE64_STANDARD.encode(format!("{}:{decoded}", percent_decoded(url.username()))),
                SHORTEST,
            );
            self.add(password, SHORTEST_NAMED);
            self.add(&decoded, SHORTEST_NAMED);
        }
    }

    /// The value and the forms that it has inside a URL and inside JSON.
    fn add(&mut self, value: &str, shortest: usize) {
        let value = value.trim();
        if value.len() < shortest {
            return;
        }
        self.0.push(Secret::new(value));
        let quoted = Value::from(value).to_string();
        let encoded: String = url_encoded(value);
        for form in [quoted.trim_matches('"'), &encoded] {
            if form != value {
                self.0.push(Secret::new(form));
            }
        }
    }
}

fn url_encoded(value: &str) -> String {
    let mut url = String::new();
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => url.push(char::from(byte)),
            byte => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hidden(add: impl FnOnce(&mut FoundSecrets), text: &str) -> String {
        let mut found = FoundSecrets::default();
        add(&mut found);
        Redactor::new(found.0).hide(text.to_owned())
    }

    #[test]
    fn each_form_of_a_secret_is_found() {
        let url = Url::parse("https://me:p%40ss@a.example/mcp?key=s3cr&page=next-page").unwrap();
        assert_eq!(hidden(|found| found.url(&url), "p@ss p%40ss s3cr bWU6cEBzcw=="), "*** *** *** ***");
        assert_eq!(hidden(|found| found.header("Bearer abcdefgh"), "abcdefgh"), "***");
        assert_eq!(hidden(|found| found.header("Basic bWU6c2VjcmV0"), "secret"), "***");
        assert_eq!(hidden(|found| found.setting("TOKEN", "a\"bc"), r#"{"t": "a\"bc"}"#), r#"{"t": "***"}"#);
        assert_eq!(hidden(|found| found.setting("TOKEN", "a bc"), "?t=a%20bc"), "?t=***");
        let args =
            ["--api-key".to_owned(), "k-12".to_owned(), "--token=t-34".to_owned(), "--level".to_owned()];
        assert_eq!(hidden(|found| found.options(&args), "k-12 t-34 --level"), "*** *** --level");
    }

    #[test]
    fn words_and_paths_stay() {
        assert_eq!(hidden(|found| found.setting("MODE", "debug"), "debug"), "debug");
        assert_eq!(hidden(|found| found.setting("HOME", "/home/ann"), "/home/ann/x"), "/home/ann/x");
    }

    #[test]
    fn the_tokens_of_a_login_are_hidden_also_after_the_next_one() {
        let secrets = ServerSecrets::default();
        secrets.add_authorization("Bearer first-token");
        secrets.add_authorization("Bearer other-token");
        assert_eq!(secrets.hide("first-token other-token".into()), "*** ***");
    }

    proptest! {
        #[test]
        fn percent_encoding_is_undone(text in ".{0,40}") {
            prop_assert_eq!(percent_decoded(&url_encoded(&text)), text);
        }
    }
}
