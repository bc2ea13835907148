//! The files of a skill, and no others: resolved, then compared, then opened without following a link.

use std::collections::VecDeque;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use toolhub_text::{Message, message};

/// The maximum size of one file.
pub const MAX_FILE: u64 = 16 * 1024 * 1024;
const MAX_LISTED: usize = 512;
/// The number of folders searched for one list.
const MAX_FOLDERS: usize = 512;

/// Tells one content of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Also when its rights change; seconds and nanoseconds.
    changed: (i64, i64),
    size: u64,
    /// Differs when another file was moved to this place.
    inode: u64,
}

impl FileStamp {
    pub fn of(file: &Path) -> Option<Self> {
        let data = fs::metadata(file).ok()?;
        Some(FileStamp { changed: (data.ctime(), data.ctime_nsec()), size: data.len(), inode: data.ino() })
    }
}

/// Why a file is refused.
#[derive(Debug, PartialEq)]
pub enum Refused {
    /// It is outside the folder, or a link leads outside.
    Outside,
    /// Another name of the file is outside the folder: a hard link.
    Shared,
    NoFile,
    TooLong {
        size: u64,
        limit: u64,
    },
    Unreadable(Message),
}

impl Refused {
    /// The rest of a sentence about the file.
    pub fn why(&self) -> Message {
        match self {
            Refused::Outside => "is not inside the skill's folder".into(),
            Refused::Shared => "is a hard link to a file outside the skill's folder".into(),
            Refused::NoFile => "is not a file".into(),
            Refused::TooLong { size, limit } => message!("has {} bytes, the limit is {}", size, limit),
            Refused::Unreadable(why) => message!("cannot be read: {}", why),
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Refused::NoFile,
            // A link cycle, or a link that was created after the path was resolved.
            _ if error.raw_os_error() == Some(libc::ELOOP) => Refused::Outside,
            _ => Refused::Unreadable(error.to_string().into()),
        }
    }
}

/// The real path of a file inside `folder`, whose own path has no links.
pub fn resolve(folder: &Path, path: &str) -> Result<PathBuf, Refused> {
    let given = Path::new(path);
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    // A backslash is a separator on other systems and could hide a way out.
    if path.is_empty() || path.contains(['\0', '\\']) || !given.components().all(inside) {
        return Err(Refused::Outside);
    }
    let real = fs::canonicalize(folder.join(given))?;
    match real.strip_prefix(folder) {
        Ok(below) if below.as_os_str().is_empty() => Err(Refused::NoFile),
        Ok(_) => Ok(real),
        Err(_) => Err(Refused::Outside),
    }
}

/// Opens a regular file inside `folder`.
pub fn open(folder: &Path, path: &str) -> Result<File, Refused> {
    let real = resolve(folder, path)?;
    let file = open_below(folder, real.strip_prefix(folder).map_err(|_| Refused::Outside)?)?;
    let data = file.metadata()?;
    match data.is_file() {
        false => Err(Refused::NoFile),
        true if has_names_outside(folder, &data) => Err(Refused::Shared),
        true => Ok(file),
    }
}

/// Whether a file has more names than are found in the folder. A hard link cannot be told from the file itself; that it has
/// other names can.
fn has_names_outside(folder: &Path, data: &fs::Metadata) -> bool {
    let mut missing = data.nlink();
    if missing <= 1 {
        return false;
    }
    walk(folder, |entry| {
        // The entry itself, and not what a link leads to.
        let Ok(found) = entry.metadata() else { return false };
        if !found.is_dir() && (found.dev(), found.ino()) == (data.dev(), data.ino()) {
            missing = missing.saturating_sub(1);
        }
        found.is_dir()
    });
    missing > 0
}

/// Visits what is below a folder, each folder for which `visit` says true; false if there are too many.
fn walk(folder: &Path, mut visit: impl FnMut(&fs::DirEntry) -> bool) -> bool {
    let mut queue = VecDeque::from([folder.to_owned()]);
    for _ in 0..MAX_FOLDERS {
        let Some(place) = queue.pop_front() else { return true };
        for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
            if visit(&entry) {
                queue.push_back(entry.path());
            }
        }
    }
    queue.is_empty()
}

/// The bytes of a file inside `folder`, `limit` at most.
pub fn read(folder: &Path, path: &str, limit: u64) -> Result<Vec<u8>, Refused> {
    let file = open(folder, path)?;
    let size = file.metadata()?.len();
    if size > limit {
        return Err(Refused::TooLong { size, limit });
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    let size = file.take(limit + 1).read_to_end(&mut bytes)? as u64;
    if size > limit { Err(Refused::TooLong { size, limit }) } else { Ok(bytes) }
}

/// Opens the path part by part, each relative to the folder before, and follows no link: even if parts are replaced meanwhile,
/// nothing outside is opened. A pipe does not block.
fn open_below(folder: &Path, path: &Path) -> io::Result<File> {
    let mut here = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(folder)?;
    let mut parts = path.iter().peekable();
    while let Some(part) = parts.next() {
        let name = CString::new(part.as_bytes())?;
        let kind = if parts.peek().is_some() { libc::O_DIRECTORY } else { libc::O_NONBLOCK };
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_CLOEXEC | kind;
        // SAFETY: the descriptor belongs to an open file, and the name is zero-terminated.
        let opened = unsafe { libc::openat(here.as_raw_fd(), name.as_ptr(), flags) };
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened and has no other owner.
        here = unsafe { File::from_raw_fd(opened) };
    }
    Ok(here)
}

/// The files of a skill except `own`, as sorted paths inside its folder; true if there are more. Hidden files and build
/// artefacts are skipped, and links are listed only if they stay inside.
pub fn list(folder: &Path, own: &str) -> (Vec<String>, bool) {
    let mut files = Vec::new();
    let is_whole = walk(folder, |entry| {
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        if name.starts_with('.') || name == "__pycache__" || name == "node_modules" {
            return false;
        }
        let Some(inside) = path.strip_prefix(folder).ok().and_then(Path::to_str) else { return false };
        let Ok(kind) = entry.file_type() else { return false };
        if kind.is_dir() {
            return true;
        }
        // A pipe or a device cannot be read.
        let leads_inside = || resolve(folder, inside).is_ok_and(|real| real.is_file());
        if inside != own && (kind.is_file() || kind.is_symlink() && leads_inside()) {
            files.push(inside.to_owned());
        }
        false
    });
    files.sort();
    let cut = !is_whole || files.len() > MAX_LISTED;
    files.truncate(MAX_LISTED);
    (files, cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A skill's folder next to a secret; removed on drop.
    struct FolderBesideSecret(PathBuf);

    impl FolderBesideSecret {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("toolhub-{name}-{}", std::process::id()));
            fs::create_dir_all(root.join("skill/sub")).unwrap();
            fs::write(root.join("skill/sub/a.md"), "inside").unwrap();
            fs::write(root.join("secret"), "secret").unwrap();
            FolderBesideSecret(fs::canonicalize(root).unwrap())
        }

        fn skill(&self) -> PathBuf {
            self.0.join("skill")
        }
    }

    impl Drop for FolderBesideSecret {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_what_is_inside_is_read() {
        let folder = FolderBesideSecret::new("inside");
        let skill = folder.skill();
        symlink("../secret", skill.join("out")).unwrap();
        symlink("sub/a.md", skill.join("in")).unwrap();
        symlink("round", skill.join("round")).unwrap();
        for (path, given) in [("sub/a.md", Ok("inside")), ("./sub/a.md", Ok("inside")), ("in", Ok("inside"))]
        {
            assert_eq!(read(&skill, path, 100), given.map(|text: &str| text.as_bytes().to_vec()), "{path}");
        }
        for path in ["out", "round", "../secret", "sub/../../secret", "/etc/passwd", "", "sub\\a.md", "a\0"] {
            assert_eq!(read(&skill, path, 100), Err(Refused::Outside), "{path}");
        }
        for path in ["sub", "none", "sub/a.md/x", "."] {
            assert_eq!(read(&skill, path, 100), Err(Refused::NoFile), "{path}");
        }
        assert_eq!(read(&skill, "in", 5), Err(Refused::TooLong { size: 6, limit: 5 }));
        assert_eq!(list(&skill, "SKILL.md"), (vec!["in".to_owned(), "sub/a.md".to_owned()], false));
    }

    #[test]
    fn what_became_a_link_after_it_was_resolved_is_not_opened() {
        let folder = FolderBesideSecret::new("swapped");
        let skill = folder.skill();
        fs::remove_dir_all(skill.join("sub")).unwrap();
        symlink(&folder.0, skill.join("sub")).unwrap();
        assert!(open_below(&skill, Path::new("sub/secret")).is_err());
        symlink("../secret", skill.join("late")).unwrap();
        assert!(open_below(&skill, Path::new("late")).is_err());
    }
}
