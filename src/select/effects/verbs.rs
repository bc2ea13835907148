//! The word lists behind the name rules. To teach the hub a verb, add it to one of these lists, and names that contain it
//! to the table in `tests.rs`.

/// Verbs that only read. A name is evidence of a harmless tool only when it *starts* with one of them.
#[rustfmt::skip]
pub const READING: &[&str] = &[
    "analyse", "analyze", "average", "browse", "calc", "calculate", "classify", "compare", "compute", "convert",
    "count", "describe", "diff", "divide", "estimate", "explain", "extract", "fetch", "find", "get", "has",
    "inspect", "is", "list", "lookup", "multiply", "parse", "peek", "predict", "preview", "query", "read",
    "recommend", "retrieve", "search", "show", "solve", "subtract", "suggest", "sum", "summarise", "summarize",
    "translate", "view",
];

/// Verbs that change something and are hardly ever anything else in a name.
#[rustfmt::skip]
pub const ACTING: &[&str] = &[
    "abort", "accept", "activate", "add", "adjust", "allocate", "alter", "amend", "append", "apply", "approve",
    "assign", "attach", "authorize", "ban", "buy", "cancel", "chmod", "chown", "cleanup", "clear", "click",
    "configure", "confirm", "create", "deactivate", "decline", "decommission", "decrease", "decrement",
    "delegate", "delete", "deliver", "demote", "deploy", "deregister", "destroy", "detach", "dial", "disable",
    "disarm", "disconnect", "dismiss", "dispatch", "donate", "downgrade", "downvote", "drag", "edit", "eject",
    "enable", "enqueue", "enroll", "erase", "escalate", "evict", "exec", "execute", "expire", "fill",
    "finalize", "flush", "follow", "forget", "freeze", "hide", "hire", "impersonate", "increase", "increment",
    "initialize", "initiate", "inject", "insert", "install", "invest", "invite", "invoke", "kick", "kill",
    "liquidate", "login", "logout", "make", "migrate", "mkdir", "modify", "mount", "mutate", "mute", "notify",
    "offboard", "onboard", "override", "overwrite", "pause", "pay", "persist", "promote", "publish", "purge",
    "put", "quarantine", "reactivate", "reassign", "rebook", "reboot", "recreate", "redeem", "redeploy",
    "reject", "relocate", "remind", "remit", "remove", "rename", "renew", "reopen", "reorder", "repay",
    "replace", "repost", "reschedule", "resend", "resolve", "restart", "restock", "restore", "retweet",
    "revert", "revoke", "rewrite", "rid", "rm", "rmdir", "rotate", "save", "sell", "send", "shred", "shut",
    "shutdown", "signup", "snooze", "spawn", "spend", "submit", "subscribe", "sudo", "suspend", "terminate",
    "transmit", "truncate", "umount", "unarchive", "unassign", "unban", "unblock", "undelete", "undeploy",
    "undo", "unfollow", "unhide", "uninstall", "unlink", "unlock", "unmerge", "unmount", "unpublish",
    "unregister", "unstake", "unsubscribe", "untag", "upsert", "upvote", "wipe", "withdraw", "write",
];

/// Verbs that are also nouns (`get_order`), and shells and interpreters, which run anything. After a reading verb they are
/// nouns, unless a joining word makes them the second verb (`get_and_post`).
#[rustfmt::skip]
pub const ACTING_OR_NOUN: &[&str] = &[
    "airdrop", "archive", "bash", "bid", "broadcast", "burn", "charge", "checkout", "cmd", "commit", "copy",
    "credit", "debit", "deposit", "drop", "duplicate", "email", "eval", "forward", "import", "interpreter",
    "invoice", "kubectl", "launch", "lock", "mail", "merge", "message", "mint", "move", "order", "patch",
    "post", "powershell", "print", "provision", "purchase", "push", "pwsh", "refund", "repl", "reply", "reset",
    "rollback", "rsvp", "run", "schedule", "sh", "share", "shell", "sms", "ssh", "stake", "subprocess", "swap",
    "sync", "toggle", "trade", "transfer", "trash", "trigger", "tweet", "update", "upgrade", "upload", "vote",
    "wire", "zsh",
];

/// Nouns and adjectives that are verbs only where a verb is expected: at the start, or after a joining word. `book_table`
/// acts, `weather_report` does not.
#[rustfmt::skip]
pub const ACTING_WHEN_LEADING: &[&str] = &[
    "alert", "bill", "block", "book", "call", "claim", "close", "command", "comment", "console", "empty",
    "fire", "fork", "format", "fund", "grant", "issue", "label", "log", "mark", "open", "pin", "place", "press",
    "pull", "record", "register", "release", "rent", "report", "reserve", "resume", "set", "ship", "sign",
    "start", "stop", "store", "switch", "tag", "terminal", "turn",
];

/// Words that are a verb at the end of a name too (`time_set`, `search_toggle`), unless a verb that is nothing else leads
/// (`get_lock`). They do not accuse a tool, but a name that ends in one is not evidence of a harmless tool.
#[rustfmt::skip]
pub const TRAILING: &[&str] = &[
    "archive", "block", "burn", "close", "commit", "copy", "credit", "debit", "drop", "empty", "fire", "import",
    "launch", "lock", "mark", "merge", "move", "open", "patch", "press", "provision", "push", "register",
    "release", "reset", "resume", "rollback", "run", "set", "start", "stop", "swap", "switch", "sync", "toggle",
    "trigger", "turn", "update", "upgrade", "upload",
];

/// Reading verbs that are also nouns: `search_push` may push a search.
#[rustfmt::skip]
pub const READING_OR_NOUN: &[&str] = &[
    "average", "calc", "count", "diff", "estimate", "preview", "query", "search", "show", "sum", "view",
];

/// Interpreters that are also subjects: only a tool of exactly this name runs code.
#[rustfmt::skip]
pub const INTERPRETERS: &[&str] = &[
    "code", "docker", "javascript", "js", "mysql", "node", "perl", "php", "psql", "python", "python3", "ruby",
    "sql", "sqlite", "terraform",
];

/// Two words that act together, though each alone does not.
pub const ACTING_PAIRS: &[(&str, &str)] = &[
    ("check", "in"),
    ("check", "out"),
    ("clean", "up"),
    ("hand", "over"),
    ("power", "off"),
    ("power", "on"),
];

/// Words that are followed by another verb.
#[rustfmt::skip]
pub const JOINING: &[&str] = &[
    "and", "n", "or", "plus", "then",
];

/// Verbs that are found inside a word too, as in `deleteuser` and `findanddelete`.
#[rustfmt::skip]
pub const GLUED: &[&str] = &[
    "create", "delete", "destroy", "execute", "insert", "install", "overwrite", "publish", "purchase", "remove",
    "terminate", "transfer", "update", "upload", "withdraw",
];

/// Endings that make a noun or an adjective of a verb in [`GLUED`] (`deleted`, `publisher`, `installation`).
#[rustfmt::skip]
pub const ENDINGS: &[&str] = &[
    "able", "al", "ation", "ations", "d", "ed", "er", "ers", "ing", "ion", "ions", "ment", "ments", "or", "ors",
    "r", "red", "ring", "rs", "s",
];

/// Objects that follow a verb directly in a name without separators (`sendmail`, `dropdatabase`).
#[rustfmt::skip]
pub const OBJECTS: &[&str] = &[
    "account", "accounts", "all", "comment", "data", "database", "db", "disk", "email", "emails", "event",
    "events", "file", "files", "folder", "image", "issue", "item", "items", "mail", "mails", "message",
    "messages", "money", "order", "orders", "page", "payment", "post", "posts", "process", "record", "records",
    "row", "rows", "server", "shares", "sms", "stock", "stocks", "table", "tables", "task", "tasks", "ticket",
    "tickets", "user", "users",
];

/// Chinese and Japanese verbs that change something.
#[rustfmt::skip]
pub const ACTING_WIDE: &[&str] = &[
    "上传", "下单", "下架", "买入", "交易", "付费", "作成", "保存", "修改", "停止", "充值", "关机", "关闭",
    "写入", "冻结", "分享", "创建", "创立", "删掉", "删除", "刪除", "削除", "剔除", "創建", "加入", "卖出",
    "卸载", "发出", "发帖", "发微博", "发推", "发消息", "发短信", "发红包", "发送", "发邮件", "取消", "变卖",
    "变更", "启动", "启用", "執行", "変更", "寄送", "寫入", "封禁", "扣款", "执行", "批准", "抛售", "授权",
    "提现", "撤回", "撤销", "支付", "改名", "改密", "新增", "新建", "格式化", "汇款", "注册", "注文", "注销",
    "派单", "添加", "清理", "清空", "清除", "点餐", "登録", "發送", "盖章", "移动", "移動", "移除", "签署",
    "終止", "結帳", "终止", "结账", "编辑", "群发", "覆盖", "解散", "解锁", "訂購", "订购", "设定", "購入",
    "購買", "购买", "踢出", "轉帳", "转发", "转帐", "转让", "转账", "辞退", "追加", "退款", "送信", "通知",
    "部署", "重启", "重命名", "重置", "销毁", "锁定", "開單", "開除", "預訂", "预定", "點餐",
];

/// Chinese verbs that are often nouns, as 更新 in 查询更新.
#[rustfmt::skip]
pub const ACTING_OR_NOUN_WIDE: &[&str] = &[
    "付款", "发布", "安装", "投票", "提交", "更新", "订阅", "记录", "设置", "评论", "预约", "预订",
];

/// Chinese verbs that only read, at the start of a name.
#[rustfmt::skip]
pub const READING_WIDE: &[&str] = &[
    "分析", "列出", "列表", "总结", "推荐", "提取", "搜寻", "搜尋", "搜索", "显示", "查找", "查看", "查詢",
    "查询", "检索", "検索", "比较", "浏览", "獲取", "统计", "翻譯", "翻译", "获取", "解释", "計算", "讀取",
    "计算", "识别", "读取", "转换", "预测",
];

/// Chinese words that are followed by another verb.
#[rustfmt::skip]
pub const JOINING_WIDE: &[&str] = &[
    "再", "及", "后", "和", "并", "然后",
];

/// Capabilities of tools that only read.
#[rustfmt::skip]
pub const READING_CAPABILITIES: &[&str] = &[
    "calculate", "convert", "extract", "math", "news", "search", "summarize", "time", "translate", "weather",
];
