//! Server-sent events: the events do not depend on the chunks, and nothing is larger than the limit.

use super::{INPUTS, text_of};
use toolhub::sse::{SseEvent, SseParser};

const PIECES: &[&str] = &[
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "data:",
    "data: ",
    "event:",
    "id:",
    "retry:",
    ":",
    " ",
    "\u{feff}",
    "data: {\"a\": 1}\n\n",
    "id: 7\n",
    "event: message\n",
    "retry: 100\n",
    "é",
    "\0",
    "data",
    "x",
];
const LIMIT: usize = 48;

/// All events; the id to resume from and the delay, unless the limit was exceeded.
type Read = (Vec<SseEvent>, Option<(Option<String>, Option<std::time::Duration>)>);

fn read<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Read {
    let mut parser = SseParser::new(LIMIT);
    let mut events = Vec::new();
    let mut take = |parser: &mut SseParser| {
        while let Some(item) = parser.next_item() {
            match item.whole() {
                Some(event) => events.push(event),
                None => return true,
            }
        }
        false
    };
    for chunk in chunks {
        parser.feed(chunk);
        if take(&mut parser) {
            return (events, None);
        }
    }
    parser.finish();
    let is_over = take(&mut parser);
    (events, (!is_over).then(|| (parser.last_id().map(str::to_owned), parser.retry())))
}

#[test]
fn events_do_not_depend_on_the_chunks() {
    bolero::check!().with_type::<(Vec<u8>, Vec<u8>)>().with_iterations(INPUTS).for_each(|(bytes, sizes)| {
        let text = text_of(bytes, PIECES);
        let whole = read([text.as_bytes()].into_iter());
        let single = read(text.as_bytes().chunks(1));
        let size = sizes.first().map_or(3, |size| usize::from(*size % 16) + 1);
        assert_eq!(whole, single, "{text:?} byte by byte");
        assert_eq!(whole, read(text.as_bytes().chunks(size)), "{text:?} in chunks of {size}");
        for event in &whole.0 {
            // A byte that is not UTF-8 becomes a character of three.
            assert!(event.data.len() <= 3 * LIMIT && event.name.len() <= 3 * LIMIT, "{text:?}: {event:?}");
        }
        let id = whole.1.and_then(|(id, _)| id);
        assert!(id.is_none_or(|id| !id.contains(['\0', '\n', '\r'])), "{text:?}");
    });
}

/// Bytes of any kind, not only UTF-8.
#[test]
fn any_bytes_are_read() {
    bolero::check!().with_iterations(INPUTS).for_each(|bytes: &[u8]| {
        assert_eq!(read([bytes].into_iter()), read(bytes.chunks(1)));
    });
}
