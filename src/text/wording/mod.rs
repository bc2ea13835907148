//! L0, the hub's own sentences in other languages.
//!
//! Code writes every sentence in English. [`row_of`] finds the Chinese of one by its template, in one table; texts that are not in
//! the table, such as a tool's own error, stay as they are. Notices for operators are English only. Tests hold that every template
//! of the code has a row, and that the code uses every row.

mod agents;
mod arguments;
mod gateway;
mod inspector;
mod ledger;
mod servers;

pub use inspector::PAGE;

/// A template in English and in Chinese, where its places are numbered. In English `{}` is any value, and `{~}` a text that may be
/// a sentence of the table; either is found as `{}`. Searched from its start: it is read for Chinese only, and has no lock that a
/// fork could leave taken.
pub fn row_of(template: &str) -> Option<(&'static str, &'static str)> {
    let is_same = |english: &str| english.len() >= template.len() && english.replace("{~}", "{}") == template;
    templates().find(|(english, _)| is_same(english)).copied()
}

/// All templates but those of the page.
fn templates() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let own = [
        HUB,
        arguments::ARGUMENTS,
        ledger::LEDGER,
        servers::SERVERS,
        gateway::GATEWAY,
        inspector::INSPECTOR,
        agents::AGENTS,
    ];
    own.into_iter().flatten()
}

const HUB: &[(&str, &str)] = &[
    ("'{}': {~}.", "'{0}'：{1}。"),
    (
        "{~} (tool '{}' on server '{}' may have run: the outcome is unknown)",
        "{0}（服务器 '{2}' 上的工具 '{1}' 可能已经执行：结果未知）",
    ),
    // The hub
    ("The hub is closed; make a new ToolHub.", "hub 已关闭；请新建一个 ToolHub。"),
    ("Cancelled.", "已取消。"),
    // No candidate
    ("{~} Some servers could not be asked: {}.", "{0}部分服务器无法查询：{1}。"),
    ("There is no tool named '{}'. Did you mean {}?", "没有名为 '{0}' 的工具。是否想用 {1}？"),
    ("There is no tool named '{}'. No tool is registered yet.", "没有名为 '{0}' 的工具。尚未注册任何工具。"),
    ("There is no tool named '{}'.", "没有名为 '{0}' 的工具。"),
    ("No tool has the capability '{}'. Known capabilities: {~}.", "没有工具具备能力 '{0}'。已知能力：{1}。"),
    ("Tool '{}' is not offered by {~}; it is offered by: {}.", "{1} 不提供工具 '{0}'；提供它的是：{2}。"),
    (
        "Tool '{}' of {} has the name of a native tool, and this hub forbids that (shadow=\"deny\").",
        "{1} 的工具 '{0}' 与本地工具同名，而此 hub 禁止这样做（shadow=\"deny\"）。",
    ),
    (
        "'{}' is not for models; only the program calls it, by its name.",
        "'{0}' 不供模型调用；只有程序可以按名称调用它。",
    ),
    ("There is no server '{}'. Known servers: {~}.", "没有服务器 '{0}'。已知服务器：{1}。"),
    ("none", "无"),
    ("{}, and {} more", "{0}，另有 {1} 个"),
    ("server '{}'", "服务器 '{0}'"),
    ("source '{}'", "来源 '{0}'"),
    ("any source", "任何来源"),
    // Permission
    (
        "Tool '{}' was not called: '{}', called earlier in the same message, {~}. Make the call again if it is still wanted.",
        "未调用工具 '{0}'：同一条消息中先于它调用的 '{1}' {2}。如果仍然需要，请再次调用。",
    ),
    (
        "Tool '{}' was not called: the call is inside other text or lacks its marker, so it may not be intended. To make it, say \
         the call alone, in the format for tool calls, with nothing after it.",
        "未调用工具 '{0}'：该调用夹在其他文字中，或没有标记，可能并非本意。如要调用，请按工具调用格式单独写出该调用，其后不要再写任何内容。",
    ),
    ("waits for a decision", "正在等待决定"),
    ("was refused", "被拒绝"),
    ("may have run (outcome unknown)", "可能已经运行，情况不明"),
    ("Tool '{}' was not called: {~}.", "未调用工具 '{0}'：{1}。"),
    ("it is not among the tools that are allowed here", "它不在此处允许的工具之列"),
    ("it was not approved within {} s", "在 {0} 秒内未获批准"),
    ("it was not approved: {}", "未获批准：{0}"),
    ("it was not approved", "未获批准"),
    ("approve must answer True, False or None, got {}", "approve 必须回答 True、False 或 None，得到的是 {0}"),
    ("asking for approval failed ({})", "请求批准失败（{0}）"),
    // Time and limits
    ("the store, which other processes keep locked", "被其他进程锁定的存储"),
    ("it was not started: other processes keep the store locked", "未启动：存储被其他进程锁定"),
    ("a concurrency slot or connection", "并发名额或连接"),
    ("a concurrency slot or thread", "并发名额或线程"),
    (
        "Tool '{}' timed out after {} s (it may still have run).",
        "工具 '{0}' 在 {1} 秒后超时（可能已经执行）。",
    ),
    ("'{}' did not end within its deadline of {} s ({~}).", "'{0}' 未在 {1} 秒的期限内结束（{2}）。"),
    ("'{}' was ended because the hub was closed ({~}).", "hub 已关闭，'{0}' 因此被终止（{1}）。"),
    ("it may still have run", "可能已经执行"),
    ("it was not started", "未启动"),
    (
        "'{}' was not found within the deadline of {} s (nothing was started).",
        "在 {1} 秒的期限内没有找到 '{0}'（未启动任何操作）。",
    ),
    (
        "Tool '{}' is overloaded: too many calls wait for a free slot; try again later.",
        "工具 '{0}' 过载：等待空闲名额的调用太多；请稍后再试。",
    ),
    ("Tool '{}' was not started: {~}; try again later.", "未启动工具 '{0}'：{1}；请稍后再试。"),
    (
        "{} abandoned calls of sync tools still run, some of them of this tool",
        "{0} 个已放弃的同步工具调用仍在运行，其中有此工具的调用",
    ),
    (
        "all {} threads for sync tools are taken by abandoned calls and calls that wait for other tools",
        "同步工具的全部 {0} 个线程都被已放弃的调用或等待其他工具的调用占用",
    ),
    ("Tool '{}' did not return: the thread of this call ended.", "工具 '{0}' 没有返回：此调用的线程已结束。"),
    ("The call of '{}' was cancelled.", "对 '{0}' 的调用已取消。"),
    ("Tool '{}' was cancelled from outside.", "工具 '{0}' 被外部取消。"),
    ("Tool '{}' was cancelled.", "工具 '{0}' 已取消。"),
    ("Tool '{}' was ended because serving has ended.", "服务已停止，工具 '{0}' 的调用随之结束。"),
    (
        "Tool '{}' lives in Python and can only be called from Python.",
        "工具 '{0}' 是 Python 工具，只能从 Python 调用。",
    ),
    ("The caller of this tool cannot be asked.", "无法向此工具的调用方提问。"),
    ("Cancelled while waiting for a free slot.", "在等待空闲名额时被取消。"),
    // The call of a model cannot be read
    ("Malformed call: text continues after the closing bracket.", "调用格式错误：右括号之后还有文本。"),
    ("The call cannot be read: {~}.", "无法读取此调用：{0}。"),
    ("The arguments cannot be read: {~}.", "无法读取参数：{0}。"),
    ("The name of the tool cannot be read: {~}.", "无法读取工具名称：{0}。"),
    ("The arguments must be an object, but are {~}.", "参数必须是对象，但给出的是{0}。"),
    ("there is no JSON object", "其中没有 JSON 对象"),
    ("the text ends before the value does", "文本在值结束之前就结束了"),
    ("the text ends before its arguments", "文本在参数之前就结束了"),
    ("the text ends before its parameters", "文本在参数之前就结束了"),
    ("the text ends before they do", "文本在参数结束之前就结束了"),
    ("the answer was cut off before its end", "回答在此调用结束之前被截断了"),
    ("a list", "列表"),
    ("a text", "文本"),
    // The tool failed
    ("No candidate of '{}' gave an answer.", "'{0}' 的候选者都没有给出回答。"),
    ("Tool '{}' raised {}: {}", "工具 '{0}' 抛出 {1}：{2}"),
    ("Tool '{}' raised {}.", "工具 '{0}' 抛出 {1}。"),
    ("Tool '{}' failed: {~}", "工具 '{0}' 失败：{1}"),
    ("it reported success: False without an error", "它报告 success: False，但没有给出错误"),
    ("it returned nothing (None)", "它没有返回任何内容（None）"),
    (
        "it returned a coroutine instead of a value; await it inside",
        "它返回了协程而不是值；请在函数内部 await",
    ),
    ("Tool '{}' reported an error without saying which.", "工具 '{0}' 报告了错误，但没有说明原因。"),
    ("Internal error: the tool panicked.", "内部错误：工具崩溃。"),
    // The request
    (
        "The call names no tool: expected 'tool_name' as text, got {}.",
        "调用没有指明工具：应有文本 'tool_name'，实际为 {0}。",
    ),
    (
        "The source of a call must be text (a server's id, 'tools', 'skills' or 'mcps') or be left out, got {}.",
        "调用的来源必须是文本（服务器 id、'tools'、'skills' 或 'mcps'）或者省略，实际为 {0}。",
    ),
    // Arguments
    ("Invalid arguments for '{}': {}.", "'{0}' 的参数无效：{1}。"),
    ("Invalid arguments for '{}': {}", "'{0}' 的参数无效：{1}"),
    ("and {} more", "另有 {0} 处"),
    ("expected named arguments ({}), got {~}", "应为具名参数（{0}），实际为{1}"),
    ("expected named arguments", "应为具名参数"),
    ("the arguments are nested too deeply, or cyclic", "参数嵌套过深或有循环"),
    (
        "the arguments do not fit, and finding out where would take too long",
        "有内容不符合要求，但找出位置代价过高",
    ),
    ("expected {}, got {~}", "应为{0}，实际为 {1}"),
    ("an integer", "整数"),
    ("a number", "数字"),
    ("a string", "字符串"),
    ("true or false", "true 或 false"),
    ("an array", "数组"),
    ("an object", "对象"),
    ("a value", "一个值"),
    ("a date and time such as '{}'", "日期时间（如 '{0}'）"),
    ("a date such as '{}'", "日期（如 '{0}'）"),
    ("a time such as '{}'", "时间（如 '{0}'）"),
    ("a duration such as '{}'", "时长（如 '{0}'）"),
    ("a UUID", "UUID"),
    ("a path", "路径"),
    ("a URL", "URL"),
    ("one of these: {}", "以下之一：{0}"),
    ("one of {}", "以下之一：{0}"),
    ("a value of at least {}", "不小于 {0} 的值"),
    ("a value of at most {}", "不大于 {0} 的值"),
    ("a value greater than {}", "大于 {0} 的值"),
    ("a value less than {}", "小于 {0} 的值"),
    ("a multiple of {}", "{0} 的倍数"),
    ("a string that matches {}", "匹配 {0} 的字符串"),
    ("items that all differ", "互不相同的项"),
    ("another value", "另一个值"),
    ("anything but {}", "除 {0} 以外的值"),
    ("a string in the format {}", "格式为 {0} 的字符串"),
    ("an object without unknown keys", "没有未知键的对象"),
    ("a string (hidden)", "字符串（已隐藏）"),
    ("a number (hidden)", "数字（已隐藏）"),
    ("{} (string of {} characters)", "{0}（{1} 个字符的字符串）"),
    ("{} (string)", "{0}（字符串）"),
    ("{} (integer)", "{0}（整数）"),
    ("{} (number)", "{0}（数字）"),
    ("{} (boolean)", "{0}（布尔值）"),
    ("an integer of {} digits", "{0} 位的整数"),
    ("a Python object of type {}", "类型为 {0} 的 Python 对象"),
    // Frames of results, written in Python
    ("[more: {}('{}', {}), {} characters in all]", "[更多内容：{0}('{1}', {2})，共 {3} 个字符]"),
    ("[more: {}('{}', {}), {} characters left]", "[更多内容：{0}('{1}', {2})，还剩 {3} 个字符]"),
    ("[end: the text has only {} characters]", "[结束：全文共 {0} 个字符，其后没有更多内容]"),
    (
        "There is no stored result '{}'; newer results may have replaced it. Call the tool again.",
        "没有保留结果 '{0}'；它可能已被较新的结果取代。请重新调用工具。",
    ),
    // Synthesis
    ("the deadline left no time to ask the model", "期限内没有时间询问模型"),
    ("the model gave an empty answer", "模型给出了空的回答"),
    ("the model did not answer within {} s", "模型未在 {0} 秒内回答"),
    ("the model failed: {}: {~}", "模型失败：{0}：{1}"),
    // Explanations
    (
        "It is not listed yet: one server has not listed its tools ({}).",
        "它尚未列出：有一个服务器尚未列出其工具（{0}）。",
    ),
    (
        "It is not listed yet: these servers have not listed their tools ({}).",
        "它尚未列出：这些服务器尚未列出其工具（{0}）。",
    ),
    (
        "Before the call, these servers are asked for their tools, because their list is missing or old: {}.",
        "在得出这个结论之前，会先询问工具列表缺失或过旧的服务器：{0}。",
    ),
    (
        "Different tools have this name. It means {}; also: {}.",
        "不同的工具使用这个名称。它指 {0}；另有：{1}。",
    ),
    (
        "Different tools are named '{}': {}. Name one, or its `server`.",
        "不同的工具使用名称 '{0}'：{1}。请给出其中一个名称，或它的 `server`。",
    ),
    ("Candidates, in order:", "候选者（按顺序）："),
    ("     and {} more rules are not checked", "     另有 {0} 条规则未检查"),
    ("     #{} is not checked: {}", "     #{0} 未检查：{1}"),
    ("priority {}", "优先级 {0}"),
    ("not called yet", "尚未调用"),
    ("{} of {} calls succeeded in about {} ms", "{1} 次调用中成功 {0} 次，约 {2} 毫秒"),
    ("{} of {} calls succeeded", "{1} 次调用中成功 {0} 次"),
    ("rests after failures", "因失败而暂停"),
    ("has rested after failures", "因失败暂停后恢复"),
    ("the next call is a probe", "下一次调用为试探"),
    ("server connected", "服务器已连接"),
    ("server connecting", "服务器正在连接"),
    ("server {}: the call connects it", "服务器状态 {0}：调用时会连接"),
    ("harmless: {~}", "无副作用：{0}"),
    ("unknown effects: {~}", "副作用未知：{0}"),
    ("may act: {~}", "可能有副作用：{0}"),
    ("declared at registration", "注册时声明"),
    ("declared by the server option `{}`", "由服务器选项 `{0}` 声明"),
    ("annotated `{}`", "注解为 `{0}`"),
    ("its hint `{}` is neither true nor false", "提示 `{0}` 既不是 true 也不是 false"),
    ("its name contains the acting verb '{}'", "名称含有动作动词 '{0}'"),
    ("its name has the reading verb '{}'", "名称含有读取动词 '{0}'"),
    ("declared with the reading capability '{}'", "声明了读取类能力 '{0}'"),
    ("the word '{}' in its name may be what it does", "名称中的 '{0}' 可能就是它要做的事"),
    ("its name may have another verb after '{}'", "名称在 '{0}' 之后可能还有别的动词"),
    ("its description has the acting verb '{}'", "描述中含有动作动词 '{0}'"),
    ("its parameters name '{}', which may ask for a change", "参数中的 '{0}' 可能要求改变什么"),
    ("the word '{}' in its name may be a noun", "名称中的 '{0}' 可能是名词"),
    ("its server is not trusted, so only your own word counts", "其服务器不受信任，只认您自己的声明"),
    ("it only returns instructions", "它只返回说明"),
    ("nothing shows whether it changes anything", "没有迹象表明它是否会改变什么"),
    (
        "Approval: not needed; every candidate is known to be harmless.",
        "批准：不需要；已知每个候选者都无副作用。",
    ),
    (
        "Approval: only if the call has `approve`; {} is not known to be harmless.",
        "批准：仅当调用带有 `approve` 时；无法确定 {0} 无副作用。",
    ),
    ("Approval: asks {~}; {} is not known to be harmless.", "批准：询问 {0}；无法确定 {1} 无副作用。"),
    ("{~}, then {}", "{0}，然后 {1}"),
    ("Strategy: {} ({~}), because {~}.", "策略：{0}（{1}），因为{2}。"),
    ("Strategy: {}, because {~}.", "策略：{0}，因为{1}。"),
    ("With more candidates: {}, because {~}.", "如有更多候选者：{0}，因为{1}。"),
    ("the hub decides", "由 hub 决定"),
    ("they race, the first success wins", "同时运行，先成功者胜出"),
    ("they run side by side, the successes are merged", "并行运行，合并成功的结果"),
    ("one after another, until one succeeds", "依次尝试，直到成功"),
    ("there is one candidate", "只有一个候选者"),
    ("the tool has effects, so its candidates never run at once", "工具有副作用，其候选者从不同时运行"),
    (
        "the effects of a server's tool are unknown, so its candidates never run at once unless its server has \
         assume_read_only",
        "服务器工具的副作用未知，其候选者从不同时运行，除非该服务器设有 assume_read_only",
    ),
    ("a candidate's server is not trusted, so it never races", "某个候选者的服务器不受信任，因此不参与竞速"),
    ("calculation and time tools agree, so the fastest answer wins", "计算和时间工具的回答一致，最快者胜出"),
    ("search and extraction tools complement each other", "搜索和提取工具互相补充"),
    ("there are two candidates", "有两个候选者"),
    ("there are several candidates of one kind", "有多个同类候选者"),
    ("MCP servers are preferred to native tools and skills", "MCP 服务器优先于本地工具和技能"),
    (
        "the first match answers a model's call, and the others are its fallback",
        "模型的调用由首个匹配者回答，其余为后备",
    ),
    ("the tool was registered with this strategy", "工具注册时指定了此策略"),
    ("the hub has this strategy for '{}'", "hub 为 '{0}' 指定了此策略"),
    ("the caller asked for it", "调用者要求如此"),
    ("The arguments fit.", "参数符合要求。"),
    ("{} refuses the arguments and is skipped: {~}", "{0} 拒绝这些参数，将被跳过：{1}"),
    ("Nothing is called.", "不会调用任何工具。"),
    ("it is called by its name", "按名称调用"),
    ("its source is unknown", "其来源未知"),
    ("{~}: only server '{}' is asked", "{0}：只询问服务器 '{1}'"),
    ("{~}: only '{}' is asked", "{0}：只询问 '{1}'"),
    ("{~}: every source is asked, MCP servers first", "{0}：询问所有来源，MCP 服务器优先"),
    ("{~}: every source is asked, by priority", "{0}：按优先级询问所有来源"),
    ("the call names no source", "调用没有指明来源"),
    ("'{}' is a label", "'{0}' 是标签"),
    ("'{}' is an MCP server", "'{0}' 是 MCP 服务器"),
    ("'{}' is a source", "'{0}' 是来源"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use regex::{Captures, Regex};
    use std::path::Path;

    /// The code of Rust and Python without tests and comments, each text in one piece.
    fn code() -> String {
        fn read(folder: &Path, all: &mut String) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let is_code = path.extension().is_some_and(|kind| kind == "rs" || kind == "py");
                if path.is_dir() && !path.ends_with("wording") && !path.ends_with("tests") {
                    read(&path, all);
                } else if is_code && !path.ends_with("tests.rs") {
                    let text = std::fs::read_to_string(path).unwrap();
                    let shipped = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
                    let lines = shipped.lines().filter(|line| !line.trim_start().starts_with("//"));
                    all.extend(lines.flat_map(|line| [line, "\n"]));
                }
            }
        }
        let mut code = String::new();
        for folder in ["src", "python/toolhub"] {
            read(&Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(folder), &mut code);
        }
        let breaks = Regex::new(r#"\\\n\s*|"\s*\n\s*f?""#).unwrap();
        breaks.replace_all(&code, "").into_owned()
    }

    #[test]
    fn every_template_of_the_code_has_a_row() {
        let template = Regex::new(r#"(?:message!|\bMessage)\(\s*"((?:[^"\\]|\\.)*)""#).unwrap();
        let escape = Regex::new(r"\\(.)").unwrap();
        let whole = |found: Captures| escape.replace_all(&found[1], "$1").into_owned();
        let missing: Vec<String> =
            template.captures_iter(&code()).map(whole).filter(|text| row_of(text).is_none()).collect();
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn the_code_uses_every_row() {
        let code = code();
        let is_used = |english: &str| {
            let template = english.replace("{~}", "{}");
            code.contains(&template) || code.contains(&template.replace('"', "\\\""))
        };
        let unused: Vec<&str> = templates().map(|row| row.0).filter(|english| !is_used(english)).collect();
        assert_eq!(unused, Vec::<&str>::new());
    }

    #[test]
    fn both_sides_have_the_same_placeholders() {
        for (english, chinese) in templates().chain(PAGE) {
            let count = english.matches('{').count();
            assert!((0..count).all(|at| chinese.contains(&format!("{{{at}}}"))), "{english}");
            assert_eq!(chinese.matches('{').count(), count, "{english}");
        }
    }

    #[test]
    fn no_template_has_two_rows() {
        assert_eq!(templates().filter(|row| row_of(&row.0.replace("{~}", "{}")) != Some(**row)).count(), 0);
    }
}
