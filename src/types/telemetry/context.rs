//! The W3C trace context: which trace a request belongs to, and which span it is a part of.

use serde_json::{Map, Value};

/// The members of `_meta` that carry it; SEP-414 leaves them without a prefix.
pub const TRACE_PARENT: &str = "traceparent";
pub const TRACE_STATE: &str = "tracestate";

/// A longer `tracestate` need not be passed on.
const LONGEST_STATE: usize = 512;

/// A span as others name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: u128,
    pub span: u64,
    pub flags: u8,
}

const SAMPLED: u8 = 1;
/// The id of the trace is random in all its bits.
const RANDOM: u8 = 2;

impl TraceContext {
    /// Reads a `traceparent`; `None` if it has another form.
    pub fn read(text: &str) -> Option<Self> {
        // A later version may add parts.
        let mut parts = text.splitn(5, '-');
        let mut part = |digits: usize| parts.next().filter(|part| part.len() == digits).and_then(hex);
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        let is_known = version != 0xff && (version != 0 || parts.next().is_none());
        let context = TraceContext { trace, span: span as u64, flags: flags as u8 };
        (is_known && trace != 0 && span != 0).then_some(context)
    }

    /// As a `traceparent`.
    pub fn written(self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }

    /// A span inside of this one.
    pub fn child(self) -> Self {
        TraceContext { span: new_id(), ..self }
    }

    /// The first span of a new trace. It is sampled: who exports it decides what is kept.
    pub fn root() -> Self {
        let trace = (u128::from(new_id()) << 64) | u128::from(new_id());
        TraceContext { trace, span: new_id(), flags: SAMPLED | RANDOM }
    }
}

fn new_id() -> u64 {
    fastrand::u64(1..)
}

/// Lower-case digits only, as the specification wants.
fn hex(digits: &str) -> Option<u128> {
    let is_hex = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    is_hex.then(|| u128::from_str_radix(digits, 16).ok()).flatten()
}

/// What a request brings: the span that it is a part of, and what vendors have added to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceParent {
    pub context: Option<TraceContext>,
    pub state: Option<String>,
}

impl TraceParent {
    /// From the two texts; without a sound `traceparent` the other one means nothing.
    pub fn of(parent: Option<&str>, state: Option<&str>) -> Self {
        let context = parent.and_then(TraceContext::read);
        let state = state.filter(|state| context.is_some() && state.len() <= LONGEST_STATE);
        TraceParent { context, state: state.map(str::to_owned) }
    }

    /// From `_meta`.
    pub fn in_meta(meta: &Map<String, Value>) -> Self {
        let text = |key| meta.get(key).and_then(Value::as_str);
        TraceParent::of(text(TRACE_PARENT), text(TRACE_STATE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_parent_is_read_as_the_specification_says() {
        let context = TraceContext::read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
        assert_eq!(context.trace, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!((context.span, context.flags), (0x00f0_67aa_0ba9_02b7, 1));
        assert!(TraceContext::read("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more").is_some());
        for wrong in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceContext::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_state_without_a_parent_means_nothing() {
        let parent = TraceContext::root().written();
        assert_eq!(TraceParent::of(Some(&parent), Some("a=1")).state.as_deref(), Some("a=1"));
        assert_eq!(TraceParent::of(Some("wrong"), Some("a=1")), TraceParent::default());
        assert_eq!(TraceParent::of(Some(&parent), Some(&"x".repeat(513))).state, None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(trace in 1u128.., span in 1u64.., flags: u8) {
            let context = TraceContext { trace, span, flags };
            prop_assert_eq!(TraceContext::read(&context.written()), Some(context));
        }

        #[test]
        fn any_text_is_survived(text in "\\PC{0,80}", near in "[0-9a-f]{2}-[0-9a-fé]{31,33}-[0-9a-f]{16}-[0-9a-f]{2}.?") {
            let _ = TraceContext::read(&text);
            let _ = TraceContext::read(&near);
        }
    }
}
