//! Sentences about calls that are replayed.

pub(super) const CASSETTES: &[(&str, &str)] = &[
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
