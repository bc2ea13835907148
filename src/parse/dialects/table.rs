//! The table of dialects: how each family of models writes its calls.
//!
//! A row names the marks of a form and the shared reader that reads it, with the spelling of that dialect. Where two forms share a
//! mark, the first that can read what follows wins: so the most specific come first, in a dialect and in the table.

use super::form::{CallDialect, Form, FormReader, between};
use super::{hermes, kimi_k2};
use crate::json_calls::CallShape;
use crate::notation::Notation;
use crate::read::arg_pairs::PairStyle;
use crate::read::invoke::{PLAIN, TagStyle};
use crate::read::json_body::JsonBlock;
use crate::read::section::{Section, SectionHeader};

/// The tags of `<invoke>` in a namespace, with these wrappers.
macro_rules! namespaced {
    ($format:literal, $space:literal $(, $wrap:literal)*) => {
        TagStyle {
            format: $format,
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

/// All dialects.
pub(crate) static ALL: &[CallDialect] = &[
    CallDialect { name: "hermes", forms: &[&HERMES] },
    CallDialect {
        name: "qwen3_coder",
        forms: &[
            &QWEN,
            &QWEN_FUNCTION,
            &Form::tags(&["<function "], FUNCTION),
            // A call that begins with `<parameter=name>` in place of `<function=name>`.
            &Form::new(&["<tool_call>", "<parameter="], FormReader::LostTag(FUNCTION)),
            &HERMES,
        ],
    },
    CallDialect { name: "glm45", forms: &[&GLM, &HERMES] },
    CallDialect { name: "glm47", forms: &[&GLM, &HERMES] },
    // Version 4 has no separator, and each tag may have a suffix that is the same for all: `<tool_call:opensource>`.
    CallDialect {
        name: "hunyuan",
        forms: &[
            &Form::new(
                &["<tool_calls>", "<tool_calls:", "<tool_call>", "<tool_call:"],
                FormReader::Pairs(PairStyle {
                    wrap: "tool_calls",
                    separator: "<tool_sep",
                    ..PairStyle::of("hunyuan", "tool_call", "")
                }),
            ),
            &Form::leftover(&["</tool_calls>"]),
            &Form::new(&["</tool_calls:"], FormReader::LeftoverTag),
            &HERMES,
        ],
    },
    CallDialect {
        name: "longcat",
        forms: &[
            &Form::json(between("longcat", &["<longcat_tool_call>"], &["</longcat_tool_call>"])),
            &Form::new(
                &["<longcat_tool_call>"],
                FormReader::Pairs(PairStyle::of("longcat", "tool_call", "longcat_")),
            ),
            &Form::leftover(&["</longcat_tool_call>"]),
        ],
    },
    CallDialect {
        name: "seed_oss",
        forms: &[
            &Form::tags(
                &["<seed:tool_call>"],
                TagStyle {
                    format: "seed_oss",
                    wraps: &["<seed:tool_call>"],
                    closes: &["</seed:tool_call>"],
                    ..FUNCTION
                },
            ),
            &QWEN_FUNCTION,
        ],
    },
    CallDialect {
        name: "anthropic_xml",
        forms: &[
            &Form::tags(
                &["<function_calls>", "<invoke"],
                TagStyle {
                    format: "anthropic_xml",
                    wraps: &["<function_calls>"],
                    closes: &["</function_calls>"],
                    ..PLAIN
                },
            ),
            &Form::tags(
                &["<antml:function_calls>", "<antml:invoke"],
                namespaced!("anthropic_xml", "antml:", "function_calls"),
            ),
            &BARE_OBJECT,
            &BARE_LIST,
        ],
    },
    CallDialect {
        name: "minimax_m2",
        forms: &[
            // Agents show the model `<tool_call>` as the tag of calls. The tag alone is that of others.
            &Form::tags(
                &["<minimax:tool_call>", "<invoke", "<tool_call><invoke", "<tool_call>\n<invoke"],
                TagStyle {
                    format: "minimax_m2",
                    wraps: &["<minimax:tool_call>", "<tool_call>"],
                    closes: &["</minimax:tool_call>", "</tool_call>"],
                    ..PLAIN
                },
            ),
        ],
    },
    CallDialect {
        name: "minimax_m3",
        forms: &[
            &Form::tags(
                &["]<]minimax[>[<tool_call>", "]<]minimax[>[<invoke"],
                TagStyle {
                    format: "minimax_m3",
                    wraps: &["]<]minimax[>[<tool_call>"],
                    closes: &["]<]minimax[>[</tool_call>"],
                    call: "]<]minimax[>[<invoke",
                    call_end: "]<]minimax[>[</invoke>",
                    elements: Some("]<]minimax[>["),
                    ..PLAIN
                },
            ),
            &Form::new(&["]<]minimax[>[</tool_call>", "]<]minimax[>[</invoke>"], FormReader::Orphan),
        ],
    },
    CallDialect { name: "deepseek_v3", forms: &[&DEEPSEEK] },
    CallDialect { name: "deepseek_v31", forms: &[&DEEPSEEK] },
    CallDialect { name: "deepseek_dsml", forms: DSML },
    CallDialect { name: "deepseek_dsml_v4", forms: DSML },
    CallDialect { name: "deepseek_dsml_v41", forms: DSML },
    CallDialect {
        name: "kimi_k2",
        forms: &[&Form::section(
            &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>"],
            Section {
                format: "kimi_k2",
                opens: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
                call: "<|tool_call_begin|>",
                separator: "<|tool_call_argument_begin|>",
                announces: &[],
                call_ends: &["<|tool_call_end|>"],
                closes: &["<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
                header: kimi_k2::header,
            },
        )],
    },
    CallDialect {
        name: "kimi_k3",
        forms: &[
            &Form::tags(
                &["<|open|>tools<|sep|>", "<|open|>call"],
                TagStyle {
                    format: "kimi_k3",
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
            // The marks around the answer are no part of it.
            &Form::new(
                &[
                    "<|open|>response<|sep|>",
                    "<|close|>response<|sep|>",
                    "<|close|>message<|sep|>",
                    "<|end_of_msg|>",
                ],
                FormReader::Token,
            ),
        ],
    },
    CallDialect { name: "harmony", forms: HARMONY },
    CallDialect {
        name: "muse",
        forms: &[
            &Form::tags(
                &["<atem:function_calls>", "<atem:invoke"],
                namespaced!("muse", "atem:", "function_calls"),
            ),
            &HARMONY_START,
            &Form::new(&["<|eom|>"], FormReader::Token),
        ],
    },
    CallDialect {
        name: "mirothinker",
        forms: &[
            &Form::new(&["<use_mcp_tool>"], FormReader::Mirothinker),
            &Form::leftover(&["</use_mcp_tool>"]),
        ],
    },
    CallDialect {
        name: "minicpm5",
        forms: &[&Form::tags(
            &["<function name="],
            TagStyle {
                format: "minicpm5",
                call: "<function",
                call_end: "</function>",
                param: "<param",
                param_end: "</param>",
                xml: true,
                entities: true,
                ..PLAIN
            },
        )],
    },
    CallDialect {
        name: "dots",
        forms: &[
            &Form::tags(
                &["<dots_function_call>"],
                TagStyle {
                    format: "dots",
                    wraps: &["<dots_function_call>"],
                    closes: &["</dots_function_call>"],
                    ..PLAIN
                },
            ),
            &Form::json(between("dots", &["<dots_function_call>"], &["</dots_function_call>"])),
        ],
    },
    CallDialect {
        name: "inkling",
        forms: &[
            &Form::new(&["<|content_invoke_tool_json|>"], FormReader::InklingCall),
            &Form::new(&["<|message_model|>"], FormReader::InklingHeader),
            &Form::new(&["<|content_thinking|>"], FormReader::InklingThought),
            &Form::new(&["<|content_text|>"], FormReader::InklingText),
            &Form::new(&["<|content_model_end_sampling|>", "<|end_message|>"], FormReader::Orphan),
        ],
    },
    CallDialect {
        name: "gigachat3",
        forms: &[
            &Form::json(JsonBlock {
                next: &["<|message_sep|>"],
                ..between("gigachat3", &["function call<|role_sep|>", "<|function_call|>"], &[])
            }),
            &Form::new(&["<|message_sep|>"], FormReader::Token),
        ],
    },
    CallDialect {
        name: "gigachat35",
        forms: &[
            &Form::tags(
                &["<｜GCML｜tool_calls>", "<｜GCML｜invoke"],
                namespaced!("gigachat35", "｜GCML｜", "tool_calls", "function_calls"),
            ),
            &Form::leftover(&["</｜GCML｜tool_calls>", "<|message_sep|>"]),
        ],
    },
    // The first version writes as Qwen3-Coder does.
    CallDialect {
        name: "iquest_coder",
        forms: &[
            &Form::new(
                &["<iquestcoder_tool_call>"],
                FormReader::Pairs(PairStyle::of("iquest_coder", "iquestcoder_tool_call", "")),
            ),
            &Form::new(
                &["<iquest_tool_call>"],
                FormReader::Pairs(PairStyle::of("iquest_coder", "iquest_tool_call", "")),
            ),
            &Form::leftover(&["</iquestcoder_tool_call>", "</iquest_tool_call>"]),
            &QWEN,
            &QWEN_FUNCTION,
            &HERMES,
        ],
    },
    // The prompt chooses pairs, pairs with the type of each value, or JSON.
    CallDialect {
        name: "k2_horizon",
        forms: &[
            &Form::new(
                &["<ifm|tool_calls>", "<ifm|tool_call>"],
                FormReader::Pairs(PairStyle {
                    wrap: "tool_calls",
                    ..PairStyle::of("k2_horizon", "tool_call", "ifm|")
                }),
            ),
            &Form::json(JsonBlock {
                ends: &["</ifm|tool_calls>"],
                ..between("k2_horizon", &["<ifm|tool_calls>", "<ifm|tool_call>"], &["</ifm|tool_call>"])
            }),
            &Form::leftover(&["</ifm|tool_calls>", "</ifm|tool_call>"]),
        ],
    },
    // The arguments are JSON, which two more marks may announce.
    CallDialect {
        name: "plamo3",
        forms: &[
            &Form::section(
                &["<|plamo:begin_tool_requests:plamo|>", "<|plamo:begin_tool_request:plamo|>"],
                Section {
                    format: "plamo3",
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
                        SectionHeader::Name { name: name.to_owned(), id: None, format: "plamo3" }
                    },
                },
            ),
            &Form::leftover(&["<|plamo:end_tool_requests:plamo|>", "<|plamo:tag|>"]),
        ],
    },
    CallDialect {
        name: "solar_open2",
        forms: &[
            &Form::new(&["<|tool_call:start|>"], FormReader::Pairs(PairStyle::TOKENS)),
            &Form::leftover(&["<|tool_call:end|>", "<|im:end|>"]),
        ],
    },
    CallDialect { name: "mistral_json", forms: MISTRAL },
    CallDialect { name: "mistral_args", forms: MISTRAL },
    CallDialect {
        name: "llama3_json",
        forms: &[
            // `brave_search.call(query="…")` for a tool that is built in, or a list, as from Llama 3.2.
            &Form::new(&["<|python_tag|>"], FormReader::Functions("llama3_json", &[])),
            &Form::json(JsonBlock {
                ends: &["<|eom_id|>", "<|eot_id|>"],
                ..between("llama3_json", &["<|python_tag|>"], &[])
            }),
            &QWEN_FUNCTION,
            &BARE_OBJECT,
            &BARE_LIST,
        ],
    },
    CallDialect {
        name: "cohere",
        forms: &[&Form::json(between("cohere", &["<|START_ACTION|>"], &["<|END_ACTION|>"]))],
    },
    CallDialect { name: "granite", forms: &[&GRANITE, &HERMES] },
    CallDialect {
        name: "granite_20b_fc",
        forms: &[&Form::json(JsonBlock {
            ends: &["</function_call>"],
            ..between("granite_20b_fc", &["<function_call>"], &[])
        })],
    },
    CallDialect {
        name: "internlm",
        forms: &[&Form::json(JsonBlock {
            then: &["<|plugin|>"],
            ..between("internlm", &["<|action_start|>"], &["<|action_end|>"])
        })],
    },
    CallDialect {
        name: "jamba",
        forms: &[&Form::json(between("jamba", &["<tool_calls>"], &["</tool_calls>"]))],
    },
    CallDialect {
        name: "nemotron",
        forms: &[&Form::json(between("nemotron", &["<TOOLCALL>"], &["</TOOLCALL>"]))],
    },
    CallDialect {
        name: "apertus",
        forms: &[&Form::json(JsonBlock {
            shape: CallShape::Keyed,
            ..between("apertus", &["<|tools_prefix|>"], &["<|tools_suffix|>"])
        })],
    },
    CallDialect {
        name: "functiongemma",
        forms: &[&Form::new(
            &["<start_function_call>"],
            FormReader::Gemma("functiongemma", "<escape>", "<end_function_call>"),
        )],
    },
    CallDialect {
        name: "gemma4",
        forms: &[&Form::new(&["<|tool_call>"], FormReader::Gemma("gemma4", "<|\"|>", "<tool_call|>"))],
    },
    CallDialect {
        name: "step3",
        forms: &[&Form::tags(
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
                ..namespaced!("step3", "steptml:")
            },
        )],
    },
    // The model writes JSON instead on request.
    CallDialect {
        name: "lfm2",
        forms: &[
            &Form::new(&["<|tool_call_start|>"], FormReader::Functions("lfm2", &["<|tool_call_end|>"])),
            &Form::json(between("lfm2", &["<|tool_call_start|>"], &["<|tool_call_end|>"])),
        ],
    },
    CallDialect {
        name: "olmo3",
        forms: &[&Form::new(&["<function_calls>"], FormReader::Functions("olmo3", &["</function_calls>"]))],
    },
    CallDialect { name: "functionary_v32", forms: &[&Form::new(&[">>>"], FormReader::Functionary)] },
    CallDialect { name: "phi4", forms: &[&Form::new(&["functools["], FormReader::Functools), &GRANITE] },
    // The mark is a special token, which a server may have removed: what is left is a bare list.
    CallDialect {
        name: "sarashina",
        forms: &[
            &Form::json(JsonBlock {
                notation: Notation::Python,
                ..between("sarashina", &["<|tool_calls|>"], &[])
            }),
            &Form { reader: FormReader::BareJson("sarashina"), ..BARE_LIST },
        ],
    },
    CallDialect {
        name: "json_fence",
        forms: &[&Form::weak(&["```", "~~~"], |_| true, FormReader::FencedJson).at_line()],
    },
    CallDialect { name: JSON_BARE, forms: &[&BARE_OBJECT, &BARE_LIST] },
    CallDialect {
        name: "pythonic",
        forms: &[
            &Form::new(&["<|python_start|>"], FormReader::Functions("pythonic", &["<|python_end|>"])),
            &Form::weak(&["["], begins_name, FormReader::BareFunctions),
        ],
    },
    CallDialect {
        name: "react",
        forms: &[&Form::weak(&["Action:", "Action :"], |_| true, FormReader::React).at_line()],
    },
];

/// Families that write the format of another one, by the names that servers give them.
pub(super) const SAME_AS: &[(&str, &str)] = &[
    ("berrylm", "qwen3_coder"),
    ("ling3", "glm45"),
    ("poolside_v1", "glm47"),
    ("spark25", "glm45"),
    ("spark3", "glm45"),
];

pub(crate) const JSON_BARE: &str = "json_bare";

/// Hermes, Qwen, and the house format; other families write it, too.
static HERMES: Form = Form::json(hermes::BLOCK);
static GLM: Form = Form::new(&["<tool_call>"], FormReader::Glm);
static QWEN: Form = Form::tags(&["<tool_call>"], FUNCTION);
static QWEN_FUNCTION: Form = Form::tags(&["<function="], FUNCTION);
/// Its end is `<|/tool_call|>` in Phi-4, and nothing in Granite.
static GRANITE: Form = Form::json(between("granite", &["<|tool_call|>"], &[]));

const FUNCTION: TagStyle = TagStyle {
    format: "qwen3_coder",
    wraps: &["<tool_call>"],
    closes: &["</tool_call>"],
    call: "<function",
    call_end: "</function>",
    lines: true,
    ..PLAIN
};

static BARE_OBJECT: Form = Form::weak(
    &["{"],
    |byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''),
    FormReader::BareJson(JSON_BARE),
);
static BARE_LIST: Form =
    Form::weak(&["["], |byte| byte.is_ascii_whitespace() || byte == b'{', FormReader::BareJson(JSON_BARE));

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// V3 has the name on a line and the arguments in a fence; V3.1 has the name, a separator, and the arguments.
static DEEPSEEK: Form = Form::section(
    &["<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"],
    Section {
        format: "deepseek_v31",
        opens: &["<｜tool▁calls▁begin｜>"],
        call: "<｜tool▁call▁begin｜>",
        separator: "<｜tool▁sep｜>",
        announces: &[],
        call_ends: &["<｜tool▁call▁end｜>"],
        closes: &["<｜tool▁calls▁end｜>"],
        header: |text, _| match text.trim() {
            "function" => SectionHeader::NameFollows { format: "deepseek_v3" },
            name => SectionHeader::Name { name: name.to_owned(), id: None, format: "deepseek_v31" },
        },
    },
);

/// DeepSeek V3.2, V4 and V4.1, which has a space before each name; and the token `｜DSML｜` in spellings that models use for it.
static DSML: &[&Form] = &[
    &Form::tags(
        &["<｜DSML｜function_calls>", "<｜DSML｜invoke"],
        TagStyle {
            // Models leave the opening tag out, so the other version's may follow.
            closes: &["</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"],
            sisters: &["<｜DSML｜ invoke"],
            ..namespaced!("deepseek_dsml", "｜DSML｜", "function_calls")
        },
    ),
    &Form::tags(
        &["<｜DSML｜tool_calls>"],
        TagStyle {
            sisters: &["<｜DSML｜ invoke"],
            ..namespaced!("deepseek_dsml_v4", "｜DSML｜", "tool_calls")
        },
    ),
    &Form::tags(
        &["<｜DSML｜ calls>", "<｜DSML｜ tool_calls>", "<｜DSML｜ invoke"],
        TagStyle {
            sisters: &["<｜DSML｜invoke"],
            ..namespaced!("deepseek_dsml_v41", "｜DSML｜ ", "calls", "tool_calls")
        },
    ),
    &Form::tags(&["<|DSML|"], namespaced!("deepseek_dsml_v4", "|DSML|", "tool_calls", "function_calls")),
    &Form::tags(&["<‖DSML‖"], namespaced!("deepseek_dsml_v4", "‖DSML‖", "tool_calls", "function_calls")),
    &Form::tags(
        &["<｜｜DSML｜｜"],
        namespaced!("deepseek_dsml_v4", "｜｜DSML｜｜", "tool_calls", "function_calls"),
    ),
    &Form::new(
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
        FormReader::Orphan,
    ),
];

static HARMONY_START: Form = Form::new(&["<|start|>"], FormReader::Harmony);
pub(super) static HARMONY: &[&Form] = &[
    &HARMONY_START,
    &Form::new(&["<|channel|>"], FormReader::Harmony),
    &Form::new(&["<|end|>"], FormReader::HarmonyEnd),
    &Form::new(&["<|return|>", "<|call|>"], FormReader::Token),
];

static MISTRAL: &[&Form] = &[
    &Form::new(&["[TOOL_CALLS]"], FormReader::MistralName),
    &Form::json(JsonBlock { ends: &["[/TOOL_CALLS]"], ..between("mistral_json", &["[TOOL_CALLS]"], &[]) }),
    &Form::leftover(&["[/TOOL_CALLS]"]),
];
