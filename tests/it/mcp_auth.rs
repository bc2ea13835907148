//! Logins at remote servers: a real authorization server and a protected resource on sockets, all flows, and what a hostile
//! or broken one may try.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod clients;
mod exchanges;
mod http;
mod issuer;
mod logins;
mod refusals;
mod renewals;
mod stores;

use http::{Answer, Request, Site, browse, fetch};
use issuer::Issuer;
use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;
use toolhub::error::{ErrorKind, HubError, Outcome};
use toolhub::sources::mcp::auth::{Credentials, OAuth, OAuthConfig, Opener};

/// What the protected resource says and wants.
struct Wants {
    /// Where its metadata is, and whether the refusal says so.
    metadata_path: &'static str,
    advertised: Option<String>,
    /// What the metadata says.
    metadata: serde_json::Value,
    /// Scopes that a call needs, and what a refusal for want of a token says.
    scopes: Vec<&'static str>,
    first_scopes: Option<&'static str>,
    metadata_status: u16,
}

/// A server with its authorization server.
struct World {
    issuer: Issuer,
    server: Site,
    wants: Arc<Mutex<Wants>>,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl World {
    async fn new() -> Self {
        let issuer = Issuer::start().await;
        let wants = Arc::new(Mutex::new(Wants {
            metadata_path: "/.well-known/oauth-protected-resource/mcp",
            advertised: None,
            metadata: json!({"authorization_servers": [issuer.id()]}),
            scopes: Vec::new(),
            first_scopes: None,
            metadata_status: 200,
        }));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let server = Site::start({
            let (wants, seen, issuer) = (Arc::clone(&wants), Arc::clone(&seen), Arc::clone(&issuer.state));
            move |request| {
                seen.lock().push(request.clone());
                let answer = resource(&request, &wants.lock(), &issuer);
                Box::pin(async move { answer })
            }
        })
        .await;
        World { issuer, server, wants, seen }
    }

    fn url(&self) -> String {
        self.server.url("/mcp")
    }

    fn want(&self, change: impl FnOnce(&mut Wants)) {
        change(&mut self.wants.lock());
    }

    fn config(&self) -> OAuthConfig {
        let mut config = OAuthConfig::new(self.url());
        config.opener = opener(|url| async move {
            browse(&url).await.unwrap();
        });
        config
    }

    fn oauth(&self) -> OAuth {
        OAuth::new(self.config()).unwrap()
    }

    /// A call like a transport makes it: what is refused is sent again, a few times.
    async fn call(&self, oauth: &OAuth) -> Result<u16, HubError> {
        for _ in 0..4 {
            let header = oauth.authorization().await?;
            let headers: Vec<_> = header.iter().map(|value| ("Authorization", value.as_str())).collect();
            let answer = fetch("POST", &self.url(), &headers, "{}").await.unwrap();
            let challenge = answer.headers.get("www-authenticate").map(String::as_str);
            let refused = matches!(answer.status, 401 | 403);
            let sent = header.as_deref().unwrap_or_default();
            if !(refused && oauth.refused(sent, answer.status, challenge).await?) {
                return Ok(answer.status);
            }
        }
        panic!("the server was asked again and again");
    }

    async fn fails(&self, oauth: &OAuth, words: &[&str]) -> HubError {
        let error = self.call(oauth).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Auth, "{error}");
        assert_eq!(error.outcome, Outcome::NotSent);
        for word in words {
            assert!(error.message.contains(word), "'{word}' is missing in: {error}");
        }
        error
    }
}

fn resource(request: &Request, wants: &Wants, issuer: &issuer::State) -> Answer {
    let me = format!("http://{}", request.headers["host"]);
    if request.path == wants.metadata_path {
        let mut metadata = json!({"resource": format!("{me}/mcp")});
        for (name, value) in wants.metadata.as_object().unwrap() {
            metadata[name] = value.clone();
        }
        return Answer::json(wants.metadata_status, &metadata).with("location", format!("{me}/elsewhere"));
    }
    if request.path != "/mcp" {
        return Answer::new(404);
    }
    let mut challenge = String::from("Bearer realm=\"tools\"");
    if let Some(url) = &wants.advertised {
        challenge += &format!(", resource_metadata=\"{url}\"");
    }
    let token = request.authorization().and_then(|header| header.strip_prefix("Bearer "));
    match token.and_then(|token| issuer.scopes(token)) {
        None => {
            if let Some(scopes) = wants.first_scopes {
                challenge += &format!(", scope=\"{scopes}\"");
            }
            Answer::new(401).with("www-authenticate", challenge)
        }
        Some(has) if wants.scopes.iter().all(|scope| has.contains(*scope)) => Answer::new(200),
        Some(_) => {
            let scopes = wants.scopes.join(" ");
            Answer::new(403).with(
                "www-authenticate",
                format!("{challenge}, error=\"insufficient_scope\", scope=\"{scopes}\""),
            )
        }
    }
}

/// An opener that does this with the address.
fn opener<F: Future<Output = ()> + Send + 'static>(
    show: impl Fn(String) -> F + Send + Sync + 'static,
) -> Opener {
    Arc::new(move |url| {
        let shown = show(url.to_string());
        Box::pin(async move {
            shown.await;
            Ok(())
        })
    })
}
