//! The whole prompt: the user's text, the tools, and how to call them.

use super::budget::{BudgetedPage, Count};
use super::clean::shown_name;
use super::entry::PromptEntry;
use super::skills::section;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use toolhub_registry::ShownTexts;
use toolhub_types::model::{Lang, ToolSpec};

/// The initial capacity of an entry: enough for most.
const ENTRY: usize = 1 << 10;

toolhub_types::named! {
    /// How much the prompt says about each tool.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum PromptStyle {
        Names = "names",
        Compact = "compact",
        Detailed = "detailed",
    }
}

/// The content of a prompt.
pub struct PromptPage<'a> {
    /// The user's own prompt, which comes first.
    pub base: &'a str,
    /// Most relevant first.
    pub tools: &'a [PromptTool<'a>],
    /// Skills have a section of their own.
    pub skills: &'a [&'a ToolSpec],
    /// The number of other tools that can be called.
    pub more: usize,
    pub style: PromptStyle,
    pub lang: Lang,
}

/// A tool in the prompt.
#[derive(Clone, Copy)]
pub struct PromptTool<'a> {
    pub spec: &'a ToolSpec,
    pub shown: &'a ShownTexts,
}

/// Where each kind of entry ends, in the order of the tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetailLevels {
    pub detailed: usize,
    pub compact: usize,
    pub named: usize,
}

impl DetailLevels {
    pub fn all(style: PromptStyle, tools: usize) -> Self {
        DetailLevels {
            detailed: if style == PromptStyle::Detailed { tools } else { 0 },
            compact: if style == PromptStyle::Names { 0 } else { tools },
            named: tools,
        }
    }

    pub fn named(named: usize) -> Self {
        DetailLevels { detailed: 0, compact: 0, named }
    }
}

impl PromptPage<'_> {
    pub fn assemble(&self, names: &[Cow<'_, str>], detail: &DetailLevels, catalogue: &str) -> String {
        let mut out = String::with_capacity(self.base.len() + 1024 + 600 * detail.detailed);
        self.open(&mut out, detail.detailed > 0);
        for (at, (tool, name)) in self.tools.iter().zip(names).take(detail.compact).enumerate() {
            let style = if at < detail.detailed { PromptStyle::Detailed } else { PromptStyle::Compact };
            let way = 2 * usize::from(style == PromptStyle::Detailed) + usize::from(self.lang == Lang::Zh);
            let entry = tool.shown.get_or_init(Arc::default)[way].get_or_init(|| {
                let mut text = String::with_capacity(ENTRY);
                let entry = PromptEntry::new(tool.spec, name, self.lang);
                match style {
                    PromptStyle::Detailed => entry.detailed(&mut text),
                    _ => entry.compact(&mut text),
                }
                text.into()
            });
            let _ = match style {
                PromptStyle::Detailed => writeln!(out, "{}. {entry}", at + 1),
                _ => out.write_str(entry),
            };
        }
        if detail.compact > detail.detailed {
            out.push('\n');
        }
        if detail.named > detail.compact {
            if detail.compact > 0 {
                out.push_str(self.lang.pick("Also: ", "其他工具："));
            }
            for (at, name) in names[detail.compact..detail.named].iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                out.push_str(name);
            }
            out.push_str("\n\n");
        }
        self.close(&mut out, self.tools.len() - detail.named + self.more, catalogue);
        out
    }

    fn open(&self, out: &mut String, in_detail: bool) {
        let base = self.base.trim_end();
        if !base.is_empty() {
            out.push_str(base);
            out.push_str("\n\n");
        }
        if self.tools.is_empty() {
            return;
        }
        out.push_str(match (in_detail, self.lang) {
            (true, Lang::En) => "## 🔧 Available Tools (Detailed Information)\n\n",
            (false, Lang::En) => "## 🔧 Available Tools\n\n",
            (true, Lang::Zh) => "## 🔧 可用工具（详细信息）\n\n",
            (false, Lang::Zh) => "## 🔧 可用工具\n\n",
        });
    }

    fn close(&self, out: &mut String, more: usize, catalogue: &str) {
        // Those that no section mentions.
        let hidden = if catalogue.is_empty() { self.skills.len() } else { 0 };
        let (more, total) = (more + hidden, self.tools.len() + self.more + hidden);
        let _ = match (more, self.lang) {
            (0, _) => Ok(()),
            (1, Lang::En) => write!(out, "(1 more tool can be called by name)\n\n"),
            (_, Lang::En) => write!(out, "({more} more tools can be called by name)\n\n"),
            (_, Lang::Zh) => write!(out, "(还有 {more} 个其他工具，可通过工具名称直接调用)\n\n"),
        };
        let _ = match (total, self.lang) {
            (0, _) => Ok(()),
            (1, Lang::En) => write!(out, "**You have 1 tool available.**\n\n"),
            (_, Lang::En) => write!(out, "**You have {total} tools available.**\n\n"),
            (_, Lang::Zh) => write!(out, "**你有 {total} 个可用工具。**\n\n"),
        };
        out.push_str(catalogue);
        out.push_str(self.lang.pick(PROTOCOL_EN, PROTOCOL_ZH));
    }
}

/// Renders the prompt. With a budget, the first tools keep the most detail; the error is for one that is too small. Without
/// tools it is the base alone.
pub fn render(page: &PromptPage<'_>, budget: Option<(usize, Count<'_>)>) -> Result<String, String> {
    if page.tools.is_empty() && page.skills.is_empty() && page.more == 0 {
        return Ok(page.base.to_owned());
    }
    let names: Vec<Cow<'_, str>> = page.tools.iter().map(|tool| shown_name(&tool.spec.name)).collect();
    let Some((budget, count)) = budget else {
        let skills = section(page.skills, page.style, page.lang);
        return Ok(page.assemble(&names, &DetailLevels::all(page.style, names.len()), &skills));
    };
    BudgetedPage { page, names: &names, budget, count }.render()
}

/// Longer prompts are not kept: they are rarely sent to a model.
const MAX_BYTES: usize = 4 << 20;

/// The last prompt with all tools: a chat loop asks for the same one at every turn.
#[derive(Default)]
pub struct PromptCache(Mutex<Option<(PromptKey, Arc<str>)>>);

/// Everything that a prompt with all tools depends on.
#[derive(PartialEq)]
pub struct PromptKey {
    /// The version of the registry.
    pub version: u64,
    pub core: Vec<String>,
    pub style: PromptStyle,
    pub lang: Lang,
}

impl PromptCache {
    /// The prompt with all tools, rendered by `write` if it is not the last one.
    pub fn whole<E>(&self, key: PromptKey, write: impl FnOnce() -> Result<String, E>) -> Result<Arc<str>, E> {
        if let Some((last, text)) = &*self.0.lock()
            && *last == key
        {
            return Ok(text.clone());
        }
        let text: Arc<str> = write()?.into();
        if text.len() <= MAX_BYTES {
            *self.0.lock() = Some((key, text.clone()));
        }
        Ok(text)
    }
}

const PROTOCOL_EN: &str = r#"## How to call a tool

<tool_call>
{"id": "call_001", "tool_name": "name_of_the_tool", "arguments": {"parameter": "value"}}
</tool_call>

- Write one <tool_call> block for each call, with JSON inside and nothing else. Several calls that do not depend on each other may stand in one message; give each its own `id`.
- `tool_name` is the name of a tool exactly as it is listed, `arguments` a JSON object with its parameters. Give every required parameter; leave optional ones out when you do not need them.
- Do NOT give a `source`: where a tool comes from is found out for you.
- After your calls, stop and wait. The results come in the next message, between <tool_result> and </tool_result>; never write them yourself.
- When no tool is needed, answer without a call."#;

const PROTOCOL_ZH: &str = r#"## 如何调用工具

<tool_call>
{"id": "call_001", "tool_name": "工具名称", "arguments": {"参数名": "值"}}
</tool_call>

- 每次调用写一个 <tool_call> 块，块内只写 JSON。互不依赖的多个调用可以写在同一条消息里，每个调用使用各自的 `id`。
- `tool_name` 必须与上面列出的工具名称完全一致，`arguments` 是包含参数的 JSON 对象。必须给出所有必需参数；不需要的可选参数可以省略。
- 不要提供 `source`：工具的来源会自动确定。
- 写完调用后请停止并等待。结果会在下一条消息中出现，位于 <tool_result> 和 </tool_result> 之间；不要自己编写结果。
- 不需要工具时，直接回答。"#;
