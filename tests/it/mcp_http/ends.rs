//! Dropping and closing: every waiting call ends, and nothing is left.

use super::*;

#[tokio::test]
async fn dropping_a_request_closes_its_connection() {
    for reply in
        [Reply::default().hang(), Reply::event_stream().hang(), Reply::event_stream().chunk(":\n\n").hang()]
    {
        let server = HttpServer::start([reply]).await;
        let transport = open(&server);
        transport.on_negotiated(Era::Modern, MODERN);
        tokio::select! {
            answer = ask(&*transport, call(1)) => panic!("there is no answer: {answer:?}"),
            () = server.received(1) => {}
        }
        server.hung_up().await;
    }
}

#[tokio::test]
async fn one_broken_connection_takes_no_other_call_along() {
    let server = HttpServer::routed(|request| match id_of(request) {
        1 => Reply::default().hang(),
        2 => Reply::default().reset(),
        id => Reply::json(200, &answer(id)),
    })
    .await;
    let transport = open(&server);
    let hanging = call(1);
    let mut hanging = transport.request(&hanging);
    tokio::select! {
        answer = &mut hanging => panic!("there is no answer: {answer:?}"),
        broken = ask(&*transport, call(2)) => assert_eq!(broken.unwrap_err().kind, ErrorKind::Closed),
    }
    tokio::select! {
        answer = &mut hanging => panic!("there is no answer: {answer:?}"),
        fine = ask(&*transport, call(3)) => assert_eq!(fine.unwrap(), json!({"ok": 3})),
    }
}

#[tokio::test]
async fn closing_ends_requests_in_flight_and_refuses_later_ones() {
    let server = HttpServer::routed(|_| Reply::default().hang()).await;
    let transport = open(&server);
    let waiting = tokio::spawn({
        let transport = transport.clone();
        async move { (ask(&*transport, call(1)).await, transport.send(note("x")).await) }
    });
    server.received(1).await;
    transport.close().await;
    transport.close().await;
    let (asked, sent) = waiting.await.unwrap();
    let error = asked.unwrap_err();
    assert_eq!((error.kind, error.outcome), (ErrorKind::Closed, Outcome::Unknown));
    for error in [sent.unwrap_err(), ask(&*transport, call(2)).await.unwrap_err()] {
        assert_eq!((error.kind, error.outcome), (ErrorKind::Closed, Outcome::NotSent));
    }
    assert_eq!(transport.retired().map(|error| error.kind), Some(ErrorKind::Closed));
    server.hung_up().await;
    assert_eq!(server.requests().len(), 1, "a server without a session gets no goodbye");
}

#[tokio::test]
async fn a_session_is_ended_once() {
    let server = legacy_server(|request| match request.method.as_str() {
        "DELETE" => Reply::new(200, &[], ""),
        _ => Reply::new(405, &[], ""),
    })
    .await;
    let transport = open(&server);
    shake_hands(&*transport).await;
    transport.close().await;
    transport.close().await;
    let requests = server.requests();
    let goodbyes: Vec<_> = requests.iter().filter(|request| request.method == "DELETE").collect();
    assert_eq!(goodbyes.len(), 1);
    assert_eq!(goodbyes[0].header("mcp-session-id"), Some("s-1"));
    assert_eq!(goodbyes[0].header("mcp-protocol-version"), Some(LEGACY));
    assert_eq!(goodbyes[0].header("x-key"), Some("hush-hush-hush"));
}

#[tokio::test]
async fn a_server_that_keeps_the_connection_open_is_disconnected() {
    let server = legacy_server(|_| Reply::default().hang()).await;
    let transport = open(&server);
    shake_hands(&*transport).await;
    tokio::time::timeout(Duration::from_secs(30), transport.close()).await.unwrap();
}

#[tokio::test]
async fn idle_connections_go_with_the_transport() {
    for close in [true, false] {
        // The server waits for another request on the connection, and sees that it is closed instead.
        let server = HttpServer::start([Reply::json(200, &answer(1)).hang()]).await;
        let transport = open(&server);
        ask(&*transport, call(1)).await.unwrap();
        if close {
            transport.close().await;
        }
        // A session that is closed drops its transport.
        drop(transport);
        tokio::time::timeout(Duration::from_secs(2), server.hung_up()).await.unwrap();
    }
}

#[tokio::test]
async fn the_stream_that_is_listened_to_ends_with_the_transport() {
    for close in [true, false] {
        let server = legacy_server(|request| match request.method.as_str() {
            "GET" => Reply::event_stream().hang(),
            _ => Reply::new(200, &[], ""),
        })
        .await;
        let transport = open(&server);
        shake_hands(&*transport).await;
        server.received(2).await;
        if close {
            transport.close().await;
        } else {
            drop(transport);
        }
        server.hung_up().await;
    }
}
