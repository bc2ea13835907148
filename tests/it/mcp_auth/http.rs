//! Just enough HTTP/1.1 for both sides: one request a connection.

use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

#[derive(Debug, Clone)]
pub struct Request {
    pub path: String,
    pub query: HashMap<String, String>,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Request {
    /// The fields of a form.
    pub fn form(&self) -> HashMap<String, String> {
        fields(&self.body)
    }

    pub fn authorization(&self) -> Option<&str> {
        self.headers.get("authorization").map(String::as_str)
    }
}

pub fn fields(text: &str) -> HashMap<String, String> {
    let url = reqwest::Url::parse(&format!("http://x/?{text}")).unwrap();
    url.query_pairs().into_owned().collect()
}

#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Answer {
    pub fn new(status: u16) -> Self {
        Answer { status, ..Answer::default() }
    }

    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Answer { status, headers: HashMap::new(), body: body.to_string() }
    }

    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.insert(name.to_owned(), value.into());
        self
    }
}

type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A listener on this machine; it ends when it is dropped.
pub struct Site {
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Site {
    pub async fn start(answer: impl Fn(Request) -> Answering + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(answer);
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let answer = Arc::clone(&answer);
                tokio::spawn(async move {
                    if let Some((head, body)) = receive(&mut stream).await {
                        let answer = answer(request(&head, body)).await;
                        let _ = stream.write_all(written(&answer).as_bytes()).await;
                    }
                });
            }
        });
        Site { address, task }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.address.port())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends one request and reads its answer; `None` when the port is closed.
pub async fn fetch(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Option<Answer> {
    let url = reqwest::Url::parse(url).unwrap();
    let port = url.port().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let mut text = format!("{method} {target} HTTP/1.1\r\nHost: {}:{port}\r\n", url.host_str().unwrap());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(text.as_bytes()).await.ok()?;
    let (head, body) = receive(&mut stream).await?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, headers: named(lines), body })
}

/// Goes where it is sent, like a browser.
pub async fn browse(url: &str) -> Option<Answer> {
    let mut answer = fetch("GET", url, &[], "").await?;
    while let (302, Some(location)) = (answer.status, answer.headers.get("location").cloned()) {
        answer = fetch("GET", &location, &[], "").await?;
    }
    Some(answer)
}

async fn receive(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
            let length =
                named(head.split("\r\n").skip(1)).get("content-length").map_or(0, |n| n.parse().unwrap());
            let mut body = bytes.split_off(end + 4);
            while body.len() < length {
                if stream.read_buf(&mut body).await.ok()? == 0 {
                    return None;
                }
            }
            return Some((head, String::from_utf8(body).ok()?));
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn request(head: &str, body: String) -> Request {
    let mut lines = head.split("\r\n");
    let target = lines.next().unwrap().split(' ').nth(1).unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Request { path: path.to_owned(), query: fields(query), headers: named(lines), body }
}

fn named<'a>(lines: impl Iterator<Item = &'a str>) -> HashMap<String, String> {
    let pairs = lines.filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect()
}

fn written(answer: &Answer) -> String {
    let mut text = format!("HTTP/1.1 {} Status\r\nConnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{text}Content-Length: {}\r\n\r\n{}", answer.body.len(), answer.body)
}
