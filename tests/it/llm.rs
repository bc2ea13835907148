//! The chat client against a real server on this machine that misbehaves on request.
//!
//! With `TOOLHUB_LLM_BASE_URL` set, the tests in `any_model` talk to that endpoint instead.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolhub::error::{ErrorKind, HubError};
use toolhub::llm::{ChatAnswer, OpenAi, OpenAiConfig, Secret};

use crate::support::http_server;
use http_server::{HttpServer, Reply};

mod any_model;
mod faults;
mod streams;

const KEY: &str = "sk-test-0123456789";
const GOOD: &str = r#"{"model": "m-1", "choices": [{"message": {"role": "assistant", "content": "hello"},
    "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}}"#;
const DONE: &[u8] = b"data: [DONE]\n\n";

fn config(base_url: &str) -> OpenAiConfig {
    let mut config = OpenAiConfig::new(base_url, "m");
    config.api_key = Secret::new(KEY);
    // Waits that a test does not feel, and a timeout that only a test about time meets.
    config.backoff.first = Duration::from_millis(1);
    config.timeout = Duration::from_secs(120);
    config
}

fn client(server: &HttpServer) -> OpenAi {
    OpenAi::new(config(&server.base_url())).unwrap()
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn hi() -> [Value; 1] {
    [message("user", "hi")]
}

async fn chat(client: &OpenAi) -> Result<ChatAnswer, HubError> {
    client.chat(&hi()).await
}

/// The error of one request to a server with this script, which must have got this number of requests.
async fn chat_error(script: impl IntoIterator<Item = Reply>, requests: usize) -> HubError {
    let server = HttpServer::start(script).await;
    let error = chat(&client(&server)).await.unwrap_err();
    assert_eq!(server.requests().len(), requests, "{error:?}");
    error
}

/// An address where closed_port listens.
async fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

/// Reads a stream to its end: the texts, and how it ended.
async fn stream(client: &OpenAi) -> (Vec<String>, Result<(), HubError>) {
    let mut stream = match client.stream(&hi()).await {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let mut texts = Vec::new();
    loop {
        match stream.next().await {
            Some(Ok(text)) => texts.push(text),
            Some(Err(error)) => {
                assert!(stream.next().await.is_none(), "nothing comes after an error");
                return (texts, Err(error));
            }
            None => return (texts, Ok(())),
        }
    }
}

async fn stream_of(reply: Reply) -> (Vec<String>, Result<(), HubError>) {
    let server = HttpServer::start([reply]).await;
    stream(&client(&server)).await
}

async fn stream_error(reply: Reply) -> HubError {
    stream_of(reply).await.1.unwrap_err()
}

fn chunk(delta: Value) -> Vec<u8> {
    let chunk = json!({"model": "m-1", "choices": [{"index": 0, "delta": delta}]});
    format!("data: {chunk}\n\n").into_bytes()
}

fn text_chunk(text: &str) -> Vec<u8> {
    chunk(json!({"content": text}))
}

const STOP: &[u8] = b"data: {\"choices\": [{\"index\": 0, \"delta\": {}, \"finish_reason\": \"stop\"}]}\n\n";

// Asking.

#[tokio::test]
async fn a_request_is_what_the_api_wants_and_the_answer_is_read() {
    let server = HttpServer::start([Reply::json(200, GOOD)]).await;
    let mut config = config(&server.base_url());
    config.max_tokens = Some(5);
    config.headers = vec![("x-team".into(), "blue".into())];
    let answer = chat(&OpenAi::new(config).unwrap()).await.unwrap();
    assert_eq!(answer.text, "hello");
    assert_eq!(answer.finish_reason.as_deref(), Some("stop"));
    assert_eq!(answer.model.as_deref(), Some("m-1"));
    assert_eq!(answer.usage.unwrap().total_tokens, Some(4));
    assert_eq!(answer.raw, serde_json::from_str::<Value>(GOOD).unwrap());

    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("x-team"), Some("blue"));
    assert_eq!(request.header("accept-encoding"), None);
    assert_eq!(
        serde_json::from_str::<Value>(&request.body).unwrap(),
        json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]})
    );
}

#[tokio::test]
async fn without_a_key_none_is_sent_and_a_password_in_the_url_is_basic_auth() {
    let server = HttpServer::start([Reply::json(200, GOOD), Reply::json(401, "{}")]).await;
    let mut config = config(&server.base_url());
    config.api_key = Secret::default();
    chat(&OpenAi::new(config.clone()).unwrap()).await.unwrap();
    config.base_url = format!("http://me:hush-hush@{}/v1", server.address());
    let error = chat(&OpenAi::new(config).unwrap()).await.unwrap_err();
    assert!(!error.message.contains("hush"), "{error}");
    let requests = server.requests();
    assert_eq!(requests[0].header("authorization"), None);
    assert_eq!(requests[1].header("authorization"), Some("Basic bWU6aHVzaC1odXNo"));
}

#[tokio::test]
async fn connections_are_shared_by_clones_and_replaced_when_closed() {
    let replies = [
        Reply::json(200, GOOD),
        Reply::new(200, &["connection: close"], GOOD).close(),
        Reply::json(200, GOOD),
    ];
    let server = HttpServer::start(replies).await;
    let client = client(&server);
    for _ in 0..3 {
        chat(&client.clone()).await.unwrap();
    }
    let used: Vec<usize> = server.requests().iter().map(|r| r.connection).collect();
    assert_eq!(used, [0, 0, 1]);
}

#[tokio::test]
async fn many_at_once() {
    let server = HttpServer::start((0..64).map(|_| Reply::json(200, GOOD))).await;
    let client = client(&server);
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let client = client.clone();
        running.spawn(async move { chat(&client).await });
    }
    for answer in running.join_all().await {
        assert_eq!(answer.unwrap().text, "hello");
    }
}

// Trying again.

#[tokio::test]
async fn busy_and_failing_servers_are_asked_again() {
    let replies = [
        Reply::new(429, &["retry-after: 0"], ""),
        Reply::new(503, &[], "<html><title>Busy</title></html>"),
        Reply::json(200, GOOD),
    ];
    let server = HttpServer::start(replies).await;
    assert_eq!(chat(&client(&server)).await.unwrap().text, "hello");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|r| r.body == requests[0].body));
}

#[tokio::test]
async fn the_retries_end_with_the_last_error() {
    let body = r#"{"error": {"message": "out of memory."}}"#;
    let error = chat_error((0..9).map(|_| Reply::json(500, body)), 3).await;
    assert_eq!(error.kind, ErrorKind::Http);
    assert!(error.message.ends_with("failed (HTTP 500): out of memory (tried 3 times)."), "{error}");
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_reported_at_once() {
    for (headers, seconds) in [
        (vec!["retry-after: 3600"], 3600),
        (vec!["date: Sun, 06 Nov 1994 08:49:37 GMT", "retry-after: Sun, 06 Nov 1994 08:59:37 GMT"], 600),
    ] {
        let error = chat_error([Reply::new(429, &headers, "slow down")], 1).await;
        assert_eq!(error.kind, ErrorKind::Overloaded);
        assert_eq!(error.status, Some(429));
        assert_eq!(error.retry_after, Some(f64::from(seconds)));
        assert!(error.message.contains(&format!("wait {seconds} s")), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_is_just_starting_is_found() {
    let address = closed_port().await;
    let mut config = config(&format!("http://{address}/v1"));
    config.max_retries = u32::MAX;
    config.backoff.ceiling = Duration::from_millis(1);
    let client = OpenAi::new(config).unwrap();
    let start_later = async {
        // The refusals before this are seen by closed_port; the test holds whether there are some or none.
        tokio::task::yield_now().await;
        let listener = TcpListener::bind(address).await.unwrap();
        HttpServer::on(listener, [Reply::json(200, GOOD)])
    };
    let (answer, _server) = tokio::join!(chat(&client), start_later);
    assert_eq!(answer.unwrap().text, "hello");
}

#[tokio::test]
async fn what_is_refused_for_good_is_not_tried_again() {
    for (status, kind, words) in [
        (400, ErrorKind::Http, "rejected the request (HTTP 400): no such thing."),
        (
            401,
            ErrorKind::Auth,
            "refused the API key (HTTP 401): no such thing; set OPENAI_API_KEY or pass api_key.",
        ),
        (403, ErrorKind::Auth, "refused the API key (HTTP 403)"),
        (404, ErrorKind::Http, "has no chat API at /v1/chat/completions (HTTP 404)"),
        (408, ErrorKind::Http, "(HTTP 408)"),
    ] {
        let body = r#"{"error": {"message": "no such thing."}}"#;
        let error = chat_error([Reply::json(status, body)], 1).await;
        assert_eq!((error.kind, error.status), (kind, Some(status)));
        assert!(error.message.contains(words), "{error}");
    }
    let error = chat_error([Reply::json(404, r#"{"error": "model 'm' not found"}"#)], 1).await;
    assert!(error.message.contains("does not know the model \"m\""), "{error}");
}
