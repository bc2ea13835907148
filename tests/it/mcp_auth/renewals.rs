//! Tokens that end, are revoked, or are renewed by another process.

use crate::mcp_auth::World;
use crate::mcp_auth::logins::futures;
use serde_json::json;
use std::sync::Arc;
use toolhub::error::ErrorKind;
use toolhub::sources::mcp::auth::{Credentials, OAuth, TokenStore};

/// Gets a token, unless a valid one is there.
async fn login(oauth: &OAuth) {
    if oauth.authorization().await.unwrap().is_none() {
        oauth.refused("", 401, None).await.unwrap();
    }
}

/// Signed in, with a token that is due at once.
async fn signed_in(world: &World) -> OAuth {
    world.issuer.turn(|knobs| knobs.expires_in = 0);
    let oauth = world.oauth();
    login(&oauth).await;
    world.issuer.turn(|knobs| knobs.expires_in = 3600);
    oauth
}

#[tokio::test]
async fn a_token_that_ends_is_refreshed_once_for_all() {
    let world = World::new().await;
    let oauth = signed_in(&world).await;
    let headers = futures((0..50).map(|_| oauth.authorization())).await;
    let first = headers[0].clone().unwrap().unwrap();
    assert!(headers.into_iter().all(|header| header.unwrap().unwrap() == first));
    assert_eq!((world.issuer.grants("refresh_token"), world.issuer.count("/authorize")), (1, 1));
    assert_eq!(world.issuer.last("/token").form()["resource"], world.url());
    assert_eq!(world.call(&oauth).await.unwrap(), 200);
}

/// It says nothing about the client: a proxy may have sent it.
#[tokio::test]
async fn a_bare_401_of_the_token_endpoint_costs_no_login() {
    let world = World::new().await;
    let oauth = signed_in(&world).await;
    world.issuer.turn(|knobs| knobs.token_answer = Some((401, "go away".to_owned())));
    assert!(oauth.authorization().await.is_err());
    world.issuer.turn(|knobs| knobs.token_answer = None);
    assert!(oauth.authorization().await.unwrap().is_some());
    assert_eq!(world.issuer.count("/authorize"), 1);
}

#[tokio::test]
async fn a_revoked_token_is_refreshed_once_for_all() {
    let world = World::new().await;
    let store = Arc::new(TokenStore::default());
    let mut config = world.config();
    config.store = store;
    login(&OAuth::new(config.clone()).unwrap()).await;
    world.issuer.revoke_access();
    let oauth = OAuth::new(config).unwrap();
    for status in futures((0..50).map(|_| world.call(&oauth))).await {
        assert_eq!(status.unwrap(), 200);
    }
    assert_eq!((world.issuer.grants("refresh_token"), world.issuer.count("/authorize")), (1, 1));
}

#[tokio::test]
async fn late_refusals_of_the_old_token_do_not_cost_the_new_one() {
    let world = World::new().await;
    let mut config = world.config();
    config.store = Arc::new(TokenStore::default());
    login(&OAuth::new(config.clone()).unwrap()).await;
    let oauth = OAuth::new(config).unwrap();
    let old = oauth.authorization().await.unwrap().unwrap();
    for _ in 0..5 {
        assert!(oauth.refused(&old, 401, None).await.unwrap());
        oauth.authorization().await.unwrap().unwrap();
    }
    assert_eq!((world.issuer.grants("refresh_token"), world.issuer.count("/authorize")), (1, 1));
}

#[tokio::test]
async fn a_refresh_token_that_ended_leads_to_a_login() {
    let world = World::new().await;
    let oauth = signed_in(&world).await;
    world.issuer.revoke_refresh();
    assert_eq!(world.call(&oauth).await.unwrap(), 200);
    assert_eq!((world.issuer.grants("refresh_token"), world.issuer.count("/authorize")), (1, 2));
    assert_eq!(world.issuer.count("/register"), 1, "the client is still registered");
}

#[tokio::test]
async fn without_a_refresh_token_the_user_signs_in_again() {
    let world = World::new().await;
    world.issuer.turn(|knobs| knobs.refresh_tokens = false);
    let oauth = signed_in(&world).await;
    assert_eq!(world.call(&oauth).await.unwrap(), 200);
    assert_eq!((world.issuer.grants("refresh_token"), world.issuer.count("/authorize")), (0, 2));
}

#[tokio::test]
async fn a_refresh_survives_the_caller_that_began_it() {
    let world = World::new().await;
    let oauth = signed_in(&world).await;
    let closed = world.issuer.state.gate.acquire_many(1000).await.unwrap();
    let before = world.issuer.count("/token");
    let arrived = async {
        while world.issuer.count("/token") == before {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        header = oauth.authorization() => panic!("{header:?}"),
        () = arrived => {}
    }
    drop(closed);
    assert_eq!(world.call(&oauth).await.unwrap(), 200);
    assert_eq!((world.issuer.grants("refresh_token"), world.issuer.count("/authorize")), (1, 1));
}

#[tokio::test]
async fn a_token_that_still_holds_is_used_while_the_issuer_is_away() {
    let world = World::new().await;
    // Due after ¾ of its life, and over in a while.
    world.issuer.turn(|knobs| knobs.expires_in = 3600);
    let mut config = world.config();
    config.store = Arc::new(TokenStore::default());
    login(&OAuth::new(config.clone()).unwrap()).await;
    let mut token = config.store.load(&world.url()).unwrap().pop().unwrap();
    token.renew_at = Some(0);
    config.store.save(&token).unwrap();
    world.issuer.turn(|knobs| knobs.token_answer = Some((503, String::new())));
    let oauth = OAuth::new(config.clone()).unwrap();
    assert_eq!(world.call(&oauth).await.unwrap(), 200);
    token.expires_at = Some(0);
    config.store.save(&token).unwrap();
    let error = world.call(&OAuth::new(config).unwrap()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Connect);
}

#[tokio::test]
async fn what_another_process_renewed_is_taken_over() {
    let world = World::new().await;
    let mut config = world.config();
    config.store = Arc::new(TokenStore::default());
    let (ours, theirs) = (OAuth::new(config.clone()).unwrap(), OAuth::new(config).unwrap());
    world.issuer.turn(|knobs| knobs.expires_in = 0);
    login(&ours).await;
    login(&theirs).await;
    world.issuer.turn(|knobs| knobs.expires_in = 3600);
    let header = ours.authorization().await.unwrap();
    let refreshes = world.issuer.grants("refresh_token");
    assert_eq!(theirs.authorization().await.unwrap(), header);
    assert_eq!(world.issuer.grants("refresh_token"), refreshes);
}

#[tokio::test]
async fn a_server_that_moves_to_another_issuer_gets_a_new_login_there() {
    let (world, other) = (World::new().await, World::new().await);
    let oauth = world.oauth();
    world.call(&oauth).await.unwrap();
    let old_client = world.issuer.last("/authorize").query["client_id"].clone();
    // The other issuer counts on, so that its names differ.
    other.call(&other.oauth()).await.unwrap();
    world.issuer.revoke_access();
    world.want(|wants| wants.metadata["authorization_servers"] = json!([other.issuer.id()]));
    let challenge = Some("Bearer error=\"invalid_token\"");
    let sent = oauth.authorization().await.unwrap().unwrap();
    assert!(oauth.refused(&sent, 401, challenge).await.unwrap());
    assert_ne!(oauth.authorization().await.unwrap(), Some(sent));
    assert_eq!((world.issuer.count("/authorize"), world.issuer.grants("refresh_token")), (1, 0));
    assert_eq!(other.issuer.count("/register"), 2);
    assert_ne!(other.issuer.last("/authorize").query["client_id"], old_client);
}

#[tokio::test]
async fn a_client_of_the_user_is_not_shown_to_another_issuer() {
    let (world, other) = (World::new().await, World::new().await);
    world.issuer.register("me", "t0p");
    let mut config = world.config();
    config.settings.client_id = Some("me".to_owned());
    world.issuer.register_public("me");
    let oauth = OAuth::new(config.clone()).unwrap();
    world.call(&oauth).await.unwrap();
    world.issuer.revoke_access();
    world.want(|wants| wants.metadata["authorization_servers"] = json!([other.issuer.id()]));
    world.fails(&oauth, &["'me'", &other.issuer.id(), "set issuer"]).await;
    (config.settings.client_secret, config.settings.issuer) = (Some("t0p".into()), Some(world.issuer.id()));
    world.fails(&OAuth::new(config).unwrap(), &["belongs to", &other.issuer.id()]).await;
    assert_eq!((other.issuer.count("/authorize"), other.issuer.count("/token")), (0, 0));
}
