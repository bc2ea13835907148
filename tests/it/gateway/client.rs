//! An HTTP/1.1 client that sends exactly what a test says, and can leave at any time.

use crate::gateway::world::PATIENCE;
use serde_json::Value;
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// The value of a header that is left out.
pub const ABSENT: &str = "absent";

pub struct Http {
    stream: BufReader<TcpStream>,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }
}

impl Http {
    pub async fn connect(address: SocketAddr) -> Http {
        Http { stream: BufReader::new(TcpStream::connect(address).await.unwrap()) }
    }

    /// Sends a message as a client of MCP does.
    pub async fn post(&mut self, message: &Value, headers: &[(&str, &str)]) -> Reply {
        self.send_post(message, headers).await;
        self.reply().await
    }

    pub async fn send_post(&mut self, message: &Value, headers: &[(&str, &str)]) {
        let mut all =
            vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        // What a modern client repeats in headers, unless the test says otherwise.
        let meta = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        if let Some(version) = meta.as_str() {
            all.push(("mcp-protocol-version", version));
            all.push(("mcp-method", message["method"].as_str().unwrap()));
            let params = &message["params"];
            let name = params["name"].as_str().or_else(|| params["taskId"].as_str());
            all.extend(name.map(|name| ("mcp-name", name)));
        }
        all.retain(|(name, _)| headers.iter().all(|(given, _)| given != name));
        all.extend(headers.iter().filter(|(_, value)| *value != ABSENT));
        self.send("POST", &all, message.to_string().as_bytes()).await;
    }

    pub async fn send(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{method} /mcp HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
        if headers.iter().all(|(name, _)| *name != "host") {
            head.push_str("host: localhost\r\n");
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        self.stream.write_all(&bytes).await.unwrap();
    }

    /// The reply, whole.
    pub async fn reply(&mut self) -> Reply {
        let mut reply = self.head().await;
        let mut body = Vec::new();
        if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                body.extend(chunk);
            }
        } else {
            let length = reply.header("content-length").map_or(0, |length| length.parse().unwrap());
            body.resize(length, 0);
            tokio::time::timeout(PATIENCE, self.stream.read_exact(&mut body)).await.unwrap().unwrap();
        }
        reply.body = String::from_utf8(body).unwrap();
        reply
    }

    /// The head of a reply; the body follows in chunks.
    pub async fn head(&mut self) -> Reply {
        let status = self.line().await;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Reply { status: status.unwrap(), headers, body: String::new() }
    }

    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line().await, 16).unwrap();
        let mut chunk = vec![0; length + 2];
        tokio::time::timeout(PATIENCE, self.stream.read_exact(&mut chunk)).await.unwrap().unwrap();
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }

    /// The message of the next event.
    pub async fn event(&mut self) -> Value {
        let chunk = String::from_utf8(self.chunk().await.unwrap()).unwrap();
        let data = chunk.lines().find_map(|line| line.strip_prefix("data: "));
        serde_json::from_str(data.unwrap_or_else(|| panic!("no message: {chunk:?}"))).unwrap()
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        tokio::time::timeout(PATIENCE, self.stream.read_line(&mut line)).await.unwrap().unwrap();
        line.trim_end().to_owned()
    }
}
