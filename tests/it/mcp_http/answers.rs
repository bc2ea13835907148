//! What a request says, and answers in every shape that is one.

use super::*;

#[tokio::test]
async fn a_modern_request_says_what_it_is_in_its_headers() {
    let server = HttpServer::start([Reply::json(200, &answer(1)), Reply::json(200, &answer(2))]).await;
    let transport = open(&server);
    assert_eq!(ask(&*transport, request(1, "server/discover", None)).await.unwrap(), json!({"ok": 1}));
    transport.on_negotiated(Era::Modern, MODERN);
    let mut second = request(2, "tools/call", Some("größe"));
    second.headers = vec![("Mcp-Param-Region".into(), "us-west1".into()), ("Note".into(), "a\nb".into())];
    assert_eq!(ask(&*transport, &second).await.unwrap(), json!({"ok": 2}));

    let requests = server.requests();
    for request in &requests {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/mcp"));
        assert_eq!(request.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("accept-encoding"), Some("gzip"));
        assert_eq!(request.header("mcp-protocol-version"), Some(MODERN));
        assert_eq!(request.header("x-key"), Some("hush-hush-hush"));
        assert_eq!(request.header("mcp-session-id"), None);
    }
    assert_eq!(requests[0].header("mcp-method"), Some("server/discover"));
    assert_eq!(requests[0].header("mcp-name"), None);
    assert_eq!(requests[1].header("mcp-method"), Some("tools/call"));
    assert_eq!(requests[1].header("mcp-name"), Some("=?base64?Z3LDtsOfZQ==?="));
    assert_eq!(requests[1].header("mcp-param-region"), Some("us-west1"));
    assert_eq!(requests[1].header("mcp-param-note"), Some("=?base64?YQpi?="));
    assert_eq!(requests[1].body, second.body);
    assert_eq!(requests[1].connection, 0, "the connection is used again");
}

#[tokio::test]
async fn a_legacy_request_carries_version_and_session_and_nothing_modern() {
    let server = legacy_server(|request| match request.method.as_str() {
        "GET" => Reply::json(405, ""),
        _ => Reply::json(200, &answer(id_of(request))),
    })
    .await;
    let transport = open(&server);
    assert!(transport.cancels_by_drop());
    shake_hands(&*transport).await;
    assert!(!transport.cancels_by_drop());
    ask(&*transport, call(2)).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].header("mcp-protocol-version"), None);
    assert_eq!(requests[0].header("mcp-session-id"), None);
    let last = requests.iter().find(|request| method_of(request) == "tools/call").unwrap();
    assert_eq!(last.header("mcp-protocol-version"), Some(LEGACY));
    assert_eq!(last.header("mcp-session-id"), Some("s-1"));
    for request in &requests {
        assert_eq!(request.header("mcp-method"), None);
        assert_eq!(request.header("mcp-name"), None);
    }
}

#[tokio::test]
async fn an_answer_is_known_by_its_body() {
    let text = answer(1);
    let batch = format!("[{}, {text}]", note("x"));
    let string_id = text.replace("\"id\":1", "\"id\":\"1\"");
    for reply in [
        Reply::new(200, &["content-type: Application/JSON; charset=UTF-8"], &text),
        Reply::new(200, &["content-type: text/plain"], &text),
        Reply::new(200, &[], &text),
        Reply::json(200, &format!("\u{feff}{text}")),
        Reply::json(200, &batch),
        Reply::json(200, &string_id),
        Reply::head(200, ["content-type: application/json", "transfer-encoding: chunked"])
            .chunk(&text[..7])
            .chunk(&text[7..9])
            .chunk(&text[9..])
            .send("0\r\n\r\n"),
        Reply::default().send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n").and(Reply::json(200, &text)),
        Reply::default()
            .send(format!("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{text}"))
            .close(),
    ] {
        let server = HttpServer::start([reply.clone()]).await;
        assert_eq!(ask(&*open(&server), call(1)).await.unwrap(), json!({"ok": 1}), "{reply:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_an_answer_is_a_protocol_error_at_once() {
    let gzip = ["content-type: application/json", "content-encoding: gzip", "content-length: 20"];
    let page = Reply::head(200, ["content-type: text/html", "content-length: 100"]).send("<html>").hang();
    for reply in [
        page,
        Reply::json(200, ""),
        Reply::json(200, "{\"jsonrpc\": \"2.0\", \"id\": "),
        Reply::json(200, &answer(99)),
        Reply::json(200, &note("x")),
        Reply::json(200, "[]"),
        Reply::head(200, gzip).send("this is not gzip ...").hang(),
        Reply::head(200, gzip).send(b"\x1f\x8b\x08 not gzip either").hang(),
    ] {
        let error = error_of(reply.clone()).await;
        assert_eq!(error.kind, ErrorKind::Protocol, "{reply:?}: {error}");
        assert!(error.message.starts_with("Failed to parse MCP response"), "{error}");
    }
}

#[tokio::test]
async fn an_error_of_the_server_keeps_its_code() {
    let body = r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "bad"}}"#;
    let without_id = body.replace("\"id\": 1", "\"id\": null");
    for (reply, status) in [
        (Reply::json(200, body), None),
        (Reply::json(200, &without_id), None),
        (Reply::json(400, body), Some(400)),
        (Reply::json(400, &without_id), Some(400)),
        (Reply::json(404, body), Some(404)),
        (Reply::json(500, body), Some(500)),
    ] {
        let error = error_of(reply).await;
        assert_eq!((error.kind, error.code, error.status), (ErrorKind::Rpc, Some(-32602), status), "{error}");
        assert_eq!(error.message, "MCP error: bad (code -32602)");
    }
}

#[tokio::test]
async fn many_requests_at_once_get_their_own_answers() {
    let server = HttpServer::routed(|request| Reply::json(200, &answer(id_of(request)))).await;
    let transport = open(&server);
    let mut running = tokio::task::JoinSet::new();
    for id in 0..64 {
        let transport = transport.clone();
        running.spawn(async move { (id, ask(&*transport, call(id)).await) });
    }
    for (id, answer) in running.join_all().await {
        assert_eq!(answer.unwrap(), json!({ "ok": id }));
    }
}

#[tokio::test]
async fn what_is_sent_is_accepted_by_any_2xx() {
    for status in [200, 202, 204] {
        let reply = Reply::head(status, if status == 204 { vec![] } else { vec!["content-length: 0"] });
        let server = HttpServer::start([reply]).await;
        open(&server).send(note("notifications/x")).await.unwrap();
        assert_eq!(server.requests()[0].body, note("notifications/x"));
    }
    let server = HttpServer::start([Reply::new(500, &[], "oops")]).await;
    let error = open(&server).send(note("notifications/x")).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Http, Some(500)));
}
