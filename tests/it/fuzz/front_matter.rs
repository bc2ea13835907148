//! The front matter of skills: any text is read or refused, never deep, never larger than it was written.

use super::{INPUTS, text_of};
use serde_json::Value;
use toolhub::sources::skills::front_matter::{read, read_front, read_strictly, text_of as front_text};

const PIECES: &[&str] = &[
    "---\n",
    "---",
    "\n",
    "  ",
    "    ",
    "- ",
    ": ",
    ":",
    "name: ",
    "description: ",
    "a",
    "&x ",
    "*x",
    "!!python/object ",
    "|\n",
    ">\n",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "'",
    "#",
    "true",
    "1e999",
    ".inf",
    "0x1F",
    "2026-11-16",
    "? ",
    "<<: ",
    "é",
    "\t",
    "\r\n",
    "\u{feff}",
    "metadata:\n  k: v\n",
    "name: a\ndescription: b\n",
    "%YAML 1.2\n",
    "...\n",
];

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[test]
fn any_text_is_read_or_refused() {
    bolero::check!().with_type::<(bool, Vec<u8>)>().with_iterations(INPUTS).for_each(|(is_closed, bytes)| {
        let inner = text_of(bytes, PIECES);
        let text = if *is_closed { format!("---\n{inner}\n---\nbody") } else { inner };
        let strict = read_strictly(&text);
        if let Ok((fields, body)) = &strict {
            assert!(text.ends_with(body), "{text:?}");
            let fields = Value::Object(fields.clone());
            assert!(depth(&fields) <= 33, "{text:?}");
            // A value is written with at most six bytes for one of its own (`\u0000`), and names and brackets around it.
            assert!(fields.to_string().len() <= 16 * text.len(), "{text:?}");
        }
        match (read(&text), strict) {
            (Ok((lenient, body, was_needed)), Ok(strict)) => {
                assert!(!was_needed, "{text:?}");
                assert_eq!((lenient, body), strict, "{text:?}");
            }
            (Ok((_, _, was_needed)), Err(_)) => assert!(was_needed, "{text:?}"),
            (Err(_), Ok(_)) => panic!("lenient reading refuses what strict reading accepts: {text:?}"),
            (Err(lenient), Err(strict)) => assert_eq!(lenient, strict, "{text:?}"),
        }
    });
}

/// A file is read only up to the end of its front matter, which then says the same.
#[test]
fn the_start_of_a_file_is_enough() {
    bolero::check!().with_type::<(u16, Vec<u8>)>().with_iterations(INPUTS).for_each(|(more, bytes)| {
        let inner = text_of(bytes, PIECES);
        let text = format!("---\n{inner}\n---\n{}", "é".repeat(usize::from(*more)));
        let front = read_front(&mut text.as_bytes()).unwrap();
        assert!(text.as_bytes().starts_with(&front), "{text:?}");
        let (Ok((whole, _)), Ok(start)) = (read_strictly(&text), front_text(&front)) else { return };
        let (fields, _) = read_strictly(start).unwrap_or_else(|why| panic!("{why}: {start:?}"));
        assert_eq!(fields, whole, "{text:?}");
    });
}
