//! The login in the browser, from the first refusal to the token.

use crate::mcp_auth::http::{browse, fetch, fields};
use crate::mcp_auth::{World, opener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use toolhub::sources::mcp::auth::{Credentials, OAuth};

#[tokio::test]
async fn one_login_serves_all_calls() {
    let world = World::new().await;
    let oauth = world.oauth();
    assert_eq!(oauth.authorization().await.unwrap(), None, "the server is asked first");
    for _ in 0..3 {
        assert_eq!(world.call(&oauth).await.unwrap(), 200);
    }
    assert_eq!((world.issuer.count("/authorize"), world.issuer.count("/token")), (1, 1));
    let asked = world.issuer.last("/authorize").query;
    assert_eq!(asked["resource"], world.url());
    assert!(asked["redirect_uri"].starts_with("http://127.0.0.1:"));
    assert!(!asked.contains_key("scope"), "no scopes were requested");
    assert_eq!(world.issuer.last("/token").form()["resource"], world.url());
}

#[tokio::test]
async fn concurrent_first_calls_share_one_login() {
    let world = World::new().await;
    let oauth = world.oauth();
    let calls = (0..20).map(|_| world.call(&oauth));
    for status in futures(calls).await {
        assert_eq!(status.unwrap(), 200);
    }
    assert_eq!(world.issuer.count("/authorize"), 1);
}

/// All of them at once, on this task.
pub async fn futures<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = all.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |context| {
        for (future, done) in running.iter_mut().filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(output) = future.as_mut().poll(context) {
                *done = Some(output);
            }
        }
        match running.iter().all(|(_, done)| done.is_some()) {
            true => std::task::Poll::Ready(running.iter_mut().filter_map(|(_, done)| done.take()).collect()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

#[tokio::test]
async fn metadata_is_found_where_the_specification_says() {
    for (path, advertised) in [
        ("/.well-known/oauth-protected-resource/mcp", false),
        ("/.well-known/oauth-protected-resource", false),
        ("/custom/metadata.json", true),
    ] {
        let world = World::new().await;
        let url = world.server.url(path);
        world.want(|wants| {
            wants.metadata_path = path;
            wants.advertised = advertised.then_some(url);
        });
        assert_eq!(world.call(&world.oauth()).await.unwrap(), 200, "{path}");
    }
}

#[tokio::test]
async fn the_resource_is_named_as_it_names_itself() {
    let world = World::new().await;
    let origin = world.server.url("");
    world.want(|wants| wants.metadata["resource"] = origin.clone().into());
    world.call(&world.oauth()).await.unwrap();
    assert_eq!(world.issuer.last("/authorize").query["resource"], origin, "no slash is added");
    assert_eq!(world.issuer.last("/token").form()["resource"], origin);
}

#[tokio::test]
async fn scopes_come_from_the_user_then_the_refusal_then_the_metadata() {
    let world = World::new().await;
    world.want(|wants| wants.metadata["scopes_supported"] = serde_json::json!(["from-metadata"]));
    world.call(&world.oauth()).await.unwrap();
    assert_eq!(world.issuer.last("/authorize").query["scope"], "from-metadata");
    world.want(|wants| wants.first_scopes = Some("from refusal"));
    world.call(&world.oauth()).await.unwrap();
    assert_eq!(world.issuer.last("/authorize").query["scope"], "from refusal");
    let mut config = world.config();
    config.settings.scopes = vec!["mine".to_owned()];
    world.call(&OAuth::new(config).unwrap()).await.unwrap();
    assert_eq!(world.issuer.last("/authorize").query["scope"], "mine");
}

#[tokio::test]
async fn offline_access_is_asked_for_only_where_it_is_offered() {
    let world = World::new().await;
    world.want(|wants| wants.first_scopes = Some("read"));
    world
        .issuer
        .turn(|knobs| knobs.metadata = serde_json::json!({"scopes_supported": ["read", "offline_access"]}));
    world.call(&world.oauth()).await.unwrap();
    assert_eq!(world.issuer.last("/authorize").query["scope"], "read offline_access");
    assert_eq!(world.issuer.last("/authorize").query["prompt"], "consent");
}

#[tokio::test]
async fn more_scopes_are_asked_for_together_with_the_old_ones() {
    let world = World::new().await;
    world.want(|wants| (wants.first_scopes, wants.scopes) = (Some("read"), vec!["write"]));
    let oauth = world.oauth();
    assert_eq!(world.call(&oauth).await.unwrap(), 200);
    assert_eq!(world.issuer.last("/authorize").query["scope"], "read write");
    assert_eq!((world.issuer.count("/authorize"), world.issuer.count("/register")), (2, 1));
}

#[tokio::test]
async fn scopes_that_are_never_granted_are_asked_for_once() {
    let world = World::new().await;
    world.want(|wants| (wants.first_scopes, wants.scopes) = (Some("admin"), vec!["admin"]));
    world.issuer.turn(|knobs| knobs.withheld = vec!["admin"]);
    world
        .fails(&world.oauth(), &["'admin'", "already requested", "remove this login from the token file"])
        .await;
    assert_eq!(world.issuer.count("/authorize"), 1);
    // With an access that was granted meanwhile, and without the stored login.
    world.issuer.turn(|knobs| knobs.withheld.clear());
    assert_eq!(world.call(&world.oauth()).await.unwrap(), 200);
}

#[tokio::test]
async fn an_answer_to_another_login_is_turned_away_and_ours_still_counts() {
    let world = World::new().await;
    let mut config = world.config();
    config.opener = opener(|url| async move {
        let back = fields(url.split_once('?').unwrap().1)["redirect_uri"].clone();
        for forged in ["?code=evil&state=wrong", "?code=evil", "?error=access_denied"] {
            let answer = fetch("GET", &format!("{back}{forged}"), &[], "").await.unwrap();
            assert_eq!(answer.status, 400, "{forged}");
        }
        assert_eq!(fetch("POST", &back, &[], "").await.unwrap().status, 404);
        let answer = browse(&url).await.unwrap();
        assert!(
            answer.status == 200
                && answer.body.contains("close this window")
                && !answer.body.contains("code-")
        );
        assert!(fetch("GET", &back, &[], "").await.is_none(), "one answer, then the port is closed");
    });
    assert_eq!(world.call(&OAuth::new(config).unwrap()).await.unwrap(), 200);
}

#[tokio::test]
async fn a_refusal_of_the_user_is_reported() {
    let world = World::new().await;
    world.issuer.turn(|knobs| knobs.deny = true);
    let error = world.fails(&world.oauth(), &["refused", "access_denied", "No!"]).await;
    assert!(!error.message.contains('\u{1b}'));
}

#[tokio::test]
async fn the_callers_end_does_not_end_the_login_but_dropping_the_credentials_does() {
    let world = World::new().await;
    let (shown, mut pages) = mpsc::unbounded_channel();
    let mut config = world.config();
    config.opener = opener(move |url| {
        shown.send(url).unwrap();
        std::future::pending()
    });
    let oauth = OAuth::new(config).unwrap();
    let page = tokio::select! {
        result = world.call(&oauth) => panic!("{result:?}"),
        page = pages.recv() => page.unwrap(),
    };
    assert!(browse(&page).await.unwrap().body.contains("signed in"));
    assert_eq!(world.call(&oauth).await.unwrap(), 200);

    world.issuer.revoke_access();
    world.issuer.revoke_refresh();
    let other = {
        // another client without a token
        let mut config = world.config();
        let (shown, pages_again) = mpsc::unbounded_channel();
        config.opener = opener(move |url| {
            shown.send(url).unwrap();
            std::future::pending()
        });
        pages = pages_again;
        OAuth::new(config).unwrap()
    };
    let page = tokio::select! {
        result = world.call(&other) => panic!("{result:?}"),
        page = pages.recv() => page.unwrap(),
    };
    drop(other);
    let back = fields(page.split_once('?').unwrap().1)["redirect_uri"].clone();
    while fetch("GET", &back, &[], "").await.is_some() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn no_wait_lasts_forever() {
    let world = World::new().await;
    let mut config = world.config();
    config.login_timeout = Duration::from_millis(20);
    config.opener = opener(|_| std::future::pending());
    world.fails(&OAuth::new(config).unwrap(), &["Login timed out"]).await;
}

#[tokio::test]
async fn an_opener_that_fails_ends_the_login() {
    let world = World::new().await;
    let mut config = world.config();
    config.opener = Arc::new(|_| {
        Box::pin(async {
            Err(toolhub::error::HubError::new(toolhub::error::ErrorKind::Auth, "no screen")
                .with_outcome(toolhub::error::Outcome::NotSent))
        })
    });
    world.fails(&OAuth::new(config).unwrap(), &["no screen"]).await;
}

#[tokio::test]
async fn calls_that_come_during_a_login_wait_for_it() {
    let world = World::new().await;
    let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut config = world.config();
    config.opener = {
        let (asked, go) = (Arc::clone(&asked), Arc::clone(&go));
        opener(move |url| {
            let (asked, go) = (Arc::clone(&asked), Arc::clone(&go));
            async move {
                asked.notify_one();
                go.notified().await;
                browse(&url).await.unwrap();
            }
        })
    };
    let oauth = OAuth::new(config).unwrap();
    let late = async {
        asked.notified().await;
        let (header, ()) = tokio::join!(oauth.authorization(), async { go.notify_one() });
        assert!(header.unwrap().is_some());
    };
    let (status, ()) = tokio::join!(world.call(&oauth), late);
    assert_eq!(status.unwrap(), 200);
}
