//! A repository for one test.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use weir_git::Repository;
use weir_testkit::{begin_repository, git};

pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// A repository with one file.
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.top()).unwrap();
        place.write("a.txt", "one\n");
        begin_repository(&place.top());
        place
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        write(&self.top(), name, text);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.top(), arguments)
    }

    pub(crate) async fn open(&self) -> Repository {
        Repository::open(&self.top(), None).await.unwrap()
    }

    /// Makes every program that a repository can name leave a trace, and returns where.
    pub(crate) fn booby_trap(&self) -> PathBuf {
        let trace = self.root().join("trace");
        let script = self.root().join("evil");
        std::fs::write(&script, format!("#!/bin/sh\necho \"$0 $*\" >> {}\nexec cat\n", trace.display()))
            .unwrap();
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, all).unwrap();
        let evil = script.to_str().unwrap();
        let hooks = self.top().join(".git/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        for name in [
            "post-checkout",
            "pre-commit",
            "reference-transaction",
            "post-index-change",
            "prepare-commit-msg",
        ] {
            std::fs::copy(&script, hooks.join(name)).unwrap();
        }
        for (name, value) in [
            ("core.fsmonitor", evil),
            ("core.pager", evil),
            ("core.editor", evil),
            ("core.sshCommand", evil),
            ("gpg.program", evil),
            ("commit.gpgSign", "true"),
            ("filter.x.clean", evil),
            ("filter.x.smudge", evil),
            ("filter.x.required", "true"),
            ("filter.y.process", evil),
            ("diff.x.textconv", evil),
            ("diff.x.command", evil),
            ("diff.external", evil),
            ("merge.x.driver", evil),
        ] {
            self.git(&["config", name, value]);
        }
        std::fs::write(
            self.top().join(".git/info/attributes"),
            "*.x filter=x diff=x merge=x\n*.y filter=y\n",
        )
        .unwrap();
        // The traps worked while they were set.
        let _ = std::fs::remove_file(&trace);
        trace
    }
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
