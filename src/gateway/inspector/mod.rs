//! L2, what calls did, as one page for a browser.
//!
//! ```text
//! events     a file of events (`docs/reference/events.md`), line by line
//!   ─► timeline   lanes by candidate and server, rows in them, who won, was cancelled, came late
//!   ─► compare    two runs: which calls are the same, which differ and where, which are in one only
//! ─► page       HTML with the script, the style and the data inside
//! ```
//!
//! The page (`page/`) is plain JavaScript that shows what it is given; it decides nothing about calls. The timeline is written as
//! columns, so that a browser reads 100,000 spans in a moment. The lines themselves come last in the file, and are read when
//! somebody looks at one. A served hub gives the same page without data; what it shows comes from the gateway. Its calls are in
//! `live`, which gives the last ones as a timeline, also those that run.
//!
//! A page loads nothing from elsewhere: its policy (CSP) allows the one script by its hash. Text of tools and servers gets into
//! it as JSON only, in which no tag can begin, and from there as text, never as HTML.

mod compare;
mod events;
mod live;
mod page;
mod timeline;

pub use live::{LiveCall, LiveTimeline};
pub use page::{ServedPage, served_page};

use compare::compare;
use events::RunFile;
use std::path::Path;
use timeline::Timeline;
use toolhub_types::model::Lang;

/// The page of a recorded run, or of two that are compared. The error is a sentence in the language of the page.
pub fn recorded_page(run: &Path, other: Option<&Path>, lang: Lang) -> Result<String, String> {
    let read = |path| RunFile::read(path).map_err(|error| error.text(lang).into_owned());
    let (run, other) = (read(run)?, other.map(read).transpose()?);
    let mut pairs = other.as_ref().map(|other| compare(&run, other));
    for pair in pairs.iter_mut().flatten().filter(|_| lang == Lang::Zh) {
        pair.note = pair.note.take().map(|note| note.text(lang).into_owned().into());
    }
    let files: Vec<&RunFile> = std::iter::once(&run).chain(&other).collect();
    let timelines: Vec<Timeline<'_>> = files.iter().map(|file| Timeline::of(file)).collect();
    Ok(page::recorded(&timelines, pairs.as_deref(), &files, lang))
}
