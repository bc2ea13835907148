//! Failures of model endpoints, and pins.

pub(super) const MODELS: &[(&str, &str)] = &[
    ("{~} (tried {} times).", "{0}（已尝试 {1} 次）。"),
    (
        "Could not connect to the model endpoint {}: {~}; check base_url and whether the server is running.",
        "无法连接模型端点 {0}：{1}；请检查 base_url 以及服务器是否在运行。",
    ),
    (
        "The model endpoint {} had not finished its answer after {} s; raise timeout or ask for less.",
        "模型端点 {0} 在 {1} 秒后仍未完成回答；请增大 timeout 或减少要求。",
    ),
    ("The model endpoint {} broke off without an answer: {~}.", "模型端点 {0} 没有回答就中断了：{1}。"),
    (
        "The model endpoint {} broke off in the middle of its answer: {~}.",
        "模型端点 {0} 在回答中途中断：{1}。",
    ),
    (
        "The stream from the model endpoint {} broke off before the answer was complete: {~}.",
        "模型端点 {0} 的流在回答完整之前中断：{1}。",
    ),
    (
        "The model endpoint {} sent too much: {~}; lower max_tokens or raise max_body.",
        "模型端点 {0} 发送的数据过多：{1}；请减小 max_tokens 或增大 max_body。",
    ),
    ("the answer has more than {} bytes", "回答超过 {0} 字节"),
    (
        "The model endpoint {} refused the API key {}; set OPENAI_API_KEY or pass api_key.",
        "模型端点 {0} 拒绝了 API 密钥 {1}；请设置 OPENAI_API_KEY 或传入 api_key。",
    ),
    (
        "The model endpoint {} requires an API key {}; set OPENAI_API_KEY or pass api_key.",
        "模型端点 {0} 需要 API 密钥 {1}；请设置 OPENAI_API_KEY 或传入 api_key。",
    ),
    (
        "The model endpoint {} does not know the model {}; pass a model that it serves.",
        "模型端点 {0} 不认识模型 {1}；请传入它提供的模型。",
    ),
    (
        "The model endpoint {} has no chat API at {}; check base_url, which usually ends in /v1.",
        "模型端点 {0} 在 {1} 没有聊天 API；请检查 base_url，它通常以 /v1 结尾。",
    ),
    (
        "The model endpoint {} is limiting requests and asks to wait {} s {}.",
        "模型端点 {0} 正在限流，要求等待 {1} 秒 {2}。",
    ),
    ("The model endpoint {} is limiting requests {}.", "模型端点 {0} 正在限流 {1}。"),
    ("The model endpoint {} rejected the request {}.", "模型端点 {0} 没有接受请求 {1}。"),
    ("The model endpoint {} failed {}.", "模型端点 {0} 失败 {1}。"),
    (
        "The model endpoint {} redirects {} (HTTP {}), which is not followed so that the API key stays with its server; \
         set base_url to the final address.",
        "模型端点 {0} 重定向 {1}（HTTP {2}），为使 API 密钥留在其服务器而不跟随；请将 base_url 设为最终地址。",
    ),
    (
        "The model endpoint {} reported an error instead of an answer{}.",
        "模型端点 {0} 报告了错误而不是回答{1}。",
    ),
    (
        "The model endpoint {} did not answer with JSON ({}): {}; check that base_url points to an OpenAI-compatible \
         chat API.",
        "模型端点 {0} 的回答不是 JSON（{1}）：{2}；请检查 base_url 是否为兼容 OpenAI 的聊天 API。",
    ),
    (
        "The model endpoint {} answered with JSON that is not a chat completion: {~}; check that base_url points to an \
         OpenAI-compatible chat API.",
        "模型端点 {0} 返回的 JSON 不是聊天补全：{1}；请检查 base_url 是否为兼容 OpenAI 的聊天 API。",
    ),
    (
        "The model endpoint {} {}; check that base_url points to an OpenAI-compatible chat API.",
        "模型端点 {0} {1}；请检查 base_url 是否为兼容 OpenAI 的聊天 API。",
    ),
    ("it has no list of `choices`", "其中没有 `choices` 列表"),
    ("its list of `choices` is empty", "其 `choices` 列表为空"),
    ("its first choice has no `message`", "其第一个选项没有 `message`"),
    ("it is not an object", "它不是对象"),
    ("its `choices` are not a list", "其 `choices` 不是列表"),
    ("its `delta` is not an object", "其 `delta` 不是对象"),
    // Synthesis
    ("more than 3 results", "结果超过 3 个"),
    ("more than 2,000 characters in all", "总共超过 2,000 个字符"),
    // Pins
    (
        "Tool '{}' of server '{}' {~}, and is refused. Look at it with hub.pins.list(), and accept it with {}.",
        "服务器 '{1}' 的工具 '{0}' {2}，已被拒绝。请用 hub.pins.list() 查看，并用 {3} 接受。",
    ),
    ("has not been accepted since the store's pins were lost", "自存储的 pin 丢失以来未被接受"),
    ("has changed since its definition was accepted", "自其定义被接受以来已发生变化"),
    // What is left
    (
        "Internal error: the call failed inside toolhub; please report it.",
        "内部错误：调用在 toolhub 内部失败；请报告此问题。",
    ),
    (
        "The request must be one call; pass a message with several calls to `run`.",
        "请求必须是一个调用；有多个调用的消息请传给 `run`。",
    ),
    ("You are signed in. You can close this window.", "登录成功。可以关闭此窗口。"),
    ("The login failed. The program says why.", "登录失败。原因见程序。"),
    ("There is nothing here.", "这里没有内容。"),
    ("This page does not belong to a pending login.", "这不属于正在此处等待的登录。"),
];
