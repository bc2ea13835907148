//! What a tool is like, read from its name and its capabilities.

use crate::model::Effects;
use crate::registry::Candidate;
use serde_json::{Map, Value};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    CalculationOrTime,
    SearchOrExtraction,
    Other,
}

/// The nature of candidates that answer one call: what any of them says, calculation and time first.
pub fn of_all(candidates: &[Arc<Candidate>]) -> Nature {
    let any = |tags: &[&str]| candidates.iter().any(|c| tags.iter().any(|tag| c.spec().has_capability(tag)));
    if any(&["calculate", "math", "time"]) {
        Nature::CalculationOrTime
    } else if any(&["search", "extract"]) {
        Nature::SearchOrExtraction
    } else {
        Nature::Other
    }
}

/// What was said at registration beats the annotations, and those beat the guess from the name.
pub fn effects(
    name: &str,
    effects: Option<bool>,
    read_only: Option<bool>,
    annotations: &Map<String, Value>,
) -> Effects {
    let hint = |key: &str| annotations.get(key).and_then(Value::as_bool);
    match (effects, read_only) {
        (Some(true), _) => return Effects::Declared,
        (Some(false), _) | (None, Some(true)) => return Effects::ReadOnly,
        (None, Some(false)) => return Effects::Declared,
        (None, None) => {}
    }
    if hint("destructiveHint") == Some(true) || hint("readOnlyHint") == Some(false) {
        Effects::Declared
    } else if hint("readOnlyHint") == Some(true) {
        Effects::ReadOnly
    } else if suggests_effects(name) {
        Effects::Guessed
    } else {
        Effects::NoneSeen
    }
}

/// Verbs that change something. The first verb of a name decides, so `get_updates` reads and `update_list` writes.
const ACTING: &[&str] = &[
    "add",
    "append",
    "apply",
    "approve",
    "archive",
    "assign",
    "book",
    "buy",
    "cancel",
    "charge",
    "clear",
    "close",
    "commit",
    "copy",
    "create",
    "delete",
    "deploy",
    "destroy",
    "disable",
    "drop",
    "edit",
    "enable",
    "erase",
    "exec",
    "execute",
    "insert",
    "install",
    "invite",
    "kill",
    "launch",
    "lock",
    "log",
    "mail",
    "make",
    "mark",
    "merge",
    "modify",
    "move",
    "notify",
    "order",
    "overwrite",
    "patch",
    "pay",
    "post",
    "provision",
    "publish",
    "purchase",
    "purge",
    "push",
    "put",
    "reboot",
    "refund",
    "register",
    "reject",
    "remove",
    "rename",
    "replace",
    "reply",
    "reset",
    "restart",
    "restore",
    "revoke",
    "rm",
    "run",
    "save",
    "schedule",
    "send",
    "set",
    "share",
    "shutdown",
    "start",
    "stop",
    "store",
    "submit",
    "subscribe",
    "tag",
    "terminate",
    "transfer",
    "trigger",
    "truncate",
    "uninstall",
    "unlock",
    "unsubscribe",
    "update",
    "upload",
    "upsert",
    "withdraw",
    "write",
];

const LOOKING: &[&str] = &[
    "analyze",
    "calc",
    "calculate",
    "check",
    "classify",
    "compare",
    "compute",
    "convert",
    "count",
    "describe",
    "detect",
    "diff",
    "download",
    "estimate",
    "evaluate",
    "explain",
    "export",
    "extract",
    "fetch",
    "filter",
    "find",
    "format",
    "get",
    "is",
    "list",
    "load",
    "lookup",
    "match",
    "measure",
    "parse",
    "peek",
    "ping",
    "predict",
    "preview",
    "query",
    "read",
    "recommend",
    "render",
    "resolve",
    "retrieve",
    "scan",
    "search",
    "show",
    "solve",
    "sort",
    "status",
    "suggest",
    "summarize",
    "test",
    "translate",
    "validate",
    "verify",
    "view",
    "watch",
];

const ACTING_ZH: &[&str] = &[
    "发送",
    "写入",
    "创建",
    "新建",
    "删除",
    "更新",
    "修改",
    "支付",
    "付款",
    "转账",
    "购买",
    "下单",
    "提交",
    "上传",
    "取消",
    "移动",
    "重命名",
    "发布",
    "保存",
    "添加",
    "执行",
    "预订",
    "设置",
];

fn suggests_effects(name: &str) -> bool {
    for word in words(name) {
        if LOOKING.contains(&word.as_str()) {
            return false;
        }
        if ACTING.contains(&word.as_str()) {
            return true;
        }
    }
    ACTING_ZH.iter().any(|verb| name.contains(verb))
}

/// Words that may stand beside `add` when numbers are added.
const OF_NUMBERS: &[&str] =
    &["add", "two", "up", "number", "numbers", "integer", "integers", "int", "ints", "float", "floats"];

/// Whether this adds numbers up: `add` otherwise means to put something somewhere. Its name speaks of nothing else, and every
/// parameter is a number, or a list of them, that is not somebody's id.
pub fn is_addition(name: &str, parameters: &Value) -> bool {
    let is_number = |schema: &Value| matches!(schema["type"].as_str(), Some("number" | "integer"));
    let are_numbers = |schema: &Value| schema["type"] == "array" && is_number(&schema["items"]);
    let is_id = |parameter: &str| words(parameter).any(|word| matches!(word.as_str(), "id" | "ids"));
    let named =
        words(name).any(|word| word == "add") && words(name).all(|word| OF_NUMBERS.contains(&word.as_str()));
    named
        && parameters["properties"].as_object().is_some_and(|properties| {
            !properties.is_empty()
                && properties.iter().all(|(parameter, schema)| {
                    (is_number(schema) || are_numbers(schema)) && !is_id(parameter)
                })
        })
}

/// The words of a snake_case, kebab-case or camelCase name, in lower case. Only the start of a very long name counts.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut previous_lower = false;
    for c in name.chars().take(200) {
        let boundary = !c.is_alphanumeric() || (c.is_uppercase() && previous_lower);
        if boundary && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_verb_of_a_name_decides() {
        for name in ["send_email", "write_data_to_excel", "deleteUser", "gmail-send-message", "发送邮件"]
        {
            assert!(suggests_effects(name), "{name}");
        }
        for name in
            ["get_updates", "list_orders", "search_web", "readWriteLog", "weather", "查询订单", "settings"]
        {
            assert!(!suggests_effects(name), "{name}");
        }
    }

    #[test]
    fn adding_numbers_is_no_effect() {
        let takes = |properties: Value| json!({"type": "object", "properties": properties});
        let number = json!({"type": "number"});
        let two = takes(json!({"a": {"type": "integer", "description": "the first"}, "b": number}));
        let list = takes(json!({"numbers": {"type": "array", "items": number}}));
        for name in ["add", "addNumbers", "add_two_integers"] {
            assert!(is_addition(name, &two) && is_addition(name, &list), "{name}");
        }
        for name in ["add_user", "cart_add", "append", "numbers", "delete"] {
            assert!(!is_addition(name, &two), "{name}");
        }
        let odd = [
            json!({}),
            json!({"a": number, "note": {"type": "string"}}),
            json!({"item_id": number, "quantity": number}),
            json!({"userIds": {"type": "array", "items": {"type": "integer"}}}),
            json!({"a": {}}),
            json!({"items": {"type": "array"}}),
        ];
        for properties in odd {
            assert!(!is_addition("add", &takes(properties.clone())), "{properties}");
        }
        assert!(!is_addition("add", &json!(true)));
    }

    #[test]
    fn said_beats_annotated_beats_guessed() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        assert_eq!(effects("delete_x", Some(false), None, &Map::new()), Effects::ReadOnly);
        assert_eq!(effects("get_x", Some(true), Some(true), &Map::new()), Effects::Declared);
        assert_eq!(effects("delete_x", None, None, &map(json!({"readOnlyHint": true}))), Effects::ReadOnly);
        assert_eq!(effects("get_x", None, None, &map(json!({"readOnlyHint": false}))), Effects::Declared);
        assert_eq!(effects("get_x", None, None, &map(json!({"destructiveHint": true}))), Effects::Declared);
        assert_eq!(effects("delete_x", None, None, &Map::new()), Effects::Guessed);
        assert_eq!(effects("get_x", None, None, &map(json!({"destructiveHint": "yes"}))), Effects::NoneSeen);
    }
}
