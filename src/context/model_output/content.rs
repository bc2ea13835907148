//! Content blocks, as MCP servers send them, as text. Data in base64 never becomes text: a short note stands for it.

use serde_json::Value;

/// Image types that every API with images in tool results accepts.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Between two blocks.
const GAP: &str = "\n\n";

/// An image that an API can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageData {
    pub mime: String,
    /// Base64.
    pub data: String,
}

/// How images appear in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageNotes {
    /// As notes, like all other media.
    Shown,
    /// Left out where [`images`] has them, because the API gets the images themselves.
    Omitted,
}

/// The blocks of a value that is a list of content blocks; `None` for any other value.
pub fn blocks(value: &Value) -> Option<&[Value]> {
    let blocks = value.as_array().filter(|blocks| !blocks.is_empty())?;
    blocks.iter().all(is_block).then_some(blocks)
}

/// Whether a value has the type of a content block and the texts that the type requires.
pub fn is_block(value: &Value) -> bool {
    let has = |of: &Value, key: &str| of.get(key).is_some_and(Value::is_string);
    match kind(value) {
        "text" => has(value, "text"),
        "image" | "audio" => has(value, "data") && has(value, "mimeType"),
        "resource_link" => has(value, "uri") && has(value, "name"),
        "resource" => value
            .get("resource")
            .is_some_and(|inner| has(inner, "uri") && (has(inner, "text") || has(inner, "blob"))),
        _ => false,
    }
}

/// All blocks as one text: texts as they are, everything else as a note, with an empty line between two blocks.
pub fn text(blocks: &[Value], images: ImageNotes) -> String {
    joined(blocks.iter().filter_map(|block| shown(block, images)))
}

/// The notes for everything that is not text.
pub fn notes(blocks: &[Value], images: ImageNotes) -> String {
    joined(blocks.iter().filter(|block| block_text(block).is_none()).filter_map(|block| shown(block, images)))
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(GAP)
}

/// The images that an API can take.
pub fn images(blocks: &[Value]) -> Vec<ImageData> {
    blocks.iter().filter_map(image).collect()
}

fn shown(block: &Value, images: ImageNotes) -> Option<String> {
    if let Some(text) = block_text(block) {
        return Some(text.to_owned());
    }
    if images == ImageNotes::Omitted && image(block).is_some() {
        return None;
    }
    Some(note(block))
}

/// The text of a text block, or of a file that is text.
fn block_text(block: &Value) -> Option<&str> {
    let holder = if kind(block) == "resource" { block.get("resource")? } else { block };
    holder.get("text")?.as_str()
}

fn image(block: &Value) -> Option<ImageData> {
    let (mime, data) = media(block)?;
    if !IMAGE_TYPES.contains(&mime) {
        return None;
    }
    Some(ImageData { mime: mime.to_owned(), data: base64(data)? })
}

/// Base64 as APIs take it: on one line and padded. `None` for other data, for which they would refuse the whole message.
fn base64(data: &str) -> Option<String> {
    let mut digits: String = data.split_whitespace().collect();
    digits.truncate(digits.trim_end_matches('=').len());
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    if digits.is_empty() || digits.len() % 4 == 1 || !digits.bytes().all(is_digit) {
        return None;
    }
    let padding = digits.len().next_multiple_of(4) - digits.len();
    Some(digits + &"=".repeat(padding))
}

/// Type and base64 data of a block that has data.
fn media(block: &Value) -> Option<(&str, &str)> {
    let (holder, key) = match kind(block) {
        "resource" => (block.get("resource")?, "blob"),
        _ => (block, "data"),
    };
    let mime = holder.get("mimeType").and_then(Value::as_str).unwrap_or("application/octet-stream");
    let data = holder.get(key)?.as_str()?;
    Some((mime, in_data_url(data).unwrap_or(data)))
}

/// The data in `data:image/png;base64,…`, which some servers send instead of the data alone.
fn in_data_url(data: &str) -> Option<&str> {
    let (head, data) = data.strip_prefix("data:")?.split_once(',')?;
    head.ends_with(";base64").then_some(data)
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// `[image/png, 5.4 KB]`, with the address of a file or link.
fn note(block: &Value) -> String {
    let holder = if kind(block) == "resource" { &block["resource"] } else { block };
    let text = |key: &str| holder.get(key).and_then(Value::as_str);
    let mut facts: Vec<String> = Vec::new();
    if kind(block) == "resource_link" {
        facts.extend(text("title").or_else(|| text("name")).map(str::to_owned));
    }
    match media(block) {
        Some((mime, data)) => facts.extend([mime.to_owned(), size(decoded_length(data))]),
        None => facts.extend(text("mimeType").map(str::to_owned)),
    }
    facts.extend(text("uri").map(str::to_owned));
    if facts.is_empty() {
        facts.push(match kind(block) {
            "" => "content of an unknown type".to_owned(),
            kind => kind.to_owned(),
        });
    }
    format!("[{}]", facts.join(", "))
}

/// The length of base64 data without its coding.
fn decoded_length(data: &str) -> usize {
    let digits = data.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'=').count();
    digits * 3 / 4
}

/// A number of bytes as people write it.
pub fn size(bytes: usize) -> String {
    const KB: f64 = 1024.0;
    match bytes as f64 {
        bytes if bytes < KB => format!("{bytes} B"),
        bytes if bytes < KB * KB => format!("{:.1} KB", bytes / KB),
        bytes => format!("{:.1} MB", bytes / KB / KB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_joined_and_media_are_notes() {
        let png = "A".repeat(4 * 1024);
        let blocks = [
            json!({"type": "text", "text": "Before."}),
            json!({"type": "image", "data": png, "mimeType": "image/png"}),
            json!({"type": "text", "text": "After."}),
            json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}),
            json!({"type": "resource", "resource": {"uri": "file:///a.txt", "text": "Inside."}}),
            json!({"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "AAAA"}}),
            json!({"type": "resource_link", "uri": "https://x.test/y", "name": "y", "mimeType": "text/html"}),
            json!({"type": "hologram"}),
        ];
        let end = "[audio/wav, 3 B]\n\nInside.\n\n[application/pdf, 3 B, file:///a.pdf]\n\n\
                   [y, text/html, https://x.test/y]\n\n[hologram]";
        let shown = text(&blocks, ImageNotes::Shown);
        assert_eq!(shown, format!("Before.\n\n[image/png, 3.0 KB]\n\nAfter.\n\n{end}"));
        assert_eq!(text(&blocks, ImageNotes::Omitted), format!("Before.\n\nAfter.\n\n{end}"));
        assert_eq!(images(&blocks), [ImageData { mime: "image/png".into(), data: png }]);
    }

    #[test]
    fn only_lists_of_whole_blocks_are_content() {
        assert!(blocks(&json!([{"type": "text", "text": "x"}])).is_some());
        let link = json!([{"type": "resource_link", "uri": "https://x.test/y", "name": "y"}]);
        assert!(blocks(&link).is_some());
        for other in [
            json!([]),
            json!([{"type": "text"}]),
            json!([{"type": "text", "text": "x"}, 3]),
            json!("x"),
            json!([{"type": "resource_link", "uri": "https://x.test/y"}]),
            json!([{"type": "resource", "resource": {"uri": "file:///a"}}]),
            json!([{"type": "resource", "resource": {"uri": 1, "text": "x"}}]),
        ] {
            assert!(blocks(&other).is_none(), "{other}");
        }
    }

    #[test]
    fn images_of_other_types_are_notes_for_every_api() {
        let blocks = [json!({"type": "image", "data": "AAAA", "mimeType": "image/svg+xml"})];
        assert!(images(&blocks).is_empty());
        assert_eq!(text(&blocks, ImageNotes::Omitted), "[image/svg+xml, 3 B]");
    }
}
