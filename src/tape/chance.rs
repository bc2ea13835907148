//! What is otherwise left to chance, and must come out the same in a recording and its replays: the handles of results that
//! were cut, and the order of candidates that are equally good.
//!
//! A recording draws a secret number, which is in the first line of its cassette. So nobody can guess a handle who does not
//! have the cassette.

use crate::canonical::digest_of;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

pub(super) struct Chance {
    nonce: String,
}

impl Chance {
    /// For a new recording.
    pub fn new() -> Self {
        let mut bytes = [0; 16];
        if SystemRandom::new().fill(&mut bytes).is_err() {
            fastrand::fill(&mut bytes);
        }
        let nonce = bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Chance { nonce }
    }

    /// Of a cassette; `None` for one of an earlier version.
    pub fn of(path: &Path) -> Option<Self> {
        let mut header = String::new();
        BufReader::new(File::open(path).ok()?).read_line(&mut header).ok()?;
        let header: Value = serde_json::from_str(header.trim_start_matches('\u{feff}')).ok()?;
        let nonce = header.get("nonce")?.as_str()?.to_owned();
        Some(Chance { nonce })
    }

    pub fn nonce(&self) -> &str {
        &self.nonce
    }

    /// 64 hexadecimal digits, the same for the same parts.
    pub fn draw(&self, parts: &[&str]) -> String {
        let parts: Vec<&str> = std::iter::once(&*self.nonce).chain(parts.iter().copied()).collect();
        digest_of(&parts).trim_start_matches("sha256:").to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cassette_draws_the_same_as_its_recording() {
        let recorded = Chance::new();
        let path = std::env::temp_dir().join(format!("toolhub-chance-{}", recorded.nonce()));
        std::fs::write(&path, format!("{{\"nonce\":\"{}\"}}\n", recorded.nonce())).unwrap();
        let replayed = Chance::of(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(replayed.draw(&["a", "b"]), recorded.draw(&["a", "b"]));
        assert_ne!(recorded.draw(&["a", "b"]), recorded.draw(&["ab"]));
        assert_ne!(recorded.draw(&["a"]), Chance::new().draw(&["a"]));
    }
}
