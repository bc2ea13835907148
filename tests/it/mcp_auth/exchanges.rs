//! The token of a caller becomes one for an upstream server.

use super::http::{Answer, Request, Site};
use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;
use toolhub::principal::Principal;
use toolhub::secret::Secret;
use toolhub::sources::mcp::auth::{Credentials, TokenExchange, TokenExchangeOptions};

const SUBJECT: &str = "token-of-ann";

/// An authorization server that takes the secret in the form only, and what it was asked.
async fn server(answer: serde_json::Value) -> (Site, Arc<Mutex<Vec<Request>>>) {
    let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
    let all = Arc::clone(&seen);
    let site = Site::start(move |request| {
        let is_known = request.form().get("client_secret").is_some_and(|secret| secret == "t0p-s3cret");
        let echo = request.form().get("subject_token").cloned().unwrap_or_default();
        all.lock().push(request);
        let answer = match is_known {
            true => Answer::json(200, &answer),
            false => {
                let error =
                    json!({"error": "invalid_client", "error_description": format!("who is {echo}?")});
                Answer::json(401, &error)
            }
        };
        Box::pin(async move { answer })
    })
    .await;
    (site, seen)
}

fn exchange(site: &Site, secret: &str) -> TokenExchange {
    let options = TokenExchangeOptions {
        token_endpoint: site.url("/token"),
        client_id: "hub".to_owned(),
        client_secret: Some(Secret::new(secret)),
        audience: None,
        resource: None,
        scopes: vec!["read".to_owned(), "write".to_owned()],
    };
    TokenExchange::new("http://localhost:1/mcp", options).unwrap()
}

fn ann() -> Arc<Principal> {
    let subject_token = Some(Secret::new(SUBJECT));
    Arc::new(Principal { id: "user:ann".into(), subject_token, ..Principal::default() })
}

#[tokio::test]
async fn a_token_is_exchanged_once_for_the_server() {
    let issued = json!({"access_token": "for-the-server", "token_type": "Bearer", "expires_in": 3600});
    let (site, seen) = server(issued).await;
    let own = exchange(&site, "t0p-s3cret").of_caller(&ann()).unwrap().unwrap();
    for _ in 0..2 {
        assert_eq!(own.authorization().await.unwrap().as_deref(), Some("Bearer for-the-server"));
    }
    let requests = seen.lock().clone();
    assert_eq!(requests.len(), 2, "in a header first, then in the form; the token is kept");
    assert!(requests[0].authorization().unwrap().starts_with("Basic "));
    let form = requests[1].form();
    for (name, value) in [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("subject_token", SUBJECT),
        ("resource", "http://localhost:1/mcp"),
        ("scope", "read write"),
        ("client_id", "hub"),
    ] {
        assert_eq!(form[name], value);
    }
    assert!(own.refused("Bearer for-the-server", 403, None).await.is_ok_and(|renewed| !renewed));
}

#[tokio::test]
async fn the_hub_itself_asks_in_its_own_name_and_goes_without() {
    let (site, seen) = server(json!({"access_token": "own", "token_type": "Bearer"})).await;
    let own = exchange(&site, "t0p-s3cret");
    assert_eq!(own.authorization().await.unwrap().as_deref(), Some("Bearer own"));
    assert_eq!(seen.lock()[1].form()["grant_type"], "client_credentials");
    assert_eq!(exchange(&site, "wrong").authorization().await.unwrap(), None);
}

#[tokio::test]
async fn what_is_not_exchanged_is_refused_without_showing_it() {
    let (site, _) = server(json!({"access_token": SUBJECT, "token_type": "Bearer"})).await;
    let (bare, _) = server(json!({"access_token": "x"})).await;
    let (other, _) = server(json!({"access_token": "x", "token_type": "N_A"})).await;
    let (empty, _) = server(json!({})).await;
    for (site, secret, expected) in [
        (&site, "wrong-s3cret", "refused this client (HTTP 401: invalid_client: who is ***?)"),
        (&site, "t0p-s3cret", "answered with the caller's own token"),
        (&bare, "t0p-s3cret", "with a token but no 'token_type'"),
        (&other, "t0p-s3cret", "only bearer tokens are supported"),
        (&empty, "t0p-s3cret", "answered without a token"),
    ] {
        let own = exchange(site, secret).of_caller(&ann()).unwrap().unwrap();
        let error = own.authorization().await.unwrap_err().message.into_owned();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains(SUBJECT) && !error.contains("s3cret"), "{error}");
    }
}
