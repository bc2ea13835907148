//! Sentences about serving the hub, and about its own resources and prompts.

pub(super) const GATEWAY: &[(&str, &str)] = &[
    ("Could not read random bytes from the OS.", "无法从操作系统读取随机字节。"),
    (
        "session_keys entries need at least {} random characters.",
        "会话密钥至少需要 {0} 个字符；请用随机字符生成。",
    ),
    ("The key set at '{}' cannot be read: {~}.", "无法读取 '{0}' 处的密钥集：{1}。"),
    ("The key set (JWKS) cannot be read: {~}.", "无法读取密钥集（JWKS）：{0}。"),
    ("it is not JSON", "它不是 JSON"),
    ("it has no 'keys' list", "它没有列表 'keys'"),
    ("it has no public key that verifies signatures", "它没有可验证签名的公钥"),
    ("it needs https (http is only for this machine)", "需要 https（http 仅用于本机）"),
    ("it answered with HTTP {}", "它返回了 HTTP {0}"),
    (
        "Tokens of an issuer need 'issuer' and 'audience', so that no token for another service is accepted.",
        "颁发者的令牌需要 'issuer' 和 'audience'，以免接受用于其他服务的令牌。",
    ),
    (
        "'{}' cannot be the name of a view; use up to {} letters, digits, '_' and '-'.",
        "'{0}' 不能作为视图名称；请使用至多 {1} 个字母、数字、'_' 和 '-'。",
    ),
    ("{~} Tool '{}' was not called.", "{0}工具 '{1}' 未被调用。"),
    ("The audit log is too slow: {} lines wait to be written.", "审计日志太慢：有 {0} 行等待写入。"),
    ("The audit log '{}' cannot be written: {}.", "无法写入审计日志 '{0}'：{1}。"),
    ("Too many calls within a minute; try again in {} s.", "一分钟内的调用过多；请在 {0} 秒后重试。"),
    ("{~} It may still have run.", "{0}它可能仍已运行。"),
    ("{~} Try again in {} s.", "{0}请在 {1} 秒后重试。"),
    (
        "No known tool has this name, and some servers could not be asked.",
        "没有已知工具使用此名称，而且有些服务器无法询问。",
    ),
    ("The tool did not answer in time.", "工具没有及时回答。"),
    ("The tool's server could not be started or reached.", "无法启动或连接工具的服务器。"),
    ("The connection to the tool's server was lost.", "与工具服务器的连接已断开。"),
    ("The tool's server refused the credentials.", "工具的服务器拒绝了凭据。"),
    ("The tool's server answered with an HTTP error.", "工具的服务器返回了 HTTP 错误。"),
    ("The tool's server answered with an error.", "工具的服务器返回了错误。"),
    ("The tool's server sent a malformed message.", "工具的服务器发送了格式错误的消息。"),
    ("A size or count limit was exceeded.", "超出了大小或数量限制。"),
    ("This tool may not be called here.", "此处不允许调用该工具。"),
    ("The list of token algorithms is empty.", "令牌算法列表为空。"),
    (
        "A running server cannot stop asking for credentials; restart it to serve without them.",
        "要求凭据的服务器不能在运行时变为开放；要在没有凭据的情况下提供服务，请重新启动。",
    ),
    (
        "The token of '{}' is for the view '{}', which does not exist; known views: {}.",
        "'{0}' 的令牌用于视图 '{1}'，但该视图不存在；已知视图：{2}。",
    ),
    (
        "The token of '{}' is empty or contains characters that are not allowed in a header.",
        "'{0}' 的令牌为空或含有请求头中不允许的字符。",
    ),
    (
        "'{}' and '{}' have the same token; give each its own.",
        "'{0}' 和 '{1}' 的令牌相同；请为每一个使用各自的令牌。",
    ),
    (
        "The upstream token of '{}' is its own token; caller tokens are never sent upstream.",
        "'{0}' 的上游令牌就是它自己的令牌，而后者绝不会发送到上游服务器。",
    ),
    (
        "The metrics token is empty or contains characters that are not allowed in a header.",
        "指标令牌为空或含有请求头中不允许的字符。",
    ),
    (
        "The metrics token is also a caller's token; use a separate one.",
        "指标令牌同时是某个调用者的令牌；请为其使用单独的令牌。",
    ),
    ("Serving has ended.", "服务已结束。"),
    (
        "Header '{}' for server '{}' would contain invalid characters for caller '{}'.",
        "服务器 '{1}' 的请求头 '{0}' 无法承载 '{2}' 的值。",
    ),
    (
        "Header '{}' for server '{}' would forward the token of caller '{}'; caller tokens are never sent upstream.",
        "服务器 '{1}' 的请求头 '{0}' 含有 '{2}' 自己的令牌，而后者绝不会发送到上游服务器。",
    ),
    (
        "The headers function of server '{}' did not return within {} s.",
        "服务器 '{0}' 的请求头函数未在 {1} 秒内返回。",
    ),
    ("The headers function of server '{}' failed: {}", "服务器 '{0}' 的请求头函数失败：{1}"),
    (
        "The headers function of server '{}' returned more than {} headers.",
        "服务器 '{0}' 的请求头函数返回了超过 {1} 个请求头。",
    ),
    (
        "Server '{}' is closed to '{}': its headers function returned None.",
        "服务器 '{0}' 不对 '{1}' 开放：其请求头函数返回了 None。",
    ),
    (
        "The headers function of server '{}' must return a mapping of texts or None.",
        "服务器 '{0}' 的请求头函数必须返回文本映射或 None。",
    ),
    (
        "The headers function of server '{}' returned the header '{}', which it may not set.",
        "服务器 '{0}' 的请求头函数返回了它不得设置的请求头 '{1}'。",
    ),
    (
        "The headers function of server '{}' returned a value for '{}' that contains characters not allowed in a header.",
        "服务器 '{0}' 的请求头函数为 '{1}' 返回了请求头无法承载的值。",
    ),
    (
        "The headers function of server '{}' returned the caller's own token; caller tokens are never sent upstream.",
        "服务器 '{0}' 的请求头函数返回了调用者自己的令牌，而后者绝不会发送到上游服务器。",
    ),
    (
        "Server '{}' needs the claim '{}' of its callers, which '{}' lacks.",
        "服务器 '{0}' 需要调用者的声明 '{1}'，而 '{2}' 没有。",
    ),
    (
        "Server '{}' needs a token for '{}', who has none; give one as upstream_token, or return it from authenticate.",
        "服务器 '{0}' 需要 '{1}' 的令牌，但它没有；请用 upstream_token 指定，或由 authenticate 返回。",
    ),
    (
        "Server '{}' is used by too many callers at once; try again later.",
        "同时使用服务器 '{0}' 的调用者过多；请稍后重试。",
    ),
    (
        "Server '{}' takes its credentials from the caller of a served hub, and this call has none; serve the hub with `token`, `jwt` or `authenticate`, or give its headers a token of the hub after `:-`.",
        "服务器 '{0}' 的凭据取自服务中心的调用者，而此调用没有调用者；请使用 `token`、`jwt` 或 `authenticate` 提供服务，或在其请求头的 `:-` 之后给出中心的令牌。",
    ),
    (
        "The authorization server '{}' answered with the caller's own token; caller tokens are never sent upstream.",
        "授权服务器 '{0}' 返回了调用者自己的令牌，而它绝不会发送到上游服务器。",
    ),
    (
        "'{}' came without a token, so there is none to exchange for the server.",
        "'{0}' 没有带令牌，因此没有可为服务器交换的令牌。",
    ),
    ("Cannot listen on {}:{}: {}", "无法监听 {0}:{1}：{2}"),
    ("Cannot serve on stdio: {}", "无法通过标准输入输出提供服务：{0}"),
    (
        "Server '{}' was removed or replaced before the call began; nothing was sent.",
        "服务器 '{0}' 在调用开始之前已被移除或替换；未发送任何内容。",
    ),
    ("Several servers have the {} '{}'; name it {}.", "多个服务器都有 {0} '{1}'；请用 {2} 指明。"),
    ("No server lists the {} '{}'.", "没有服务器列出 {0} '{1}'。"),
    ("Server '{}' does not support resource subscriptions.", "服务器 '{0}' 不支持订阅资源。"),
    ("Too many resource subscriptions to server '{}'.", "服务器 '{0}' 被订阅的资源过多。"),
    // Resources and prompts of the hub itself
    (
        "A {} '{}' already exists; remove it first, or pass replace=True.",
        "已有 {0} '{1}'；请先删除它，或指定 replace=True。",
    ),
    (
        "A hub can have at most {} resources and prompts of its own.",
        "一个 hub 自身最多可有 {0} 个资源和提示。",
    ),
    ("The hub has no {} '{}' of its own.", "hub 自身没有 {0} '{1}'。"),
    ("The {} '{}' did not answer within {} s.", "{0} '{1}' 在 {2} 秒内没有应答。"),
    (
        "'{}' cannot name a {}: it must have 1 to {} characters, and no control characters.",
        "'{0}' 不能作为 {1} 的名称：必须有 1 到 {2} 个字符，且不含控制字符。",
    ),
    (
        "'{}' is not a URI: it needs a scheme, such as note://today.",
        "'{0}' 不是 URI：它需要一个方案，例如 note://today。",
    ),
    ("The template '{}' cannot be used: {~}.", "无法使用模板 '{0}'：{1}。"),
    ("a brace is not closed", "有花括号没有闭合"),
    ("a brace is not opened", "有花括号没有开头"),
    ("the expression '{}' is not supported", "不支持表达式 '{0}'"),
    ("the query must be at the end", "查询必须位于末尾"),
    ("two variables need text between them", "两个变量之间需要文本"),
    ("the variable '{}' occurs twice", "变量 '{0}' 出现了两次"),
    ("only one variable may match several parts of a path", "只能有一个变量匹配路径的多个部分"),
    (
        "The function for '{}' has no parameter for the variable '{}'.",
        "'{0}' 的函数没有对应变量 '{1}' 的参数。",
    ),
    (
        "The parameter '{}' of the function for '{}' needs a default, or a variable in the URI.",
        "'{1}' 的函数的参数 '{0}' 需要默认值，或 URI 中的变量。",
    ),
    ("'{}' has no argument '{}' that could be completed.", "'{0}' 没有可以补全的参数 '{1}'。"),
    (
        "Prompt '{}' must return texts, content blocks, or messages with the role 'user' or 'assistant'.",
        "提示 '{0}' 必须返回文本、内容块，或角色为 'user' 或 'assistant' 的消息。",
    ),
    ("The completion of '{}' must return a list of texts.", "'{0}' 的补全必须返回文本列表。"),
    ("The client of this call does not support '{}'.", "此调用的客户端不支持 '{0}'。"),
    ("The answer of the client does not fit the form: {~}.", "客户端的回答不符合表单：{0}。"),
    ("Resource '{}' raised {}: {}", "资源 '{0}' 抛出 {1}：{2}"),
    ("Resource '{}' raised {}.", "资源 '{0}' 抛出 {1}。"),
    ("Prompt '{}' raised {}: {}", "提示 '{0}' 抛出 {1}：{2}"),
    ("Prompt '{}' raised {}.", "提示 '{0}' 抛出 {1}。"),
    ("Completion '{}' raised {}: {}", "补全 '{0}' 抛出 {1}：{2}"),
    ("Completion '{}' raised {}.", "补全 '{0}' 抛出 {1}。"),
];
