//! Verbs that mean the opposite of each other: who turned the lights off did not turn them on.

use super::tables::synonyms;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;
use toolhub_text::{ACTING, ACTING_OR_NOUN, ACTING_WHEN_LEADING, strong_stem, words};

const PAIRS: &str = "on off, open close, start stop, enable disable, activate deactivate, increase decrease, raise lower, \
connect disconnect, encrypt decrypt, upload download, import export, attach detach, pause resume, arm disarm, accept decline, accept reject, \
approve reject, allow deny, grant revoke, show hide, expand collapse, login logout, push pull, buy sell, mount umount, engage disengage, \
compress decompress, promote demote, upgrade downgrade, freeze thaw, begin end, join leave";

/// Those of the table, and verbs with and without `un` in front.
fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let paired = PAIRS.split(',').filter_map(|pair| pair.trim().split_once(' '));
    let acting = ACTING.iter().chain(ACTING_OR_NOUN).chain(ACTING_WHEN_LEADING);
    paired.chain(acting.filter_map(|verb| Some((verb.strip_prefix("un")?, *verb))))
}

/// Verbs of both languages: whoever does one of the first has not done one of the others.
const VERB_SIDES: &[(&str, &str)] = &[
    (
        "on open start enable activate 打开 开启 開啟 开灯 开门 開門 开机 启动 啟動 启用 激活",
        "off close shut shutdown stop disable deactivate 关闭 關閉 关掉 关灯 关门 关机 停止 停用 停机 禁用",
    ),
    ("accept approve allow 接受 同意 批准", "reject decline deny refuse 拒绝"),
    ("increase raise 增加 调高", "decrease lower reduce 减少 调低"),
    ("buy purchase 买入 买票 购买 購買 订购", "sell 卖出 卖股 出售 抛售 变卖"),
    ("lock 锁定 锁门", "unlock 解锁"),
    ("install 安装", "uninstall 卸载"),
    ("subscribe 订阅", "unsubscribe 退订"),
    ("block 屏蔽 拉黑", "unblock"),
    ("freeze 冻结", "unfreeze thaw 解冻"),
    ("bind 绑定 綁定", "unbind 解绑"),
    ("login 登录", "logout 登出"),
    ("upload 上传 上傳", "download 下载"),
];

/// A pair of opposites, and which of the two.
pub type Side = (usize, bool);

/// Stems of verbs, and where they stand in pairs of opposites.
static SIDES: LazyLock<HashMap<String, Vec<Side>>> = LazyLock::new(|| {
    let mut sides: HashMap<String, Vec<Side>> = HashMap::new();
    for (pair, (one, other)) in VERB_SIDES.iter().copied().chain(pairs()).enumerate() {
        for (words, is_first) in [(one, true), (other, false)] {
            for word in words.split(' ') {
                sides.entry(strong_stem(word).into_owned()).or_default().push((pair, is_first));
            }
        }
    }
    sides
});

/// On which sides a verb stands, with its "on" or "off" in the rest of a clause or of a name: "turned the light off", `turn_off`.
pub fn sides(verb: &str, rest: &str) -> BTreeSet<Side> {
    let stem = strong_stem(verb).into_owned();
    let same = synonyms(&stem).iter().chain([&stem]);
    let own = same.filter_map(|stem| SIDES.get(stem));
    own.chain(particles(rest).iter().filter_map(|word| SIDES.get(word))).flatten().copied().collect()
}

/// The words "on" and "off" that belong to a verb: "on" before a name or an article is about a place.
fn particles(rest: &str) -> Vec<String> {
    let is_particle = |word: &String| matches!(&**word, "on" | "off");
    let clause = rest.split(['.', ',', ';', '!', '?', '，', '。', '；', '\n']).next().unwrap_or_default();
    let tokens: Vec<&str> = clause.split_whitespace().take(8).collect();
    if let [name] = tokens[..] {
        return words(name).into_iter().filter(is_particle).collect();
    }
    let is_object = |word: &str| {
        matches!(
            word,
            "the" | "a" | "an" | "your" | "our" | "my" | "their" | "this" | "that" | "all" | "each"
        ) || !word.starts_with(|c: char| c.is_ascii_lowercase())
    };
    let belongs = |at: usize| at == 0 || tokens.get(at + 1).is_none_or(|next| !is_object(next));
    let found = tokens.iter().enumerate().filter(|(at, word)| **word == "off" || belongs(*at));
    found.map(|(_, word)| (*word).to_owned()).filter(is_particle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposites_come_from_the_table_and_from_un() {
        for pair in [("on", "off"), ("lock", "unlock"), ("subscribe", "unsubscribe"), ("start", "stop")] {
            assert!(pairs().any(|known| known == pair), "{pair:?}");
        }
    }

    #[test]
    fn verbs_stand_on_sides_in_both_languages() {
        let against = |one: BTreeSet<Side>, other: &BTreeSet<Side>| {
            one.is_disjoint(other) && one.iter().any(|(pair, is_first)| other.contains(&(*pair, !is_first)))
        };
        let off = sides("turn", " the light off.");
        for (verb, rest) in [("turn", "turn_on_light"), ("打开", ""), ("enable", ""), ("launch", "")] {
            assert!(against(sides(verb, rest), &off), "{verb}");
        }
        for (verb, rest) in [("turn", " off the lamp on the left"), ("关灯", ""), ("stop", ""), ("turn", "")]
        {
            assert!(!against(sides(verb, rest), &off), "{verb}");
        }
        assert!(against(sides("archive", ""), &sides("unarchive", "")));
        assert!(against(sides("解锁", ""), &sides("lock", "lock_door")));
        assert!(!against(sides("解锁", ""), &sides("unlock", "unlock_door")));
        assert!(sides("silence", " the alarm on the roof").is_empty());
        assert!(particles(" it to the team on Slack").is_empty());
    }
}
