//! What the command `toolhub` says: problems, what was done, and the advice of `doctor`.

/// A place and what is wrong there, forms that many notices have.
pub(super) const PLACES: &[(&str, &str)] = &[
    ("'{}': {~}", "'{0}'：{1}"),
    ("server '{}': {~}", "服务器 '{0}'：{1}"),
    ("server '{}' {~}", "服务器 '{0}' {1}"),
    ("`{}` {~}", "`{0}` {1}"),
];

pub(super) const COMMAND_LINE: &[(&str, &str)] = &[
    // Usage
    ("{~}; '{} --help' shows the usage", "{0}；用 '{1} --help' 查看用法"),
    ("unknown command '{}' (did you mean '{}'?)", "没有命令 '{0}'，最接近的是 '{1}'"),
    ("unknown command '{}'", "没有命令 '{0}'"),
    (
        "an argument is key=text, key:=json, @file or a JSON object, got '{}'",
        "参数应为 key=文本、key:=json、@文件 或 JSON 对象，实际为 '{0}'",
    ),
    ("'{}=' expects JSON, got '{}': {}", "'{0}=' 需要 JSON，实际为 '{1}'：{2}"),
    ("-k must be 0 or more, got {}", "-k 应不小于 0，实际为 {0}"),
    ("the arguments in {~} must be a JSON object, got {}", "{0} 中的参数应为 JSON 对象，实际为 {1}"),
    ("the arguments in {~} are not valid JSON: {}", "{0} 中的参数不是 JSON：{1}"),
    ("the command line", "命令行"),
    (
        "{} is for HTTP; add --http, or leave it out to serve on stdio",
        "{0} 用于 HTTP；请加上 --http，或去掉它以在 stdio 上提供服务",
    ),
    ("`serve` in a configuration file cannot have '{}'", "配置文件中的 `serve` 不能有 '{0}'"),
    ("the command ran, but its output cannot be written: {}", "命令已执行，但其输出无法写入：{0}"),
    // Files
    ("there is no store at '{}'; name one with --store", "'{0}' 处没有存储；请用 --store 指定"),
    ("the file '{}' is not valid JSON: {}", "文件 '{0}' 不是 JSON：{1}"),
    ("the file '{}' cannot be read: {}", "无法读取文件 '{0}'：{1}"),
    ("the file '{}' cannot be written: {}", "无法写入文件 '{0}'：{1}"),
    ("the file '{}' is not valid UTF-8", "文件 '{0}' 不是 UTF-8 文本"),
    ("is not valid TOML: {}.", "不是有效的 TOML：{0}。"),
    ("is not valid YAML: {}", "不是有效的 YAML：{0}"),
    ("is not valid UTF-8.", "不是有效的 UTF-8。"),
    (
        "there is no configuration; name a file with --config, or run 'toolhub import'",
        "没有配置；请用 --config 指定文件，或运行 'toolhub import'",
    ),
    // Servers and tools
    (
        "there is no server; name a file with --config, or run 'toolhub import'",
        "没有服务器；请用 --config 指定文件，或运行 'toolhub import'",
    ),
    ("unknown server '{}'; the configuration has no servers", "没有服务器 '{0}'；配置中没有任何服务器"),
    ("unknown server '{}'; known servers: {}", "没有服务器 '{0}'；现有 {1}"),
    ("unknown tool '{}' in the given sources", "所给来源中没有工具 '{0}'"),
    ("unknown tool '{}'; did you mean {|}?", "没有工具 '{0}'；相近的有 {1}"),
    ("unknown tool '{}'", "没有工具 '{0}'"),
    ("there is no tool to export", "没有可导出的工具"),
    ("the tools of '{}' are missing: {~}", "缺少 '{0}' 的工具：{1}"),
    ("run 'toolhub login {}' first", "请先运行 'toolhub login {0}'"),
    ("no tool fits '{}'", "没有适合 '{0}' 的工具"),
    (
        "no calls of the tools in the given sources are recorded; see --config, --tools and --skills",
        "没有对所给来源中工具的调用记录；见 --config、--tools 和 --skills",
    ),
    ("'{}' is left out: {}", "略去 '{0}'：{1}"),
    ("1 tool written to {}", "已将 1 个工具写入 {0}"),
    ("serving 1 tool at {}", "正在 {0} 提供 1 个工具"),
    ("{} tools written to {}", "已将 {0} 个工具写入 {1}"),
    (
        "server '{}' of {} starts 'toolhub serve', which would start itself; give it a --config",
        "{1} 的服务器 '{0}' 启动 'toolhub serve'，它会启动自身；请给它 --config",
    ),
    ("'{}' is left out, because it is toolhub itself", "略去 '{0}'，因为它就是 toolhub"),
    ("serving {} tools at {}", "正在 {1} 提供 {0} 个工具"),
    (
        "inspector at {}; run in a terminal or with --json to see its key",
        "检查器位于 {0}；其密钥在终端上显示，也可用 --json 取得",
    ),
    ("inspector at {}", "检查器位于 {0}"),
    ("sign in at {}", "请在 {0} 登录"),
    ("signed in at {}", "已登录 {0}"),
    ("connected to {} (no login required)", "已连接 {0}；它不需要登录"),
    ("no tool '{}' of '{}' is pinned", "'{1}' 的工具 '{0}' 没有被固定"),
    (
        "no tool is pinned; set `pin` to true under `toolhub` of a server",
        "没有固定的工具；请在服务器的 `toolhub` 下将 `pin` 设为 true",
    ),
    ("changed definitions accepted: {}", "已接受的改变的定义数：{0}"),
    // Approvals and recordings
    ("approved {}", "已批准 {0}"),
    ("denied {}", "已拒绝 {0}"),
    ("settled {}: {}", "已处理 {0}：{1}"),
    ("accepted {}; its open runs and approvals have ended", "已接受 {0}；其中未完成的运行和批准已结束"),
    (
        "there is nothing to accept: {} is the store that was here before",
        "没有需要接受的：{0} 就是之前的存储",
    ),
    (
        "calls with an unknown outcome: {}; check them, then run 'toolhub settle ID done', 'failed' or 'again'",
        "可能已经发生的调用数：{0}；请查看实际情况，然后运行 'toolhub settle ID done'、'failed' 或 'again'",
    ),
    ("'--result' is for 'done'", "'--result' 只用于 'done'"),
    ("'--result' is not valid JSON: {}", "'--result' 不是有效的 JSON：{0}"),
    ("the command '{}' cannot be started: {}", "无法启动命令 '{0}'：{1}"),
    (
        "Only secrets of known forms, names and places are removed: see 'Secrets' in docs/how-to/cassettes.md.",
        "只会移除已知形式、名称和位置的机密：见 docs/how-to/cassettes.md 的 'Secrets' 一节。",
    ),
    (
        "The command exited (code {}) before the recording finished; {} contains the completed events ({}) and can be \
         replayed.",
        "命令在录制结束之前结束（退出代码 {0}）。{1} 中有此前已结束的内容（事件数：{2}），可以回放。",
    ),
    (
        "nothing in the command has imported toolhub, so nothing was replayed",
        "该命令没有导入 toolhub，因此没有回放任何内容",
    ),
    (
        "nothing in the command has imported toolhub, so there is no {}",
        "该命令没有导入 toolhub，因此没有 {0}",
    ),
    // Import
    ("there is no home folder to write to; name a file with --to", "没有可写入的主目录；请用 --to 指定文件"),
    ("'{}' is in several files; the one of {} is left out", "'{0}' 在多个文件中；略去 {1} 中的"),
    ("no file has a server '{}'", "没有文件含有服务器 '{0}'"),
    ("no server was found", "没有找到服务器"),
    ("'{}' is neither a file nor a known client ({})", "'{0}' 既不是文件，也不是已知的客户端（{1}）"),
    (
        "nothing was written; take servers with 'toolhub import --all', 'toolhub import CLIENT' or 'toolhub import FILE'",
        "没有写入任何内容；可用 'toolhub import --all'、'toolhub import CLIENT' 或 'toolhub import FILE' 导入服务器",
    ),
    (
        "{} belongs to this project; name the file to take its servers",
        "{0} 属于本项目；要导入其中的服务器，请指明该文件",
    ),
    ("no configuration of a known client was found", "没有找到已知客户端的配置"),
    (
        "'{}' is not changed, because it cannot be read as plain JSON: {}",
        "'{0}' 没有改变，因为它不能作为普通 JSON 读取：{1}",
    ),
    (
        "'{}' is not changed, because its servers are not under `mcpServers`",
        "'{0}' 没有改变，因为其中的服务器不在 `mcpServers` 下",
    ),
    (
        "kept existing '{}' in {} (differs); use --replace to overwrite",
        "'{0}' 在 {1} 中有另一项，予以保留；--replace 会替换它",
    ),
    ("would write {} server(s) to {}", "将写入 {1} 的服务器数：{0}"),
    ("wrote {} server(s) to {}", "已写入 {1} 的服务器数：{0}"),
    (
        "'{}' is imported disabled, because toolhub does not support its `{}`",
        "'{0}' 导入后处于停用状态，因为 toolhub 不执行其 `{1}` 所说的",
    ),
    (
        "'{}' is imported disabled, because settings that may forbid its tools cannot be read: {~}",
        "'{0}' 导入后处于停用状态，因为可能禁止其工具的设置无法读取：{1}",
    ),
    (
        "'{}' is imported disabled, because {} asks before each call of its tools, and toolhub does not",
        "'{0}' 导入后处于停用状态，因为 {1} 在每次调用其工具前询问，而 toolhub 不询问",
    ),
    (
        "'{}' is imported disabled, because it uses `{}`; write the value, or a variable as `{}`",
        "'{0}' 导入后处于停用状态，因为它使用 `{1}`；请写出值，或写成变量 `{2}`",
    ),
    (
        "tools of '{}' that are left out, because {} asks before they run and toolhub does not: {}",
        "'{0}' 中略去的工具，因为 {1} 在运行它们之前询问，而 toolhub 不询问：{2}",
    ),
    ("keys of '{}' that are not imported: {}", "'{0}' 中没有接收的键：{1}"),
    (
        "`{}` of '{}' is {} from now on, whatever project is open",
        "'{1}' 的 `{0}` 从现在起是 {2}，无论打开哪个项目",
    ),
    (
        "'{}' is left out, because it runs on another machine in codex",
        "略去 '{0}'，因为在 codex 中它在另一台机器上运行",
    ),
    (
        "'{}' is left out, because goose reaches it through a socket",
        "略去 '{0}'，因为 goose 通过套接字连接它",
    ),
    (
        "'{}' is left out, because only goose can run a server of the type '{}'",
        "略去 '{0}'，因为只有 goose 能运行类型为 '{1}' 的服务器",
    ),
    (
        "set these variables of '{}' in the environment, because goose keeps them in its keyring: {}",
        "'{0}' 中必须在环境中设置的变量，因为 goose 将它们保存在密钥环中：{1}",
    ),
    // Doctor: what is wrong
    ("the server has not listed its tools", "服务器没有列出它的工具"),
    ("the list of tools is empty", "工具列表为空"),
    (
        "stdout is for MCP messages, but it printed '{}' there; other clients may fail, so let it print to stderr",
        "stdout 只能用于 MCP 消息，但服务器在其中输出了 '{0}'；其他客户端可能会出错，请让它输出到 stderr",
    ),
    ("'{}': its schema must be of type object, not {}", "'{0}'：其模式的类型应为 object，而不是 {1}"),
    (
        "'{}' is not a valid name for model APIs, which allow 1 to 64 letters, digits, _ and -",
        "'{0}' 不能用作模型 API 中的名称，后者只接受 1 到 64 个字母、数字、_ 和 -",
    ),
    ("'{}' has no description", "'{0}' 没有描述"),
    ("the description of '{}' only repeats its name", "'{0}' 的描述只是重复了名称"),
    // Doctor: what to do
    (
        "Check the path; 'toolhub import' writes a file from those of other clients.",
        "请检查路径；'toolhub import' 可由其他客户端的文件写出一个。",
    ),
    (
        "Correct the file at that place; comments and trailing commas are allowed.",
        "请改正文件中的该处；允许注释和末尾的逗号。",
    ),
    (
        "Write an object `mcpServers` with an entry for each server: a name, and `command` or `url`.",
        "请写对象 `mcpServers`，每个服务器一项：名称，以及 `command` 或 `url`。",
    ),
    (
        "Set the variable, or give it a default with `:-` after its name.",
        "请设置该变量，或在名称后用 `:-` 给出默认值。",
    ),
    (
        "Correct the key that is named; 'command' starts a program, 'url' is an address.",
        "请改正所指的键；'command' 启动程序，'url' 是地址。",
    ),
    (
        "Check that this is an MCP server, and update it: it shares no protocol version with toolhub.",
        "请确认这是 MCP 服务器并更新它：它不支持我们支持的任何协议版本。",
    ),
    (
        "Install the program, or correct 'command' or 'cwd'; a program that is not on PATH needs its full path.",
        "请安装该程序，或改正 'command' 或 'cwd'；不在 PATH 上的程序需要完整路径。",
    ),
    (
        "Make the file executable (chmod +x), or write its interpreter as 'command' and the file into 'args'.",
        "请使该文件可执行（chmod +x），或把它的解释器写为 'command'，把文件写入 'args'。",
    ),
    (
        "Write a program as 'command': one in that folder, or another.",
        "请把程序写为 'command'：该文件夹中的，或别的。",
    ),
    (
        "Install that interpreter, or correct the first line of the file.",
        "请安装该解释器，或改正文件的首行。",
    ),
    ("Create that folder, or correct 'cwd'.", "请创建该文件夹，或改正 'cwd'。"),
    ("The list never ends: report it to the server's author.", "列表的各页必须有终点：请告知服务器的作者。"),
    (
        "Invisible characters can hide instructions to a model: ask the author why they are there, or 'exclude' the tool.",
        "不可见字符中可能藏有给模型的指令：请询问作者其用途，或用 'exclude' 排除该工具。",
    ),
    (
        "Run the command by hand: it must wait for input and print nothing but MCP messages.",
        "请手动运行该命令：它必须等待输入，且只打印 MCP 消息。",
    ),
    (
        "Run the command by hand to see why it ends; check 'args' and 'env'.",
        "请手动运行该命令，查看它为何结束；请检查 'args' 和 'env'。",
    ),
    (
        "Correct the path of 'url'; most servers answer at /mcp or /sse.",
        "请改正 'url' 的路径；多数服务器在 /mcp 或 /sse 回答。",
    ),
    (
        "Correct 'url': write the address that the server redirects to.",
        "请改正 'url'：写服务器重定向到的地址。",
    ),
    ("The server is limiting requests: try again later.", "服务器要求减少请求：请稍后再试。"),
    (
        "Write http:// in 'url', or turn TLS on at the server.",
        "请在 'url' 中写 http://，或在服务器上启用 TLS。",
    ),
    (
        "Use the name that the certificate is for, and a certificate that this machine trusts.",
        "请使用证书所属的名称，以及本机信任的证书。",
    ),
    (
        "The server has no tools; use its prompts and resources, or remove its entry.",
        "服务器没有工具；请使用它的提示和资源，或删除该项。",
    ),
    (
        "The server itself fails: look at its log, or try again later.",
        "服务器自身出错：请查看它的日志，或稍后再试。",
    ),
    (
        "Check host, port and scheme of 'url', and whether the server runs.",
        "请检查 'url' 的主机、端口和协议，以及服务器是否在运行。",
    ),
    (
        "The credentials are known but not allowed to do this: ask for the right, or use other ones.",
        "凭据有效，但无权这样做：请申请权限，或换用其他凭据。",
    ),
    (
        "Run 'toolhub login SERVER', or correct 'auth' or 'headers' of its entry.",
        "请运行 'toolhub login SERVER'，或改正该项的 'auth' 或 'headers'。",
    ),
    ("The server fails to list its tools: look at its log.", "服务器无法列出工具：请查看它的日志。"),
    (
        "Check the server's own settings, and 'include' and 'exclude' of its entry.",
        "请检查服务器自身的设置，以及该项的 'include' 和 'exclude'。",
    ),
    (
        "Report it to the server's author; a model gets this schema, and calls may fail.",
        "请报告给服务器的作者；模型会得到这个模式，调用可能失败。",
    ),
    (
        "Rename the tool, or set 'prefix' or 'exclude' under 'toolhub' of the entry.",
        "请给工具改名，或在该项的 'toolhub' 下设置 'prefix' 或 'exclude'。",
    ),
    (
        "A model chooses by the description: ask the author for one, or 'exclude' the tool.",
        "模型按描述选择工具：请向作者索要描述，或 'exclude' 该工具。",
    ),
];
