//! Requests to a served hub: any bytes and headers get an answer of HTTP, never a crash, and an answer is JSON-RPC.

use super::{INPUTS, text_of};
use crate::support::no_upstreams::NoUpstreams;
use http::Request;
use http::request::Parts;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::runtime::Runtime;
use toolhub::gateway::{ArrivingRequest, Gateway, GatewayOptions, HttpReply, ReplyBody};
use toolhub::hub::{Hub, HubOptions};

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    ",",
    "\"",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    "{\"name\":\"x\",\"arguments\":{}}",
    "{\"name\":7}",
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}",
    "\"requestState\":\"x\"",
    "\"task\":{\"ttl\":1}",
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"x\",",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tasks/update\",\"params\":{\"taskId\":\"x\",\"inputResponses\":{\"a\":1},",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tasks/list\",\"params\":{",
    "\"cursor\":\"18446744073709551616\"",
    "{\"level\":\"info\"}",
    "\u{feff}",
    "\\ud800",
    "1e999",
    "null",
];

const VALUES: &[&str] = &[
    "",
    "2026-07-28",
    "2025-06-18",
    "2025-11-25",
    "2099-01-01",
    "tools/call",
    "tasks/get",
    "tasks/update",
    "x",
    "=?base64?YQ==?=",
    "=?base64?",
    "application/json",
    "text/event-stream",
    "localhost",
    "evil.example.com",
    "null",
    "Bearer x",
    "AAAA",
];

const HEADERS: [&str; 9] = [
    "host",
    "origin",
    "content-type",
    "accept",
    "authorization",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
];

/// One gateway for all inputs: what one request leaves behind must not harm the next.
struct Served {
    runtime: Runtime,
    gateway: Arc<Gateway>,
}

impl Served {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let hub = Arc::new(Hub::new(HubOptions::default()));
        let upstreams = Arc::new(NoUpstreams);
        let gateway = Arc::new(Gateway::new(hub, upstreams, GatewayOptions::default()).unwrap());
        Served { runtime, gateway }
    }

    async fn reply(&self, parts: &Parts, body: &[u8]) -> Result<HttpReply, HttpReply> {
        let mut request = ArrivingRequest::admit(self.gateway.clone(), parts.clone()).await?;
        request.take(body)?;
        Ok(request.answer().await)
    }

    fn answer(&self, parts: &Parts, body: &[u8]) {
        let reply = self.runtime.block_on(self.reply(parts, body)).unwrap_or_else(|refusal| refusal);
        assert!((200..600).contains(&reply.status.as_u16()));
        let ReplyBody::Whole(body) = reply.body else { return };
        if !body.is_empty() && reply.headers.iter().any(|(_, value)| value == "application/json") {
            let answer: Value = serde_json::from_slice(&body).unwrap();
            assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
        }
    }
}

#[test]
fn any_request_is_answered() {
    let served = AssertUnwindSafe(Served::new());
    bolero::check!().with_iterations(INPUTS).with_type().for_each(
        move |input: &(u8, Vec<(u8, u8)>, Vec<u8>)| {
            // All of it, so that the wrapper is captured.
            let served = &served;
            let (method, headers, body) = input;
            let method = ["POST", "POST", "POST", "GET", "DELETE", "PUT"][usize::from(*method) % 6];
            let mut request = Request::builder().method(method).uri("/mcp");
            let mut given = vec![("host", "localhost"), ("content-type", "application/json")];
            for (name, value) in headers {
                let name = HEADERS[usize::from(*name) % HEADERS.len()];
                given.retain(|(other, _)| *other != name);
                given.push((name, VALUES[usize::from(*value) % VALUES.len()]));
            }
            for (name, value) in given {
                request = request.header(name, value);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            for body in [body.clone(), text_of(body, PIECES).into_bytes()] {
                served.answer(&parts, &body);
            }
        },
    );
}
