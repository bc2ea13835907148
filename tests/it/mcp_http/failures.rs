//! Statuses, broken connections, redirects and bodies without end: each is an error that says what is known.

use super::*;

#[tokio::test]
async fn every_status_says_whether_the_call_may_have_run() {
    use ErrorKind::{Auth, Http};
    use Outcome::{Failed, Unknown};
    for (status, kind, outcome) in [
        (400, Http, Failed),
        (401, Auth, Failed),
        (403, Auth, Failed),
        (404, Http, Failed),
        (405, Http, Failed),
        (406, Http, Failed),
        (408, Http, Unknown),
        (409, Http, Failed),
        (413, Http, Failed),
        (415, Http, Failed),
        (418, Http, Failed),
        (429, Http, Unknown),
        (500, Http, Unknown),
        (501, Http, Unknown),
        (502, Http, Unknown),
        (503, Http, Unknown),
        (504, Http, Unknown),
    ] {
        let error =
            error_of(Reply::new(status, &["content-type: text/plain"], "\u{1b}[31minjected\u{7}")).await;
        assert_eq!((error.kind, error.status, error.outcome), (kind, Some(status), outcome), "{error}");
        assert_eq!(error.nothing_happened, status == 429, "{error}");
        assert_eq!(error.message, format!("HTTP request failed with status {status}: injected"));
    }
}

/// Errors as proxies and web frameworks write them do not come from the MCP server.
#[tokio::test]
async fn a_json_body_of_another_form_is_an_http_error() {
    for body in [
        r#"{"error": "Internal Server Error"}"#,
        r#"{"error": {"code": 500, "message": "boom", "status": "INTERNAL"}}"#,
        r#"{"detail": "Not Found"}"#,
        r#"{"id": "req-1", "error": {"type": "server_error", "message": "boom"}}"#,
        r#"[{"error": "boom"}]"#,
        "null",
    ] {
        for (status, outcome) in
            [(400, Outcome::Failed), (404, Outcome::Failed), (500, Outcome::Unknown), (502, Outcome::Unknown)]
        {
            let error = error_of(Reply::json(status, body)).await;
            assert_eq!(
                (error.kind, error.code, error.status, error.outcome),
                (ErrorKind::Http, None, Some(status), outcome),
                "{body}"
            );
        }
        let accepted = error_of(Reply::json(200, body)).await;
        assert_eq!((accepted.kind, accepted.outcome), (ErrorKind::Protocol, Outcome::Unknown), "{body}");
    }
}

#[tokio::test]
async fn a_json_rpc_error_keeps_its_code_under_any_status() {
    for (id, status, outcome) in [
        ("1", 400, Outcome::Failed),
        ("1", 500, Outcome::Failed),
        ("null", 400, Outcome::Failed),
        // The layer that answered did not read the request; the one below it may have.
        ("null", 500, Outcome::Unknown),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"boom"}}}}"#);
        let error = error_of(Reply::json(status, &body)).await;
        assert_eq!(
            (error.kind, error.code, error.status, error.outcome),
            (ErrorKind::Rpc, Some(-32603), Some(status), outcome),
            "{body}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_will_never_come_is_an_error_at_once() {
    for (status, headers) in [(202, vec!["content-length: 0"]), (204, vec![]), (304, vec![])] {
        let error = error_of(Reply::head(status, headers)).await;
        assert_eq!(
            (error.kind, error.status, error.outcome),
            (ErrorKind::Http, Some(status), Outcome::Unknown)
        );
    }
}

#[tokio::test]
async fn a_busy_server_says_when_to_come_back() {
    let date = ["date: Sun, 06 Nov 1994 08:49:37 GMT", "retry-after: Sun, 06 Nov 1994 08:49:44 GMT"];
    for headers in [&["retry-after: 7"][..], &date] {
        for status in [429, 503] {
            let error = error_of(Reply::new(status, headers, "busy")).await;
            assert_eq!((error.status, error.retry_after), (Some(status), Some(7.0)));
        }
    }
}

#[tokio::test]
async fn an_error_page_is_named_and_a_slow_one_not_waited_for() {
    let error = error_of(Reply::new(500, &[], "<html><h1>Oops</h1></html>")).await;
    assert_eq!(error.message, "HTTP request failed with status 500: an HTML page");
    let slow = Reply::head(500, ["content-length: 100"]).send("half of").hang();
    let error = error_of(slow).await;
    assert_eq!(error.message, "HTTP request failed with status 500: half of");
}

#[tokio::test]
async fn a_server_cannot_make_us_show_our_secrets() {
    let error = error_of(Reply::new(500, &[], "you sent hush-hush-hush")).await;
    assert_eq!(error.message, "HTTP request failed with status 500: you sent ***");
}

#[tokio::test]
async fn a_refused_connection_was_not_used_and_shows_no_secret() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = format!("http://me:hush-hush@{address}/mcp?key=hush-hush");
    let transport = open_with(HttpOptions {
        url,
        headers: Vec::new(),
        limit: LIMIT,
        credentials: None,
        secrets: Arc::default(),
    });
    let error = ask(&*transport, call(1)).await.unwrap_err();
    assert_eq!((error.kind, error.outcome), (ErrorKind::Connect, Outcome::NotSent));
    assert_eq!(error.message, format!("connection refused (http://{address}/mcp)"));
}

#[tokio::test]
async fn tls_to_a_plain_server_is_a_connect_error() {
    let server = HttpServer::start([]).await;
    let url = format!("https://{}/mcp", server.address());
    let transport = open_with(HttpOptions { url, ..options(&server) });
    let error = ask(&*transport, call(1)).await.unwrap_err();
    assert_eq!((error.kind, error.outcome), (ErrorKind::Connect, Outcome::NotSent), "{error}");
}

#[tokio::test]
async fn a_connection_that_breaks_after_sending_leaves_the_outcome_open_and_nothing_is_sent_twice() {
    for reply in [
        Reply::default().close(),
        Reply::default().reset(),
        Reply::default().send("SSH-2.0-OpenSSH_9.9\r\n").close(),
        Reply::head(200, ["content-type: application/json", "content-length: 1000"]).send("{").reset(),
        Reply::head(200, ["content-type: application/json", "content-length: 1000"]).send("{").close(),
    ] {
        let error = error_of(reply.clone()).await;
        assert_eq!((error.kind, error.outcome), (ErrorKind::Closed, Outcome::Unknown), "{reply:?}: {error}");
    }
    let bad_chunk = Reply::head(200, ["transfer-encoding: chunked"]).send("ZZZ\r\n{").close();
    assert_eq!(error_of(bad_chunk).await.outcome, Outcome::Unknown);
}

#[tokio::test]
async fn an_idle_connection_that_the_server_closed_fails_no_call() {
    let server = HttpServer::routed(|request| Reply::json(200, &answer(id_of(request))).close()).await;
    let transport = open(&server);
    for id in 0..20 {
        assert_eq!(ask(&*transport, call(id)).await.unwrap(), json!({ "ok": id }));
    }
    let sent: Vec<u64> = server.requests().iter().map(id_of).collect();
    assert_eq!(sent, Vec::from_iter(0..20), "each call was sent once");
}

#[tokio::test]
async fn a_redirect_inside_of_the_origin_is_followed() {
    for status in [307, 308] {
        let replies = [Reply::new(status, &["location: /moved?x=1"], ""), Reply::json(200, &answer(1))];
        let server = HttpServer::start(replies).await;
        assert_eq!(ask(&*open(&server), call(1)).await.unwrap(), json!({"ok": 1}));
        let requests = server.requests();
        assert_eq!(requests[1].path, "/moved?x=1");
        assert_eq!(requests[1].body, requests[0].body);
        assert_eq!(requests[1].header("x-key"), Some("hush-hush-hush"));
    }
}

#[tokio::test]
async fn a_redirect_to_another_origin_gets_nothing_from_us() {
    let other = HttpServer::start([]).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("location: http://u:p@{}/evil?k=1", other.address());
        let error = error_of(Reply::new(status, &[&location], "")).await;
        assert_eq!((error.kind, error.status), (ErrorKind::Http, Some(status)));
        assert!(error.message.contains(&format!("another origin, http://{},", other.address())), "{error}");
    }
    assert!(other.requests().is_empty());
    for reply in [Reply::new(307, &[], ""), Reply::new(302, &["location: /x"], "")] {
        assert_eq!(error_of(reply).await.kind, ErrorKind::Http);
    }
}

#[tokio::test]
async fn a_redirect_loop_is_cut() {
    let server = HttpServer::routed(|_| Reply::new(307, &["location: /v1/mcp"], "")).await;
    let error = ask(&*open(&server), call(1)).await.unwrap_err();
    assert_eq!((error.kind, error.outcome), (ErrorKind::Http, Outcome::Unknown), "{error}");
    assert_eq!(server.requests().len(), 1, "no address is asked twice");
    let server =
        HttpServer::routed(|request| Reply::new(308, &[&format!("location: {}x", request.path)], "")).await;
    let error = ask(&*open(&server), call(1)).await.unwrap_err();
    assert_eq!((error.kind, error.outcome), (ErrorKind::Http, Outcome::Unknown), "{error}");
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn a_redirect_is_remembered_until_something_fails() {
    let server = HttpServer::routed(|request| match (&*request.path, id_of(request)) {
        ("/v1/mcp", _) => Reply::new(307, &["location: /moved"], ""),
        (_, 3) => Reply::new(404, &[], ""),
        (_, id) => Reply::json(200, &answer(id)),
    })
    .await;
    let transport = open(&server);
    for id in 1..=4 {
        assert_eq!(ask(&*transport, call(id)).await.is_ok(), id != 3);
    }
    let paths: Vec<String> = server.requests().iter().map(|request| request.path.clone()).collect();
    assert_eq!(paths, ["/v1/mcp", "/moved", "/moved", "/moved", "/v1/mcp", "/moved"]);
}

#[tokio::test]
async fn what_is_over_the_limit_is_refused_at_once() {
    let json = ["content-type: application/json", "transfer-encoding: chunked"];
    let long = format!("content-length: {}", LIMIT + 1);
    for reply in [
        // It never sends what it announces.
        Reply::head(200, ["content-type: application/json", &long]).hang(),
        Reply::head(200, json).flood_chunks([b' '; 4096]),
        Reply::event_stream().chunk("data: ").flood_chunks([b'x'; 4096]),
        Reply::event_stream().flood_chunks(format!("data: {}\n", "x".repeat(1000))),
    ] {
        let error = error_of(reply).await;
        assert_eq!((error.kind, error.outcome), (ErrorKind::Limit, Outcome::Unknown));
        assert!(error.message.contains("1048576") && error.message.contains("max_message_bytes"), "{error}");
    }
}

#[tokio::test]
async fn a_packed_body_is_limited_by_what_it_unpacks_to() {
    let gzip = ["content-type: application/json", "content-encoding: gzip", "connection: close"];
    let body = format!("{}{}", answer(1), " ".repeat(1000));
    let server = HttpServer::start([Reply::head(200, gzip).send(packed(body.as_bytes(), 1)).close()]).await;
    assert_eq!(ask(&*open(&server), call(1)).await.unwrap(), json!({"ok": 1}));
    // Some kilobytes that become 25 times the limit; their end never comes.
    let bomb = packed(&[b' '; 1000], 100_000);
    let error = error_of(Reply::head(200, gzip).send(bomb).hang()).await;
    assert_eq!(error.kind, ErrorKind::Limit, "{error}");
}

/// Gzip without a compressor: a whole one of a stored block, or one that goes on to repeat its last byte 258 times a run.
fn packed(start: &[u8], runs: usize) -> Vec<u8> {
    let mut out = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff".to_vec();
    let length = u16::try_from(start.len()).unwrap();
    let stored = |last: u8| {
        let mut block = vec![last];
        block.extend_from_slice(&length.to_le_bytes());
        block.extend_from_slice(&(!length).to_le_bytes());
        block.extend_from_slice(start);
        block
    };
    if runs > 1 {
        out.extend(stored(0));
        // One fixed block: (length 258, distance 1) again and again. The code of 258 is 11000101, that of distance 1 is
        // 00000, both with the first bit lowest; thirteen bits at a time, behind the three of the block's head.
        let mut bits = vec![false, true, false];
        let pair = [true, true, false, false, false, true, false, true, false, false, false, false, false];
        bits.extend(std::iter::repeat_n(pair, runs).flatten());
        out.extend(
            bits.chunks(8).map(|byte| {
                byte.iter().enumerate().fold(0, |sum, (place, bit)| sum | u8::from(*bit) << place)
            }),
        );
        return out;
    }
    out.extend(stored(1));
    out.extend_from_slice(&crc32(start).to_le_bytes());
    out.extend_from_slice(&u32::from(length).to_le_bytes());
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

#[tokio::test]
async fn options_that_cannot_work_are_refused_without_showing_them() {
    let server = HttpServer::start([]).await;
    let refused = |options| HttpTransport::open(options, inbox()).err().unwrap();
    for url in ["", "hush", "ftp://hush@h/", "http://", "http://a:hush@:1"] {
        let error = refused(HttpOptions { url: url.into(), ..options(&server) });
        assert_eq!(error.outcome, Outcome::NotSent);
        assert!(error.message.contains("`url`") && !error.message.contains("hush"), "{error}");
    }
    for (name, value) in [("no good", "x"), ("x", "hush\nhush"), ("Content-Length", "7")] {
        let headers = vec![(name.to_owned(), value.to_owned())];
        let error = refused(HttpOptions { headers, ..options(&server) });
        assert!(error.message.contains(name) && !error.message.contains("hush"), "{error}");
    }
}
