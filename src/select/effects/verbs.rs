//! The word lists behind the name rules. To teach the hub a verb, add it to one of these lists, and names that contain it
//! to the table in `tests.rs`.

pub type Verb = &'static str;

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
    "abort", "accept", "activate", "add", "adjust", "allocate", "alter", "amend", "annul", "append", "apply",
    "approve", "assign", "attach", "authorize", "ban", "bet", "blacklist", "borrow", "buy", "cancel", "chmod",
    "chown", "cleanup", "clear", "click", "configure", "confirm", "cordon", "create", "ddos", "deactivate",
    "decline", "decommission", "decrease", "decrement", "delegate", "delete", "deliver", "demote", "deploy",
    "deregister", "destroy", "detach", "detonate", "dial", "disable", "disarm", "disconnect", "dismiss",
    "dispatch", "donate", "downgrade", "downvote", "drag", "edit", "eject", "enable", "encrypt", "enqueue",
    "enroll", "erase", "escalate", "evict", "exec", "execute", "expire", "fill", "finalize", "finetune",
    "flush", "follow", "forget", "freeze", "fulfill", "gamble", "hack", "hide", "hijack", "hire", "impersonate",
    "increase", "increment", "infect", "ingest", "initialize", "initiate", "inject", "insert", "install",
    "invest", "invite", "invoke", "kick", "kill", "lend", "liquidate", "login", "logout", "make", "migrate",
    "mkdir", "modify", "mount", "mutate", "mute", "notify", "nuke", "offboard", "onboard", "override",
    "overwrite", "pause", "pay", "persist", "preorder", "promote", "publish", "purge", "put", "quarantine",
    "reactivate", "reassign", "rebook", "reboot", "rebuild", "recharge", "recreate", "redeem", "redeploy",
    "reindex", "reinstall", "reject", "relocate", "remind", "remit", "remove", "rename", "renew", "reopen",
    "reorder", "repay", "replace", "repost", "reschedule", "resend", "resize", "resolve", "restart", "restock",
    "restore", "retweet", "revert", "revoke", "rewrite", "rid", "rm", "rmdir", "rotate", "sabotage", "save",
    "sell", "send", "settle", "shred", "shut", "shutdown", "signup", "snooze", "spawn", "spend", "submit",
    "subscribe", "sudo", "suspend", "taint", "terminate", "throttle", "topup", "transmit", "truncate", "umount",
    "unarchive", "unassign", "unban", "unblock", "undelete", "undeploy", "undo", "unfollow", "unfreeze",
    "unhide", "uninstall", "unlink", "unlock", "unmerge", "unmount", "unmute", "unpair", "unpin", "unpublish",
    "unregister", "unsend", "unset", "unstake", "unsubscribe", "untag", "untrust", "unzip", "upsert", "upvote",
    "vacuum", "wager", "whitelist", "wipe", "withdraw", "write",
];

/// Verbs that are also nouns (`get_order`), and shells and interpreters, which run anything. After a reading verb they are
/// nouns, unless a joining word makes them the second verb (`get_and_post`).
#[rustfmt::skip]
pub const ACTING_OR_NOUN: &[&str] = &[
    "airdrop", "archive", "bash", "bid", "broadcast", "burn", "charge", "checkout", "cmd", "commit", "copy",
    "credit", "debit", "deposit", "drain", "drop", "dump", "duplicate", "email", "eval", "exploit", "forward",
    "import", "interpreter", "invoice", "kubectl", "launch", "lock", "mail", "merge", "message", "mint", "move",
    "order", "patch", "post", "powershell", "print", "provision", "purchase", "push", "pwsh", "refund", "repl",
    "reply", "reset", "rollback", "rsvp", "run", "schedule", "sh", "share", "shell", "sms", "spam", "ssh",
    "stake", "stash", "subprocess", "swap", "sync", "toggle", "trade", "transfer", "trash", "trigger", "tweet",
    "update", "upgrade", "upload", "vote", "wire", "zsh",
];

/// Nouns and adjectives that are verbs only where a verb is expected: at the start, or after a joining word. `book_table`
/// acts, `weather_report` does not.
#[rustfmt::skip]
pub const ACTING_WHEN_LEADING: &[&str] = &[
    "alert", "bill", "block", "book", "bump", "call", "claim", "close", "command", "comment", "console", "cut",
    "empty", "extend", "finish", "fire", "fork", "format", "fund", "grant", "issue", "join", "label", "leave",
    "log", "mark", "open", "pin", "place", "press", "pull", "record", "register", "release", "reload", "rent",
    "report", "reserve", "resume", "retry", "scale", "set", "ship", "sign", "start", "stop", "store", "switch",
    "tag", "terminal", "turn", "unset", "void",
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

/// Interpreters and command lines that are also subjects (`git_log`, `search_python_docs`): a tool runs anything only when
/// its name has no other words than these and those of [`BESIDE_INTERPRETERS`].
#[rustfmt::skip]
pub const INTERPRETERS: &[&str] = &[
    "ansible", "apt", "awk", "aws", "az", "brew", "browser", "bun", "cli", "code", "computer", "cron",
    "crontab", "curl", "deno", "docker", "evaluate", "gcloud", "gh", "git", "graphql", "helm", "ipython",
    "javascript", "js", "jupyter", "lua", "matlab", "mongodb", "mutation", "mysql", "node", "notebook", "npm",
    "perl", "php", "pip", "postgres", "postgresql", "psql", "python", "python3", "redis", "ruby", "sed", "sql",
    "sqlite", "systemctl", "terraform", "typescript", "webhook",
];

/// Words that say nothing more in the name of an interpreter (`sql_query`, `code_execution`, `computer_use`).
#[rustfmt::skip]
pub const BESIDE_INTERPRETERS: &[&str] = &[
    "2", "3", "cell", "command", "db", "evaluate", "evaluation", "execution", "executor", "expression",
    "function", "js", "playbook", "playground", "playwright", "puppeteer", "queries", "query", "raw", "runner",
    "sandbox", "script", "snippet", "statement", "tool", "use",
];

/// Two words that act together, though each alone does not.
#[rustfmt::skip]
pub const ACTING_PAIRS: &[(&str, &str)] = &[
    ("api", "call"), ("browser", "navigate"), ("browser", "type"), ("check", "in"), ("check", "out"), ("clean", "up"),
    ("go", "live"), ("hand", "over"), ("http", "request"), ("key", "press"), ("power", "off"), ("power", "on"),
    ("process", "order"), ("process", "payment"), ("process", "refund"), ("request", "refund"),
    ("self", "destruct"), ("sign", "off"), ("sign", "up"), ("top", "up"), ("type", "text"),
];

/// Words that are followed by another verb.
#[rustfmt::skip]
pub const JOINING: &[&str] = &[
    "and", "n", "or", "plus", "then",
];

/// Capabilities of tools that only read.
#[rustfmt::skip]
pub const READING_CAPABILITIES: &[&str] = &[
    "calculate", "convert", "extract", "math", "news", "search", "summarize", "time", "translate", "weather",
];
