//! The issuer of tokens for a server: its protected resource metadata (RFC 9728), then the metadata of its authorization
//! server (RFC 8414, OpenID Connect Discovery).
//!
//! A document is accepted only from the origin that it describes, and only if it names that origin.

use super::super::{denied, quote};
use super::config::{OAuthSettings, parse};
use super::web::{Web, text};
use regex::Regex;
use reqwest::Url;
use serde_json::{Value, json};
use std::sync::LazyLock;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Result};

/// The two documents, as far as they matter.
#[derive(Debug)]
pub(super) struct Discovered {
    pub(super) resource: Resource,
    pub(super) issuer: Issuer,
}

#[derive(Debug)]
pub(super) struct Issuer {
    pub(super) id: String,
    pub(super) token_endpoint: Url,
    pub(super) authorization_endpoint: Option<Url>,
    pub(super) registration_endpoint: Option<Url>,
    pub(super) scopes: Vec<String>,
    pub(super) challenge_methods: Vec<String>,
    /// `None`: it does not say, which means `client_secret_basic`.
    pub(super) auth_methods: Option<Vec<String>>,
    /// It promises to name itself in the redirect.
    pub(super) names_itself: bool,
    pub(super) takes_client_documents: bool,
}

#[derive(Debug, Default)]
pub(super) struct Resource {
    /// The identifier of the server at its authorization server, exactly as the server gives it.
    pub(super) id: String,
    authorization_servers: Vec<String>,
    pub(super) scopes: Vec<String>,
}

/// Read field by field, so that a wrong field that we do not need does no harm.
impl Resource {
    fn read(fields: &Value) -> Result<Self, &'static str> {
        Ok(Resource {
            id: text(fields, "resource").map(str::to_owned).ok_or("'resource' is missing")?,
            authorization_servers: list(fields, "authorization_servers").unwrap_or_default(),
            scopes: list(fields, "scopes_supported").unwrap_or_default(),
        })
    }
}

impl Issuer {
    fn read(fields: &Value) -> Result<Self, &'static str> {
        let url = |name: &str| text(fields, name).and_then(|text| Url::parse(text).ok());
        let flag = |name: &str| fields.get(name).and_then(Value::as_bool).unwrap_or(false);
        Ok(Issuer {
            id: text(fields, "issuer").map(str::to_owned).ok_or("'issuer' is missing")?,
            token_endpoint: url("token_endpoint").ok_or("'token_endpoint' is missing")?,
            authorization_endpoint: url("authorization_endpoint"),
            registration_endpoint: url("registration_endpoint"),
            scopes: list(fields, "scopes_supported").unwrap_or_default(),
            challenge_methods: list(fields, "code_challenge_methods_supported").unwrap_or_default(),
            auth_methods: list(fields, "token_endpoint_auth_methods_supported"),
            names_itself: flag("authorization_response_iss_parameter_supported"),
            takes_client_documents: flag("client_id_metadata_document_supported"),
        })
    }

    /// The one whose endpoints the user wrote. Users who configure endpoints vouch for PKCE support.
    pub(super) fn named(
        token_url: &str,
        issuer: Option<&str>,
        authorization_url: Option<&str>,
    ) -> Result<Self> {
        let origin = parse(token_url, "token_url")?.origin().ascii_serialization();
        let fields = json!({
            "issuer": issuer.unwrap_or(&origin),
            "token_endpoint": token_url,
            "authorization_endpoint": authorization_url,
            "code_challenge_methods_supported": ["S256"],
        });
        Issuer::read(&fields).map_err(denied)
    }
}

fn list(fields: &Value, name: &str) -> Option<Vec<String>> {
    let values = fields.get(name)?.as_array()?;
    Some(values.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Looks everything up again: a server may have moved to another authorization server since.
pub(super) async fn discover(
    web: &Web,
    settings: &OAuthSettings,
    challenge: &Challenge,
) -> Result<Discovered> {
    let server = &web.server;
    web.check(server, "server's URL")?;
    let mut search = MetadataSearch { web, tried: Vec::new() };
    let resource = search.resource(server, challenge).await?;
    let issuer = match (&settings.token_url, &settings.metadata_url, &resource) {
        (Some(token_url), _, _) => {
            Issuer::named(token_url, settings.issuer.as_deref(), settings.authorization_url.as_deref())?
        }
        (None, Some(url), _) => search.issuer_at(url).await?,
        (None, None, Some(resource)) => {
            let id = choose(resource, settings.issuer.as_deref(), server)?;
            search.issuer(&id).await?
        }
        // Servers of 2025-03-26 have no resource metadata, and are their own authorization server unless the user says otherwise.
        (None, None, None) => {
            let own = server.origin().ascii_serialization();
            search.issuer(settings.issuer.as_deref().unwrap_or(&own)).await?
        }
    };
    if let Some(expected) = settings.issuer.as_deref().filter(|expected| !same_issuer(expected, &issuer.id)) {
        return Err(denied(message!(
            "The client belongs to the authorization server '{}', but the server now uses '{}'; change the issuer in the configuration if that is right.",
            expected,
            quote(&issuer.id, &[])
        )));
    }
    web.check(&issuer.token_endpoint, "token endpoint")?;
    let resource = resource.unwrap_or_else(|| Resource { id: canonical(server), ..Resource::default() });
    Ok(Discovered { resource, issuer })
}

/// The authorization server to use: the one that the user named, or the first.
fn choose(resource: &Resource, wanted: Option<&str>, server: &Url) -> Result<String> {
    let named = &resource.authorization_servers;
    let fitting = wanted.and_then(|wanted| named.iter().find(|id| same_issuer(id, wanted)));
    fitting.or(named.first()).cloned().ok_or_else(|| {
        denied(message!(
            "The metadata of '{}' names no authorization server; set metadata_url, or use a bearer token.",
            server
        ))
    })
}

struct MetadataSearch<'a> {
    web: &'a Web,
    /// The URLs that had no document, for the error.
    tried: Vec<String>,
}

impl MetadataSearch<'_> {
    async fn resource(&mut self, server: &Url, challenge: &Challenge) -> Result<Option<Resource>> {
        let advertised = challenge.resource_metadata.as_deref().and_then(|text| server.join(text).ok());
        let mut urls = Vec::new();
        match advertised {
            Some(url) if url.origin() == server.origin() => urls.push(url),
            Some(url) => self.tried.push(format!("{} (refused: not the server's own origin)", shown(&url))),
            None => {}
        }
        let path = server.path().trim_end_matches('/');
        urls.push(at(server, &format!("/.well-known/oauth-protected-resource{path}")));
        urls.push(at(server, "/.well-known/oauth-protected-resource"));
        urls.dedup();
        for url in urls {
            if let Some(found) = self.document(&url, "resource metadata", Resource::read).await? {
                return if covers(&found.id, server) {
                    Ok(Some(found))
                } else {
                    Err(denied(message!(
                        "The metadata at '{}' is for '{}', not for the server '{}'; nothing is sent there.",
                        shown(&url),
                        quote(&found.id, &[]),
                        server
                    )))
                };
            }
        }
        Ok(None)
    }

    async fn issuer(&mut self, id: &str) -> Result<Issuer> {
        let Ok(url) = Url::parse(id) else {
            return Err(denied(message!(
                "The server names '{}' as its authorization server, which is not a URL.",
                quote(id, &[])
            )));
        };
        for place in issuer_places(&url) {
            if let Some(found) = self.document(&place, "authorization server", Issuer::read).await? {
                if same_issuer(&found.id, id) {
                    return Ok(found);
                }
                return Err(denied(message!(
                    "The metadata at '{}' is for the issuer '{}', not '{}'; it is not used.",
                    shown(&place),
                    quote(&found.id, &[]),
                    quote(id, &[])
                )));
            }
        }
        Err(self.nothing_found())
    }

    /// The user named the document; its issuer has to live there too.
    async fn issuer_at(&mut self, metadata_url: &str) -> Result<Issuer> {
        let url = Url::parse(metadata_url).map_err(|_| self.nothing_found())?;
        let found =
            self.document(&url, "metadata_url", Issuer::read).await?.ok_or_else(|| self.nothing_found())?;
        match Url::parse(&found.id) {
            Ok(id) if id.origin() == url.origin() => Ok(found),
            _ => Err(denied(message!(
                "The metadata at '{}' is for the issuer '{}', which is elsewhere; it is not used.",
                shown(&url),
                quote(&found.id, &[])
            ))),
        }
    }

    /// `None` when there is no such document here: many servers answer anything with a page or a redirect.
    async fn document<T>(
        &mut self,
        url: &Url,
        what: &str,
        read: fn(&Value) -> Result<T, &'static str>,
    ) -> Result<Option<T>> {
        let (status, fields) = self.web.get(url, what).await?;
        let why = match status {
            200 => match fields.ok_or("it is not JSON").and_then(|fields| read(&fields)) {
                Ok(found) => return Ok(Some(found)),
                Err(why) => why.to_owned(),
            },
            // A temporary failure; a document found elsewhere in the meantime may be wrong.
            status @ (429 | 502..=504) => {
                let mut error = HubError::new(
                    ErrorKind::Connect,
                    format!(
                        "The {what} '{}' cannot be read now (HTTP {status}); try again later.",
                        shown(url)
                    ),
                );
                error.status = Some(status);
                return Err(error);
            }
            300..400 => "redirects are refused".to_owned(),
            status => format!("HTTP {status}"),
        };
        self.tried.push(format!("{} ({why})", shown(url)));
        Ok(None)
    }

    fn nothing_found(&self) -> HubError {
        denied(message!(
            "No authorization server was found; set metadata_url, or use a bearer token. Looked at: {}.",
            self.tried.join(", ")
        ))
    }
}

/// The URLs of RFC 8414 and OpenID Connect for this issuer, in the order of the MCP specification.
fn issuer_places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut urls = vec![
        at(issuer, &format!("/.well-known/oauth-authorization-server{path}")),
        at(issuer, &format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        urls.push(at(issuer, &format!("{path}/.well-known/openid-configuration")));
    }
    urls
}

fn at(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Issuers are compared letter by letter; only the slash after a bare host makes no difference.
fn same_issuer(a: &str, b: &str) -> bool {
    fn bare(id: &str) -> &str {
        match id.strip_suffix('/') {
            Some(host) if host.matches('/').count() == 2 => host,
            _ => id,
        }
    }
    bare(a) == bare(b)
}

/// Whether a resource is the server, or the part of its origin that the server is in.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(url) = Url::parse(resource) else { return false };
    let (outer, inner) = (url.path(), server.path());
    url.origin() == server.origin()
        && url.fragment().is_none()
        && inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || outer.ends_with('/'))
}

/// The name of a server that gives itself none.
fn canonical(server: &Url) -> String {
    let url = at(server, server.path());
    url.as_str().strip_suffix('/').filter(|_| server.path() == "/").unwrap_or(url.as_str()).to_owned()
}

fn shown(url: &Url) -> String {
    quote(url.as_str(), &[])
}

// The parameters of a `WWW-Authenticate` header.

/// The parameters of a `Bearer` challenge (RFC 6750, RFC 9728). What is not understood is skipped.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) scopes: Vec<String>,
    pub(super) error: Option<String>,
    resource_metadata: Option<String>,
}

impl Challenge {
    /// Reads a header value, or several joined by commas. Of a parameter that is there twice the first counts.
    pub(super) fn parse(header: &str) -> Self {
        // A scheme, or a parameter with its value; quotes may lack their end.
        static PART: LazyLock<Option<Regex>> = LazyLock::new(|| {
            let name = r"[A-Za-z0-9!#$%&'*+.^_`|~/-]+";
            Regex::new(&format!(r#"(?s)({name})(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"?|([^, \t]*)))?"#)).ok()
        });
        let (mut found, mut is_bearer) = (Challenge::default(), false);
        for part in PART.iter().flat_map(|part| part.captures_iter(header)) {
            let Some(value) = part.get(2).or(part.get(3)) else {
                is_bearer = part[1].eq_ignore_ascii_case("bearer");
                continue;
            };
            let mut escapes = false;
            let is_meant = |c: &char| {
                escapes = *c == '\\' && !escapes;
                !escapes
            };
            let value: String = value.as_str().chars().filter(is_meant).collect();
            match part[1].to_ascii_lowercase().as_str() {
                _ if !is_bearer => {}
                "scope" if found.scopes.is_empty() => found.scopes = words(&value),
                "error" => found.error = found.error.or(Some(value)),
                "resource_metadata" => found.resource_metadata = found.resource_metadata.or(Some(value)),
                _ => {}
            }
        }
        found
    }

    pub(super) fn wants_more_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The scopes in a text.
pub(super) fn words(scopes: &str) -> Vec<String> {
    scopes.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_resource_covers_what_is_below_it_and_nothing_else() {
        let server = url("https://a.example/team/mcp?x=1");
        for resource in [
            "https://a.example",
            "https://a.example/",
            "https://a.example/team",
            "https://a.example:443/team/mcp",
        ] {
            assert!(covers(resource, &server), "{resource}");
        }
        for resource in [
            "https://evil.example/team/mcp",
            "http://a.example/team/mcp",
            "https://a.example/tea",
            "https://a.example/team/mcp/deeper",
            "https://a.example/#x",
            "https://a.example:8443/",
            "a.example",
        ] {
            assert!(!covers(resource, &server), "{resource}");
        }
    }

    #[test]
    fn issuers_are_compared_by_letter() {
        assert!(same_issuer("https://a.example", "https://a.example/"));
        for other in ["https://A.example", "https://a.example/x", "https://a.example//", "http://a.example"] {
            assert!(!same_issuer("https://a.example", other), "{other}");
        }
        assert!(!same_issuer("https://a.example/x", "https://a.example/x/"));
    }

    #[test]
    fn metadata_is_looked_for_in_the_order_of_the_specification() {
        let paths =
            |id: &str| issuer_places(&url(id)).iter().map(|u| u.path().to_owned()).collect::<Vec<_>>();
        assert_eq!(
            paths("https://a.example/"),
            ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
        );
        assert_eq!(
            paths("https://a.example/t"),
            [
                "/.well-known/oauth-authorization-server/t",
                "/.well-known/openid-configuration/t",
                "/t/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn a_server_without_metadata_is_called_by_its_url() {
        assert_eq!(canonical(&url("https://a.example/?x#y")), "https://a.example");
        assert_eq!(canonical(&url("https://a.example/mcp")), "https://a.example/mcp");
    }
}

#[cfg(test)]
mod challenge_tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_bearer_challenge_among_others() {
        let found = Challenge::parse(
            r#"Basic realm="a, Bearer scope=\"no\"", bearer error = insufficient_scope, scope="a b" , resource_metadata="https://x/y?z=1,2", DPoP scope="c""#,
        );
        assert_eq!(found.scopes, ["a", "b"]);
        assert!(found.wants_more_scope());
        assert_eq!(found.resource_metadata.as_deref(), Some("https://x/y?z=1,2"));
    }

    #[test]
    fn nothing_is_found_where_nothing_is() {
        for header in ["", "Bearer", "Negotiate abc==", "Basic scope=\"a\"", "= , =\"", "Bearer scope=\"\""] {
            assert_eq!(Challenge::parse(header), Challenge::default(), "{header}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_survived(header in "\\PC*") {
            Challenge::parse(&header);
            Challenge::parse(&format!("Bearer {header}"));
        }

        #[test]
        fn a_quoted_value_comes_back(value in "[ -~]*") {
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            let found = Challenge::parse(&format!("Bearer realm=x, resource_metadata=\"{quoted}\", error=e"));
            prop_assert_eq!(found.resource_metadata, Some(value));
            prop_assert_eq!(found.error.as_deref(), Some("e"));
        }
    }
}
