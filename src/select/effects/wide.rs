//! Verbs in names that are written without spaces: Chinese, Japanese, Korean.

use super::verbs::Verb;

/// Chinese and Japanese verbs that change something.
#[rustfmt::skip]
const ACTING_WIDE: &[&str] = &[
    "上传", "上傳", "上架", "上线", "下单", "下架", "下线", "买入", "买票", "予約", "交易", "付费", "付钱",
    "作成", "保存", "修复", "修改", "借款", "停机", "停止", "停用", "傳送", "儲存", "充值", "关掉", "关机",
    "关灯", "关门", "关闭", "写入", "写文件", "冻结", "出售", "分享", "创建", "创立", "删库", "删掉", "删除",
    "刪掉", "刪除", "削除", "剔除", "剪切", "創建", "加入", "加好友", "加载", "卖出", "卖股", "卸下", "卸载",
    "发出", "发帖", "发微博", "发推", "发消息", "发短信", "发红包", "发货", "发送", "发邮件", "取款", "取消",
    "变卖", "变更", "同意", "启动", "启用", "呼叫", "啟動", "回复", "回滚", "執行", "変更", "复制", "存储",
    "存款", "定闹钟", "实行", "実行", "审批", "寄信", "寄出", "寄送", "寫入", "封号", "封禁", "屏蔽", "广播",
    "廣播", "建群", "建表", "开机", "开灯", "开门", "归档", "录入", "恢复", "打印", "打开", "打款", "打电话",
    "扣款", "扣费", "扣除", "执行", "批准", "抛售", "抢票", "抢购", "报名", "抹除", "拉黑", "拍下", "拒绝",
    "拨打", "挂号", "指派", "授权", "推送", "提款", "提现", "撤单", "撤回", "撤销", "擦除", "支付", "改写",
    "改名", "改密", "改签", "断开", "断电", "新增", "新建", "暂停", "更改", "替换", "格式化", "汇款", "汇钱",
    "注册", "注文", "注销", "派单", "添加", "清库", "清洗", "清理", "清空", "清除", "清零", "激活", "点赞",
    "点餐", "登出", "登记", "登録", "發信", "發布", "發貨", "發送", "發郵件", "盖章", "禁用", "禁言", "秒杀",
    "移交", "移动", "移動", "移除", "签到", "签字", "签收", "签署", "粘贴", "終止", "結帳", "綁定", "终止",
    "绑定", "结账", "编辑", "置顶", "群发", "群發", "装载", "覆盖", "解冻", "解散", "解绑", "解锁", "解雇",
    "訂購", "註冊", "订票", "订购", "设定", "设闹钟", "调低", "调整", "调用", "调高", "購入", "購買", "质押",
    "购买", "赎回", "踢人", "踢出", "轉帳", "轉移", "转入", "转出", "转发", "转帐", "转移", "转让", "转账",
    "转钱", "辞退", "迁移", "运行", "还原", "还款", "追加", "退出", "退款", "退票", "退订", "退货", "送信",
    "送金", "通知", "邀请", "部署", "重写", "重启", "重命名", "重新启动", "重置", "重装", "重试", "销毁",
    "锁定", "锁门", "開啟", "開單", "開門", "開除", "關閉", "預訂", "预定", "點餐", "삭제", "입금", "전송",
];

/// Chinese verbs that are often nouns, as 更新 in 查询更新.
#[rustfmt::skip]
const ACTING_OR_NOUN_WIDE: &[&str] = &[
    "付款", "关注", "减少", "分配", "发布", "合并", "增加", "备份", "安排", "安装", "投票", "投资", "提交",
    "收款", "更新", "生成订单", "登录", "竞价", "订阅", "记录", "设置", "评论", "贷款", "预约", "预订",
];

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
