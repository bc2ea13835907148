//! The table of dialects: how each family of models writes its calls.
//!
//! A row names the dialects that have a form, the marks of the form, and the shared reader that reads it, with its spelling. The
//! first dialect of a row is the format that its calls are reported with. Where two rows share a mark, the first that can read what
//! follows wins: so the most specific come first.

use super::FormReader::{Functions, Gemma, Pairs, Section as InSection};
use super::{Form, between, json, messages, named, react};
use crate::json_calls::CallShape;
use crate::lenient::Notation;
use crate::read::arg_pairs::{self, PairStyle};
use crate::read::invoke::{self, PLAIN, TagStyle};
use crate::read::json_body::JsonBlock;
use crate::read::python;
use crate::read::section::{SectionHeader, SectionTokens};

/// The tags of `<invoke>` in a namespace, with these wrappers.
macro_rules! namespaced {
    ($space:literal $(, $wrap:literal)*) => {
        TagStyle {
            wraps: &[$(concat!("<", $space, $wrap, ">")),*],
            closes: &[$(concat!("</", $space, $wrap, ">")),*],
            call: concat!("<", $space, "invoke"),
            call_end: concat!("</", $space, "invoke>"),
            param: concat!("<", $space, "parameter"),
            param_end: concat!("</", $space, "parameter>"),
            ..PLAIN
        }
    };
}

pub(super) const JSON_BARE: &str = "json_bare";

/// `<function=name>`, in the tags of a call or without them.
const FUNCTION: TagStyle = TagStyle {
    wraps: &["<tool_call>"],
    closes: &["</tool_call>"],
    call: "<function",
    call_end: "</function>",
    lines: true,
    ..PLAIN
};
/// Dialects that write `<function=name>`.
const QWEN: &[&str] = &["qwen3_coder", "iquest_coder"];
const DSML: &[&str] = &["deepseek_dsml", "deepseek_dsml_v4", "deepseek_dsml_v41"];
const DSML_V4: &[&str] = &["deepseek_dsml_v4", "deepseek_dsml", "deepseek_dsml_v41"];
const DSML_V41: &[&str] = &["deepseek_dsml_v41", "deepseek_dsml", "deepseek_dsml_v4"];
const MISTRAL: &[&str] = &["mistral_json", "mistral_args"];

/// All dialects.
pub(crate) static ALL: &[Form] = &[
    // Hermes, Qwen, and the house format; other families write it, too.
    Form::json(
        &["hermes", "qwen3_coder", "glm45", "glm47", "hunyuan", "iquest_coder", "granite"],
        between(&["<tool_call>"], &["</tool_call>"]),
    ),
    Form::tags(QWEN, &["<tool_call>"], FUNCTION),
    Form::tags(&["qwen3_coder", "iquest_coder", "seed_oss", "llama3_json"], &["<function="], FUNCTION),
    Form::tags(&["qwen3_coder"], &["<function "], FUNCTION),
    // A call that begins with `<parameter=name>` in place of `<function=name>`.
    Form::own(&["qwen3_coder"], &["<tool_call>", "<parameter="], |cx, at| {
        Box::pin(invoke::by_parameter_tag(cx, at, &FUNCTION))
    }),
    Form::own(&["glm45", "glm47"], &["<tool_call>"], |cx, at| Box::pin(named::glm(cx, at))),
    // Version 4 has no separator, and each tag may have a suffix that is the same for all: `<tool_call:opensource>`.
    Form::new(
        &["hunyuan"],
        &["<tool_calls>", "<tool_calls:", "<tool_call>", "<tool_call:"],
        Pairs(PairStyle { wrap: "tool_calls", separator: "<tool_sep", ..PairStyle::of("tool_call", "") }),
    ),
    Form::leftover(&["hunyuan"], &["</tool_calls>"]),
    Form::own(&["hunyuan"], &["</tool_calls:"], |cx, at| Box::pin(arg_pairs::leftover(cx, at))),
    Form::json(&["longcat"], between(&["<longcat_tool_call>"], &["</longcat_tool_call>"])),
    Form::new(&["longcat"], &["<longcat_tool_call>"], Pairs(PairStyle::of("tool_call", "longcat_"))),
    Form::leftover(&["longcat"], &["</longcat_tool_call>"]),
    Form::tags(
        &["seed_oss"],
        &["<seed:tool_call>"],
        TagStyle { wraps: &["<seed:tool_call>"], closes: &["</seed:tool_call>"], ..FUNCTION },
    ),
    Form::tags(
        &["anthropic_xml"],
        &["<function_calls>", "<invoke"],
        TagStyle { wraps: &["<function_calls>"], closes: &["</function_calls>"], ..PLAIN },
    ),
    Form::tags(
        &["anthropic_xml"],
        &["<antml:function_calls>", "<antml:invoke"],
        namespaced!("antml:", "function_calls"),
    ),
    // Agents show the model `<tool_call>` as the tag of calls. The tag alone is that of others.
    Form::tags(
        &["minimax_m2"],
        &["<minimax:tool_call>", "<invoke", "<tool_call><invoke", "<tool_call>\n<invoke"],
        TagStyle {
            wraps: &["<minimax:tool_call>", "<tool_call>"],
            closes: &["</minimax:tool_call>", "</tool_call>"],
            ..PLAIN
        },
    ),
    Form::tags(
        &["minimax_m3"],
        &["]<]minimax[>[<tool_call>", "]<]minimax[>[<invoke"],
        TagStyle {
            wraps: &["]<]minimax[>[<tool_call>"],
            closes: &["]<]minimax[>[</tool_call>"],
            call: "]<]minimax[>[<invoke",
            call_end: "]<]minimax[>[</invoke>",
            elements: Some("]<]minimax[>["),
            ..PLAIN
        },
    ),
    Form::orphan(&["minimax_m3"], &["]<]minimax[>[</tool_call>", "]<]minimax[>[</invoke>"]),
    // V3 has the name on a line and the arguments in a fence; V3.1 has the name, a separator, and the arguments.
    Form::new(
        &["deepseek_v31", "deepseek_v3"],
        &["<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"],
        InSection(SectionTokens {
            opens: &["<｜tool▁calls▁begin｜>"],
            call: "<｜tool▁call▁begin｜>",
            separator: "<｜tool▁sep｜>",
            announces: &[],
            call_ends: &["<｜tool▁call▁end｜>"],
            closes: &["<｜tool▁calls▁end｜>"],
            header: |text, _| match text.trim() {
                "function" => SectionHeader::NameFollows { format: "deepseek_v3" },
                name => SectionHeader::Name { name: name.to_owned(), id: String::new() },
            },
        }),
    ),
    // DeepSeek V3.2, V4 and V4.1, which has a space before each name; and the token `｜DSML｜` in spellings that models use for it.
    Form::tags(
        DSML,
        &["<｜DSML｜function_calls>", "<｜DSML｜invoke"],
        TagStyle {
            // Models leave the opening tag out, so the other version's may follow.
            closes: &["</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"],
            sisters: &["<｜DSML｜ invoke"],
            ..namespaced!("｜DSML｜", "function_calls")
        },
    ),
    Form::tags(
        DSML_V4,
        &["<｜DSML｜tool_calls>"],
        TagStyle { sisters: &["<｜DSML｜ invoke"], ..namespaced!("｜DSML｜", "tool_calls") },
    ),
    Form::tags(
        DSML_V41,
        &["<｜DSML｜ calls>", "<｜DSML｜ tool_calls>", "<｜DSML｜ invoke"],
        TagStyle { sisters: &["<｜DSML｜invoke"], ..namespaced!("｜DSML｜ ", "calls", "tool_calls") },
    ),
    Form::tags(DSML_V4, &["<|DSML|"], namespaced!("|DSML|", "tool_calls", "function_calls")),
    Form::tags(DSML_V4, &["<‖DSML‖"], namespaced!("‖DSML‖", "tool_calls", "function_calls")),
    Form::tags(DSML_V4, &["<｜｜DSML｜｜"], namespaced!("｜｜DSML｜｜", "tool_calls", "function_calls")),
    Form::orphan(
        DSML,
        &[
            "</｜DSML｜parameter>",
            "</｜DSML｜invoke>",
            "</｜DSML｜function_calls>",
            "</｜DSML｜tool_calls>",
            "</｜DSML｜ parameter>",
            "</｜DSML｜ invoke>",
            "</｜DSML｜ calls>",
            "</｜DSML｜ tool_calls>",
        ],
    ),
    Form::new(
        &["kimi_k2"],
        &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>"],
        InSection(SectionTokens {
            opens: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
            call: "<|tool_call_begin|>",
            separator: "<|tool_call_argument_begin|>",
            announces: &[],
            call_ends: &["<|tool_call_end|>"],
            closes: &["<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
            header: named::kimi_header,
        }),
    ),
    Form::tags(
        &["kimi_k3"],
        &["<|open|>tools<|sep|>", "<|open|>call"],
        TagStyle {
            wraps: &["<|open|>tools<|sep|>"],
            closes: &["<|close|>tools<|sep|>"],
            call: "<|open|>call",
            call_end: "<|close|>call<|sep|>",
            param: "<|open|>argument",
            param_end: "<|close|>argument<|sep|>",
            tag_end: "<|sep|>",
            entities: true,
            ..PLAIN
        },
    ),
    // The marks around the answer are not part of it.
    Form::token(
        &["kimi_k3"],
        &["<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>", "<|end_of_msg|>"],
    ),
    Form::own(&["harmony", "muse"], &["<|start|>"], |cx, at| Box::pin(messages::harmony(cx, at))),
    Form::own(&["harmony"], &["<|channel|>"], |cx, at| Box::pin(messages::harmony(cx, at))),
    Form::own(&["harmony"], &["<|end|>"], |cx, at| Box::pin(messages::message_end(cx, at))),
    Form::token(&["harmony"], &["<|return|>", "<|call|>"]),
    Form::tags(&["muse"], &["<atem:function_calls>", "<atem:invoke"], namespaced!("atem:", "function_calls")),
    Form::token(&["muse"], &["<|eom|>"]),
    Form::own(&["mirothinker"], &["<use_mcp_tool>"], |cx, at| Box::pin(named::mirothinker(cx, at))),
    Form::leftover(&["mirothinker"], &["</use_mcp_tool>"]),
    Form::tags(
        &["minicpm5"],
        &["<function name="],
        TagStyle {
            call: "<function",
            call_end: "</function>",
            param: "<param",
            param_end: "</param>",
            xml: true,
            entities: true,
            ..PLAIN
        },
    ),
    Form::tags(
        &["dots"],
        &["<dots_function_call>"],
        TagStyle { wraps: &["<dots_function_call>"], closes: &["</dots_function_call>"], ..PLAIN },
    ),
    Form::json(&["dots"], between(&["<dots_function_call>"], &["</dots_function_call>"])),
    Form::own(&["inkling"], &["<|content_invoke_tool_json|>"], |cx, at| Box::pin(messages::inkling(cx, at))),
    Form::own(&["inkling"], &["<|message_model|>"], |cx, at| Box::pin(messages::inkling_header(cx, at))),
    Form::own(&["inkling"], &["<|content_thinking|>"], |cx, at| {
        Box::pin(messages::inkling_words(cx, at, true))
    }),
    Form::own(&["inkling"], &["<|content_text|>"], |cx, at| Box::pin(messages::inkling_words(cx, at, false))),
    Form::orphan(&["inkling"], &["<|content_model_end_sampling|>", "<|end_message|>"]),
    Form::json(
        &["gigachat3"],
        JsonBlock {
            next: &["<|message_sep|>"],
            ..between(&["function call<|role_sep|>", "<|function_call|>"], &[])
        },
    ),
    Form::token(&["gigachat3"], &["<|message_sep|>"]),
    Form::tags(
        &["gigachat35"],
        &["<｜GCML｜tool_calls>", "<｜GCML｜invoke"],
        namespaced!("｜GCML｜", "tool_calls", "function_calls"),
    ),
    Form::leftover(&["gigachat35"], &["</｜GCML｜tool_calls>", "<|message_sep|>"]),
    // The first version writes as Qwen3-Coder does.
    Form::new(
        &["iquest_coder"],
        &["<iquestcoder_tool_call>"],
        Pairs(PairStyle::of("iquestcoder_tool_call", "")),
    ),
    Form::new(&["iquest_coder"], &["<iquest_tool_call>"], Pairs(PairStyle::of("iquest_tool_call", ""))),
    Form::leftover(&["iquest_coder"], &["</iquestcoder_tool_call>", "</iquest_tool_call>"]),
    // The prompt chooses pairs, pairs with the type of each value, or JSON.
    Form::new(
        &["k2_horizon"],
        &["<ifm|tool_calls>", "<ifm|tool_call>"],
        Pairs(PairStyle { wrap: "tool_calls", ..PairStyle::of("tool_call", "ifm|") }),
    ),
    Form::json(
        &["k2_horizon"],
        JsonBlock {
            ends: &["</ifm|tool_calls>"],
            ..between(&["<ifm|tool_calls>", "<ifm|tool_call>"], &["</ifm|tool_call>"])
        },
    ),
    Form::leftover(&["k2_horizon"], &["</ifm|tool_calls>", "</ifm|tool_call>"]),
    // The arguments are JSON, which two more marks may announce.
    Form::new(
        &["plamo3"],
        &["<|plamo:begin_tool_requests:plamo|>", "<|plamo:begin_tool_request:plamo|>"],
        InSection(SectionTokens {
            opens: &["<|plamo:begin_tool_requests:plamo|>"],
            call: "<|plamo:begin_tool_request:plamo|>",
            separator: "<|plamo:begin_tool_arguments:plamo|>",
            announces: &["<|plamo:constrain|>json", "<|plamo:msg|>"],
            call_ends: &["<|plamo:end_tool_arguments:plamo|>", "<|plamo:end_tool_request:plamo|>"],
            closes: &["<|plamo:end_tool_requests:plamo|>"],
            // The name between its marks, of which one may be missing.
            header: |text, _| {
                let name = text.trim().trim_start_matches("<|plamo:begin_tool_name:plamo|>");
                let name = name.trim_end_matches("<|plamo:end_tool_name:plamo|>").trim();
                SectionHeader::Name { name: name.to_owned(), id: String::new() }
            },
        }),
    ),
    Form::leftover(&["plamo3"], &["<|plamo:end_tool_requests:plamo|>", "<|plamo:tag|>"]),
    Form::new(&["solar_open2"], &["<|tool_call:start|>"], Pairs(PairStyle::TOKENS)),
    Form::leftover(&["solar_open2"], &["<|tool_call:end|>", "<|im:end|>"]),
    Form::own(MISTRAL, &["[TOOL_CALLS]"], |cx, at| Box::pin(named::mistral(cx, at))),
    Form::json(MISTRAL, JsonBlock { ends: &["[/TOOL_CALLS]"], ..between(&["[TOOL_CALLS]"], &[]) }),
    Form::leftover(MISTRAL, &["[/TOOL_CALLS]"]),
    // `brave_search.call(query="…")` for a tool that is built in, or a list, as from Llama 3.2.
    Form::new(&["llama3_json"], &["<|python_tag|>"], Functions(&[])),
    Form::json(
        &["llama3_json"],
        JsonBlock { ends: &["<|eom_id|>", "<|eot_id|>"], ..between(&["<|python_tag|>"], &[]) },
    ),
    Form::json(&["cohere"], between(&["<|START_ACTION|>"], &["<|END_ACTION|>"])),
    // Its end is `<|/tool_call|>` in Phi-4, and nothing in Granite.
    Form::json(&["granite", "phi4"], between(&["<|tool_call|>"], &[])),
    Form::json(
        &["granite_20b_fc"],
        JsonBlock { ends: &["</function_call>"], ..between(&["<function_call>"], &[]) },
    ),
    Form::json(
        &["internlm"],
        JsonBlock { then: &["<|plugin|>"], ..between(&["<|action_start|>"], &["<|action_end|>"]) },
    ),
    Form::json(&["jamba"], between(&["<tool_calls>"], &["</tool_calls>"])),
    Form::json(&["nemotron"], between(&["<TOOLCALL>"], &["</TOOLCALL>"])),
    Form::json(
        &["apertus"],
        JsonBlock { shape: CallShape::Keyed, ..between(&["<|tools_prefix|>"], &["<|tools_suffix|>"]) },
    ),
    Form::new(&["functiongemma"], &["<start_function_call>"], Gemma(["<escape>", "<end_function_call>"])),
    Form::new(&["gemma4"], &["<|tool_call>"], Gemma(["<|\"|>", "<tool_call|>"])),
    Form::tags(
        &["step3"],
        &["<｜tool_calls_begin｜>", "<｜tool_call_begin｜>", "<steptml:invoke"],
        TagStyle {
            wraps: &[
                "<｜tool_calls_begin｜>",
                "<｜tool_call_begin｜>",
                "function<｜tool_sep｜>",
                "<｜tool_sep｜>",
                "<｜tool_call_end｜>",
            ],
            closes: &["<｜tool_calls_end｜>"],
            ..namespaced!("steptml:")
        },
    ),
    // The model writes JSON instead on request.
    Form::new(&["lfm2"], &["<|tool_call_start|>"], Functions(&["<|tool_call_end|>"])),
    Form::json(&["lfm2"], between(&["<|tool_call_start|>"], &["<|tool_call_end|>"])),
    Form::new(&["olmo3"], &["<function_calls>"], Functions(&["</function_calls>"])),
    Form::own(&["functionary_v32"], &[">>>"], |cx, at| Box::pin(named::functionary(cx, at))),
    Form::own(&["phi4"], &["functools["], |cx, at| Box::pin(json::functools(cx, at))),
    // The mark is a special token, which a server may have removed: what is left is a bare list.
    Form::json(&["sarashina"], JsonBlock { notation: Notation::Python, ..between(&["<|tool_calls|>"], &[]) }),
    Form::bare(&["sarashina"], &["["], begins_list, |cx, at| Box::pin(json::bare_list(cx, at))),
    Form::bare(&["json_fence"], &["```", "~~~"], |_| true, |cx, at| Box::pin(json::fenced(cx, at))).at_line(),
    Form::bare(
        &[JSON_BARE, "anthropic_xml", "llama3_json"],
        &["{"],
        |byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''),
        |cx, at| Box::pin(json::bare(cx, at)),
    ),
    Form::bare(&[JSON_BARE, "anthropic_xml", "llama3_json"], &["["], begins_list, |cx, at| {
        Box::pin(json::bare(cx, at))
    }),
    Form::new(&["pythonic"], &["<|python_start|>"], Functions(&["<|python_end|>"])),
    Form::bare(&["pythonic"], &["["], begins_name, |cx, at| Box::pin(python::bare(cx, at))),
    Form::bare(&["react"], &["Action:", "Action :"], |_| true, |cx, at| Box::pin(react::read(cx, at)))
        .at_line(),
];

/// Families that write the format of another one, by the names that servers give them.
pub(super) const SAME_AS: &[(&str, &str)] = &[
    ("berrylm", "qwen3_coder"),
    ("ling3", "glm45"),
    ("poolside_v1", "glm47"),
    ("spark25", "glm45"),
    ("spark3", "glm45"),
];

fn begins_list(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'{'
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}
