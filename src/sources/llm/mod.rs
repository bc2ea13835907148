//! A client of the OpenAI-compatible chat API (OpenAI, vLLM, llama.cpp, Ollama, …).
//!
//! The flow of one request, top to bottom:
//!
//! ```text
//! config ─► endpoint (checked URL, headers, what to hide) ─► client ─► retry (back-off before one deadline)
//!                                                              │
//!                          whole answer ─► answer ◄─ stream ◄──┴─► refusal (what went wrong)
//! ```
//!
//! Three promises shape it. *One total time*: connecting, waiting between attempts and reading the
//! body all spend the same [`OpenAiConfig::timeout`]. *The key stays here*: redirects are not followed,
//! and nothing that a server says reaches an error before the secrets are taken out of it. *Nothing is
//! unbounded*: bodies, events and error texts have limits.

mod client;
mod endpoint;
mod stream;

pub use client::OpenAi;

pub use endpoint::OpenAiConfig;
pub use stream::{ChatAnswer, ChatStream, Usage};
pub use toolhub_text::secret::Secret;
