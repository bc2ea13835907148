//! Credentials that change while the connection lives.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use toolhub::sources::mcp::auth::Credentials;

/// Tokens with a number; a refusal may bring the next one.
struct Tokens {
    current: AtomicUsize,
    last: usize,
    refusals: Mutex<Vec<(u16, Option<String>)>>,
}

impl Tokens {
    fn up_to(last: usize) -> Arc<Self> {
        Arc::new(Tokens { current: AtomicUsize::new(1), last, refusals: Mutex::default() })
    }
}

impl Credentials for Tokens {
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>, HubError>> {
        Box::pin(async { Ok(Some(format!("Bearer secret-token-{}", self.current.load(Ordering::SeqCst)))) })
    }

    fn refused<'a>(
        &'a self,
        _sent: &'a str,
        status: u16,
        challenge: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, HubError>> {
        self.refusals.lock().unwrap().push((status, challenge.map(str::to_owned)));
        let is_more = self.current.load(Ordering::SeqCst) < self.last;
        if is_more {
            self.current.fetch_add(1, Ordering::SeqCst);
        }
        Box::pin(async move { Ok(is_more) })
    }
}

fn open_as(server: &HttpServer, tokens: &Arc<Tokens>) -> Arc<HttpTransport> {
    open_with(HttpOptions { credentials: Some(tokens.clone()), ..options(server) })
}

fn token_of(request: &http_server::Request) -> &str {
    request.header("authorization").unwrap()
}

#[tokio::test]
async fn a_refused_request_is_sent_again_with_new_credentials() {
    let challenge = "www-authenticate: Bearer error=\"invalid_token\"";
    let replies = [Reply::new(401, &[challenge], ""), Reply::json(200, &answer(1))];
    let server = HttpServer::start(replies).await;
    let tokens = Tokens::up_to(2);
    assert_eq!(ask(&*open_as(&server, &tokens), call(1)).await.unwrap(), json!({"ok": 1}));
    let requests = server.requests();
    assert_eq!(
        requests.iter().map(token_of).collect::<Vec<_>>(),
        ["Bearer secret-token-1", "Bearer secret-token-2"]
    );
    let refusals = tokens.refusals.lock().unwrap();
    assert_eq!(*refusals, [(401, Some("Bearer error=\"invalid_token\"".to_owned()))]);
}

#[tokio::test]
async fn a_request_is_sent_again_at_most_three_times() {
    let server = HttpServer::routed(|_| Reply::new(401, &[], "bad secret-token-4")).await;
    let error = ask(&*open_as(&server, &Tokens::up_to(9)), call(1)).await.unwrap_err();
    assert_eq!((error.kind, error.status, error.outcome), (ErrorKind::Auth, Some(401), Outcome::Failed));
    assert!(!error.message.contains("secret-token"), "{error}");
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn without_new_credentials_nothing_is_sent_again() {
    let server = HttpServer::routed(|_| Reply::new(401, &[], "")).await;
    ask(&*open_as(&server, &Tokens::up_to(1)), call(1)).await.unwrap_err();
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn only_a_missing_scope_makes_a_403_worth_asking_about() {
    let scope = "www-authenticate: Bearer error=\"insufficient_scope\", scope=\"more\"";
    for (headers, sent) in [(vec![], 1), (vec![scope], 4)] {
        let server = HttpServer::routed(move |_| Reply::new(403, &headers, "")).await;
        let error = ask(&*open_as(&server, &Tokens::up_to(9)), call(1)).await.unwrap_err();
        assert_eq!((error.kind, server.requests().len()), (ErrorKind::Auth, sent));
    }
}

#[tokio::test]
async fn a_password_in_the_address_becomes_a_header_and_configured_ones_go_before_it() {
    let server = HttpServer::routed(|_| Reply::json(200, &answer(1))).await;
    let url = format!("http://me:hush-hush@{}/mcp?x=1#y", server.address());
    let transport = open_with(HttpOptions { url: url.clone(), ..options(&server) });
    ask(&*transport, call(1)).await.unwrap();
    let headers =
        vec![("authorization".to_owned(), "Bearer mine".to_owned()), ("accept".to_owned(), "x/y".to_owned())];
    let transport = open_with(HttpOptions { url, headers, ..options(&server) });
    ask(&*transport, call(1)).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].path, "/mcp?x=1");
    assert_eq!(token_of(&requests[0]), "Basic bWU6aHVzaC1odXNo");
    assert_eq!(token_of(&requests[1]), "Bearer mine");
    assert_eq!(requests[1].header("accept"), Some("application/json, text/event-stream"));
}
