//! What the legacy era adds: sessions that are forgotten, a stream to listen to, streams that are resumed.

use super::*;
use tokio::time::Instant;

#[tokio::test]
async fn a_forgotten_session_retires_the_transport() {
    let body = r#"{"jsonrpc": "2.0", "id": null, "error": {"code": -32001, "message": "Session not found"}}"#;
    let server = legacy_server(move |request| match request.method.as_str() {
        "POST" => Reply::json(404, body),
        _ => Reply::new(405, &[], ""),
    })
    .await;
    let transport = open(&server);
    shake_hands(&*transport).await;
    assert_eq!(transport.retired(), None);
    let error = ask(&*transport, call(2)).await.unwrap_err();
    assert_eq!((error.kind, error.status, error.nothing_happened), (ErrorKind::Closed, Some(404), true));
    assert!(error.message.contains("forgotten the session"), "{error}");
    assert_eq!(transport.retired(), Some(error.clone()));
    assert_eq!(ask(&*transport, call(3)).await.unwrap_err(), error);
    transport.close().await;
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|request| method_of(request) == "tools/call").count(), 1);
    assert!(requests.iter().all(|request| request.method != "DELETE"), "there is no session to end");
}

#[tokio::test]
async fn a_404_without_a_session_is_not_a_lost_session() {
    let unknown = |request: &http_server::Request| {
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let error = json!({"code": -32601, "message": "no"});
        Reply::json(404, &json!({"jsonrpc": "2.0", "id": body["id"], "error": error}).to_string())
    };
    let server = legacy_server(unknown).await;
    let transport = open(&server);
    shake_hands(&*transport).await;
    let error = ask(&*transport, call(2)).await.unwrap_err();
    assert_eq!((error.kind, error.code), (ErrorKind::Rpc, Some(-32601)));
    assert_eq!(transport.retired(), None);

    let server = HttpServer::routed(|_| Reply::new(404, &[], "")).await;
    let transport = open(&server);
    transport.on_negotiated(Era::Legacy, LEGACY);
    let error = ask(&*transport, call(2)).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Http, Some(404)));
    assert_eq!(transport.retired(), None);
}

#[tokio::test]
async fn what_comes_on_the_stream_is_heard_asked_and_answered() {
    let log = Arc::<Heard>::default();
    let asked = json!({"jsonrpc": "2.0", "id": "q-1", "method": "roots/list"}).to_string();
    let stream = Reply::event_stream().chunk(": hello\n\n").chunk(event(&note("x"))).chunk(event(&asked));
    let (replied, mut reply) = tokio::sync::mpsc::unbounded_channel();
    let server = legacy_server(move |request| match request.method.as_str() {
        "GET" => stream.clone().hang(),
        _ => {
            let _ = replied.send((request.body.clone(), request.header("mcp-session-id").map(str::to_owned)));
            Reply::new(202, &[], "")
        }
    })
    .await;
    let transport = HttpTransport::open(options(&server), inbox_with(log.clone())).unwrap();
    shake_hands(&*transport).await;
    assert_eq!(log.heard(1).await, ["x"]);
    let (body, session) = reply.recv().await.unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&body).unwrap(),
        json!({"jsonrpc": "2.0", "id": "q-1", "result": {"roots": [{"uri": ROOT}]}})
    );
    assert_eq!(session.as_deref(), Some("s-1"));
    let listening = server.requests().into_iter().find(|request| request.method == "GET").unwrap();
    assert_eq!(listening.header("accept"), Some("text/event-stream"));
    assert_eq!(listening.header("mcp-session-id"), Some("s-1"));
    assert_eq!(listening.header("last-event-id"), None);
}

#[tokio::test]
async fn a_request_of_the_server_in_the_middle_of_a_call_is_answered() {
    let asked = json!({"jsonrpc": "2.0", "id": 2, "method": "roots/list"}).to_string();
    let stream = Reply::event_stream().chunk(event(&asked));
    let (replied, mut reply) = tokio::sync::mpsc::unbounded_channel();
    let server = legacy_server(move |request| match method_of(request).as_str() {
        "tools/call" => stream.clone().hang(),
        _ if request.method == "GET" => Reply::new(405, &[], ""),
        _ => {
            let _ = replied.send(request.body.clone());
            Reply::new(202, &[], "")
        }
    })
    .await;
    let transport = open(&server);
    shake_hands(&*transport).await;
    // The id of the server's request is that of our call, and is not taken for it.
    tokio::select! {
        answer = ask(&*transport, call(2)) => panic!("there is no answer: {answer:?}"),
        body = reply.recv() => assert!(body.unwrap().contains(ROOT)),
    }
}

#[tokio::test]
async fn an_answer_may_come_on_the_stream_that_is_listened_to() {
    let server = legacy_server(|request| match request.method.as_str() {
        "GET" => Reply::event_stream().chunk(event(&answer(2))).hang(),
        _ => Reply::default().hang(),
    })
    .await;
    let transport = open(&server);
    ask(&*transport, request(1, "initialize", None)).await.unwrap();
    let second = call(2);
    let waiting = transport.request(&second);
    let listening = async {
        // The call is on its way before the stream brings its answer.
        server.received(2).await;
        transport.on_negotiated(Era::Legacy, LEGACY);
    };
    let (answer, ()) = tokio::join!(waiting, listening);
    assert_eq!(answer.unwrap().get(), r#"{"ok":2}"#);
}

#[tokio::test]
async fn a_server_without_a_stream_is_asked_once() {
    let page = Reply::new(200, &["content-type: text/html"], "<html>");
    for refusal in [Reply::new(405, &[], ""), Reply::new(404, &[], ""), Reply::new(500, &[], "oops"), page] {
        let server = legacy_server(move |request| match request.method.as_str() {
            "GET" => refusal.clone(),
            _ => Reply::json(200, &answer(id_of(request))),
        })
        .await;
        let transport = open(&server);
        shake_hands(&*transport).await;
        server.received(2).await;
        for id in 2..9 {
            ask(&*transport, call(id)).await.unwrap();
        }
        assert_eq!(server.requests().iter().filter(|request| request.method == "GET").count(), 1);
    }
}

/// When the GETs of a server come, in seconds since the first, and what they want to resume.
async fn times_of_gets(
    transport: Arc<HttpTransport>,
    times: watch::Receiver<Vec<Instant>>,
    count: usize,
) -> Vec<u64> {
    let mut times = times;
    let times = times.wait_for(|times| times.len() >= count).await.unwrap().clone();
    drop(transport);
    times.iter().map(|time| (*time - times[0]).as_millis() as u64).collect()
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_always_ends_is_opened_less_and_less_often() {
    let times = watch::Sender::new(Vec::new());
    let seen = times.subscribe();
    let server = legacy_server(move |_| {
        times.send_modify(|times| times.push(Instant::now()));
        Reply::events(["retry: 0\nid: g1\ndata:\n\n".as_bytes()])
    })
    .await;
    let transport = open(&server);
    shake_hands(&*transport).await;
    let times = times_of_gets(transport, seen, 8).await;
    for (count, wait) in [1000, 2000, 4000, 8000, 16000, 30000, 30000].into_iter().enumerate() {
        assert!(times[count + 1] - times[count] >= wait, "{times:?}");
    }
    let resumed = server.requests().into_iter().filter(|request| request.method == "GET").nth(1).unwrap();
    assert_eq!(resumed.header("last-event-id"), Some("g1"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_brought_something_is_opened_again_soon() {
    let times = watch::Sender::new(Vec::new());
    let seen = times.subscribe();
    let server = legacy_server(move |_| {
        times.send_modify(|times| times.push(Instant::now()));
        Reply::events([event(&note("x")).as_bytes()])
    })
    .await;
    let transport = open(&server);
    shake_hands(&*transport).await;
    let times = times_of_gets(transport, seen, 6).await;
    assert!(times.windows(2).all(|pair| (1000..2000).contains(&(pair[1] - pair[0]))), "{times:?}");
}

#[tokio::test]
async fn a_broken_answer_is_resumed_where_it_broke() {
    let server = legacy_server(|request| match (request.method.as_str(), request.header("last-event-id")) {
        ("GET", None) => Reply::new(405, &[], ""),
        ("GET", Some("r1")) => Reply::events(["id: r2\ndata:\n\n".as_bytes()]),
        ("GET", Some("r2")) => Reply::events([event(&answer(2)).as_bytes()]),
        ("POST", None) => Reply::event_stream().chunk("retry: 50\nid: r1\ndata:\n\n").close(),
        other => panic!("unexpected request: {other:?}"),
    })
    .await;
    let transport = open(&server);
    shake_hands(&*transport).await;
    assert_eq!(ask(&*transport, call(2)).await.unwrap(), json!({"ok": 2}));
    let calls = server.requests().iter().filter(|request| method_of(request) == "tools/call").count();
    assert_eq!(calls, 1, "resuming is not sending again");
}

#[tokio::test]
async fn the_answer_to_the_handshake_may_be_resumed_too() {
    let session = ["content-type: text/event-stream", "transfer-encoding: chunked", SESSION];
    let server = HttpServer::routed(move |request| match request.method.as_str() {
        "GET" if request.header("last-event-id").is_some() => Reply::events([event(&answer(1)).as_bytes()]),
        "GET" => Reply::new(405, &[], ""),
        _ => Reply::head(200, session).chunk("id: p\ndata:\n\n").close(),
    })
    .await;
    let transport = open(&server);
    shake_hands(&*transport).await;
    assert_eq!(server.requests()[1].header("mcp-session-id"), Some("s-1"));
}

#[tokio::test]
async fn what_cannot_be_resumed_is_lost_at_once() {
    for (place, refusal) in [
        ("id: r1\ndata:\n\n", Reply::new(404, &[], "")),
        ("id: r1\ndata:\n\n", Reply::json(200, "{}")),
        (": no place\n\n", Reply::new(405, &[], "")),
    ] {
        let server = legacy_server(move |request| match request.method.as_str() {
            "GET" => refusal.clone(),
            _ => Reply::event_stream().chunk(place).close(),
        })
        .await;
        let transport = open(&server);
        shake_hands(&*transport).await;
        let error = ask(&*transport, call(2)).await.unwrap_err();
        assert_eq!((error.kind, error.outcome), (ErrorKind::Closed, Outcome::Unknown), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_always_breaks_is_not_hammered_for() {
    let times = watch::Sender::new(Vec::new());
    let mut seen = times.subscribe();
    let server = legacy_server(move |request| {
        if request.header("last-event-id").is_some() {
            times.send_modify(|times: &mut Vec<Instant>| times.push(Instant::now()));
        }
        match (request.method.as_str(), request.header("last-event-id")) {
            ("GET", None) => Reply::new(405, &[], ""),
            _ => Reply::events(["retry: 0\nid: again\ndata:\n\n".as_bytes()]),
        }
    })
    .await;
    let transport = open(&server);
    shake_hands(&*transport).await;
    let times = tokio::select! {
        answer = ask(&*transport, call(2)) => panic!("there is no answer: {answer:?}"),
        times = seen.wait_for(|times| times.len() >= 8) => times.unwrap().clone(),
    };
    for (pair, wait) in times.windows(2).zip([400, 800, 1600, 3200, 5000, 5000, 5000]) {
        assert!(pair[1] - pair[0] >= Duration::from_millis(wait));
    }
}
