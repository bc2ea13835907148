//! Clients that we did not write: the SDK for Python, 1.x and 2.x, each in its own environment (`make servers`).

use crate::gateway::world::{PATIENCE, World, add};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use toolhub::model::{ToolOutput, ToolSpec};

/// What the client's script prints; `None` where its environment is not installed.
async fn run(environment: &str, mode: &str, world: &World) -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join(format!(".servers/{environment}/bin/python"));
    if !python.exists() {
        let missing = format!("{} is not installed: run `make servers`", python.display());
        // A CI run must not pass by testing nothing.
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("{missing}");
        return None;
    }
    let hub = Arc::downgrade(&world.gateway.hub);
    add(&world.gateway.hub, ToolSpec::named("grow"), move |_, _| {
        let hub = hub.clone();
        async move {
            if let Some(hub) = hub.upgrade() {
                add(&hub, ToolSpec::named("grown"), |_, _| async { Ok(ToolOutput::new(1)) });
            }
            Ok(ToolOutput::new("grown"))
        }
    });
    let url = format!("http://{}/mcp", world.serve().await);
    let script = root.join(format!("tests/gateway/clients/{environment}.py"));
    let mut command = tokio::process::Command::new(python);
    command.arg(script).arg(url).arg(mode).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = tokio::time::timeout(3 * PATIENCE, command.output()).await.unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}")))
}

async fn all_works(environment: &str, mode: &str, version: &str) {
    let mut world = World::new().with_background();
    let Some(found) = run(environment, mode, &world).await else { return };
    assert_eq!(found["version"], version);
    assert_eq!(found["tools"][0], "ask");
    assert_eq!(found["sum"], "5");
    assert_eq!(found["structured"], json!({"name": "Ada"}));
    assert_eq!(found["failed"], true);
    assert_eq!(found["progress"], json!([[1.0, 2.0, "half"]]));
    assert_eq!(found["question"], "Which?");
    assert_eq!(found["answer"]["answer"]["content"], json!({"x": "yes"}));
    assert_eq!(found["unknown"], -32602);
    assert_eq!((&found["changed"], &found["cancelled"]), (&json!(true), &json!(true)));
    if environment == "mcp1" {
        let answer = json!({"answer": {"action": "accept", "content": {"x": "yes"}}});
        let tasks = json!([["completed", true, {"name": "Ada"}], ["completed", true, answer]]);
        assert_eq!(found["tasks"], tasks);
    }
    if environment == "mcp2" {
        assert_eq!(found["mirrored"], json!({"region": "日本", "n": 7}));
        assert_eq!(found["background"], "done in the background");
        let is_modern = version == "2026-07-28";
        assert_eq!(found.get("followed").is_some(), is_modern, "the extension is one of the modern era");
    }
    assert_eq!(world.act().await, "started");
    assert_eq!(world.act().await, "cancelled");
}

#[tokio::test]
async fn the_sdk_1() {
    all_works("mcp1", "", "2025-11-25").await;
}

#[tokio::test]
async fn the_sdk_2_in_the_modern_era() {
    all_works("mcp2", "auto", "2026-07-28").await;
}

#[tokio::test]
async fn the_sdk_2_in_the_older_era() {
    all_works("mcp2", "legacy", "2025-11-25").await;
}
