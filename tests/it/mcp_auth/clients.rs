//! Who we are towards the authorization server.

use crate::mcp_auth::World;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use toolhub::sources::mcp::auth::{Grant, OAuth};

#[tokio::test]
async fn a_registered_client_authenticates_as_registered() {
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let world = World::new().await;
        world.issuer.turn(|knobs| knobs.metadata["token_endpoint_auth_methods_supported"] = json!([method]));
        assert_eq!(world.call(&world.oauth()).await.unwrap(), 200, "{method}");
        let request: serde_json::Value = serde_json::from_str(&world.issuer.last("/register").body).unwrap();
        assert_eq!(request["token_endpoint_auth_method"], method);
        assert_eq!(request["application_type"], "native");
        assert_eq!(request["grant_types"], json!(["authorization_code", "refresh_token"]));
    }
}

#[tokio::test]
async fn a_client_of_the_user_comes_first_then_its_document_then_registration() {
    let world = World::new().await;
    world.issuer.turn(|knobs| knobs.metadata["client_id_metadata_document_supported"] = json!(true));
    world.issuer.register("me", "t0p");
    let mut config = world.config();
    config.settings.client_id_metadata_url = Some("https://me.example/client.json".to_owned());
    world.call(&OAuth::new(config.clone()).unwrap()).await.unwrap();
    assert_eq!(world.issuer.last("/authorize").query["client_id"], "https://me.example/client.json");
    (config.settings.client_id, config.settings.client_secret) = (Some("me".to_owned()), Some("t0p".into()));
    config.settings.issuer = Some(world.issuer.id());
    world.call(&OAuth::new(config.clone()).unwrap()).await.unwrap();
    assert_eq!(world.issuer.last("/authorize").query["client_id"], "me");
    assert_eq!(world.issuer.count("/register"), 0);
    (config.settings.client_id, config.settings.client_secret, config.settings.issuer) = (None, None, None);
    config.store = Arc::default();
    world.issuer.turn(|knobs| knobs.metadata["client_id_metadata_document_supported"] = json!(false));
    world.call(&OAuth::new(config).unwrap()).await.unwrap();
    assert_eq!(world.issuer.count("/register"), 1);
}

#[tokio::test]
async fn without_any_way_to_register_the_user_gets_an_error() {
    let world = World::new().await;
    world.issuer.turn(|knobs| knobs.metadata["registration_endpoint"] = json!(null));
    world.fails(&world.oauth(), &["set client_id"]).await;
}

/// A port that no other test gets by chance: below those that the system gives away.
async fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let port = 20_000 + (std::process::id() as u16 % 1_000) * 10 + NEXT.fetch_add(1, Ordering::Relaxed);
        if tokio::net::TcpListener::bind(("127.0.0.1", port)).await.is_ok() {
            return port;
        }
    }
}

#[tokio::test]
async fn a_registration_is_used_again() {
    let world = World::new().await;
    world.issuer.turn(|knobs| knobs.refresh_tokens = false);
    let mut config = world.config();
    config.settings.redirect_port = Some(free_port().await);
    for _ in 0..3 {
        world.call(&OAuth::new(config.clone()).unwrap()).await.unwrap();
        world.issuer.revoke_access();
    }
    assert_eq!((world.issuer.count("/authorize"), world.issuer.count("/register")), (3, 1));
}

#[tokio::test]
async fn another_redirect_needs_another_registration() {
    let world = World::new().await;
    world.issuer.turn(|knobs| knobs.refresh_tokens = false);
    let config = world.config();
    world.call(&OAuth::new(config.clone()).unwrap()).await.unwrap();
    let first = world.issuer.last("/authorize").query["redirect_uri"].clone();
    let port: u16 = first.split([':', '/']).nth(4).unwrap().parse().unwrap();
    // When this fails another process has taken it, which is as good.
    let _taken = tokio::net::TcpListener::bind(("127.0.0.1", port)).await;
    world.issuer.revoke_access();
    world.call(&OAuth::new(config).unwrap()).await.unwrap();
    assert_eq!(world.issuer.count("/register"), 2);
    assert_ne!(world.issuer.last("/authorize").query["redirect_uri"], first);
}

#[tokio::test]
async fn the_port_of_the_redirect_can_be_chosen() {
    let world = World::new().await;
    let port = free_port().await;
    let mut config = world.config();
    config.settings.redirect_port = Some(port);
    world.call(&OAuth::new(config.clone()).unwrap()).await.unwrap();
    assert_eq!(
        world.issuer.last("/authorize").query["redirect_uri"],
        format!("http://127.0.0.1:{port}/callback")
    );
    let _taken = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    config.store = Arc::default();
    world.fails(&OAuth::new(config).unwrap(), &[&port.to_string(), "not free"]).await;
}

#[tokio::test]
async fn a_program_gets_tokens_without_a_user() {
    for method in [None, Some("client_secret_basic")] {
        let world = World::new().await;
        world.issuer.register("robot", "t0p");
        world.issuer.turn(|knobs| {
            knobs.metadata["token_endpoint_auth_methods_supported"] = json!(method.map(|method| [method]));
            knobs.metadata["authorization_endpoint"] = json!(null);
            knobs.metadata["code_challenge_methods_supported"] = json!(null);
        });
        world.want(|wants| (wants.first_scopes, wants.scopes) = (Some("read"), vec!["write"]));
        let mut config = world.config();
        config.settings.grant = Grant::ClientCredentials;
        (config.settings.client_id, config.settings.client_secret) =
            (Some("robot".to_owned()), Some("t0p".into()));
        config.settings.issuer = Some(world.issuer.id());
        config.store = Arc::default();
        let oauth = OAuth::new(config.clone()).unwrap();
        assert_eq!(world.call(&oauth).await.unwrap(), 200);
        let form = world.issuer.last("/token").form();
        assert_eq!((form["scope"].as_str(), form["resource"].as_str()), ("read write", world.url().as_str()));
        assert!(
            config.store.load(&world.url()).unwrap().is_empty(),
            "what can be got at any time is not kept"
        );
        assert_eq!(world.issuer.count("/register"), 0);
        // A revoked or ended token is replaced without a word.
        world.issuer.revoke_access();
        assert_eq!(world.call(&oauth).await.unwrap(), 200);
    }
}

#[tokio::test]
async fn the_metadata_of_the_issuer_can_be_named() {
    let world = World::new().await;
    world.want(|wants| wants.metadata_path = "/nowhere");
    let mut config = world.config();
    config.settings.metadata_url =
        Some(format!("{}/.well-known/oauth-authorization-server", world.issuer.id()));
    assert_eq!(world.call(&OAuth::new(config.clone()).unwrap()).await.unwrap(), 200);
    world.issuer.turn(|knobs| knobs.metadata["issuer"] = json!("https://evil.example"));
    config.store = Arc::default();
    world.fails(&OAuth::new(config).unwrap(), &["elsewhere"]).await;
}

#[tokio::test]
async fn endpoints_and_redirect_can_be_written_out() {
    let world = World::new().await;
    world.issuer.register("me", "t0p");
    world.issuer.turn(|knobs| knobs.metadata_status = 404);
    world.want(|wants| wants.metadata_path = "/nowhere");
    let redirect = format!("http://localhost:{}/oauth/done", free_port().await);
    let mut config = world.config();
    (config.settings.client_id, config.settings.client_secret) = (Some("me".to_owned()), Some("t0p".into()));
    config.settings.token_url = Some(world.issuer.site.url("/token"));
    config.settings.authorization_url = Some(world.issuer.site.url("/authorize"));
    config.settings.redirect_uri = Some(redirect.clone());
    assert_eq!(world.call(&OAuth::new(config).unwrap()).await.unwrap(), 200);
    assert_eq!(world.issuer.last("/authorize").query["redirect_uri"], redirect);
    assert_eq!(world.issuer.last("/authorize").query["resource"], world.url());
}
