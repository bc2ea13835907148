//! Rules over all files together: no import circle between files, and no type name defined twice.
//!
//! An arrow goes from the file that names something to the file that defines it. A re-export (`pub use`) is
//! followed to the definition and is not an arrow itself, so a `mod.rs` may list what its folder offers; a file that also
//! uses a name that it re-exports has the arrow.

use super::rules::{module, shipped};
use super::source::{Leaf, covered, inline_depth, leaves, paths, words};
use std::collections::{BTreeMap, BTreeSet};

/// One file of `src/`: what it shows under another name, and the code that ships.
struct File {
    path: String,
    code: String,
    /// Names and glob targets that a `pub use` passes on, as paths from the root of the crate.
    exports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

struct Tree(BTreeMap<String, File>);

impl Tree {
    fn read(files: &[(String, String)]) -> Tree {
        let mut tree = Tree(BTreeMap::new());
        for (path, text) in files {
            if let (Some(module), Some(code)) = (module(path), shipped(path, text)) {
                let module = if module == "lib" { "" } else { module };
                let file = File { path: path.clone(), code, exports: BTreeMap::new(), globs: Vec::new() };
                tree.0.insert(module.to_owned(), file);
            }
        }
        let exports: Vec<_> = tree.0.keys().map(|module| (module.clone(), tree.exports_of(module))).collect();
        for (module, (exports, globs)) in exports {
            if let Some(file) = tree.0.get_mut(&module) {
                (file.exports, file.globs) = (exports, globs);
            }
        }
        tree
    }

    fn exports_of(&self, module: &str) -> (BTreeMap<String, Vec<String>>, Vec<Vec<String>>) {
        let (mut named, mut globs) = (BTreeMap::new(), Vec::new());
        for (_, path, name) in self.uses(module).into_iter().filter(|(public, ..)| *public) {
            match path.split_last() {
                Some((last, rest)) if last == "*" => globs.push(rest.to_vec()),
                _ => drop(named.insert(name, path)),
            }
        }
        (named, globs)
    }

    /// The `use` items of a file: public or not, the path from the root of the crate, the name it gets here.
    fn uses(&self, module: &str) -> Vec<(bool, Vec<String>, String)> {
        let code = &self.0[module].code;
        let mut found = Vec::new();
        for UseItem { at, public, leaves } in use_items(code) {
            let depth = inline_depth(code, at);
            for (path, new_name) in leaves {
                if let Some(path) = self.absolute(module, &path, depth) {
                    let name = new_name.or_else(|| path.last().cloned()).unwrap_or_default();
                    // What a module inside of the file re-exports is used by this file.
                    found.push((public && depth == 0, path, name));
                }
            }
        }
        found
    }

    /// A path as seen from the root of the crate; `None` when it leads to a foreign crate, or stays in a module inside of the
    /// file. `depth` is the number of such modules around it.
    fn absolute(&self, module: &str, path: &[String], depth: usize) -> Option<Vec<String>> {
        let supers = path.iter().take_while(|part| *part == "super").count();
        if depth > 0 && path.first()? != "crate" && supers < depth {
            return None;
        }
        let path = &path[depth.min(supers)..];
        let mut base: Vec<String> =
            module.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                let child = base.iter().map(String::as_str).chain([first]).collect::<Vec<_>>().join("/");
                if !self.0.contains_key(&child) {
                    return None;
                }
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// The module whose file defines what a path names.
    fn definition(&self, path: &[String], depth: usize) -> Option<String> {
        if depth > 16 {
            return None;
        }
        let mut here = String::new();
        for (index, part) in path.iter().enumerate() {
            let child = if here.is_empty() { part.clone() } else { format!("{here}/{part}") };
            if self.0.contains_key(&child) {
                here = child;
                continue;
            }
            let file = self.0.get(&here)?;
            if let Some(target) = file.exports.get(part) {
                let whole: Vec<String> = target.iter().chain(&path[index + 1..]).cloned().collect();
                return self.definition(&whole, depth + 1);
            }
            let through_glob = file.globs.iter().find_map(|glob| {
                let found = self.definition(&[glob.as_slice(), &path[index..]].concat(), depth + 1)?;
                self.defines(&found, part).then_some(found)
            });
            return Some(through_glob.unwrap_or(here));
        }
        Some(here)
    }

    fn defines(&self, module: &str, name: &str) -> bool {
        const ITEMS: [&str; 8] = ["struct", "enum", "trait", "type", "fn", "const", "static", "macro_rules!"];
        let code = &self.0[module].code;
        words(code, name).any(|at| ITEMS.iter().any(|item| code[..at].trim_end().ends_with(item)))
    }

    /// From each file to the files that define what it names.
    fn arrows(&self) -> BTreeMap<&str, BTreeSet<String>> {
        let mut arrows = BTreeMap::new();
        for (module, file) in self.0.iter().filter(|(module, _)| !module.is_empty()) {
            let mut to = BTreeSet::new();
            let uses = covered_by_use(&file.code);
            let used =
                |name: &str| words(&file.code, name).any(|at| !uses.iter().any(|range| range.contains(&at)));
            let private: BTreeSet<Vec<String>> = self
                .uses(module)
                .into_iter()
                .filter(|(public, _, name)| !public || used(name))
                .map(|(_, path, _)| path)
                .collect();
            let mut named: Vec<Vec<String>> = private.into_iter().collect();
            named.extend(self.inline_paths(module, &file.code));
            for path in named {
                if let Some(target) = self.definition(&path, 0)
                    && target != *module
                    && !target.is_empty()
                {
                    to.insert(target);
                }
            }
            arrows.insert(module.as_str(), to);
        }
        arrows
    }

    /// Paths outside of `use`: `crate::…`, `super::…`, and `child::…` of the modules declared here.
    fn inline_paths(&self, module: &str, code: &str) -> Vec<Vec<String>> {
        let uses = covered_by_use(code);
        let is_free = |at: &usize| !uses.iter().any(|range| range.contains(at));
        let mut found = Vec::new();
        let prefix = if module.is_empty() { String::new() } else { format!("{module}/") };
        let children = self.0.keys().filter_map(|other| other.strip_prefix(&prefix));
        let children = children.filter(|name| !name.contains('/') && !name.is_empty());
        for head in ["crate", "super", "self"].into_iter().chain(children) {
            for (at, path) in paths(code, head).into_iter().filter(|(at, _)| is_free(at)) {
                // The later parts of a longer path are read with its head.
                if code[..at].trim_end().ends_with("::") {
                    continue;
                }
                let whole: Vec<String> = [vec![head.to_owned()], path].concat();
                found.extend(self.absolute(module, &whole, inline_depth(code, at)));
            }
        }
        found
    }
}

/// One `use`: its place, whether it is public, and what it names.
struct UseItem {
    at: usize,
    public: bool,
    leaves: Vec<Leaf>,
}

fn use_items(code: &str) -> Vec<UseItem> {
    let item = |at: usize| {
        let before = code[..at].trim_end();
        let line = before.rsplit(['\n', ';', '{', '}']).next().unwrap_or("");
        let end = code[at..].find(';').map_or(code.len(), |length| at + length);
        // Read as one path below an invented head, so that groups are written out.
        let text = format!("::{}", code[at + 3..end].trim());
        UseItem { at, public: line.trim_start().starts_with("pub"), leaves: leaves(&text, 0) }
    };
    words(code, "use").map(item).collect()
}

fn covered_by_use(code: &str) -> Vec<std::ops::Range<usize>> {
    words(code, "use").map(|at| at..code[at..].find(';').map_or(code.len(), |length| at + length)).collect()
}

/// Files that reach each other: each group is one violation.
pub fn circles(files: &[(String, String)]) -> Vec<String> {
    let tree = Tree::read(files);
    let arrows = tree.arrows();
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|from| (*from, reachable(&arrows, from))).collect();
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    for from in arrows.keys() {
        if !reach[from].contains(from) || seen.contains(from) {
            continue;
        }
        let group: Vec<&str> = reach[from]
            .iter()
            .filter(|to| reach.get(**to).is_some_and(|back| back.contains(from)))
            .copied()
            .collect();
        seen.extend(group.iter().copied());
        let inside = |to: &&String| group.contains(&to.as_str());
        let lines = group.iter().map(|one| {
            let to: Vec<&str> = arrows[one].iter().filter(inside).map(String::as_str).collect();
            format!("    {} uses {}", tree.0[*one].path, to.join(", "))
        });
        violations.push(format!(
            "{} files use each other in a circle; move what they share into a file below them:\n{}",
            group.len(),
            lines.collect::<Vec<_>>().join("\n")
        ));
    }
    violations
}

fn reachable<'a>(arrows: &'a BTreeMap<&'a str, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = arrows[from].iter().map(String::as_str).collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(arrows.get(next).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

/// A type name that two files define means two things to a reader. A public `use … as Name` defines a name too.
pub fn duplicate_types(files: &[(String, String)]) -> Vec<String> {
    let mut defined: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, text) in files {
        let Some(code) = module(path).and(shipped(path, text)) else { continue };
        // One name under two conditions of the platform is one type.
        let conditional = covered(&code, |attribute| attribute.starts_with("cfg("));
        let mut start = 0;
        for line in code.split_inclusive('\n') {
            let at = start;
            start += line.len();
            if let Some(name) = type_name(line)
                && !conditional.iter().any(|range| range.contains(&at))
            {
                defined.entry(name.to_owned()).or_default().push(path);
            }
        }
        let public = use_items(&code).into_iter().filter(|item| item.public).flat_map(|item| item.leaves);
        for name in public.filter_map(|(_, new_name)| new_name) {
            if name.chars().any(char::is_lowercase) && name.starts_with(char::is_uppercase) {
                defined.entry(name).or_default().push(path);
            }
        }
    }
    let twice = defined.into_iter().filter(|(_, paths)| paths.len() > 1);
    twice.map(|(name, paths)| format!("the type `{name}` is defined in {}", paths.join(" and "))).collect()
}

/// The name of the type that a line defines. An indented `type` belongs to a trait.
fn type_name(line: &str) -> Option<&str> {
    let mut parts = line.split_whitespace().peekable();
    while parts.peek().is_some_and(|part| part.starts_with("pub") || *part == "unsafe") {
        parts.next();
    }
    let keyword = parts.next()?;
    let name = parts.next()?;
    let is_type = ["struct", "enum", "trait", "union"].contains(&keyword)
        || keyword == "type" && !line.starts_with([' ', '\t']);
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    (is_type && end > 0).then(|| &name[..end])
}
