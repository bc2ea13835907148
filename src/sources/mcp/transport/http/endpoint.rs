//! The server as HTTP sees it: its address, what every request to it carries, and one exchange with it.
//!
//! Headers and bodies go to the configured origin and nowhere else: redirects are followed by hand, inside of it.

use super::client::{ExchangeError, HttpClient, HttpResponse, OutgoingBody, client};
use crate::mcp::auth::Credentials;
use crate::mcp::convert::unreadable;
use crate::mcp::secrets::ServerSecrets;
use crate::web::{WrongHeader, checked_header, shown_url};
use arc_swap::ArcSwapOption;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::header::{TRANSFER_ENCODING, WWW_AUTHENTICATE};
use reqwest::{Method, Url};
use std::sync::Arc;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};

const MOST_REDIRECTS: usize = 5;
/// A login, then one more for a wider scope, then one for chance.
const MOST_RENEWALS: usize = 3;

/// Where a server is and what it gets.
pub struct HttpOptions {
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// The bytes of one message, after unpacking.
    pub limit: usize,
    /// Credentials that change: a callable, OAuth.
    pub credentials: Option<Arc<dyn Credentials>>,
    /// Gets the secrets of all these options, and hides them in what the server says.
    pub secrets: Arc<ServerSecrets>,
}

pub(crate) struct HttpEndpoint {
    pub(super) client: HttpClient,
    /// Without user and password: they have become a header.
    pub(crate) url: Url,
    /// What the configuration wants every request to carry.
    pub(crate) headers: HeaderMap,
    /// The address as it may be shown.
    pub(crate) shown: String,
    pub(crate) limit: usize,
    secrets: Arc<ServerSecrets>,
    credentials: Option<Arc<dyn Credentials>>,
    /// From where to where the last POST that was answered was redirected, until one fails: a call that goes there at once is
    /// sent once.
    moved: ArcSwapOption<(Url, Url)>,
}

impl HttpEndpoint {
    /// Checks the configuration; nothing is connected yet.
    pub(crate) fn new(options: HttpOptions) -> Result<Self> {
        let mut url = checked_url(&options.url)?;
        let (client, mut headers) = client(&url).map_err(|reason| {
            unusable(message!(
                "The HTTP client cannot be set up ({}); https needs the system's CA certificates",
                reason
            ))
        })?;
        options.secrets.set_remote(&url, &options.headers);
        // A URL with a host can go without both.
        let _ = (url.set_username(""), url.set_password(None));
        for (name, value) in &options.headers {
            let (name, value) = header(name, value)?;
            if name == AUTHORIZATION {
                headers.insert(name, value);
            } else {
                headers.append(name, value);
            }
        }
        Ok(HttpEndpoint {
            client,
            shown: shown_url(&url),
            url,
            headers,
            limit: options.limit,
            secrets: options.secrets,
            credentials: options.credentials,
            moved: ArcSwapOption::empty(),
        })
    }

    /// Sends a request and waits for the head of the response, whatever it says. `headers` may be asked again, for a
    /// redirect and for new credentials. With both the server says that it has not taken the request; that is reason enough to
    /// send it there, and none to send it elsewhere.
    pub(crate) async fn ask(
        &self,
        method: Method,
        url: &Url,
        headers: impl Fn() -> Result<HeaderMap>,
        body: OutgoingBody,
    ) -> Result<HttpResponse> {
        let known = self.moved.load_full().filter(|known| known.0 == *url && method == Method::POST);
        let mut moved = known.map(|known| known.1.clone());
        let mut asked = Vec::new();
        let mut renewals = 0;
        loop {
            let target = moved.as_ref().unwrap_or(url);
            let headers = self.authorized(headers()?).await?;
            let sent = headers.get(AUTHORIZATION).cloned();
            let response = self.client.send(method.clone(), target, headers, body.clone()).await;
            let mut response = response.map_err(|error| self.lost(&error))?;
            if method == Method::POST && !response.status.is_success() {
                self.moved.store(None);
            }
            match response.status.as_u16() {
                307 | 308 => {
                    let next = self.target(target, &response)?;
                    asked.push(target.clone());
                    if asked.contains(&next) || asked.len() > MOST_REDIRECTS {
                        let text = message!("the server redirects again and again ({})", self.shown);
                        return Err(unfollowed(&response, text));
                    }
                    moved = Some(next);
                }
                301..=303 => {
                    // A POST would have to become a GET, and the server may have run it.
                    self.target(target, &response)?;
                    let text = message!(
                        "the server redirects in a way that loses the request; configure the final address ({})",
                        self.shown
                    );
                    return Err(unfollowed(&response, text));
                }
                401 | 403 if renewals < MOST_RENEWALS && self.renewed(sent.as_ref(), &response).await? => {
                    renewals += 1
                }
                _ => {
                    if let Some(to) =
                        moved.clone().filter(|_| method == Method::POST && response.status.is_success())
                    {
                        self.moved.store(Some(Arc::new((url.clone(), to))));
                    }
                    response.moved = moved;
                    return Ok(response);
                }
            }
        }
    }

    /// Foreign text made fit for an error message.
    pub(crate) fn quote(&self, text: &str) -> String {
        self.secrets.quote(text)
    }

    /// The error of an exchange that broke. Nothing was sent before a connection stood; after that the outcome is unknown.
    pub(crate) fn lost(&self, error: &ExchangeError) -> HubError {
        let reason = error.reason().map(&|text| self.quote(text));
        if error.is_connect {
            return HubError::new(ErrorKind::Connect, message!("{} ({})", reason, self.shown));
        }
        if error.is_malformed() {
            return unreadable(message!("the HTTP body is malformed ({})", reason));
        }
        let text =
            message!("the connection broke before the answer was complete: {} ({})", reason, self.shown);
        HubError::new(ErrorKind::Closed, text)
    }

    pub(crate) fn is_same_origin(&self, url: &Url) -> bool {
        url.origin() == self.url.origin()
    }

    async fn authorized(&self, mut headers: HeaderMap) -> Result<HeaderMap> {
        let Some(credentials) = &self.credentials else { return Ok(headers) };
        if let Some(value) = credentials.authorization().await? {
            headers.insert(AUTHORIZATION, header(AUTHORIZATION.as_str(), &value)?.1);
            self.secrets.add_header(AUTHORIZATION.as_str(), &value);
        }
        if let Some(asked) = credentials.headers() {
            for (name, value) in asked.await? {
                self.secrets.add_header(&name, value.expose());
                let (name, value) = header(&name, value.expose())?;
                headers.insert(name, value);
            }
        }
        Ok(headers)
    }

    /// Whether new credentials were found after a refusal that new ones may help against.
    async fn renewed(&self, sent: Option<&HeaderValue>, response: &HttpResponse) -> Result<bool> {
        let Some(credentials) = &self.credentials else { return Ok(false) };
        let status = response.status.as_u16();
        let challenges = response.headers.get_all(WWW_AUTHENTICATE);
        let challenges: Vec<&str> = challenges.iter().filter_map(|value| value.to_str().ok()).collect();
        let challenge = Some(challenges.join(", ")).filter(|text| !text.is_empty());
        if status == 403 && !challenge.as_deref().is_some_and(|text| text.contains("insufficient_scope")) {
            return Ok(false);
        }
        let sent = sent.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let renewed = credentials.refused(sent, status, challenge.as_deref()).await;
        renewed.map_err(|error| error.with_outcome(Outcome::Failed))
    }

    /// Where a response to a request for `asked` redirects to.
    fn target(&self, asked: &Url, response: &HttpResponse) -> Result<Url> {
        let location = response.headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let target = location.and_then(|to| asked.join(to).ok());
        match target {
            Some(target) if self.is_same_origin(&target) => Ok(target),
            Some(target) => {
                let text = message!(
                    "the server redirects to another origin, {}, where neither headers nor body are sent; configure the final address",
                    self.quote(&target.origin().ascii_serialization())
                );
                Err(unfollowed(response, text))
            }
            None => Err(unfollowed(
                response,
                message!("the server redirects without saying where ({})", self.shown),
            )),
        }
    }
}

/// A redirect that is not followed. That the server did not take the request is its word alone.
fn unfollowed(response: &HttpResponse, text: Message) -> HubError {
    let status = Some(response.status.as_u16());
    HubError { status, ..HubError::new(ErrorKind::Http, text).with_outcome(Outcome::Unknown) }
}

fn unusable(what: impl Into<Message>) -> HubError {
    HubError::new(ErrorKind::Connect, message!("{}; check the server's configuration.", what.into()))
}

fn checked_url(text: &str) -> Result<Url> {
    // The text itself is not shown: it may hold a password in a form that does not parse.
    let mut url =
        Url::parse(text.trim()).map_err(|error| unusable(message!("`url` is not a URL ({})", error)))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(unusable("`url` must begin with http:// or https://"));
    }
    url.set_fragment(None);
    Ok(url)
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    let shown = format_args!("{name:?}").to_string();
    match checked_header(name, value.trim()) {
        Ok((name, _)) if name == CONTENT_LENGTH || name == TRANSFER_ENCODING => {
            Err(unusable(message!("The header {} is set by the client itself", shown)))
        }
        Ok(header) => Ok(header),
        Err(WrongHeader::Name) => Err(unusable(message!("{} is not a header name", shown))),
        Err(WrongHeader::Value) => Err(unusable(message!(
            "The value of the header {} contains characters that are not allowed in a header",
            shown
        ))),
    }
}
