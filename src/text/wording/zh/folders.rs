//! Notices about folders of tools and skills, and about the store.

pub(super) const FOLDERS: &[(&str, &str)] = &[
    // Skills
    (
        "{~}; the skill stays listed as it was, but a call reads the file as it is",
        "{0}；技能仍按原样列出，但调用时会读取当前文件",
    ),
    ("its name '{}' is taken by {~}", "它的名称 '{0}' 已被{1}使用"),
    ("a tool has its name '{}' too", "有工具与它同名：'{0}'"),
    ("the skill in {}", "{0} 中的技能"),
    ("another skill", "另一个技能"),
    ("its compatibility has more than {} characters", "它的 compatibility 超过 {0} 个字符"),
    ("it has no name, so its folder's name is used", "它没有名称，因此使用文件夹的名称"),
    ("its name is a number; put it in quotes", "它的名称是数字；请加引号"),
    ("its name must be text, got {~}", "它的名称必须是文本，实际为{0}"),
    ("its name {} has characters that a name may not contain", "它的名称 {0} 含有不允许的字符"),
    ("its name has {} characters, {} are allowed", "它的名称有 {0} 个字符，最多允许 {1} 个"),
    ("its name has {} characters, the format allows {}", "它的名称有 {0} 个字符，格式最多允许 {1} 个"),
    (
        "its name '{}' should consist of lower-case letters and digits, with single hyphens between them",
        "它的名称 '{0}' 应由小写字母、数字和其间的单个连字符组成",
    ),
    ("its name '{}' should match its folder, '{}'", "它的名称 '{0}' 应与文件夹名 '{1}' 相同"),
    ("its description must be text, got {~}", "它的描述必须是文本，实际为{0}"),
    ("it has no description; say when to use it", "它没有描述；请说明何时使用"),
    ("its description has {} characters, the format allows {}", "它的描述有 {0} 个字符，格式最多允许 {1} 个"),
    ("its {} should be true or false, not {~}", "它的 {0} 应为 true 或 false，而不是{1}"),
    ("its metadata '{}' should be text", "它的元数据 '{0}' 应为文本"),
    ("its metadata must be a mapping, got {~}", "它的元数据必须是映射，实际为{0}"),
    (
        "its allowed-tools must be text or a list of texts, got {~}",
        "它的 allowed-tools 必须是文本或文本列表，实际为{0}",
    ),
    ("its {} must be text, got {~}", "它的 {0} 必须是文本，实际为{1}"),
    ("a truth value", "布尔值"),
    ("its front matter is not YAML: {}", "它的 front matter 不是 YAML：{0}"),
    ("its front matter is longer than {} bytes", "它的 front matter 超过 {0} 字节"),
    (
        "its front matter is not YAML; values with a colon inside need quotes",
        "它的 front matter 不是 YAML；含有冒号的值需要加引号",
    ),
    ("only the first {} folders were looked at", "只查看了前 {0} 个文件夹"),
    ("it cannot be read: {}", "无法读取：{0}"),
    ("it has no SKILL.md", "其中没有 SKILL.md"),
    ("its file should be called SKILL.md, not {}", "它的文件应名为 SKILL.md，而不是 {0}"),
    ("its {} is a broken link", "它的 {0} 是失效的链接"),
    ("its {} is a folder", "它的 {0} 是文件夹"),
    ("its {} cannot be read: {}", "它的 {0} 无法读取：{1}"),
    // Python files
    ("it {~}; give a folder of {}", "它{0}；请给出 {1} 的文件夹"),
    ("is not a folder", "不是文件夹"),
    ("does not exist", "不存在"),
    ("is a broken link", "是失效的链接"),
    ("is a folder", "是文件夹"),
    (
        "a folder with a dot in its name cannot be imported; call it {}",
        "名称中带点的文件夹无法导入；请命名为 {0}",
    ),
    (
        "a file with a dot in its name cannot be imported; call it {}",
        "名称中带点的文件无法导入；请命名为 {0}",
    ),
    (
        "only files whose name ends in '.py' are imported; call it {}",
        "只导入名称以 '.py' 结尾的文件；请命名为 {0}",
    ),
    (
        "nothing in it is marked or has name, description and execute",
        "其中没有带标记的内容，也没有带 name、description 和 execute 的对象",
    ),
    ("{} is not a tool: {}", "{0} 不是工具：{1}"),
    ("the name '{}' of {} is taken by {}", "{1} 的名称 '{0}' 已被 {2} 使用"),
    ("the name '{}' of {} is taken", "{1} 的名称 '{0}' 已被使用"),
    ("the folder of the same name beside it hides it from Python", "旁边的同名文件夹使 Python 看不到它"),
    ("{} has a name that cannot be read: {}", "{0} 没有给出名称：{1}"),
    ("the class {} has execute() but no name", "类 {0} 有 execute() 但没有 name"),
    (
        "the class {} needs arguments; make an object of it in the module",
        "类 {0} 需要参数；请在模块中创建它的对象",
    ),
    ("no object of the class {} could be made: {}", "无法创建类 {0} 的对象：{1}"),
    ("it called sys.exit({}) when it was imported (line {})", "它在导入时调用了 sys.exit({0})（第 {1} 行）"),
    ("it called sys.exit({}) when it was imported", "它在导入时调用了 sys.exit({0})"),
    // The store
    (
        "The store '{}' cannot be used ({~}); everything stays in memory, and tools of servers with `pin` are refused until \
         hub.pins.accept() accepts them.",
        "存储 '{0}' 无法使用（{1}）；一切保留在内存中，带有 `pin` 的服务器的工具会被拒绝，直到 hub.pins.accept() 接受它们。",
    ),
    (
        "Runs, approvals and new pins are refused in the store '{}': {~}.",
        "存储 '{0}' 拒绝运行、批准和新的 pin：{1}。",
    ),
    (
        "it is not the store that was here before, or an older copy of it: look at what has happened, then accept it with \
         'toolhub store accept --store {}'",
        "它不是之前的存储，或是其较旧的副本：请查明发生了什么，然后用 'toolhub store accept --store {0}' 接受它",
    ),
    ("{~}. If the store is lost, that is not noticed.", "{0}。如果存储丢失，将不会被发现。"),
    ("The store '{}' cannot be accepted ({~}).", "无法接受存储 '{0}'（{1}）。"),
    (
        "The store '{}' cannot be written ({~}); changes wait in memory.",
        "存储 '{0}' 无法写入（{1}）；更改在内存中等待。",
    ),
    ("The store '{}' {~}; this hub continues in memory.", "存储 '{0}' {1}；此 hub 在内存中继续。"),
    (
        "The store has another result with the handle '{}'; the new one is not stored.",
        "存储中已有句柄为 '{0}' 的另一个结果；新结果不会保留。",
    ),
    ("was removed or replaced while it was in use", "在使用中被删除或替换"),
    ("cannot be used: {~}", "无法使用：{0}"),
    ("it is damaged ({})", "它已损坏（{0}）"),
    ("it is not a file", "它不是文件"),
    ("it is read-only", "它是只读的"),
    ("it is closed", "它已关闭"),
    ("its thread cannot be started", "无法启动它的线程"),
    (
        "it was written by a later version of toolhub (its tables are at {}, ours at {})",
        "它由更新版本的 toolhub 写入（它的表版本为 {0}，我们的为 {1}）",
    ),
    (
        "it is another program's database; give the hub its own file",
        "它是其他程序的数据库；请给 hub 一个自己的文件",
    ),
    ("other processes keep it locked ({})", "其他进程一直锁定它（{0}）"),
    // Last, because other sentences begin with the same word.
    ("it {~}", "它{0}"),
];
