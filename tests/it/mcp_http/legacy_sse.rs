//! HTTP+SSE: one stream for all that comes, a POST for each message that goes.

use super::*;

/// A server whose stream names an address and goes on with these steps.
async fn server(
    stream: Reply,
    mut post: impl FnMut(&http_server::Request) -> Reply + Send + 'static,
) -> HttpServer {
    HttpServer::routed(move |request| match request.method.as_str() {
        "GET" => Reply::event_stream().chunk(named("/v1/messages?session=s-1")).and(stream.clone()),
        _ => post(request),
    })
    .await
}

fn named(endpoint: &str) -> String {
    format!("event: endpoint\ndata: {endpoint}\n\n")
}

fn accepted(_: &http_server::Request) -> Reply {
    Reply::new(202, &["content-type: text/plain"], "Accepted")
}

async fn open(server: &HttpServer) -> Arc<HttpTransport> {
    HttpTransport::open_sse(options(server), inbox()).await.unwrap()
}

async fn refused(server: &HttpServer) -> HubError {
    HttpTransport::open_sse(options(server), inbox()).await.err().unwrap()
}

#[tokio::test]
async fn messages_are_posted_to_the_named_address_and_answered_by_the_stream() {
    let noise =
        format!("{}event: weird\ndata: x\n\n: c\n\ndata: {{not json\n\n", named("/v1/messages?session=s-1"));
    // The stream has the answers before any request is made; they wait until the requests are on their way.
    let server = server(
        Reply::default().chunk(noise).hold().chunk(event(&answer(2))).chunk(event(&answer(1))).hang(),
        accepted,
    )
    .await;
    let transport = open(&server).await;
    assert!(!transport.cancels_by_drop());
    let (first, second) = (call(1), call(2));
    let both = async { tokio::join!(ask(&*transport, &first), ask(&*transport, &second)) };
    let release = async {
        server.received(3).await;
        server.release();
    };
    let ((first, second), ()) = tokio::join!(both, release);
    assert_eq!((first.unwrap(), second.unwrap()), (json!({"ok": 1}), json!({"ok": 2})));
    let requests = server.requests();
    assert_eq!(requests[0].header("accept"), Some("text/event-stream"));
    for request in &requests[1..] {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/messages?session=s-1"));
        assert_eq!(request.header("x-key"), Some("hush-hush-hush"));
        assert_eq!(request.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn the_address_may_be_relative_or_whole_but_not_elsewhere() {
    for path in ["messages?a=1", "/v1/messages?a=1", "?a=1", "http://SELF/x"] {
        let own = Arc::new(Mutex::new(String::new()));
        let address = own.clone();
        let server = HttpServer::routed(move |request| match request.method.as_str() {
            "GET" => {
                Reply::event_stream().chunk(named(&path.replace("SELF", &address.lock().unwrap()))).hang()
            }
            _ => accepted(request),
        })
        .await;
        *own.lock().unwrap() = server.address().to_string();
        open(&server).await.send(note("x")).await.unwrap();
        let expected = match path {
            "?a=1" => "/v1/mcp?a=1",
            "http://SELF/x" => "/x",
            _ => "/v1/messages?a=1",
        };
        assert_eq!(server.requests()[1].path, expected);
    }
    let other = HttpServer::start([]).await;
    for evil in
        [format!("http://{}/evil?s=1", other.address()), "//127.0.0.2/x".into(), "file:///etc/passwd".into()]
    {
        let server = HttpServer::start([Reply::event_stream().chunk(named(&evil)).hang()]).await;
        let error = refused(&server).await;
        assert_eq!((error.kind, error.outcome), (ErrorKind::Protocol, Outcome::NotSent));
        assert!(error.message.contains("another origin"), "{error}");
    }
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn a_server_without_such_a_stream_is_an_error_at_once() {
    for (reply, kind) in [
        (Reply::new(500, &[], "no"), ErrorKind::Http),
        (Reply::new(401, &[], "no"), ErrorKind::Auth),
        (Reply::new(200, &["content-type: text/html"], "<html>"), ErrorKind::Protocol),
        (Reply::json(200, "{}"), ErrorKind::Protocol),
        (Reply::events([": bye\n\n".as_bytes()]), ErrorKind::Closed),
        (Reply::event_stream().chunk("data: ").flood_chunks([b'x'; 4096]), ErrorKind::Limit),
        (Reply::default().close(), ErrorKind::Closed),
    ] {
        let server = HttpServer::start([reply.clone()]).await;
        assert_eq!(refused(&server).await.kind, kind, "{reply:?}");
    }
}

#[tokio::test]
async fn giving_up_on_the_address_closes_the_stream() {
    let server = HttpServer::start([Reply::event_stream().chunk(": wait\n\n").hang()]).await;
    tokio::select! {
        _ = open(&server) => panic!("no address was named"),
        () = server.received(1) => {}
    }
    server.hung_up().await;
}

#[tokio::test]
async fn a_message_that_is_not_taken_fails_its_call_at_once() {
    for (reply, kind, status, outcome) in [
        (Reply::new(500, &[], "oops"), ErrorKind::Http, Some(500), Outcome::Unknown),
        (Reply::new(400, &[], "oops"), ErrorKind::Http, Some(400), Outcome::Failed),
        (Reply::new(401, &[], "oops"), ErrorKind::Auth, Some(401), Outcome::Failed),
        (Reply::default().close(), ErrorKind::Closed, None, Outcome::Unknown),
    ] {
        let route = move |request: &http_server::Request| match method_of(request).as_str() {
            "ping" => accepted(request),
            _ => reply.clone(),
        };
        let server = server(Reply::default().hang(), route).await;
        let transport = open(&server).await;
        let error = ask(&*transport, call(1)).await.unwrap_err();
        assert_eq!((error.kind, error.status, error.outcome), (kind, status, outcome), "{error}");
        assert!(!error.message.contains("s-1"), "{error}");
        assert_eq!(transport.retired(), None, "the stream is still there");
        let calls = server.requests().iter().filter(|request| method_of(request) == "tools/call").count();
        assert_eq!(calls, 1, "it is not sent twice");
    }
}

/// The address is that of the session, and results come on the stream: the server does not know the session any more.
#[tokio::test]
async fn a_session_that_the_server_has_forgotten_is_over() {
    let server = server(Reply::default().hang(), |_| Reply::new(404, &[], "oops")).await;
    let transport = open(&server).await;
    let error = ask(&*transport, call(1)).await.unwrap_err();
    assert_eq!(
        (error.kind, error.status, error.nothing_happened),
        (ErrorKind::Closed, Some(404), true),
        "{error}"
    );
    assert!(!error.message.contains("s-1"), "{error}");
    assert_eq!(transport.retired(), Some(error));
    let methods: Vec<_> = server.requests().iter().skip(1).map(method_of).collect();
    assert_eq!(methods, ["tools/call", "ping"], "it is not sent twice");
}

#[tokio::test]
async fn the_end_of_the_stream_ends_everything() {
    for end in [Reply::default().send("0\r\n\r\n"), Reply::default().close(), Reply::default().reset()] {
        let server = server(Reply::default().hold().and(end), accepted).await;
        let transport = open(&server).await;
        let waiting = call(1);
        let release = async {
            server.received(2).await;
            server.release();
        };
        let (answer, ()) = tokio::join!(ask(&*transport, &waiting), release);
        let error = answer.unwrap_err();
        assert_eq!((error.kind, error.outcome), (ErrorKind::Closed, Outcome::Unknown), "{error}");
        assert_eq!(transport.retired().unwrap().outcome, Outcome::NotSent);
        assert_eq!(ask(&*transport, call(2)).await.unwrap_err().outcome, Outcome::NotSent);
        assert_eq!(server.requests().len(), 2);
    }
}

#[tokio::test]
async fn an_endless_event_ends_the_connection() {
    let server = server(Reply::default().hold().chunk("data: ").flood_chunks([b'x'; 4096]), accepted).await;
    let transport = open(&server).await;
    let waiting = call(1);
    let release = async {
        server.received(2).await;
        server.release();
    };
    let (answer, ()) = tokio::join!(ask(&*transport, &waiting), release);
    assert_eq!(answer.unwrap_err().kind, ErrorKind::Limit);
    assert_eq!(transport.retired().unwrap().kind, ErrorKind::Limit);
}

/// The stream goes on: the other call is answered.
#[tokio::test]
async fn an_event_over_the_limit_fails_its_own_call_and_no_other() {
    let (large, huge) = ("x".repeat(2 * LIMIT), "x".repeat(12 * LIMIT));
    for large in [
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":"{huge}"}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":"{large}"}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","result":{{"text":"{large}","id":2}},"id":1}}"#),
    ] {
        let steps = Reply::default().hold().chunk(event(&large)).chunk(event(&answer(2)));
        let server = server(steps.hang(), accepted).await;
        let transport = open(&server).await;
        let (first, second) = (call(1), call(2));
        let both = async { tokio::join!(ask(&*transport, &first), ask(&*transport, &second)) };
        let release = async {
            server.received(3).await;
            server.release();
        };
        let ((first, second), ()) = tokio::join!(both, release);
        let error = first.unwrap_err();
        assert_eq!((error.kind, error.outcome), (ErrorKind::Limit, Outcome::Unknown), "{error}");
        assert_eq!(second.unwrap(), json!({"ok": 2}));
        assert!(transport.retired().is_none());
    }
}

#[tokio::test]
async fn a_request_of_the_server_is_answered() {
    let asked = json!({"jsonrpc": "2.0", "id": 7, "method": "roots/list"}).to_string();
    let server = server(Reply::default().chunk(event(&asked)).hang(), accepted).await;
    let _transport = open(&server).await;
    server.received(2).await;
    let body: Value = serde_json::from_str(&server.requests()[1].body).unwrap();
    assert_eq!(body, json!({"jsonrpc": "2.0", "id": 7, "result": {"roots": [{"uri": ROOT}]}}));
}

#[tokio::test]
async fn closing_and_dropping_end_the_stream() {
    for close in [true, false] {
        let server = server(Reply::default().hang(), accepted).await;
        let transport = open(&server).await;
        if close {
            let waiting = call(1);
            let end = async {
                server.received(2).await;
                transport.close().await;
                transport.close().await;
            };
            let (answer, ()) = tokio::join!(ask(&*transport, &waiting), end);
            assert_eq!(answer.unwrap_err().kind, ErrorKind::Closed);
            assert_eq!(ask(&*transport, call(2)).await.unwrap_err().outcome, Outcome::NotSent);
        } else {
            drop(transport);
        }
        server.hung_up().await;
    }
}
