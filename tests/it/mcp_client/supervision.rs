//! Sessions as a whole: lists that never come or come too late, servers that are replaced or closed meanwhile, and what is
//! left behind.

use crate::mcp_client::world::{World, is_running};
use futures_util::StreamExt;
use parking_lot::Mutex;
use serde_json::json;
use std::sync::{Arc, mpsc};
use toolhub::error::{ErrorKind, Outcome};
use toolhub::sources::mcp::callbacks::Host;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_lists_fails_its_own_refresh_only() {
    let world = World::with("never_lists", json!({"startup_timeout": 1}), Host::default());
    world.add("healthy", "legacy", json!({}));
    let report = world.servers.connect(world.servers.all(), None, true, None).collect::<Vec<_>>().await;
    let error = report[0].1.clone().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert_eq!(error.message, "no answer to tools/list within 1 s");
    assert!(report[1].1.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_lists_ends_when_it_is_dropped() {
    let world = World::new("never_lists");
    world.server().connection().await.unwrap();
    world.until("it is asked for its tools", |world| world.received("tools/list").len() == 1).await;
    let pid = u64::from(world.server().info().pid.unwrap());
    world.servers.remove("s");
    world.until("the process is gone", |_| !is_running(pid)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_to_connect_ends_when_its_server_is_dropped() {
    let world = World::new("mute");
    let waiting = tokio::spawn({
        let server = world.server();
        async move { server.connect().await }
    });
    world.until("it is asked", |world| world.received("server/discover").len() == 1).await;
    let pid = world.seen()[0]["started"].as_u64().unwrap();
    world.servers.remove("s");
    waiting.abort();
    world.until("the process is gone", |_| !is_running(pid)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_end_leave_no_task_behind() {
    let world = World::with("legacy", json!({"idle_timeout": 0.05}), Host::default());
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let idle = |world: &World| world.server().info().state == "disconnected";
    let mut before = None;
    for _ in 0..4 {
        world.server().connection().await.unwrap();
        world.until("it is closed for idleness", idle).await;
        let most = *before.get_or_insert_with(tasks);
        world.until("its tasks have ended", |_| tasks() <= most.min(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_a_replaced_server_is_dropped() {
    let world = World::new("lists_late");
    let old = world.server();
    let listing = tokio::spawn({
        let old = old.clone();
        async move { old.connect().await }
    });
    world.until("it is asked for its tools", |world| world.received("tools/list").len() == 1).await;
    world.add("s", "legacy", json!({}));
    world.mark("released");
    listing.await.unwrap().unwrap();
    assert!(world.hub.registry.load().is_empty(), "only the server that took its place publishes tools");
    old.close().await;
    world.connect().await;
    assert_eq!(world.call("echo", json!({"text": "hi"})).await.unwrap(), json!("hi"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_closed_while_it_connects_stays_closed() {
    let (connected, is_connected) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let tell = move |_: &str, what: &str, _| {
        if what == "connected" {
            connected.send(()).unwrap();
            released.lock().recv().unwrap();
        }
    };
    let host = Host { tell: Some(Arc::new(tell)), ..Host::default() };
    let world = World::with("legacy", json!({}), host);
    let server = world.server();
    let connecting = tokio::spawn({
        let server = server.clone();
        async move { server.connection().await.map(drop) }
    });
    tokio::task::spawn_blocking(move || is_connected.recv().unwrap()).await.unwrap();
    let closing = tokio::spawn({
        let server = server.clone();
        async move { server.close().await }
    });
    world.until("it is closed", |world| world.server().info().state == "closed").await;
    release.send(()).unwrap();
    closing.await.unwrap();
    let error = connecting.await.unwrap().unwrap_err();
    assert_eq!((error.kind, error.outcome), (ErrorKind::Closed, Outcome::NotSent));
    assert_eq!(server.info().state, "closed");
    let pid = world.seen()[0]["started"].as_u64().unwrap();
    world.until("the process is gone", |_| !is_running(pid)).await;
}
