//! Sentences about serving the hub.

pub(super) const GATEWAY: &[(&str, &str)] = &[
    (
        "A key of sessions needs at least {} characters; make it of random ones.",
        "会话密钥至少需要 {0} 个字符；请用随机字符生成。",
    ),
    ("The system gives no random numbers for the keys of sessions.", "系统没有为会话密钥提供随机数。"),
];
