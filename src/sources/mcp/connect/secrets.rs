//! The secrets that a server got from the hub. They are cut out of every text that it gives back.

use crate::mcp::config::{Endpoint, ServerConfig};
use crate::mcp::wire::with_texts;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parking_lot::RwLock;
use reqwest::Url;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use toolhub_protocol::net::percent_decoded;
use toolhub_text::secret::{Redactor, Secret, is_secret_flag, is_secret_name, secret_segments, secrets_in};
use toolhub_types::error::{HubError, UpstreamError};

/// Shorter values are words, and hiding them would only garble the texts.
const SHORTEST: usize = 8;
/// The same for values whose name says that they are secret.
const SHORTEST_NAMED: usize = 4;
/// A server may still answer with a token that was replaced meanwhile.
const KEPT_TOKENS: usize = 4;
/// Headers that a function gave, of all names.
const KEPT_HEADERS: usize = 64;

/// Headers that say what a client wants, not who it is. Their values stay in the texts of servers.
const OPEN_HEADERS: [&str; 7] =
    ["accept", "accept-encoding", "accept-language", "content-type", "host", "origin", "user-agent"];

/// Values of the environment, headers and query, and the tokens of logins.
#[derive(Default)]
pub struct ServerSecrets(RwLock<KnownSecrets>);

#[derive(Default)]
struct KnownSecrets {
    configured: FoundSecrets,
    /// Headers that a login or a function gave: the last values of each name.
    given: Vec<(String, String)>,
    redactor: Redactor,
    /// For those that are secret for certain.
    certain: Redactor,
}

impl KnownSecrets {
    fn update(&mut self) {
        let mut found = self.configured.clone();
        self.given.iter().for_each(|(name, value)| found.header(name, value));
        self.certain = Redactor::new(found.certain.clone());
        self.redactor = Redactor::new(found.certain.into_iter().chain(found.likely));
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
        headers.iter().for_each(|(name, value)| found.header(name, value));
        found.url(url);
        self.configure(found);
    }

    fn configure(&self, found: FoundSecrets) {
        let mut known = self.0.write();
        known.configured = found;
        known.update();
    }

    /// Remembers a header that a login or a function gave for a request.
    pub fn add_header(&self, name: &str, value: &str) {
        let is_it = |(known, before): &(String, String)| known == name && before == value;
        if self.0.read().given.iter().any(is_it) {
            return;
        }
        let mut known = self.0.write();
        let given = &mut known.given;
        given.push((name.to_owned(), value.to_owned()));
        if given.iter().filter(|(known, _)| known == name).count() > KEPT_TOKENS {
            let oldest = given.iter().position(|(known, _)| known == name);
            oldest.map(|oldest| given.remove(oldest));
        } else if given.len() > KEPT_HEADERS {
            given.remove(0);
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
        if self.0.read().redactor.is_empty() {
            return error;
        }
        let whole = self.hide(error.message.to_string());
        let hidden = error.message.map(&|text| self.hide(text.to_owned()));
        // A secret may reach over several arguments.
        error.message = if hidden == *whole { hidden } else { whole.into() };
        if let Some(sent) = error.answer.as_mut().map(Arc::make_mut) {
            let before = sent.clone();
            for value in sent.content.iter_mut().chain(&mut sent.structured).chain(&mut sent.meta) {
                *value = self.hide_json(value.take());
            }
            // Members of the result that nothing else here knows may hold a secret too.
            let is_same =
                |raw: &Arc<RawValue>| *sent == before && self.hide(raw.get().to_owned()) == raw.get();
            sent.raw = before.raw.clone().filter(is_same);
        }
        if let Some(UpstreamError { message, data }) = error.upstream.as_mut().map(Arc::make_mut) {
            *message = self.hide(std::mem::take(message));
            *data = data.take().map(|data| self.hide_json(data));
        }
        error
    }

    /// The same value with the secrets cut out of its texts.
    pub fn hide_json(&self, value: Value) -> Value {
        let redactor = self.0.read().redactor.clone();
        if redactor.is_empty() { value } else { with_texts(value, &|text| redactor.hide(text)) }
    }

    /// A description of the server or of what it offers, without what is secret for certain: it reaches models and the
    /// store. A place or a language from the configuration stays in it, because it tells how the tool works.
    pub fn hide_in_description(&self, raw: Box<RawValue>) -> Box<RawValue> {
        let certain = self.0.read().certain.clone();
        if !certain.finds(raw.get()) {
            return raw;
        }
        let hidden = match serde_json::from_str(raw.get()) {
            Ok(value) => serde_json::value::to_raw_value(&with_texts(value, &|text| certain.hide(text))),
            // Nested deeper than a value may be: the text itself is JSON still.
            Err(_) => RawValue::from_string(certain.hide(raw.get().to_owned())),
        };
        hidden.unwrap_or(raw)
    }
}

#[derive(Clone, Default)]
struct FoundSecrets {
    /// Their name or their place makes them secret.
    certain: Vec<Secret>,
    /// Everything else that was configured and is longer than a word.
    likely: Vec<Secret>,
}

impl FoundSecrets {
    /// A variable of the environment. Most are not secret, but their names do not always say so; paths are shown.
    fn setting(&mut self, name: &str, value: &str) {
        let is_path = value.starts_with(['/', '.', '~']) || value.get(1..3) == Some(":\\");
        if is_secret_name(name) {
            self.add_certain(value);
        } else if !is_path {
            self.add_likely(value);
        }
        self.inside(value);
    }

    /// `--api-key VALUE`, `--api-key=VALUE`, `--header "Authorization: Bearer VALUE"`, `postgres://user:VALUE@host/db`.
    fn options(&mut self, args: &[String]) {
        for (index, arg) in args.iter().enumerate() {
            self.inside(arg);
            if let Some(value) = args.get(index + 1).filter(|_| is_secret_flag(arg)) {
                self.add_certain(value);
            }
        }
    }

    /// Secrets that a longer text shows by their name or place.
    fn inside(&mut self, text: &str) {
        if let Ok(url) = Url::parse(text) {
            self.url(&url);
        }
        for secret in secrets_in(text) {
            self.add_certain(secret);
        }
    }

    /// `Bearer abc…` may come back as `abc…`, `session=abc…; …` as `abc…`, and `Basic …` as the password inside.
    fn header(&mut self, name: &str, value: &str) {
        if OPEN_HEADERS.iter().any(|open| name.eq_ignore_ascii_case(open)) {
            return;
        }
        let is_certain = is_secret_name(name);
        let parts = value.split(|c: char| c.is_whitespace() || matches!(c, ';' | ',' | '='));
        for part in parts.chain(value.split_whitespace()).chain([value]) {
            match is_certain && part.len() >= SHORTEST {
                true => self.add_certain(part),
                false => self.add_likely(part),
            }
        }
        if is_certain {
            self.add_certain(value);
        }
        let basic = value.strip_prefix("Basic ").and_then(|text| BASE64_STANDARD.decode(text.trim()).ok());
        if let Some((_, password)) =
            basic.as_deref().and_then(|pair| std::str::from_utf8(pair).ok()?.split_once(':'))
        {
            self.add_certain(password);
        }
    }

    /// The password becomes a header, and the query is sent as it is.
    fn url(&mut self, url: &Url) {
        for (name, value) in url.query_pairs() {
            match is_secret_name(&name) {
                true => self.add_certain(&value),
                false => self.add_likely(&value),
            }
        }
        secret_segments(url.path()).for_each(|key| self.add_certain(key));
        if let Some(password) = url.password() {
            let decoded = percent_decoded(password);
            self.add_certain(
                &BASE64_STANDARD.encode(format!("{}:{decoded}", percent_decoded(url.username()))),
            );
            self.add_certain(&decoded);
        }
    }

    fn add_certain(&mut self, value: &str) {
        let value = value.trim();
        if value.len() >= SHORTEST_NAMED {
            self.certain.push(Secret::new(value));
        }
        // A key of several lines comes back line by line: in the log, and in lists. Its frame is not a secret.
        if value.contains('\n') {
            let lines = value.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
            self.certain.extend(lines.filter(|line| line.len() >= SHORTEST).map(Secret::new));
        }
    }

    fn add_likely(&mut self, value: &str) {
        if value.trim().len() >= SHORTEST {
            self.likely.push(Secret::new(value.trim()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(add: impl FnOnce(&mut FoundSecrets), text: &str) -> String {
        let mut found = FoundSecrets::default();
        add(&mut found);
        Redactor::new(found.certain.into_iter().chain(found.likely)).hide(text.to_owned())
    }

    #[test]
    fn each_form_of_a_secret_is_found() {
        let url = Url::parse("https://me:p%40ss@a.example/mcp?key=s3cr&page=next-page").unwrap();
        assert_eq!(hidden(|found| found.url(&url), "p@ss p%40ss s3cr bWU6cEBzcw=="), "*** *** *** ***");
        assert_eq!(hidden(|found| found.header("authorization", "Bearer abcdefgh"), "abcdefgh"), "***");
        let url = Url::parse("https://a.example/mcp/sk-5c1e7a90b3/sse").unwrap();
        assert_eq!(hidden(|found| found.url(&url), "no route /mcp/sk-5c1e7a90b3"), "no route /mcp/***");
        assert_eq!(hidden(|found| found.header("authorization", "Basic bWU6c2VjcmV0"), "secret"), "***");
        assert_eq!(hidden(|found| found.setting("TOKEN", "a\"bc"), r#"{"t": "a\"bc"}"#), r#"{"t": "***"}"#);
        assert_eq!(hidden(|found| found.setting("TOKEN", "a bc"), "?t=a%20bc"), "?t=***");
        let args =
            ["--api-key".to_owned(), "k-12".to_owned(), "--token=t-34".to_owned(), "--level".to_owned()];
        assert_eq!(hidden(|found| found.options(&args), "k-12 t-34 --level"), "*** *** --level");
        let args = [
            "--header".to_owned(),
            "Authorization: Bearer sesame".to_owned(),
            "postgres://u:p-56@h/db".to_owned(),
        ];
        assert_eq!(hidden(|found| found.options(&args), "sesame p-56"), "*** ***");
        assert_eq!(
            hidden(|found| found.header("Cookie", "session=abcdefgh; theme=dark"), "abcdefgh dark"),
            "*** dark"
        );
        assert_eq!(hidden(|found| found.header("X-Api-Key", "k-12"), "k-12"), "***");
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvabcdefgh\nQQQQabcdefgh\n-----END PRIVATE KEY-----\n";
        assert_eq!(
            hidden(|found| found.setting("PRIVATE_KEY", key), "QQQQabcdefgh:MIIEvabcdefgh"),
            "***:***"
        );
    }

    #[test]
    fn words_and_paths_stay() {
        assert_eq!(hidden(|found| found.setting("MODE", "debug"), "debug"), "debug");
        assert_eq!(hidden(|found| found.setting("HOME", "/home/ann"), "/home/ann/x"), "/home/ann/x");
        assert_eq!(
            hidden(|found| found.header("Accept", "application/json"), "application/json"),
            "application/json"
        );
    }

    #[test]
    fn the_tokens_of_a_login_are_hidden_also_after_the_next_one() {
        let secrets = ServerSecrets::default();
        secrets.add_header("authorization", "Bearer first-token");
        secrets.add_header("authorization", "Bearer other-token");
        assert_eq!(secrets.hide("first-token other-token".into()), "*** ***");
    }

    #[test]
    fn only_what_is_certainly_secret_is_cut_out_of_descriptions() {
        let mut found = FoundSecrets::default();
        found.setting("TIMEZONE", "Europe/Berlin");
        found.setting("API_KEY", "k-123456");
        let secrets = ServerSecrets::default();
        secrets.configure(found);
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let deep =
            |text: &str| format!(r#"{{"about": "{text}", "n": {}{}}}"#, "[".repeat(200), "]".repeat(200));
        let described = secrets.hide_in_description(raw(&deep("Europe/Berlin, K-123456")));
        assert_eq!(described.get(), deep("Europe/Berlin, ***"));
        let described =
            secrets.hide_in_description(raw(r#"{"about":"Europe/Berlin, K-123456","k-123456":1}"#));
        assert_eq!(described.get(), r#"{"about":"Europe/Berlin, ***","***":1}"#);
    }
}
