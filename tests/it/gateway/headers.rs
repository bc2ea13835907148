//! The headers of modern requests.

use crate::gateway::client::ABSENT;
use crate::gateway::world::{World, modern};
use serde_json::json;

#[tokio::test]
async fn headers_that_contradict_the_body_are_refused() {
    let mut client = World::new().client().await;
    let call = modern(1, "tools/call", json!({"name": "profile"}));
    for headers in [
        vec![("mcp-protocol-version", ABSENT)],
        vec![("mcp-protocol-version", "2025-11-25")],
        vec![("mcp-protocol-version", "2099-01-01")],
        vec![("mcp-method", ABSENT)],
        vec![("mcp-method", "tools/list")],
        vec![("mcp-method", "TOOLS/CALL")],
        vec![("mcp-name", ABSENT)],
        vec![("mcp-name", "sum")],
        vec![("mcp-name", "=?base64?c3Vt?=")],
        vec![("mcp-name", "=?base64?!?=")],
        vec![("mcp-name", "profile"), ("mcp-name", "profile")],
        vec![("mcp-method", "tools/call"), ("mcp-method", "tools/list")],
    ] {
        let reply = client.post(&call, &headers).await;
        assert_eq!(
            (reply.status, reply.json()["error"]["code"].as_i64()),
            (400, Some(-32020)),
            "{headers:?}"
        );
        assert_eq!(reply.json()["id"], 1);
    }
    let reply = client.post(&call, &[("mcp-name", "=?base64?cHJvZmlsZQ==?=")]).await;
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[tokio::test]
async fn arguments_are_mirrored_as_the_schema_says() {
    let mut client = World::new().client().await;
    for (arguments, headers, is_right) in [
        (json!({"region": "eu"}), vec![("mcp-param-region", "eu")], true),
        (json!({"region": "日本"}), vec![("mcp-param-region", "=?base64?5pel5pys?=")], true),
        (json!({"n": 42}), vec![("mcp-param-n", "42.0")], true),
        (json!({}), vec![], true),
        (json!({"region": null}), vec![], true),
        (json!({}), vec![("mcp-param-other", "x")], true),
        (json!({"region": "eu"}), vec![], false),
        (json!({"region": "eu"}), vec![("mcp-param-region", "us")], false),
        (json!({}), vec![("mcp-param-region", "us")], false),
        (json!({"region": "eu"}), vec![("mcp-param-region", "eu"), ("mcp-param-region", "eu")], false),
        (json!({"n": 42}), vec![("mcp-param-n", "42.5")], false),
    ] {
        let call = modern(1, "tools/call", json!({"name": "region", "arguments": arguments}));
        let reply = client.post(&call, &headers).await;
        let code = reply.json()["error"]["code"].as_i64();
        assert_eq!(
            (reply.status == 200, code == Some(-32020)),
            (is_right, !is_right),
            "{arguments} {headers:?}"
        );
    }
}
