//! Verbs in names that are written without spaces: Chinese, Japanese, Korean.

use super::verbs::Verb;
use crate::text::{ACTING_OR_NOUN_WIDE, ACTING_WIDE};

/// Chinese verbs that only read, at the start of a name.
#[rustfmt::skip]
pub const READING_WIDE: &[&str] = &[
    "分析", "列出", "列表", "总结", "推荐", "提取", "搜寻", "搜尋", "搜索", "显示", "查找", "查看", "查詢",
    "查询", "检索", "検索", "比较", "浏览", "獲取", "统计", "翻譯", "翻译", "获取", "解释", "計算", "讀取",
    "计算", "识别", "读取", "转换", "预测",
];

/// Chinese verbs of one character. They count at the start of a name, when no longer word of [`NOT_ONE_CHARACTER`] starts there.
#[rustfmt::skip]
const ONE_CHARACTER: &[&str] = &[
    "买", "付", "传", "借", "停", "傳", "充", "关", "写", "删", "刪", "加", "匯", "卖", "卸", "发", "存", "寄",
    "寫", "封", "建", "打", "扣", "抢", "拍", "拨", "换", "撤", "改", "汇", "清", "發", "禁", "移", "签", "装",
    "訂", "設", "订", "设", "買", "賣", "贷", "踢", "轉", "转", "还", "退", "送", "鎖", "锁", "關",
];

/// Words that start with such a character and are not its action.
#[rustfmt::skip]
const NOT_ONE_CHARACTER: &[&str] = &[
    "买家", "买方", "付款", "传感", "传真", "传统", "传记", "传说", "借鉴", "停机坪", "停电", "停车", "充电桩",
    "关于", "关注", "关系", "关联", "关键", "写作", "加减", "加密货币", "加州", "加拿大", "加权", "加油站",
    "加法", "匯率", "卖家", "卖方", "发型", "发展", "发明", "发现", "发票", "发育", "发行", "发言", "发音",
    "存在", "存货", "存量", "封装", "封面", "建材", "建模", "建筑", "建议", "打工", "打折", "打车", "抢手",
    "拍卖", "换乘", "换算", "改进建议", "改革", "汇总", "汇率", "清代", "清华", "清单", "清明", "發現", "發票",
    "發音", "禁忌", "移民", "签名验证", "签证", "装修", "装备", "訂單", "設備", "設計", "订单", "设备", "设施",
    "设置", "设计", "轉換", "转录", "转折", "转换", "还是", "还有", "退休", "退税", "送货", "關係", "關於",
    "關鍵",
];

/// Chinese words that are followed by another verb.
#[rustfmt::skip]
const JOINING_WIDE: &[&str] = &[
    "再", "及", "后", "和", "并", "然后",
];

/// The acting verb in a run of such characters. `is_object`: a reading verb stands before it.
pub fn acting_wide(word: &str, is_object: bool) -> Option<Verb> {
    let verb = ACTING_WIDE.iter().copied().find(|verb| word.contains(verb));
    let reading = READING_WIDE.iter().find(|verb| word.starts_with(**verb));
    let object = reading.map_or(word, |verb| &word[verb.len()..]);
    let joins = JOINING_WIDE.iter().any(|joining| object.contains(joining));
    let is_object = is_object || reading.is_some() && !joins;
    let or_noun = || ACTING_OR_NOUN_WIDE.iter().copied().find(|verb| object.contains(verb));
    let one_character = || match NOT_ONE_CHARACTER.iter().any(|noun| word.starts_with(noun)) {
        true => None,
        false => ONE_CHARACTER.iter().copied().find(|verb| word.starts_with(verb)),
    };
    match is_object {
        true => verb,
        false => verb.or_else(or_noun).or_else(one_character),
    }
}
