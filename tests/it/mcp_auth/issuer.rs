//! An authorization server that takes OAuth 2.1 seriously, and lies where a test wants it to.

use crate::mcp_auth::http::{Answer, Request, Site};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What a test may turn.
pub struct Knobs {
    /// Changes of the metadata; `null` takes a field away.
    pub metadata: Value,
    pub metadata_status: u16,
    /// What the redirect says as `iss`; `None` leaves it out, `""` means the truth.
    pub iss: Option<&'static str>,
    pub deny: bool,
    pub expires_in: u64,
    pub refresh_tokens: bool,
    /// Scopes that are never granted.
    pub withheld: Vec<&'static str>,
    /// A broken token endpoint's answer.
    pub token_answer: Option<(u16, String)>,
}

pub struct Issuer {
    pub site: Site,
    pub state: Arc<State>,
}

pub struct State {
    pub knobs: Mutex<Knobs>,
    pub seen: Mutex<Vec<Request>>,
    /// Token requests wait here; a test may take all permits away.
    pub gate: Semaphore,
    grants: Mutex<Grants>,
}

#[derive(Default)]
struct Grants {
    count: usize,
    clients: HashMap<String, (Option<String>, String)>,
    codes: HashMap<String, HashMap<String, String>>,
    /// Good once: a refresh brings a new one.
    refresh: HashMap<String, String>,
    access: HashMap<String, HashSet<String>>,
}

impl Issuer {
    pub async fn start() -> Self {
        let state = Arc::new(State {
            knobs: Mutex::new(Knobs {
                metadata: json!({}),
                metadata_status: 200,
                iss: Some(""),
                deny: false,
                expires_in: 3600,
                refresh_tokens: true,
                withheld: Vec::new(),
                token_answer: None,
            }),
            seen: Mutex::default(),
            gate: Semaphore::new(1000),
            grants: Mutex::default(),
        });
        let inner = Arc::clone(&state);
        let site = Site::start(move |request| {
            let state = Arc::clone(&inner);
            Box::pin(async move { state.answer(request).await })
        })
        .await;
        Issuer { site, state }
    }

    pub fn id(&self) -> String {
        self.site.url("")
    }

    pub fn turn(&self, change: impl FnOnce(&mut Knobs)) {
        change(&mut self.state.knobs.lock());
    }

    /// How many requests came to this path.
    pub fn count(&self, path: &str) -> usize {
        self.state.seen.lock().iter().filter(|request| request.path == path).count()
    }

    pub fn last(&self, path: &str) -> Request {
        self.state.seen.lock().iter().rfind(|request| request.path == path).cloned().unwrap()
    }

    /// How many token requests had this grant.
    pub fn grants(&self, kind: &str) -> usize {
        let seen = self.state.seen.lock();
        seen.iter()
            .filter(|r| r.path == "/token" && r.form().get("grant_type").is_some_and(|k| k == kind))
            .count()
    }

    pub fn register(&self, id: &str, secret: &str) {
        let client = (Some(secret.to_owned()), "client_secret_basic".to_owned());
        self.state.grants.lock().clients.insert(id.to_owned(), client);
    }

    /// A client without a secret.
    pub fn register_public(&self, id: &str) {
        self.state.grants.lock().clients.insert(id.to_owned(), (None, "none".to_owned()));
    }

    pub fn revoke_access(&self) {
        self.state.grants.lock().access.clear();
    }

    pub fn revoke_refresh(&self) {
        self.state.grants.lock().refresh.clear();
    }
}

impl State {
    /// The scopes of a token that is good.
    pub fn scopes(&self, token: &str) -> Option<HashSet<String>> {
        self.grants.lock().access.get(token).cloned()
    }

    async fn answer(&self, request: Request) -> Answer {
        self.seen.lock().push(request.clone());
        let me = format!("http://{}", request.headers["host"]);
        match request.path.as_str() {
            "/.well-known/oauth-authorization-server" => self.metadata(&me),
            "/register" => self.register(&request),
            "/authorize" => self.authorize(&request, &me),
            "/token" => {
                let _permit = self.gate.acquire().await.unwrap();
                self.token(&request)
            }
            _ => Answer::new(404),
        }
    }

    fn metadata(&self, me: &str) -> Answer {
        let knobs = self.knobs.lock();
        let mut all = json!({
            "issuer": me, "authorization_endpoint": format!("{me}/authorize"), "token_endpoint": format!("{me}/token"),
            "registration_endpoint": format!("{me}/register"), "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true, "response_types_supported": ["code"],
        });
        for (name, value) in knobs.metadata.as_object().unwrap() {
            all[name] = value.clone();
        }
        Answer::json(knobs.metadata_status, &all).with("location", format!("{me}/elsewhere"))
    }

    fn register(&self, request: &Request) -> Answer {
        let wish: Value = serde_json::from_str(&request.body).unwrap();
        let method = wish["token_endpoint_auth_method"].as_str().unwrap();
        let mut grants = self.grants.lock();
        grants.count += 1;
        let id = format!("client-{}", grants.count);
        let secret = (method != "none").then(|| format!("s3cret-{}", grants.count));
        grants.clients.insert(id.clone(), (secret.clone(), method.to_owned()));
        Answer::json(
            201,
            &json!({"client_id": id, "client_secret": secret, "token_endpoint_auth_method": method}),
        )
    }

    fn authorize(&self, request: &Request, me: &str) -> Answer {
        let query = &request.query;
        assert_eq!(query["code_challenge_method"], "S256");
        assert_eq!(query["response_type"], "code");
        let knobs = self.knobs.lock();
        let mut back = reqwest::Url::parse(&query["redirect_uri"]).unwrap();
        if knobs.deny {
            back.query_pairs_mut()
                .append_pair("error", "access_denied")
                .append_pair("error_description", "No\u{1b}[31m!");
        } else {
            let mut grants = self.grants.lock();
            grants.count += 1;
            let code = format!("code-{}", grants.count);
            grants.codes.insert(code.clone(), query.clone());
            back.query_pairs_mut().append_pair("code", &code);
        }
        back.query_pairs_mut().append_pair("state", &query["state"]);
        if let Some(iss) = knobs.iss {
            back.query_pairs_mut().append_pair("iss", if iss.is_empty() { me } else { iss });
        }
        Answer::new(302).with("location", back.as_str())
    }

    fn token(&self, request: &Request) -> Answer {
        if let Some((status, body)) = self.knobs.lock().token_answer.clone() {
            return Answer { status, body, ..Answer::default() };
        }
        let form = request.form();
        let refused = |error: &str, status: u16| {
            // Like some servers do: everything that came is repeated.
            let echo = format!("{} {}", request.body, form.get("refresh_token").cloned().unwrap_or_default());
            Answer::json(status, &json!({"error": error, "error_description": echo}))
        };
        let Some(client) = self.client_of(request) else { return refused("invalid_client", 401) };
        let mut grants = self.grants.lock();
        let scope = match form["grant_type"].as_str() {
            "authorization_code" => {
                let Some(asked) = grants.codes.remove(&form["code"]) else {
                    return refused("invalid_grant", 400);
                };
                let hash = ring::digest::digest(&ring::digest::SHA256, form["code_verifier"].as_bytes());
                let proven = BASE64_URL_SAFE_NO_PAD.encode(hash) == asked["code_challenge"];
                let same = ["redirect_uri", "resource"].iter().all(|name| form[*name] == asked[*name]);
                if !(proven && same && asked["client_id"] == client) {
                    return refused("invalid_grant", 400);
                }
                asked.get("scope").cloned().unwrap_or_default()
            }
            "refresh_token" => match grants.refresh.remove(&form["refresh_token"]) {
                Some(scope) => scope,
                None => return refused("invalid_grant", 400),
            },
            "client_credentials" => form.get("scope").cloned().unwrap_or_default(),
            _ => return refused("unsupported_grant_type", 400),
        };
        self.issue(&mut grants, &scope)
    }

    fn issue(&self, grants: &mut Grants, scope: &str) -> Answer {
        let knobs = self.knobs.lock();
        let granted: Vec<&str> =
            scope.split(' ').filter(|s| !s.is_empty() && !knobs.withheld.contains(s)).collect();
        grants.count += 1;
        let (access, refresh) = (format!("access-{}", grants.count), format!("refresh-{}", grants.count));
        grants.access.insert(access.clone(), granted.iter().map(|s| (*s).to_owned()).collect());
        let mut answer = json!({"access_token": access, "token_type": "Bearer", "expires_in": knobs.expires_in, "scope": granted.join(" ")});
        if knobs.refresh_tokens {
            grants.refresh.insert(refresh.clone(), scope.to_owned());
            answer["refresh_token"] = json!(refresh);
        }
        Answer::json(200, &answer)
    }

    /// The client that proved who it is, in the way that it was registered with.
    fn client_of(&self, request: &Request) -> Option<String> {
        let form = request.form();
        if form.contains_key("client_assertion") {
            return Some("signed".to_owned());
        }
        let basic = request.authorization().and_then(|header| header.strip_prefix("Basic "));
        let (id, secret, method) = match (basic, form.get("client_secret")) {
            (Some(pair), None) => {
                let pair = String::from_utf8(BASE64_STANDARD.decode(pair).unwrap()).unwrap();
                let (id, secret) = pair.split_once(':').unwrap();
                (id.to_owned(), Some(secret.to_owned()), "client_secret_basic")
            }
            (None, Some(secret)) => (form["client_id"].clone(), Some(secret.clone()), "client_secret_post"),
            _ => (form.get("client_id")?.clone(), None, "none"),
        };
        if id.starts_with("https://") {
            return Some(id);
        }
        let known = self.grants.lock().clients.get(&id).cloned()?;
        (known == (secret, method.to_owned())).then_some(id)
    }
}
