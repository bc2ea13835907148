//! Skills over MCP, the extension `io.modelcontextprotocol/skills`.
//!
//! ```text
//! skills/list ─► Skill (what it says of itself, and a manifest of its files)      nothing is read ahead of need
//!                  │
//!               SkillTool, called ─► resources/read ─► size, digest, front matter as listed? ─► instructions
//! ```
//!
//! What a server serves is not trusted for being what its list says: that only shows that the two fit together. A skill is
//! text for a model, under the label of its server; nothing in it grants a permission (`allowed-tools` is ignored) and
//! nothing of it is run.

use super::connection::{Connection, RequestExtras};
use super::convert::wrong_answer;
use super::message::Params;
use super::pages::{self, Fetched, PagedList};
use super::server::Server;
use super::wire::{clean, parsed};
use crate::skills::call::{self, SkillSource, SkillTool};
use crate::skills::{SkillFields, front_matter};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use toolhub_text::canonical::bytes_digest;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Result};
use toolhub_types::model::{Arguments, ToolSpec};
use toolhub_types::tool::CallContext;

pub const EXTENSION: &str = "io.modelcontextprotocol/skills";
const MAX_SKILLS: usize = 10_000;
const MAX_NOTICES: usize = 100;

/// Whether a server says that it has skills.
pub fn offered(connection: &Connection) -> bool {
    let extensions = connection.server.capabilities.get("extensions");
    extensions.and_then(|all| all.get(EXTENSION)).is_some_and(Value::is_object)
}

/// The skills of a server at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skills {
    pub skills: Vec<Arc<Skill>>,
    /// What was left out, and why.
    pub notices: Vec<String>,
}

/// Fetches all pages of `skills/list`, read entry by entry.
pub async fn fetch(connection: &Connection) -> Result<Skills> {
    let list = PagedList {
        method: "skills/list",
        member: "skills",
        meta: Map::new(),
        most: MAX_SKILLS,
        words: ["the list of skills", "a second skill at"],
    };
    let read =
        |entry: &RawValue| Skill::read(entry).map(|skill| (skill.uri.clone(), Arc::new(skill), Vec::new()));
    let Fetched { entries: skills, mut notices, .. } = pages::fetch(connection, list, read).await?;
    notices.truncate(MAX_NOTICES);
    Ok(Skills { skills, notices })
}

impl Skills {
    /// The known skills, with a notice that they could not be listed again.
    pub fn not_listed(known: Option<&Skills>, why: &str) -> Skills {
        let notices = vec![format!("the skills could not be listed: {why}")];
        Skills { notices, ..known.cloned().unwrap_or_default() }
    }

    /// Each skill with a label that no other skill of this server has: its name, or where that is not enough its path, or
    /// else its whole address.
    pub fn labelled(&self) -> impl Iterator<Item = (&str, &Arc<Skill>)> {
        let (mut names, mut paths) = (HashMap::new(), HashMap::new());
        for skill in &self.skills {
            *names.entry(skill.name.clone()).or_insert(0) += 1;
            *paths.entry(path(skill)).or_insert(0) += 1;
        }
        self.skills.iter().map(move |skill| {
            let label = match (names.get(&skill.name), paths.get(path(skill))) {
                (Some(1), _) => &*skill.name,
                (_, Some(1)) => path(skill),
                _ => skill.folder(),
            };
            (label, skill)
        })
    }
}

fn path(skill: &Skill) -> &str {
    let folder = skill.folder();
    folder.split_once("://").map_or(folder, |(_, path)| path)
}

// One skill as its server describes it.

/// What every host has to take, and we take no more: files of one skill, and their bytes in all.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    /// Where its `SKILL.md` is, on its server.
    pub uri: Arc<str>,
    /// A label that others may have too.
    pub name: Arc<str>,
    /// Without escapes and invisible characters.
    pub description: String,
    pub front_matter: Map<String, Value>,
    /// All its files; `None` when the server generates them on each read, so that nothing is known about them.
    pub files: Option<Vec<SkillFile>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SkillFile {
    pub uri: Arc<str>,
    /// `sha256:` and 64 digits.
    pub digest: String,
    pub size: u64,
}

#[derive(Deserialize)]
struct SkillEntry {
    uri: String,
    frontmatter: Map<String, Value>,
    resources: Value,
}

impl Skill {
    /// Reads an entry of a list, or says why it is none.
    pub fn read(raw: &RawValue) -> Result<Skill, String> {
        let entry: SkillEntry = serde_json::from_str(raw.get())
            .map_err(|error| format!("an entry that is not a skill: {error}"))?;
        let shown = clean(&entry.uri, 100);
        let wrong = |why: &str| Err(format!("the skill '{shown}': {why}"));
        let Some(folder) = entry.uri.strip_suffix("/SKILL.md") else {
            return wrong("its URI does not end with '/SKILL.md'");
        };
        let last = folder.rsplit('/').next().unwrap_or_default();
        let fields = match SkillFields::read(&entry.frontmatter, last, &mut Vec::new()) {
            Ok(fields) => fields,
            Err(why) => return wrong(&why),
        };
        let name = entry.frontmatter.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return wrong("it has no valid name");
        }
        if name != last {
            return wrong(&format!("its URI does not name the skill '{}'", clean(name, 60)));
        }
        let files = match entry.resources {
            Value::String(word) if word == "dynamic" => None,
            Value::String(_) => return wrong("its resources are neither a list nor 'dynamic'"),
            listed => {
                let files: Vec<SkillFile> = serde_json::from_value(listed)
                    .map_err(|error| format!("an entry that is not a skill: {error}"))?;
                if let Some(why) = broken(&files, &entry.uri, folder) {
                    return wrong(why);
                }
                Some(files)
            }
        };
        let (name, uri) = (Arc::from(name), Arc::from(entry.uri.as_str()));
        Ok(Skill { uri, name, description: fields.description, front_matter: entry.frontmatter, files })
    }

    /// The folder that all its files are in, without a slash at the end.
    pub fn folder(&self) -> &str {
        self.uri.strip_suffix("/SKILL.md").unwrap_or(&self.uri)
    }

    /// Its files except `SKILL.md`, as paths inside its folder.
    pub fn resources(&self) -> Option<Vec<&str>> {
        let files = self.files.as_ref()?.iter().filter(|file| file.uri != self.uri);
        Some(files.filter_map(|file| inside(&file.uri, self.folder())).collect())
    }

    /// The URI of a file of this skill, which must be a listed one where there is a list.
    pub fn uri_of(&self, path: &str) -> Option<Arc<str>> {
        let uri = format!("{}/{}", self.folder(), path.strip_prefix("./").unwrap_or(path));
        match &self.files {
            Some(files) => files.iter().find(|file| *file.uri == *uri).map(|file| file.uri.clone()),
            None => inside(&uri, self.folder()).is_some().then(|| Arc::from(uri)),
        }
    }

    /// Whether these bytes are the file that was listed, or why not.
    pub fn verify(&self, uri: &str, bytes: &[u8]) -> Result<(), Message> {
        let Some(files) = &self.files else {
            let fits = bytes.len() as u64 <= MAX_BYTES;
            return fits.then_some(()).ok_or_else(|| message!("it is longer than {} bytes", MAX_BYTES));
        };
        let Some(file) = files.iter().find(|file| *file.uri == *uri) else {
            return Err(message!("the file is not listed"));
        };
        if file.size != bytes.len() as u64 {
            return Err(message!("it has {} bytes, {} were listed", bytes.len(), file.size));
        }
        if bytes_digest(bytes) == file.digest {
            Ok(())
        } else {
            Err("its digest is not the listed one".into())
        }
    }

    /// The instructions in a `SKILL.md`, whose front matter must be the listed one.
    pub fn instructions<'a>(&self, text: &'a str) -> Result<&'a str, Message> {
        let (found, body) = front_matter::read_strictly(text)?;
        for key in self.front_matter.keys().chain(found.keys()) {
            let both = self.front_matter.get(key).zip(found.get(key));
            if !both.is_some_and(|(listed, found)| front_matter::agree(listed, found)) {
                return Err(message!("its '{}' is not the listed one", clean(key, 60)));
            }
        }
        Ok(body)
    }
}

/// The path of a file inside a folder. Nothing that climbs out of it, or hides that it does, has one.
fn inside<'a>(uri: &'a str, folder: &str) -> Option<&'a str> {
    let path = uri.strip_prefix(folder)?.strip_prefix('/')?;
    let odd = |part: &str| {
        let plain = part.to_ascii_lowercase().replace("%2e", ".");
        plain.is_empty() || plain == "." || plain == ".." || plain.contains("%2f") || plain.contains("%5c")
    };
    let safe = !path.contains(['\\', '?', '#']) && !path.chars().any(char::is_control);
    (safe && !path.split('/').any(odd)).then_some(path)
}

fn broken(files: &[SkillFile], uri: &str, folder: &str) -> Option<&'static str> {
    let bytes = files.iter().map(|file| file.size).fold(0, u64::saturating_add);
    let names: HashSet<&str> = files.iter().map(|file| &*file.uri).collect();
    let are_inside = files.iter().all(|file| inside(&file.uri, folder).is_some());
    let mut digests = files.iter().map(|file| file.digest.strip_prefix("sha256:").unwrap_or_default());
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let are_digests = digests.all(|digits| digits.len() == 64 && digits.bytes().all(is_digit));
    let rules = [
        (files.len() <= MAX_FILES, "it has more than 512 files"),
        (bytes <= MAX_BYTES, "its files have more than 16 MiB in all"),
        (are_digests, "the digest of a file is not 'sha256:' and 64 hexadecimal digits"),
        (are_inside, "one of its files is not inside its folder"),
        (names.len() == files.len(), "a file is listed twice"),
        (names.contains(uri), "its SKILL.md is not among its files"),
    ];
    rules.into_iter().find(|(is_kept, _)| !is_kept).map(|(_, why)| why)
}

// One skill of one server, as a candidate of the hub: a call gives its instructions, or one of its files.

/// A skill of a server.
pub struct ServerSkill {
    skill: Arc<Skill>,
    server: Arc<Server>,
}

/// A file as it came.
struct Content {
    bytes: Vec<u8>,
    mime_type: Option<String>,
}

impl SkillTool<ServerSkill> {
    /// `name` is the one in the hub, under the label of the server.
    pub fn of_server(server: Arc<Server>, skill: Arc<Skill>, name: Arc<str>) -> Self {
        let spec = ToolSpec {
            description: Arc::from(skill.description.as_str()),
            location: Some(skill.uri.clone()),
            timeout: server.config().options.timeout,
            ..ToolSpec::named(name)
        };
        SkillTool::new(ServerSkill { skill, server }, call::parameters(), spec)
    }
}

impl SkillSource for ServerSkill {
    async fn read(&self, name: &str, args: &Arguments, ctx: &CallContext) -> Result<Value> {
        let server = self.server.for_caller(ctx.extras.principal.as_ref())?;
        let _slot = server.slot(&self.server).await?;
        let path = call::asked_file(args);
        let uri = match path {
            None => self.skill.uri.clone(),
            Some(path) => self.skill.uri_of(path).ok_or_else(|| call::no_file(name, path))?,
        };
        // Reading does no harm: when the connection is lost meanwhile, it is read once more.
        let verified = server.with_connection(|connection| verified(connection, &self.skill, &uri)).await;
        let (skill, content) = verified?;
        if skill != self.skill {
            // The list is out of date.
            self.server.callbacks().announce_change();
        }
        let (name, server) = (&skill.name, self.server.id());
        let Some(path) = path else {
            let text = String::from_utf8_lossy(&content.bytes);
            let instructions = skill.instructions(&text).map_err(|why| refused(&skill, &why))?;
            return Ok(json!({
                "name": name, "server": server, "instructions": instructions,
                "folder": skill.folder(), "resources": skill.resources(),
            }));
        };
        let mut value = json!({"name": name, "server": server, "file": path});
        if let Some(kind) = content.mime_type {
            value["mimeType"] = json!(kind);
        }
        Ok(call::with_content(value, content.bytes))
    }
}

/// Reads a file and verifies it. What does not fit may have changed after it was listed: then the server is asked once
/// what the skill is now, and that is the skill that counts from here on.
async fn verified(
    connection: Arc<Connection>,
    skill: &Arc<Skill>,
    uri: &str,
) -> Result<(Arc<Skill>, Content)> {
    let content = fetch_file(&connection, uri).await?;
    let Err(why) = fits(skill, uri, &content) else { return Ok((skill.clone(), content)) };
    let now = current(&connection, skill).await.filter(|now| now != &**skill);
    let now = now.filter(|now| fits(now, uri, &content).is_ok());
    now.map(|now| (Arc::new(now), content)).ok_or_else(|| refused(skill, &why))
}

fn fits(skill: &Skill, uri: &str, content: &Content) -> Result<(), Message> {
    skill.verify(uri, &content.bytes)?;
    if uri == &*skill.uri {
        let text = std::str::from_utf8(&content.bytes).map_err(|_| message!("it is not UTF-8 text"))?;
        skill.instructions(text)?;
    }
    Ok(())
}

fn refused(skill: &Skill, why: &Message) -> HubError {
    let (name, uri) = (&skill.name, clean(&skill.uri, 200));
    let text = message!("The skill '{}' ({}) is not what its server listed: {}.", name, uri, why);
    HubError::new(ErrorKind::Protocol, text)
}

async fn fetch_file(connection: &Connection, uri: &str) -> Result<Content> {
    let extras = RequestExtras { name: Some(Arc::from(uri)), ..RequestExtras::default() };
    let raw = connection.request("resources/read", Params::new().with("uri", uri), extras).await?;
    let wrong = |why: Message| wrong_answer(format_args!("resources/read of '{}'", clean(uri, 200)), why);
    let read = parsed(Some(&raw));
    let found = match read["contents"].as_array().map_or(&[][..], Vec::as_slice) {
        [one] => Some(one),
        several => several.iter().find(|one| one["uri"].as_str() == Some(uri)),
    };
    let found = found.ok_or_else(|| wrong(message!("it has no such content")))?;
    let text = |key: &str| found[key].as_str();
    let bytes = match (text("text"), text("blob")) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(blob)) => STANDARD.decode(blob).map_err(|_| wrong(message!("its blob is not base64")))?,
        (None, None) => return Err(wrong(message!("it has neither text nor blob"))),
    };
    Ok(Content { bytes, mime_type: text("mimeType").map(|kind| clean(kind, 100)) })
}

/// The skill as its server describes it now; `None` when it does not, or not properly.
async fn current(connection: &Connection, skill: &Skill) -> Option<Skill> {
    let asked = Params::new().with("uri", &*skill.uri);
    let raw = connection.request("skills/get", asked, RequestExtras::default()).await.ok()?;
    let got: HashMap<&str, &RawValue> = serde_json::from_str(raw.get()).ok()?;
    Skill::read(got.get("skill")?).ok().filter(|now| now.uri == skill.uri)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_are_short_where_they_can_be_and_always_different() {
        let skill = |uri: &str| {
            let name = uri.trim_end_matches("/SKILL.md").rsplit('/').next();
            let entry = json!({"uri": uri, "frontmatter": {"name": name, "description": "d"}, "resources": "dynamic"});
            Arc::new(Skill::read(&serde_json::value::to_raw_value(&entry).unwrap()).unwrap())
        };
        let uris = [
            "skill://a/refunds/SKILL.md",
            "skill://b/refunds/SKILL.md",
            "skill://pdf/SKILL.md",
            "x://c/tax/SKILL.md",
            "y://c/tax/SKILL.md",
        ];
        let skills = Skills { skills: uris.into_iter().map(skill).collect(), notices: Vec::new() };
        let labels: Vec<&str> = skills.labelled().map(|(label, _)| label).collect();
        assert_eq!(labels, ["a/refunds", "b/refunds", "pdf", "x://c/tax", "y://c/tax"]);
    }
}

#[cfg(test)]
mod skill_tests {
    use super::*;
    use serde_json::json;

    const TEXT: &str = "---\nname: pdf\ndescription: Fill forms\n---\nDo this.";

    fn file(uri: &str, bytes: &[u8]) -> Value {
        json!({"uri": uri, "digest": bytes_digest(bytes), "size": bytes.len()})
    }

    fn entry() -> Value {
        json!({"uri": "skill://acme/pdf/SKILL.md", "frontmatter": {"name": "pdf", "description": "Fill forms"},
               "resources": [file("skill://acme/pdf/SKILL.md", TEXT.as_bytes()),
                             file("skill://acme/pdf/templates/a.md", b"A")]})
    }

    fn read(entry: &Value) -> Result<Skill, String> {
        Skill::read(&serde_json::value::to_raw_value(entry).unwrap())
    }

    #[test]
    fn a_good_entry_tells_what_the_skill_has() {
        let skill = read(&entry()).unwrap();
        assert_eq!((&*skill.name, skill.folder()), ("pdf", "skill://acme/pdf"));
        assert_eq!(skill.resources(), Some(vec!["templates/a.md"]));
        assert_eq!(skill.uri_of("./templates/a.md").as_deref(), Some("skill://acme/pdf/templates/a.md"));
        assert_eq!(skill.uri_of("templates/b.md"), None);
        skill.verify(&skill.uri, TEXT.as_bytes()).unwrap();
        assert_eq!(skill.instructions(TEXT).unwrap(), "Do this.");
    }

    #[test]
    fn bytes_that_are_not_the_listed_ones_are_refused() {
        let skill = read(&entry()).unwrap();
        let refused = |bytes: &str| skill.verify(&skill.uri, bytes.as_bytes()).unwrap_err();
        assert!(refused("short").contains("5 bytes"));
        assert!(refused(&TEXT.replace("this", "that")).contains("digest"));
        assert!(skill.verify("skill://acme/pdf/new.md", b"").unwrap_err().contains("not listed"));
    }

    #[test]
    fn front_matter_that_is_not_the_listed_one_is_refused() {
        let skill = read(&entry()).unwrap();
        for (text, why) in [
            (TEXT.replace("Fill", "Steal"), "'description'"),
            (TEXT.replace("name: pdf", "name: other"), "'name'"),
            (TEXT.replace("name: pdf", "name: pdf\nallowed-tools: Bash"), "'allowed-tools'"),
            (TEXT.replace("description: Fill forms\n", ""), "'description'"),
            ("Do this.".to_owned(), "does not begin"),
        ] {
            let error = skill.instructions(&text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_bad_entry_says_what_is_wrong() {
        let digest = bytes_digest(b"");
        let bad = |pointer: &str, value: Value| {
            let mut entry = entry();
            *entry.pointer_mut(pointer).unwrap() = value;
            read(&entry).unwrap_err()
        };
        for (pointer, value, why) in [
            ("/uri", json!("skill://acme/pdf"), "'/SKILL.md'"),
            ("/uri", json!("skill://acme/word/SKILL.md"), "does not name"),
            ("/uri", json!(7), "not a skill"),
            ("/frontmatter/name", json!("a/b"), "may not contain"),
            ("/frontmatter/name", json!(null), "no valid name"),
            ("/frontmatter/description", json!(" "), "no description"),
            ("/frontmatter", json!([]), "not a skill"),
            ("/resources", json!("static"), "neither"),
            ("/resources", json!(null), "not a skill"),
            ("/resources", json!([]), "not among"),
            ("/resources/0/digest", json!("md5:00"), "digest"),
            ("/resources/0/size", json!(-1), "not a skill"),
            ("/resources/0/size", json!(17_000_000), "16 MiB"),
            ("/resources/1/uri", json!("skill://acme/pdf/../x"), "not inside"),
            ("/resources/1/uri", json!("skill://acme/pdf/%2E%2e/x"), "not inside"),
            ("/resources/1/uri", json!("skill://acme/pdfx/a.md"), "not inside"),
            ("/resources/1/uri", json!("skill://acme/pdf/SKILL.md"), "twice"),
            (
                "/resources",
                json!(vec![json!({"uri": "skill://acme/pdf/a", "digest": digest, "size": 0}); 513]),
                "512 files",
            ),
        ] {
            let error = bad(pointer, value);
            assert!(error.contains(why), "{pointer}: {error}");
        }
    }

    #[test]
    fn a_dynamic_skill_has_no_list_but_stays_in_its_folder() {
        let mut entry = entry();
        entry["resources"] = json!("dynamic");
        let skill = read(&entry).unwrap();
        assert_eq!(skill.resources(), None);
        skill.verify(&skill.uri, b"anything").unwrap();
        assert!(skill.uri_of("today.md").is_some());
        for path in ["../x", "a/../../x", "%2e%2e/x", "a\\b", "", "a?b", "/x"] {
            assert_eq!(skill.uri_of(path), None, "{path}");
        }
    }
}
