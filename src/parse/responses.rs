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

/// The tokens that begin a turn of a user, a system or a tool in the templates of the families. The text of such a turn is not the
/// model's, whoever wrote it.
pub(super) const OF_OTHERS: &[&str] = &[
    "<|im_start|>user",
    "<|im_start|>system",
    "<|im_start|>tool",
    "<|im_user|>",
    "<|im_system|>",
    "<|start_header_id|>user",
    "<|start_header_id|>system",
    "<|start_header_id|>ipython",
    "<|header_start|>user",
    "<|header_start|>system",
    "<|header_start|>ipython",
    "<start_of_turn>user",
    "<|turn>user",
    "<|turn>system",
    "<|USER_TOKEN|>",
    "<|SYSTEM_TOKEN|>",
    "<|user|>",
    "<|system|>",
    "<｜User｜>",
];

/// The tokens that begin a turn of the model.
pub(super) const OF_MODEL: &[&str] = &[
    "<|im_start|>assistant",
    "<|im_assistant|>",
    "<|start_header_id|>assistant",
    "<|header_start|>assistant",
    "<start_of_turn>model",
    "<|turn>model",
    "<|CHATBOT_TOKEN|>",
    "<|assistant|>",
    "<｜Assistant｜>",
    "<|start|>assistant",
];

/// The marks that begin with this one.
pub(super) fn marks_of(open: &str) -> Option<&'static ResponseMarks> {
    RESPONSES.iter().find(|marks| marks.open == open)
}
