//! Servers that cannot be reached, hang, lie, or talk too much; and callers that go away.

use super::*;

// Not reaching it.

#[tokio::test]
async fn a_refused_connection_names_the_host_and_no_password() {
    let address = closed_port().await;
    let url = format!("http://me:hush-hush@{address}/v1?key=hush-hush-too");
    let error = chat(&OpenAi::new(config(&url)).unwrap()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Connect);
    assert!(error.message.contains(&format!("http://{address}: ")), "{error}");
    assert!(error.message.contains("refused") && error.message.contains("tried 3 times"), "{error}");
    assert!(!format!("{error:?}").contains("hush"), "{error:?}");
}

#[tokio::test]
async fn https_to_a_server_that_speaks_http_is_a_connect_error() {
    let server = HttpServer::start([]).await;
    let url = format!("https://{}/v1", server.address());
    let error = chat(&OpenAi::new(config(&url)).unwrap()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Connect, "{error}");
}

#[tokio::test]
async fn a_connection_that_is_lost_after_sending_is_not_tried_again() {
    for reply in [
        Reply::default().close(),
        Reply::default().reset(),
        Reply::default().send("garbage\r\n\r\n").close(),
        Reply::head(200, ["content-length: 100"]).send("{").close(),
        Reply::event_stream().chunk("{").close(),
        Reply::event_stream().chunk("{").send("nonsense\r\n").close(),
    ] {
        let error = chat_error([reply.clone()], 1).await;
        assert_eq!(error.kind, ErrorKind::Closed, "{reply:?}: {error}");
        assert!(error.message.contains("broke off"), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_takes_the_key_nowhere() {
    let other = HttpServer::start([]).await;
    for status in [301, 302, 307, 308] {
        let location = format!("location: http://u:hush@{}/v1/x?k={KEY}", other.address());
        let error = chat_error([Reply::new(status, &[&location], "")], 1).await;
        assert_eq!(error.kind, ErrorKind::Http);
        let target = format!("redirects to http://{}/v1/x (HTTP {status})", other.address());
        assert!(error.message.contains(&target), "{error}");
    }
    assert!(other.requests().is_empty());
}

// Time, and callers that leave.

#[tokio::test]
async fn the_timeout_covers_every_kind_of_waiting() {
    for reply in [
        Reply::default().hang(),
        Reply::head(200, ["content-length: 100"]).send("{").hang(),
        Reply::event_stream().chunk(": alive\n\n").hang(),
        Reply::event_stream().flood_chunks(": keep-alive\n\n"),
        Reply::event_stream().flood_chunks("data: {}\n\n"),
    ] {
        let server = HttpServer::start([reply.clone(), reply.clone()]).await;
        let mut config = config(&server.base_url());
        config.timeout = Duration::from_millis(50);
        config.max_body = usize::MAX;
        let client = OpenAi::new(config).unwrap();
        let streamed = stream(&client).await.1.unwrap_err();
        assert_eq!(streamed.kind, ErrorKind::Timeout, "{reply:?}: {streamed}");
        assert!(streamed.message.contains("after 0.05 s"), "{streamed}");
        let whole = chat(&client).await.unwrap_err();
        assert_eq!(whole.kind, ErrorKind::Timeout, "{reply:?}: {whole}");
        server.hung_up().await;
    }
}

#[tokio::test]
async fn an_error_page_that_never_ends_does_not_hide_the_status() {
    let head = || Reply::head(503, ["transfer-encoding: chunked"]);
    for endless in [head().flood_chunks([b'x'; 1000]), head().chunk("x").hang()] {
        let server = HttpServer::start([endless, Reply::json(200, GOOD)]).await;
        assert_eq!(chat(&client(&server)).await.unwrap().text, "hello");
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_before_it_began_is_not_sent() {
    let server = HttpServer::start([]).await;
    let client = client(&server);
    drop(chat(&client));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn dropping_a_request_reaches_the_server_and_ends_a_wait_between_attempts() {
    let hanging = Reply::default().hang();
    let busy = Reply::new(429, &["retry-after: 30"], "");
    for (reply, hangs) in [(hanging, true), (busy, false)] {
        let server = HttpServer::start([reply]).await;
        let client = client(&server);
        tokio::select! {
            answer = chat(&client) => panic!("{answer:?}"),
            () = server.received(1) => {}
        }
        assert_eq!(server.requests().len(), 1);
        if hangs {
            server.hung_up().await;
        }
    }
}

#[tokio::test]
async fn dropping_a_stream_reaches_the_server() {
    let both = [text_chunk("half"), text_chunk(" more")].concat();
    let server = HttpServer::start([Reply::event_stream().chunk(both).hang()]).await;
    let client = client(&server);
    let mut stream = client.stream(&hi()).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), "half");
    drop(stream);
    server.hung_up().await;
}

// Answers that are not a chat completion.

#[tokio::test]
async fn an_answer_that_is_not_a_chat_completion_gets_a_sentence() {
    let deep = "[".repeat(100_000);
    for (body, words) in [
        ("", "did not answer with JSON"),
        ("{\"choices\": [", "did not answer with JSON"),
        ("\u{0}\u{1}", "did not answer with JSON"),
        (&*deep, "did not answer with JSON"),
        ("<html><title>Log in</title></html>", "an HTML page \"Log in\""),
        ("{}", "no list of `choices`"),
        ("[1]", "no list of `choices`"),
        (r#"{"choices": [{"message": {"content": 1}}]}"#, "the `content`"),
    ] {
        let error = chat_error([Reply::json(200, body)], 1).await;
        assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert!(error.message.chars().count() < 600, "{error}");
    }
    let error = chat_error([Reply::new(200, &["content-encoding: gzip"], "x")], 1).await;
    assert!(error.message.contains("\"gzip\""), "{error}");
    let error = chat_error([Reply::json(200, r#"{"error": {"message": "a", "code": 429}}"#)], 1).await;
    assert_eq!((error.kind, error.status), (ErrorKind::Overloaded, Some(200)));
}

#[tokio::test]
async fn an_answer_over_the_limit_is_not_read_to_its_end() {
    let endless = Reply::head(200, ["transfer-encoding: chunked"]).flood_chunks([b' '; 60_000]);
    let server = HttpServer::start([endless]).await;
    let error = chat(&client(&server)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
    assert!(error.message.contains("more than 8388608 bytes"), "{error}");
    server.hung_up().await;
}

#[tokio::test]
async fn the_key_is_in_no_error_whatever_the_server_says() {
    let page = format!("<html><title>{KEY}</title>{KEY}</html>");
    let inside = format!(r#"{{"error": {{"message": "\u001b[31mbad key '{KEY}'\r\n{KEY}"}}}}"#);
    let padded = format!("{}{KEY}{}", "x".repeat(290), "y".repeat(1000));
    for body in [&page, &inside, &padded, KEY] {
        for status in [200, 302, 400, 401, 404, 429, 500] {
            let server = HttpServer::start((0..6).map(|_| Reply::json(status, body))).await;
            let client = client(&server);
            for error in [chat(&client).await.unwrap_err(), stream(&client).await.1.unwrap_err()] {
                let shown = format!("{error} {error:?}");
                assert!(!shown.contains("0123456789") && !shown.contains("sk-test"), "{shown}");
                assert!(!shown.contains('\u{1b}') && !shown.contains("\\u{1b}"), "{shown}");
            }
        }
    }
    let event = format!("data: {{\"error\": {{\"message\": \"{KEY}\"}}}}\n\n");
    for event in [event, format!("data: {KEY}\n\n"), format!("event: error\ndata: \"{KEY}\"\n\n")] {
        let reply = Reply::events([text_chunk(KEY).as_slice(), event.as_bytes()]);
        let error = stream_error(reply).await;
        assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
    }
}

// The environment, which a test may only change for another process: this one, run once more.

#[tokio::test]
async fn a_server_on_this_machine_needs_no_proxy_and_no_certificates() {
    let proxy = HttpServer::start([]).await;
    let server = HttpServer::start([Reply::json(200, GOOD)]).await;
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "llm::any_model::it_answers"])
        .env("TOOLHUB_LLM_BASE_URL", server.base_url())
        .env("HTTP_PROXY", format!("http://{}", proxy.address()))
        .env("http_proxy", format!("http://{}", proxy.address()))
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .env("SSL_CERT_FILE", "/dev/null")
        .env("SSL_CERT_DIR", env!("CARGO_TARGET_TMPDIR"));
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((server.requests().len(), proxy.requests().len()), (1, 0));
}
