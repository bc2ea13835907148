//! What a query asks to be done, and what the name of a tool promises to do.
//!
//! Words alone do not tell `delete_rows` from `read_rows`: the object of both is the same. So the verbs are compared as well, by
//! four kinds of action. A query or a name without a known verb has no kind, and agrees with everything.

use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerbKind {
    Read,
    Create,
    Change,
    Delete,
}

impl VerbKind {
    /// The verbs for it, if it changes something. Those that read are too common to tell anything.
    pub fn verbs(self) -> impl Iterator<Item = &'static str> {
        let verbs = match self {
            VerbKind::Read => "",
            VerbKind::Create => CREATING,
            VerbKind::Change => CHANGING,
            VerbKind::Delete => DELETING,
        };
        verbs.split_whitespace()
    }
}

/// Reading verbs of tools that give several things; the other ones give one.
const LISTING: &str = "list search find query browse enumerate count";
const READING: &str = "get show read fetch retrieve view display describe lookup look check tell see inspect monitor give \
know explain download summarize";
const CREATING: &str = "create add insert generate build register provision new append";
const CHANGING: &str = "update modify edit change set rename patch alter configure enable disable adjust resize replace \
upgrade move lock unlock";
const DELETING: &str = "delete remove drop erase purge destroy clear uninstall wipe unregister";
/// Verbs of no such kind; they begin a clause like the others.
const OTHER: &str = "send calculate compute convert translate analyze compare recommend suggest play order buy make write \
run execute start stop restart open close share post publish upload export import track book reserve plan solve predict \
estimate determine evaluate verify validate test draw plot cancel notify remind invite call pay transfer use perform \
provide save store transcribe recognize detect extract parse format compress encrypt deploy install schedule design";

/// Reading verbs that any tool may answer.
const OPEN: [&str; 7] = ["give", "tell", "know", "explain", "look", "see", "check"];
/// Words that begin a question, which asks to read.
const QUESTIONS: &str = "what which who whom whose when where how why is are was were does do did has have";
/// Words before a verb, which say nothing about it.
const POLITE: &str = "please can could would will you we i me us to want need like d help kindly let lets just also then now \
next finally first additionally and after that";

/// What a word is at the place of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Verb { action: Option<VerbKind>, lists: bool },
    Question,
    Polite,
}

static ROLES: LazyLock<HashMap<&'static str, Role, RandomState>> = LazyLock::new(|| {
    let verb = |action, lists| Role::Verb { action, lists };
    let all = [
        (POLITE, Role::Polite),
        (QUESTIONS, Role::Question),
        (OTHER, verb(None, false)),
        (LISTING, verb(Some(VerbKind::Read), true)),
        (READING, verb(Some(VerbKind::Read), false)),
        (CREATING, verb(Some(VerbKind::Create), false)),
        (CHANGING, verb(Some(VerbKind::Change), false)),
        (DELETING, verb(Some(VerbKind::Delete), false)),
    ];
    all.iter().flat_map(|(words, role)| words.split_whitespace().map(move |word| (word, *role))).collect()
});

const CHINESE: [(VerbKind, &[&str]); 4] = [
    (
        VerbKind::Read,
        &["查询", "查看", "获取", "列出", "读取", "搜索", "查找", "检索", "显示", "浏览", "了解"],
    ),
    (VerbKind::Create, &["创建", "新建", "添加", "新增", "插入", "生成"]),
    (VerbKind::Change, &["更新", "修改", "编辑", "更改", "设置", "重命名", "调整"]),
    (VerbKind::Delete, &["删除", "移除", "清除", "清空", "卸载"]),
];

/// The role of a word: in its first form, or as in "creates" and "creating".
fn role(word: &str) -> Option<Role> {
    let known = |form: &str| ROLES.get(form).copied();
    let without = |ending: &str| word.strip_suffix(ending).filter(|base| base.len() >= 3);
    known(word).or_else(|| without("s").and_then(known)).or_else(|| {
        let base = without("ing")?;
        known(base).or_else(|| known(&format!("{base}e")))
    })
}

pub fn is_verb(word: &str) -> bool {
    matches!(ROLES.get(word), Some(Role::Verb { .. }))
}

pub fn is_polite(word: &str) -> bool {
    matches!(ROLES.get(word), Some(Role::Polite))
}

/// Whether a noun means several things.
pub fn is_plural(word: &str) -> bool {
    word.len() > 3 && word.ends_with('s') && !["ss", "us", "is", "as"].iter().any(|end| word.ends_with(end))
}

/// What the words of one clause of a query ask for.
pub struct ClauseVerb {
    pub action: Option<VerbKind>,
    /// The number of the word that says so.
    pub verb: usize,
    /// A question, or words such as "give me": what answers may do anything.
    pub is_open: bool,
}

/// Reads the words of a clause. The verb comes first, behind polite words only: "I would like to delete …".
pub fn asked<'w>(words: impl Iterator<Item = &'w str> + Clone) -> Option<ClauseVerb> {
    for (at, word) in words.clone().enumerate() {
        match ROLES.get(word)? {
            Role::Polite => {}
            Role::Question => {
                return Some(ClauseVerb { action: Some(VerbKind::Read), verb: at, is_open: true });
            }
            Role::Verb { .. } if word == "set" && words.clone().nth(at + 1) == Some("up") => {
                return Some(ClauseVerb { action: Some(VerbKind::Create), verb: at, is_open: false });
            }
            Role::Verb { action, .. } => {
                let is_open = OPEN.contains(&word);
                return Some(ClauseVerb { action: *action, verb: at, is_open });
            }
        }
    }
    None
}

/// What a Chinese text asks for: the first verb counts.
pub fn asked_in_chinese(text: &str) -> Option<VerbKind> {
    let all =
        CHINESE.iter().flat_map(|(action, verbs)| verbs.iter().map(move |verb| (text.find(verb), *action)));
    all.filter_map(|(at, action)| Some((at?, action))).min_by_key(|(at, _)| *at).map(|(_, action)| action)
}

/// What the words of a name promise, one after the other. A name begins with its verb (`list_rows`) or ends with it
/// (`row_delete`); behind a reading verb, other verbs are nouns (`get_update`), except those that delete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    pub action: Option<VerbKind>,
    /// It gives several things, as its verb or its last word says.
    pub gives_several: bool,
}

impl Promise {
    /// Takes the next word; true if it is the verb so far.
    pub fn take(&mut self, word: &str) -> bool {
        let Some(Role::Verb { action: Some(action), lists }) = role(word) else {
            self.gives_several |= self.action == Some(VerbKind::Read) && is_plural(word);
            return false;
        };
        self.gives_several |= lists;
        let is_verb =
            self.action.is_none() || action == VerbKind::Delete && self.action == Some(VerbKind::Read);
        if is_verb {
            self.action = Some(action);
        }
        is_verb
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(name: &str) -> Promise {
        let mut promise = Promise::default();
        for word in name.split('_') {
            promise.take(word);
        }
        promise
    }

    #[test]
    fn a_name_promises_what_its_verb_does() {
        for (name, action) in [
            ("list_rows", Some(VerbKind::Read)),
            ("rows_delete", Some(VerbKind::Delete)),
            ("get_update", Some(VerbKind::Read)),
            ("find_and_remove", Some(VerbKind::Delete)),
            ("creating_rows", Some(VerbKind::Create)),
            ("updates_row", Some(VerbKind::Change)),
            ("weather", None),
            ("send_mail", None),
        ] {
            assert_eq!(promise(name).action, action, "{name}");
        }
    }

    #[test]
    fn a_name_promises_one_thing_or_several() {
        let several = ["row_list", "get_rows", "search_row"].map(|name| promise(name).gives_several);
        assert_eq!(several, [true; 3]);
        let one =
            ["get_row", "row_show", "delete_rows", "get_status"].map(|name| promise(name).gives_several);
        assert_eq!(one, [false; 4]);
    }
}
