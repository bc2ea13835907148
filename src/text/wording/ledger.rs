//! The ledger, runs, approvals, and the replay of cassettes.

pub(super) const LEDGER: &[(&str, &str)] = &[
    (
        "The ledger has no row '{}' with an unknown outcome; only such a row can be settled.",
        "账本中没有可以结清的记录 '{0}'；只有状态未知的记录才能结清。",
    ),
    (
        "Tool '{}' was not called: it may have effects, and the ledger in the store cannot be written ({~}). Make the store \
         writable, or allow calls without a row with ToolHub(ledger=\"optional\").",
        "未调用工具 '{0}'：它可能产生影响，而存储中的账本无法写入（{1}）。请让存储可写，或用 ToolHub(ledger=\"optional\") 允许不记录的调用。",
    ),
    (
        "Tool '{}' was not called again: in run '{}' an earlier attempt may have happened (row {}). Check what \
         happened, then call hub.settle('{}', ...) with 'done', 'failed' or 'again'.",
        "未再次调用工具 '{0}'：在运行 '{1}' 中，先前的一次尝试可能已经发生（记录 {2}）。请查明后以 'done'、'failed' 或 'again' 调用 hub.settle('{3}', ...)。",
    ),
    (
        "Tool '{}' was not called: in run '{}' it was called with a different definition of the tool ({~}). Use another run, \
         or call hub.settle('{}', ...) with 'done', 'failed' or 'again'.",
        "未调用工具 '{0}'：在运行 '{1}' 中，它是以另一个定义被调用的（{2}）。请使用另一个运行，或以 'done'、'failed' 或 'again' 调用 hub.settle('{3}', ...)。",
    ),
    (
        "Tool '{}' was not called: in run '{}' it was called with a different definition of the tool ({~}). Use another run.",
        "未调用工具 '{0}'：在运行 '{1}' 中，它是以另一个定义被调用的（{2}）。请使用另一个运行。",
    ),
    (
        "Tool '{}' was not called: server '{}' has changed it since the call was prepared ({~}). Make the call again.",
        "未调用工具 '{0}'：服务器 '{1}' 在准备这次调用之后更改了它（{2}）。请重新调用。",
    ),
    ("then {}, now {}; it differs in {}", "当时为 {0}，现在为 {1}；不同之处：{2}"),
    ("then {}, now {}", "当时为 {0}，现在为 {1}"),
    (
        "Tool '{}' was not called: a replay began while the call was prepared. Make the call again.",
        "未调用工具 '{0}'：准备调用时回放开始了。请再次调用。",
    ),
    (
        "Tool '{}' was not called: what run '{}' has done cannot be read ({~}).",
        "未调用工具 '{0}'：无法读取运行 '{1}' 已完成的内容（{2}）。",
    ),
    (
        "Tool '{}' was not called: a call of run '{}' is recognised by its arguments, and these are not JSON: {}.",
        "未调用工具 '{0}'：运行 '{1}' 的调用按参数识别，而这些参数不是 JSON：{2}。",
    ),
    (
        "Tool '{}' was not called: an approval is bound to arguments, and these are not JSON: {}.",
        "未调用工具 '{0}'：批准与参数绑定，而这些参数不是 JSON：{1}。",
    ),
    (
        "Tool '{}' was not called: it waits for approval {}. Approve it with hub.approve('{}') or `toolhub approve {} --store \
         {}`, and make the call again.",
        "未调用工具 '{0}'：它在等待批准 {1}。请用 hub.approve('{2}') 或 `toolhub approve {3} --store {4}` 批准，然后再次调用。",
    ),
    (
        "Tool '{}' was not called: it waits for approval {}. Approve it with hub.approve('{}'), and make the call again.",
        "未调用工具 '{0}'：它在等待批准 {1}。请用 hub.approve('{2}') 批准，然后再次调用。",
    ),
    (
        "server '{}' has not listed it, and an approval is bound to what it lists",
        "服务器 '{0}' 尚未列出它，而批准与其列出的定义绑定",
    ),
    ("No call waits for approval '{}'.", "没有调用在等待批准 '{0}'。"),
    ("Approval '{}' was already given; it waits for its call.", "批准 '{0}' 已经给出；它在等待对应的调用。"),
    ("Approval '{}' was already denied.", "批准 '{0}' 已被拒绝。"),
    ("Approval '{}' was already used: its call was made.", "批准 '{0}' 已经用过：对应的调用已经执行。"),
    (
        "Approval '{}' has expired; make the call again to ask again.",
        "批准 '{0}' 已过期；请再次调用以重新请求。",
    ),
    (
        "Approval '{}' was asked for by an older version of toolhub; make the call again to ask again.",
        "批准 '{0}' 由旧版 toolhub 请求；请再次调用以重新请求。",
    ),
    ("its approval cannot be asked for ({~})", "无法请求批准（{0}）"),
    // Why the ledger cannot be used
    (
        "nothing can be written beside it: {}; make the file and its folder writable",
        "它旁边无法写入任何文件：{0}；请让该文件及其所在目录可写",
    ),
    ("it was removed or replaced while it was in use", "它在使用中被删除或替换"),
    ("it gave no answer", "它没有给出回答"),
    ("its thread cannot be started", "无法启动它的线程"),
    ("'{}' cannot be written: {}", "无法写入 '{0}'：{1}"),
    ("It was settled as failed.", "已被裁定为失败。"),
    // Cassettes
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
    ("it differs in {}", "不同之处：{0}"),
    ("it has no such provider", "它没有这样的提供方"),
    (
        "its format has version {}, and this toolhub reads up to {}; install a newer one",
        "它的格式是版本 {0}，而本 toolhub 最多读到 {1}；请安装更新的版本",
    ),
];
