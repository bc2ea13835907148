//! What a hostile or broken server or authorization server may try, and does not get.

use crate::mcp_auth::http::{Answer, Site};
use crate::mcp_auth::{World, fetch};
use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;
use toolhub::error::ErrorKind;
use toolhub::sources::mcp::auth::{Credentials, OAuth, OAuthConfig};

/// A place where nothing may arrive.
async fn trap() -> (Site, Arc<Mutex<usize>>) {
    let visits = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&visits);
    let site = Site::start(move |_| {
        *counter.lock() += 1;
        Box::pin(async { Answer::json(200, &json!({})) })
    })
    .await;
    (site, visits)
}

#[tokio::test]
async fn metadata_of_the_resource_is_taken_from_its_own_origin_only() {
    let world = World::new().await;
    let (elsewhere, visits) = trap().await;
    world.want(|wants| {
        wants.advertised = Some(elsewhere.url("/metadata"));
        wants.metadata_path = "/nowhere";
    });
    world.fails(&world.oauth(), &["No authorization server was found", "not the server's own origin"]).await;
    assert_eq!(*visits.lock(), 0);
    // Where it is published as well at the server itself, the login works.
    world.want(|wants| wants.metadata_path = "/.well-known/oauth-protected-resource");
    assert_eq!(world.call(&world.oauth()).await.unwrap(), 200);
    assert_eq!(*visits.lock(), 0);
}

#[tokio::test]
async fn metadata_for_another_resource_is_refused() {
    let world = World::new().await;
    world.want(|wants| wants.metadata["resource"] = json!("https://evil.example/mcp"));
    world.fails(&world.oauth(), &["is for 'https://evil.example/mcp'"]).await;
    assert_eq!(world.issuer.count("/authorize"), 0);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let world = World::new().await;
    world.want(|wants| wants.metadata_status = 302);
    world.fails(&world.oauth(), &["redirects are refused"]).await;
    assert!(!world.seen.lock().iter().any(|request| request.path == "/elsewhere"));

    let world = World::new().await;
    world.issuer.turn(|knobs| knobs.metadata_status = 307);
    world.fails(&world.oauth(), &["redirects are refused"]).await;
    assert_eq!(world.issuer.count("/elsewhere"), 0);

    let world = World::new().await;
    world.issuer.turn(|knobs| knobs.token_answer = Some((307, String::new())));
    world.fails(&world.oauth(), &["gave no token (HTTP 307)"]).await;
}

#[tokio::test]
async fn metadata_of_another_issuer_is_refused() {
    for issuer in ["https://evil.example", "http://127.0.0.1:1"] {
        let world = World::new().await;
        world.issuer.turn(|knobs| knobs.metadata["issuer"] = json!(issuer));
        world.fails(&world.oauth(), &[issuer, "not used"]).await;
        assert_eq!(world.issuer.count("/register"), 0);
    }
}

#[tokio::test]
async fn endpoints_inside_private_networks_or_without_https_are_refused() {
    for (field, url) in [
        ("token_endpoint", "https://10.0.0.1/token"),
        ("token_endpoint", "http://login.example/token"),
        ("authorization_endpoint", "https://169.254.169.254/x"),
        ("authorization_endpoint", "file:///etc/passwd"),
        ("authorization_endpoint", "javascript:alert(1)"),
        ("registration_endpoint", "https://[fd00::1]/register"),
    ] {
        let world = World::new().await;
        world.issuer.turn(|knobs| knobs.metadata[field] = json!(url));
        world.fails(&world.oauth(), &["refused"]).await;
        assert_eq!(world.issuer.count("/authorize"), 0, "{url}");
    }
    for id in ["https://10.0.0.1", "http://login.example", "no url"] {
        let world = World::new().await;
        world.want(|wants| wants.metadata["authorization_servers"] = json!([id]));
        world.fails(&world.oauth(), &[id]).await;
    }
}

#[tokio::test]
async fn a_server_without_https_gets_no_login() {
    let oauth = OAuth::new(OAuthConfig::new("http://mcp.example/mcp")).unwrap();
    let error = oauth.refused("", 401, None).await.unwrap_err();
    assert!(error.message.contains("need https"), "{error}");
}

#[tokio::test]
async fn pkce_with_s256_is_a_must() {
    for methods in [json!(["plain"]), json!([]), json!(null)] {
        let world = World::new().await;
        world.issuer.turn(|knobs| knobs.metadata["code_challenge_methods_supported"] = methods);
        world.fails(&world.oauth(), &["S256"]).await;
        assert_eq!((world.issuer.count("/authorize"), world.issuer.count("/register")), (0, 0));
    }
}

#[tokio::test]
async fn the_answer_has_to_come_from_the_issuer() {
    let world = World::new().await;
    let with_slash: &'static str = Box::leak(format!("{}/", world.issuer.id()).into_boxed_str());
    for (iss, promised, word) in [
        (Some("https://evil.example"), true, "https://evil.example"),
        (Some("https://evil.example"), false, "https://evil.example"),
        (Some(with_slash), true, "instead of"),
        (None, true, "does not name"),
    ] {
        world.issuer.turn(|knobs| {
            knobs.iss = iss;
            knobs.metadata["authorization_response_iss_parameter_supported"] = json!(promised);
        });
        world.fails(&world.oauth(), &[word]).await;
        assert_eq!(world.issuer.count("/token"), 0, "{iss:?}");
    }
    // Without a promise and without a name there is nothing to compare.
    world.issuer.turn(|knobs| {
        knobs.iss = None;
        knobs.metadata["authorization_response_iss_parameter_supported"] = json!(null);
    });
    assert_eq!(world.call(&world.oauth()).await.unwrap(), 200);
}

#[tokio::test]
async fn tokens_that_are_none_are_refused() {
    for (body, word) in [
        (json!({"token_type": "Bearer"}).to_string(), "without a token"),
        ("<html>".to_owned(), "without a token"),
        (
            json!({"access_token": "a\r\nX-Evil: 1", "token_type": "Bearer"}).to_string(),
            "are not allowed in a header",
        ),
        (json!({"access_token": "a", "token_type": "mac"}).to_string(), "'mac'"),
        ("x".repeat(2 << 20), "1 MB"),
    ] {
        let world = World::new().await;
        world.issuer.turn(|knobs| knobs.token_answer = Some((200, body)));
        world.fails(&world.oauth(), &[word]).await;
    }
}

#[tokio::test]
async fn a_token_that_is_refused_at_once_is_not_asked_for_again() {
    let world = World::new().await;
    let oauth = world.oauth();
    world.call(&oauth).await.unwrap();
    world.issuer.revoke_access();
    world.fails(&oauth, &["has just issued"]).await;
    assert_eq!(world.issuer.count("/authorize"), 1);
}

#[tokio::test]
async fn an_authorization_server_that_is_away_may_come_back() {
    let world = World::new().await;
    let gone = Site::start(|_| Box::pin(async { Answer::new(404) })).await.url("");
    world.want(|wants| wants.metadata["authorization_servers"] = json!([gone]));
    let oauth = world.oauth();
    let error = world.call(&oauth).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Connect, "{error}");
    assert!(error.message.contains("cannot be reached"), "{error}");
    world.want(|wants| wants.metadata["authorization_servers"] = json!([world.issuer.id()]));
    assert_eq!(world.call(&oauth).await.unwrap(), 200);

    world.issuer.revoke_access();
    world.issuer.turn(|knobs| knobs.token_answer = Some((503, String::new())));
    let error = world.call(&world.oauth()).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Connect, Some(503)));

    world.want(|wants| wants.metadata_status = 503);
    let error = world.call(&world.oauth()).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Connect, Some(503)));
}

#[tokio::test]
async fn nothing_secret_is_shown() {
    let world = World::new().await;
    world.issuer.turn(|knobs| knobs.expires_in = 0);
    world.issuer.register("me", "t0p-s3cret");
    let mut config = world.config();
    (config.settings.client_id, config.settings.client_secret) =
        (Some("me".to_owned()), Some("wr0ng-s3cret".into()));
    config.settings.issuer = Some(world.issuer.id());
    let wrong = OAuth::new(config.clone()).unwrap();
    let mut shown = vec![world.fails(&wrong, &["invalid_client", "client_secret"]).await.to_string()];
    config.settings.client_secret = Some("t0p-s3cret".into());
    let oauth = OAuth::new(config.clone()).unwrap();
    oauth.refused("", 401, None).await.unwrap();
    shown.push(format!("{:?} {:?}", config.settings, config.store.load(&world.url()).unwrap()));
    let shown = shown.join("\n");
    let codes = ["s3cret", "access-", "refresh-", "code-"];
    assert!(!codes.iter().any(|code| shown.contains(code)), "{shown}");
}

#[tokio::test]
async fn statuses_that_credentials_cannot_mend_are_left_alone() {
    let world = World::new().await;
    let oauth = world.oauth();
    for (status, challenge) in
        [(403, None), (403, Some("Bearer error=\"invalid_token\"")), (404, None), (500, None)]
    {
        assert!(!oauth.refused("", status, challenge).await.unwrap(), "{status}");
    }
    assert!(fetch("GET", &world.issuer.site.url("/"), &[], "").await.is_some());
    assert_eq!(world.issuer.count("/authorize"), 0);
}
