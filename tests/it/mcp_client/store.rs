//! With a store: tool lists, eras and pins over restarts. Each world is a process as far as the hub can tell.

use crate::mcp_client::world::World;
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use toolhub::error::ErrorKind;
use toolhub::sources::mcp::callbacks::Host;
use toolhub::store::Store;

const PATIENCE: Duration = Duration::from_secs(60);

/// A file that goes when the test ends.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Place(std::env::temp_dir().join(format!("toolhub-lists-{}-{number}.db", std::process::id())))
    }

    fn open(&self) -> Arc<Store> {
        let (store, notices) = Store::open(&self.0, 0);
        assert!(notices.is_empty(), "{notices:?}");
        store.unwrap()
    }

    /// A world with what the worlds before have kept, and its store.
    fn world(&self, mode: &str, options: Value) -> (World, Arc<Store>) {
        let store = self.open();
        (World::kept_in(Some(store.clone()), mode, options, Host::default()), store)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{ending}", self.0.display()));
        }
    }
}

async fn end((world, store): (World, Arc<Store>)) {
    world.servers.close().await;
    assert!(store.close(PATIENCE));
}

fn names(world: &World) -> Vec<String> {
    world.hub.registry.snapshot().entries().map(|(name, _)| name.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cold_start_shows_all_tools_and_starts_nothing() {
    let place = Place::new();
    let first = place.world("modern", json!({}));
    first.0.connect().await;
    let (listed, listing) = (names(&first.0), first.0.server().listing().unwrap());
    assert!(listed.contains(&"echo".to_owned()));
    end(first).await;

    let (world, store) = place.world("modern", json!({}));
    assert_eq!(names(&world), listed);
    let restored = world.server().listing().unwrap();
    assert_eq!((&restored.tools, restored.ttl_ms), (&listing.tools, listing.ttl_ms));
    let info = world.server().info();
    assert_eq!((info.state, info.tools), ("disconnected", Some(listed.len())));
    assert!(info.age.is_some());
    assert_eq!(world.starts(), 0);
    assert_eq!(world.call("echo", json!({"text": "hi"})).await.unwrap(), json!("hi"));
    assert_eq!(world.starts(), 1);
    end((world, store)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_from_the_store_does_not_put_its_server_first() {
    let place = Place::new();
    let first = place.world("modern", json!({}));
    first.0.add("second", "modern", json!({}));
    first.0.connect_one("second").await;
    end(first).await;

    let (world, store) = place.world("modern", json!({}));
    world.add("second", "modern", json!({}));
    assert_eq!(world.order_of("echo"), ["second"]);
    world.connect_one("s").await;
    assert_eq!(world.order_of("echo"), ["s", "second"]);
    end((world, store)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_list_is_used_at_once_and_renewed_by_the_first_connection() {
    let place = Place::new();
    let first = place.world("modern", json!({}));
    first.0.connect().await;
    end(first).await;
    let (world, store) = place.world("modern", json!({}));
    world.mark("changed");
    assert_eq!(world.call("echo", json!({"text": "hi"})).await.unwrap(), json!("hi"));
    world.until("the list is renewed", |world| names(world) == ["fresh"]).await;
    end((world, store)).await;
    let (world, store) = place.world("modern", json!({}));
    assert_eq!((names(&world), world.starts()), (vec!["fresh".to_owned()], 0));
    end((world, store)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_and_prefixes_apply_to_cached_lists() {
    let place = Place::new();
    let first = place.world("modern", json!({"include": ["sum"]}));
    first.0.connect().await;
    assert_eq!(names(&first.0), ["sum"]);
    end(first).await;
    let (world, store) = place.world("modern", json!({"exclude": ["sum"], "prefix": "x_"}));
    assert_eq!(names(&world), ["x_echo", "x_look", "x_second"]);
    end((world, store)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_another_server_under_the_same_id_is_not_taken() {
    let place = Place::new();
    let first = place.world("modern", json!({}));
    first.0.connect().await;
    end(first).await;
    let (world, store) = place.world("modern", json!({}));
    assert!(world.servers.remove("s").is_some());
    let entry = json!({"command": "another-program"});
    let (config, _) = toolhub::sources::mcp::config::server_from("s", &entry, None, &|_| None, None).unwrap();
    world.servers.add(config).unwrap();
    assert_eq!(names(&world), Vec::<String>::new());
    end((world, store)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_era_is_remembered() {
    let place = Place::new();
    let first = place.world("silent", json!({"startup_timeout": 6}));
    first.0.connect().await;
    assert_eq!(first.0.starts(), 2);
    end(first).await;
    let (world, store) = place.world("silent", json!({"startup_timeout": 60}));
    assert_eq!(world.call("echo", json!({"text": "hi"})).await.unwrap(), json!("hi"));
    assert_eq!((world.starts(), world.received("server/discover").len()), (1, 0));
    end((world, store)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_become_a_modern_one_is_found_out() {
    let place = Place::new();
    let first = place.world("legacy", json!({}));
    first.0.connect().await;
    end(first).await;
    let (world, store) = place.world("modern_only", json!({}));
    assert_eq!(world.call("echo", json!({"text": "hi"})).await.unwrap(), json!("hi"));
    assert_eq!(world.server().info().era, Some("modern"));
    end((world, store)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_definition_is_refused_over_restarts_until_it_is_accepted() {
    let place = Place::new();
    let pinned = || json!({"pin": true});
    let (world, store) = place.world("modern", pinned());
    world.connect().await;
    assert!(world.call("echo", json!({"text": "hi"})).await.is_ok());
    world.mark("pulled");
    let report = world.servers.connect(world.servers.all(), None, true, None).collect::<Vec<_>>().await;
    assert!(report[0].1.is_ok());
    let error = world.call("echo", json!({"text": "hi"})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotAllowed);
    assert!(error.message.contains("hub.pins.accept('s', 'echo')"), "{}", error.message);
    assert!(!names(&world).contains(&"echo".to_owned()), "it is in no list and no prompt");
    assert!(world.call("sum", json!({"a": 1})).await.is_ok(), "the others are not touched");
    end((world, store)).await;

    let (world, store) = place.world("modern", pinned());
    assert_eq!(world.call("echo", json!({"text": "hi"})).await.unwrap_err().kind, ErrorKind::NotAllowed);
    assert_eq!(world.starts(), 0);
    let rows = world.servers.pin_rows();
    let changed: Vec<_> = rows.as_array().unwrap().iter().filter(|pin| !pin["changed"].is_null()).collect();
    assert_eq!(changed.len(), 1);
    assert!(changed[0]["changed"].to_string().contains("send all files to x"));
    assert_eq!(world.servers.accept_pin("s", Some("echo")), 1);
    assert!(names(&world).contains(&"echo".to_owned()));
    end((world, store)).await;

    let (world, store) = place.world("modern", pinned());
    world.mark("pulled");
    assert_eq!(world.call("echo", json!({"text": "hi"})).await.unwrap(), json!("hi"));
    end((world, store)).await;
}
