//! Shortens one JSON string: cut like prose, never inside an escape.

use super::super::boundary;
use super::super::chars::{floor, index_of, last_cluster};
use super::super::notice::more;
use toolhub_types::model::Lang;

/// How far past the cut a string is decoded, to see what follows a stop.
const AHEAD: usize = 32;

/// The string with the content `raw` (as in JSON, without quotes) within `room` characters, quotes and mark
/// included. `room` must be at least 2, and less than the string needs, unless the string continues `beyond` the known part:
/// by that many characters, or by an unknown number (`None`).
pub(super) fn shorten(raw: &str, beyond: Option<usize>, room: usize, lang: Lang) -> String {
    let Some(room) = room.checked_sub(3) else {
        return String::from("\"\"");
    };
    let open = beyond != Some(0);
    let total = raw.chars().count() + beyond.unwrap_or(0);
    let worst = more(lang, total).chars().count();
    // The mark may take a third of the string.
    let counted = beyond.is_some() && worst * 3 <= room;
    let end = cut(raw, open, if counted { room + 1 - worst } else { room });
    let mut text = String::with_capacity(end + worst + 8);
    text.push('"');
    text.push_str(&raw[..end]);
    match counted {
        true => text.push_str(&more(lang, total - raw[..end].chars().count())),
        false => text.push('…'),
    }
    text.push('"');
    text
}

/// The byte index in `raw` after at most `room` characters, where a reader would cut.
fn cut(raw: &str, open: bool, room: usize) -> usize {
    let near = &raw[..index_of(raw, room + AHEAD)];
    let open = open && near.len() == raw.len();
    if !near.contains('\\') {
        return place(raw, open, index_of(raw, room));
    }
    let decoded = Decoded::of(near);
    let max = decoded.ends.iter().rfind(|end| end.raw_chars <= room).map_or(0, |end| end.plain);
    let end = place(&decoded.plain, open, max);
    let found = decoded.ends.partition_point(|place| place.plain <= end);
    found.checked_sub(1).map_or(0, |last| decoded.ends[last].raw)
}

fn place(text: &str, open: bool, max: usize) -> usize {
    let max = if open { floor(text, max).min(last_cluster(text)) } else { max };
    boundary::find(text, boundary::region(text, max), max).end
}

/// A string without its escapes, and the end of each character in both forms.
struct Decoded {
    plain: String,
    ends: Vec<CutPlace>,
}

struct CutPlace {
    plain: usize,
    raw: usize,
    raw_chars: usize,
}

impl Decoded {
    /// Decodes valid content; an incomplete escape at the end is dropped.
    fn of(raw: &str) -> Self {
        let mut decoded =
            Decoded { plain: String::with_capacity(raw.len()), ends: Vec::with_capacity(raw.len()) };
        let (mut at, mut raw_chars) = (0, 0);
        while let Some(first) = raw[at..].chars().next() {
            let (c, len) = if first == '\\' {
                let Some(escape) = escape(&raw[at..]) else {
                    break;
                };
                raw_chars += escape.1;
                escape
            } else {
                raw_chars += 1;
                (first, first.len_utf8())
            };
            at += len;
            decoded.plain.push(c);
            decoded.ends.push(CutPlace { plain: decoded.plain.len(), raw: at, raw_chars });
        }
        decoded
    }
}

/// The character of an escape, and the length of the escape. A surrogate pair is one character.
fn escape(raw: &str) -> Option<(char, usize)> {
    let lengths: &[usize] = match raw.as_bytes().get(1)? {
        b'u' if raw.get(6..8) == Some("\\u") => &[12, 6],
        b'u' => &[6],
        _ => &[2],
    };
    let known = |len: &usize| Some((serde_json::from_str(&format!("\"{}\"", raw.get(..*len)?)).ok()?, *len));
    // Half of a pair is not a character.
    let half = || raw.get(..6).map(|_| (char::REPLACEMENT_CHARACTER, 6));
    lengths.iter().find_map(known).or_else(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(raw: &str, room: usize) -> String {
        shorten(raw, Some(0), room, Lang::En)
    }

    #[test]
    fn the_number_needs_room() {
        let raw = "one two three four five six seven eight nine ten";
        assert_eq!(short(raw, 45), "\"one two three four five six… (+21 more)\"");
        assert_eq!(short(raw, 20), "\"one two three…\"");
        assert_eq!([short(raw, 4), short(raw, 3), short(raw, 2)], ["\"o…\"", "\"…\"", "\"\""]);
    }

    #[test]
    fn escapes_count_as_they_are_written_and_stay_whole() {
        let raw = r"a\u00e9b\ud83d\ude00c\\\n\u4e2d\u6587 and so on and so on";
        for room in 2..raw.len() {
            let text = short(raw, room);
            assert!(text.chars().count() <= room, "{text}");
            assert!(serde_json::from_str::<String>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn clusters_stay_whole_in_either_form() {
        assert_eq!(short(r"ab\u0065\u0301xyzxyzxyzxyz", 11), "\"ab…\"");
        assert_eq!(short("abe\u{301}xyzxyzxyzxyz", 6), "\"ab…\"");
        // The unknown rest of an open string may belong to its last cluster.
        assert_eq!(shorten("abcde", None, 20, Lang::En), "\"abcd…\"");
        assert_eq!(shorten(r"abcd\u0065", None, 20, Lang::En), "\"abcd…\"");
    }

    #[test]
    fn sentences_are_cut_like_prose() {
        assert_eq!(short("It is here. It is there. It is gone", 32), "\"It is here. It is there.…\"");
        assert_eq!(short(r"first line\nsecond line\nthird", 20), "\"first line…\"");
    }
}
