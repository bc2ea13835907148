//! The word lists of the name rules, with those of `text/acting.rs`. A verb that changes something belongs there; a verb that
//! is missing from all lists leaves a tool unknown, unless the name also reads.

pub use toolhub_text::{ACTING, ACTING_OR_NOUN, ACTING_OR_NOUN_WIDE, ACTING_WHEN_LEADING, ACTING_WIDE};

pub type Verb = &'static str;

/// Reading verbs that are nothing else: the words around them are nouns (`get_order`, `issue_get`).
#[rustfmt::skip]
pub const READING: &[&str] = &[
    "describe", "find", "get",
    "列出", "搜寻", "搜尋", "搜索", "显示", "查找", "查看", "查詢", "查询", "检索", "検索", "獲取", "统计", "获取", "讀取", "读取",
];

/// Reading verbs that are also nouns: a word beside them may be the verb (`archive_list`, `search_push`, `mark_read`).
#[rustfmt::skip]
pub const READING_OR_NOUN: &[&str] = &[
    "count", "fetch", "list", "lookup", "read", "search", "show",
];

/// Those that read several things: without a plural after them they are nouns (`mailing_list_blast`, `list_transfer`).
pub const OF_SEVERAL: &[&str] = &["count", "list"];

/// Words and endings, beside those of plurals, that speak of several things: `list_people`, `list_directory`, `list_metadata`.
pub const SEVERAL: &[&str] = &["all", "children", "media", "people"];
pub const SEVERAL_ENDINGS: &[&str] = &["ary", "data", "ity", "ory"];

/// Verbs that read at the start of a name and may mean anything elsewhere.
#[rustfmt::skip]
pub const READING_WHEN_LEADING: &[&str] = &[
    "calculate", "translate", "翻譯", "翻译", "計算", "计算",
];

/// Verbs that may read and may act. They accuse no tool, but a noun that reads is not evidence beside them (`export_list`).
#[rustfmt::skip]
pub const EITHER: &[&str] = &[
    "associate", "build", "check", "checkpoint", "clean", "compile", "complete", "compress", "compute", "connect",
    "control", "convert", "customise", "customize", "dismount", "download", "enhance", "export", "generate", "handle",
    "manage", "navigate", "optimise", "optimize", "parse", "populate", "process", "protect", "punch", "query", "redo",
    "refresh", "render", "shift", "splice", "train", "transform", "trim", "unprotect",
];

/// Acting verbs that are nouns at the end of a name, right after what reads there: `search_mail`, `search_by_tag`.
#[rustfmt::skip]
pub const NOUNS: &[&str] = &[
    "book", "comment", "commit", "credit", "debit", "deposit", "email", "invoice", "issue", "log", "mail", "message",
    "order", "post", "purchase", "record", "refund", "report", "sms", "tag", "trade", "transfer", "tweet", "vote",
];

/// More of [`ACTING_OR_NOUN`] that one can get: `get_update` reads, but `list_update` may not, and neither may `get_lock`.
#[rustfmt::skip]
pub const GETTABLE: &[&str] = &[
    "archive", "charge", "patch", "reply", "run", "schedule", "share", "trigger", "update",
];

/// Words at the end of a name that make another verb of the one before (`count_down`, `get_it_sent`), like those in `ed`.
#[rustfmt::skip]
pub const ENDINGS: &[&str] = &[
    "aloud", "away", "back", "built", "done", "down", "made", "off", "out", "over", "paid", "sent", "sold",
    "taken", "through", "up", "written",
];

/// Words that are followed by a noun.
#[rustfmt::skip]
pub const PREPOSITIONS: &[&str] = &[
    "about", "at", "by", "for", "from", "in", "of", "on", "per", "with",
];

/// Words that are followed by another verb.
#[rustfmt::skip]
pub const JOINING: &[&str] = &[
    "also", "and", "or", "plus", "then", "再", "及", "后", "和", "并", "然后",
];

/// Parameters that carry what the tool is to do, so that its name is not the whole story: words for a deed or a program, and the
/// languages that programs are written in.
#[rustfmt::skip]
pub const CARRYING: &[&str] = &[
    "action", "cmd", "code", "command", "method", "mutation", "operation", "script", "shell", "sql", "statement",
    "bash", "cypher", "graphql", "groovy", "javascript", "js", "lua", "perl", "php", "powershell", "python", "ruby",
    "sparql", "typescript",
];

/// The methods of HTTP that change something.
pub const WRITING_METHODS: &[&str] = &["DELETE", "PATCH", "POST", "PUT"];

/// Capabilities that say that a tool only reads, when the user declares one of them.
#[rustfmt::skip]
pub const READING_CAPABILITIES: &[&str] = &[
    "calculate", "extract", "math", "news", "search", "summarize", "time", "translate", "weather",
];
