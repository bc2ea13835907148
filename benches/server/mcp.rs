//! The server of the MCP benchmarks: one tool, `add`, on stdio or HTTP, as fast as a small program can be.
//!
//! ```text
//! bench_mcp_server stdio [--legacy] [--delay MILLISECONDS] [--more TOOLS]
//! bench_mcp_server http  [--legacy]        writes its address on the first line
//! ```
//!
//! It speaks both eras; with `--legacy` it does not know the modern one. The delay is a start that takes its time; more
//! tools are listed only.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";
const SERVER: &str = r#"{"name":"bench","version":"1"}"#;
const TOOLS: &str = r#"[{"name":"add","description":"Adds two numbers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}}]"#;
/// The list when there are more; those have the schema of `add`.
static MORE: OnceLock<String> = OnceLock::new();
/// What a modern result has beyond its content, and an older client does not mind.
const COMPLETE: &str = r#""resultType":"complete","ttlMs":60000,"cacheScope":"public""#;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call {
    arguments: Numbers,
}

#[derive(Deserialize)]
struct Numbers {
    a: i64,
    b: i64,
}

/// The answer to one message; `None` to a notification.
fn answer(text: &[u8], legacy: bool) -> Option<String> {
    let message: Message = match serde_json::from_slice(text) {
        Ok(message) => message,
        Err(error) => return Some(failure("null", -32700, &error.to_string())),
    };
    let id = message.id?.get();
    let result = match &*message.method {
        "tools/call" => {
            let call = message.params.and_then(|params| serde_json::from_str::<Call>(params.get()).ok());
            let Some(Call { arguments: Numbers { a, b } }) = call else {
                return Some(failure(id, -32602, "add takes the numbers a and b"));
            };
            let sum = a.wrapping_add(b);
            format!(
                r#"{{"content":[{{"type":"text","text":"{sum}"}}],"isError":false,"resultType":"complete"}}"#
            )
        }
        "tools/list" => {
            format!(r#"{{"tools":{},{COMPLETE}}}"#, MORE.get().map_or(TOOLS, String::as_str))
        }
        "server/discover" if !legacy => format!(
            r#"{{"supportedVersions":["{MODERN}"],"capabilities":{{"tools":{{}}}},"serverInfo":{SERVER},{COMPLETE},"_meta":{{"io.modelcontextprotocol/serverInfo":{SERVER}}}}}"#
        ),
        "initialize" => format!(
            r#"{{"protocolVersion":"{LEGACY}","capabilities":{{"tools":{{}}}},"serverInfo":{SERVER}}}"#
        ),
        "ping" => "{}".to_owned(),
        _ => return Some(failure(id, -32601, "Method not found")),
    };
    Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

fn failure(id: &str, code: i32, message: &str) -> String {
    let message = serde_json::Value::from(message);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}

/// Blocking, and all lines that came together are answered together.
fn serve_stdio(legacy: bool) -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let (mut pending, mut buffer, mut answers) = (Vec::new(), vec![0; 64 * 1024], String::new());
    loop {
        let read = input.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        pending.extend_from_slice(&buffer[..read]);
        let mut begin = 0;
        while let Some(length) = memchr::memchr(b'\n', &pending[begin..]) {
            if let Some(answer) = answer(&pending[begin..begin + length], legacy) {
                answers.push_str(&answer);
                answers.push('\n');
            }
            begin += length + 1;
        }
        pending.drain(..begin);
        output.write_all(answers.as_bytes())?;
        output.flush()?;
        answers.clear();
    }
}

async fn serve_http(legacy: bool) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    io::stdout().flush()?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            // A client that disconnects does not affect the others.
            let _ = converse(stream, legacy).await;
        });
    }
}

/// HTTP/1.1 with connections that stay: a head, a body of the length that the head says, an answer.
async fn converse(mut stream: TcpStream, legacy: bool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut pending = Vec::with_capacity(4096);
    loop {
        while let Some((head, whole)) = request(&pending) {
            let response = match &pending[..4] {
                b"POST" => posted(answer(&pending[head..whole], legacy)),
                b"DELE" => "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned(),
                _ => "HTTP/1.1 405 Method Not Allowed\r\nallow: POST\r\ncontent-length: 0\r\n\r\n".to_owned(),
            };
            stream.write_all(response.as_bytes()).await?;
            pending.drain(..whole);
        }
        if stream.read_buf(&mut pending).await? == 0 {
            return Ok(());
        }
    }
}

fn posted(answer: Option<String>) -> String {
    match answer {
        Some(answer) => format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        ),
        None => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
    }
}

/// Where the body of the first request begins and ends, once all of it is there.
fn request(bytes: &[u8]) -> Option<(usize, usize)> {
    let head = memchr::memmem::find(bytes, b"\r\n\r\n")? + 4;
    let length = bytes[..head].split(|byte| *byte == b'\n').find_map(|line| {
        let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let whole = head + length.unwrap_or(0);
    (bytes.len() >= whole).then_some((head, whole))
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let legacy = words.iter().any(|word| word == "--legacy");
    let number = |flag: &str| words.iter().skip_while(|word| *word != flag).nth(1)?.parse::<u64>().ok();
    std::thread::sleep(Duration::from_millis(number("--delay").unwrap_or(0)));
    if let Some(more) = number("--more") {
        let add = &TOOLS[1..TOOLS.len() - 1];
        let tools = (0..more).map(|n| add.replacen("add", &format!("tool_{n}"), 1));
        MORE.get_or_init(|| {
            format!("[{}]", [add.to_owned()].into_iter().chain(tools).collect::<Vec<_>>().join(","))
        });
    }
    match words.first().map(String::as_str) {
        Some("stdio") => serve_stdio(legacy),
        Some("http") => {
            tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(serve_http(legacy))
        }
        _ => Err(io::Error::other("say stdio or http; see the top of benches/server/mcp.rs")),
    }
}
