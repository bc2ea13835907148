//! Deeds in a text: past forms of the verbs by which names are judged before a call, and words that mean the same.

use super::bilingual::DICTIONARY;
use super::intent::{VERBS, WIDE_VERBS, wide_verb};
use super::tables::{is_stop, synonyms};
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;
use toolhub_text::{RunKind, first_run, strong_stem, words};

/// Past forms that no rule gives. Verbs whose meaning is in their object ("made sure", "took a look") are left out: they claim
/// nothing.
#[rustfmt::skip]
const IRREGULAR: &[(&str, &str)] = &[
    ("bought", "buy"), ("bound", "bind"), ("broadcast", "broadcast"), ("cut", "cut"), ("forgotten", "forget"), ("froze", "freeze"),
    ("frozen", "freeze"), ("hid", "hide"), ("hidden", "hide"), ("lent", "lend"), ("overwritten", "overwrite"),
    ("overwrote", "overwrite"), ("paid", "pay"), ("quit", "quit"), ("ran", "run"), ("rebuilt", "rebuild"), ("repaid", "repay"),
    ("resent", "resend"), ("reset", "reset"), ("rewritten", "rewrite"), ("rewrote", "rewrite"), ("sent", "send"), ("set", "set"),
    ("shut", "shut"), ("sold", "sell"), ("spent", "spend"), ("undid", "undo"), ("undone", "undo"), ("unset", "unset"),
    ("withdrawn", "withdraw"), ("withdrew", "withdraw"), ("woken", "wake"), ("written", "write"), ("wrote", "write"),
];

/// A verb that changes something, in a form that says that it was done; in Chinese verbs have one form.
#[derive(Debug, PartialEq, Eq)]
pub struct Deed {
    /// Where it stands, in characters.
    pub start: usize,
    pub end: usize,
    pub verb: &'static str,
}

/// The deeds in a text.
pub fn deeds_in(text: &str) -> Vec<Deed> {
    let (mut found, mut rest, mut start) = (Vec::new(), text, 0);
    while let Some((kind, len)) = first_run(rest) {
        let (run, next) = rest.split_at(len);
        let end = start + run.chars().count();
        match kind {
            RunKind::Narrow => found.extend(past_of(run).map(|verb| Deed { start, end, verb })),
            RunKind::Wide => wide_deeds(run, start, &mut found),
            RunKind::Mark => {}
        }
        (rest, start) = (next, end);
    }
    found
}

/// The verb of which a word is a past form.
fn past_of(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    if let Some((_, verb)) = IRREGULAR.iter().find(|(form, _)| *form == word) {
        return Some(verb);
    }
    let stem = word.strip_suffix("ed")?;
    // "shipp" for "ship".
    let last = stem.chars().next_back()?;
    let once = stem.strip_suffix(last).filter(|once| once.ends_with(last)).map(str::to_owned);
    let with_y = stem.strip_suffix('i').map(|stem| format!("{stem}y"));
    let bases = [Some(stem.to_owned()), Some(format!("{stem}e")), with_y, once];
    bases.into_iter().flatten().find_map(|base| VERBS.get_key_value(&*base)).map(|(verb, _)| *verb)
}

/// The longest verbs in a run of Chinese characters, from left to right.
fn wide_deeds(run: &str, from: usize, found: &mut Vec<Deed>) {
    let (mut rest, mut start) = (run, from);
    while let Some(c) = rest.chars().next() {
        let (width, len) = match wide_verb(rest) {
            Some(verb) => {
                let width = verb.chars().count();
                found.push(Deed { start, end: start + width, verb });
                (width, verb.len())
            }
            None => (1, c.len_utf8()),
        };
        if width == 1 {
            found.extend(split_deed(run, run.len() - rest.len(), start));
        }
        (rest, start) = (&rest[len..], start + width);
    }
}

/// A verb whose first character stands alone before 了: 关了灯 and 灯关了 are 关灯, 订好了 is 订票. Its object tells which verb it
/// is; without one, all verbs that begin so have to mean the same for the most part.
fn split_deed(run: &str, at: usize, start: usize) -> Option<Deed> {
    let (before, rest) = run.split_at(at);
    let head = rest.chars().next()?;
    let mut after = &rest[head.len_utf8()..];
    let complement = after.chars().next().filter(|c| "好完掉".contains(*c));
    after = after.strip_prefix(complement.unwrap_or('了')).filter(|_| complement.is_some()).unwrap_or(after);
    let object = after.strip_prefix('了')?;
    // 出发了: the character ends another word.
    let word: String = before.chars().next_back().into_iter().chain([head]).collect();
    if word.chars().count() == 2
        && DICTIONARY.read().is_some_and(|dictionary| dictionary.find(&word).is_some())
    {
        return None;
    }
    let near = if object.is_empty() { before } else { object };
    let verbs = WIDE_VERBS.get(&head).into_iter().flatten();
    let named = verbs.copied().find(|verb| near.contains(&verb[head.len_utf8()..]));
    let verb = named.or_else(|| HEADS.get(&head).copied())?;
    Some(Deed { start, end: start + 1 + usize::from(complement.is_some()), verb })
}

/// The first characters of several verbs, more than half of which have a meaning in common; and one that has it.
static HEADS: LazyLock<HashMap<char, &'static str>> = LazyLock::new(|| {
    let shared = |verbs: &[&'static str]| {
        let means: Vec<_> = verbs.iter().map(|verb| meanings(verb)).collect();
        let has = |meaning: &String| means.iter().filter(|all| all.contains(meaning)).count();
        let (most, meaning) = means.iter().flatten().map(|meaning| (has(meaning), meaning)).max()?;
        let of = means.iter().position(|all| all.contains(meaning))?;
        (2 * most > verbs.len()).then(|| verbs[of])
    };
    let heads = WIDE_VERBS.iter().filter(|(_, verbs)| verbs.len() > 1);
    heads.filter_map(|(head, verbs)| Some((*head, shared(verbs)?))).collect()
});

/// Verbs that do the same to a thing, whatever they mean beside it.
const SAME_DEED: &[(&str, &str)] = &[
    ("=create", "create add insert generate build register provision append 创建 新建 添加 新增 插入 生成"),
    (
        "=change",
        "update modify edit change set rename patch alter configure enable disable adjust resize replace upgrade move lock \
         unlock 更新 修改 编辑 更改 设置 重命名 调整",
    ),
    (
        "=delete",
        "delete remove drop erase purge destroy clear uninstall wipe unregister empty prune discard trash kill 删除 移除 清除 \
         清空 卸载 删掉",
    ),
];

fn deed_of(verb: &str) -> Option<String> {
    let same = SAME_DEED.iter().find(|(_, verbs)| verbs.split_whitespace().any(|known| known == verb));
    same.map(|(deed, _)| (*deed).to_owned())
}

/// What the words of a name or a verb mean: their stems, those of their synonyms, what they are in the other language, and the
/// kind of verb. Two that mean the same have one in common.
pub fn meanings(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for word in words(text) {
        if word.is_ascii() {
            found.extend(deed_of(&word));
            found.insert(strong_stem(&word).into_owned());
            continue;
        }
        let mut deeds = Vec::new();
        wide_deeds(&word, 0, &mut deeds);
        for deed in deeds {
            found.extend(deed_of(deed.verb));
            found.insert(deed.verb.to_owned());
        }
        let translated = DICTIONARY.read().map(|dictionary| dictionary.split(&word)).unwrap_or_default();
        found.extend(
            translated.iter().flat_map(|word| word.english()).map(|word| strong_stem(word).into_owned()),
        );
        found.insert(word);
    }
    let same: Vec<String> = found.iter().flat_map(|stem| synonyms(stem)).cloned().collect();
    found.extend(same);
    found
}

/// Whether a text names something that another one does not: an English word other than grammar, or a Chinese character.
pub fn names_more(said: &str, known: &str) -> bool {
    let means = meanings(known);
    words(said).iter().any(|word| match word.is_ascii() {
        true => !is_stop(word) && !means.contains(&*strong_stem(word)),
        false => word.chars().any(|c| !known.contains(c)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verbs(text: &str) -> Vec<&'static str> {
        deeds_in(text).iter().map(|deed| deed.verb).collect()
    }

    #[test]
    fn past_forms_are_deeds() {
        assert_eq!(
            verbs("I sent it, shipped, cancelled, applied, archived and wrote."),
            ["send", "ship", "cancel", "apply", "archive", "write"]
        );
        assert_eq!(verbs("Send it, read it, need it, seed it, made sure, and run."), [""; 0]);
    }

    #[test]
    fn chinese_verbs_are_deeds_where_they_stand() {
        let found = deeds_in("邮件已发送，并更新了 x");
        assert_eq!(
            found.iter().map(|deed| (deed.start, deed.verb)).collect::<Vec<_>>(),
            [(3, "发送"), (7, "更新")]
        );
    }

    #[test]
    fn a_chinese_verb_and_its_object_may_stand_apart() {
        for (said, verb) in
            [("我给他发了邮件", "发邮件"), ("灯关了", "关灯"), ("机票订好了", "订票"), ("打了电话", "打电话")]
        {
            assert_eq!(verbs(said), [verb], "{said}");
        }
        assert_eq!(verbs("他发现了问题，完成了，除了他，用了三秒"), [""; 0]);
    }

    #[test]
    fn both_languages_mean_the_same() {
        assert!(!meanings("发送").is_disjoint(&meanings("send_mail")));
        assert!(!meanings("删除").is_disjoint(&meanings("removeFile")));
        assert!(!meanings("清空").is_disjoint(&meanings("wipe_disk")));
        assert!(meanings("delete").is_disjoint(&meanings("send_mail")));
    }
}
