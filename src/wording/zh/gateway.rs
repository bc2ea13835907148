//! Sentences about serving the hub.

pub(super) const GATEWAY: &[(&str, &str)] = &[
    (
        "A key of sessions needs at least {} characters; make it of random ones.",
        "会话密钥至少需要 {0} 个字符；请用随机字符生成。",
    ),
    ("The set of keys at '{}' cannot be read: {~}.", "无法读取 '{0}' 处的密钥集：{1}。"),
    ("The set of keys (JWKS) cannot be read: {~}.", "无法读取密钥集（JWKS）：{0}。"),
    ("it is not JSON", "它不是 JSON"),
    ("it has no list 'keys'", "它没有列表 'keys'"),
    ("it has no public key that verifies signatures", "它没有可验证签名的公钥"),
    ("it needs https (http is only for this machine)", "需要 https（http 仅用于本机）"),
    ("it answered with HTTP {}", "它返回了 HTTP {0}"),
    ("it sent more than {} bytes", "它发送了超过 {0} 字节"),
    (
        "Tokens of an issuer need 'issuer' and 'audience', so that no token for another service is accepted.",
        "颁发者的令牌需要 'issuer' 和 'audience'，以免接受用于其他服务的令牌。",
    ),
    (
        "'{}' cannot be the name of a view; use up to {} letters, digits, '_' and '-'.",
        "'{0}' 不能作为视图名称；请使用至多 {1} 个字母、数字、'_' 和 '-'。",
    ),
    ("The audit log '{}' cannot be written: {}.", "无法写入审计日志 '{0}'：{1}。"),
    ("Too many calls within a minute; try again in {} s.", "一分钟内的调用过多；请在 {0} 秒后重试。"),
    ("The list of algorithms for tokens is empty.", "令牌算法列表为空。"),
    (
        "The token of '{}' is empty or has characters that cannot stand in a header.",
        "'{0}' 的令牌为空或含有请求头中不允许的字符。",
    ),
    (
        "'{}' and '{}' have the same token; give each one of its own.",
        "'{0}' 和 '{1}' 的令牌相同；请为每一个使用各自的令牌。",
    ),
    (
        "The upstream token of '{}' is its own token, which never goes to an upstream server.",
        "'{0}' 的上游令牌就是它自己的令牌，而后者绝不会发送到上游服务器。",
    ),
    ("Serving has ended.", "服务已结束。"),
    ("The function was cancelled.", "函数已被取消。"),
    ("The system gives no random numbers for the comparison of tokens.", "系统没有为令牌比较提供随机数。"),
    ("The system gives no random numbers for the keys of sessions.", "系统没有为会话密钥提供随机数。"),
    ("Cannot listen on {}:{}: {}", "无法监听 {0}:{1}：{2}"),
    ("Cannot serve on stdio: {}", "无法通过标准输入输出提供服务：{0}"),
    ("The parameters of completion/complete are invalid: {}.", "completion/complete 的参数无效：{0}。"),
    ("There is no resource of that URI.", "没有这个 URI 的资源。"),
    ("There is no prompt of that name.", "没有这个名称的提示模板。"),
    ("There is no prompt or resource template of that name.", "没有这个名称的提示模板或资源模板。"),
];
