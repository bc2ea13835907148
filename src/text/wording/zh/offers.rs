//! Sentences about the resources and prompts of the hub itself.

pub(super) const OFFERS: &[(&str, &str)] = &[
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
