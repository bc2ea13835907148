//! Verbs that change something. Names are judged by them before a call, and tools are ranked by them: to teach the hub a verb,
//! add it to one of these lists, and names that contain it to the table in `select/effects/tests.rs`.

/// Verbs that change something and are hardly ever anything else in a name.
#[rustfmt::skip]
pub const ACTING: &[&str] = &[
    "abort", "accept", "ack", "acknowledge", "acquire", "activate", "actuate", "add", "adjust", "allocate",
    "alter", "amend", "annul", "anonymise", "anonymize", "append", "apply", "appoint", "approve", "assign",
    "attach", "authorise", "authorize", "ban", "bet", "bind", "blacklist", "borrow", "buy", "bypass", "cancel",
    "checkin", "cherrypick", "chgrp", "chmod", "chown", "cleanup", "clear", "click", "configure", "confirm",
    "confiscate", "consume", "cordon", "create", "ddos", "deactivate", "deauthorize", "decline", "decommission",
    "decrease", "decrement", "defer", "deflate", "defragment", "delegate", "delete", "delist", "deliver",
    "demolish", "demote", "deny", "deploy", "deprecate", "deprovision", "dequeue", "derail", "deregister",
    "destroy", "detach", "detonate", "dial", "disable", "disarm", "disassociate", "disband", "discard",
    "disconnect", "disengage", "dismantle", "dismiss", "dispatch", "dispense", "displace", "dispose", "disrupt",
    "dissolve", "distribute", "divert", "donate", "downgrade", "downvote", "drag", "edit", "eject", "elevate",
    "emit", "enable", "encrypt", "endorse", "enforce", "enlist", "enqueue", "enroll", "erase", "escalate",
    "evacuate", "evict", "exec", "execute", "expel", "expire", "expunge", "fill", "finalise", "finalize",
    "finetune", "flush", "follow", "forfeit", "forget", "freeze", "fulfill", "gamble", "give", "hack", "halt",
    "hibernate", "hide", "hijack", "hire", "ignite", "impersonate", "impose", "imprison", "increase", "increment",
    "infect", "inflate", "inform", "ingest", "initialise", "initialize", "initiate", "inject", "insert", "install",
    "interrupt", "intervene", "invest", "invite", "invoke", "kick", "kill", "lend", "liquidate", "login", "logout",
    "make", "manipulate", "migrate", "mkdir", "modify", "mount", "mutate", "mute", "neutralize", "nominate",
    "notify", "nuke", "nullify", "obliterate", "offboard", "offload", "onboard", "oust", "outsource", "override",
    "overrule", "overturn", "overwrite", "paste", "pause", "pay", "penalize", "persist", "poison", "postpone",
    "preorder", "promote", "prune", "publish", "punish", "purge", "put", "quarantine", "quit", "raise",
    "reactivate", "reassign", "rebase", "rebook", "reboot", "rebuild", "recalibrate", "recharge", "reclaim",
    "recompile", "reconfigure", "reconnect", "recreate", "redeem", "redeploy", "redistribute", "reduce", "refill",
    "reformat", "reimage", "reimburse", "reindex", "reinitialize", "reinstall", "reinstate", "reject", "relabel",
    "relaunch", "relinquish", "relocate", "remap", "remind", "remit", "remove", "rename", "renegotiate", "renew",
    "renounce", "reopen", "reorder", "repartition", "repay", "replace", "replenish", "replicate", "repossess",
    "repost", "reprint", "reprioritize", "reprogram", "requeue", "reschedule", "rescind", "resend", "resize",
    "resolve", "respawn", "respond", "restart", "restock", "restore", "resubmit", "resurrect", "retire", "retract",
    "retweet", "revert", "revoke", "rewrite", "rid", "rm", "rmdir", "rob", "rotate", "sabotage", "save",
    "scramble", "seize", "sell", "send", "settle", "shred", "shut", "shutdown", "signup", "silence", "snatch",
    "snooze", "spawn", "spend", "squash", "steal", "submit", "subscribe", "sudo", "surrender", "suspend",
    "symlink", "taint", "tamper", "terminate", "throttle", "throw", "topup", "torch", "transact", "transmit",
    "truncate", "umount", "unallocate", "unapprove", "unarchive", "unassign", "unban", "unbind", "unblacklist",
    "unblock", "unbook", "uncancel", "uncordon", "undelete", "undeploy", "undo", "undock", "unenroll",
    "unfavorite", "unflag", "unfollow", "unfreeze", "unfriend", "unhide", "uninstall", "uninvite", "unlike",
    "unlink", "unload", "unlock", "unmark", "unmerge", "unmount", "unmute", "unpair", "unpin", "unplug",
    "unpublish", "unregister", "unreserve", "unschedule", "unsend", "unset", "unshare", "unsnooze", "unstage",
    "unstake", "unstar", "unstash", "unsubscribe", "unsync", "untag", "untrash", "untrust", "unvote", "unwatch",
    "unwhitelist", "unzip", "upsert", "upvote", "vacuum", "vandalize", "vaporize", "veto", "wager", "whitelist",
    "wipe", "withdraw", "write", "zap", "zeroize",
];

/// Verbs that are also nouns (`get_order`), and shells and interpreters, which run anything. After a reading verb they are
/// nouns, unless a joining word makes them the second verb (`get_and_post`).
#[rustfmt::skip]
pub const ACTING_OR_NOUN: &[&str] = &[
    "airdrop", "archive", "bash", "bid", "bribe", "broadcast", "burn", "charge", "checkout", "clone", "cmd",
    "commit", "copy", "credit", "debit", "deposit", "drain", "drop", "dump", "duplicate", "email", "eval",
    "exploit", "fax", "forward", "import", "interpreter", "invoice", "kickoff", "kubectl", "launch", "lock",
    "mail", "merge", "message", "mint", "move", "order", "patch", "pop", "post", "powershell", "print",
    "provision", "purchase", "push", "pwsh", "refund", "repl", "reply", "reroute", "reset", "rollback", "rsvp",
    "run", "schedule", "sh", "share", "shell", "shutoff", "sms", "spam", "ssh", "stake", "stash", "subprocess",
    "swap", "sync", "takedown", "takeover", "teardown", "toggle", "trade", "transfer", "trash", "trigger", "tweet",
    "update", "upgrade", "upload", "vote", "wire", "zsh",
];

/// Nouns and adjectives that are verbs only where a verb is expected: at the start, or after a joining word. `book_table`
/// acts, `weather_report` does not.
#[rustfmt::skip]
pub const ACTING_WHEN_LEADING: &[&str] = &[
    "alert", "backup", "bill", "block", "book", "boot", "bump", "call", "change", "claim", "close", "command",
    "comment", "console", "crash", "cut", "dim", "discharge", "empty", "extend", "finish", "fire", "fix", "flash",
    "flip", "fork", "format", "fund", "grant", "halve", "hang", "issue", "join", "label", "leave", "lift", "log",
    "lower", "mark", "nudge", "offer", "open", "pin", "place", "play", "plug", "press", "pull", "record",
    "recycle", "register", "release", "reload", "rent", "repair", "report", "request", "reserve", "resume",
    "retry", "return", "ring", "rollout", "scale", "scrap", "set", "ship", "sign", "skip", "slow", "snap", "spin",
    "spray", "stamp", "start", "steer", "stop", "store", "strike", "strip", "swipe", "switch", "tag", "take",
    "terminal", "tune", "turn", "unset", "void", "wake", "warn",
];

/// Chinese and Japanese verbs that change something.
#[rustfmt::skip]
pub const ACTING_WIDE: &[&str] = &[
    "上传", "上傳", "上架", "上线", "下单", "下架", "下线", "买入", "买票", "予約", "交易", "付费", "付钱",
    "作成", "保存", "修复", "修改", "借款", "停机", "停止", "停用", "傳送", "儲存", "充值", "关掉", "关机",
    "关灯", "关门", "关闭", "写入", "写文件", "冻结", "出售", "分享", "创建", "创立", "删库", "删掉", "删除",
    "刪掉", "刪除", "削除", "剔除", "剪切", "創建", "加入", "加好友", "加载", "卖出", "卖股", "卸下", "卸载",
    "发出", "发到", "发帖", "发微博", "发推", "发消息", "发短信", "发红包", "发给", "发货", "发送", "发邮件", "取款", "取消",
    "变卖", "变更", "同意", "启动", "启用", "呼叫", "啟動", "回复", "回滚", "執行", "変更", "复制", "存储",
    "存款", "定闹钟", "实行", "実行", "审批", "寄信", "寄出", "寄送", "寫入", "封号", "封禁", "屏蔽", "广播",
    "廣播", "建群", "建表", "开启", "开机", "开灯", "开门", "归档", "录入", "恢复", "打印", "打开", "打款", "打电话",
    "扣款", "扣费", "扣除", "执行", "批准", "抛售", "抢票", "抢购", "报名", "抹除", "拉黑", "拍下", "拒绝",
    "拨打", "挂号", "指派", "接受", "授权", "推送", "提款", "提现", "撤单", "撤回", "撤销", "擦除", "支付", "改写",
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
pub const ACTING_OR_NOUN_WIDE: &[&str] = &[
    "付款", "关注", "减少", "分配", "发布", "合并", "增加", "备份", "安排", "安装", "投票", "投资", "提交",
    "收款", "更新", "生成订单", "登录", "竞价", "订阅", "记录", "设置", "评论", "贷款", "预约", "预订",
];
