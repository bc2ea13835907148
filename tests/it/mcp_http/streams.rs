//! Answers over a stream of events, in every dialect, whole and broken.

use super::*;

async fn stream_answer(reply: Reply) -> Result<Value, HubError> {
    let server = HttpServer::start([reply]).await;
    let transport = open(&server);
    transport.on_negotiated(Era::Modern, MODERN);
    ask(&*transport, call(1)).await
}

#[tokio::test]
async fn every_dialect_of_events_is_understood() {
    let text = answer(1);
    let (head, tail) = text.split_at(text.find("\"result\"").unwrap());
    let parts = [
        "\u{feff}: comment first\n\n",
        "retry: 10\n\n",
        "event: unknown\ndata: {}\n\n",
        "data:\n\n",
        "nonsense-field: 1\n\n",
        ":\r\n\r\n",
        &format!("id: 7\r\nevent: message\r\ndata: {head}\r\ndata: {tail}\r\n\r\n"),
    ];
    let bytes = parts.concat().into_bytes();
    for size in [1, 3, 11, 1000] {
        let answer = stream_answer(Reply::events(bytes.chunks(size))).await;
        assert_eq!(answer.unwrap(), json!({"ok": 1}), "chunks of {size}");
    }
}

#[tokio::test]
async fn characters_that_two_chunks_share_arrive_whole() {
    let text = json!({"jsonrpc": "2.0", "id": 1, "result": "漢\u{2028}😀é"}).to_string();
    let bytes = event(&text).into_bytes();
    let answer = stream_answer(Reply::events(bytes.chunks(1))).await;
    assert_eq!(answer.unwrap(), json!("漢\u{2028}😀é"));
}

#[tokio::test]
async fn the_last_event_may_lack_its_blank_line() {
    let data = format!("data: {}", answer(1));
    assert_eq!(stream_answer(Reply::events([data.as_bytes()])).await.unwrap(), json!({"ok": 1}));
}

#[tokio::test]
async fn notifications_are_heard_before_the_answer_comes() {
    let log = Arc::<Heard>::default();
    let text = event(&note("working"));
    let server = HttpServer::start([Reply::event_stream().chunk(&text).chunk(&text).hang()]).await;
    let transport = HttpTransport::open(options(&server), inbox_with(log.clone())).unwrap();
    transport.on_negotiated(Era::Modern, MODERN);
    let listen = request(1, "subscriptions/listen", None);
    tokio::select! {
        answer = transport.request(&listen) => panic!("there is no answer yet: {answer:?}"),
        heard = log.heard(2) => assert_eq!(heard, ["working", "working"]),
    }
    // The request was dropped, and with it its connection.
    server.hung_up().await;
}

#[tokio::test]
async fn a_stream_that_ends_without_the_answer_is_an_error_at_once() {
    let place = "id: 7\ndata:\n\n";
    for reply in [
        Reply::events([": bye\n\n".as_bytes()]),
        Reply::events([event(&note("x")).as_bytes()]),
        Reply::event_stream().chunk(": bye\n\n").close(),
        // The modern era has no resuming.
        Reply::event_stream().chunk(place).close(),
        Reply::new(200, &["content-type: text/event-stream"], ""),
    ] {
        let error = error_of(reply).await;
        assert_eq!((error.kind, error.outcome), (ErrorKind::Closed, Outcome::Unknown), "{error}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_with_the_answer_leaves_its_connection_to_others() {
    let server =
        HttpServer::routed(|request| Reply::events([event(&answer(id_of(request))).as_bytes()])).await;
    let transport = open(&server);
    transport.on_negotiated(Era::Modern, MODERN);
    for id in 0..50 {
        ask(&*transport, call(id)).await.unwrap();
    }
    // A call may come before the end of the stream before it, so it is not one connection for all of them.
    let connections = server.requests().iter().map(|request| request.connection).max().unwrap() + 1;
    assert!(connections < 50, "{connections} connections for 50 calls");
}

#[tokio::test]
async fn a_stream_that_goes_on_after_the_answer_is_closed() {
    let server = HttpServer::start([Reply::event_stream().chunk(event(&answer(1))).hang()]).await;
    let transport = open(&server);
    assert_eq!(ask(&*transport, call(1)).await.unwrap(), json!({"ok": 1}));
    server.hung_up().await;
}
