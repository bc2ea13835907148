//! The word lists behind the name rules, with those of `text/acting.rs`. To teach the hub a verb, add it to one of them, and
//! names that contain it to the table in `tests.rs`.

pub use crate::text::{ACTING, ACTING_OR_NOUN, ACTING_WHEN_LEADING};

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

/// Verbs that change something in German, Spanish, French, Italian, Portuguese, Dutch, Polish, Turkish, Russian and
/// Vietnamese.
#[rustfmt::skip]
pub const ACTING_FOREIGN: &[&str] = &[
    "aanmaken", "abbrechen", "absagen", "absenden", "acheter", "acquistare", "actualizar", "adicionar",
    "aggiornare", "ajouter", "aktualisieren", "alterar", "anadir", "anlegen", "annuler", "apagar", "atualizar",
    "añadir", "bestellen", "betalen", "bezahlen", "borrar", "buchen", "cancelar", "cancellare", "comprar",
    "comprare", "crear", "creare", "creer", "criar", "créer", "deletar", "détruire", "effacer", "eliminar",
    "eliminare", "entfernen", "enviar", "envoyer", "erstellen", "escribir", "excluir", "guardar", "gönder", "gửi",
    "hochladen", "inviare", "kaufen", "kopen", "kupić", "kündigen", "loeschen", "löschen", "modificar",
    "modificare", "oluştur", "pagar", "pagare", "prenotare", "publicar", "publier", "reservar", "réserver",
    "satın", "schicken", "schreiben", "scrivere", "senden", "spedire", "speichern", "sprzedać", "stornieren",
    "subir", "supprimer", "transferir", "transférer", "trasferire", "téléverser", "ueberweisen", "umbenennen",
    "usunąć", "utwórz", "vender", "vendere", "vendre", "verkaufen", "verkopen", "verschicken", "versenden",
    "versturen", "verwijderen", "wysłać", "xóa", "écrire", "überweisen", "записать", "изменить", "купить",
    "обновить", "оплатить", "отправить", "перевести", "продать", "создать", "удалить",
];

/// Words that are a verb at the end of a name too (`time_set`, `search_toggle`), unless a verb that is nothing else leads
/// (`get_commit`). They do not accuse a tool, but a name that ends in one is not evidence of a harmless tool.
#[rustfmt::skip]
pub const TRAILING: &[&str] = &[
    "archive", "backup", "block", "burn", "clean", "clone", "close", "commit", "control", "copy", "credit",
    "debit", "drop", "dump", "empty", "fire", "import", "kickoff", "launch", "lock", "mark", "merge", "mint",
    "mount", "move", "open", "patch", "pop", "press", "print", "provision", "punch", "push", "register",
    "release", "request", "reset", "resume", "ring", "rollback", "rollout", "run", "set", "shift", "shutoff",
    "splice", "stake", "start", "stash", "stop", "swap", "switch", "sync", "takedown", "takeover", "teardown",
    "toggle", "trash", "trigger", "trim", "turn", "update", "upgrade", "upload",
];

/// Those of [`TRAILING`] that a reading verb hardly ever has as its object in the singular: `fetch_push` and `get_lock` do
/// something, `get_commit` and `list_locks` do not.
#[rustfmt::skip]
pub const SELDOM_NOUNS: &[&str] = &[
    "burn", "clean", "close", "drop", "dump", "kickoff", "lock", "mark", "mint", "mount", "move", "open",
    "pop", "press", "print", "provision", "punch", "push", "reset", "resume", "ring", "rollback", "rollout",
    "shell", "shutoff", "splice", "stake", "start", "stash", "stop", "swap", "switch", "sync", "takedown",
    "takeover", "teardown", "toggle", "trash", "trim", "turn",
];

/// Reading verbs that are also nouns: `search_push` may push a search, and `list_set` sets an item of a list, for one lists
/// several things.
#[rustfmt::skip]
pub const READING_OR_NOUN: &[&str] = &[
    "average", "calc", "count", "diff", "estimate", "list", "preview", "query", "search", "show", "sum",
    "view",
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
    ("go", "live"), ("hand", "over"), ("http", "request"), ("key", "press"), ("lock", "release"), ("mark", "as"),
    ("mark", "done"), ("mark", "read"), ("mark", "unread"), ("power", "off"), ("power", "on"),
    ("process", "order"), ("process", "payment"), ("process", "refund"), ("request", "refund"),
    ("self", "destruct"), ("sign", "off"), ("sign", "up"), ("top", "up"), ("type", "text"),
];

/// Two words that only read together, though the first is an acting verb.
#[rustfmt::skip]
pub const READING_PAIRS: &[(&str, &str)] = &[
    ("take", "screenshot"), ("take", "snapshot"),
];

/// Words that are followed by another verb.
#[rustfmt::skip]
pub const JOINING: &[&str] = &[
    "and", "n", "or", "plus", "then",
];

/// Words that may be the second verb at the end of a name, and are nouns elsewhere: `list_files_and_clean`.
#[rustfmt::skip]
pub const JOINED_AT_THE_END: &[&str] = &[
    "act", "clean", "contact", "control", "exit", "file", "go", "punch", "tidy",
];

/// Words that turn a reading verb into another verb: `count_down`, `read_aloud`, `get_off`. Only as the last word do `in` and
/// `on` (`get_in_progress_tasks` reads).
#[rustfmt::skip]
pub const PARTICLES: &[&str] = &[
    "aloud", "away", "back", "down", "off", "out", "over", "through", "up",
];

/// Words that make an adjective of a particle before them: `get_out_of_stock_items`, `list_up_to_date_packages`.
#[rustfmt::skip]
pub const AFTER_PARTICLES: &[&str] = &[
    "coming", "line", "links", "of", "stream", "time", "to", "votes",
];

/// Words that end the noun before them: what stands in front of one is what stands at the end of a name.
#[rustfmt::skip]
pub const PREPOSITIONS: &[&str] = &[
    "as", "asap", "at", "by", "for", "from", "into", "now", "of", "onto", "to", "today", "with",
];

/// Pronouns that are the object of a verb: `get_it_sent`, `find_them_deleted`.
#[rustfmt::skip]
pub const PRONOUNS: &[&str] = &[
    "everybody", "everyone", "everything", "her", "him", "it", "me", "someone", "something", "stuff", "that", "them",
    "these", "things", "this", "those", "us",
];

/// Words before a participle that make a date, a number or a question of it: `get_last_updated`, `get_amount_paid`.
#[rustfmt::skip]
pub const BEFORE_PARTICIPLES: &[&str] = &[
    "amount", "are", "as", "been", "count", "date", "days", "first", "has", "have", "hours", "is", "last",
    "latest", "least", "most", "newly", "not", "number", "recent", "time", "timestamp", "total", "was", "were",
    "when",
];

/// Participles that do not end in `ed`, of verbs that change something.
#[rustfmt::skip]
pub const IRREGULAR_PARTICIPLES: &[&str] = &[
    "bought", "broken", "built", "burnt", "cut", "done", "driven", "fed", "flown", "forgotten", "frozen", "given",
    "gone", "hidden", "hung", "kept", "laid", "lent", "lit", "made", "paid", "put", "quit", "redone", "reset",
    "rewritten", "rid", "sent", "set", "shot", "shut", "sold", "spent", "stolen", "stuck", "sunk", "taken",
    "thrown", "torn", "undone", "withdrawn", "woken", "written",
];

/// Capabilities of tools that only read.
#[rustfmt::skip]
pub const READING_CAPABILITIES: &[&str] = &[
    "calculate", "convert", "extract", "math", "news", "search", "summarize", "time", "translate", "weather",
];
