//! Starting, finding out the era, restarting, ending.

use crate::mcp_client::world::{World, is_running};
use futures_util::StreamExt;
use serde_json::json;
use toolhub::error::{ErrorKind, Outcome};
use toolhub::sources::mcp::callbacks::Host;
use toolhub::sources::mcp::resources::subscribe;
use toolhub::tool::Tool;

#[tokio::test(flavor = "multi_thread")]
async fn an_older_server_is_greeted_in_the_older_way() {
    let world = World::new("legacy");
    world.connect().await;
    let info = world.server().info();
    assert_eq!((info.state, info.era, info.version), ("connected", Some("legacy"), Some("2025-06-18")));
    assert_eq!(info.instructions.as_deref(), Some("be kind"));
    assert_eq!(world.received("notifications/initialized").len(), 1);
    assert_eq!(world.starts(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_server_is_never_greeted() {
    let world = World::new("modern");
    world.connect().await;
    assert_eq!(world.server().info().era, Some("modern"));
    assert_eq!(world.received("initialize").len(), 0);
    let listed = &world.received("tools/list")[0]["params"]["_meta"];
    assert_eq!(listed["io.modelcontextprotocol/protocolVersion"], json!("2026-07-28"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_is_started_again_for_the_older_greeting() {
    let world = World::with("silent", json!({"startup_timeout": 6}), Host::default());
    world.connect().await;
    assert_eq!(world.starts(), 2);
    let methods: Vec<_> =
        world.seen().iter().filter_map(|note| note["method"].as_str().map(str::to_owned)).collect();
    assert_eq!(methods[..2], ["server/discover", "initialize"]);
    // What was learnt is remembered: the next life begins without the question.
    let _ = world.call("dies", json!({})).await;
    assert!(world.call("echo", json!({"text": "again"})).await.is_ok());
    assert_eq!(world.received("server/discover").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_on_the_question_is_started_again() {
    let world = World::new("dies_on_probe");
    world.connect().await;
    assert_eq!((world.starts(), world.server().info().era), (2, Some("legacy")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_start_says_why_in_its_own_words() {
    let world = World::new("refuses");
    let report = world.servers.connect(world.servers.all(), None, false, None).collect::<Vec<_>>().await;
    let error = report[0].1.clone().unwrap_err();
    assert_eq!(error.message, "Server 's' exited with code 5: fatal: no API key");
    assert_eq!(error.outcome, Outcome::NotSent);
    assert_eq!(world.server().info().state, "failed");
}

/// All at once, so that the machine is busy and a reader comes late.
#[tokio::test(flavor = "multi_thread")]
async fn sixty_servers_that_cannot_start_all_say_why() {
    let world = World::new("refuses");
    for number in 0..59 {
        world.add(&format!("s{number}"), "refuses", json!({}));
    }
    let connects = world
        .servers
        .all()
        .into_iter()
        .map(|server| async move { (server.id().clone(), server.connect().await.unwrap_err().message) });
    for (id, message) in futures_util::future::join_all(connects).await {
        assert_eq!(message, format!("Server '{id}' exited with code 5: fatal: no API key"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn first_calls_that_come_together_share_one_start() {
    let world = World::new("legacy");
    world.connect().await;
    world.server().close().await;
    // The same tools, a new server in its place: nothing is connected.
    world.add("s", "legacy", json!({"retries": 1}));
    assert_eq!(world.server().info().state, "disconnected");
    let tool = world.unlisted("echo");
    let calls = (0..10).map(|n| {
        let tool = tool.clone();
        async move {
            let mut args = serde_json::Map::new();
            args.insert("text".into(), json!(n.to_string()));
            let context = toolhub::tool::CallContext::new(
                std::time::Instant::now() + std::time::Duration::from_secs(20),
                tokio_util::sync::CancellationToken::new(),
            );
            tool.call(&toolhub::model::Arguments::new(args), &context).await
        }
    });
    for (n, output) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(output.unwrap().value, json!(n.to_string()));
    }
    assert_eq!(world.starts(), 2, "one for the first server, one for the second");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_fails_the_call_and_the_next_call_starts_the_server_again() {
    let world = World::new("legacy");
    world.connect().await;
    let tool = world.unlisted("dies");
    let context = toolhub::tool::CallContext::new(
        std::time::Instant::now() + std::time::Duration::from_secs(20),
        tokio_util::sync::CancellationToken::new(),
    );
    let error = tool.call(&toolhub::model::Arguments::default(), &context).await.unwrap_err();
    assert_eq!((error.kind, error.outcome), (ErrorKind::Closed, Outcome::Unknown));
    assert!(error.message.starts_with("Server 's' exited with code 9"), "{}", error.message);
    assert!(error.message.contains("the outcome is unknown"), "{}", error.message);
    assert_eq!(world.received("tools/call").len(), 1, "a call that may have run is never sent again");
    assert_eq!(world.call("echo", json!({"text": "again"})).await.unwrap(), json!("again"));
    assert_eq!(world.starts(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_tool_is_asked_again_after_a_crash() {
    let world = World::new("legacy");
    world.connect().await;
    assert_eq!(world.call("look", json!({})).await.unwrap(), json!("seen"));
    assert_eq!((world.starts(), world.received("tools/call").len()), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_the_process_and_every_later_call() {
    let world = World::new("legacy");
    world.connect().await;
    let pid = world.server().info().pid.unwrap();
    let server = world.server();
    server.close().await;
    server.close().await;
    assert!(!is_running(u64::from(pid)));
    assert!(world.seen().iter().any(|note| note.get("ended").is_some()), "it was allowed to end by itself");
    let error = world.call("echo", json!({"text": "x"})).await.unwrap_err();
    assert_eq!((error.kind, error.outcome), (ErrorKind::Closed, Outcome::NotSent));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_dropped_without_closing_ends_too() {
    let world = World::new("legacy");
    world.connect().await;
    let pid = u64::from(world.server().info().pid.unwrap());
    world.servers.remove("s");
    world.until("the process is gone", |_| !is_running(pid)).await;
    assert!(world.hub.registry.load().is_empty(), "its tools went with it");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_server_is_closed_and_comes_back_on_demand() {
    let world = World::with("legacy", json!({"idle_timeout": 0.2}), Host::default());
    world.connect().await;
    world.until("it is closed for idleness", |world| world.server().info().state == "disconnected").await;
    assert_eq!(world.call("echo", json!({"text": "back"})).await.unwrap(), json!("back"));
    assert_eq!(world.starts(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_subscriber_is_not_idle() {
    let idle = json!({"idle_timeout": 0.2});
    let world = World::with("subscribable", idle.clone(), Host::default());
    world.add("other", "legacy", idle);
    let subscription = subscribe(&world.server(), "note://x").await.unwrap();
    let state = |world: &World, id: &str| world.servers.get(id).unwrap().info().state;
    // As long as this takes, the first server is not used either.
    for _ in 0..2 {
        world.connect_one("other").await;
        world.until("the other one is closed", |world| state(world, "other") == "disconnected").await;
    }
    assert_eq!(state(&world, "s"), "connected");
    drop(subscription);
    world.until("it is closed for idleness", |world| state(world, "s") == "disconnected").await;
    assert_eq!(world.received("resources/subscribe").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_server_is_not_started() {
    let world = World::new("legacy");
    let entry = json!({"command": "x", "disabled": true});
    let (config, _) =
        toolhub::sources::mcp::config::server_from("off", &entry, None, &|_| None, None).unwrap();
    world.servers.add(config).unwrap();
    assert_eq!(world.servers.get("off").unwrap().info().state, "disabled");
    assert_eq!(world.servers.pick(None).unwrap().len(), 1);
    let error = world.servers.get("off").unwrap().connect().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotAllowed);
}
