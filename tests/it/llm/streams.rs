//! Streamed answers: how they are read, how they end, and how they break.

use super::*;

#[tokio::test]
async fn a_stream_gives_the_text_as_it_comes() {
    let usage = b"data: {\"choices\": [], \"usage\": {\"total_tokens\": 7}}\r\n\r\n";
    let parts = [
        b": hello\n\n".to_vec(),
        chunk(json!({"role": "assistant", "content": ""})),
        text_chunk("Grüß "),
        b"data:{\"choices\":\ndata: [{\"delta\": {\"content\": \"\xe4\xbd".to_vec(),
        b"\xa0\"}}]}\r".to_vec(),
        b"\n\r\n:\n\n".to_vec(),
        STOP.to_vec(),
        usage.to_vec(),
        b"data:[DONE]\n\n".to_vec(),
    ];
    let (texts, end) = stream_of(Reply::events(parts.iter().map(Vec::as_slice))).await;
    assert_eq!(texts, ["", "Grüß ", "你", "", ""]);
    end.unwrap();
}

#[tokio::test]
async fn a_stream_is_asked_for_and_asked_again_before_it_begins() {
    let good = Reply::events([&*text_chunk("a"), DONE]);
    let server = HttpServer::start([Reply::new(502, &[], ""), good]).await;
    let (texts, end) = stream(&client(&server)).await;
    assert_eq!((texts, end), (vec!["a".to_owned()], Ok(())));
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let body: Value = serde_json::from_str(&requests[1].body).unwrap();
    assert_eq!(body["stream"], true);
}

#[tokio::test]
async fn the_end_of_a_stream_needs_no_close_and_no_mark_but_a_reason() {
    let hangs_after_done = Reply::event_stream().chunk(text_chunk("a")).chunk(DONE).hang();
    let no_mark = Reply::events([&*text_chunk("a"), STOP]);
    let torn_after_reason = Reply::event_stream().chunk(text_chunk("a")).chunk(STOP).reset();
    let no_line_end = Reply::events([&*text_chunk("a"), b"data: [DONE]"]);
    for reply in [hangs_after_done, no_mark, torn_after_reason, no_line_end] {
        let (texts, end) = stream_of(reply.clone()).await;
        assert_eq!((texts.concat().as_str(), end), ("a", Ok(())), "{reply:?}");
    }
}

#[tokio::test]
async fn a_truncated_stream_is_an_error_after_what_came() {
    let (a, b) = (text_chunk("one "), text_chunk("two"));
    let half = &b[..b.len() / 2];
    for (reply, partial) in [
        (Reply::events([&*a, &*b]), "one two"),
        (Reply::events([&*a, half]), "one "),
        (Reply::event_stream().chunk(&a).close(), "one "),
        (Reply::event_stream().chunk(&a).chunk(half).reset(), "one "),
        (Reply::events([&b": nothing\n\n"[..]]), ""),
        (Reply::events([]), ""),
    ] {
        let (texts, end) = stream_of(reply.clone()).await;
        let error = end.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Closed, "{reply:?}: {error}");
        assert_eq!(texts.concat(), partial);
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_ends_it_after_what_came() {
    for (event, kind) in [
        ("data: {\"error\": {\"message\": \"boom\", \"code\": 503}}\n\n", ErrorKind::Http),
        ("data: {\"error\": \"boom\"}\n\n", ErrorKind::Http),
        ("event: error\ndata: {\"message\": \"boom\"}\n\n", ErrorKind::Http),
        ("data: {\"error\": {\"message\": \"boom\", \"code\": \"429\"}}", ErrorKind::Overloaded),
    ] {
        let (texts, end) = stream_of(Reply::events([&*text_chunk("one "), event.as_bytes()])).await;
        let error = end.unwrap_err();
        assert_eq!((error.kind, error.status), (kind, Some(200)));
        assert!(error.message.contains("boom"), "{error}");
        assert_eq!(texts, ["one "]);
    }
    for event in ["data: {nonsense\n\n", "data: [1]\n\n", "data: {\"choices\": 1}\n\n"] {
        let (texts, end) = stream_of(Reply::events([&*text_chunk("one "), event.as_bytes(), DONE])).await;
        assert_eq!(end.unwrap_err().kind, ErrorKind::Protocol, "{event}");
        assert_eq!(texts, ["one "]);
    }
}

#[tokio::test]
async fn streams_are_bounded_too() {
    let endless_line = Reply::event_stream().flood_chunks("data: xxxxxxxxxxxxxxxxxxxxxxxx");
    let endless_text = Reply::event_stream().flood_chunks(text_chunk(&"x".repeat(10_000)));
    for (reply, words) in [(endless_line, "one event"), (endless_text, "the answer has more than")] {
        let server = HttpServer::start([reply]).await;
        let mut config = config(&server.base_url());
        config.max_body = 500_000;
        let error = stream(&OpenAi::new(config).unwrap()).await.1.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Limit);
        assert!(error.message.contains(words), "{error}");
        server.hung_up().await;
    }
}

#[tokio::test]
async fn a_server_that_cannot_stream_gives_one_text() {
    let (texts, end) = stream_of(Reply::json(200, GOOD)).await;
    assert_eq!((texts, end), (vec!["hello".to_owned()], Ok(())));
    let page = Reply::new(200, &["content-type: text/html"], "<html><title>Log in</title>");
    let error = stream_error(page).await;
    assert_eq!(error.kind, ErrorKind::Protocol);
    assert!(error.message.contains("Log in"), "{error}");
}
