//! Sentences about the login at a server.

pub(super) const LOGIN: &[(&str, &str)] = &[
    (
        "The bearer token is empty or contains characters that are not allowed in a header; give the token alone, without spaces or line breaks.",
        "bearer 令牌为空或含有请求头中不允许的字符；请只给出令牌本身，不要有空格或换行。",
    ),
    (
        "The server '{}' requires a login; run 'toolhub login {}' on this machine.",
        "服务器 '{0}' 需要登录，但这里没有人可以应答；请在本机运行 'toolhub login {1}'。",
    ),
    (
        "No browser can be opened for the login ({}: {~}); give an opener that shows the address to the user.",
        "无法打开浏览器登录（{0}：{1}）；请提供一个向用户显示地址的 opener。",
    ),
    ("only http and https addresses are opened", "只打开 http 和 https 地址"),
    (
        "The authorization server '{}' does not register clients by itself; register one there and set client_id.",
        "授权服务器 '{0}' 不自动注册客户端；请在那里注册并设置 client_id。",
    ),
    (
        "The authorization server '{}' refused to register this client (HTTP {}); register one there and set client_id.",
        "授权服务器 '{0}' 拒绝注册此客户端（HTTP {1}）；请在那里注册并设置 client_id。",
    ),
    (
        "The client belongs to the authorization server '{}', but the server now uses '{}'; change the issuer in the configuration if that is right.",
        "客户端属于授权服务器 '{0}'，但服务器现在使用 '{1}'；如果无误，请修改配置中的 issuer。",
    ),
    (
        "The metadata of '{}' names no authorization server; set metadata_url, or use a bearer token.",
        "'{0}' 的元数据没有指明授权服务器；请设置 metadata_url，或使用 bearer 令牌。",
    ),
    (
        "The metadata at '{}' is for '{}', not for the server '{}'; nothing is sent there.",
        "'{0}' 处的元数据属于 '{1}'，不属于服务器 '{2}'；不会向那里发送任何内容。",
    ),
    (
        "The server names '{}' as its authorization server, which is not a URL.",
        "服务器指定 '{0}' 为授权服务器，但它不是 URL。",
    ),
    (
        "The metadata at '{}' is for the issuer '{}', not '{}'; it is not used.",
        "'{0}' 处的元数据属于颁发者 '{1}'，而不是 '{2}'；不予使用。",
    ),
    (
        "The metadata at '{}' is for the issuer '{}', which is elsewhere; it is not used.",
        "'{0}' 处的元数据属于另一处的颁发者 '{1}'；不予使用。",
    ),
    (
        "No authorization server was found; set metadata_url, or use a bearer token. Looked at: {}.",
        "没有找到授权服务器；请设置 metadata_url，或使用 bearer 令牌。已查看：{0}。",
    ),
    (
        "The client '{}' was used at '{}', but the server now names '{}' as its authorization server; set issuer in the configuration if that is right.",
        "客户端 '{0}' 曾用于 '{1}'，但服务器现在指定 '{2}' 为授权服务器；如果无误，请在配置中设置 issuer。",
    ),
    (
        "The server requires the scopes '{}', which were already requested; ask its administrator for access, or sign out and in again.",
        "服务器要求权限范围 '{0}'，这些已经请求过；请向管理员申请访问权限，或重新登录。",
    ),
    (
        "The server keeps asking for more scopes; no more are requested.",
        "服务器不断要求更多权限范围；不再请求。",
    ),
    (
        "The server refuses the token that its authorization server '{}' has just issued.",
        "服务器拒绝了其授权服务器 '{0}' 刚刚签发的令牌。",
    ),
    ("The {} '{}' is refused: {~}.", "拒绝使用 {0} '{1}'：{2}。"),
    ("There is no refresh token.", "没有刷新令牌。"),
    ("The login was cancelled.", "登录已取消。"),
    ("OAuth with client credentials needs a client_id.", "使用客户端凭据的 OAuth 需要 client_id。"),
    (
        "The authorization server '{}' has no page to sign in at; use client credentials or a bearer token.",
        "授权服务器 '{0}' 没有登录页面；请使用客户端凭据或 bearer 令牌。",
    ),
    (
        "The authorization server '{}' does not offer PKCE with S256, which a safe login needs; use a bearer token.",
        "授权服务器 '{0}' 不支持安全登录所需的 S256 PKCE；请使用 bearer 令牌。",
    ),
    ("Login timed out after {} s; retry to get a new link.", "{0} 秒内无人登录；再次调用可获得新的页面。"),
    (
        "The login was answered by '{}' instead of the authorization server '{}'; its answer is not used.",
        "登录的回答来自 '{0}'，而不是授权服务器 '{1}'；不予使用。",
    ),
    (
        "The login response does not name its authorization server, as '{}' promised; it is not used.",
        "登录的回答没有像 '{0}' 承诺的那样指明授权服务器；不予使用。",
    ),
    ("The login was refused ({}).", "登录被拒绝（{0}）。"),
    ("The token store failed unexpectedly.", "令牌存储意外失败。"),
    (
        "The token file '{}' is damaged (line {}) and was moved to '{}'; sign in again.",
        "令牌文件 '{0}' 已损坏（第 {1} 行），已移至 '{2}'；请重新登录。",
    ),
    (
        "The authorization server '{}' does not say of which type its token is.",
        "授权服务器 '{0}' 没有说明其令牌的类型。",
    ),
    ("The authorization server '{}' answered without a token.", "授权服务器 '{0}' 的回答中没有令牌。"),
    (
        "The authorization server '{}' issued a token of type '{}', but only bearer tokens are supported.",
        "授权服务器 '{0}' 签发了 '{1}' 类型的令牌，但只支持 bearer 令牌。",
    ),
    (
        "The authorization server '{}' refused this client ({}); check client_id and client_secret.",
        "授权服务器 '{0}' 拒绝了此客户端（{1}）；请检查 client_id 和 client_secret。",
    ),
    (
        "The authorization server '{}' does not grant these scopes ({}); check the scopes in the configuration.",
        "授权服务器 '{0}' 不授予这些权限范围（{1}）；请检查配置中的 scopes。",
    ),
    ("The authorization server '{}' gave no token ({}).", "授权服务器 '{0}' 没有给出令牌（{1}）。"),
    ("The authorization server '{}' sent more than 1 MB.", "授权服务器 '{0}' 发送了超过 1 MB 的数据。"),
    ("The authorization server '{}' cannot be reached: {~}.", "无法连接授权服务器 '{0}'：{1}。"),
    (
        "The HTTP client for the login cannot be set up: {}; for https the system needs its CA certificates (or SSL_CERT_FILE).",
        "无法建立登录用的 HTTP 客户端：{0}；https 需要系统的 CA 证书（或 SSL_CERT_FILE）。",
    ),
    ("it carries a user name or a password", "它带有用户名或密码"),
    ("it is an address of this machine, which the server is not on", "它是本机地址，而服务器不在本机"),
    ("credentials need https (http is only for this machine)", "凭据需要 https（http 仅用于本机）"),
    (
        "it is an address inside a private network; if it is right, name it as the issuer or metadata_url",
        "它是私有网络内的地址；如果无误，请把它设为 issuer 或 metadata_url",
    ),
    ("the request failed", "请求失败"),
];
