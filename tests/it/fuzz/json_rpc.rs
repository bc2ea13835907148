//! JSON-RPC messages: any bytes are survived, a message is found behind noise, and what is shown of it is clean.

use super::{INPUTS, text_of, value_of};
use serde_json::json;
use toolhub::sources::mcp::wire::{Incoming, clean, decode};

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "{\"jsonrpc\": \"2.0\", ",
    "\"id\": 1",
    "\"id\": \"1\"",
    "\"id\": null",
    "\"id\": 18446744073709551616",
    "\"id\": -1.5",
    "\"method\": \"x\"",
    "\"method\": 5",
    "\"params\": {}",
    "\"result\": {}",
    "\"error\": {\"code\": -32603, \"message\": \"m\"}",
    "\"error\": null",
    "\"error\": \"text\"",
    "null",
    "1e999",
    "\n",
    "\u{feff}",
    "\u{1b}[31m",
    "\\u0000",
    "\\ud800",
    "é",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}",
    "[[[[[[[[",
    "log: ",
];

#[test]
fn any_bytes_are_survived() {
    bolero::check!().with_iterations(INPUTS).for_each(|bytes: &[u8]| {
        let text = text_of(bytes, PIECES);
        for bytes in [bytes, text.as_bytes()] {
            let found = decode(bytes);
            assert!(found.len() <= bytes.len(), "more messages than bytes");
            for message in found {
                match message {
                    Ok(Incoming::Response { outcome: Err(error), .. }) => {
                        assert!(!error.message.is_empty(), "{text:?}")
                    }
                    Ok(_) => {}
                    Err(malformed) => {
                        assert!(!malformed.reason.contains('\u{1b}'), "{text:?}: {malformed:?}")
                    }
                }
            }
        }
    });
}

#[test]
fn an_answer_is_found_alone_and_in_a_batch_and_not_behind_noise() {
    bolero::check!().with_type::<(u64, Vec<u8>)>().with_iterations(INPUTS).for_each(|(id, bytes)| {
        let result = value_of(&mut bytes.iter().copied(), 4);
        let message =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}}", json!({"content": result}));
        for noise in ["ready> ", "INFO received ", "{\"level\":\"info\"} ", "12:00 [", "5 "] {
            let found = decode(format!("{noise}{message}").as_bytes());
            assert!(
                found.iter().all(|one| matches!(one, Err(noise) if noise.id.is_none())),
                "{noise}: {found:?}"
            );
        }
        for text in [message.clone(), format!("[{message}]"), format!("\u{feff}{message}\n")] {
            let found = decode(text.as_bytes());
            match &found[..] {
                [Ok(Incoming::Response { id: Some(found), outcome: Ok(raw) })] => {
                    assert_eq!(found, id, "{text:?}");
                    let raw: serde_json::Value = serde_json::from_str(raw.get()).unwrap();
                    assert_eq!(raw["content"], result, "{text:?}");
                }
                other => panic!("{text:?}: {other:?}"),
            }
        }
    });
}

#[test]
fn shown_text_is_clean_and_bounded() {
    bolero::check!().with_type::<(u8, Vec<u8>)>().with_iterations(INPUTS).for_each(|(limit, bytes)| {
        let text = text_of(bytes, PIECES);
        let shown = clean(&text, usize::from(*limit));
        assert!(shown.chars().count() <= usize::from(*limit) + 1, "{text:?}");
        assert!(shown.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{text:?}: {shown:?}");
        assert_eq!(clean(&shown, shown.chars().count()), shown, "{text:?}");
    });
}
