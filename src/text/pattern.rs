//! L0, the patterns of tool names: one language for `include`, `exclude`, `allowed` and `strategies`.
//!
//! | pattern | matches |
//! |---|---|
//! | `*` | any text |
//! | `?` | one character |
//! | `[a-z_]`, `[!a-z]` | one character of the class, or one outside it |
//! | anything else | itself; upper and lower case differ |
//!
//! In a list, `!` at the start of a pattern forbids what it matches, whatever else allows it. A pattern with a `/` has a
//! scope: `files/read_*` are tools of the server `files`, `native/*` tools that belong to no server. Skills of servers are
//! named `server/skill` already, so `docs/pdf` is the skill `pdf` of the server `docs`. A name may contain a `/` itself: a
//! pattern that matches the whole name forbids it wherever it comes from, but allows it only with its scope in front
//! (`native/fs/delete`). `files__read_*` is `files/read_*` in the form in which lists show namesakes; its server is written
//! out, so that `git*` never allows what a server `github` has. Spaces around a pattern do not count.

/// The scope of what belongs to no server: tools, resources and prompts of the hub itself.
pub const NATIVE: &str = "native";

/// Between a server and the name of its tool or prompt, where the name alone does not say which one is meant.
pub const BETWEEN: &str = "__";

/// One compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Glob {
    parts: Vec<GlobPart>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum GlobPart {
    Any,
    Char(char),
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl GlobPart {
    fn takes(&self, c: char) -> bool {
        match self {
            GlobPart::Any => true,
            GlobPart::Char(own) => *own == c,
            GlobPart::Class { negated, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != *negated
            }
        }
    }
}

impl Glob {
    pub fn new(pattern: &str) -> Self {
        let chars: Vec<char> = pattern.chars().collect();
        let (mut parts, mut at) = (Vec::new(), 0);
        while let Some(&c) = chars.get(at) {
            at += 1;
            let class = if c == '[' { class(&chars[at..]) } else { None };
            parts.push(match (c, class) {
                ('*', _) => GlobPart::Any,
                ('?', _) => GlobPart::Class { negated: true, ranges: Vec::new() },
                (_, Some((part, length))) => {
                    at += length;
                    part
                }
                _ => GlobPart::Char(c),
            });
        }
        Glob { parts }
    }

    /// How many characters stand for themselves: the more, the more specific.
    pub fn literals(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, GlobPart::Char(_))).count()
    }

    /// Whether it begins with this text, character for character.
    fn begins_with(&self, text: &str) -> bool {
        let mut parts = self.parts.iter();
        text.chars().all(|c| parts.next() == Some(&GlobPart::Char(c)))
    }

    /// Whether the whole name matches. Only the last `*` is tried again, so the work is at most the product of both
    /// lengths, whatever the pattern.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut part, mut at) = (0, 0);
        // The part after the last `*`, and where in the name it is tried next.
        let mut again = None;
        while at < name.len() {
            match self.parts.get(part) {
                Some(GlobPart::Any) => {
                    part += 1;
                    again = Some((part, at));
                }
                Some(other) if other.takes(name[at]) => {
                    part += 1;
                    at += 1;
                }
                _ => {
                    let Some((after, tried)) = again else { return false };
                    (part, at) = (after, tried + 1);
                    again = Some((after, at));
                }
            }
        }
        self.parts[part..].iter().all(|part| *part == GlobPart::Any)
    }
}

/// Reads a class after its `[`, with the number of characters it takes; `None` when it is never closed.
fn class(chars: &[char]) -> Option<(GlobPart, usize)> {
    let negated = chars.first() == Some(&'!');
    let begin = usize::from(negated);
    // A `]` right at the start is a member, not the end.
    let search = begin + usize::from(chars.get(begin) == Some(&']'));
    let end = search + chars.get(search..)?.iter().position(|c| *c == ']')?;
    let (members, mut ranges, mut at) = (&chars[begin..end], Vec::new(), 0);
    while at < members.len() {
        let is_range = members.get(at + 1) == Some(&'-') && at + 2 < members.len();
        let last = if is_range { at + 2 } else { at };
        ranges.push((members[at], members[last]));
        at = last + 1;
    }
    Some((GlobPart::Class { negated, ranges }, end + 1))
}

/// A pattern of a list, with its scope when it has one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScopedGlob {
    whole: Glob,
    /// The part after the first `/`.
    in_scope: Option<Glob>,
    /// The part after the first `__`.
    in_space: Option<Glob>,
}

impl ScopedGlob {
    pub fn new(pattern: &str) -> Self {
        let in_scope = pattern.split_once('/').map(|(_, rest)| Glob::new(rest));
        let in_space = pattern.split_once(BETWEEN).map(|(_, rest)| Glob::new(rest));
        ScopedGlob { whole: Glob::new(pattern), in_scope, in_space }
    }

    /// See [`Glob::literals`]; those of the scope count.
    pub fn literals(&self) -> usize {
        self.whole.literals()
    }

    /// Whether it matches a tool of this server; `None` is a tool that belongs to no server.
    pub fn matches(&self, name: &str, server: Option<&str>) -> bool {
        let own = server.and_then(|server| name.strip_prefix(server)?.strip_prefix('/'));
        let named = |glob: &Glob| glob.matches(name) || own.is_some_and(|own| glob.matches(own));
        match &self.in_scope {
            None => named(&self.whole) || server.is_some_and(|server| self.is_address(name, server)),
            // The name of a server's skill has its scope already.
            Some(_) if own.is_some() && self.whole.matches(name) => true,
            Some(_) => self.whole.matches(&format!("{}/{name}", server.unwrap_or(NATIVE))),
        }
    }

    /// Whether it has the form `server__tool` and matches this tool of the server.
    fn is_address(&self, name: &str, server: &str) -> bool {
        let space = [server, BETWEEN].concat();
        self.in_space.is_some()
            && self.whole.begins_with(&space)
            && self.whole.matches(&[&*space, name].concat())
    }

    /// Like [`ScopedGlob::matches`], but a scope that is part of the name counts for any server: what forbids fails closed.
    fn forbids(&self, name: &str, server: Option<&str>) -> bool {
        self.matches(name, server) || self.whole.matches(name)
    }

    /// Whether it matches a tool of this name on some server.
    fn may_match(&self, name: &str) -> bool {
        // A name may have a scope of its own, and the scope of the pattern may span several of its parts.
        let glob = self.in_scope.as_ref().or(self.in_space.as_ref()).unwrap_or(&self.whole);
        let parts = |between: &'static str| {
            name.match_indices(between).map(move |(at, _)| &name[at + between.len()..])
        };
        self.whole.matches(name)
            || glob.matches(name)
            || parts("/").chain(parts(BETWEEN)).any(|part| glob.matches(part))
    }
}

/// A list of patterns that allow and, with `!`, forbid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PatternList {
    allowed: Vec<ScopedGlob>,
    forbidden: Vec<ScopedGlob>,
}

impl PatternList {
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        let mut list = PatternList::default();
        for pattern in patterns {
            let pattern = pattern.trim();
            match pattern.strip_prefix('!') {
                Some(pattern) => list.forbidden.push(ScopedGlob::new(pattern.trim_start())),
                None => list.allowed.push(ScopedGlob::new(pattern)),
            }
        }
        list
    }

    /// Whether a tool is allowed on this server; `None` is a tool that belongs to no server.
    pub fn allows(&self, name: &str, server: Option<&str>) -> bool {
        self.allowed.iter().any(|glob| glob.matches(name, server))
            && !self.forbidden.iter().any(|glob| glob.forbids(name, server))
    }

    /// Whether a name is allowed inside one server, where patterns have no scope.
    pub fn allows_name(&self, name: &str) -> bool {
        let any = |globs: &[ScopedGlob]| globs.iter().any(|glob| glob.whole.matches(name));
        any(&self.allowed) && !any(&self.forbidden)
    }

    /// Whether a tool of this name may be allowed on some server.
    pub fn may_allow(&self, name: &str) -> bool {
        self.allowed.iter().any(|glob| glob.may_match(name))
    }

    /// Whether a pattern has a scope, so that the provider of a tool decides.
    pub fn names_servers(&self) -> bool {
        self.allowed
            .iter()
            .chain(&self.forbidden)
            .any(|glob| glob.in_scope.is_some() || glob.in_space.is_some())
    }
}

#[cfg(test)]
#[path = "pattern/tests.rs"]
mod tests;
