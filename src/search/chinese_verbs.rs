//! What a Chinese text asks to be done.
//!
//! Verbs are looked for from left to right, the longest at each place, because a verb of one character is part of many words.

use super::verbs::VerbKind;
use crate::text::ACTING_WIDE;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::LazyLock;

const READING: &[&str] = &[
    "查询",
    "查看",
    "获取",
    "读取",
    "显示",
    "浏览",
    "了解",
    "查",
    "查阅",
    "查一下",
    "查查",
    "检查",
    "看看",
    "看一下",
    "看下",
    "看",
    "看一看",
    "瞧瞧",
    "预览",
    "观看",
    "告诉我",
    "给我看",
    "翻看",
    "确认一下",
];
/// Those that ask for several things.
const LISTING: &[&str] = &[
    "列出",
    "搜索",
    "查找",
    "检索",
    "找出",
    "找一下",
    "列举",
    "列一下",
    "统计",
    "数一下",
    "清点",
    "有哪些",
    "哪些",
    "多少",
    "几个",
    "几条",
    "几份",
    "几张",
];
/// Questions, and words for what is there already: the first that stands where no verb does.
const ASKING: &[&str] = &[
    "在哪",
    "哪里",
    "哪儿",
    "哪个",
    "哪",
    "有没有",
    "是否",
    "是不是",
    "什么",
    "怎么样",
    "怎样",
    "吗",
    "呢",
    "何时",
    "几点",
    "为什么",
    "谁",
    "最近",
    "最新",
    "我的",
    "到哪",
];
const CREATING: &[&str] = &["创建", "新建", "添加", "新增", "插入", "生成"];
const CHANGING: &[&str] = &["更新", "修改", "编辑", "更改", "设置", "重命名", "调整"];
const DELETING: &[&str] = &["删除", "移除", "清除", "清空", "卸载", "删掉", "删"];
/// Words that begin with a verb of one character and are none.
const NOUNS: &[&str] =
    &["看板", "看法", "看护", "查询语句", "查重", "调查", "审查", "侦查", "排查", "好看", "难看", "记录"];
/// Before a verb: it is not to be done.
const NEGATIONS: &[&str] =
    &["不要", "不用", "不必", "无需", "不需要", "别", "勿", "不能", "不想", "不许", "不"];
/// Before a verb: it has been done.
const DONE_BEFORE: &[&str] = &["已经", "已被", "已", "被", "刚", "刚刚"];
/// Behind a verb: it says which things are meant.
const DONE_BEHIND: &[&str] = &["的", "了的", "过的", "掉的"];
/// Behind these comes what is asked for.
const HOW: &[&str] = &["怎么", "如何", "怎样", "并且", "并", "然后", "再", "接着", "帮我", "请"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChineseWish {
    pub kind: VerbKind,
    /// It asks for several things.
    pub lists: bool,
    /// A question, or no verb at all: tools that act may answer it too.
    pub is_open: bool,
}

/// One word of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WideRole {
    Verb { kind: VerbKind, lists: bool },
    Asking,
    Noun,
}

type WideWords = HashMap<char, Vec<(&'static str, WideRole)>, RandomState>;

/// The words of the tables by their first character, the longest first.
static WORDS: LazyLock<WideWords> = LazyLock::new(|| {
    let verb = |kind, lists| WideRole::Verb { kind, lists };
    let tables = [
        (NOUNS, WideRole::Noun),
        (LISTING, verb(VerbKind::Read, true)),
        (READING, verb(VerbKind::Read, false)),
        (CREATING, verb(VerbKind::Create, false)),
        (CHANGING, verb(VerbKind::Change, false)),
        (DELETING, verb(VerbKind::Delete, false)),
        (ACTING_WIDE, verb(VerbKind::Act, false)),
        (ASKING, WideRole::Asking),
    ];
    let mut words: HashMap<char, Vec<_>, _> = HashMap::default();
    for (word, found) in tables.iter().flat_map(|(words, found)| words.iter().map(|word| (*word, *found))) {
        word.chars().next().into_iter().for_each(|c| words.entry(c).or_default().push((word, found)));
    }
    // A stable sort: of the same word, the first table counts.
    words.values_mut().for_each(|words| words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len())));
    words
});

/// The longest word of the tables that the text begins with, and its length.
fn word_at(text: &str) -> Option<(WideRole, usize)> {
    let known = WORDS.get(&text.chars().next()?)?;
    known.iter().find(|(word, _)| text.starts_with(word)).map(|(word, found)| (*found, word.len()))
}

/// The kind of a verb.
pub fn kind(verb: &str) -> Option<VerbKind> {
    match word_at(verb)? {
        (WideRole::Verb { kind, .. }, len) if len == verb.len() => Some(kind),
        _ => None,
    }
}

/// What a text asks for. A verb counts unless it is negated (不要删除) or says which things are meant (已删除的); the first one does,
/// or the first that acts behind a word such as 怎么. A text without a verb asks to see what it names.
pub fn asked_in_chinese(text: &str) -> Option<ChineseWish> {
    let (mut first, mut asks, mut at) = (None, false, 0);
    while let Some(next) = text[at..].chars().next() {
        let (before, rest) = text.split_at(at);
        let Some((found, len)) = word_at(rest) else {
            at += next.len_utf8();
            continue;
        };
        at += len;
        match found {
            WideRole::Noun => {}
            WideRole::Asking => asks = true,
            WideRole::Verb { kind, lists } => {
                let ends = |words: &[&str]| words.iter().any(|word| before.ends_with(word));
                let is_done =
                    ends(DONE_BEFORE) || DONE_BEHIND.iter().any(|word| text[at..].starts_with(word));
                if ends(NEGATIONS) || !kind.is_harmless() && is_done {
                    continue;
                }
                let wish = ChineseWish { kind, lists, is_open: false };
                let is_asked = !kind.is_harmless() && ends(HOW);
                if first.is_none_or(|first: ChineseWish| is_asked && first.kind.is_harmless()) {
                    first = Some(wish);
                } else if kind == VerbKind::Read
                    && let Some(first) = &mut first
                {
                    first.lists |= lists && first.kind == VerbKind::Read;
                }
            }
        }
    }
    let read = ChineseWish { kind: VerbKind::Read, lists: false, is_open: true };
    first.or_else(|| asks.then_some(read))
}

/// What a name promises, and its verb: the first one, or one that deletes behind one that reads (查询并删除).
pub fn promised_in_chinese(name: &str) -> Option<(ChineseWish, &str)> {
    let (mut promised, mut at): (Option<(ChineseWish, &str)>, usize) = (None, 0);
    while let Some(next) = name[at..].chars().next() {
        let Some((found, len)) = word_at(&name[at..]) else {
            at += next.len_utf8();
            continue;
        };
        if let WideRole::Verb { kind, lists } = found {
            let reads = |known: (ChineseWish, &str)| known.0.kind.is_harmless();
            if promised.is_none_or(|known| kind == VerbKind::Delete && reads(known)) {
                promised = Some((ChineseWish { kind, lists, is_open: false }, &name[at..at + len]));
            }
        }
        at += len;
    }
    promised
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_asks_for_what_its_verb_does() {
        let (read, delete, act) = (VerbKind::Read, VerbKind::Delete, VerbKind::Act);
        for (text, kind, lists, is_open) in [
            ("看看我的订单", Some(read), false, false),
            ("有哪些订单", Some(read), true, false),
            ("我的订单在哪", Some(read), false, true),
            ("最近的订单", Some(read), false, true),
            ("查看已删除的订单", Some(read), false, false),
            ("列出订单不要删除", Some(read), true, false),
            ("怎么删除订单", Some(delete), false, false),
            ("查一下怎么取消订单", Some(act), false, false),
            ("把订单取消", Some(act), false, false),
            ("看板", None, false, false),
            ("订单", None, false, false),
        ] {
            let found = asked_in_chinese(text);
            assert_eq!(found.map(|found| found.kind), kind, "{text}");
            assert_eq!(
                found.map_or((false, false), |found| (found.lists, found.is_open)),
                (lists, is_open),
                "{text}"
            );
        }
    }

    #[test]
    fn a_name_promises_what_its_verb_does() {
        for (name, verb) in [
            ("查询订单", Some("查询")),
            ("订单删除", Some("删除")),
            ("查询并删除订单", Some("删除")),
            ("天气", None),
        ] {
            assert_eq!(promised_in_chinese(name).map(|(_, verb)| verb), verb, "{name}");
        }
    }
}
