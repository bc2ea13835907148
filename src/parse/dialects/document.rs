//! JSON in a text that is not a call: a plan, or the arguments that a model was asked for.
//!
//! It is read by the same machine as calls, so the same is reasoning, and nothing that was only thought of is read. Each value
//! becomes a draft with a name that no tool of a text can have.

use serde_json::{Map, Value};

use crate::context::ReadContext;
use crate::draft::Draft;
use crate::lenient::{self, MissingClosers};
use crate::marker::{Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;

pub(super) const MARKERS: &[Marker] = &[Marker::new("{", read), Marker::new("[", read)];

/// The name of the drafts: a recipient of a message has no space.
pub(crate) const NAME: &str = "a document";

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        // Only the end of the text shows which closing brackets are missing.
        cx.input.wait(|view| view.ended.then_some(())).await;
        if !cx.has_rescans() {
            return ReadOutcome::No;
        }
        let end = cx.input.end_so_far();
        let reading = cx
            .input
            .with(opening.start, end, |text| lenient::read(text, Notation::Json, MissingClosers::ALL));
        let Ok(reading) = reading else {
            cx.take_rescan();
            return ReadOutcome::No;
        };
        let mut fields = Map::from_iter([("value".to_owned(), reading.value)]);
        fields.extend(reading.cut.map(|cut| ("cut".to_owned(), Value::String(cut.why))));
        let end = opening.start + reading.end;
        let draft = Draft::new(NAME, Ok(Value::Object(fields)), reading.repairs);
        cx.emit(vec![draft], end, NAME);
        ReadOutcome::Block(end)
    })
}
