//! Which file a bare name such as `npx` is. Another `PATH` makes it another program, so approvals are bound to the file.

use std::env::{split_paths, var_os};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where the C library looks without a `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file that a server is started from: the first one on its `PATH` that may be executed. `configured` is the `PATH` that
/// the configuration sets; otherwise a server gets that of this process. A name with a folder is not looked up.
pub(super) fn find(program: &str, configured: Option<&OsStr>, folder: Option<&Path>) -> Option<PathBuf> {
    if program.contains(std::path::is_separator) {
        return None;
    }
    let path =
        configured.map(OsStr::to_owned).or_else(|| var_os("PATH")).unwrap_or_else(|| DEFAULT_PATH.into());
    let here = folder.unwrap_or_else(|| Path::new(""));
    // An empty or relative entry counts from the folder of the server.
    split_paths(&path).map(|entry| here.join(entry).join(program)).find(|file| may_run(file))
}

fn may_run(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_first_file_that_may_be_executed_counts() {
        let root = std::env::temp_dir().join(format!("toolhub-program-{}", std::process::id()));
        for (name, mode) in [("a", 0o644), ("b", 0o755), ("c", 0o755)] {
            let file = root.join(name).join("server");
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        let found = |program: &str, path: &str| find(program, Some(OsStr::new(path)), Some(&root));
        let in_folder = |name: &str| Some(root.join(name).join("server"));
        assert_eq!(found("server", "none:a:b:c"), in_folder("b"));
        assert_eq!(found("server", "c:b"), in_folder("c"));
        assert_eq!(found("server", "a"), None);
        assert_eq!(found("./server", "b"), None);
        assert_eq!(found("b/server", "b"), None);
        assert_eq!(find("server", Some(OsStr::new("")), Some(&root.join("b"))), in_folder("b"));
        fs::remove_dir_all(root).unwrap();
    }
}
