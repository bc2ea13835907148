//! The ledger, runs and approvals.

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
    ("The run cannot be resumed: {~}.", "无法恢复运行：{0}。"),
    ("The run cannot be resumed: {~}?", "无法恢复运行：{0}？"),
    (
        "another hub, in this process or another one, is working on run '{}'. Close it first, or use one hub",
        "另一个 hub（在本进程或其他进程中）正在处理运行 '{0}'。请先关闭它，或只使用一个 hub",
    ),
    (
        "the store of run '{}' was lost, damaged or replaced by an older copy, so what the run has done is not known. Look at \
         what has happened, accept the store with 'toolhub store accept --store {}', and use another run",
        "运行 '{0}' 的存储已丢失、损坏或被较旧的副本替换，因此不知道该运行做过什么。请查明发生了什么，用 'toolhub store accept --store {1}' 接受该存储，并使用另一个运行",
    ),
    (
        "the last call of run '{}' was more than 30 days ago, so what the run has done is not kept any more. Use another run",
        "运行 '{0}' 的最后一次调用已超过 30 天，它做过什么已不再保留。请使用另一个运行",
    ),
    (
        "run '{}' was begun with an older version of toolhub. Finish it with that version and the copy of its store in '{}', or \
         settle what is unknown in it and use another run",
        "运行 '{0}' 由旧版 toolhub 开始。请用那个版本和 '{1}' 中的存储副本完成它，或处理其中未知的记录并使用另一个运行",
    ),
    (
        "run '{}' was begun with an older version of toolhub. Settle what is unknown in it, and use another run",
        "运行 '{0}' 由旧版 toolhub 开始。请处理其中未知的记录，并使用另一个运行",
    ),
    ("run '{}' was never begun; did you mean {}", "运行 '{0}' 从未开始；您是指 {1} 吗"),
    ("run '{}' was never begun", "运行 '{0}' 从未开始"),
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
    ("it is closed", "它已关闭"),
    ("it gave no answer", "它没有给出回答"),
    ("its thread cannot be started", "无法启动它的线程"),
    ("'{}' cannot be written: {}", "无法写入 '{0}'：{1}"),
    ("It was settled as failed.", "已被裁定为失败。"),
];
