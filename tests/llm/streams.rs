//! Streamed answers: how they are put together, how they end, and how they break.

use super::*;

#[tokio::test]
async fn a_stream_gives_deltas_and_then_the_whole_answer() {
    let usage = b"data: {\"choices\": [], \"usage\": {\"total_tokens\": 7}}\r\n\r\n";
    let parts = [
        b": hello\n\n".to_vec(),
        chunk(json!({"role": "assistant", "content": ""})),
        said("Grüß "),
        b"data:{\"choices\":\ndata: [{\"delta\": {\"content\": \"\xe4\xbd".to_vec(),
        b"\xa0\"}}]}\r".to_vec(),
        b"\n\r\n:\n\n".to_vec(),
        STOP.to_vec(),
        usage.to_vec(),
        b"data:[DONE]\n\n".to_vec(),
    ];
    let (texts, answer) = stream_of(Reply::events(parts.iter().map(Vec::as_slice))).await;
    assert_eq!(texts, ["", "Grüß ", "你", "", ""]);
    let answer = answer.unwrap();
    assert_eq!(answer.text, "Grüß 你");
    assert_eq!(answer.finish_reason.as_deref(), Some("stop"));
    assert_eq!(answer.model.as_deref(), Some("m-1"));
    assert_eq!(answer.usage.unwrap().total_tokens, Some(7));
}

#[tokio::test]
async fn a_stream_is_asked_for_and_asked_again_before_it_begins() {
    let good = Reply::events([&*said("a"), DONE]);
    let server = HttpServer::start([Reply::new(502, &[], ""), good]).await;
    let (texts, answer) = stream(&client(&server)).await;
    assert_eq!((texts, answer.unwrap().text.as_str()), (vec!["a".to_owned()], "a"));
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let body: Value = serde_json::from_str(&requests[1].body).unwrap();
    assert_eq!(body["stream"], true);
}

#[tokio::test]
async fn the_end_of_a_stream_needs_no_close_and_no_mark_but_a_reason() {
    let hangs_after_done = Reply::event_stream().chunk(said("a")).chunk(DONE).hang();
    let no_mark = Reply::events([&*said("a"), STOP]);
    let torn_after_reason = Reply::event_stream().chunk(said("a")).chunk(STOP).reset();
    let no_line_end = Reply::events([&*said("a"), b"data: [DONE]"]);
    for reply in [hangs_after_done, no_mark, torn_after_reason, no_line_end] {
        let (_, answer) = stream_of(reply.clone()).await;
        assert_eq!(answer.unwrap().text, "a", "{reply:?}");
    }
}

#[tokio::test]
async fn a_truncated_stream_is_an_error_with_what_came() {
    let (a, b) = (said("one "), said("two"));
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
        assert_eq!(error.kind, LlmErrorKind::TruncatedStream, "{reply:?}: {error}");
        assert_eq!(error.partial.as_deref(), Some(partial));
        assert_eq!(texts.concat(), partial);
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_ends_it_with_what_came() {
    for (event, kind) in [
        ("data: {\"error\": {\"message\": \"boom\", \"code\": 503}}\n\n", LlmErrorKind::Server(503)),
        ("data: {\"error\": \"boom\"}\n\n", LlmErrorKind::Server(200)),
        ("event: error\ndata: {\"message\": \"boom\"}\n\n", LlmErrorKind::Server(200)),
        ("data: {\"error\": {\"message\": \"boom\", \"code\": \"429\"}}", LlmErrorKind::RateLimited),
    ] {
        let error = stream_error(Reply::events([&*said("one "), event.as_bytes()])).await;
        assert_eq!(error.kind, kind);
        assert!(error.message.contains("boom"), "{error}");
        assert_eq!(error.partial.as_deref(), Some("one "));
    }
    for event in ["data: {nonsense\n\n", "data: [1]\n\n", "data: {\"choices\": 1}\n\n"] {
        let error = stream_error(Reply::events([&*said("one "), event.as_bytes(), DONE])).await;
        assert_eq!(error.kind, LlmErrorKind::InvalidResponse, "{event}");
        assert_eq!(error.partial.as_deref(), Some("one "));
    }
}

#[tokio::test]
async fn streams_are_bounded_too() {
    let endless_line = Reply::event_stream().flood_chunks("data: xxxxxxxxxxxxxxxxxxxxxxxx");
    let endless_text = Reply::event_stream().flood_chunks(said(&"x".repeat(10_000)));
    for (reply, words) in [(endless_line, "one event"), (endless_text, "the answer has more than")] {
        let server = HttpServer::start([reply]).await;
        let mut config = config(&server.base_url());
        config.max_body = 500_000;
        let error = stream(&OpenAi::new(config).unwrap()).await.1.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Limit);
        assert!(error.message.contains(words), "{error}");
        server.hung_up().await;
    }
}

#[tokio::test]
async fn a_server_that_cannot_stream_gives_one_delta() {
    let (texts, answer) = stream_of(Reply::json(200, GOOD)).await;
    assert_eq!(texts, ["hello"]);
    assert_eq!(answer.unwrap().finish_reason.as_deref(), Some("stop"));
    let page = Reply::new(200, &["content-type: text/html"], "<html><title>Log in</title>");
    let error = stream_error(page).await;
    assert_eq!(error.kind, LlmErrorKind::InvalidResponse);
    assert!(error.message.contains("Log in"), "{error}");
}
