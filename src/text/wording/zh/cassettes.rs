//! Sentences about cassettes, replayed calls, and the cases of an evaluation.

pub(super) const CASSETTES: &[(&str, &str)] = &[
    ("{} of {} cases passed", "{1} 个用例中 {0} 个通过"),
    ("The call of {} is not in the cassette '{}': {~}.", "录制文件 '{1}' 中没有对 {0} 的调用：{2}。"),
    ("no call of it was recorded", "没有录下它的任何调用"),
    ("all {} recorded calls of it were replayed already", "录下的 {0} 次调用都已回放"),
    ("the nearest recording is in line {}: {~}", "最接近的记录在第 {0} 行：{1}"),
    ("{}: {} was recorded, {} was given", "{0}：录下的是 {1}，给出的是 {2}"),
    (
        "The tools of server '{}' are not in the cassette '{}', and a replay starts no server.",
        "录制文件 '{1}' 中没有服务器 '{0}' 的工具，而回放不会启动服务器。",
    ),
    (
        "Server '{}' is not started: calls are replayed from a cassette.",
        "服务器 '{0}' 没有启动：调用正从录制文件回放。",
    ),
    ("The recorded tools of server '{}' cannot be read: {}.", "无法读取服务器 '{0}' 录下的工具：{1}。"),
    ("The cassette '{}' is wrong in line {}: {~}.", "录制文件 '{0}' 的第 {1} 行有误：{2}。"),
    (
        "The cassette '{}' is a folder; give the path of a file.",
        "录制文件 '{0}' 是文件夹；请给出文件的路径。",
    ),
    ("There is no cassette '{}'; record it first.", "没有录制文件 '{0}'；请先录制。"),
    ("The cassette '{}' cannot be read: {}.", "无法读取录制文件 '{0}'：{1}。"),
    (
        "'{}' ({}) was answered from '{}', though its definition has changed: {~}.",
        "'{0}'（{1}）由 '{2}' 应答，尽管它现在的定义不同：{3}。",
    ),
    ("it differs in {}", "不同之处：{0}"),
    ("it has no such provider", "它没有这样的提供方"),
    ("The cassette '{}' cannot be written: {}.", "无法写入录制文件 '{0}'：{1}。"),
    (
        "The cassette '{}' was removed or replaced while it was recorded; record it again.",
        "录制文件 '{0}' 在录制期间被删除或替换；请重新录制。",
    ),
    ("The cassette '{}' is not UTF-8 text; record it again.", "录制文件 '{0}' 不是 UTF-8 文本；请重新录制。"),
    (
        "Something else already records to '{}'; give each recording its own file.",
        "已有其他程序正在录制到 '{0}'；请让每次录制使用各自的文件。",
    ),
    ("This process already {~}; end that first.", "本进程{0}；请先结束它。"),
    ("records to '{}'", "正在录制到 '{0}'"),
    ("replays '{}'", "正在回放 '{0}'"),
    ("The call of {} in line {} of '{}' was not made.", "没有进行 '{2}' 第 {1} 行中对 {0} 的调用。"),
    ("{} more recorded calls were not made.", "另有 {0} 次录下的调用没有进行。"),
    (
        "it is cut off, so the recording was not finished; record it again",
        "它被截断，说明录制没有完成；请重新录制",
    ),
    ("it is not JSON ({})", "它不是 JSON（{0}）"),
    ("it is not a JSON object", "它不是 JSON 对象"),
    (
        "a cassette begins with a line of the type 'header', and this one does not",
        "录制文件应以类型为 'header' 的一行开头，而它不是",
    ),
    (
        "its format has version {}, and this toolhub reads up to {}; install a newer one",
        "它的格式是版本 {0}，而本 toolhub 最多读到 {1}；请安装更新的版本",
    ),
    (
        "its format has version {}, and this toolhub reads {}; record it again with `toolhub record -o FILE -- COMMAND`, or with \
         `pytest --toolhub-record=all`",
        "它的格式是版本 {0}，而本 toolhub 读取版本 {1}；请用 `toolhub record -o FILE -- COMMAND` 或 `pytest --toolhub-record=all` 重新录制",
    ),
    ("'v' must be the version of the format, {}", "'v' 应为格式的版本 {0}"),
    ("'v' must be {}, not {}", "'v' 应为 {0}，而不是 {1}"),
    ("'format' must be '{}'", "'format' 应为 '{0}'"),
    (
        "the line of the type 'end' is missing after it, so the recording was not finished; record it again",
        "其后缺少类型为 'end' 的一行，说明录制没有完成；请重新录制",
    ),
    ("it comes after the line of the type 'end'", "它出现在类型为 'end' 的一行之后"),
    ("{} events were recorded, and the file has {}", "录下了 {0} 个事件，而文件中有 {1} 个"),
    (
        "it is of an audit log, which has no arguments and results to replay",
        "它来自审计日志，其中没有可供回放的参数和结果",
    ),
    ("'ended' must be above 'began'", "'ended' 必须大于 'began'"),
    ("'result' must have a 'value'", "'result' 必须有 'value'"),
    (
        "'outcome' must be ok, stopped or a kind of error, not '{}'",
        "'outcome' 应为 ok、stopped 或一种错误，而不是 '{0}'",
    ),
    (
        "'error.outcome' must be not_sent, failed or unknown",
        "'error.outcome' 应为 not_sent、failed 或 unknown",
    ),
    ("'{}' must be a whole number, 0 or more", "'{0}' 应为不小于 0 的整数"),
    ("'{}' must be a number, 0 or more", "'{0}' 应为不小于 0 的数"),
    ("'events' must be a whole number", "'events' 应为整数"),
    ("'arguments' is missing", "缺少 'arguments'"),
    ("'{}' must be a text", "'{0}' 应为文本"),
    ("'{}' must be a list", "'{0}' 应为列表"),
    ("'{}' must be an object", "'{0}' 应为对象"),
];

pub(super) const EVALUATION: &[(&str, &str)] = &[
    ("The cases in '{}' cannot be read: {}", "无法读取 '{0}' 中的用例：{1}"),
    ("'{}' must have a list 'cases' with at least one case.", "'{0}' 必须有列表 'cases'，且至少有一个用例。"),
    ("Case {} in '{}' must be a mapping.", "'{1}' 中的用例 {0} 应为映射。"),
    ("Case {} in '{}' must have a text '{}'.", "'{1}' 中的用例 {0} 必须有文本 '{2}'。"),
    ("Case {} in '{}' has the same name as another case: {}.", "'{1}' 中的用例 {0} 与另一个用例同名：{2}。"),
    ("Case {} in '{}' has {}; it may have {}.", "'{1}' 中的用例 {0} 有 {2}；它可以有 {3}。"),
    (
        "Case {} in '{}' is wrong: {} must be a list of at least one tool name, got {}.",
        "'{1}' 中的用例 {0} 有误：{2} 应为至少有一个工具名称的列表，得到 {3}。",
    ),
    (
        "Case {} in '{}' is wrong: {} must be a mapping with at least one tool name, got {}.",
        "'{1}' 中的用例 {0} 有误：{2} 应为至少有一个工具名称的映射，得到 {3}。",
    ),
    (
        "Case {} in '{}' is wrong: {} has {}, which is not a tool name; patterns are not allowed here.",
        "'{1}' 中的用例 {0} 有误：{2} 有 {3}，它不是工具的名称；此处不能用模式。",
    ),
    (
        "Case {} in '{}' is wrong: {} must be a whole number of at least 0, got {}.",
        "'{1}' 中的用例 {0} 有误：{2} 应为不小于 0 的整数，得到 {3}。",
    ),
    (
        "Case {} in '{}' is wrong: {} must be a mapping of arguments, got {}.",
        "'{1}' 中的用例 {0} 有误：{2} 应为参数的映射，得到 {3}。",
    ),
    (
        "Case {} in '{}' is wrong: {} must be one of {}, got {}.",
        "'{1}' 中的用例 {0} 有误：{2} 应为 {3} 之一，得到 {4}。",
    ),
    ("Case {} in '{}' checks nothing; it may have {}.", "'{1}' 中的用例 {0} 什么也不检查；它可以有 {2}。"),
    (
        "The run to compare with was not written by `toolhub eval --save`.",
        "要比较的运行不是 `toolhub eval --save` 写下的。",
    ),
    (
        "Tool '{}' was not called in the order {}; the calls were {}.",
        "工具 '{0}' 没有按顺序 {1} 被调用；调用依次为 {2}。",
    ),
    ("Tool '{}' was called with other arguments: {~}.", "工具 '{0}' 被调用时的参数不同：{1}。"),
    ("{}: {} was expected, {} was given", "{0}：应为 {1}，给出的是 {2}"),
    ("Tool '{}' was called {} times, more than {}.", "工具 '{0}' 被调用了 {1} 次，多于 {2} 次。"),
    ("Tool '{}' was called, and must not be.", "工具 '{0}' 被调用了，而它不应被调用。"),
    ("Tool '{}' was not called.", "工具 '{0}' 没有被调用。"),
    ("Tool '{}' ended with {}, not {}.", "工具 '{0}' 的结局是 {1}，而不是 {2}。"),
    ("{} tokens were used, more than {}.", "用了 {0} 个 token，多于 {1} 个。"),
];
