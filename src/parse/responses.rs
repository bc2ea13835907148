//! The marks around the answers of tools. A model may invent such an answer, or repeat one: what stands between the marks are
//! not its own words, and no place for calls.

/// The marks before and after the answer of a tool.
pub(super) struct ResponseMarks {
    pub open: &'static str,
    pub close: &'static str,
    /// The model ends its turn with the first mark, so nothing may follow it.
    pub ends_turn: bool,
}

const fn between(open: &'static str, close: &'static str) -> ResponseMarks {
    ResponseMarks { open, close, ends_turn: false }
}

const fn ending(open: &'static str, close: &'static str) -> ResponseMarks {
    ResponseMarks { open, close, ends_turn: true }
}

/// The marks of all families.
pub(super) const RESPONSES: &[ResponseMarks] = &[
    between("<tool_response>", "</tool_response>"),
    between("<tool_responses>", "</tool_responses>"),
    between("<tool_result>", "</tool_result>"),
    between("<tool_results>", "</tool_results>"),
    between("<tool_output>", "</tool_output>"),
    between("<tool_outputs>", "</tool_outputs>"),
    between("<function_response>", "</function_response>"),
    between("<function_result>", "</function_result>"),
    between("<function_results>", "</function_results>"),
    between("<atem:function_results>", "</atem:function_results>"),
    between("<longcat_tool_response>", "</longcat_tool_response>"),
    between("<TOOL_RESPONSE>", "</TOOL_RESPONSE>"),
    between("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    between("<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"),
    between("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
    between("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
    between("<|tool_response_start|>", "<|tool_response_end|>"),
    ending("<|tool_response>", "<tool_response|>"),
    ending("<start_function_response>", "<end_function_response>"),
    ending("<|observation|>", "<|assistant|>"),
];

/// The marks that begin with this one.
pub(super) fn marks_of(open: &str) -> Option<&'static ResponseMarks> {
    RESPONSES.iter().find(|marks| marks.open == open)
}
