//! The folder of a demo: a home, a data folder, and a small project to work on.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use weir_process::Environment;

use crate::engine::Engine;
use crate::exit::tell;

/// The project.
const SAMPLE: [(&str, &str); 3] = [
    ("README.md", include_str!("sample/README.md")),
    ("notes.md", include_str!("sample/notes.md")),
    ("tides.py", include_str!("sample/tides.py")),
];

/// Variables that the simulated CLI may inherit; none belong to the user's account.
const INHERITED: [&str; 5] =
    ["PATH", "TMPDIR", "SystemRoot", "SIMULATED_CLAUDE_PACE", "SIMULATED_CLAUDE_SCRIPT"];

/// The folder, which is removed on drop.
pub(super) struct Place {
    folder: TempDir,
    workspace: PathBuf,
}

impl Place {
    pub(super) fn new() -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("weir-demo-").tempdir()?;
        for name in ["home", "data"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        let workspace = folder.path().join("harbour");
        std::fs::create_dir(&workspace)?;
        for (name, content) in SAMPLE {
            std::fs::write(workspace.join(name), content)?;
        }
        let workspace = workspace.canonicalize()?;
        Ok(Self { folder, workspace })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.workspace.clone()
    }

    /// Opens the link in the desktop's browser, if there is one. The link was printed too, so a failure does not matter.
    pub(super) fn show(&self, link: &str) {
        let Some(opener) = weir_process::desktop_opener() else { return };
        // The link contains a token. Only the user can read the folder, but anyone can read arguments.
        let file = self.path().join("open.html");
        let link = weir_base::html::escape(link);
        let page = format!(
            "<!doctype html><meta charset=\"utf-8\"><title>Weir</title>\n\
             <meta http-equiv=\"refresh\" content=\"0;url={link}\"><a href=\"{link}\">The demo</a>\n"
        );
        let shown = std::fs::write(&file, page).and_then(|()| weir_process::show_file(&opener, &file));
        if let Err(error) = shown {
            tell(&format!("weir: cannot open a browser ({error}); use the link"));
        }
    }

    /// An engine whose CLI is this program.
    pub(super) fn engine(&self) -> std::io::Result<Engine> {
        let environment = Environment::only(INHERITED)
            .set("HOME", self.path().join("home"))
            .set("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1");
        Ok(Engine {
            program: Some(std::env::current_exe()?),
            leading_args: vec![crate::simulated::NAME.into()],
            probe_cache: None,
            ..Engine::new(self.data(), vec![self.workspace()], environment)
        })
    }
}
